# SPDX-License-Identifier: BSD-2-Clause
"""One place and route on the smallest ECP5: a core with a clock of its own, SDRAM, link."""

import os

import pytest

from quintet.gateware import cores
from quintet.tools.build.bitstream import build
from tests.support.stream_core import PACKAGE


@pytest.mark.pnr
def test_25f_with_a_core_of_two_clocks(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cores, "open_core", lambda name: PACKAGE)
    report = build(
        "ulx3s-25f", "stream", preset="sim", params={"own_clock": True, "ratio": 5}, dir="build"
    )
    assert os.path.getsize(report["bitstream"]) > 50_000
    # Both clocks by our names, each with its constraint; the memory chip's beside them.
    clocks = report["clocks"]
    assert {"main", "array"} < set(clocks) and len(clocks) == 3
    assert clocks["main"]["asked_mhz"] == pytest.approx(80, rel=0.01)
    assert clocks["array"]["asked_mhz"] == pytest.approx(100, rel=0.01)
    assert clocks["main"]["reached_mhz"] == report["clock_reached_mhz"] >= 60
    assert clocks["array"]["reached_mhz"] >= 60
    assert report["clock_met"] == all(
        clocks[name]["reached_mhz"] >= clocks[name]["asked_mhz"] for name in ("main", "array")
    )
    # Paths between the two, and nothing else that crosses.
    assert {(c["from"], c["to"]) for c in report["crossings"]} == {
        ("main", "array"),
        ("array", "main"),
    }
    assert all(
        c["met"] and c["limit_ns"] == {"main": 12.5, "array": 10}[c["from"]]
        for c in report["crossings"]
    )
    assert report["luts"] < 6000 and report["dsps"] == 0 and report["brams"] >= 2
