# SPDX-License-Identifier: BSD-2-Clause
"""How a unit walks through the slots of its operations: the operation held, its slot, whether that may go, and its tiles' entries."""
from amaranth import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from .hazards import SlotGate
from .ops import ProgressLayout, entries

__all__ = ["SlotWalk"]


class SlotWalk(wiring.Component):
    """Holds one operation and offers its slots one after the other, as soon as their waits are over.

    What may go is worked out in registers, from the operation held: its first slot is offered in the second cycle after its acceptance.

    Parameters
    ----------
    params : dict
    layout : layout of the unit's operations (:func:`~.ops.dot_op` and the like)
    every_cycle : bool
        A slot may be taken every cycle; else every other one, and ``valid`` comes from a register.

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
    def __init__(self, *, params, layout, every_cycle=False):
        self.params, self.layout, self.every_cycle = params, layout, every_cycle
        shape = range(entries(params))
        super().__init__({
            "op": In(stream.Signature(layout)), "progress": In(ProgressLayout()), "clear": In(1), "held": Out(layout), "slot": Out(6),
            "valid": Out(1), "last": Out(1), "take": In(1), "entry": Out(data.ArrayLayout(shape, 4)), "target": Out(shape)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.gate = gate = SlotGate()
        contexts = self.params["contexts"]
        busy, accept, fresh = Signal(), Signal(), Signal()
        held, slot = self.held, self.slot
        m.d.comb += [
            self.last.eq(slot + 1 == held.size), self.op.ready.eq(~busy | (self.take & self.last)),
            accept.eq(self.op.valid & self.op.ready), gate.progress.eq(self.progress), gate.slot.eq(slot), gate.waits.eq(held.waits),
            self.target.eq(Mux(held.uniform, contexts + held.phys, slot)),
        ]
        m.d.sync += fresh.eq(accept)
        if self.every_cycle:
            m.d.comb += self.valid.eq(busy & ~fresh & gate.go)
        else:
            m.d.sync += self.valid.eq(busy & ~fresh & gate.go & ~self.take & ~self.clear)
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
