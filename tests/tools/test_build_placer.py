# SPDX-License-Identifier: BSD-2-Clause
"""Placer and router of a build: what is asked for, what a preset names, and who places block
RAMs."""

from types import SimpleNamespace

import pytest

from quintet.boards import open_board
from quintet.gateware.cores import open_core
from quintet.gateware.isa.parameters import Preset
from quintet.tools.build.bitstream import _algorithms, build_plan, prepare


def soc_of(preset):
    space = SimpleNamespace(presets={preset.name: preset})
    package = SimpleNamespace(params=SimpleNamespace(SPACE=space))
    return SimpleNamespace(package=package, preset=preset.name)


@pytest.mark.parametrize(
    "given, found",
    [
        ((None, None), ("static", "router2")),
        (("heap", None), ("heap", "router2")),
        ((None, "router1"), ("static", "router1")),
    ],
    ids=["the preset's", "another placer", "another router"],
)
def test_a_preset_names_its_algorithms(given, found):
    preset = Preset("85f", placer="static", router="router2")
    assert _algorithms(soc_of(preset), *given) == found


def test_without_a_preset_they_are_the_usual_ones():
    usual = ("heap", "router1")
    assert _algorithms(soc_of(Preset("85f")), None, None) == usual
    assert _algorithms(SimpleNamespace(package=None, preset=None), None, None) == usual
    # Sizes of one's own have no preset.
    assert (
        _algorithms(SimpleNamespace(**{**vars(soc_of(Preset("85f"))), "preset": None}), None, None)
        == usual
    )


def test_the_static_placer_chooses_the_places_of_on_chip_memory():
    board, package = open_board("ulx3s-85f"), open_core("opentpu")
    soc, top = prepare(board, package, "85f-16x16-fast")
    usual, static = (build_plan(board, soc, top, placer=placer) for placer in ("heap", None))
    assert "--placer static" not in usual.files["build_top.sh"]
    # The preset's own algorithms.
    assert "--placer static --router router2" in static.files["build_top.sh"]
    for plan, placed in ((usual, True), (static, False)):
        script = plan.files["top.ys"]
        assert ("memory.low.ram.block_" in script) == placed
        assert "engine.matrix.array.multipliers.dsp_0" in script
