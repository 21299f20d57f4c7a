# SPDX-License-Identifier: BSD-2-Clause
"""Dot unit of the small engine: matmul, mulacc, add, sub, mul and sum, element by element."""
from amaranth import Const, Module, Mux, ResetInserter, Signal
from amaranth.lib import enum, stream, wiring
from amaranth.lib.wiring import In, Out

from ..engine.memory.tilefile import ACC, INPUT, OUTPUT, WEIGHTS
from ..engine.ops import DotKind, ProgressLayout, TileRead, TileWrite, Unit, dot_op
from ..engine.units.contexts import ContextIterator
from ..tables import ONE
from .elements import ElementReader, ElementWriter
from .sum import SerialSum

__all__ = ["SerialDot"]


class _Role(enum.Enum, shape=3):
    """What an element read is for."""
    FACTOR = 0          # first factor of a product, kept
    PRODUCT = 1         # second factor
    SINGLE = 2          # a term by itself
    OLD = 3             # the addend, an element of ACC
    OTHER = 4           # the addend, an element of WEIGHTS
    KEEP = 5            # the result itself


class SerialDot(wiring.Component):
    """Sums of products with one multiplier; results are those of :class:`~.dotpath.DotPath`.

    An element takes as many reads as it has operands, ten steps in between and about 20 cycles more; a slot is fetched when it is
    finished.

    Parameters
    ----------
    params : dict, of a build with the small engine
    multiplier : ``"dsp"`` or ``"lut"``
    family : as the primitives'

    Members
    -------
    As :class:`~.dotpath.DotPath`'s; ``tiles_write`` may wait, and ``soon`` and ``writes`` say nothing.
    """
    def __init__(self, *, params, multiplier="dsp", family=None):
        self.params, self.family = params, family
        self._sum = SerialSum(multiplier=multiplier, family=family)
        super().__init__({
            "op": In(stream.Signature(dot_op())), "progress": In(ProgressLayout()), "fetched": Out(1), "finished": Out(1),
            "follows": Out(1), "soon": Out(2), "writes": Out(4), "working": Out(1), "clear": In(1), "tiles_read": Out(TileRead(params)), "tiles_write": Out(TileWrite(params))})

    def elaborate(self, platform):
        m = Module()
        params, axes = self.params, bool(self.params["reduce_axes"])
        m.submodules.walk = walk = ContextIterator(params=params, layout=dot_op(), own=Unit.DOT)
        m.submodules.reader = reader = ElementReader(params=params, tag=_Role)
        m.submodules.writer = writer = ElementWriter(params=params)
        m.submodules.sum = total = self._sum
        wiring.connect(m, wiring.flipped(self.op), walk.op)
        wiring.connect(m, wiring.flipped(self.tiles_read), reader.tiles_read)
        wiring.connect(m, wiring.flipped(self.tiles_write), writer.tiles_write)
        held = walk.held
        m.d.comb += [part.clear.eq(self.clear) for part in (walk, reader, writer)]
        place, step, factor = Signal(4), Signal(4), Signal(18, reset_less=True)
        result, column, second = Signal(18, reset_less=True), Signal(2), Signal()
        sums = [Signal(18, name=f"sum_{k}", reset_less=True) for k in range(4)]
        is_sum = held.kind == DotKind.SUM
        both = is_sum & (held.axis == 2) if axes else Const(0)
        first = both & ~second
        plain = ~is_sum & (held.kind != DotKind.MATMUL)
        taken = self._taken(held, place)
        to_output = (held.kind == DotKind.ADD) | (held.kind == DotKind.SUB) | (held.kind == DotKind.MUL)
        m.d.comb += [
            walk.progress.eq(self.progress), self.follows.eq(held.waits[Unit.LSU.value].fetched.valid), writer.reg.eq(Mux(to_output, OUTPUT, ACC)),
            writer.entry.eq(walk.target), writer.value.eq(result),
            reader.ask.payload.entry.eq(walk.entry[reader.ask.payload.reg])]
        needed = self._steps(m, reader.ask.payload, held, place, step, taken, column, first, second)
        self._terms(m, reader, factor, held)

        def begin():
            """The next element's sum."""
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
                        m.d.sync += [a.eq(b) for a, b in zip(sums, [*sums[1:], sums[0]], strict=True)]
                with m.If(~needed | reader.ask.ready):
                    # Of one element, no product or only the first: on to the addend.
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
                        m.d.sync += [a.eq(b) for a, b in zip(sums, [*sums[1:], total.result], strict=True)]
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

    def _taken(self, held, place):
        """Whether the element at ``place`` is computed; of a sum, not all are."""
        y, x = place[2:], place[:2]
        here = y == held.target
        if self.params["reduce_axes"]:
            here = Mux(held.axis == 0, here, Mux(held.axis == 1, x == held.target, here & (x == 0)))
        return (held.kind != DotKind.SUM) | here

    def _steps(self, m, ask, held, place, step, taken, column, first, second):
        """What is read in a step: two for each product, then the addend. Returns whether anything is."""
        y, x, k, half, last = place[2:], place[:2], step[1:3], step[0], step[3]
        needed = Signal()
        with m.Switch(held.kind):
            with m.Case(DotKind.MATMUL):
                m.d.comb += [needed.eq(1), ask.reg.eq(Mux(last, ACC, Mux(half, WEIGHTS, INPUT))), ask.y.eq(Mux(~last & half, k, y)),
                             ask.x.eq(Mux(last | half, x, k)), ask.tag.eq(Mux(last, _Role.OLD, Mux(half, _Role.PRODUCT, _Role.FACTOR)))]
            with m.Case(DotKind.MULACC, DotKind.MUL):
                m.d.comb += [needed.eq(Mux(last, held.kind == DotKind.MULACC, k == 0)), ask.y.eq(y), ask.x.eq(x),
                             ask.reg.eq(Mux(last, ACC, Mux(half, WEIGHTS, INPUT))),
                             ask.tag.eq(Mux(last, _Role.OLD, Mux(half, _Role.PRODUCT, _Role.FACTOR)))]
            with m.Case(DotKind.ADD, DotKind.SUB):
                m.d.comb += [needed.eq(last | (step == 0)), ask.y.eq(y), ask.x.eq(x), ask.reg.eq(Mux(last, WEIGHTS, INPUT)),
                             ask.tag.eq(Mux(last, _Role.OTHER, _Role.SINGLE))]
            with m.Case(DotKind.SUM):
                across = (held.axis == 1) if self.params["reduce_axes"] else Const(0)
                m.d.comb += [
                    needed.eq(Mux(last, ~taken | (held.acc & ~first), taken & half & ~second & (k < held.count))),
                    ask.reg.eq(Mux(last, ACC, OUTPUT)), ask.y.eq(Mux(last | across, y, k)),
                    ask.x.eq(Mux(last, x, Mux(across, k, Mux(first, column, x)))),
                    ask.tag.eq(Mux(last, Mux(taken, _Role.OLD, _Role.KEEP), _Role.SINGLE))]
        return needed

    def _terms(self, m, reader, factor, held):
        """Elements read become terms of the sum."""
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
