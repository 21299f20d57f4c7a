# SPDX-License-Identifier: BSD-2-Clause
"""SDRAM PHY: the pins of an SDR SDRAM and the registers in the I/O cells."""

from typing import Any

from amaranth import Cat, Module, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...primitives.pads import RegisteredOutput, RegisteredPads
from .parts import SDRAMPart, find_part

__all__ = ["SDRAMPhy", "SDRAMPins"]


class SDRAMPins(wiring.Signature):
    """SDRAM pin interface, seen from the controller; all signals are active-high except those with
    ``_n``.

    Members
    -------
    cke, cs_n, ras_n, cas_n, we_n : Out(1)
    ba : Out, bank; a : Out, row, or column with bit 10 for "all banks"
    dqm : Out, 1 masks a byte
    dq.o, dq.oe : Out, data and their output enable; dq.i : In
    """

    def __init__(self, part: SDRAMPart) -> None:
        self.part = part = find_part(part)
        super().__init__(
            {
                "cke": Out(1, init=1),
                "cs_n": Out(1, init=1),
                "ras_n": Out(1, init=1),
                "cas_n": Out(1, init=1),
                "we_n": Out(1, init=1),
                "ba": Out(part.bank_bits),
                "a": Out(max(part.row_bits, 11)),
                "dqm": Out(part.beat_bytes, init=(1 << part.beat_bytes) - 1),
                "dq": Out(
                    wiring.Signature(
                        {"o": Out(part.data_bits), "oe": Out(1), "i": In(part.data_bits)}
                    )
                ),
            }
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SDRAMPins) and self.part == other.part


class SDRAMPhy(wiring.Component):
    """SDRAM PHY: one register per line, in the I/O cells of an FPGA, or as flip-flops in the
    virtual board.

    Latency: one cycle out, one cycle in. Before the first clock the pads have the levels at which
    :class:`SDRAMPins` begins, and DQ is released.

    Parameters
    ----------
    part : SDRAMPart or str
    ports : object or None
        The board's I/O ports, ``platform.request("sdram", dir="-")`` of a platform with an
        amaranth-boards ``SDRAMResource``: members ``cs``, ``ras``, ``cas``, ``we`` (inverted by
        their ports), ``ba``, ``a``, ``dq`` and, where they are connected, ``clk_en`` and ``dqm``.
        The clock's pin is the board's affair. ``None``: the behavioural model, with the member
        ``pads``.
    family : "ecp5", "ice40" or None
        Of the I/O cells; ``None``: ports of a simulation.

    Members
    -------
    controller : In(SDRAMPins)
    pads : Out(SDRAMPins), the registered lines; without ``ports`` only.
        Where the part's byte masks are not connected, ``dqm`` is tied low
    """

    def __init__(
        self, *, part: SDRAMPart | str, ports: Any = None, family: str | None = None
    ) -> None:
        self.part = find_part(part)
        self.ports, self._family = ports, family
        if ports is not None and len(ports.dq) != self.part.data_bits:
            raise ValueError(
                f"Port dq has {len(ports.dq)} pins, but SDRAM part {self.part.name!r} has "
                f"{self.part.data_bits}"
            )
        pins = SDRAMPins(self.part)
        super().__init__({"controller": In(pins)} | ({"pads": Out(pins)} if ports is None else {}))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        lines = self.controller
        if self.ports is None:
            pads = self.pads
            for name in ("cke", "cs_n", "ras_n", "cas_n", "we_n", "ba", "a", "dqm"):
                m.d.sync += getattr(pads, name).eq(getattr(lines, name))
            m.d.sync += [
                pads.dq.o.eq(lines.dq.o),
                pads.dq.oe.eq(lines.dq.oe),
                lines.dq.i.eq(pads.dq.i),
            ]
            if not self.part.masks:
                m.d.sync += pads.dqm.eq(0)
            return m
        ports = self.ports

        def drive(name, value, init):
            port = getattr(ports, name, None)
            if port is not None:
                pads = m.submodules[name] = RegisteredOutput(
                    port=port, family=self._family, init=init
                )
                m.d.comb += pads.o.eq(value)

        drive("clk_en", lines.cke, 1)
        drive("cs", ~lines.cs_n, 0)  # the board's ports of these four invert
        drive("ras", ~lines.ras_n, 0)
        drive("cas", ~lines.cas_n, 0)
        drive("we", ~lines.we_n, 0)
        drive("ba", lines.ba, 0)
        drive("a", lines.a[: len(ports.a)], 0)
        drive("dqm", lines.dqm, (1 << self.part.beat_bytes) - 1)
        dq = m.submodules.dq = RegisteredPads(port=ports.dq, family=self._family)
        m.d.comb += [dq.o.eq(lines.dq.o), dq.oe.eq(lines.dq.oe), lines.dq.i.eq(dq.i)]
        return m


def command_lines(pins: wiring.PureInterface) -> Value:
    """The four lines that encode a command, low bit first: ``we_n``, ``cas_n``, ``ras_n``,
    ``cs_n``."""
    return Cat(pins.we_n, pins.cas_n, pins.ras_n, pins.cs_n)
