# SPDX-License-Identifier: BSD-2-Clause
"""Prescalers: short event counters that are added in turn to wide counters through a shared
adder."""

from amaranth import Const, Module, Mux, Signal, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from ..arguments import check_integer

__all__ = ["Prescalers"]


class Prescalers(wiring.Component):
    """Prescalers: a short counter per event, each read out 16 bits at a time
    (docs/how/contracts.md, section 3).

    Taking removes from a prescaler exactly the 16 bits that are read, while it goes on counting:
    nothing is lost and nothing counted twice, as long as each is taken once in ``gap`` cycles.

    Parameters
    ----------
    bits : dict of str to int
        Width of the increment of each event in one cycle.
    gap : int
        Largest number of cycles from one taking of an event to its next; sizes the prescalers.
    sampled : bool
        A register in front of the increments: cuts the path out of the engine, and counts one cycle
        later.

    Members
    -------
    counting : In, increments of this cycle count
    increment : In, one field an event
    select : In, one-hot or 0: the event whose ``value`` is looked at
    half : In, 2 bits: which 16 bits of it; below ``halves``
    take : In, remove ``value`` from the selected event
    value : Out, 16 bits, in the same cycle

    Attributes
    ----------
    halves : int, number of half words of the widest event
    """

    def __init__(self, *, bits: dict[str, int], gap: int, sampled: bool = False) -> None:
        if not bits:
            raise ValueError("Prescalers need at least one event")
        for name, width in bits.items():
            check_integer(f"Increment of {name}", width, 1, 32, unit="bits")
        check_integer("Gap between readings", gap, 1)
        self._bits, self._gap, self._sampled = dict(bits), gap, sampled
        super().__init__(
            {
                "counting": In(1),
                "increment": In(
                    data.StructLayout({name: unsigned(width) for name, width in bits.items()})
                ),
                "select": In(len(bits)),
                "half": In(2),
                "take": In(1),
                "value": Out(16),
            }
        )

    @property
    def halves(self) -> int:
        """Number of 16-bit halves of the widest prescaler."""
        return max((self.width(name) + 15) // 16 for name in self._bits)

    def width(self, name: str) -> int:
        """Width in bits of the prescaler of event ``name``."""
        return bits_for(self._gap * ((1 << self._bits[name]) - 1))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        increment, counting = self.increment, self.counting
        if self._sampled:
            increment = Signal.like(self.increment)
            counting = Signal()
            m.d.sync += [increment.eq(self.increment), counting.eq(self.counting)]
        parts = []
        for index, name in enumerate(self._bits):
            count = Signal(self.width(name), name=f"count_{name}", reset_less=True)
            halves = (len(count) + 15) // 16
            chosen = Signal(name=f"chosen_{name}")
            if len(increment[name]) == 1:
                gained, moves = increment[name] & counting, Const(1)
            else:
                gained, moves = increment[name], counting
            if halves == 1:
                # The taken value is the whole: only this cycle's increment remains.
                m.d.comb += chosen.eq(
                    self.select[index] & (self.half == 0) if self.halves > 1 else self.select[index]
                )
                with m.If(chosen & self.take):
                    m.d.sync += count.eq(Mux(moves, gained, 0))
                with m.Elif(moves):
                    m.d.sync += count.eq(count + gained)
                parts.append(count & chosen.replicate(len(count)))
            else:
                m.d.comb += chosen.eq(self.select[index])
                rest = Signal.like(count, name=f"rest_{name}")
                m.d.comb += rest.eq(count)
                part = Signal(16, name=f"part_{name}")
                for half in range(halves):
                    field = slice(16 * half, min(16 * half + 16, len(count)))
                    with m.If(chosen & (self.half == half)):
                        m.d.comb += part.eq(count[field])
                        with m.If(self.take):
                            m.d.comb += rest[field].eq(0)
                m.d.sync += count.eq(rest + Mux(moves, gained, 0))
                parts.append(part)
        while len(parts) > 1:
            parts = [
                parts[i] | parts[i + 1] if i + 1 < len(parts) else parts[i]
                for i in range(0, len(parts), 2)
            ]
        seen = parts[0]
        m.d.comb += self.value.eq(seen)
        return m
