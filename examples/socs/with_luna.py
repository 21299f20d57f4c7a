# SPDX-License-Identifier: BSD-2-Clause
"""An Amaranth SoC with luna-soc's VexRiscv and OpenTPU works on the handwritten digits.

    python examples/socs/with_luna.py                  # simulated by Verilator
    python examples/socs/with_luna.py --build          # a bitstream for the ULX3S with a 45F

A compiler for RISC-V is required; for the simulation Verilator and a C++ compiler too. Files go to
build/luna, or where --out says. The SoC's serial line says the result (on a board at 115,200 baud).
"""

import argparse
import logging
from pathlib import Path

from amaranth import ClockDomain, ClockSignal, Module, ResetSignal, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import Out, connect
from amaranth_boards.ulx3s import ULX3S_45F_Platform
from luna_soc.gateware.core import blockram, uart
from luna_soc.gateware.cpu.vexriscv import VexRiscv
from luna_soc.generate.c import Header

from amaranth_soc.csr.wishbone import WishboneCSRBridge  # isort: skip  (luna_soc brings it)
from software import HERE, compile_program, run, words

from quintet.firmware.opentpu import digits
from quintet.gateware import Core
from quintet.gateware.bus.soclib import csr, wishbone
from quintet.gateware.verilog import convert
from quintet.integration.software import PreparedJob
from quintet.tools.build.toolchain import tool_environment

#: Clock in Hz and baud rate of a board; clocks a bit in the simulation.
CLOCK, BAUD, SIMULATED = 25_000_000, 115_200, 8
#: Addresses: the program, the stack's memory, main memory, the core's registers, the serial line.
ROM, RAM, MAIN, CORE, SERIAL = 0, 0x1000_0000, 0x4000_0000, 0x8000_0000, 0xF000_0000
ROM_BYTES, RAM_BYTES, MAIN_BYTES = 1 << 14, 1 << 11, 1 << 16
FLAGS = ["-march=rv32im_zicsr", "-mabi=ilp32"]


class DigitsSoC(wiring.Component):
    """A VexRiscv with a serial line, and OpenTPU with 64 KiB of main memory.

    Parameters
    ----------
    job : PreparedJob
        Main memory holds its image at first.
    divisor : int
        Clocks of a bit on the serial line.
    family : str or None
        FPGA family of the core's cells; none for a simulation.
    """

    tx: Out(1)

    def __init__(self, job: PreparedJob, *, divisor: int, family: str | None = None) -> None:
        super().__init__()
        bus = {"addr_width": 30, "data_width": 32, "granularity": 8}
        self.cpu = VexRiscv(variant="imc", reset_addr=ROM)
        self.core = Core(
            "opentpu",
            params=job.job.params,
            memory_size=MAIN_BYTES,
            memory_base=MAIN,
            family=family,
        )
        self.rom = blockram.Peripheral(size=ROM_BYTES, writable=False, name="rom")
        self.ram = blockram.Peripheral(size=RAM_BYTES, name="ram")
        self.main = blockram.Peripheral(size=MAIN_BYTES, name="main", init=words(job.image))
        self.uart = uart.Peripheral(divisor=divisor)
        self.arbiter = wishbone.Arbiter(**bus, features={"cti", "bte"})
        for master in (self.cpu.ibus, self.cpu.dbus, self.core.memory):
            self.arbiter.add(master)
        self.csrs = csr.Decoder(addr_width=8, data_width=8)
        self.csrs.add(self.uart.bus, name="uart")
        self.bridge = WishboneCSRBridge(self.csrs.bus, data_width=32)
        self.decoder = wishbone.Decoder(**bus, features={"cti", "bte"})
        for slave, name, address in (
            (self.rom.bus, "rom", ROM),
            (self.ram.bus, "ram", RAM),
            (self.main.bus, "main", MAIN),
            (self.core.registers, "core", CORE),
        ):
            self.decoder.add(slave, name=name, addr=address)
        self.decoder.add(self.bridge.wb_bus, name="csr", addr=SERIAL)

    def elaborate(self, platform) -> Module:
        m = Module()
        for name in "cpu core rom ram main uart arbiter csrs bridge decoder".split():
            m.submodules[name] = getattr(self, name)
        connect(m, self.arbiter.bus, self.decoder.bus)
        m.d.comb += [
            self.cpu.irq_external[0].eq(self.core.interrupt),
            self.uart.pins.rx.eq(1),
            self.tx.eq(self.uart.pins.tx.o),
        ]
        return m


class Board(wiring.Component):
    """The SoC on a board with a serial port, at the clock of the board's oscillator."""

    def __init__(self, soc: DigitsSoC) -> None:
        super().__init__({})
        self.soc = soc

    def elaborate(self, platform) -> Module:
        m = Module()
        m.submodules.soc = self.soc
        m.domains.sync = ClockDomain()
        # The CPU's registers have no initial values: it wants a reset.
        waited = Signal(8, reset_less=True)
        with m.If(~waited.all()):
            m.d.sync += waited.eq(waited + 1)
        m.d.comb += [
            ClockSignal().eq(platform.request(platform.default_clk, dir="i").i),
            ResetSignal().eq(~waited.all()),
            platform.request("uart").tx.o.eq(self.soc.tx),
        ]
        return m


class Sources:
    """Stands in for a platform: keeps the Verilog that components bring."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.paths = folder, []

    def add_file(self, name: str, text: str) -> None:
        self.paths.append(self.folder / name)
        self.paths[-1].write_text(text)


def system(folder: Path, **options: object) -> DigitsSoC:
    """The SoC with its program compiled in ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    job = PreparedJob(digits.job(4, norm=True), memory_size=MAIN_BYTES)
    soc = DigitsSoC(job, **options)
    (folder / "job.h").write_text(job.header())
    with open(folder / "resources.h", "w") as file:
        Header(soc.decoder.bus.memory_map, {}).generate(file)
    stack = RAM + RAM_BYTES
    soc.rom.init = words(compile_program(folder, FLAGS, [folder, HERE / "luna"], stack))
    return soc


def simulate(folder: Path) -> str:
    """Builds the simulator and returns what the serial line says."""
    sources = Sources(folder)
    soc = system(folder, divisor=SIMULATED)
    (folder / "soc.v").write_text(convert(soc, name="soc", platform=sources))
    run(
        "verilator", "--cc", "--exe", "--build", "-O3", "-CFLAGS", f"-O2 -DDIVISOR={SIMULATED}",
        "--x-assign", "fast", "-Wno-fatal", "-Wno-lint", "-Wno-TIMESCALEMOD", "--top-module", "soc",
        "--Mdir", folder / "simulator", folder / "soc.v", *sources.paths, HERE / "luna/sim.cpp",
    )  # fmt: skip
    return run(folder / "simulator/Vsoc")


def build(folder: Path) -> str:
    """Builds the bitstream; returns its path."""
    board = Board(system(folder, divisor=CLOCK // BAUD, family="ecp5"))
    plan = ULX3S_45F_Platform().prepare(board, name="soc", nextpnr_opts="--timing-allow-fail")
    plan.execute_local(str(folder / "bitstream"), env=tool_environment("ecp5"))
    return f"wrote {folder / 'bitstream/soc.bit'}\n"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--build", action="store_true", help="a bitstream instead of a simulation")
    parser.add_argument("--out", type=Path, default=Path("build/luna"), help="folder of all files")
    args = parser.parse_args()
    logging.disable(logging.WARNING)  # luna-soc names CPUs that are not installed
    print((build if args.build else simulate)(args.out.resolve()), end="")


if __name__ == "__main__":
    main()
