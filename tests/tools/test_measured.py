# SPDX-License-Identifier: BSD-2-Clause
"""Tables of measured builds: import of cells, their rows, and that the documents are current."""

import json
from pathlib import Path

import pytest

from quintet.boards import board_names, open_board
from quintet.gateware.cores import open_core
from quintet.tools.build.matrix import Cell
from quintet.tools.errors import InputError
from quintet.tools.pages.builds import mark, mark_stale, read, take_over
from quintet.tools.pages.measured import mapping_rows, page, rows

DOCS = Path(__file__).resolve().parents[2] / "docs"


def result(key, **values):
    cell = dict(zip(("board", "isa", "preset", "seed", "link"), key.split("/"), strict=False))
    return {**cell, "seed": int(cell["seed"]), "clocks": {}, "state": "built", **values}


def cells(*results):
    return {f"b/x/p/{r['seed']}": r for r in results}


def test_marks():
    fast, slow = (
        result(f"b/x/p/{seed}", clock_asked_mhz=80.0, clock_reached_mhz=reached)
        for seed, reached in ((2, 81.25), (1, 79.0))
    )
    assert mark(cells(fast), "b", "x", "p") == "81.2 MHz" and mark(cells(fast), "b", "x", "q") == ""
    assert mark(cells(fast, slow), "b", "x", "p") == "79.0, 81.2 of 80 MHz"
    late = {**fast, "clocks": {"array": {"asked_mhz": 150.0, "reached_mhz": 99.5}}}
    assert mark(cells(late), "b", "x", "p") == "81.2 MHz; array 99.5 of 150"
    assert (
        mark(cells(result("b/x/p/1", state="does not fit: needs 9 of 8 DSPs")), "b", "x", "p")
        == "too large"
    )
    assert mark(cells(result("b/x/p/1", state="failed: no way")), "b", "x", "p") == "not routed"
    # Another link than the board's own does not count.
    assert mark({"b/x/p/1/usb": fast}, "b", "x", "p") == ""


def test_rows():
    table = list(
        rows(
            {
                "1": result(
                    "b/opu/p/1",
                    clock_asked_mhz=24.0,
                    clock_reached_mhz=25.0,
                    luts=5012,
                    ffs=1,
                    dsps=8,
                    brams=30,
                    seconds=9.0,
                    date="2026-11-22",
                    link="usb",
                    clocks={"usb_io": {"asked_mhz": 48.0, "reached_mhz": 56.6}},
                ),
                "2": result("b/opu/q/1", state="failed: a | b", router="router2"),
                "3": result(
                    "b/opu/r/1", state="failed: c", date="2026-11-22", commit="04d304a+", stale=True
                ),
            }
        )
    )
    assert table[:2] == ["### OPU", ""]
    assert table[4] == (
        "| `b` over USB, p, seed 1 | 25.0 of 24, usb_io 56.6 of 48 | 5,012 | 1 | 8, 30 | 9.0 "
        "| 2026-11-22 |"
    )
    assert table[5] == "| `b`, q, seed 1 | by router2, failed: a / b |  |  |  |  |  |"
    assert table[6] == "| `b`, r, seed 1 | failed: c |  |  |  |  | 2026-11-22 (04d304a+), stale |"
    assert len({line.count("|") for line in table[2:7]}) == 1 and table[7:] == [""]


def test_a_core_has_a_table():
    table = list(rows({"1": result("b/pim/p/1"), "2": result("a/cherry/p/1")}))
    assert [line for line in table if line.startswith("#")] == ["### Cherry", "### PIM"]


def test_builds_with_a_mapping_have_a_table_of_their_own():
    own = result("icebreaker/opu/up5k/1", clock_asked_mhz=24.0, clock_reached_mhz=24.48, luts=5012)
    table = {
        "icebreaker/opu/up5k/1": own,
        "icebreaker/opu/up5k/1/abc9": {
            **own,
            "mapping": "abc9",
            "luts": 4987,
            "clocks": {"array": {"asked_mhz": 48.0, "reached_mhz": 36.0}},
        },
        "icebreaker/opu/up5k/1/dff": result(
            "icebreaker/opu/up5k/1", mapping="dff", luts=5400, state="does not fit: needs 5,400"
        ),
    }
    assert sum("seed 1" in line for line in rows(table)) == 1
    assert list(mapping_rows(table)) == [
        "### iCE40",
        "",
        "| build | the core's own | plain | abc9 | abc2 | dff | retime |",
        "|---|---|---|---|---|---|---|",
        "| `icebreaker/opu/up5k/1` | 5,012, 102 % |  | 4,987, 75 % |  | 5,400, too large |  |",
        "",
    ]


def test_staleness_of_a_build_with_a_mapping_is_asked_of_that_build():
    asked = []
    for key, ending in (("b/x/p/1/abc9", {}), ("b/x/p/1/usb/abc9", {"link": "usb"})):
        cell = {**result("b/x/p/1"), "mapping": "abc9", "design": "d", **ending}
        mark_stale({key: cell}, "today", lambda of: asked.append(of) or "d")
    assert asked == [
        Cell("b", "x", "p", 1, None, "abc9"),
        Cell("b", "x", "p", 1, "usb", "abc9"),
    ]


def test_taken_over(tmp_path):
    old, new = (
        result("b/x/p/1", luts=1),
        result(
            "a/x/p/1",
            luts=2,
            digest="d",
            date="2026-11-22",
            params={},
            clocks={"main": {}, "array": {}, "netlist.clk": {}},
        ),
    )
    (tmp_path / "matrix.json").write_text(json.dumps({"cells": {"a/x/p/1": new}}))
    known = take_over({"b/x/p/1": old}, tmp_path)
    assert list(known) == ["a/x/p/1", "b/x/p/1"]
    assert known["a/x/p/1"] == {
        "board": "a",
        "isa": "x",
        "preset": "p",
        "seed": 1,
        "luts": 2,
        "state": "built",
        "clocks": {"array": {}},
        "sources": "d",
        "date": "2026-11-22",
    }
    with pytest.raises(InputError, match="no such table of quintet matrix"):
        take_over({}, tmp_path / "elsewhere")


def test_documents_are_current():
    text = (DOCS / "performance" / "matrix.md").read_text()
    assert page(text, read()) == text, "run python -m quintet.tools.pages.measured"


def test_cells_exist():
    """No row of a board, core or preset that was renamed since."""
    for key, cell in read().items():
        assert cell["board"] in board_names() and cell["preset"] in open_core(
            cell["isa"]
        ).params.SPACE.presets_for(open_board(cell["board"]).fpga)
        assert key in (
            Cell(
                cell["board"],
                cell["isa"],
                cell["preset"],
                cell["seed"],
                link,
                cell.get("mapping"),
            ).key
            for link in (None, "usb", "uartbone")
        )


def test_rows_that_are_older_than_their_sources_are_marked():
    kinds = {
        "a/x/p/1": {"sources": "before", "design": "same"},
        "a/x/p/2": {"sources": "before", "design": "another", "stale": True},
        "a/x/p/1/usb": {"sources": "before", "link": "usb"},
        "b/x/p/1": {"sources": "now", "stale": True},
    }
    cells = {}
    for key, cell in kinds.items():
        board, isa, preset, seed, *_ = key.split("/")
        cells[key] = {"board": board, "isa": isa, "preset": preset, "seed": int(seed), **cell}
    asked = []

    def design(cell):
        asked.append(cell.key)
        return "same"

    found = mark_stale(cells, "now", design)
    assert [key for key in found if found[key].get("stale")] == ["a/x/p/2", "a/x/p/1/usb"]
    assert asked == ["a/x/p/1", "a/x/p/2"]


def test_the_page_says_which_rows_are_stale():
    cell = read()["blackice-ii/opentpu/hx8k-4x4/1"]
    date = cell["date"]
    for stale, text in ((True, f"| {date}, stale |"), (False, f"| {date} |")):
        *_, row, _ = rows({"k": {**cell, "stale": stale}})
        assert row.endswith(text)
