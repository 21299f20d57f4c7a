# SPDX-License-Identifier: BSD-2-Clause
"""Boards with DDR3 memory: the OrangeCrab, and what else the ECPIX-5 has."""

import random
import re
import sys
from pathlib import Path

import pytest

from quintet.boards import BoardError, open_board
from quintet.boards.top import BoardTop
from quintet.boards.virtual.board import VirtualBoard
from quintet.gateware.cores import core_names, open_core
from quintet.gateware.isa.parameters import ParameterError
from quintet.gateware.memory.ddr3.sequencer import start_cycles
from quintet.tools.build.bitstream import build
from quintet.tools.link.client import LinkClient
from quintet.tools.link.errors import BoardError as BusError
from quintet.tools.link.errors import LinkError
from quintet.tools.targets.link import LinkTarget

BOARD = open_board("orangecrab-25f")
CHIP = BOARD.memory


def plan_files(board):
    """Text of the files that the tools are given, by name."""
    pytest.importorskip("litedram")
    platform = board.platform_class()()
    type(platform).required_tools = ()
    files = platform.prepare(BoardTop(board=board, soc=board.make_soc())).files
    return {name: f if isinstance(f, str) else f.decode() for name, f in files.items()}


def test_top_elaborates():
    files = plan_files(BOARD)
    text, constraints = files["top.il"], files["top.lpf"]
    for cell in ("ECLKBRIDGECS", "ECLKSYNCB", "CLKDIVF", "EHXPLLL", "quintet_ddr3"):
        assert text.count(f"cell \\{cell} ") == 1, cell
    assert re.search(r'FREQUENCY NET "[\w.]*ddr3_main" 64000000.0 HZ', constraints)
    assert re.search(r'FREQUENCY NET "ddr3.ddr3_start_clock" 24000000.0 HZ', constraints)
    # The strobe of the lower byte, in the group of its data lines.
    assert 'LOCATE COMP "ddr3_chip_0__dqs__p[0]" SITE "B15"' in constraints
    core = files["quintet_ddr3.v"]
    assert core.count("DQSBUFM #(") == 2
    assert "ddr3_cs_n" in core and "ddr3_reset_n" in core


def test_top_without_reset_and_chip_select_elaborates():
    """On the ECPIX-5 neither comes to the FPGA; of its oscillator of 100 MHz the start of the PHY
    gets a quarter."""
    files = plan_files(open_board("ecpix5-45f"))
    constraints, core = files["top.lpf"], files["quintet_ddr3.v"]
    assert "ddr3_cs_n" not in core and "ddr3_reset_n" not in core
    assert re.search(r'FREQUENCY NET "ddr3.ddr3_start_clock" 25000000.0 HZ', constraints)
    assert 'LOCATE COMP "ddr3_0__dqs__p[0]" SITE "V4"' in constraints
    assert 'LOCATE COMP "ddr3_0__a__io[14]" SITE "H1"' in constraints


def test_a_build_without_litedram_names_its_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "litedram", None)
    with pytest.raises(
        ParameterError,
        match=r"^opentpu 25f-4x4 for orangecrab-25f cannot be built: DDR3 memory needs LiteDRAM, "
        r"which generates its controller: .*; pip install .*litedram==\S+$",
    ):
        build("orangecrab-25f", "opentpu")


def test_block_ram_in_place_of_the_chip():
    """The board that docs/boards.md prints has the cores that do not fit beside the controller."""
    page = (Path(__file__).parents[2] / "docs" / "boards.md").read_text()
    (text,) = [code for code in re.findall(r"```python\n(.*?)```", page, re.S) if "replace" in code]
    names = {}
    exec(text, names)
    (board,) = names["BOARDS"]
    for isa in core_names():
        package = open_core(isa)
        if not package.has_core:
            continue
        soc = board.make_soc(package=package, preset=board.preset_for(package))
        assert (isa, soc.preset) not in board.too_large
        assert soc.memory_info == {"size": 1 << 15, "beat_bytes": 4, "kind": "block RAM"}
    for isa in ("cherry", "pim"):
        assert (isa, "25f") in BOARD.too_large and (isa, "25f") not in board.too_large


@pytest.mark.parametrize("mhz", [40, 110])
def test_clocks_outside_the_phys_are_refused(mhz):
    with pytest.raises(BoardError, match=f"DDR3 memory: expected 48 to 100 MHz, found {mhz}"):
        BOARD.make_soc(clock_hz=mhz * 1_000_000)


@pytest.mark.parametrize(
    "isa, preset, beat",
    [("opu", "25f", 8), ("pim", "25f", 8), ("opentpu", "25f-4x4", 4), ("cherry", "25f", 8)],
)
def test_beats_are_the_widest_that_the_engine_takes(isa, preset, beat):
    package = open_core(isa)
    memory = CHIP.suited(package, package.params.SPACE.resolve(preset), CHIP.size)
    assert memory.beat_bytes == beat
    soc = BOARD.make_soc(package=package, preset=preset, family=None)
    assert soc.memory_info == {"size": 1 << 27, "beat_bytes": beat, "kind": "DDR3"}


def open_bare(**changes):
    soc = BOARD.make_soc(family=None)
    return VirtualBoard(board=BOARD, soc=soc, part_changes=changes)


def test_virtual_board_reads_what_was_written():
    with open_bare() as board:
        target = LinkTarget(client=LinkClient(board.pipe), name="board", kind="sim")
        # The host has waited for the start.
        assert board.cycle >= start_cycles(board.clock_hz)
        rnd, size = random.Random(1), target.info.memory_size
        for address in (0, 0x100_0003, size - 999):
            data = rnd.randbytes(999)
            target.write(address, data)
            assert target.read(address, 999) == data
            assert board.chip[address : address + 999].tobytes() == data
        with pytest.raises(BusError, match="bus error at 0x08000000"):
            target.client.read(size - 2, 4)
        counts = board.chip_counts
        # Every tREFI, 500 cycles at 64 MHz.
        assert abs(counts["refreshes"] - board.cycle / 500) < 3


def test_a_data_line_that_is_stuck_is_seen():
    with open_bare() as board:
        target = LinkTarget(client=LinkClient(board.pipe), name="board", kind="sim")
        board.spoil_wires(stuck_at_1=1 << 9)
        target.write(64, bytes(16))
        assert target.read(64, 16) == bytes([0, 2] * 8)


def test_a_memory_that_cannot_be_calibrated_is_refused():
    with open_bare(fails=True) as board:
        client = LinkClient(board.pipe)
        with pytest.raises(
            LinkError, match="board: its DDR3 memory cannot be calibrated: expected"
        ):
            LinkTarget(client=client, name="board", kind="sim")
        # No request hangs, so that a core would fault at once.
        for call in (lambda: client.read(0, 4), lambda: client.write(0, bytes(4))):
            with pytest.raises(BusError, match="bus error at 0x00000000"):
                call()
