# SPDX-License-Identifier: BSD-2-Clause
"""Wishbone master for a memory port."""

from amaranth import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import exact_log2

from ...arguments import check_integer
from ...memory.port import MemoryPort, RequestLayout
from ...memory.portbuffer import PortBuffer
from ..signatures import check_base, wishbone_master
from ..soclib import wishbone

__all__ = ["WishboneMaster"]


class WishboneMaster(wiring.Component):
    """Wishbone master: carries out the requests of a memory port on a Wishbone B4 bus in order, one
    bus transfer per beat.

    A request of several beats is a registered-feedback burst of incrementing addresses (``cti``
    010, the last beat 111), a single beat a classic cycle. A transfer that ends with ``err`` gives
    its beat an error, and the burst goes on after a cycle with ``cyc`` low. ``stb`` never falls
    before its answer.

    Latency: a cycle for requests and write data, and a cycle for answers. Throughput: one beat in
    each cycle that the slave answers, without a gap inside a burst or between two; every ``hold``
    beats or more, one cycle in which ``cyc`` is low, so that an arbiter can choose another master.

    Parameters
    ----------
    beat_bytes : int
        Bytes of a beat and of the bus, 1 to 16.
    base : int
        Bus address of the port's address 0. It is put on the address by OR: a multiple of the size
        of the memory, rounded up to a power of two.
    bursts : bool
        Registered-feedback bursts; else every transfer is a classic cycle.
    hold : int
        Beats, at least 1, after which ``cyc`` falls at the end of a request.

    Members
    -------
    port : In(MemoryPort(beat_bytes))
    bus : Out(wishbone_master(beat_bytes))
    """

    def __init__(
        self, *, beat_bytes: int, base: int = 0, bursts: bool = True, hold: int = 64
    ) -> None:
        signature = wishbone_master(beat_bytes)
        check_base(base, beat_bytes)
        check_integer("Beats before cyc falls", hold, 1, 1 << 16)
        self._beat_bytes, self._base = beat_bytes, base
        self._bursts, self._hold = bool(bursts), hold
        super().__init__({"port": In(MemoryPort(beat_bytes)), "bus": Out(signature)})
        # State that the proofs look at (tests/gateware/bus/test_bus_master_proofs.py).
        # The request that is carried out: `left` transfers after this one.
        self._busy, self._single, self._left = Signal(), Signal(), Signal(8)
        #: A cycle with cyc low, after an error or for other masters.
        self._gap = Signal()
        #: Transfers since cyc was low, up to `hold`.
        self._held = Signal(range(hold + 1))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bus, shift = self.bus, exact_log2(self._beat_bytes)
        buffer = m.submodules.buffer = PortBuffer(beat_bytes=self._beat_bytes)
        connect(m, flipped(self.port), buffer.port)
        asked = buffer.memory

        busy, single, left = self._busy, self._single, self._left
        gap, held = self._gap, self._held
        address, write = Signal.like(bus.adr), Signal()
        failed = Signal()

        done, ends = Signal(), Signal()
        error = bus.err
        m.d.comb += [
            bus.cyc.eq(busy & ~gap),
            # A transfer is begun only if its answer has a place, so that it can always be ended.
            bus.stb.eq(bus.cyc & asked.r.ready & (asked.w.valid | ~write)),
            bus.we.eq(write),
            bus.adr.eq(address | (self._base >> shift)),
            bus.sel.eq(Mux(write, asked.w.payload.mask, (1 << self._beat_bytes) - 1)),
            bus.dat_w.eq(asked.w.payload.data),
            bus.bte.eq(wishbone.BurstTypeExt.LINEAR),
            done.eq(bus.stb & (bus.ack | error)),
            ends.eq(done & (left == 0)),
        ]
        if self._bursts:
            with m.If(left != 0):
                m.d.comb += bus.cti.eq(wishbone.CycleType.INCR_BURST)
            with m.Elif(~single):
                m.d.comb += bus.cti.eq(wishbone.CycleType.END_OF_BURST)

        m.d.comb += [
            asked.w.ready.eq(done & write),
            asked.r.valid.eq(done & ~write),
            asked.r.payload.data.eq(bus.dat_r),
            asked.r.payload.error.eq(error),
            asked.r.payload.last.eq(left == 0),
            asked.ack.valid.eq(ends & write),
            asked.ack.payload.error.eq(error | failed),
        ]
        m.d.sync += gap.eq((done & error) | (ends & (held >= self._hold - 1)))
        with m.If(~bus.cyc):
            m.d.sync += held.eq(0)
        with m.Elif(done & (held != self._hold)):
            m.d.sync += held.eq(held + 1)
        with m.If(done):
            m.d.sync += [
                address.eq(address + 1),
                left.eq(left - 1),
                failed.eq((failed | error) & ~ends),
            ]
        request = Signal(RequestLayout())
        m.d.comb += [request.eq(asked.req.payload), asked.req.ready.eq(~busy | ends)]
        with m.If(asked.req.ready):
            m.d.sync += [
                busy.eq(asked.req.valid),
                write.eq(request.write),
                address.eq(request.address[shift:]),
                left.eq(request.beats),
                single.eq(request.beats == 0),
            ]
        return m
