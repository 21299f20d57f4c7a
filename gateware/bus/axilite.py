# SPDX-License-Identifier: BSD-2-Clause
"""AXI4-Lite slave that drives a Wishbone bus."""

from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..arguments import check_integer
from .signatures import AXI4Lite
from .soclib import wishbone

__all__ = ["AXI4LiteFront"]


class AXI4LiteFront(wiring.Component):
    """AXI4-Lite to Wishbone bridge: an access of 32 bits becomes one classic cycle.

    One access at a time; of a read and a write that wait, the one is served whose direction was not
    served last. A write begins when its address and its data are both there. Every ``ready`` and
    ``valid`` is a flip-flop.

    Latency: from an address to the Wishbone cycle two cycles, from its end to the answer one.

    Parameters
    ----------
    addr_width : int
        Bits of a byte address, 3 to 32.

    Members
    -------
    bus : In(AXI4Lite(addr_width))
        The low two bits of an address are ignored.
    registers : Out(wishbone.Signature)
        32 data bits, granularity 8, ``addr_width`` - 2 bits of word addresses, with ``err``.
    """

    def __init__(self, *, addr_width: int) -> None:
        check_integer("Address bits", addr_width, 3, 32)
        super().__init__(
            {
                "bus": In(AXI4Lite(addr_width)),
                "registers": Out(
                    wishbone.Signature(
                        addr_width=addr_width - 2, data_width=32, granularity=8, features={"err"}
                    )
                ),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bus, registers = self.bus, self.registers
        # An access is chosen in the cycle in which its readies are high for the one cycle.
        active, write = Signal(), Signal()
        reads, writes = Signal(), Signal()
        answered = Signal()
        m.d.comb += [
            answered.eq(registers.stb & (registers.ack | registers.err)),
            reads.eq(bus.arvalid & ~(bus.awvalid & bus.wvalid & ~write)),
            writes.eq(bus.awvalid & bus.wvalid & ~reads),
            registers.cyc.eq(active),
            registers.stb.eq(active),
            registers.we.eq(write),
        ]
        choosing = Signal()
        m.d.comb += choosing.eq(~active & ~bus.arready & ~bus.awready & ~bus.rvalid & ~bus.bvalid)
        m.d.sync += [bus.arready.eq(0), bus.awready.eq(0), bus.wready.eq(0)]
        with m.If(choosing & (reads | writes)):
            m.d.sync += [
                bus.arready.eq(reads),
                bus.awready.eq(writes),
                bus.wready.eq(writes),
                write.eq(writes),
            ]
        # The payloads stand still while their readies are high.
        with m.If(bus.arready):
            m.d.sync += [active.eq(1), registers.adr.eq(bus.araddr[2:]), registers.sel.eq(0xF)]
        with m.If(bus.awready):
            m.d.sync += [
                active.eq(1),
                registers.adr.eq(bus.awaddr[2:]),
                registers.sel.eq(bus.wstrb),
                registers.dat_w.eq(bus.wdata),
            ]
        with m.If(answered):
            m.d.sync += [
                active.eq(0),
                bus.rvalid.eq(~write),
                bus.bvalid.eq(write),
                bus.rdata.eq(registers.dat_r),
                bus.rresp[1].eq(registers.err),
                bus.bresp[1].eq(registers.err),
            ]
        with m.If(bus.rvalid & bus.rready):
            m.d.sync += bus.rvalid.eq(0)
        with m.If(bus.bvalid & bus.bready):
            m.d.sync += bus.bvalid.eq(0)
        return m
