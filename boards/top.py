# SPDX-License-Identifier: BSD-2-Clause
"""Top level of a bitstream around the SoC: PLL, reset, UART, USB or SPI, LEDs, memory pins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from amaranth import (
    Cat,
    ClockDomain,
    Const,
    Elaboratable,
    Instance,
    Module,
    Mux,
    Signal,
    Value,
)
from amaranth.lib import io, stream, wiring
from amaranth.lib.cdc import FFSynchronizer
from amaranth.lib.wiring import In, Out

from ..gateware.link.uart import UARTReceiver, UARTTransmitter
from ..gateware.memory.sdram.phy import SDRAMPhy
from ..gateware.memory.sram.parts import find_sram
from ..gateware.memory.sram.phy import SRAMPhy
from ..gateware.primitives.pll import PLL
from .clocking import USB_HZ
from .ddr3_top import DDR3Chip, DDR3Clocks
from .spi_top import SPIPads
from .usb_top import USB_TOLERANCE, USBClocks, USBPads

if TYPE_CHECKING:
    from ..gateware.soc import SoC
    from .board import Board, PinName

__all__ = ["SETTLE", "BoardTop", "HeldPins", "MainClock", "SerialLink", "reset_cycles"]

#: Cycles for which a reset lasts.
SETTLE = 1024


class SerialLink(wiring.Component):
    """UART of the link: byte streams on two wires.

    Parameters
    ----------
    clock_hz : int
    baud : int

    Members
    -------
    rx_line : In, tx_line : Out, pins of the board (``rx_line`` towards the FPGA)
    rx : Out, tx : In, byte streams, facing the SoC's of the same name
    """

    def __init__(self, *, clock_hz: float, baud: int) -> None:
        self._rate = {"clock_hz": clock_hz, "baud": baud}
        super().__init__(
            {
                "rx_line": In(1, init=1),
                "tx_line": Out(1, init=1),
                "rx": Out(stream.Signature(8)),
                "tx": In(stream.Signature(8)),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        receiver = m.submodules.receiver = UARTReceiver(**self._rate)
        transmitter = m.submodules.transmitter = UARTTransmitter(**self._rate)
        wiring.connect(m, receiver.o, wiring.flipped(self.rx))
        wiring.connect(m, wiring.flipped(self.tx), transmitter.i)
        m.d.comb += [receiver.line.eq(self.rx_line), self.tx_line.eq(transmitter.line)]
        return m


class MainClock(Elaboratable):
    """Drives ``domain`` from the PLL's clock; holds reset until the PLL is locked and ``settle``
    cycles have passed, and on request.

    ``settle`` covers the first microseconds after configuration, in which an iCE40's block RAM
    cannot be read. ``clock``: the main clock, if it is not the PLL's output itself; ``settled``:
    it runs for good.
    """

    def __init__(
        self,
        *,
        pll: PLL,
        input: Value,
        settle: int = SETTLE,
        clock: Value | None = None,
        settled: Value | int = 1,
    ) -> None:
        self.pll, self.input, self.settle = pll, input, settle
        self._clock, self._settled = clock, settled
        self.request = Signal()
        self.domain = ClockDomain("sync")

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.pll = self.pll
        # A clock without reset, for the logic that makes the reset.
        m.domains.boot = boot = ClockDomain("boot", reset_less=True, local=True)
        main = Signal(name="main_clock")
        m.d.comb += [
            self.pll.input.eq(self.input),
            main.eq(self.pll.output if self._clock is None else self._clock),
            boot.clk.eq(main),
            self.domain.clk.eq(main),
        ]
        locked = Signal()
        m.submodules.locked = FFSynchronizer(
            self.pll.locked & self._settled, locked, o_domain="boot"
        )
        count = Signal(range(self.settle))
        reset = Signal(init=1)
        m.d.boot += [count.eq(Mux(count.all(), count, count + 1)), reset.eq(~count.all())]
        with m.If(~locked | self.request):
            m.d.boot += [count.eq(0), reset.eq(1)]
        m.d.comb += self.domain.rst.eq(reset)
        return m


def reset_cycles(unlocked: int) -> int:
    """Cycles from power-up to the end of the reset of a :class:`MainClock` whose PLL locks after
    ``unlocked`` cycles; the lock is seen two cycles later."""
    return unlocked + SETTLE + 2


class HeldPins(Elaboratable):
    """Outputs held high, regardless of the active level in a board's platform: ``pins`` as in
    :class:`~.board.Board`."""

    def __init__(self, *, pins: Sequence[PinName]) -> None:
        self._pins = pins

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        for resource, number, *part in self._pins:
            port = platform.request(resource, number, dir="-")
            port = getattr(port, *part) if part else port
            pads = m.submodules["_".join((resource, str(number), *part))] = io.Buffer("o", port)
            m.d.comb += pads.o.eq(Cat(not inverted for inverted in port.invert))
        return m


class BoardTop(Elaboratable):
    """Top of the bitstream: ``soc`` (from :meth:`~.board.Board.make_soc`) on the pins of
    ``board``."""

    def __init__(self, *, board: Board, soc: SoC) -> None:
        self.board, self.soc, self.clocking = board, soc, soc.clocking
        self._link = soc.link.get("kind")

    def _pll(self, pad=None):
        clocks, shifted = (
            self.clocking,
            self.clocking.sdram is not None and self.board.family == "ecp5",
        )
        return PLL(
            family=self.board.family,
            input_hz=self.board.oscillator_hz,
            wanted_hz=clocks.pll_hz,
            phase=clocks.sdram.degrees if shifted else None,
            shifted_rate=self.board.sdram_rate,
            further_hz=clocks.further_hz,
            pad=pad,
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        board = self.board
        soc = m.submodules.soc = self.soc
        pin = platform.request(board.oscillator, dir="-")
        if board.clock_pad:
            pll, clock = self._pll(pad=pin.io), 0
        else:
            m.submodules.oscillator = oscillator = io.Buffer("i", pin)
            pll, clock = self._pll(), oscillator.i
        ddr3 = self._ddr3(m, pll, clock) if board.memory.kind == "DDR3" else {}
        main = m.submodules.clock = MainClock(pll=pll, input=clock, **ddr3)
        m.domains.sync = main.domain
        m.d.comb += main.request.eq(soc.reset_request)
        if soc.domain is not None:
            # The core's own reset is all that there is in it (place_engine): two would meet in a
            # LUT before each flip-flop.
            m.domains += (further := ClockDomain(soc.domain.name, reset_less=True))
            m.d.comb += further.clk.eq(pll.further)

        if self._link == "usb":
            self._usb_link(m, pll, clock)
        elif self._link == "spi" and board.spi is not None:
            pads = m.submodules.spi = SPIPads(port=board.spi, family=board.family)
            wiring.connect(m, pads.link.rx, soc.rx)
            wiring.connect(m, soc.tx, pads.link.tx)
        else:
            self._serial_link(m, platform)

        self._leds(m, platform)
        if soc.boot is not None:
            self._flash(m, platform)
        m.submodules.held = HeldPins(pins=board.held_high)
        if board.memory.kind == "SDRAM":
            self._sdram(m, platform, pll)
        elif board.memory.kind == "SRAM":
            phy = m.submodules.phy = SRAMPhy(
                part=find_sram(board.memory.part),
                ports=platform.request(board.memory.resource, dir="-"),
                family=board.family,
            )
            wiring.connect(m, soc.memory_pins, phy.controller)
        return m

    def _serial_link(self, m, platform):
        soc, port = self.soc, self.board.link
        uart = platform.request(port.resource, port.number, dir="-")
        m.submodules.rx_pin = rx_pin = io.Buffer("i", uart.rx)
        m.submodules.tx_pin = tx_pin = io.Buffer("o", uart.tx)
        link = m.submodules.uart = SerialLink(clock_hz=soc.clock_hz, baud=port.baud)
        wiring.connect(m, link.rx, soc.rx)
        wiring.connect(m, soc.tx, link.tx)
        m.d.comb += [link.rx_line.eq(rx_pin.i), tx_pin.o.eq(link.tx_line)]

    def _usb_link(self, m, pll, clock):
        """Clocks and pads of the USB link. The 48 MHz clock is that of the oscillator if it has 48
        MHz; else an iCE40's PLL generates it together with the main clock, and an ECP5 uses a
        second PLL."""
        board = self.board
        if board.oscillator_hz == USB_HZ:
            fast, locked = clock, Const(1)
        elif board.family == "ice40":
            fast, locked = pll.further, pll.locked
        else:
            m.submodules.usb_pll = second = PLL(
                family=board.family,
                input_hz=board.oscillator_hz,
                wanted_hz=USB_HZ,
                tolerance=USB_TOLERANCE,
            )
            m.d.comb += second.input.eq(clock)
            fast, locked = second.output, second.locked
        clocks = m.submodules.usb_clocks = USBClocks(input=fast, locked=locked)
        m.domains += [clocks.fast, clocks.slow]
        pads = m.submodules.usb = USBPads(board_name=board.name, port=board.usb)
        wiring.connect(m, pads.link.rx, self.soc.rx)
        wiring.connect(m, self.soc.tx, pads.link.tx)

    def _leds(self, m, platform):
        requested = {}
        lights = {"busy": self.soc.busy, "fault": self.soc.fault}
        if self.soc.boot is not None:
            lights = {
                "busy": self.soc.busy | self.soc.ready,
                "fault": self.soc.fault | self.soc.blink,
            }
        for name, lit in lights.items():
            led = getattr(self.board, f"{name}_led")
            if led is None:
                continue
            resource, number, *part = led
            if (resource, number) not in requested:
                requested[resource, number] = platform.request(resource, number, dir="-")
            port = requested[resource, number]
            m.submodules[f"{name}_led"] = buffer = io.Buffer(
                "o", getattr(port, *part) if part else port
            )
            m.d.comb += buffer.o.eq(lit | self.soc.led)

    def _flash(self, m, platform):
        """Pins of flash memory. On an ECP5 its clock is not a user pin."""
        flash, pins = self.board.flash, self.soc.flash_pins
        port = platform.request(flash.resource, flash.number, dir="-")
        m.submodules.flash_cs = cs = io.Buffer("o", port.cs)
        m.d.comb += cs.o.eq(pins.cs)
        if self.board.family == "ecp5":
            m.submodules.flash_clk = Instance("USRMCLK", i_USRMCLKI=pins.clk, i_USRMCLKTS=Const(0))
        else:
            m.submodules.flash_clk = clk = io.Buffer("o", port.clk)
            m.d.comb += clk.o.eq(pins.clk)
        if hasattr(port, "dq"):
            for line in range(4):
                m.submodules[f"flash_dq{line}"] = buffer = io.Buffer("io", port.dq[line])
                m.d.comb += [
                    buffer.o.eq(pins.dq.o[line]),
                    buffer.oe.eq(pins.dq.oe[line]),
                    pins.dq.i[line].eq(buffer.i),
                ]
            return
        m.submodules.flash_copi = copi = io.Buffer("o", port.copi)
        m.submodules.flash_cipo = cipo = io.Buffer("i", port.cipo)
        m.d.comb += [copi.o.eq(pins.dq.o[0]), pins.dq.i[1].eq(cipo.i)]
        for name in ("wp", "hold"):
            m.submodules[f"flash_{name}"] = buffer = io.Buffer("o", getattr(port, name))
            m.d.comb += buffer.o.eq(0)  # never asserted

    def _ddr3(self, m, pll, oscillator):
        """DDR3 chip and its clocks; returns the main clock, for :class:`MainClock`."""
        restart = Signal()  # from a register, since it resets asynchronously
        m.d.sync += restart.eq(self.soc.reset_request)
        clocks = m.submodules.ddr3_clocks = DDR3Clocks(
            input=pll.output, main_hz=self.clocking.main_hz
        )
        chip = m.submodules.ddr3 = DDR3Chip(
            memory=self.board.memory,
            clock_hz=self.clocking.main_hz,
            oscillator=oscillator,
            oscillator_hz=self.board.oscillator_hz,
            locked=pll.locked,
            restart=restart,
            clocks=clocks,
        )
        wiring.connect(m, self.soc.memory_pins, chip.pins)
        return {"clock": clocks.main, "settled": chip.settled}

    def _sdram(self, m, platform, pll):
        ports = platform.request(self.board.memory.resource, dir="-")
        phy = m.submodules.phy = SDRAMPhy(
            part=self.board.memory.part,
            ports=ports,
            family=self.board.family,
            rate=self.board.sdram_rate,
        )
        wiring.connect(m, self.soc.memory_pins, phy.controller)
        if self.board.family == "ice40":
            # No output of the PLL has another phase: it rises in the middle of the cycle.
            clock = m.submodules.sdram_clock = io.DDRBuffer("o", ports.clk)
            m.d.comb += [clock.o[0].eq(0), clock.o[1].eq(1)]
            return
        m.domains.sdram = domain = ClockDomain("sdram", reset_less=True)
        clock = m.submodules.sdram_clock = io.DDRBuffer("o", ports.clk, o_domain="sdram")
        m.d.comb += [domain.clk.eq(pll.shifted), clock.o[0].eq(1), clock.o[1].eq(0)]
