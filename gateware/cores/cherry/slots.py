# SPDX-License-Identifier: BSD-2-Clause
"""How a unit walks through the slots of its operations: the operation held, its slot, whether that may go, and its tiles' entries."""
from amaranth import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from .hazards import SlotGate
from .ops import ProgressLayout, entries

__all__ = ["SlotWalk"]


class SlotWalk(wiring.Component):
    """Holds one operation and offers its slots one after the other, each as soon as its waits are over.

    Parameters
    ----------
    params : dict
    layout : layout of the unit's operations (:func:`~.ops.dot_op` and the like)

    Members
    -------
    op : In, stream of operations
    progress : In, :class:`~.ops.ProgressLayout`
    clear : In, drops the operation
    held : Out, the operation at work; ``slot`` : Out, its slot
    valid : Out, that slot may be fetched
    last : Out, it is the operation's last
    take : In, it is fetched: on to the next slot, or operation; only where ``valid``
    entry : Out, array over the registers: entry of the tile that the slot's context sees
    target : Out, entry of the tile that it writes
    """
    def __init__(self, *, params, layout):
        self.params, self.layout = params, layout
        shape = range(entries(params))
        super().__init__({
            "op": In(stream.Signature(layout)), "progress": In(ProgressLayout()), "clear": In(1), "held": Out(layout), "slot": Out(6),
            "valid": Out(1), "last": Out(1), "take": In(1), "entry": Out(data.ArrayLayout(shape, 4)), "target": Out(shape)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.gate = gate = SlotGate()
        contexts = self.params["contexts"]
        busy, accept = Signal(), Signal()
        held, slot = self.held, self.slot
        m.d.comb += [
            self.last.eq(slot + 1 == held.size), self.op.ready.eq(~busy | (self.take & self.last)),
            accept.eq(self.op.valid & self.op.ready), self.valid.eq(busy & gate.go),
            gate.progress.eq(self.progress), gate.slot.eq(slot), gate.waits.eq(Mux(accept, self.op.payload.waits, held.waits)),
            self.target.eq(Mux(held.uniform, contexts + held.phys, slot)),
        ]
        for reg in range(4):
            view = held.view[reg]
            m.d.comb += self.entry[reg].eq(Mux(slot < view.copies, slot, contexts + view.phys))
        with m.If(self.take):
            m.d.sync += slot.eq(slot + 1)
            with m.If(self.last):
                m.d.sync += [slot.eq(0), busy.eq(0)]
        with m.If(accept):
            m.d.sync += [held.eq(self.op.payload), busy.eq(1)]
        with m.If(self.clear):
            m.d.sync += [busy.eq(0), slot.eq(0)]
        return m
