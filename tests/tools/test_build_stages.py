# SPDX-License-Identifier: BSD-2-Clause
"""Stages of a build, from what its tools have written so far."""

import json

import pytest

from quintet.tools.build import stages
from quintet.tools.build.stages import Stage, Watcher, expected_seconds, stage_of

YOSYS = "1. Executing Verilog-2005 frontend.\n\n2.1. Executing HIERARCHY pass (managing design).\n"
PACKING = "Info: Logic utilisation before packing:\nInfo: Packing IOs..\n"
PLACING = PACKING + "Info: Creating initial analytic placement for 31617 cells\n"
SOLVED = "Info:     at iteration #7, type ALL: wirelen solved = 97382, spread = 591861\n"
REFINED = "Info:   at iteration #5: temp = 0.000000, timing cost = 1094, wirelen = 343388\n"
ROUTING = PLACING + SOLVED + "Info: Routing globals...\nInfo: Running router2...\n"
ROUTED = "Info:     iter=12 wires=698125 overused=3685 overuse=3707 archfail=NA\n"
ARCS = "Info:       1000 |      137        862 |  137   862 |      4321|       0.42       0.42|\n"


@pytest.mark.parametrize(
    "log, stage",
    [
        ("", Stage("synthesis", "HIERARCHY")),
        (PACKING, Stage("packing")),
        (PLACING, Stage("placing")),
        (PLACING + SOLVED, Stage("placing", "iteration 7")),
        (PLACING + SOLVED + REFINED, Stage("placing", "refinement, iteration 5")),
        (ROUTING, Stage("routing")),
        (ROUTING + ROUTED, Stage("routing", "iteration 12, 3,685 wires used twice")),
        (ROUTING + ARCS, Stage("routing", "4,321 arcs left")),
        (ROUTING + ROUTED + "Info: Routing complete.\n", Stage("timing and bitstream")),
        # The lines that began a stage lie far behind.
        (ROUTING + 2000 * ROUTED, Stage("routing", "iteration 12, 3,685 wires used twice")),
    ],
)
def test_stage(log, stage, tmp_path):
    (tmp_path / "top.rpt").write_text(YOSYS)
    if log:
        (tmp_path / "top.tim").write_text(log)
    assert stage_of(tmp_path) == stage


def test_folder_without_logs(tmp_path):
    assert stage_of(tmp_path) == Stage("synthesis")


def test_each_stage_is_told_once(tmp_path):
    told, details = [], []
    watcher = Watcher(tmp_path, told.append, lambda name, text: details.append((name, text)))
    for log in (None, PACKING, PACKING, ROUTING + ROUTED):
        if log:
            (tmp_path / "top.tim").write_text(log)
        watcher.look()
    assert told == ["synthesis", "packing (synthesis: 0 s)", "routing (packing: 0 s)"]
    assert details[-1] == ("routing", "iteration 12, 3,685 wires used twice")


def test_expected_seconds(tmp_path, monkeypatch):
    cells = {
        "b/opu/p/1": {"seed": 1, "seconds": 60.0},
        "b/opu/p/2": {"seed": 2, "seconds": 90.0},
        "b/opu/q/1": {"seed": 1},
    }
    (tmp_path / "measured.json").write_text(json.dumps({"cells": cells}))
    monkeypatch.setattr(stages, "_MEASURED", tmp_path / "measured.json")
    assert expected_seconds("b", "opu", "p", 1) == 60.0
    assert expected_seconds("b", "opu", "p", 7) == 90.0
    assert expected_seconds("b", "opu", "q", 1) is None
    assert expected_seconds("b", "pim", "p", 1) is None


def test_shipped_table_has_seconds():
    assert expected_seconds("icebreaker", "opentpu", "up5k-4x4", 1) > 10
