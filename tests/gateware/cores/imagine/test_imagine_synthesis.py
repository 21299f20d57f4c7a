# SPDX-License-Identifier: BSD-2-Clause
"""Requirements of the core on synthesis."""

import json
import re

import pytest
from amaranth.back import rtlil

from quintet.boards import open_board
from quintet.gateware.cores import open_core
from quintet.gateware.cores.imagine.engine.bounds import Bounds
from quintet.gateware.cores.imagine.engine.core import ArrayEngine
from quintet.gateware.cores.imagine.engine.issue import Issue
from quintet.gateware.cores.imagine.engine.mapping import Mapping
from quintet.gateware.shell.engine import Engine
from quintet.tools.build.bitstream import _scripts, _synthesis, synthesise


@pytest.mark.parametrize(("board", "preset"), [("ulx3s-25f", "25f"), ("icebreaker", "up5k")])
def test_fast_modules_are_mapped_apart(board, preset):
    room, target = open_core("imagine"), open_board(board)
    scripts = _scripts(ArrayEngine, target, room.params.SPACE.resolve(preset))
    for name in ArrayEngine.synth_apart[target.family]:
        assert (
            f"setattr -mod -set keep_hierarchy 1 *.engine.{name}\n"
            in scripts["script_after_read"] + "\n"
        )
    assert "flatten" in scripts["script_after_synth"]
    assert "script_after_synth" not in _scripts(Engine, target, {})


def test_few_enables_on_an_ice40():
    assert (
        _synthesis(ArrayEngine, "ice40") == "-dffe_min_ce_use 8"
        and _synthesis(ArrayEngine, "ecp5") == ""
    )


@pytest.mark.parametrize(
    ("preset", "family", "memories"),
    [
        ("up5k", "ice40", {"rest_disjoint": (96, True)}),
        ("hx8k", "ice40", {"rest_disjoint": (64, True), "further_disjoint": (32, False)}),
        ("25f", "ecp5", {"rest_disjoint": (102, False)}),
    ],
)
def test_what_waits_lies_in_the_block_rams_that_are_left(preset, family, memories):
    text = rtlil.convert(
        Issue(mapping=Mapping.of(open_core("imagine").params.SPACE.resolve(preset)), family=family)
    )
    found = re.findall(r"((?: *attribute .*\n)*) *memory width (\d+) size 4 \\(\S+)\n", text)
    assert {
        name: (int(width), '\\ram_style "block"' in marks) for marks, width, name in found
    } == memories


def test_no_carry_of_an_ice40_takes_one_net_twice(tmp_path, monkeypatch):
    """nextpnr's router1 does not end there."""
    monkeypatch.chdir(tmp_path)
    synthesise(Bounds(bits=18, rows=4), "ice40", "area")
    cells = [
        cell
        for module in json.loads((tmp_path / "area" / "top.json").read_text())["modules"].values()
        for cell in module["cells"].values()
    ]
    carries = [cell["connections"] for cell in cells if cell["type"] == "SB_CARRY"]
    assert len(carries) >= 18
    assert not [c for c in carries if c["I0"] == c["I1"] and isinstance(c["I0"][0], int)]


@pytest.mark.parametrize("preset", ["up5k", "hx8k"])
@pytest.mark.parametrize("memory_size", [1 << 17, 1 << 19, 1 << 23])
def test_what_costs_cycles_is_the_same_without_a_family(preset, memory_size):
    """A virtual board, which has no family, fetches in as many bursts as an iCE40, and its
    shift-outs are followed by as many entries."""
    params = open_core("imagine").params.SPACE.resolve(preset)
    fpga, twin = (
        ArrayEngine(params=params, beat_bytes=4, memory_size=memory_size, family=family)
        for family in ("ice40", None)
    )
    assert [(e.fetch_lean, e.place_parts) for e in (fpga, twin)] == [
        (True, 1 if memory_size < 1 << 18 else 2)
    ] * 2
