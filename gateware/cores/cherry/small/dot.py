# SPDX-License-Identifier: BSD-2-Clause
"""Dot unit of the small engine: matmul, mulacc, add, sub, mul and sum, one element at a time."""

from amaranth import Const, Module, Mux, ResetInserter, Signal
from amaranth.lib import enum

from ....isa.parameters import Params
from ..engine.memory.tilefile import ACC, INPUT, OUTPUT, WEIGHTS
from ..engine.ops import DotKind, Unit, dot_op
from ..tables import ONE
from .elements import ElementUnit
from .sum import SerialSum

__all__ = ["SerialDot"]


class _Role(enum.Enum, shape=3):
    """Role of an element read by the dot unit."""

    FACTOR = 0  # first factor of a product, kept
    PRODUCT = 1  # second factor
    SINGLE = 2  # a term by itself
    OLD = 3  # the addend, an element of ACC
    OTHER = 4  # the addend, an element of WEIGHTS
    KEEP = 5  # the result itself


class SerialDot(ElementUnit):
    """Serial dot unit: sums of products with one multiplier; results are those of
    :class:`~..engine.units.dotpath.DotPath`.

    An element takes as many reads as it has operands, ten steps in between and about 20 cycles
    more.

    Parameters
    ----------
    params : dict, of a build with the small engine
    multiplier : ``"dsp"`` or ``"lut"``
    family : as the primitives'

    Members
    -------
    As :class:`~.elements.ElementUnit`'s.
    """

    def __init__(
        self, *, params: Params, multiplier: str = "dsp", family: str | None = None
    ) -> None:
        self._sum = SerialSum(multiplier=multiplier, family=family)
        super().__init__(params=params, layout=dot_op(), own=Unit.DOT, tag=_Role)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        axes = bool(self.params["reduce_axes"])
        walk, reader, writer = self._parts(m)
        m.submodules.sum = total = self._sum
        held = walk.held
        place, step, factor = Signal(4), Signal(4), Signal(18, reset_less=True)
        result, column, second = Signal(18, reset_less=True), Signal(2), Signal()
        sums = [Signal(18, name=f"sum_{k}", reset_less=True) for k in range(4)]
        is_sum = held.kind == DotKind.SUM
        both = is_sum & (held.axis == 2) if axes else Const(0)
        first = both & ~second
        plain = ~is_sum & (held.kind != DotKind.MATMUL)
        # Not all elements of a sum are computed.
        taken = (held.kind != DotKind.SUM) | self._reduced(held, place)
        to_output = (
            (held.kind == DotKind.ADD) | (held.kind == DotKind.SUB) | (held.kind == DotKind.MUL)
        )
        m.d.comb += [writer.reg.eq(Mux(to_output, OUTPUT, ACC)), writer.value.eq(result)]
        needed = self._steps(m, reader.ask.payload, held, place, step, taken, column, first, second)
        self._terms(m, reader, factor, held)

        def begin():
            """Starts the sum of the next element."""
            m.d.comb += total.start.eq(1)
            m.d.sync += step.eq(0)
            m.next = "READ"

        with m.FSM() as fsm:
            with m.State("IDLE"):
                with m.If(walk.valid):
                    m.d.sync += [place.eq(0), column.eq(0), second.eq(0)]
                    begin()
            with m.State("READ"):
                m.d.comb += reader.ask.valid.eq(needed)
                if axes:
                    # The second sum of a whole tile: its terms are those of the first.
                    with m.If(second & step[0]):
                        m.d.comb += [total.put.eq(1), total.a.eq(sums[0]), total.b.eq(ONE)]
                        m.d.sync += [
                            a.eq(b) for a, b in zip(sums, [*sums[1:], sums[0]], strict=True)
                        ]
                with m.If(~needed | reader.ask.ready):
                    # A sum of one element has no product or only the first: on to the addend.
                    m.d.sync += step.eq(Mux(plain & (step == 1), 8, step + 1))
                    with m.If(step == 8):
                        m.next = "LAST"
            with m.State("LAST"):
                with m.If(~reader.pending):
                    m.d.comb += total.finish.eq(taken)
                    m.next = "SUM"
            with m.State("SUM"):
                with m.If(total.done | ~taken):
                    with m.If(first):
                        m.d.sync += [
                            a.eq(b) for a, b in zip(sums, [*sums[1:], total.result], strict=True)
                        ]
                        m.d.sync += [column.eq(column + 1), second.eq(column == 3)]
                        begin()
                    with m.Else():
                        m.next = "PUT"
            with m.State("PUT"):
                with m.If(writer.ready):
                    m.d.comb += writer.put.eq(1)
                    m.d.sync += [place.eq(place + 1), column.eq(0), second.eq(0)]
                    begin()
                    with m.If(place == 15):
                        m.next = "WRITE"
            with m.State("WRITE"):
                with m.If(writer.done):
                    m.d.comb += [walk.take.eq(1), self.fetched.eq(1), self.finished.eq(1)]
                    m.next = "IDLE"
        m.d.comb += self.working.eq(~fsm.ongoing("IDLE"))
        with m.If(total.done):
            m.d.sync += result.eq(total.result)
        with m.Elif(reader.valid & (reader.tag == _Role.KEEP)):
            m.d.sync += result.eq(reader.value)
        with m.If(reader.valid & (reader.tag == _Role.FACTOR)):
            m.d.sync += factor.eq(reader.value)
        return ResetInserter(self.clear)(m)

    def _steps(self, m, ask, held, place, step, taken, column, first, second):
        """Operand read of a step: two steps for each product, then the addend. Returns whether the
        step reads an operand."""
        y, x, k, half, last = place[2:], place[:2], step[1:3], step[0], step[3]
        needed = Signal()
        with m.Switch(held.kind):
            with m.Case(DotKind.MATMUL):
                m.d.comb += [
                    needed.eq(1),
                    ask.reg.eq(Mux(last, ACC, Mux(half, WEIGHTS, INPUT))),
                    ask.y.eq(Mux(~last & half, k, y)),
                    ask.x.eq(Mux(last | half, x, k)),
                    ask.tag.eq(Mux(last, _Role.OLD, Mux(half, _Role.PRODUCT, _Role.FACTOR))),
                ]
            with m.Case(DotKind.MULACC, DotKind.MUL):
                m.d.comb += [
                    needed.eq(Mux(last, held.kind == DotKind.MULACC, k == 0)),
                    ask.y.eq(y),
                    ask.x.eq(x),
                    ask.reg.eq(Mux(last, ACC, Mux(half, WEIGHTS, INPUT))),
                    ask.tag.eq(Mux(last, _Role.OLD, Mux(half, _Role.PRODUCT, _Role.FACTOR))),
                ]
            with m.Case(DotKind.ADD, DotKind.SUB):
                m.d.comb += [
                    needed.eq(last | (step == 0)),
                    ask.y.eq(y),
                    ask.x.eq(x),
                    ask.reg.eq(Mux(last, WEIGHTS, INPUT)),
                    ask.tag.eq(Mux(last, _Role.OTHER, _Role.SINGLE)),
                ]
            with m.Case(DotKind.SUM):
                across = (held.axis == 1) if self.params["reduce_axes"] else Const(0)
                m.d.comb += [
                    needed.eq(
                        Mux(
                            last,
                            ~taken | (held.acc & ~first),
                            taken & half & ~second & (k < held.count),
                        )
                    ),
                    ask.reg.eq(Mux(last, ACC, OUTPUT)),
                    ask.y.eq(Mux(last | across, y, k)),
                    ask.x.eq(Mux(last, x, Mux(across, k, Mux(first, column, x)))),
                    ask.tag.eq(Mux(last, Mux(taken, _Role.OLD, _Role.KEEP), _Role.SINGLE)),
                ]
        return needed

    def _terms(self, m, reader, factor, held):
        """Turns the elements read into terms of the sum."""
        total, value = self._sum, reader.value
        other = value ^ Mux(held.kind == DotKind.SUB, 1 << 17, 0)
        with m.If(reader.valid):
            with m.Switch(reader.tag):
                with m.Case(_Role.PRODUCT):
                    m.d.comb += [total.put.eq(1), total.a.eq(factor), total.b.eq(value)]
                with m.Case(_Role.SINGLE):
                    m.d.comb += [total.put.eq(1), total.a.eq(value), total.b.eq(ONE)]
                with m.Case(_Role.OLD):
                    m.d.comb += [total.put.eq(1), total.addend.eq(1), total.c.eq(value)]
                with m.Case(_Role.OTHER):
                    m.d.comb += [total.put.eq(1), total.addend.eq(1), total.c.eq(other)]
