# SPDX-License-Identifier: BSD-2-Clause
"""Proofs of what lies between the processors: rendezvous, event registers, deadlock."""

import pytest
from amaranth.hdl import Assert, Assume, Cat, Cover, Mux, Signal

from quintet.gateware.cores.pim.engine.crossbar import Crossbar
from quintet.gateware.cores.pim.engine.deadlock import PATIENCE, DeadlockDetector
from quintet.gateware.cores.pim.engine.events import EventFile
from quintet.gateware.cores.pim.isa import EVENT_MOST
from tests.support.formal import ProofFailed, Property, cover, prove

CORES = 3
PARAMS = {"cores": CORES, "vec_bytes": 1, "max_biw": 8}


class RendezvousProperty(Property):
    """Three cores that send and receive as they like.

    * Two that are at the rendezvous with each other are told to go in the next cycle: none ever
      waits with both ends there.
    * Go is told to both ends of a pair that is there, and to no other.
    * A receiver's words are those of the sender it met, at once, and no word goes elsewhere; the
      end of a message reaches its sender.
    """

    def build(self, m):
        dut = m.submodules.dut = Crossbar(params=PARAMS)
        ports = dut.port
        moving = [
            Signal(name=f"moving_{i}") for i in range(CORES)
        ]  # between go and the end of its message
        sending = [Signal(name=f"sending_{i}") for i in range(CORES)]
        partner = [Signal(2, name=f"partner_{i}") for i in range(CORES)]
        for i, port in enumerate(ports):
            self.free(
                port.meet,
                port.sends,
                port.peer,
                port.size,
                port.word_out,
                port.out_valid,
                port.in_ready,
                port.written,
            )
            # How a core behaves: it stays at the rendezvous until go, and returns when its message
            # is over.
            waits = Signal(name=f"waits_{i}")
            asked = Cat(port.sends, port.peer, port.size)
            before = Signal.like(asked, name=f"before_{i}")
            m.d.sync += [waits.eq(port.meet & ~port.go), before.eq(asked)]
            m.d.comb += [
                Assume((port.peer < CORES) & (port.peer != i)),
                Assume(~waits | port.meet & (asked == before)),
                Assume(~(port.go & ~waits)),
                Assume(~port.go | port.meet),
                Assume(~moving[i] | ~port.meet),
                Assume(~port.written | moving[i] & ~sending[i]),
                Assume(~port.out_valid | moving[i] & sending[i]),
            ]
            # Behind go the request may only be taken back: the cycle of go itself shows it still.
            over = Signal(name=f"over_{i}")
            m.d.comb += over.eq(Mux(sending[i], port.sent, port.written))
            with m.If(port.go):
                m.d.sync += [
                    moving[i].eq(~port.differs),
                    sending[i].eq(port.sends),
                    partner[i].eq(port.peer),
                ]
            with m.Elif(over):
                m.d.sync += moving[i].eq(0)
        met_before = Signal(name="met_before")
        for i in range(CORES):
            for j in range(CORES):
                if i == j:
                    continue
                a, b = ports[i], ports[j]
                pair, ready = Signal(name=f"pair_{i}{j}"), Signal(name=f"ready_{i}{j}")
                m.d.comb += pair.eq(
                    a.meet & a.sends & (a.peer == j) & b.meet & ~b.sends & (b.peer == i)
                )
                m.d.sync += ready.eq(pair & ~a.go & ~b.go)
                m.d.comb += Assert(~ready | a.go & b.go)
                # Either both of a pair go, or none.
                m.d.comb += Assert(~(a.go & a.sends & (a.peer == j)) | pair & b.go)
                m.d.comb += Assert(~(b.go & ~b.sends & (b.peer == i)) | pair & a.go)
                m.d.comb += Assert(~(a.go & pair) | ready)
                with m.If(ready):
                    m.d.comb += Assert(a.differs == (a.size != b.size))
                    m.d.comb += Assert(b.differs == a.differs)
                    m.d.comb += Assert(~a.differs | (a.peer_size == b.size))
                linked = moving[i] & sending[i] & (partner[i] == j)
                back = moving[j] & ~sending[j] & (partner[j] == i)
                m.d.comb += Assert(linked == back)
                m.d.comb += Assert(dut._source[j][i] == (linked | a.go & a.sends & (a.peer == j)))
                with m.If(linked):
                    m.d.comb += [
                        Assert(b.word_in == a.word_out),
                        Assert(b.in_valid == a.out_valid),
                        Assert(a.out_ready == b.in_ready),
                        Assert(a.sent == b.written),
                    ]
                m.d.comb += Cover(linked & b.written & met_before)
                m.d.sync += met_before.eq(met_before | linked & b.written)
        for j, port in enumerate(ports):
            with m.If(~moving[j]):
                m.d.comb += Assert(~port.in_valid)
            m.d.comb += Assert(~dut._source[j][j])
            m.d.comb += Assert(~port.go | dut.moving)


def test_rendezvous(tmp_path):
    prove(RendezvousProperty(), tmp_path, depth=4)
    cover(RendezvousProperty(), tmp_path, depth=12)


class EventProperty(Property):
    """One event register, any of them, of a core that two may sync to.

    A count kept from outside goes up at each ``synced`` without overflow and is reset or lowered at
    each ``granted``; a wait is granted only when it holds, an overflow is told only at the top, and
    no request waits longer than its turn.
    """

    SOURCES = 2
    PATIENCE = 2 * (SOURCES + 1)

    def build(self, m):
        dut = m.submodules.dut = EventFile(sources=self.SOURCES, events=2)
        which = Signal(name="which")
        self.constant(m, which)
        self.free(dut.sync, *dut.event, dut.wait, dut.wait_event, dut.wait_value, dut.wait_count)
        m.d.comb += [Assert(dut.ready), Assert(dut._open == (dut._serving == 0))]
        m.d.comb += Assume(Cat(event[1:] for event in (*dut.event, dut.wait_event)) == 0)
        total = Signal(11, name="total")
        actual = Signal(10, name="actual")
        look = dut.registers.read_port(domain="comb")
        m.d.comb += [look.addr.eq(which), actual.eq(look.data)]
        # What was decided in this cycle is told in the next.
        told = Signal(11, name="told")
        up, down = Signal(name="up"), Signal(name="down")
        for k in range(self.SOURCES):
            asked = Cat(dut.event[k])
            before, waits, age = (
                Signal(5, name=f"before_{k}"),
                Signal(name=f"waits_{k}"),
                Signal(4, name=f"age_{k}"),
            )
            m.d.sync += [
                before.eq(asked),
                waits.eq(dut.sync[k] & ~dut.synced[k]),
                age.eq(Mux(dut.sync[k] & ~dut.synced[k], age + 1, 0)),
            ]
            m.d.comb += [
                Assume(~waits | dut.sync[k] & (asked == before)),
                Assert(age <= self.PATIENCE),
            ]
            m.d.comb += Assert(~dut.synced[k] | dut.sync[k])
            with m.If(dut.synced[k] & (dut.event[k] == which)):
                m.d.comb += [up.eq(~dut.overflow), Assert(dut.overflow == (total == EVENT_MOST))]
            serving = dut._serving[k]
            m.d.comb += Assert(~serving | waits & (dut._register == before))
            # How long a request may still wait is seen from whose turn it is.
            m.d.comb += Assert(~(serving & (age > self.PATIENCE - 1)))
        asked = Cat(dut.wait_event, dut.wait_value, dut.wait_count)
        before, waits = Signal.like(asked, name="before_wait"), Signal(name="waits_wait")
        m.d.sync += [before.eq(asked), waits.eq(dut.wait & ~dut.granted)]
        m.d.comb += [
            Assume(~waits | dut.wait & (asked == before)),
            Assert(~dut.granted | dut.wait),
            Assert(~dut._serving[self.SOURCES] | waits & (dut._register == before[:5])),
            Assert((dut._serving & (dut._serving - 1)) == 0),
            Assert(dut._turn <= self.SOURCES),
            Assert(~(dut.granted & dut.synced.any())),
        ]
        with m.If(dut.granted & (dut.wait_event == which)):
            m.d.comb += [
                down.eq(1),
                Assert(Mux(dut.wait_count, total >= dut.wait_value, total == dut.wait_value)),
            ]
        m.d.comb += told.eq(total + up - Mux(down, Mux(dut.wait_count, dut.wait_value, total), 0))
        m.d.sync += total.eq(told)
        m.d.comb += [Assert(told == actual), Assert(told <= EVENT_MOST)]
        m.d.comb += [
            Cover(down & (total == 2) & dut.wait_count),
            Cover(down & (total == 2) & ~dut.wait_count),
        ]


def test_event_register(tmp_path):
    prove(EventProperty(), tmp_path, depth=8)
    cover(EventProperty(), tmp_path, depth=14)


class DeadlockProperty(Property):
    """Found when and only when nothing could move for so long, and never while a core runs."""

    def build(self, m):
        dut = m.submodules.dut = DeadlockDetector(cores=2)
        self.free(dut.running, dut.finished, dut.blocked, dut.moving)
        still = Signal(range(PATIENCE + 2), name="still")
        stuck = dut.running & ~dut.moving & (dut.finished | dut.blocked).all() & ~dut.finished.all()
        m.d.sync += still.eq(Mux(stuck, Mux(still > PATIENCE, still, still + 1), 0))
        m.d.comb += [
            Assert(dut.found == (still >= PATIENCE)),
            Assert((still <= PATIENCE) | dut.found),
            Cover(dut.found),
        ]


def test_deadlock(tmp_path):
    prove(DeadlockProperty(), tmp_path, depth=PATIENCE + 3)
    cover(DeadlockProperty(), tmp_path, depth=PATIENCE + 3)


class Hasty(DeadlockProperty):
    """A wrong claim, that the proof refuses."""

    def build(self, m):
        super().build(m)
        found = Signal(name="found_ever")
        m.d.comb += Assert(~found)
        m.d.sync += found.eq(1)


def test_a_wrong_claim_is_refused(tmp_path):
    with pytest.raises(ProofFailed):
        prove(Hasty(), tmp_path, depth=4)
