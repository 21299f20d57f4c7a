# SPDX-License-Identifier: BSD-2-Clause
"""Context iterator of a unit: tracks the current operation and context, whether the context may
start, and the entries of its tiles."""

from amaranth import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from .....isa.parameters import Params
from ...params import microcoded
from ..front.hazards import ContextGate
from ..ops import ProgressLayout, Unit, entries, unhurried

__all__ = ["ContextIterator"]


class ContextIterator(wiring.Component):
    """Context iterator: offers the slots of an operation in order, as soon as their wait conditions
    are met; one per cycle, also across operations.

    Whether a slot may go is a register, worked out a cycle ahead for the slot held, the one after
    it, and the first of the next operation. In an unhurried build (:func:`~..ops.unhurried`) for
    the slot held alone: a slot begins two cycles after the one before at the earliest.

    Parameters
    ----------
    params : dict
    layout : layout of the unit's operations (:func:`~..ops.dot_op` and the like)
    own : :class:`~..ops.Unit`, whose slots these are

    Members
    -------
    op : In, stream of operations
    progress : In, :class:`~..ops.ProgressLayout`
    clear : In, drops the operation
    held : Out, the operation at work; ``slot`` : Out, its slot
    valid : Out, that slot may be fetched
    last : Out, it is the operation's last
    take : In, it is fetched: on to the next slot, or operation; only where ``valid``
    entry : Out, array over the registers: entry of the tile that the slot's context sees
    target : Out, entry of the tile that it writes
    """

    def __init__(self, *, params: Params, layout: data.StructLayout, own: Unit) -> None:
        self.params, self.layout, self._own = params, layout, own
        shape = range(entries(params))
        super().__init__(
            {
                "op": In(stream.Signature(layout)),
                "progress": In(ProgressLayout()),
                "clear": In(1),
                "held": Out(layout),
                "slot": Out(6),
                "valid": Out(1),
                "last": Out(1),
                "take": In(1),
                "entry": Out(data.ArrayLayout(shape, 4)),
                "target": Out(shape),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.gate = gate = ContextGate(own=self._own)
        contexts, alone = self.params["contexts"], unhurried(self.params)
        busy, accept = Signal(), Signal()
        held, slot, given = Signal.like(self.held, reset_less=True), self.slot, self.op.payload
        m.d.comb += self.held.eq(held)
        m.d.comb += [
            self.op.ready.eq(~busy | (self.take & self.last)),
            accept.eq(self.op.valid & self.op.ready),
            gate.progress.eq(self.progress),
            gate.slot.eq(slot),
            gate.waits.eq(held.waits),
            gate.first_waits.eq(given.waits),
            self.target.eq(Mux(held.uniform, contexts + held.phys, slot)),
        ]
        # Whether the slot's context sees a private tile of each register. Except in the small
        # engine it is compared a slot ahead, since the way to the tile file's block RAMs begins
        # here.
        private, ahead = Signal(4, reset_less=True), not microcoded(self.params)
        for reg in range(4):
            view = held.view[reg]
            sees = private[reg] if ahead else slot < view.copies
            m.d.comb += self.entry[reg].eq(Mux(sees, slot, contexts + view.phys))
            if ahead:
                with m.If(self.take):
                    m.d.sync += private[reg].eq(private[reg] & (slot + 1 != view.copies))
                with m.If(accept):
                    m.d.sync += private[reg].eq(given.view[reg].copies != 0)
        m.d.sync += self.valid.eq(busy & gate.now)
        with m.If(self.take):
            m.d.sync += [
                slot.eq(slot + 1),
                self.last.eq(slot + 2 == held.size),
                self.valid.eq(0 if alone else ~self.last & gate.after),
            ]
            with m.If(self.last):
                m.d.sync += [slot.eq(0), busy.eq(0)]
        with m.If(accept):
            m.d.sync += [
                held.eq(given),
                busy.eq(1),
                self.last.eq(given.size == 1),
                self.valid.eq(0 if alone else gate.first),
            ]
        with m.If(self.clear):
            m.d.sync += [busy.eq(0), slot.eq(0), self.valid.eq(0)]
        return m
