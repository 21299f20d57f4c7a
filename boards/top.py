# SPDX-License-Identifier: BSD-2-Clause
"""What stands around the SoC on a physical board: PLL, reset, UART, LEDs, memory pins."""
from amaranth import ClockDomain, Elaboratable, Module, Mux, Signal
from amaranth.lib import io, stream, wiring
from amaranth.lib.cdc import FFSynchronizer, ResetSynchronizer
from amaranth.lib.wiring import In, Out

from ..gateware.link.uart import UARTReceiver, UARTTransmitter
from ..gateware.memory.sdram.phy import SDRAMPhy
from ..gateware.memory.sram.phy import SRAMPhy
from ..gateware.primitives.pll import PLL, ecp5_settings, ice40_settings

__all__ = ["BoardTop", "MainClock", "SerialLink"]


class SerialLink(wiring.Component):
    """The link's byte streams on two wires.

    Parameters
    ----------
    clock_hz : int
    baud : int

    Members
    -------
    rx_line : In, tx_line : Out, pins of the board (``rx_line`` towards the FPGA)
    rx : Out, tx : In, byte streams, facing the SoC's of the same name
    """
    def __init__(self, *, clock_hz, baud):
        self._rate = {"clock_hz": clock_hz, "baud": baud}
        super().__init__({
            "rx_line": In(1, init=1), "tx_line": Out(1, init=1),
            "rx": Out(stream.Signature(8)), "tx": In(stream.Signature(8)),
        })

    def elaborate(self, platform):
        m = Module()
        receiver = m.submodules.receiver = UARTReceiver(**self._rate)
        transmitter = m.submodules.transmitter = UARTTransmitter(**self._rate)
        wiring.connect(m, receiver.o, wiring.flipped(self.rx))
        wiring.connect(m, wiring.flipped(self.tx), transmitter.i)
        m.d.comb += [receiver.line.eq(self.rx_line), self.tx_line.eq(transmitter.line)]
        return m


class MainClock(Elaboratable):
    """Drives ``domain``: the PLL's clock; reset until it is locked and ``settle`` cycles have passed, and on request.

    ``settle`` covers the first microseconds after configuration, in which an iCE40's block RAM cannot be read.
    """
    def __init__(self, *, pll, input, settle=1024):
        self.pll, self.input, self.settle = pll, input, settle
        self.request = Signal()
        self.domain = ClockDomain("sync")

    def elaborate(self, platform):
        m = Module()
        m.submodules.pll = self.pll
        # A clock without reset, for what makes the reset.
        m.domains.boot = boot = ClockDomain("boot", reset_less=True, local=True)
        main = Signal(name="main_clock")
        m.d.comb += [self.pll.input.eq(self.input), main.eq(self.pll.output), boot.clk.eq(main), self.domain.clk.eq(main)]
        locked = Signal()
        m.submodules.locked = FFSynchronizer(self.pll.locked, locked, o_domain="boot")
        count = Signal(range(self.settle))
        reset = Signal(init=1)
        m.d.boot += [count.eq(Mux(count.all(), count, count + 1)), reset.eq(~count.all())]
        with m.If(~locked | self.request):
            m.d.boot += [count.eq(0), reset.eq(1)]
        m.d.comb += self.domain.rst.eq(reset)
        return m


class BoardTop(Elaboratable):
    """Top of the bitstream: ``soc`` (a SoC of :meth:`Board.make_soc`) on ``board``'s pins."""
    def __init__(self, *, board, soc, tolerance=0.01):
        self.board, self.soc, self._tolerance = board, soc, tolerance
        # Refuses a frequency that the PLL cannot make before anything is built.
        settings = ecp5_settings if board.family == "ecp5" else ice40_settings
        settings(board.oscillator_hz, soc.clock_hz, tolerance, soc.domain_hz)

    def _pll(self, pad=None):
        return PLL(family=self.board.family, input_hz=self.board.oscillator_hz, wanted_hz=self.soc.clock_hz,
                   tolerance=self._tolerance, phase=self.sdram_phase, further_hz=self.soc.domain_hz, pad=pad)

    @property
    def sdram_phase(self):
        """Degrees by which the SDRAM's clock follows the main clock, where the PLL makes it; ``None`` without one (docs/memory.md,
        "Clock and phase"). An iCE40's PLL has no such output: there the clock is inverted."""
        if self.board.memory.kind != "SDRAM" or self.board.family == "ice40":
            return None
        return 270 if self.soc.clock_hz <= 105e6 else 180

    def elaborate(self, platform):
        m = Module()
        board = self.board
        soc = m.submodules.soc = self.soc
        pin = platform.request(board.oscillator, dir="-")
        if board.clock_pad:
            pll, clock = self._pll(pad=pin.io), 0
        else:
            m.submodules.oscillator = oscillator = io.Buffer("i", pin)
            pll, clock = self._pll(), oscillator.i
        main = m.submodules.clock = MainClock(pll=pll, input=clock)
        m.domains.sync = main.domain
        m.d.comb += main.request.eq(soc.reset_request)
        if soc.domain is not None:
            m.domains += (further := ClockDomain(soc.domain.name))
            m.d.comb += further.clk.eq(pll.further)
            m.submodules.further_reset = ResetSynchronizer(main.domain.rst, domain=further.name)

        uart = platform.request(board.link.resource, dir="-")
        m.submodules.rx_pin = rx_pin = io.Buffer("i", uart.rx)
        m.submodules.tx_pin = tx_pin = io.Buffer("o", uart.tx)
        link = m.submodules.uart = SerialLink(clock_hz=soc.clock_hz, baud=board.link.baud)
        wiring.connect(m, link.rx, soc.rx)
        wiring.connect(m, soc.tx, link.tx)
        m.d.comb += [link.rx_line.eq(rx_pin.i), tx_pin.o.eq(link.tx_line)]

        self._leds(m, platform)
        for resource, number in board.held_high:
            m.submodules[f"{resource}_{number}"] = pin = io.Buffer("o", platform.request(resource, number, dir="-"))
            m.d.comb += pin.o.eq(1)
        if board.memory.kind == "SDRAM":
            self._sdram(m, platform, pll)
        elif board.memory.kind == "SRAM":
            phy = m.submodules.phy = SRAMPhy(part=board.memory.part, ports=platform.request(board.memory.resource, dir="-"))
            wiring.connect(m, soc.memory_pins, phy.controller)
        return m

    def _leds(self, m, platform):
        requested = {}
        for name, lit in (("busy", self.soc.busy), ("fault", self.soc.fault)):
            led = getattr(self.board, f"{name}_led")
            if led is None:
                continue
            resource, number, *part = led
            if (resource, number) not in requested:
                requested[resource, number] = platform.request(resource, number, dir="-")
            port = requested[resource, number]
            m.submodules[f"{name}_led"] = buffer = io.Buffer("o", getattr(port, *part) if part else port)
            m.d.comb += buffer.o.eq(lit | self.soc.led)

    def _sdram(self, m, platform, pll):
        ports = platform.request(self.board.memory.resource, dir="-")
        phy = m.submodules.phy = SDRAMPhy(part=self.board.memory.part, ports=ports)
        wiring.connect(m, self.soc.memory_pins, phy.controller)
        if self.sdram_phase is None:
            # Rises in the middle of the cycle.
            clock = m.submodules.sdram_clock = io.DDRBuffer("o", ports.clk)
            m.d.comb += [clock.o[0].eq(0), clock.o[1].eq(1)]
            return
        m.domains.sdram = domain = ClockDomain("sdram", reset_less=True)
        clock = m.submodules.sdram_clock = io.DDRBuffer("o", ports.clk, o_domain="sdram")
        m.d.comb += [domain.clk.eq(pll.shifted), clock.o[0].eq(1), clock.o[1].eq(0)]
