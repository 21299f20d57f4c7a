# SPDX-License-Identifier: BSD-2-Clause
"""Cells of a build by unit: units of a path, and the count of a netlist that yosys wrote."""

import json

import pytest

from quintet.boards import open_board
from quintet.gateware.cores import open_core
from quintet.tools.build.area import area, unit_of
from quintet.tools.build.bitstream import synthesise


@pytest.mark.parametrize(
    "path, unit",
    [
        ("soc.core.engine.compute.row_0", "core.engine.compute"),
        ("soc.core.engine", "core.engine"),
        ("soc.core.control.prescalers", "core.control"),
        ("soc.link.receiver.buffer", "link"),
        ("soc", "soc"),
        ("uart.transmitter", "uart"),
        ("others", "others"),
    ],
)
def test_units(path, unit):
    assert unit_of(path) == unit


def test_no_netlist_no_rows(tmp_path):
    assert area(tmp_path / "top.json") == []


@pytest.mark.parametrize(
    "family, types",
    [
        (
            "ice40",
            {
                "luts": ("SB_LUT4",),
                "ffs": ("SB_DFF",),
                "brams": ("SB_RAM40_4K",),
                "dsps": ("SB_MAC16",),
                "sprams": ("SB_SPRAM256KA",),
            },
        ),
        (
            "ecp5",
            {"ffs": ("TRELLIS_FF",), "brams": ("DP16KD", "PDPW16KD"), "dsps": ("MULT18X18D",)},
        ),
    ],
)
def test_units_add_up_to_the_netlist(family, types, tmp_path):
    """Every cell of a whole SoC is counted once, and the core's units are there by name."""
    board = open_board("icebreaker" if family == "ice40" else "ulx3s-85f")
    soc = board.make_soc(
        package=open_core("opentpu"), preset="up5k-4x4" if family == "ice40" else "sim-plain"
    )
    cells = synthesise(soc, family, tmp_path)
    rows = area(tmp_path / "top.json")
    for kind, names in types.items():
        assert sum(row[kind] for row in rows) == sum(
            count for cell, count in cells.items() if cell.startswith(names)
        ), kind
    units = {row["unit"]: row for row in rows}
    assert any(unit.startswith("core.engine.") for unit in units) and {
        "core.control",
        "link",
    } <= set(units), sorted(units)
    assert [row["luts"] for row in rows] == sorted((row["luts"] for row in rows), reverse=True)


def test_names_with_signs_of_their_own(tmp_path):
    cells = {
        'a.b"c': "$scopeinfo",
        'a.b"c.x_LUT4_Z': "LUT4",
        "q": "CCU2C",
        "a": "$scopeinfo",
        "a.z": "SB_DFFESR",
    }
    whole = {
        "creator": "x",
        "modules": {
            "top": {
                "attributes": {"top": "1"},
                "ports": {"clk": {"direction": "input"}},
                "cells": {
                    name: {
                        "hide_name": 0,
                        "type": kind,
                        "parameters": {"TYPE": "module"},
                        "attributes": {},
                    }
                    for name, kind in cells.items()
                },
                "netnames": {"type": {"hide_name": 0}},
            }
        },
    }
    (tmp_path / "top.json").write_text(json.dumps(whole, indent=2))
    assert [(row["unit"], row["luts"], row["ffs"]) for row in area(tmp_path / "top.json")] == [
        ("others", 2, 0),
        ("a", 1, 1),
    ]
