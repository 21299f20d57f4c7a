# SPDX-License-Identifier: BSD-2-Clause
"""Timelines: the harness's slices against a plain account of the same cycles, and the windows and
rows of a board's."""

import ctypes
import subprocess
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quintet.boards import virtual
from quintet.boards.virtual.board import open_virtual
from quintet.boards.virtual.timeline import _SLICE, TimelineError, TimelineRecorder, _Row
from quintet.boards.virtual.toolchain import find_compiler
from quintet.gateware.info import CONTROL_BASE
from quintet.tools.link.client import LinkClient
from tests.support.tiny_core import PACKAGE

LEVEL, QUEUE, PULSES = range(3)
#: Every row in every cycle: a word of flags and a number.
SOURCE = """
#include "timeline.hpp"
using namespace quintet;
extern "C" uint64_t play(const TimelineRow *rows, uint64_t count, const uint32_t *values,
                         uint64_t cycles, const uint8_t *seconds, uint64_t main_ticks,
                         uint64_t second_ticks, uint64_t from, uint64_t to, uint64_t limit,
                         TimelineSlice *out, uint64_t *full) {
	Timeline t;
	t.from = from, t.to = to, t.limit = limit;
	t.main_ticks = main_ticks, t.second_ticks = second_ticks;
	std::vector<uint32_t> now(2 * count);
	for (uint64_t k = 0; k < count; k++)
		t.add(rows[k], &now[2 * k], rows[k].number < 0 ? nullptr : &now[2 * k + 1]);
	for (uint64_t c = 0; c < cycles; c++) {
		std::copy(values + 2 * count * c, values + 2 * count * (c + 1), now.begin());
		for (int edges = seconds[c]; edges; edges--) t.at_second();
		t.at_main(c);
	}
	t.cut();
	std::copy(t.slices.begin(), t.slices.end(), out);
	*full = t.full;
	return t.slices.size();
}
"""


@pytest.fixture(scope="session")
def play(tmp_path_factory):
    """``play(kinds, cycles, ...)``: slices as (row, begin, end, number, count), and where they were
    full."""
    folder = tmp_path_factory.mktemp("timeline")
    (folder / "play.cpp").write_text(SOURCE)
    subprocess.run(
        [
            *find_compiler().command,
            "-std=c++17",
            "-O1",
            "-shared",
            "-fPIC",
            f"-I{Path(virtual.__file__).parent}",
            "play.cpp",
            "-o",
            "play.so",
        ],
        cwd=folder,
        check=True,
    )
    function = ctypes.CDLL(str(folder / "play.so")).play
    function.restype = ctypes.c_uint64
    u64 = ctypes.c_uint64

    def run(
        kinds,
        cycles,
        seconds=None,
        ticks=(1, 1),
        window=(0, (1 << 64) - 1),
        limit=1 << 20,
        gap=3,
        far=(),
    ):
        rows = (_Row * len(kinds))(
            *(_Row(0, 0, kind, k in far, gap * ticks[0]) for k, kind in enumerate(kinds))
        )
        values = np.array(cycles, np.uint32).reshape(-1)
        edges = np.array(seconds if seconds is not None else [0] * len(cycles), np.uint8)
        out, full = np.zeros(4 * len(kinds) * (len(cycles) + 1) * 4, _SLICE), u64()
        count = function(
            rows,
            u64(len(kinds)),
            values.ctypes.data_as(ctypes.c_void_p),
            u64(len(cycles)),
            edges.ctypes.data_as(ctypes.c_void_p),
            *map(u64, ticks),
            *map(u64, window),
            u64(limit),
            out.ctypes.data_as(ctypes.c_void_p),
            ctypes.byref(full),
        )
        return [
            (int(s["row"]), int(s["begin"]), int(s["end"]), int(s["number"]), int(s["count"]))
            for s in out[:count]
        ], full.value

    return run


def account(kinds, cycles, gap=3):
    """The same slices, of every row by itself."""
    running = [values[0][0] & 1 for values in cycles]
    first = running.index(1) if 1 in running else len(cycles)
    found = []
    for k, kind in enumerate(kinds):
        seen = [
            (flags & 1, flags >> 1 & 1, flags >> 2 & 1, flags >> 3 or 1, number)
            for flags, number in (values[k] for values in cycles[first:])
        ]
        mine = (
            levels(seen)
            if kind == LEVEL
            else queue(seen, running[first:])
            if kind == QUEUE
            else pulses(seen, gap)
        )
        found += [(k, *slices) for slices in mine]
    return sorted(found)


def levels(seen):
    found = []
    for at, (busy, takes, _, _, number) in enumerate(seen):
        if busy and found and found[-1][1] == at and not takes and found[-1][2] == number:
            found[-1] = (found[-1][0], at + 1, number, 0)
        elif busy:
            found.append((at, at + 1, number, 0))
    return found


def queue(seen, running):
    found, waiting, begun = [], [], None
    for at, (busy, takes, leaves, parts, number) in enumerate(seen):
        if waiting:
            if (busy or leaves) and begun is None:
                begun = at
            if leaves:
                waiting[0][1] -= 1
                if not waiting[0][1]:
                    found.append((begun, at + 1, waiting.pop(0)[0], 0))
                    begun = None
        if takes:
            waiting.append([number, parts])
        if at and running[at - 1] and not running[at]:
            if begun is not None and begun < at:
                found.append((begun, at, waiting[0][0], 0))
            waiting, begun = [], None
    if begun is not None:
        found.append((begun, len(seen), waiting[0][0], 0))
    return found


def pulses(seen, gap):
    found = []
    for at, (busy, *_) in enumerate(seen):
        if busy and found and at - found[-1][1] <= gap:
            found[-1] = (found[-1][0], at + 1, 0, found[-1][3] + 1)
        elif busy:
            found.append((at, at + 1, 0, 1))
    return found


KINDS = (LEVEL, LEVEL, QUEUE, PULSES)
flags = st.tuples(st.sampled_from([0, 1, 1, 1, 3, 2, 4, 5, 7, 0x13, 0x1A]), st.integers(0, 2))
stretches = st.lists(
    st.tuples(st.tuples(*([flags] * len(KINDS))), st.integers(1, 6)), min_size=1, max_size=25
)


@settings(max_examples=300, deadline=None)
@given(stretches)
def test_slices_are_those_of_a_plain_account(play, drawn):
    cycles = [values for values, times in drawn for _ in range(times)]
    found, _ = play(KINDS, cycles)
    assert sorted(found) == account(KINDS, cycles)


@settings(max_examples=200, deadline=None)
@given(stretches, st.integers(0, 30), st.integers(1, 30))
def test_a_window_is_a_part_of_the_whole(play, drawn, begin, length):
    cycles = [values for values, times in drawn for _ in range(times)]
    whole, _ = play(KINDS[:3], [values[:3] for values in cycles])
    part, _ = play(KINDS[:3], [values[:3] for values in cycles], window=(begin, begin + length))
    cut = [
        (row, max(a, begin), min(b, begin + length), number, count)
        for row, a, b, number, count in whole
    ]
    assert sorted(part) == sorted(s for s in cut if s[1] < s[2])


@pytest.mark.parametrize("ratio", [Fraction(2), Fraction(5, 4), Fraction(3, 4)])
def test_a_row_of_the_second_clock_has_a_slice_a_cycle_of_it(play, ratio):
    """The second row takes in each cycle: as many slices as edges, end to end, and all in whole
    ticks."""
    main, second = ratio.as_integer_ratio()
    count, phase, edges = 64, 0, []
    for _ in range(count):
        phase += main
        edges.append(phase // second)
        phase %= second
    # The run begins in the tenth cycle.
    cycles = [((int(c >= 9), 0), (3, 0)) for c in range(count)]
    found, _ = play((LEVEL, LEVEL), cycles, seconds=edges, ticks=(main, second), far={1})
    mine = sorted(s for s in found if s[0] == 1)
    assert all(end - begin == second and begin % second == 0 for _, begin, end, _, _ in mine[:-1])
    assert [a[2] for a in mine[:-1]] == [b[1] for b in mine[1:]]
    # From the end of that cycle on, which says that it is one.
    assert len(mine) - sum(edges[10:]) in (0, 1) and mine[-1][2] >= (count - 10) * main


def test_what_has_no_room_ends_the_timeline(play):
    cycles = [((1, 0), (c & 1, 0)) for c in range(20)]
    found, full = play((LEVEL, LEVEL), cycles, limit=4)
    assert len(found) == 4 and full == 9


# On a board


@pytest.fixture(scope="module")
def board():
    with open_virtual("icebreaker", PACKAGE, preset="sim") as opened:
        yield opened


def test_rows_of_an_engine_that_tells_nothing(board):
    """Class, memory and link are the shell's; two runs follow one another."""
    recorder, link = TimelineRecorder(board), LinkClient(board.pipe, seed=1)
    link.write(0, bytes(range(1, 65)))
    counts = []
    for _ in range(2):
        for offset, value in ((0x20, 0), (0x24, 64), (0x100, 0x1000), (0x10, 1)):
            link.write_word(CONTROL_BASE + offset, value)
        while link.read_word(CONTROL_BASE + 0x14) & 1:
            pass
        counts.append(
            [
                link.read_word(CONTROL_BASE + offset)
                for offset in (0x80, 0x98, 0xA0, 0xA8, 0xB0, 0xB8)
            ]
        )
    line = recorder.timeline()
    assert [shown.row.name for shown in line.rows] == [
        "run",
        "class",
        "memory reads",
        "memory writes",
        "link to board",
        "link to host",
    ]
    lengths = line.slices["end"] - line.slices["begin"]
    runs = line.slices[line.slices["row"] == 0]
    assert [int(length) for length in lengths[line.slices["row"] == 0]] == [
        cycles for cycles, *_ in counts
    ] and runs["begin"][0] == 0
    classes = line.slices["row"] == 1
    for k in range(2):
        mine = (
            classes
            & (line.slices["begin"] >= runs["begin"][k])
            & (line.slices["end"] <= runs["end"][k])
        )
        assert [
            int(lengths[mine & (line.slices["number"] == number)].sum()) for number in range(5)
        ] == counts[k][1:]
    assert (
        (line.slices["row"] == 2).sum()
        == (line.slices["row"] == 3).sum()
        == 2 * 64 // board.soc.backing.beat_bytes
    )
    assert line.full_at is None and line.slices[line.slices["row"] == 4]["count"].sum() > 0


def test_windows_that_are_none(board):
    for begin, end in ((-1, None), (5, 5), (5, 4)):
        with pytest.raises(
            ValueError,
            match=f"window {begin} to {end}: expected a begin of 0 or more and an end after it",
        ):
            TimelineRecorder(board, begin, end)


def test_a_board_without_a_core():
    with pytest.raises(TimelineError, match="a board without a core has no timeline"):
        TimelineRecorder(SimpleNamespace(soc=SimpleNamespace(core=None)))
