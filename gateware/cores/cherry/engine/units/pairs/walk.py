# SPDX-License-Identifier: BSD-2-Clause
"""Address generator of the load/store unit for two banks: addresses of a slot, two per cycle, all
checked before the slot's accesses start."""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ......isa.parameters import Params
from ...front.hazards import ContextGate
from ...ops import ProgressLayout, Unit, entries, lsu_op

__all__ = ["AddressWalk", "PairLayout", "SlotLayout", "Way"]


class PairLayout(data.StructLayout):
    """Addresses of one lane or, with ``two``, of two lanes that are accessed in the same cycle."""

    def __init__(self, params: Params) -> None:
        super().__init__({"first": params["log_mem"], "second": params["log_mem"], "two": 1})


class Way(data.StructLayout):
    """Traversal order of a slot's lanes. ``along``: two neighbours of a row together, row by row;
    ``down``: two neighbours of a column together, column by column of two rows; neither: one by
    one, row by row. ``len_y``, ``len_x``: rows and columns, 1 to 4."""

    def __init__(self) -> None:
        super().__init__({"along": 1, "down": 1, "len_y": 3, "len_x": 3})


class SlotLayout(data.StructLayout):
    """Slot whose addresses have been checked.

    bad : one of them lies outside MEM; the slot must not be done
    store, reg, skip : of the operation; ``keeps``: a load that needs the old tile
    entry : of the tile that a load writes; ``source``: of the tile that is read
    """

    def __init__(self, params: Params) -> None:
        shape = range(entries(params))
        super().__init__(
            {
                "bad": 1,
                "store": 1,
                "reg": 2,
                "skip": 1,
                "keeps": 1,
                "entry": shape,
                "source": shape,
                "way": Way(),
            }
        )


class AddressWalk(wiring.Component):
    """Address generator: generates and checks the addresses of each slot ahead of its accesses, as
    soon as its wait conditions are met.

    Lanes are passed in pairs that lie in different banks or at one address: along rows where
    ``stride_x`` is odd or 0; else, of a load, down columns where ``stride_y`` is; else one by one.
    So later lanes of a store come later. An operation is taken when its last slot is walked.

    Parameters
    ----------
    params : dict, with two banks

    Members
    -------
    op : In, stream of :func:`~...ops.lsu_op`; progress : In, :class:`~...ops.ProgressLayout`
    space : In, from a register: of a pair that is stepped to now there is space; step : Out,
        that is done: it is pushed a cycle later, if it is
    push : Out, ``pair`` : Out(:class:`PairLayout`), another pair; slot_valid : Out,
        ``slot`` : Out(:class:`SlotLayout`), a slot is complete with the pair pushed in this cycle,
        or is bad: its pairs mean nothing, and no slot follows
    fault_slot, fault_address : Out, of a bad slot: its number in the operation,
        the first address outside, row by row
    clear : In
    """

    def __init__(self, *, params: Params) -> None:
        self._params = params
        super().__init__(
            {
                "op": In(stream.Signature(lsu_op())),
                "progress": In(ProgressLayout()),
                "clear": In(1),
                "space": In(1),
                "step": Out(1),
                "push": Out(1),
                "pair": Out(PairLayout(params)),
                "slot_valid": Out(1),
                "slot": Out(SlotLayout(params)),
                "fault_slot": Out(6),
                "fault_address": Out(18),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        gate = m.submodules.gate = ContextGate(own=Unit.LSU)
        op = self.op.payload
        # The operation: `number` is the next slot to start, while there are `more`; `base` is its
        # address.
        busy, more, last, go, dead = Signal(), Signal(), Signal(), Signal(), Signal()
        number, base = Signal(6), Signal(18, reset_less=True)
        along, down = Signal(reset_less=True), Signal(reset_less=True)
        # The walk of a slot; `ending`: of the operation's last one; `searches`: for the first
        # address outside.
        walking, searches, start, over, ending = Signal(), Signal(), Signal(), Signal(), Signal()
        passing, origin = Signal(6, reset_less=True), Signal(18, reset_less=True)
        at, row = Signal(18, reset_less=True), Signal(18, reset_less=True)
        x, y = Signal(3, reset_less=True), Signal(3, reset_less=True)
        step, ends_row, ends = self.step, Signal(), Signal()
        m.d.comb += [
            gate.progress.eq(self.progress),
            gate.waits.eq(op.waits),
            gate.slot.eq(number),
            step.eq(walking & (self.space | searches)),
            ends_row.eq((x + 1 + along) >= op.len_x),
            ends.eq(ends_row & ((y + 1 + down) >= op.len_y)),
            start.eq(go & self.space & (~walking | (step & ends)) & ~searches & ~dead),
        ]
        m.d.sync += go.eq(busy & more & gate.now & ~start)

        def together(stride):
            """Whether neighbours can be accessed together: they lie in different banks, or at the
            same address."""
            return stride[0] | (stride == 0)

        with m.If(~busy & self.op.valid & ~dead):
            m.d.sync += [
                busy.eq(1),
                more.eq(1),
                number.eq(0),
                last.eq(op.size == 1),
                base.eq(op.address),
                along.eq(together(op.stride_x)),
                down.eq(~together(op.stride_x) & together(op.stride_y) & ~op.store),
            ]
        with m.If(step):
            further = row + (op.stride_y << down)[:18]
            m.d.sync += [
                at.eq(Mux(ends_row, further, at + (op.stride_x << along)[:18])),
                x.eq(Mux(ends_row, 0, x + 1 + along)),
            ]
            with m.If(ends_row):
                m.d.sync += [row.eq(further), y.eq(y + 1 + down)]
            with m.If(ends):
                m.d.sync += walking.eq(0)
        with m.If(start):
            m.d.sync += [
                walking.eq(1),
                at.eq(base),
                row.eq(base),
                origin.eq(base),
                base.eq(base + op.step),
                x.eq(0),
                y.eq(0),
                passing.eq(number),
                number.eq(number + 1),
                more.eq(~last),
                ending.eq(last),
                last.eq(number + 2 == op.size),
            ]

        # A cycle later: the pair is judged.
        judged, final, whole = Signal(), Signal(reset_less=True), Signal(reset_less=True)
        first, second, two, of_slot, its_origin = (
            Signal(bits, reset_less=True) for bits in (18, 18, 1, 6, 18)
        )
        m.d.sync += [
            judged.eq(step),
            final.eq(ends),
            whole.eq(ends & ending),
            of_slot.eq(passing),
            its_origin.eq(origin),
            first.eq(at),
            second.eq(at + Mux(along, op.stride_x, op.stride_y)),
            two.eq(Mux(along, x + 1 < op.len_x, down & (y + 1 < op.len_y))),
        ]
        log = self._params["log_mem"]
        outside, other = Signal(), Signal()
        m.d.comb += [
            outside.eq(first[log:].any() if log < 18 else 0),
            other.eq(two & (second[log:].any() if log < 18 else 0)),
            self.push.eq(judged & ~searches),
            self.pair.first.eq(first),
            self.pair.second.eq(second),
            self.pair.two.eq(two),
            over.eq(judged & final & ~outside & ~other),
            self.slot_valid.eq(over | (judged & (outside | other) & ~down)),
            self.op.ready.eq(over & whole),
        ]
        with m.If(self.op.ready):
            m.d.sync += busy.eq(0)
        with m.If(judged & (outside | other)):
            m.d.sync += [
                judged.eq(0),
                walking.eq(0),
                dead.eq(1),
                self.fault_address.eq(Mux(outside, first, second)),
            ]
            with m.If(~dead):
                m.d.sync += self.fault_slot.eq(of_slot)
            with m.If(down):
                # The first one in the order of rows is still to be found, of this slot.
                m.d.sync += [
                    down.eq(0),
                    walking.eq(1),
                    searches.eq(1),
                    at.eq(its_origin),
                    row.eq(its_origin),
                    x.eq(0),
                    y.eq(0),
                ]
            with m.Else():
                m.d.sync += searches.eq(0)
        self._describe(m, number=of_slot, along=along, down=down, bad=outside | other)
        with m.If(self.clear):
            m.d.sync += [
                busy.eq(0),
                more.eq(0),
                go.eq(0),
                walking.eq(0),
                searches.eq(0),
                judged.eq(0),
                dead.eq(0),
            ]
        return m

    def _describe(self, m, *, number, along, down, bad):
        """Fields of the current slot for the next stage."""
        op, slot, contexts = self.op.payload, self.slot, self._params["contexts"]
        view = op.view[op.reg]
        context = Mux(op.uniform, 0, number)
        whole = (op.len_y == 4) & (op.len_x == 4)
        m.d.comb += [
            slot.bad.eq(bad),
            slot.store.eq(op.store),
            slot.reg.eq(op.reg),
            slot.skip.eq(op.skip),
            slot.keeps.eq(~(op.store | op.zero | whole)),
            slot.entry.eq(Mux(op.uniform, contexts + op.phys, number)),
            slot.source.eq(Mux(context < view.copies, context, contexts + view.phys)),
            slot.way.eq(Cat(along, down, op.len_y, op.len_x)),
        ]
