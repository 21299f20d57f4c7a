# SPDX-License-Identifier: BSD-2-Clause
"""Top-level components of the USB link on a physical board: its two clocks and its pads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from amaranth import ClockDomain, Elaboratable, Module, Signal, Value
from amaranth.lib import io
from amaranth.lib.cdc import FFSynchronizer, ResetSynchronizer

from ..gateware.link.usb.crossing import USBLink
from ..gateware.link.usb.identity import identity_of
from .clocking import USB_HZ

if TYPE_CHECKING:
    from .board import USBPort

__all__ = ["USB_TOLERANCE", "USBClocks", "USBPads"]

#: Largest relative error: a full-speed device keeps its rate within 0.25 %.
USB_TOLERANCE = 0.002


class USBClocks(Elaboratable):
    """Drives the domains ``usb_io`` (from ``input``, 48 MHz) and ``usb`` (a quarter of it); holds
    reset until ``locked`` and for ``settle`` further cycles of 48 MHz.

    ``usb`` is divided in a flip-flop, so that its edges follow those of ``usb_io`` at the same
    distance on every start. Both have a reset of their own: a reset of the SoC leaves them alone.
    """

    def __init__(self, *, input: Value, locked: Value, settle: int = 4096) -> None:
        self.input, self.locked, self._settle = input, locked, settle
        self.fast, self.slow = ClockDomain("usb_io"), ClockDomain("usb")

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.domains.usb_boot = boot = ClockDomain("usb_boot", reset_less=True, local=True)
        locked, count, reset = Signal(), Signal(range(self._settle)), Signal(init=1)
        # A register of its own with a name that synthesis keeps: by it the constraint below finds
        # the net.
        half, twelve = Signal(name="usb_half"), Signal(name="usb_clock", attrs={"keep": 1})
        m.submodules.locked = FFSynchronizer(self.locked, locked, o_domain="usb_boot")
        m.d.comb += [
            boot.clk.eq(self.input),
            self.fast.clk.eq(self.input),
            self.slow.clk.eq(twelve),
        ]
        m.d.usb_boot += [half.eq(~half), twelve.eq(twelve ^ half)]
        with m.If(~locked):
            m.d.usb_boot += [count.eq(0), reset.eq(1)]
        with m.Elif(~count.all()):
            m.d.usb_boot += count.eq(count + 1)
        # The transceiver counts quarters of a bit from its reset: always from the same one.
        with m.Elif(~(half | twelve)):
            m.d.usb_boot += reset.eq(0)
        m.submodules.fast_reset = ResetSynchronizer(reset, domain="usb_io")
        m.submodules.slow_reset = ResetSynchronizer(reset, domain="usb")
        if platform is not None:
            platform.add_clock_constraint(twelve, USB_HZ / 4)
        return m


class USBPads(Elaboratable):
    """USB link on the pads of ``port``, for the board named ``board_name``.

    Attributes
    ----------
    link : USBLink, whose ``rx`` and ``tx`` face the SoC's
    """

    def __init__(self, *, board_name: str, port: USBPort) -> None:
        self._port = port
        self.link = USBLink(identity=identity_of(board_name))

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.link = self.link
        pads = platform.request(self._port.resource, self._port.number, dir="-")
        pins = self.link.pins
        for name in ("d_p", "d_n"):
            m.submodules[name] = pad = io.Buffer("io", getattr(pads, name))
            wire = getattr(pins, name)
            m.d.comb += [pad.o.eq(wire.o), pad.oe.eq(wire.oe), wire.i.eq(pad.i)]
        # Connected it pulls D+ up; otherwise it must not pull it down.
        m.submodules.pullup = pullup = io.Buffer("o", pads.pullup[0])
        m.d.comb += [pullup.o.eq(1), pullup.oe.eq(pins.pullup)]
        return m
