# SPDX-License-Identifier: BSD-2-Clause
"""Proofs of what the bus masters promise their bus, for all inputs."""

import pytest
from amaranth.hdl import Assert, Assume, Cat, Cover, Mux, Signal

from quintet.gateware.bus.masters.axi4 import AXI4Master
from quintet.gateware.bus.masters.native import NativeMaster
from quintet.gateware.bus.masters.wishbone import WishboneMaster
from quintet.gateware.memory.port import MAX_BEATS
from tests.support.formal import ProofFailed, Property, check, cover, prove


class MasterProperty(Property):
    """A master between any side that asks and any slave."""

    def side_that_asks(self, m, port):
        for stream in (port.req, port.w):
            self.offers(m, stream)
        self.free(port.r.ready, port.ack.ready)

    def stands(self, m, valid, ready, *payload):
        """What is on offer stays until it is taken."""
        payload = Cat(payload)
        waits, before = Signal(name="waits"), Signal(len(payload), name="before")
        m.d.sync += [waits.eq(valid & ~ready), before.eq(payload)]
        m.d.comb += Assert(~waits | (valid & (payload == before)))


class WishboneProperty(MasterProperty):
    """A transfer stands until its answer, `stb` is never high without `cyc`, and other masters get
    their turn: `cyc` falls after `hold` beats and the rest of a request at the latest."""

    HOLD = 3

    def build(self, m):
        dut = m.submodules.dut = self.dut = WishboneMaster(
            beat_bytes=1, base=1 << 31, hold=self.HOLD
        )
        bus = dut.bus
        self.side_that_asks(m, dut.port)
        self.free(bus.ack, bus.err)
        m.d.comb += [Assume(~(bus.ack & bus.err)), Assert(bus.cyc | ~bus.stb)]
        self.stands(
            m,
            bus.stb,
            bus.ack | bus.err,
            *(bus.adr, bus.we, bus.sel, bus.cti, Mux(bus.we, bus.dat_w, 0)),
        )
        # Transfers since cyc was low, and since the burst began.
        held, burst = Signal(range(2 * MAX_BEATS)), Signal(range(MAX_BEATS + 1))
        done = bus.stb & (bus.ack | bus.err)
        with m.If(~bus.cyc):
            m.d.sync += held.eq(0)
        with m.Elif(done):
            m.d.sync += held.eq(held + 1)
        m.d.comb += [
            Assert(dut._held == Mux(held < self.HOLD, held, self.HOLD)),
            Assert(~dut._busy | dut._gap | (held + dut._left <= self.HOLD + MAX_BEATS - 2)),
            Assert(~bus.cyc | (held < self.HOLD + MAX_BEATS - 1)),
            Assert(~(dut._busy & dut._single) | (dut._left == 0)),
        ]
        # A burst's next transfer is at the next address, and cyc stays high up to its last one.
        inside, next_address = Signal(), Signal.like(bus.adr)
        with m.If(done):
            m.d.sync += [
                inside.eq((bus.cti == 0b010) & ~bus.err),
                next_address.eq(bus.adr + 1),
                burst.eq(Mux(inside, burst + 1, 1)),
            ]
        with m.If(inside):
            m.d.comb += [
                Assert(bus.cyc),
                Assert(~bus.stb | (bus.adr[:31] == next_address[:31])),
                Assert(~bus.stb | (bus.cti != 0)),
            ]
        m.d.comb += [
            Assert(~inside | (dut._busy & ~dut._gap & ~dut._single)),
            Assert(~inside | (bus.adr[:31] == next_address[:31])),
            Cover(burst == 3),
        ]


class AXI4Property(MasterProperty):
    """Addresses and data on offer stand, no burst leaves its block of `burst` beats (so none
    crosses 4 KiB), and every answer of a slave finds its place, with `rready` and `bready` always
    high."""

    BUFFER = 8

    def build(self, m):
        dut = m.submodules.dut = AXI4Master(
            beat_bytes=1, burst=4, outstanding=2, buffer=self.BUFFER
        )
        bus = dut.bus
        self.side_that_asks(m, dut.port)
        self.free(bus.awready, bus.wready, bus.arready)
        self.free(bus.bvalid, bus.bresp, bus.rvalid, bus.rdata, bus.rresp, bus.rlast)
        self.stands(m, bus.awvalid, bus.awready, bus.awaddr, bus.awlen)
        self.stands(m, bus.arvalid, bus.arready, bus.araddr, bus.arlen)
        self.stands(m, bus.wvalid, bus.wready, bus.wdata, bus.wstrb, bus.wlast)
        for valid, address, beats in (
            (bus.awvalid, bus.awaddr, bus.awlen),
            (bus.arvalid, bus.araddr, bus.arlen),
        ):
            m.d.comb += Assert(~valid | (address[:2] + beats < dut.burst))

        # Beats of reads that were asked for, the burst on offer included, and have not come.
        coming = Signal(range(self.BUFFER + 1))
        asked = Signal(range(self.BUFFER + 1))
        m.d.comb += asked.eq(Mux(bus.arvalid & bus.arready, bus.arlen + 1, 0))
        m.d.sync += coming.eq(coming + asked - bus.rvalid)
        offered = Mux(bus.arvalid, bus.arlen + 1, 0)
        m.d.comb += [
            Assume(~bus.rvalid | (coming != 0)),
            Assert(dut._credits + coming + offered + dut._answers.level == self.BUFFER),
            Assert(bus.rready & bus.bready),
            Assert(~bus.rvalid | dut._answers.w_rdy),
        ]

        # Writes that were asked for, the burst on offer included, and are not answered.
        unanswered = Signal(range(dut.outstanding + 1))
        m.d.sync += unanswered.eq(unanswered + (bus.awvalid & bus.awready) - bus.bvalid)
        writes = sum(full & entry.write for full, entry in dut._order.contents)
        held = sum(full for full, _ in dut._written.contents)
        m.d.comb += [
            Assume(~bus.bvalid | (unanswered != 0)),
            Assert(writes == unanswered + bus.awvalid + held),
            Assert(~bus.bvalid | dut._written.i.ready),
        ]
        for queue in (dut._order, dut._written):
            valids = Cat(full for full, _ in queue.contents)
            m.d.comb += Assert((valids & (valids + 1)) == 0)
        m.d.comb += Cover((dut._credits == 0) & ~bus.arvalid)


class NativeProperty(MasterProperty):
    """The controller may take the data of any command that it has taken, and give those of any
    read: the data are there, and so is the place."""

    BUFFER = 3
    SPARE = 0

    def build(self, m):
        dut = m.submodules.dut = NativeMaster(beat_bytes=1, outstanding=2, buffer=self.BUFFER)
        bus = dut.bus
        self.side_that_asks(m, dut.port)
        self.free(bus.cmd_ready, bus.wdata_ready, bus.rdata_valid, bus.rdata_data)
        self.stands(m, bus.cmd_valid, bus.cmd_ready, bus.cmd_we, bus.cmd_addr, bus.cmd_last)
        taken = bus.cmd_valid & bus.cmd_ready
        reads, writes = Signal(8), Signal(8)
        m.d.sync += [
            reads.eq(reads + (taken & ~bus.cmd_we) - bus.rdata_valid),
            writes.eq(writes + (taken & bus.cmd_we) - bus.wdata_ready),
        ]
        offered = bus.cmd_valid & ~bus.cmd_we
        m.d.comb += [
            Assume(~bus.rdata_valid | (reads != 0)),
            Assume(~bus.wdata_ready | (writes != 0)),
            Assert(bus.rdata_ready),
            Assert(~bus.wdata_ready | bus.wdata_valid),
            Assert(~bus.rdata_valid | dut._answers.w_rdy),
            Assert(dut._credits + reads + offered + dut._answers.level == self.BUFFER - self.SPARE),
            Cover(writes == 2),
        ]


def test_wishbone(tmp_path):
    prove(WishboneProperty(), tmp_path, depth=4)


def test_axi4(tmp_path):
    prove(AXI4Property(), tmp_path, depth=4)


def test_native(tmp_path):
    check(NativeProperty(), tmp_path, depth=9)


@pytest.mark.parametrize("design", [WishboneProperty, AXI4Property, NativeProperty])
def test_properties_are_not_empty(design, tmp_path):
    cover(design(), tmp_path, depth=14)


def test_wrong_claims_are_refuted(tmp_path):
    """The proofs are not vacuous: a claim that is too strong is refuted."""

    class Wishbone(WishboneProperty):
        def build(self, m):
            super().build(m)
            m.d.comb += Assert(~self.dut.bus.err)

    class Native(NativeProperty):
        SPARE = 1

    for design in (Wishbone, Native):
        with pytest.raises(ProofFailed, match="Assert failed"):
            check(design(), tmp_path, depth=4)
