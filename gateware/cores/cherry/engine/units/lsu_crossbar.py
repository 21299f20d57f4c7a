# SPDX-License-Identifier: BSD-2-Clause
"""Crossbar of the load/store unit: banks to elements of a tile, and back."""

from amaranth import Cat, Module, Mux, Signal, Value

from .....primitives.multiplexer import Multiplexer

__all__ = ["Crossbar", "choose"]


def choose(values: list[Value], select: Value) -> Value:
    """Multiplexer of 2^len(select) values as a binary tree, which synthesis maps better than a
    comparison for every case."""
    if len(values) == 1:
        return values[0]
    half = len(values) // 2
    return Mux(select[-1], choose(values[half:], select[:-1]), choose(values[:half], select[:-1]))


class Crossbar:
    """Crossbar between banks and tile elements: registers for sixteen elements read and for
    ``banks`` words to write, with the multiplexers in front of them.

    With sixteen banks one network serves both ways; a store must then not use it in the cycle of a
    load. Sixteen multiplexers 16:1 of 18 bits are 2,880 LUTs.

    ``from_banks``, ``from_tile``: lists of elements; ``select_bank``, ``select_lane``: choices, of
    each element and of each bank, with one network one and the same list (``select_bank`` while
    loading); ``captures``: which elements to hold; ``storing``: the words to write. After it
    ``elements`` and ``words`` are the registers (with one network the same).
    """

    def __init__(
        self,
        m: Module,
        *,
        from_banks: list[Value],
        from_tile: list[Value],
        select_bank: list[Value],
        select_lane: list[Value],
        captures: Value,
        storing: Value,
        family: str | None = None,
    ) -> None:
        def chosen(name: str, values: list[Value], select: Value) -> Value:
            mux = Multiplexer(width=18, inputs=len(values), family=family)
            m.submodules[name] = mux
            m.d.comb += [mux.i.as_value().eq(Cat(values)), mux.select.eq(select)]
            return mux.o

        self.shared = len(from_banks) == 16
        self.elements = [Signal(18, name=f"element_{k}", reset_less=True) for k in range(16)]
        if self.shared:
            self.words = self.elements
            inputs = [Signal(18, name=f"crossing_{k}") for k in range(16)]
            m.d.comb += [
                i.eq(Mux(storing, t, b))
                for i, t, b in zip(inputs, from_tile, from_banks, strict=True)
            ]
            for k, element in enumerate(self.elements):
                value = chosen(f"crossing_{k}", inputs, select_bank[k])
                with m.If(captures[k] | storing):
                    m.d.sync += element.eq(value)
            return
        self.words = [Signal(18, name=f"word_{k}", reset_less=True) for k in range(len(from_banks))]
        for k, element in enumerate(self.elements):
            value = chosen(f"to_element_{k}", from_banks, select_bank[k])
            with m.If(captures[k]):
                m.d.sync += element.eq(value)
        for k, word in enumerate(self.words):
            m.d.sync += word.eq(chosen(f"to_bank_{k}", from_tile, select_lane[k]))
