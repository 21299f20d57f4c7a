# SPDX-License-Identifier: BSD-2-Clause
"""Presets of each core for each board: those whose primitives its FPGA has and whose cells
fit."""

import re
from dataclasses import replace
from functools import partial

import pytest

from quintet.boards import board_names, open_board
from quintet.gateware.cores import core_names, open_core
from quintet.gateware.isa.parameters import CAPACITIES, FPGAS, LACKS, ParameterError
from quintet.tools.build.bitstream import BuildError, build
from quintet.tools.build.reached import reached_clock
from quintet.tools.pages.builds import read
from tests.support import netlists
from tests.support.kept import kept
from tests.support.netlists import core_netlist

SPECIAL = set().union(*LACKS.values())
CORES = [package.name for package in map(open_core, core_names()) if package.has_core]
ICE40 = [
    (isa, preset)
    for isa in CORES
    for preset in open_core(isa).params.SPACE.presets
    if preset.startswith(("up5k", "hx8k"))
]


#: (board, core) that do not fit together: of the small Cherry nothing can be left out but
#: what its ISA has; and what fills a 25F does not fit beside the controller of DDR3.
WITHOUT = {("fomu", "cherry"), ("orangecrab-25f", "cherry"), ("orangecrab-25f", "pim")}


@pytest.mark.parametrize("isa, preset", ICE40)
def test_a_preset_says_what_primitives_it_needs(isa, preset):
    text = kept(f"core {isa} {preset}", partial(core_netlist, isa, preset), netlists.__file__)
    found = set(re.findall(r"cell \\(SB_\w+) ", text))
    declared = open_core(isa).params.SPACE.presets[preset]
    assert set(declared.needs) == found & SPECIAL and not set(declared.needs) & LACKS.get(
        declared.fpga, set()
    )


def test_what_an_fpga_lacks_is_not_listed():
    assert set(LACKS) <= set(FPGAS)
    for board in map(open_board, board_names()):
        for package in map(open_core, CORES):
            presets = package.params.SPACE.presets
            assert not [
                name
                for name in board.presets(package)
                if LACKS.get(board.fpga, set()) & set(presets[name].needs)
            ]
    assert "up5k" in open_board("blackice-ii").presets(open_core("imagine"))
    assert "up5k" not in open_board("blackice-ii").presets(open_core("cherry"))


def test_what_an_fpga_lacks_is_refused():
    board, package = open_board("blackice-ii"), open_core("opu")
    with pytest.raises(
        ParameterError,
        match=(
            "^opu up5k cannot be built for blackice-ii: it needs SB_MAC16 and SB_SPRAM256KA, "
            "which its hx8k does not have$"
        ),
    ):
        board.make_soc(package=package, preset="up5k")
    cherry = board.make_soc(
        package=open_core("cherry"), preset="up5k", params={"multiplier": "lut"}
    )
    assert cherry.params["multiplier"] == "lut"


@pytest.mark.parametrize(
    "preset, n, family, message",
    [
        (
            "85f-8x8",
            66,
            None,
            "expected at most 64 in gateware; the golden model (model:opentpu) takes up to 256",
        ),
        (
            "85f-16x16-fast",
            256,
            None,
            "expected at most 64 in gateware; the golden model (model:opentpu) takes up to 256",
        ),
        (
            "85f-8x8",
            64,
            "own",
            "the array takes 443,152 logic cells at least, of 83,640; expected at most 28",
        ),
        (
            "85f-16x16",
            34,
            "own",
            "the array takes 98,272 logic cells at least, of 83,640; expected at most 32",
        ),
    ],
)
def test_an_array_that_is_too_large_is_refused_at_once(preset, n, family, message):
    board, package = open_board("ulx3s-85f"), open_core("opentpu")
    with pytest.raises(ParameterError) as stop:
        board.make_soc(package=package, preset=preset, params={"n": n}, family=family)
    assert str(stop.value) == (
        f"opentpu {preset} cannot be built for ulx3s-85f: parameter n = {n}: {message}"
    )


def test_every_fpga_has_a_capacity():
    assert {open_board(name).fpga for name in board_names()} <= set(CAPACITIES) < set(FPGAS)


def test_the_default_preset_has_room():
    """Of every core on every board, but for a few."""
    full = {
        (board.name, isa)
        for board in map(open_board, board_names())
        for isa in CORES
        if (isa, board.preset_for(open_core(isa))) in board.too_large
    }
    assert full == WITHOUT


def test_what_was_built_is_said():
    """Cells of the matrix that did not fit are known to their boards, and none that has been built
    is."""
    for cell in read().values():
        known, without = (
            (cell["isa"], cell["preset"]) in open_board(cell["board"]).too_large,
            cell["state"].startswith("does not fit"),
        )
        assert known == without, (cell["board"], cell["isa"], cell["preset"], cell["state"])


@pytest.mark.parametrize("name", board_names())
def test_what_is_said_to_have_no_room_exists(name):
    board = open_board(name)
    for (isa, preset), needs in board.too_large.items():
        assert preset in board.presets(open_core(isa))
        for lack in needs.split(", "):
            needed, there = re.fullmatch(
                r"([\d,]+) of ([\d,]+) (?:logic cells|block RAMs|DSPs|single-port RAMs)", lack
            ).groups()
            assert int(needed.replace(",", "")) > int(there.replace(",", ""))


def test_no_room_is_told_before_the_synthesis(tmp_path, monkeypatch):
    board = open_board("icebreaker")
    small = replace(board, too_large={("opu", "up5k"): "31 of 30 block RAMs"})
    monkeypatch.setattr("quintet.boards.open_board", lambda name: small)
    with pytest.raises(
        BuildError, match="^opu does not fit icebreaker: its preset up5k needs 31 of 30 block RAMs$"
    ):
        build("icebreaker", "opu", dir=tmp_path / "b")
    assert not (tmp_path / "b").exists()


def test_presets_with_room_come_first():
    board, package = open_board("ulx3s-85f"), open_core("opu")
    presets = board.presets(package)
    full = replace(board, too_large={("opu", presets[0]): "9 of 8 DSPs"})
    assert (
        full.presets(package) == [*presets[1:], presets[0]]
        and full.preset_for(package) == presets[1]
    )


def test_presets_for_networks_are_routed():
    found = {board.name: board.network_presets for board in map(open_board, board_names())}
    assert {name: presets for name, presets in found.items() if presets} == {
        "ulx3s-25f": {"opentpu": "25f-8x8-fast"},
        "ulx3s-45f": {"cherry": "45f-fast", "opentpu": "45f-8x8-fast", "opu": "45f-fast"},
        "ulx3s-85f": {"opentpu": "85f-16x16-fast", "opu": "85f-p256-fast"},
    }
    for name, presets in found.items():
        for isa, preset in presets.items():
            assert preset in open_board(name).presets(open_core(isa))
            assert reached_clock(name, isa, preset) is not None
