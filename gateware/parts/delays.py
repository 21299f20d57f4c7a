# SPDX-License-Identifier: BSD-2-Clause
"""Delay lines: register chains that are read at their end, at any stage, or as stages of a
pipeline."""

from __future__ import annotations

from collections.abc import Iterable

from amaranth import Module, Signal, Value
from amaranth.hdl import ShapeLike, ValueLike
from amaranth.lib import memory

__all__ = ["DelayLine", "Stages", "delay"]


def delay(
    m: Module,
    value: ValueLike,
    cycles: int,
    name: str | None = None,
    *,
    clear: ValueLike | None = None,
) -> ValueLike:
    """Delays ``value`` by ``cycles`` cycles, through registers without reset named ``name_1`` and
    so on.

    With ``clear`` the registers have a reset, and a cycle of ``clear`` empties them.
    """
    for k in range(cycles):
        held = Signal.like(
            value, name=f"{name}_{k + 1}" if name else "held", reset_less=clear is None
        )
        m.d.sync += held.eq(value)
        if clear is not None:
            with m.If(clear):
                m.d.sync += held.eq(0)
        value = held
    return value


class DelayLine:
    """A delay line with taps: ``line[n]`` is ``value`` delayed by ``n`` cycles; stages are created
    on demand and shared. No reset.

    Parameters
    ----------
    m : Module
    value : Value
    name : str
    """

    def __init__(self, m: Module, value: Value | None, name: str) -> None:
        self._m, self._name = m, name
        #: The value and its delayed copies; ``None``: of a stage that is not there.
        self._taps: list[Value | None] = [value]

    def __getitem__(self, cycles: int) -> Value:
        while len(self._taps) <= cycles:
            before = self._taps[-1]
            assert before is not None, "the line has no such stage"
            later = Signal(len(before), name=f"{self._name}_{len(self._taps)}", reset_less=True)
            self._m.d.sync += later.eq(before)
            self._taps.append(later)
        return self._taps[cycles]

    def since(self, cycles: int) -> DelayLine:
        """Delay line that begins at ``self[cycles]`` of this one; uses existing stages."""
        line = DelayLine(self._m, None, self._name)
        line._taps = self._taps[cycles:]
        return line

    @classmethod
    def stored(cls, m: Module, value: Value, name: str, cycles: int) -> DelayLine:
        """Delay line without taps before ``cycles`` (2 to 8): a block RAM instead of logic, for
        chips with unused blocks."""
        if not 2 <= cycles <= 8:
            raise ValueError(f"Delay of a stored line must be 2 to 8, not {cycles!r}")
        ram = memory.Memory(shape=len(value), depth=8, init=[], attrs={"ram_style": "block"})
        m.submodules[f"{name}_disjoint"] = ram
        put, get, at = (
            ram.write_port(),
            ram.read_port(),
            Signal(3, name=f"{name}_at", reset_less=True),
        )
        # Written at the end of this cycle, read cycles - 1 later.
        m.d.sync += at.eq(at + 1)
        m.d.comb += [
            put.addr.eq(at),
            put.data.eq(value),
            put.en.eq(1),
            get.addr.eq(at - (cycles - 1)),
            get.en.eq(1),
        ]
        line = cls(m, value, name)
        line._taps += [None] * (cycles - 1) + [get.data]
        return line


class Stages:
    """Stage registers of a pipeline that never stalls: ``stage(n, value, shape, name)`` holds the
    result of stage n. No reset.

    Stages in ``merged`` have no registers: what they compute is there in the stage before;
    ``carry`` heeds that.
    """

    def __init__(self, m: Module, merged: Iterable[int] = ()) -> None:
        self._m, self._merged = m, frozenset(merged)

    def __call__(self, number: int, value: ValueLike, shape: ShapeLike, name: str) -> ValueLike:
        if number in self._merged:
            passed = Signal(shape, name=f"s{number}_{name}")
            self._m.d.comb += passed.eq(value)
            return passed
        held = Signal(shape, name=f"s{number}_{name}", reset_less=True)
        self._m.d.sync += held.eq(value)
        return held

    def carry(self, value: ValueLike, first: int, last: int) -> ValueLike:
        """Delays ``value`` of stage ``first`` so that it aligns with stage ``last``."""
        return self.delay(value, sum(n not in self._merged for n in range(first + 1, last + 1)))

    def delay(self, value: ValueLike, cycles: int) -> ValueLike:
        """Delays ``value`` by ``cycles`` cycles; a value with a layout becomes plain bits."""
        return delay(self._m, Value.cast(value), cycles) if cycles else value
