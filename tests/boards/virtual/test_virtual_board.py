# SPDX-License-Identifier: BSD-2-Clause
"""Virtual boards without a core: pipe, wires, memory chip, simulated time."""

import random
from dataclasses import replace

import pytest

from quintet.boards import BoardError, open_board
from quintet.boards.virtual.board import VirtualBoard, open_virtual
from quintet.boards.virtual.simulation import SimulationError
from quintet.gateware.info import CONTROL_BASE
from quintet.gateware.memory.sdram.phase import PADS, clock_path, margins
from quintet.tools.link.client import LinkClient
from tests.support.shares import fewer
from tests.support.tiny_core import PACKAGE as TINY

#: The memory chip needs 200 microseconds after power-up; until then the bus ends with an error.
AWAKE = 0.00025


@pytest.fixture
def ulx3s():
    with open_virtual("ulx3s-25f", None) as board:
        board.pipe.sleep(AWAKE)
        yield board


def test_memory_chip_holds_what_the_host_writes(ulx3s):
    client = LinkClient(ulx3s.pipe, seed=1)
    data = random.Random(1).randbytes(5001)
    client.write(0x1233, data)
    assert client.read(0x1233, len(data)) == data
    assert ulx3s.chip[0x1233 : 0x1233 + len(data)].tobytes() == data
    counts = ulx3s.chip_counts
    assert (
        counts["writes"] >= len(data) // 2
        and counts["reads"] >= len(data) // 2
        and counts["refreshes"] > 0
    )


def test_memory_chip_holds_runs_and_fills(ulx3s):
    """Beats of two bytes: what lies between the runs stays."""
    client = LinkClient(ulx3s.pipe, seed=1)
    chance, image = random.Random(3), bytearray(random.Random(4).randbytes(1 << 15))
    client.write(0, image)
    for _ in range(12):
        run, gap, count = chance.randrange(1, 20), chance.randrange(1, 70), chance.randrange(1, 60)
        address, pattern = chance.randrange(1 << 14), chance.randbytes(4)
        data, stride = chance.randbytes(run * count), run + gap
        client.write(address, data, run, stride)
        for number in range(count):
            image[address + number * stride : address + number * stride + run] = data[
                number * run : (number + 1) * run
            ]
        assert client.read(address, run * count, run, stride) == data
        client.fill(address + 7, run, pattern, stride=stride + 3 & ~3, count=5)
        for number in range(5):
            start = address + 7 + number * (stride + 3 & ~3)
            image[start : start + run] = (pattern * run)[:run]
        assert ulx3s.chip[: 1 << 15].tobytes() == image


def test_time_passes_only_inside_the_pipe(ulx3s):
    pipe = ulx3s.pipe
    before = pipe.now()
    pipe.write(b"\0" * 10)
    assert pipe.now() == before and ulx3s.waiting == 10
    assert pipe.read(10, 0.0001) == b""
    assert pipe.now() == pytest.approx(before + 0.0001, abs=1e-6)
    pipe.sleep(0.0002)
    assert pipe.now() == pytest.approx(before + 0.0003, abs=1e-6)


def test_runs_are_the_same_every_time():
    def session():
        with open_virtual("ulx3s-25f", None) as board:
            board.pipe.sleep(AWAKE)
            client = LinkClient(board.pipe, seed=1)
            client.write(64, bytes(range(200)))
            return board.cycle, client.identify()

    assert session() == session()


def test_a_broken_timing_rule_is_told(ulx3s):
    """The same gateware with a chip that is slower than the controller was told."""
    board = open_board("ulx3s-25f")
    slow = VirtualBoard(board=board, soc=board.make_soc(family=None), part_changes={"t_rcd": 60.0})
    with slow:
        slow.pipe.sleep(AWAKE)
        client = LinkClient(slow.pipe, seed=1, timeout=0.01, retry=0.005)
        with pytest.raises(SimulationError, match="SDRAM chip: .*tRCD"):
            client.write(0, bytes(100))


@pytest.mark.parametrize(
    "rises, rule", [((1.2, 8), "set-up time of the lines"), ((5, 11.7), "hold time of the lines")]
)
def test_a_phase_that_the_chips_inputs_cannot_have_is_told(ulx3s, rises, rule):
    board, soc = open_board("ulx3s-25f"), open_board("ulx3s-25f").make_soc(family=None)
    with VirtualBoard(
        board=board, soc=soc, path=replace(soc.clocking.sdram.path, rises=rises)
    ) as shifted:
        with pytest.raises(SimulationError, match=f"SDRAM chip: .*{rule}"):
            shifted.pipe.sleep(AWAKE)


@pytest.mark.parametrize("degrees", [270, 180, 0])
def test_a_phase_without_margin_is_seen(ulx3s, degrees):
    """The clock of one board at the frequency of another: what is read is right exactly where the
    formula leaves a margin."""
    board, soc = open_board("ulx3s-25f"), open_board("ulx3s-25f").make_soc(family=None)
    late = degrees / 360 * 1e9 / soc.clock_hz
    path = clock_path(PADS["ecp5"], (late, late))
    left = margins(board.memory.part, soc.clock_hz, path, soc.backing.capture)
    assert (left.least >= 0) == (degrees == 270)
    data = random.Random(3).randbytes(256)
    with VirtualBoard(board=board, soc=soc, path=path) as shifted:
        try:
            shifted.pipe.sleep(AWAKE)
            client = LinkClient(shifted.pipe, seed=1)
            client.write(0, data)
            same = client.read(0, len(data)) == data
        except SimulationError as error:
            assert degrees == 0 and "set-up time of the lines" in str(error)
            same = False
    assert same == (degrees == 270)


def test_an_sram_too_slow_for_the_clock_is_told():
    board = open_board("blackice-ii")
    with VirtualBoard(
        board=board, soc=board.make_soc(family=None), part_changes={"t_aa": 40.0}
    ) as slow:
        with pytest.raises(SimulationError, match="SRAM chip: the cycle is too short"):
            slow.pipe.sleep(0.001)


def test_wires_carry_the_same_bytes_at_the_rate_of_the_line():
    with open_virtual("icebreaker", None, link="wire") as board:
        client = LinkClient(board.pipe, seed=1)
        client.identify()
        data = random.Random(2).randbytes(3000)
        before = board.pipe.now()
        client.write(0x100, data)
        seconds = board.pipe.now() - before
        assert len(data) / 300_000 < seconds < 1.2 * len(data) / 300_000
        assert client.read(0x100, len(data)) == data
        # The same of pixels of three bytes in slots of 64.
        before = board.pipe.now()
        client.write(0x1001, data, 3, 64)
        assert len(data) / 300_000 < board.pipe.now() - before < 1.2 * len(data) / 300_000
        assert client.read(0x1001, 3000, 3, 64) == data
        assert board.simulation.c.board_framing_errors(board.simulation.handle) == 0


def test_link_must_be_one_of_two():
    with pytest.raises(ValueError, match="link = 'usb': expected bytes, wire, uartbone or spi"):
        open_virtual("icebreaker", None, link="usb")
    with pytest.raises(
        BoardError, match="fomu cannot be built with link uart: it has no serial line; there is usb"
    ):
        open_virtual("fomu", None, link="wire")


@pytest.mark.parametrize(
    "name, beat_bytes, masks",
    [("colorlight-i5", 4, False), ("blackice-mx", 2, True), ("blackice-ii", 4, True)],
)
def test_parts_of_beats_from_host_and_core(name, beat_bytes, masks):
    """32-bit SDRAM with its masks tied low, SDRAM on an inverted clock, asynchronous SRAM: nobody's
    other bytes change."""
    with open_virtual(name, TINY, preset="sim") as virtual:
        backing = virtual.soc.backing
        assert backing.beat_bytes == beat_bytes and getattr(backing, "masks", True) == masks
        virtual.pipe.sleep(AWAKE)
        client = LinkClient(virtual.pipe, seed=1)
        chance = random.Random(3)
        image = bytearray(chance.randrange(1, 256) for _ in range(4096))
        client.write(0, image)
        for _ in range(fewer(40)):
            at, data = chance.randrange(4000), chance.randbytes(chance.choice((1, 2, 3, 5, 90)))
            client.write(at, data)
            image[at : at + len(data)] = data
        # The core copies 1 KiB while the host writes single bytes elsewhere.
        source = bytes(chance.randrange(1, 256) for _ in range(1024))
        client.write(0x1000, source)
        for offset, value in ((0x20, 0x1000), (0x24, 1024), (0x100, 0x2000), (0x104, 0), (0x10, 1)):
            client.write_word(CONTROL_BASE + offset, value)
        while client.read_word(CONTROL_BASE + 0x14) & 1:
            at = chance.randrange(4096)
            image[at] ^= 0xFF
            client.write(at, image[at : at + 1])
        assert client.read_word(CONTROL_BASE + 0x14) == 2
        assert client.read(0x2000, 1024) == source
        assert client.read(0, 4096) == image
        assert virtual.chip[:4096].tobytes() == image


def test_a_board_with_sdram_can_be_traced(tmp_path):
    trace = tmp_path / "run.vcd"
    with open_virtual("icepi-zero", None, trace=trace) as board:
        board.advance(1000)
    assert "$enddefinitions" in trace.read_text(encoding="latin-1")
