# SPDX-License-Identifier: BSD-2-Clause
"""Proofs of the arbiter and of the window guard, for all inputs and any number of cycles
(induction)."""

import pytest
from amaranth.hdl import Assert, Assume, Cat, Const, Cover, Mux, Signal, signed

from quintet.gateware.memory.arbiter import MemoryArbiter
from quintet.gateware.memory.guard import WindowGuard
from quintet.gateware.parts.queues import ShiftQueue
from tests.support.formal import ProofFailed, Property, cover, prove


class ArbiterProperty(Property):
    """Three ports; each marks its requests with its number in the top bits of the address.

    * Nothing is lost, doubled or reordered: what the memory has taken and not answered, and the
      request on its way, are at any time exactly what the arbiter owes to the ports, in the same
      order; and every answer goes to the port that asked.
    * Write data reach the memory in the order of the write requests, each beat from the port that
      owes it.
    * None starves: while a port asks, at most two requests of others are granted before its own;
      and a request is granted in every cycle in which the memory can take it and what it needs is
      free.
    """

    PORTS = 3
    PATIENCE = PORTS - 1

    def build(self, m):
        dut = m.submodules.dut = MemoryArbiter(beat_bytes=1, ports=self.PORTS, outstanding=3)
        memory = dut.memory
        for i, port in enumerate(dut.port):
            for stream in (port.req, port.w):
                self.offers(m, stream)
            self.free(port.r.ready, port.ack.ready)
            m.d.comb += Assume(port.req.payload.address[30:] == i)
        self.free(memory.req.ready, memory.w.ready)
        for stream in (memory.r, memory.ack):
            self.offers(m, stream)

        # What the memory has taken and not answered. It answers in order, each request as what it
        # is.
        ghost = m.submodules.ghost = ShiftQueue(
            shape=dut._order.o.payload.shape(), depth=dut.outstanding
        )
        tag = memory.req.payload.address[30:]
        m.d.comb += [
            ghost.i.valid.eq(memory.req.valid & memory.req.ready),
            ghost.i.payload.owner.eq(tag),
            ghost.i.payload.write.eq(memory.req.payload.write),
            Assert(ghost.i.ready | ~ghost.i.valid),
            Assume(~memory.r.valid | (ghost.o.valid & ~ghost.o.payload.write)),
            Assume(~memory.ack.valid | (ghost.o.valid & ghost.o.payload.write)),
            ghost.o.ready.eq(
                (memory.r.valid & memory.r.ready & memory.r.payload.last)
                | (memory.ack.valid & memory.ack.ready)
            ),
        ]
        # Ledger: the ghost's entries and then the request on its way are the arbiter's entries.
        passed = Cat(valid for valid, _ in ghost.contents)
        owed = Cat(valid for valid, _ in dut._order.contents)
        with m.If(memory.req.valid):
            m.d.comb += Assert(owed == Cat(Const(1, 1), passed)[: len(owed)])
            m.d.comb += Assert(~passed[-1])
        with m.Else():
            m.d.comb += Assert(owed == passed)
        for i, ((ghost_valid, ghost_entry), (_, entry)) in enumerate(
            zip(ghost.contents, dut._order.contents, strict=True)
        ):
            m.d.comb += Assert(~ghost_valid | (ghost_entry.as_value() == entry.as_value()))
            newest = owed[i] if i == len(owed) - 1 else owed[i] & ~owed[i + 1]
            m.d.comb += Assert(
                ~(memory.req.valid & newest)
                | ((entry.owner == tag) & (entry.write == memory.req.payload.write))
            )
            m.d.comb += Assert(~owed[i] | (entry.owner < self.PORTS))
        for valids in (passed, owed):
            m.d.comb += Assert((valids & (valids + 1)) == 0)

        # Every answer reaches its port, and no other.
        owner = ghost.o.payload.owner
        for i, port in enumerate(dut.port):
            for ours, theirs in ((port.r, memory.r), (port.ack, memory.ack)):
                m.d.comb += Assert(ours.valid == (theirs.valid & (owner == i)))
                m.d.comb += Assert(
                    ~ours.valid | (ours.payload.as_value() == theirs.payload.as_value())
                )
                with m.If(theirs.valid & (owner == i)):
                    m.d.comb += Assert(theirs.ready == ours.ready)

        # Write data.
        grants = [Signal(name=f"grant_{i}") for i in range(self.PORTS)]
        writers = m.submodules.writers = ShiftQueue(shape=dut._now.shape(), depth=2)
        left = Signal(8)
        begun = Signal()
        beat = memory.w.valid & memory.w.ready
        head = writers.o.payload
        with m.If(beat):
            m.d.sync += [begun.eq(1), left.eq(Mux(begun, left, head.left) - 1)]
            with m.If(Mux(begun, left, head.left) == 0):
                m.d.comb += writers.o.ready.eq(1)
                m.d.sync += begun.eq(0)
        m.d.comb += Assert(~beat | writers.o.valid)
        for i, port in enumerate(dut.port):
            m.d.comb += grants[i].eq(port.req.valid & port.req.ready)
            with m.If(grants[i] & port.req.payload.write):
                m.d.comb += [
                    writers.i.valid.eq(1),
                    writers.i.payload.owner.eq(i),
                    writers.i.payload.left.eq(port.req.payload.beats),
                    Assert(writers.i.ready),
                ]
            given = port.w.valid & port.w.ready
            m.d.comb += Assert(given == (beat & (head.owner == i)))
            m.d.comb += Assert(~given | (port.w.payload.as_value() == memory.w.payload.as_value()))
        (valid_0, entry_0), (valid_1, entry_1) = writers.contents
        m.d.comb += [
            Assert(valid_0 == dut._now_valid),
            Assert(valid_1 == dut._after_valid),
            Assert(~valid_1 | valid_0),
            Assert(~begun | valid_0),
            Assert(
                ~valid_0
                | (
                    (entry_0.owner == dut._now.owner)
                    & (entry_0.owner < self.PORTS)
                    & (dut._now.left == Mux(begun, left, entry_0.left))
                )
            ),
            Assert(
                ~valid_1
                | ((entry_1.as_value() == dut._after.as_value()) & (entry_1.owner < self.PORTS))
            ),
        ]

        # Fairness: the grants of others since a port asks, and the ports that still come before it.
        m.d.comb += [Assert(dut._turn < self.PORTS), Assert(sum(grants) <= 1)]
        for i, port in enumerate(dut.port):
            others = Signal(range(self.PORTS + 1), name=f"others_{i}")
            before = Signal(range(self.PORTS), name=f"before_{i}")
            with m.Switch(dut._turn):
                for turn in range(self.PORTS):
                    with m.Case(turn):
                        m.d.comb += before.eq((i - turn - 1) % self.PORTS)
            with m.If(~port.req.valid | port.req.ready):
                m.d.sync += others.eq(0)
            with m.Elif(Cat(grants).any()):
                m.d.sync += others.eq(others + 1)
            m.d.comb += Assert(others + before <= self.PATIENCE)
        asking = Cat(port.req.valid for port in dut.port).any()
        with m.If(asking & (memory.req.ready | ~memory.req.valid) & ~owed[-1] & ~dut._after_valid):
            m.d.comb += Assert(Cat(grants).any())
        m.d.comb += Cover(passed.all() & valid_1)


class GuardProperty(Property):
    """The guard between any side that asks and a memory that answers what it was asked.

    * No request outside the window reaches the memory.
    * The memory gets exactly the write beats that it was promised: never one too many; and `idle`
      means that none is missing and no answer is to come.
    * With `clear`: nothing new is accepted, what is owed falls and is offered without any help of
      the side that asks, and answers are always taken. So a memory that takes and answers brings
      the drain to its end.
    """

    PIPELINED = False

    def build(self, m):
        dut = m.submodules.dut = self.dut = WindowGuard(
            beat_bytes=4, outstanding=2, pipelined=self.PIPELINED
        )
        port, memory = dut.port, dut.memory
        for signal in (dut.base, dut.limit):
            self.constant(m, signal)
            m.d.comb += Assume(signal[:6] == 0)
        self.free(dut.clear, port.r.ready, port.ack.ready, memory.req.ready, memory.w.ready)
        for stream in (port.req, port.w):
            self.offers(m, stream, ~dut.clear)
        for stream in (memory.r, memory.ack):
            self.offers(m, stream)
        # `clear` stays until idle.
        cleared = Signal()
        m.d.sync += cleared.eq(dut.clear & ~dut.idle)
        asked = port.req.payload
        m.d.comb += [
            Assume(~cleared | dut.clear),
            Assume(asked.address[:2] == 0),
            Assume(asked.address + ((asked.beats + 1) << 2) <= 1 << 32),
        ]

        if self.PIPELINED:
            # What the stages hold, and what was found out about it.
            for valid, held in ((dut._summed_valid, dut._summed), (dut._comes, dut._compared)):
                m.d.comb += Assert(
                    ~valid
                    | (
                        (held.address[:2] == 0)
                        & (held.address + ((held.beats + 1) << 2) <= 1 << 32)
                    )
                )
            summed, compared = dut._summed, dut._compared
            m.d.comb += [
                Assert(~dut._summed_valid | (dut._last == (summed.address[2:] + summed.beats)[4:])),
                Assert(
                    ~dut._comes
                    | (
                        dut._fits
                        == (
                            (compared.address >= dut.base)
                            & (compared.address + ((compared.beats + 1) << 2) <= dut.limit)
                        )
                    )
                ),
            ]

        # No access outside.
        request = memory.req.payload
        m.d.comb += Assert(
            ~memory.req.valid
            | (
                (request.address >= dut.base)
                & (request.address[:2] == 0)
                & (request.address + ((request.beats + 1) << 2) <= dut.limit)
            )
        )

        # Ledger of the memory: reads and writes to answer, beats to come (negative when beats have
        # come before their request).
        reads, writes, waiting = Signal(3), Signal(3), Signal(4)
        due, promised = Signal(signed(14)), Signal(signed(15))
        asks = memory.req.valid & memory.req.ready
        read_ends = memory.r.valid & memory.r.ready & memory.r.payload.last
        write_ends = memory.ack.valid & memory.ack.ready
        beat = memory.w.valid & memory.w.ready
        m.d.sync += [
            reads.eq(reads + (asks & ~request.write) - read_ends),
            writes.eq(writes + (asks & request.write) - write_ends),
            due.eq(due + Mux(asks & request.write, request.beats + 1, 0) - beat),
        ]
        m.d.comb += [
            waiting.eq(reads + writes),
            # It answers what it was asked, and a write once all its beats have come.
            Assume((reads != 0) | ~memory.r.valid),
            Assume(((writes != 0) & (due <= ((writes - 1) << 8))) | ~memory.ack.valid),
            # Nothing comes that it was not promised, and all that it was promised will come.
            promised.eq(
                due + Mux(dut._held & dut._inside & dut._request.write, dut._request.beats + 1, 0)
            ),
            Assert(promised == dut._write_beats + memory.w.valid),
            Assert(due <= (writes << 8)),
            Assert(dut._count == waiting + (dut._held & dut._inside)),
            Assert(dut._count <= dut.outstanding),
            Assert(~dut.idle | ((waiting == 0) & ~memory.req.valid & (promised == 0))),
        ]

        # A refused request is answered when nothing else is.
        m.d.comb += Assert(
            ~dut._acknowledge | (dut._held & ~dut._inside & dut._request.write & (dut._count == 0))
        )
        m.d.comb += Assert(
            ~(dut._held & ~dut._inside & (port.r.valid | port.ack.valid) & ~dut.clear)
            | (dut._count == 0)
            | memory.r.valid
            | memory.ack.valid
        )

        # Drain.
        was_clear, owed_before, count_before = (
            Signal(),
            Signal.like(dut._write_beats),
            Signal.like(dut._count),
        )
        w_taken = Signal()
        m.d.sync += [
            was_clear.eq(dut.clear),
            owed_before.eq(dut._write_beats),
            count_before.eq(dut._count),
            w_taken.eq(~memory.w.valid | memory.w.ready),
        ]
        with m.If(dut.clear):
            m.d.comb += [
                Assert(memory.r.ready & memory.ack.ready),
                Assert(~port.req.ready & ~port.w.ready),
                Assert(~port.r.valid & ~port.ack.valid),
            ]
        with m.If(was_clear):
            m.d.comb += [
                Assert(dut._write_beats <= owed_before),
                Assert(dut._count <= count_before),
                Assert(~w_taken | (owed_before == 0) | (dut._write_beats == owed_before - 1)),
                Assert(
                    ~w_taken | (owed_before == 0) | (memory.w.valid & (memory.w.payload.mask == 0))
                ),
            ]
            with m.If(dut.clear & (dut._count == 0) & (count_before == 0)):
                m.d.comb += Assert(dut.idle)
        m.d.comb += [
            Cover(dut.clear & (dut._write_beats == 5) & memory.w.valid),
            Cover(was_clear & dut.idle & (count_before != 0)),
        ]


def test_arbiter(tmp_path):
    prove(ArbiterProperty(), tmp_path, depth=4)


class PipelinedGuardProperty(GuardProperty):
    PIPELINED = True


@pytest.mark.parametrize("design", [GuardProperty, PipelinedGuardProperty])
def test_guard(design, tmp_path):
    prove(design(), tmp_path, depth=4)


@pytest.mark.parametrize("design", [ArbiterProperty, GuardProperty, PipelinedGuardProperty])
def test_properties_are_not_empty(design, tmp_path):
    cover(design(), tmp_path, depth=12)


def test_wrong_claims_are_refuted(tmp_path):
    """The tools see a claim that is too strong by one: the proofs above are not vacuous."""

    class Guard(GuardProperty):
        def build(self, m):
            super().build(m)
            request = self.dut.memory.req
            end = request.payload.address + ((request.payload.beats + 1) << 2)
            m.d.comb += Assert(~request.valid | (end < self.dut.limit))

    class Arbiter(ArbiterProperty):
        PATIENCE = 1

    for design in (Guard, Arbiter):
        with pytest.raises(ProofFailed, match="Assert failed"):
            prove(design(), tmp_path, depth=5)
