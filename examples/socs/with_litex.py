# SPDX-License-Identifier: BSD-2-Clause
"""A LiteX SoC with OpenTPU, which Verilator simulates, works on the handwritten digits.

    python examples/socs/with_litex.py           # driven by its own CPU, a program in C
    python examples/socs/with_litex.py --client  # driven by LiteX's client over UARTBone

The extra "litex", Verilator and a C++ compiler are required. For the CPU there must be the package
pythondata-cpu-vexriscv and a compiler for RISC-V too. Files go to build/litex, or where --out says.
"""

import argparse
import contextlib
import io
import logging
import os
import socket
import subprocess
import sys
from pathlib import Path

import litex.soc
import numpy as np
from litex.build.generic_platform import Pins, Subsignal
from litex.build.lattice import LatticePlatform
from litex.soc.cores.uart import RS232PHYModel, UARTBone
from litex.soc.integration import export
from litex.soc.integration.soc_core import SoCCore
from litex.tools.litex_client import RemoteClient
from litex.tools.litex_server import RemoteServer
from litex.tools.remote.comm_uart import CommUART
from migen.genlib.io import CRG
from software import HERE, compile_program, run, words

from quintet.firmware.opentpu import digits
from quintet.integration.litex import QuintetCore
from quintet.integration.software import PreparedJob

#: Clock in Hz; bytes of main memory; address of the core's registers; end of the CPU's stack.
CLOCK, MAIN, CORE, STACK = 50_000_000, 0x10000, 0x8000_0000, 0x1000_0800
#: LiteX's own headers, which those that it generates include.
LITEX = [
    Path(litex.soc.__file__).parent / name for name in ("software/include", "cores/cpu/vexriscv")
]
#: Words that a read over UARTBone asks for, and seconds that the client waits for an answer.
BURST, PATIENCE = 64, 60
PINS = [
    ("sys_clk", 0, Pins(1)),
    ("sys_rst", 0, Pins(1)),
    (
        "serial",
        0,
        *(
            Subsignal(f"{side}_{name}", Pins(width))
            for side in ("source", "sink")
            for name, width in (("valid", 1), ("ready", 1), ("data", 8))
        ),
    ),
]


class DigitsSoC(SoCCore):
    """OpenTPU and 64 KiB of main memory, which holds the job's image at first. A VexRiscv drives
    it, or UARTBone if there is no CPU."""

    def __init__(self, job: PreparedJob, folder: Path, *, cpu: bool) -> None:
        platform = LatticePlatform("LFE5U-85F-6BG381C", PINS, toolchain="trellis")
        options = {"cpu_type": None, "with_uart": False, "integrated_sram_size": 0}
        if cpu:
            options = {
                "cpu_type": "vexriscv",
                "cpu_variant": "lite",  # without a data cache, which the core would write past
                "uart_name": "sim",
                "integrated_rom_size": 0x4000,
                "integrated_sram_size": 0x800,
            }
        super().__init__(
            platform,
            CLOCK,
            with_timer=False,
            bus_bursting=True,
            integrated_main_ram_size=MAIN,
            integrated_main_ram_init=words(job.image),
            **options,
        )
        self.crg = CRG(platform.request("sys_clk"), platform.request("sys_rst"))
        if not cpu:
            self.uartbone_phy = RS232PHYModel(platform.request("serial"))
            self.uartbone = UARTBone(self.uartbone_phy, CLOCK, address_width=32)
            self.bus.add_master("uartbone", self.uartbone.wishbone)
        self.quintet = QuintetCore(
            self, "opentpu", params=job.job.params, origin=CORE, directory=str(folder)
        )


class Simulation:
    """The SoC as files in ``folder``, with the job of all 540 held-out digits, and what the golden
    model computes."""

    def __init__(self, folder: Path, *, cpu: bool) -> None:
        self.folder, self.cpu = folder.resolve(), cpu
        self.job = PreparedJob(digits.job(8, norm=True), memory_size=MAIN)

    def build(self) -> None:
        """Generates headers, the CPU's program, Verilog and the simulator."""
        self.folder.mkdir(parents=True, exist_ok=True)
        soc = DigitsSoC(self.job, self.folder, cpu=self.cpu)
        soc.finalize()
        self._headers(soc)
        if self.cpu:
            includes = [self.folder, HERE / "litex", *LITEX]
            flags = soc.cpu.gcc_flags.split()
            soc.rom.mem.init = words(compile_program(self.folder, flags, includes, STACK))
        before = os.getcwd()
        soc.build(build_dir=str(self._gateware), build_name="soc", run=False)
        os.chdir(before)
        sources = [path for path, language, *_ in soc.platform.sources if language == "verilog"]
        run(
            "verilator", "--cc", "--exe", "--build", "-O3", "-CFLAGS", "-O2", "--x-assign", "fast",
            "-Wno-fatal", "-Wno-lint", "--top-module", "soc", "--Mdir", self.folder / "simulator",
            *dict.fromkeys(map(str, sources)), HERE / "litex/sim.cpp", cwd=self._gateware,
        )  # fmt: skip

    def _headers(self, soc):
        """Writes LiteX's headers and table, and the header of the job."""
        generated = self.folder / "generated"
        generated.mkdir(exist_ok=True)
        regions, constants = soc.csr_regions, soc.constants
        base = soc.mem_regions["csr"].origin
        table = export.get_csr_csv(regions, constants, soc.mem_regions)
        (self.folder / "csr.csv").write_text(table)
        for name, text in {
            "csr.h": export.get_csr_header(regions, constants, csr_base=base),
            "mem.h": export.get_mem_header(soc.mem_regions),
            "soc.h": export.get_soc_header(constants),
        }.items():
            (generated / name).write_text(text)
        (self.folder / "job.h").write_text(self.job.header())

    @property
    def _gateware(self):
        """Folder of the Verilog and of the contents of memories, which the simulator reads."""
        return self.folder / "gateware"

    @property
    def _simulator(self):
        return str(self.folder / "simulator/Vsoc")

    def by_cpu(self) -> str:
        """Runs the CPU's program; returns what it prints."""
        return run(self._simulator, cwd=self._gateware)

    def by_client(self) -> str:
        """Runs the job by LiteX's server and client; returns a line such as the CPU's."""
        table = str(self.folder / "csr.csv")
        command = [self._simulator, "0"]
        with subprocess.Popen(
            command, cwd=self._gateware, stdout=subprocess.PIPE, text=True
        ) as board:
            try:
                port = int(board.stdout.readline().split()[1])
                with socket.create_server(("127.0.0.1", 0)) as free:
                    own = free.getsockname()[1]
                server = RemoteServer(CommUART(f"socket://127.0.0.1:{port}"), "127.0.0.1", own)
                with contextlib.redirect_stdout(io.StringIO()):
                    server.open()
                    server.start(1)
                    client = RemoteClient(port=own, csr_csv=table)
                    client.open()
                    client.socket.settimeout(PATIENCE)
                    return self._drive(client)
            finally:
                board.kill()

    def _drive(self, client):
        base, known = client.mems.quintet.base, client.constants.d

        def at(register):
            return base + known[f"quintet_{register}_offset"]

        while client.read(at("status")) & 1:
            pass  # the core prepares itself after a reset, and ignores writes until then
        for offset, value in self.job.registers:
            client.write(base + offset, value)
        client.write(at("control"), 1)
        while client.read(at("status")) & 1:
            pass
        if client.read(at("status")) & 4:
            sys.exit(f"the core reports fault {client.read(at('fault_code'))}")
        save = self.job.save
        start, end = save.at, save.at + save.size
        data = [
            word
            for address in range(start, end, 4 * BURST)
            for word in client.read(
                client.mems.main_ram.base + address, length=min(BURST, (end - address) // 4)
            )
        ]
        found = np.array(data, "<u4").view(np.int8).reshape(save.shape)
        whole = save.recognition
        expected = np.frombuffer(self.job.expected, np.int8).reshape(save.shape)
        same = whole.rows(found) == whole.rows(expected)
        return (
            f"{same.all(axis=1).sum()} of {len(same)} digits equal to the golden model, "
            f"{whole.correct(found)} recognised, {client.read(at('cnt_cycles'))} cycles\n"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--client", action="store_true", help="LiteX's client instead of a CPU")
    parser.add_argument("--out", type=Path, default=Path("build/litex"), help="folder of all files")
    args = parser.parse_args()
    logging.disable(logging.INFO)  # LiteX says much about what it builds
    simulation = Simulation(args.out / ("client" if args.client else "cpu"), cpu=not args.client)
    simulation.build()
    print(simulation.by_client() if args.client else simulation.by_cpu(), end="")


if __name__ == "__main__":
    main()
