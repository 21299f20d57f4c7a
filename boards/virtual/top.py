# SPDX-License-Identifier: BSD-2-Clause
"""Top level of a virtual board around the SoC: the registers of the I/O cells, and the wires of a
UART or of SPI if requested."""

from __future__ import annotations

from typing import TYPE_CHECKING

from amaranth import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...gateware.link.spi import SPILink, SPIPins
from ...gateware.memory.sdram.phy import register_double_rate
from ...gateware.standalone.flash import FlashPins
from .activity import ActivityProbe
from .clocks import SECOND_CLOCK, drive_second

if TYPE_CHECKING:
    from ...gateware.soc import SoC

__all__ = ["VirtualTop"]


class VirtualTop(wiring.Component):
    """Top level that connects ``soc`` to its memory chip's pads and the host.

    Parameters
    ----------
    soc : SoC
    baud : int or None
        ``None``: the link's byte streams are members; else its two wires, through the UART of the
        bitstream.
    spi : SPILink or None
        The bitstream's SPI link, whose wires are members; without ``baud``.

    Members
    -------
    rx : In, tx : Out, byte streams; or rx_line : In(1), tx_line : Out(1); or spi : Out(SPIPins())
    pads : Out(SDRAMPins) or Out(SRAMPins), where the SoC has a memory chip:
        lines behind the registers of the I/O cells; or Out(DDR3Pins), the controller's port
    busy, fault, interrupt, reset_request : Out
    flash : Out(FlashPins()), ready, blink : Out, where the SoC starts from flash memory
    second_clk : In(1), where the core has a clock domain of its own
    activity : Out, where there is a core: its activity, as :class:`~.activity.ActivityProbe`
        exposes it
    """

    def __init__(self, *, soc: SoC, baud: int | None = None, spi: SPILink | None = None) -> None:
        self.soc, self.baud, self._spi = soc, baud, spi
        members = {"busy": Out(1), "fault": Out(1), "interrupt": Out(1), "reset_request": Out(1)}
        if spi is not None:
            members["spi"] = Out(SPIPins())
        elif baud is None:
            members |= {"rx": In(stream.Signature(8)), "tx": Out(stream.Signature(8))}
        else:
            members |= {"rx_line": In(1, init=1), "tx_line": Out(1, init=1)}
        self.part = soc.backing.part if hasattr(soc, "memory_pins") else None
        if self.part is not None:
            members["pads"] = soc.backing.signature.members["pins"]
        if soc.boot is not None:
            members |= {"flash": Out(FlashPins()), "ready": Out(1), "blink": Out(1)}
        self.domain = soc.domain
        self.probe = ActivityProbe(soc=soc) if soc.core is not None else None
        if self.probe is not None:
            members["activity"] = Out(self.probe.signature)
        super().__init__(members | (SECOND_CLOCK if self.domain else {}))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        soc = m.submodules.soc = self.soc
        if self.probe is not None:
            # Behind the SoC, whose signals it is given by their elaboration.
            m.submodules.probe = self.probe
            wiring.connect(m, self.probe, wiring.flipped(self.activity))
        if soc.boot is not None:
            wiring.connect(m, soc.flash_pins, wiring.flipped(self.flash))
            m.d.comb += [self.ready.eq(soc.ready), self.blink.eq(soc.blink)]
        drive_second(m, self)
        m.d.comb += [
            self.busy.eq(soc.busy),
            self.fault.eq(soc.fault),
            self.interrupt.eq(soc.interrupt),
            self.reset_request.eq(soc.reset_request),
        ]
        if self.part is not None and soc.backing.kind == "DDR3":
            # The model stands for LiteDRAM's controller, not for the chip behind its I/O cells.
            wiring.connect(m, soc.memory_pins, wiring.flipped(self.pads))
        elif self.part is not None:
            self._register_pads(m)
        if self._spi is not None:
            link = m.submodules.spi_link = self._spi
            wiring.connect(m, link.pins, wiring.flipped(self.spi))
            wiring.connect(m, link.rx, soc.rx)
            wiring.connect(m, soc.tx, link.tx)
        elif self.baud is None:
            wiring.connect(m, wiring.flipped(self.rx), soc.rx)
            wiring.connect(m, soc.tx, wiring.flipped(self.tx))
        else:
            from ..top import SerialLink

            link = m.submodules.uart = SerialLink(clock_hz=soc.clock_hz, baud=self.baud)
            wiring.connect(m, link.rx, soc.rx)
            wiring.connect(m, soc.tx, link.tx)
            m.d.comb += [link.rx_line.eq(self.rx_line), self.tx_line.eq(link.tx_line)]
        return m

    def _register_pads(self, m):
        """The registers of the I/O cells, as SDRAMPhy's. They stand here and not in a submodule, so
        that the top's ports are the registers themselves: the chip model looks at them between two
        edges."""
        lines, pads = self.soc.memory_pins, self.pads
        if self.soc.sdram_rate > 1:
            register_double_rate(m, lines, pads)
        else:
            self._register_each(m, lines, pads)
        if not getattr(self.part, "masks", True):
            m.d.sync += pads.dqm.eq(0)  # tied low on the board

    @staticmethod
    def _register_each(m, lines, pads):
        for path, member, line in lines.signature.flatten(lines):
            pad = pads
            for name in path:
                pad = getattr(pad, name)
            if member.flow is Out:
                m.d.sync += pad.eq(line)
            else:
                # Those of inputs have no reset.
                seen = Signal(len(line), name="__".join((*path, "seen")), reset_less=True)
                m.d.sync += seen.eq(pad)
                m.d.comb += line.eq(seen)
