# SPDX-License-Identifier: BSD-2-Clause
"""Registers of the SoC: identification, interrupt, cycle counter, LED, reset
(docs/how/contracts.md, section 4)."""

from amaranth import Cat, Const, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..arguments import check_integer
from .soclib import MemoryMap, wishbone

__all__ = ["SOC_REGISTERS", "SoCRegisters"]

#: name -> (byte offset, access, meaning)
SOC_REGISTERS = {
    "soc_ident": (0x00, "r", "bytes `Q S O C`"),
    "soc_interrupt": (
        0x04,
        "r",
        "bit 0: interrupt of the core; bit 1: of the list of runs, in a build that walks them",
    ),
    "soc_cycles": (0x08, "r", "cycles of the main clock since reset, modulo 2^32"),
    "soc_led": (
        0x0C,
        "rw",
        "bit 0: the board's LED is lit, whatever the core does, so that one board of several "
        "is found",
    ),
    "soc_reset": (
        0x10,
        "w",
        "bit 0: reset of the whole SoC, 2^16 to 2^17 cycles later, once the answer has left "
        "the FPGA",
    ),
    "soc_boot": (
        0x14,
        "r",
        "start from flash memory, in a build that has it: bit 0 the plan image is being read, bit "
        "1 ready, bit 2 refused; [6:4] why: 1 no image, 2 another version, 3 damaged, 4 an image "
        "of another build, 5 a bus cycle failed",
    ),
    "soc_memory": (
        0x18,
        "r",
        "start of main memory, in a build with DDR3: bit 0 ready, bit 1 failed (its read delays "
        "cannot be set)",
    ),
}


class SoCRegisters(wiring.Component):
    """SoC registers: identification, interrupt, cycle counter, LED and reset; 32-bit words,
    answered in the next cycle.

    Parameters
    ----------
    reset_delay_bits : int
        A reset that is requested comes when that many low bits of the cycle counter are all ones
        for the second time.
    interrupts : int
        How many there are.
    boots : bool
        There are members ``cycles`` and ``boot``.
    calibrates : bool
        There is a member ``memory``.

    Members
    -------
    bus : In, Wishbone of 6 word-address bits, 32 data bits, granularity 8. Whole words only:
        a write with any ``sel`` bit low is ignored.
    interrupt : In, a bit for each of them
    cycles : Out(32), boot : In(7), the register ``soc_boot``; with ``boots``
    memory : In(2), the register ``soc_memory``; with ``calibrates``
    led, reset : Out. ``reset`` is high for one cycle.
    """

    def __init__(
        self,
        *,
        reset_delay_bits: int = 16,
        interrupts: int = 1,
        boots: bool = False,
        calibrates: bool = False,
    ) -> None:
        check_integer("Reset delay", reset_delay_bits, 1, 32, unit="bits")
        self._reset_delay_bits = reset_delay_bits
        super().__init__(
            {
                "bus": In(wishbone.Signature(addr_width=6, data_width=32, granularity=8)),
                "interrupt": In(interrupts),
                "led": Out(1),
                "reset": Out(1),
            }
            | ({"cycles": Out(32), "boot": In(7)} if boots else {})
            | ({"memory": In(2)} if calibrates else {})
        )
        self._boots, self._calibrates = boots, calibrates
        memory_map = MemoryMap(addr_width=8, data_width=8)
        memory_map.add_resource(self, name=("soc",), size=256)
        self.bus.memory_map = memory_map

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bus = self.bus
        cycles = Signal(32)
        wanted, due = Signal(), Signal()
        word = bus.adr[:3]
        m.d.sync += [cycles.eq(cycles + 1), bus.ack.eq(bus.cyc & bus.stb & ~bus.ack)]
        if self._boots:
            m.d.comb += self.cycles.eq(cycles)
        write = bus.cyc & bus.stb & bus.we & bus.sel.all() & ~bus.ack & (bus.adr[3:] == 0)
        with m.If(write & (word == 3)):
            m.d.sync += self.led.eq(bus.dat_w[0])
        with m.If(write & (word == 4) & bus.dat_w[0]):
            m.d.sync += wanted.eq(1)
        # At the second turn of the counter's low bits: late enough for the answer to have left the
        # FPGA.
        turn = Signal()
        m.d.comb += [turn.eq(cycles[: self._reset_delay_bits].all()), self.reset.eq(due & turn)]
        with m.If(turn):
            m.d.sync += due.eq(wanted)
        with m.If(self.reset):
            m.d.sync += [wanted.eq(0), due.eq(0)]
        with m.If(bus.adr[3:] == 0):
            with m.Switch(word):
                with m.Case(0):
                    m.d.comb += bus.dat_r.eq(int.from_bytes(b"QSOC", "little"))
                with m.Case(1):
                    m.d.comb += bus.dat_r.eq(self.interrupt)
                with m.Case(2):
                    m.d.comb += bus.dat_r.eq(cycles)
                with m.Case(3):
                    m.d.comb += bus.dat_r.eq(Cat(self.led, Const(0, 31)))
                if self._boots:
                    with m.Case(5):
                        m.d.comb += bus.dat_r.eq(self.boot)
                if self._calibrates:
                    with m.Case(6):
                        m.d.comb += bus.dat_r.eq(self.memory)
        return m
