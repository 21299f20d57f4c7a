# SPDX-License-Identifier: BSD-2-Clause
"""SRAM PHY: the pins of an asynchronous SRAM and the registers in the I/O cells."""

from typing import Any

from amaranth import Module
from amaranth.lib import io, wiring
from amaranth.lib.wiring import In, Out

from ...primitives.pads import RegisteredOutput, RegisteredPads
from .parts import SRAMPart, find_sram

__all__ = ["SRAMPhy", "SRAMPins"]


class SRAMPins(wiring.Signature):
    """SRAM pin interface, seen from the controller; all signals are active-high.

    Members
    -------
    a : Out, address of a word
    oe : Out(1), output enable
    we : Out(2), write enable in the first (bit 0) and second half of the cycle
    be : Out(2), byte enables
    d.o, d.oe : Out, data and whether the FPGA drives them; d.i : In
    """

    def __init__(self, part: SRAMPart) -> None:
        self.part = part = find_sram(part)
        super().__init__(
            {
                "a": Out(part.address_bits),
                "oe": Out(1),
                "we": Out(2),
                "be": Out(2),
                "d": Out(wiring.Signature({"o": Out(16), "oe": Out(1), "i": In(16)})),
            }
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SRAMPins) and self.part == other.part


class SRAMPhy(wiring.Component):
    """SRAM PHY: one register per line, in the I/O cells; the write enable changes at both clock
    edges.

    Latency: one cycle out, one cycle in. Before the first clock OE# and WE# are high, and the data
    lines released.

    Parameters
    ----------
    part : SRAMPart or str
    ports : object
        The board's I/O ports, ``platform.request("sram", dir="-")`` of a platform with an
        amaranth-boards ``SRAMResource``: members ``cs``, ``oe``, ``we``, ``dm`` (inverted by their
        ports: ``dm`` enables a byte), ``a``, ``d``.
    family : "ice40" or None
        Of the I/O cells; ``None``: ports of a simulation. An ECP5's double-rate cells start low,
        which WE# must not.

    Members
    -------
    controller : In(SRAMPins)
    """

    def __init__(self, *, part: SRAMPart | str, ports: Any, family: str | None = None) -> None:
        if family not in ("ice40", None):
            raise ValueError(f"Family must be ice40 or None, not {family!r}")
        self.part = find_sram(part)
        self.ports, self._family = ports, family
        for name, width in (("a", self.part.address_bits), ("d", 16), ("dm", 2)):
            if len(getattr(ports, name)) != width:
                raise ValueError(
                    f"Port {name} has {len(getattr(ports, name))} pins, but SRAM part "
                    f"{self.part.name!r} has {width}"
                )
        super().__init__({"controller": In(SRAMPins(self.part))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        lines, ports = self.controller, self.ports
        m.submodules.cs = cs = io.Buffer("o", ports.cs)
        m.d.comb += cs.o.eq(1)
        for name, value in (("a", lines.a), ("oe", lines.oe), ("dm", lines.be)):
            pads = m.submodules[name] = RegisteredOutput(
                port=getattr(ports, name), family=self._family
            )
            m.d.comb += pads.o.eq(value)
        # A double-rate cell takes both halves at the rising edge, and gives them in the cycle after
        # it. Before, it is released.
        write = m.submodules.we = io.DDRBuffer("o", ports.we)
        m.d.comb += [write.o[0].eq(lines.we[0]), write.o[1].eq(lines.we[1])]
        data = m.submodules.d = RegisteredPads(port=ports.d, family=self._family)
        m.d.comb += [data.o.eq(lines.d.o), data.oe.eq(lines.d.oe), lines.d.i.eq(data.i)]
        return m
