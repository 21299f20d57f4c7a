# SPDX-License-Identifier: BSD-2-Clause
"""SDRAM PHY: the pins of an SDR SDRAM and the registers in the I/O cells."""

from typing import Any

from amaranth import Cat, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...primitives.pads import (
    DOUBLE_LATENCY,
    DoubleRateOutput,
    DoubleRatePads,
    RegisteredOutput,
    RegisteredPads,
)
from .parts import SDRAMPart, find_part

__all__ = ["SDRAMPhy", "SDRAMPins", "register_double_rate"]


class SDRAMPins(wiring.Signature):
    """SDRAM pin interface, seen from the controller; all signals are active-high except those with
    ``_n``.

    Members
    -------
    cke, cs_n, ras_n, cas_n, we_n : Out(1)
    ba : Out, bank; a : Out, row, or column with bit 10 for "all banks"
    dqm : Out, 1 masks a byte
    dq.o, dq.oe : Out, data and their output enable; dq.i : In

    With a ``rate`` of 2, ``dqm`` and data are those of two cycles of the chip, the first in the low
    bits. A command is given in the first of them; in the second the PHY gives none.
    """

    def __init__(self, part: SDRAMPart, rate: int = 1) -> None:
        self.part = part = find_part(part)
        self.rate = rate
        super().__init__(
            {
                "cke": Out(1, init=1),
                "cs_n": Out(1, init=1),
                "ras_n": Out(1, init=1),
                "cas_n": Out(1, init=1),
                "we_n": Out(1, init=1),
                "ba": Out(part.bank_bits),
                "a": Out(max(part.row_bits, 11)),
                "dqm": Out(rate * part.beat_bytes, init=(1 << rate * part.beat_bytes) - 1),
                "dq": Out(
                    wiring.Signature(
                        {
                            "o": Out(rate * part.data_bits),
                            "oe": Out(1),
                            "i": In(rate * part.data_bits),
                        }
                    )
                ),
            }
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SDRAMPins) and self.part == other.part and self.rate == other.rate


class SDRAMPhy(wiring.Component):
    """SDRAM PHY: one register per line, in the I/O cells of an FPGA, or as flip-flops in the
    virtual board.

    Latency: one cycle out, one cycle in. Before the first clock the pads have the levels at which
    :class:`SDRAMPins` begins, and DQ is released.

    With a ``rate`` of 2 the lines of commands, masks and data go through double-rate cells, which
    take :data:`DOUBLE_LATENCY` cycles out. In, the words at the rising edge and at the falling edge
    behind it arrive together, a cycle after the rising one. All other lines are as late. Until the
    double-rate cells have been clocked that often, command lines and DQM are low, and ``cs_n`` is
    high.

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
    rate : int
        Cycles of the chip for each of ``sync``; 2 on an ECP5 or without ``ports`` only.

    Members
    -------
    controller : In(SDRAMPins)
    pads : Out(SDRAMPins), the registered lines; without ``ports`` only.
        Where the part's byte masks are not connected, ``dqm`` is tied low
    """

    def __init__(
        self,
        *,
        part: SDRAMPart | str,
        ports: Any = None,
        family: str | None = None,
        rate: int = 1,
    ) -> None:
        self.part = find_part(part)
        self.ports, self._family, self.rate = ports, family, rate
        if rate > 1 and ports is not None:
            if family != "ecp5":
                raise ValueError(f"SDRAM rate {rate}: expected the I/O cells of an ECP5")
            if not hasattr(ports, "cs"):
                raise ValueError(f"SDRAM rate {rate}: expected a chip select among the ports")
        if ports is not None and len(ports.dq) != self.part.data_bits:
            raise ValueError(
                f"Port dq has {len(ports.dq)} pins, but SDRAM part {self.part.name!r} has "
                f"{self.part.data_bits}"
            )
        pins = SDRAMPins(self.part, rate)
        super().__init__({"controller": In(pins)} | ({"pads": Out(pins)} if ports is None else {}))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        lines = self.controller
        if self.ports is None:
            pads = self.pads
            if self.rate > 1:
                register_double_rate(m, lines, pads)
            else:
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
        if self.rate > 1:
            self._double_rate(m)
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

    def _double_rate(self, m):
        """Registers of a chip whose clock is twice as fast."""
        lines, ports = self.controller, self.ports

        def late(name, value, init=0):
            """The value, as late as it leaves a double-rate cell, but for one register."""
            for stage in range(DOUBLE_LATENCY - 1):
                after = Signal(len(value), name=f"{name}_{stage}", init=init, reset_less=True)
                m.d.sync += after.eq(value)
                value = after
            return value

        # The board's ports of these four invert.
        for name, value, init in (
            ("clk_en", lines.cke, 1),
            ("cs", ~lines.cs_n, 0),
            ("ba", lines.ba, 0),
            ("a", lines.a[: len(ports.a)], 0),
        ):
            port = getattr(ports, name, None)
            if port is not None:
                pads = m.submodules[name] = RegisteredOutput(
                    port=port, family=self._family, init=init
                )
                m.d.comb += pads.o.eq(late(name, value, init))
        for name in ("ras", "cas", "we"):
            pads = m.submodules[name] = DoubleRateOutput(port=getattr(ports, name))
            m.d.comb += [pads.o[0].eq(~getattr(lines, f"{name}_n")), pads.o[1].eq(0)]
        if hasattr(ports, "dqm"):
            dqm = m.submodules.dqm = DoubleRateOutput(port=ports.dqm)
            m.d.comb += Cat(dqm.o).eq(lines.dqm)
        dq = m.submodules.dq = DoubleRatePads(port=ports.dq)
        m.d.comb += [
            Cat(dq.o).eq(lines.dq.o),
            dq.oe.eq(late("oe", lines.dq.oe)),
            lines.dq.i.eq(Cat(dq.i)),
        ]


def register_double_rate(
    m: Module, lines: wiring.PureInterface, pads: wiring.PureInterface
) -> None:
    """Adds the registers of double-rate I/O cells between ``lines`` and ``pads``, interfaces of
    :class:`SDRAMPins` with a rate of 2, as :class:`SDRAMPhy` has them.

    The words of ``pads.dq.i`` are those at the ends of the two halves of a cycle.
    """
    for path, member, pad in pads.signature.flatten(pads):
        line, name = lines, "__".join(path)
        for part in path:
            line = getattr(line, part)
        if member.flow is Out:
            for stage in range(DOUBLE_LATENCY - 1):
                after = Signal(
                    len(line), name=f"{name}_{stage}", init=member.init or 0, reset_less=True
                )
                m.d.sync += after.eq(line)
                line = after
            m.d.sync += pad.eq(line)
        else:
            # The word at the rising edge waits for that of the falling edge behind it.
            rising = Signal(len(line) // 2, name=f"{name}_rising", reset_less=True)
            seen = Signal(len(line), name=f"{name}_seen", reset_less=True)
            m.d.sync += [
                rising.eq(pad[len(rising) :]),
                seen.eq(Cat(rising, pad[: len(rising)])),
            ]
            m.d.comb += line.eq(seen)


def command_lines(pins: wiring.PureInterface) -> Value:
    """The four lines that encode a command, low bit first: ``we_n``, ``cas_n``, ``ras_n``,
    ``cs_n``."""
    return Cat(pins.we_n, pins.cas_n, pins.ras_n, pins.cs_n)
