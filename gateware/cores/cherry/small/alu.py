# SPDX-License-Identifier: BSD-2-Clause
"""Vector ALU of the small engine: relu, gtz, max, copy and zero, one element at a time."""

from amaranth import Const, Module, Mux, ResetInserter, Signal
from amaranth.lib import enum

from ....isa.parameters import Params
from ..engine.memory.tilefile import ACC, OUTPUT
from ..engine.ops import AluKind, Unit, alu_op
from ..engine.units.alu_interface import source, target
from ..engine.units.compare import LOWEST, from_key, larger, passed, sort, to_key
from .elements import ElementUnit

__all__ = ["SerialAlu"]


class _Role(enum.Enum, shape=2):
    """Role of an element read by the vector ALU."""

    COMPARE = 0  # it may be the maximum
    PASS = 1  # it goes through the operation, to the result
    KEEP = 2  # it is the result


class SerialAlu(ElementUnit):
    """Serial vector ALU, one element at a time.

    Parameters
    ----------
    params : dict, of a build with the small engine

    Members
    -------
    As :class:`~.elements.ElementUnit`'s.
    """

    def __init__(self, *, params: Params) -> None:
        super().__init__(params=params, layout=alu_op(), own=Unit.ALU, tag=_Role)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        walk, reader, writer = self._parts(m)
        held, ask = walk.held, reader.ask.payload
        place, step = Signal(4), Signal(5)
        y, x, last = place[2:], place[:2], step[4]
        is_max, here = held.kind == AluKind.MAX, self._reduced(held, place)
        across, whole = (
            (held.axis == 1, held.axis == 2) if self.params["reduce_axes"] else (Const(0), Const(0))
        )
        taken = is_max & here
        # Steps 0 to 15: the elements of the operand; 16: the old one of ACC, or the only one.
        row, line = step[2:4], step[:2]
        needed = Signal()
        with m.If(last):
            m.d.comb += [
                needed.eq(Mux(is_max, ~here | held.acc, held.kind != AluKind.ZERO)),
                ask.y.eq(y),
                ask.x.eq(x),
                ask.reg.eq(Mux(is_max, ACC, source(held))),
                ask.tag.eq(Mux(is_max, Mux(here, _Role.COMPARE, _Role.KEEP), _Role.PASS)),
            ]
        with m.Else():
            m.d.comb += [
                needed.eq(Mux(whole, row, line) < held.count),
                ask.y.eq(Mux(whole, row, Mux(across, y, line))),
                ask.x.eq(Mux(whole | across, line, x)),
                ask.reg.eq(OUTPUT),
                ask.tag.eq(_Role.COMPARE),
            ]
        m.d.comb += [
            writer.reg.eq(target(held)),
            writer.value.eq(self._result(m, reader, held, taken)),
        ]

        with m.FSM() as fsm:
            with m.State("IDLE"):
                m.d.sync += place.eq(0)
                with m.If(walk.valid):
                    m.next = "START"
            with m.State("START"):
                m.d.sync += step.eq(Mux(taken, 0, 16))
                m.next = "READ"
            with m.State("READ"):
                m.d.comb += reader.ask.valid.eq(needed)
                with m.If(~needed | reader.ask.ready):
                    m.d.sync += step.eq(Mux(whole | (line != 3), step + 1, 16))
                    with m.If(last):
                        m.next = "LAST"
            with m.State("LAST"):
                with m.If(~reader.pending & ~reader.valid & writer.ready):
                    m.next = "PUT"
            with m.State("PUT"):
                m.d.comb += writer.put.eq(1)
                m.d.sync += place.eq(place + 1)
                m.next = "START"
                with m.If(place == 15):
                    m.next = "WRITE"
            with m.State("WRITE"):
                with m.If(writer.done):
                    m.d.comb += [walk.take.eq(1), self.fetched.eq(1), self.finished.eq(1)]
                    m.next = "IDLE"
        m.d.comb += self.working.eq(~fsm.ongoing("IDLE"))
        with m.If(fsm.ongoing("START")):
            m.d.sync += [self._best.eq(LOWEST), self._value.eq(0)]
        return ResetInserter(self.clear)(m)

    def _result(self, m, reader, held, taken):
        """Collects the maximum, or a single element; returns the result."""
        self._best, self._value = Signal(18, reset_less=True), Signal(18, reset_less=True)
        element = reader.value
        with m.If(reader.valid):
            with m.Switch(reader.tag):
                with m.Case(_Role.COMPARE):
                    m.d.sync += self._best.eq(larger(self._best, to_key(element)))
                with m.Case(_Role.PASS):
                    m.d.sync += self._value.eq(passed(held.kind, element, sort(element)))
                with m.Case(_Role.KEEP):
                    m.d.sync += self._value.eq(reader.value)
        return Mux(taken, from_key(self._best), self._value)
