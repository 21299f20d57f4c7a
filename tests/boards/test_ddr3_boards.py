# SPDX-License-Identifier: BSD-2-Clause
"""Boards with DDR3 memory: the OrangeCrab with its chip in place of block RAM."""

import random
import re
from dataclasses import replace

import pytest

from quintet.boards import BoardError, open_board
from quintet.boards.orangecrab import CHIP
from quintet.boards.top import BoardTop
from quintet.boards.virtual.board import VirtualBoard
from quintet.gateware.cores import open_core
from quintet.gateware.memory.ddr3.parts import find_ddr3
from quintet.gateware.memory.ddr3.sequencer import start_cycles
from quintet.tools.link.client import LinkClient
from quintet.tools.link.errors import BoardError as BusError
from quintet.tools.link.errors import LinkError
from quintet.tools.targets.link import LinkTarget

BOARD = replace(open_board("orangecrab-25f"), memory=CHIP, clock_mhz=64)


def plan_files():
    pytest.importorskip("litedram")
    platform = BOARD.platform_class()()
    type(platform).required_tools = ()
    return platform.prepare(BoardTop(board=BOARD, soc=BOARD.make_soc())).files


def test_pins_have_the_widths_of_the_chip():
    part = find_ddr3(CHIP.part)
    lines = {s.name: s.ios[0] for s in BOARD.platform_class()().lookup(CHIP.resource).ios}
    assert len(lines["dq"].names) == 8 * part.lanes
    assert len(lines["a"].names) >= part.row_bits and len(lines["ba"].names) == part.bank_bits
    assert len(lines["dqs"].p.names) == len(lines["dm"].names) == part.lanes


def test_top_elaborates():
    files = plan_files()
    text, constraints = files["top.il"], files["top.lpf"]
    text, constraints = (f if isinstance(f, str) else f.decode() for f in (text, constraints))
    for cell in ("ECLKBRIDGECS", "ECLKSYNCB", "CLKDIVF", "EHXPLLL", "quintet_ddr3"):
        assert text.count(f"cell \\{cell} ") == 1, cell
    assert re.search(r'FREQUENCY NET "[\w.]*ddr3_main" 64000000.0 HZ', constraints)
    assert re.search(r'FREQUENCY NET "ddr3.ddr3_start_clock" 24000000.0 HZ', constraints)
    # The strobe of the lower byte, in the group of its data lines.
    assert 'LOCATE COMP "ddr3_chip_0__dqs__p[0]" SITE "B15"' in constraints
    core = files["quintet_ddr3.v"]
    assert (core if isinstance(core, str) else core.decode()).count("DQSBUFM #(") == 2


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
