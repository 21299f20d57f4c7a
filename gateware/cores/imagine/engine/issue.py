# SPDX-License-Identifier: BSD-2-Clause
"""Issue stage: start times of decoded operations (specification, sections 4, 9 and 10).

In order, one a cycle at most. An operation of the array occupies the controller for a number of
slots; the writes of its last bits land up to ``drain`` slots after them. Later operations start at
once if that changes no result: writes trail reads at every bit, so two instructions over the
same bits in the same order never meet. Where they could (``hazard``, from the decoder), or where
both want one port of the RAM in one cycle, the second waits until everything has landed.

=========  ====================================================== ==================================
operation  slots                                                  two ports (``tdp``), N = 16
=========  ====================================================== ==================================
add, sub   2N, bit i in slot 2i (2N - 1, if that suits the next)  reads in even, writes in odd slots
                                                                  of port B
updatepp   the multiplier's bit, then as add with N + 1 bits      34
mov, fold  N, bit i in slot i                                     16
accumRow   N + 2^level; receivers start 2^level slots late        17, 18, 20, 24
others     1                                                      1
=========  ====================================================== ==================================

The loop that decides is short: a few bits of each operation in a queue of their own, and one bit of
state for each of them. Everything else of the operation follows one cycle behind.
"""

from amaranth import Cat, Const, Module, Signal
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out

from ....parts.queues import PairQueue
from ....primitives.kept import KeptRegister
from .mapping import Mapping
from .ops import Decoded, GateLayout, OpLayout

__all__ = ["Issue"]

#: Operations that wait at most: as many as the queue of their gates holds, and those that the
#: decoder is a stage ahead with.
_DEPTH = 4


class Issue(wiring.Component):
    """Issue stage: determines the start time of each operation.

    Parameters
    ----------
    mapping : Mapping
    family : ``"ecp5"``, ``"ice40"`` or ``None``

    Members
    -------
    ops : In(Decoded)
    op : Out(OpLayout), go : Out(1): it starts; of those, each from flip-flops of its own:
        array : Out(2), copies, it is of the array;
        emits : Out(1), a ``vv_parallelEn``; modes : Out(1), it changes the shift mode
    capture : In(1), the operation that starts now is captured
    enable : In(1), anything may start at all, a cycle later
    emit : In(1), ``vv_parallelEn`` may start: its words fit
    emitting : In(1), a shift-out is under way (from the cycle after the ``go`` of its
        ``vv_parallelEn`` on)
    discard : In(1), nothing may start any more, operations are thrown away,
        as far as the end; release : In(1), the end, which is the next one, is
    stopped : Out(1), the next one is a fault or the end, and is ``op``; ended : Out(1),
        the end; blocked : Out(1), a ``vv_parallelEn``, and is ``op``
    empty : Out(1), there is no next one; running : Out(1), the array is busy; quiet : Out(1),
        and nothing is to land any more
    """

    def __init__(self, *, mapping: Mapping, family: str | None = None) -> None:
        self.mapping, self.family = mapping, family
        layout = OpLayout(mapping)
        super().__init__(
            {
                "ops": In(Decoded(mapping)),
                "op": Out(layout),
                "go": Out(1),
                "array": Out(2),
                "emits": Out(1),
                "modes": Out(1),
                "capture": In(1),
                "enable": In(1),
                "emit": In(1),
                "emitting": In(1),
                "discard": In(1),
                "release": In(1),
                "stopped": Out(1),
                "ended": Out(1),
                "blocked": Out(1),
                "empty": Out(1),
                "running": Out(1),
                "quiet": Out(1),
            }
        )
        self.gates = PairQueue(shape=GateLayout())
        #: Operations that may start in this cycle, by gate, and the state that this depends on: for
        #: proofs.
        self.may = {
            name: Signal(name=f"may_{name}")
            for name in ("array", "at_once", "odd", "even", "calm", "pause", "mode", "emit")
        }
        self.state = {
            name: Signal(name=name, init=name in ("free", "drained"))
            for name in (
                "free",
                "drained",
                "stored",
                "counts",
                "ends",
                "dual",
                "even",
                "odd",
                "plain",
                "started",
            )
        }
        self.state |= {
            "slots": Signal.like(self.op.slots, name="slots", reset_less=True),
            "landing": Signal(range(mapping.drain + 1), name="landing", reset_less=True),
        }

    def elaborate(self, platform: object) -> Module:
        m = Module()
        mapping, ops = self.mapping, self.ops
        m.submodules.gates = gates = self.gates
        layout = OpLayout(mapping)
        # Beside a small array an iCE40 has unused block RAMs, but no unused logic. They hold a
        # whole operation or, if the array takes more than eight, 64 bits of it.
        split = 64 if mapping.small and not mapping.tiny else 0
        m.submodules.rest_disjoint = rest = memory.Memory(
            shape=split or layout,
            depth=_DEPTH,
            init=[],
            attrs={"ram_style": "block"} if mapping.small else {},
        )
        put, get = rest.write_port(), rest.read_port()
        tail, head = Signal(range(_DEPTH)), Signal(range(_DEPTH))
        gate, said = Signal(GateLayout()), Signal(GateLayout())

        m.d.comb += gate.eq(ops.gate.payload)
        for kind in ("odd", "even", "calm"):
            m.d.comb += gate[kind].eq(ops.gate.payload[kind] & ~ops.hazard)
        if mapping.two_ports:
            # Nothing there but a hazard keeps either from a free slot.
            m.d.comb += [
                gate.at_once.eq(ops.gate.payload.at_once | ops.gate.payload.calm & ~ops.hazard),
                gate.calm.eq(0),
            ]
        m.d.comb += [
            gates.i.valid.eq(ops.gate.valid),
            gates.i.payload.eq(gate),
            ops.gate.ready.eq(gates.i.ready),
            put.addr.eq(tail),
            put.data.eq(ops.op),
            put.en.eq(ops.put & gates.i.ready),
            get.addr.eq(head),
            get.en.eq(1),
        ]
        kept = get.data
        if split:
            m.submodules.further_disjoint = further = memory.Memory(
                shape=layout.size - split, depth=_DEPTH, init=[]
            )
            put_further, get_further = further.write_port(), further.read_port()
            m.d.comb += [
                put_further.addr.eq(tail),
                put_further.data.eq(ops.op.as_value()[split:]),
                put_further.en.eq(put.en),
                get_further.addr.eq(head),
                get_further.en.eq(1),
            ]
            kept = Cat(get.data, get_further.data)
        with m.If(put.en):
            m.d.sync += tail.eq(tail + 1)
        if mapping.small:
            m.d.comb += ops.moves.eq(gates.i.ready.replicate(len(ops.moves)))
        else:
            moves = m.submodules.moves = KeptRegister(width=len(ops.moves), family=self.family)
            m.d.comb += [
                moves.d.eq(gates.space_next.replicate(len(ops.moves))),
                ops.moves.eq(moves.q),
            ]
        m.d.comb += said.eq(gates.o.payload)  # all low where there is none

        # Operations that may start in this cycle.
        may, started = self.may, self.state["started"]
        go, drop, starts = Signal(), Signal(), Signal()
        allowed = {name: said[name] & value for name, value in may.items()}
        of_array = Cat(allowed[name] for name in ("array", "at_once", "odd", "even", "calm")).any()
        m.d.comb += [
            go.eq(of_array | allowed["pause"] | allowed["mode"] | allowed["emit"]),
            starts.eq(of_array & said.multi),
            gates.o.ready.eq(go | drop | self.release),
        ]
        # Every second cycle will do, from a flip-flop.
        m.d.sync += drop.eq(self.discard & gates.o.valid & ~said.end & ~drop)
        with m.If(gates.o.ready):
            m.d.sync += head.eq(head + 1)
        copies = m.submodules.copies = KeptRegister(
            width=1 if mapping.small else 2, family=self.family
        )
        m.d.comb += [
            copies.d.eq(of_array.replicate(2)),
            self.array.eq(copies.q if len(copies.q) == 2 else copies.q.replicate(2)),
        ]
        m.d.sync += [
            self.go.eq(go),
            self.emits.eq(allowed["emit"]),
            self.modes.eq(allowed["emit"] | allowed["mode"]),
            started.eq(starts),
            self.stopped.eq(said.stop),
            self.ended.eq(said.end),
            self.blocked.eq(said.emit & ~may["emit"]),
            self.empty.eq(~gates.o.valid),
        ]
        m.d.comb += self.op.eq(kept)
        self._state(m, of_array, starts, allowed["emit"], said)
        return m

    def _state(self, m, go, starts, emits, said):
        """State of the issue stage. ``go``: start enable of the array; the other signals tell which
        operation starts in this cycle, ``started`` a cycle later."""
        mapping, may = self.mapping, self.may
        free, drained, stored, counts, ends, dual, even, odd, plain, started, slots, landing = (
            self.state.values()
        )
        # Two instructions whose second port both reads and writes must interleave.
        free_next, drained_next, even_next, odd_next, stored_next, plain_next = (
            Signal(name=f"{n}_next") for n in ("free", "drained", "even", "odd", "stored", "plain")
        )
        m.d.comb += [
            free_next.eq(free | ends),
            drained_next.eq((drained | (landing == 1)) & ~ends),
            stored_next.eq(stored),
            even_next.eq(odd if mapping.two_ports else even),
            odd_next.eq(even if mapping.two_ports else odd),
            plain_next.eq(plain),
        ]
        m.d.sync += [slots.eq(slots - 1), ends.eq(counts & (slots == 2)), landing.eq(landing - 1)]
        with m.If(ends):
            m.d.comb += [even_next.eq(dual), odd_next.eq(0 if mapping.two_ports else dual)]
            m.d.sync += [landing.eq(mapping.drain), counts.eq(0)]
        with m.If(started):
            m.d.sync += [slots.eq(self.op.slots), counts.eq(1), dual.eq(~self.op.one)]
            # Not captured: words of the columns may go beside it.
            m.d.comb += plain_next.eq(~self.capture)
        m.d.sync += [
            free.eq(free_next & ~starts),
            even.eq(even_next),
            odd.eq(odd_next),
            plain.eq(plain_next & ~starts),
        ]
        # With two ports a mv_write takes one slot and is over.
        store = Const(0) if mapping.two_ports else go & said.store
        m.d.sync += [
            drained.eq(drained_next & ~starts & ~store),
            stored.eq((stored_next | store) & ~starts),
        ]
        with m.If(store):
            m.d.sync += landing.eq(mapping.drain)
        can = self.enable & free_next & ~starts
        m.d.sync += [
            may["at_once"].eq(can),
            may["array"].eq(can & drained_next & ~store),
            may["odd"].eq(can & odd_next & ~stored_next & ~store),
            may["even"].eq(can & even_next & ~stored_next & ~store),
            may["calm"].eq(can & ~stored_next & ~store),
        ]
        # A shift-out begins with the ``go`` that follows its start by a cycle.
        idle = self.enable & ~self.emitting & ~emits & ~self.emits
        beside = (free_next | plain_next) & ~starts
        m.d.sync += [
            may["pause"].eq(idle),
            may["mode"].eq(idle & beside),
            may["emit"].eq(idle & beside & self.emit),
        ]
        m.d.comb += [self.running.eq(~free), self.quiet.eq(free & drained)]
