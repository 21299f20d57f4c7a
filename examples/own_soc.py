# SPDX-License-Identifier: BSD-2-Clause
"""A core in another design: OpenTPU's registers on a Wishbone bus, with separate memory, exported
as Verilog."""

import argparse
from pathlib import Path

from amaranth import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from quintet.gateware.bus.soclib import wishbone
from quintet.gateware.cores import open_core
from quintet.gateware.memory.blockram import BlockRAMMemory
from quintet.gateware.shell.core import CoreShell
from quintet.gateware.verilog import convert

MEMORY_BYTES = 1 << 16
BEAT_BYTES = 4


class Accelerator(wiring.Component):
    """OpenTPU with 64 KiB of block RAM: registers at 0x10000 of `bus`."""

    bus: In(wishbone.Signature(addr_width=15, data_width=32, granularity=8))
    interrupt: Out(1)

    def elaborate(self, platform) -> Module:
        m = Module()
        package = open_core("opentpu")
        m.submodules.core = core = CoreShell(
            package=package,
            params=package.params.SPACE.resolve("sim"),
            beat_bytes=BEAT_BYTES,
            memory_size=MEMORY_BYTES,
        )
        m.submodules.memory = memory = BlockRAMMemory(size=MEMORY_BYTES, beat_bytes=BEAT_BYTES)
        m.submodules.decoder = decoder = wishbone.Decoder(
            addr_width=15, data_width=32, granularity=8
        )
        decoder.add(core.bus, name="core", addr=0x10000)
        wiring.connect(m, wiring.flipped(self.bus), decoder.bus)
        wiring.connect(m, core.memory, memory.port)
        m.d.comb += self.interrupt.eq(core.interrupt)
        return m


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", default="accelerator.v", help="the Verilog file")
    path = Path(parser.parse_args().o)
    path.write_text(convert(Accelerator(), name="accelerator"))
    print(f"wrote {path}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
