# SPDX-License-Identifier: BSD-2-Clause
"""Logic cells of what every core on an UP5K has beside it."""

import os

import pytest
from amaranth import Module, Mux
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from quintet.gateware.bus.soclib import wishbone
from quintet.gateware.shell.control import ControlBlock
from quintet.gateware.shell.engine import EngineControl
from quintet.tools.build.bitstream import build, synthesise
from quintet.tools.netlist.check import check_build

#: Logic cells of the control block, OpenTPU's registers left out, as it stands beside a core on an
#: UP5K. The largest parts are the two words that the adder works on, prescalers and address
#: registers (55).
CONTROL_CELLS = 500
#: The SoC without a core.
SOC_CELLS = 1700


class _Counted(wiring.Component):
    """The control block under an engine's increments as a 4 x 4 array makes them: 16 operations,
    vectors of 4 bytes."""

    def __init__(self):
        control = EngineControl(operations_bits=5, bytes_bits=5)
        self.block = ControlBlock(
            ident="TEST",
            version=(1, 0),
            params_hash=0x89AB_CDEF,
            memory_size=1 << 17,
            control=control,
            program_align=16,
            address_bits=18,
        )
        super().__init__(
            {
                "bus": In(wishbone.Signature(addr_width=10, data_width=32, granularity=8)),
                "engine": In(control),
                "guard_idle": In(1),
                "core_reset": Out(1),
                "interrupt": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        block = m.submodules.block = self.block
        wiring.connect(m, wiring.flipped(self.bus), block.bus)
        wiring.connect(m, wiring.flipped(self.engine), block.engine)
        engine = self.engine
        m.d.comb += [
            block.guard_idle.eq(self.guard_idle),
            self.core_reset.eq(block.core_reset),
            self.interrupt.eq(block.interrupt),
            block.engine.operations.eq(Mux(engine.operations[0], 16, 0)),
            block.engine.bytes_read.eq(engine.bytes_read[1:] << 1),
            block.engine.bytes_written.eq(Mux(engine.bytes_written[0], 4, 0)),
        ]
        return m


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_control_block_is_small(here):
    cells = synthesise(_Counted(), "ice40", "area")
    assert cells["SB_RAM40_4K"] == 1
    assert cells["ICESTORM_LC"] <= CONTROL_CELLS


@pytest.mark.pnr
def test_soc_without_a_core_fits_beside_every_core(here):
    report = build("icebreaker", dir="build")
    assert report["luts"] <= SOC_CELLS
    assert report["clock_met"] and report["clock_reached_mhz"] >= 24
    assert report["brams"] <= 6 and report["sprams"] == 4 and report["dsps"] == 0
    assert os.path.getsize(report["bitstream"]) > 10_000
    assert (here / "build" / "report.json").is_file()
    assert report["clocks"]["main"]["reached_mhz"] == report["clock_reached_mhz"]
    # What is placed is what the virtual board is.
    check = check_build("build")
    assert check.ok, check.wrong
    assert check.cells["SB_SPRAM256KA"] == 4 and check.netlist.cycles > 50_000
