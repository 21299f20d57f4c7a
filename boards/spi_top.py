# SPDX-License-Identifier: BSD-2-Clause
"""Top level of the SPI link on a physical board: its pads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from amaranth import Elaboratable, Module
from amaranth.build import Attrs, Pins, PinsN, Resource, Subsignal
from amaranth.lib import io

from ..gateware.link.spi import SPILink

if TYPE_CHECKING:
    from .board import SPIPort

__all__ = ["SPIPads"]

#: I/O standard of the pins, and their pull-ups.
_ATTRIBUTES = {
    "ecp5": ({"IO_TYPE": "LVCMOS33"}, {"PULLMODE": "UP"}),
    "ice40": ({"IO_STANDARD": "SB_LVCMOS"}, {"PULLUP": 1}),
}


class SPIPads(Elaboratable):
    """SPI link on the pins of ``port``, for an FPGA of ``family``.

    Attributes
    ----------
    link : SPILink, whose ``rx`` and ``tx`` face the SoC's
    """

    def __init__(self, *, port: SPIPort, family: str) -> None:
        self._port, self._family = port, family
        self.link = SPILink(small=family == "ice40")

    def _resource(self):
        port = self._port
        standard, pulled = _ATTRIBUTES[self._family]
        conn = port.connector

        def pin(name, direction):
            # Without a host the board is not selected, and its clock rests.
            made = PinsN if name == "cs" else Pins
            attrs = Attrs(**standard, **(pulled if direction == "i" else {}))
            return Subsignal(name, made(getattr(port, name), dir=direction, conn=conn), attrs)

        return Resource(
            "spi_link",
            0,
            *(pin(name, "i") for name in ("sck", "cs", "copi")),
            *(pin(name, "o") for name in ("cipo", "ready")),
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.link = self.link
        platform.add_resources([self._resource()])
        port, pins = platform.request("spi_link", 0, dir="-"), self.link.pins
        for name in ("sck", "cs", "copi"):
            m.submodules[name] = pad = io.Buffer("i", getattr(port, name))
            m.d.comb += getattr(pins, name).eq(pad.i)
        # Released while another board of the same wires is selected.
        m.submodules.cipo = cipo = io.Buffer("o", port.cipo)
        m.submodules.ready = ready = io.Buffer("o", port.ready)
        m.d.comb += [cipo.o.eq(pins.cipo), cipo.oe.eq(pins.cipo_oe), ready.o.eq(pins.ready)]
        return m
