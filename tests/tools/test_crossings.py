# SPDX-License-Identifier: BSD-2-Clause
"""Paths between clocks: nextpnr's log is read, the report says them, and a build says so when one
is too long."""

import json

import pytest

from quintet.tools.build import bitstream as flow
from quintet.tools.build.crossings import crossings, late
from tests.support.stream_core import PACKAGE as STREAM

#: As nextpnr writes it: once after placing, once after routing. A main clock of 80 MHz, a core's
#: own of 160, one that only constraints know.
LOG = """\
Info: constraining clock net 'usb_clocks.usb_clock' to 12.00 MHz
Info:     Derived frequency constraint of 80.0 MHz for net soc.link.clk
Info:     Derived frequency constraint of 160.0 MHz for net soc.array_clk
Info: Max frequency for clock '$glbnet$soc.array_clk': 139.80 MHz (FAIL at 160.00 MHz)
Info: Max frequency for clock  '$glbnet$soc.link.clk': 67.80 MHz (FAIL at 80.00 MHz)

Info: Max delay <async>                       -> posedge $glbnet$soc.link.clk : 2.96 ns
Info: Max delay posedge $glbnet$soc.array_clk -> posedge $glbnet$soc.link.clk : 9.49 ns
Info: Max delay posedge $glbnet$soc.link.clk  -> posedge $glbnet$soc.array_clk: 1.40 ns
Info: Routing..
Info: Max frequency for clock '$glbnet$soc.array_clk': 176.09 MHz (PASS at 160.00 MHz)
Warning: Max frequency for clock  '$glbnet$soc.link.clk': 70.37 MHz (FAIL at 80.00 MHz)

Info: Max delay <async>                            -> posedge $glbnet$soc.link.clk : 2.25 ns
Info: Max delay posedge $glbnet$soc.array_clk      -> posedge $glbnet$soc.link.clk : 1.49 ns
Info: Max delay negedge $glbnet$soc.array_clk      -> posedge $glbnet$soc.link.clk : 2.51 ns
Info: Max delay posedge $glbnet$soc.link.clk       -> <async>                      : 16.39 ns
Info: Max delay posedge $glbnet$soc.link.clk       -> negedge $glbnet$soc.link.clk : 15.00 ns
Info: Max delay posedge $glbnet$soc.link.clk       -> posedge $glbnet$soc.array_clk: DELAY ns
Info: Max delay posedge usb_clocks.usb_clock       -> posedge $glbnet$soc.link.clk : 82.99 ns
"""
NAMES = {"soc.link.clk": "main", "soc.array_clk": "array"}


def log(delay="1.64"):
    return LOG.replace("DELAY", delay)


def test_the_last_word_on_each_pair_of_clocks():
    assert crossings(log(), NAMES) == [
        {"from": "array", "to": "main", "delay_ns": 2.51, "limit_ns": 6.25, "met": True},
        {"from": "main", "to": "array", "delay_ns": 1.64, "limit_ns": 12.5, "met": True},
        {
            "from": "usb_clocks.usb_clock",
            "to": "main",
            "delay_ns": 82.99,
            "limit_ns": 83.33,
            "met": True,
        },
    ]
    assert (
        crossings(
            "Info: Max delay <async> -> posedge clk: 1.00 ns\nInfo: Program finished normally.\n",
            {},
        )
        == []
    )


@pytest.mark.parametrize("delay, met", [("12.49", True), ("12.50", False), ("31.00", False)])
def test_a_period_of_the_clock_that_is_left_is_the_limit(delay, met):
    found = crossings(log(delay), NAMES)
    assert [each["met"] for each in found] == [True, met, True]
    assert late({"crossings": found}) == ([] if met else [found[1]]) and late({}) == []


def test_a_clock_of_no_known_frequency_meets_nothing():
    found = crossings("Info: Max delay posedge a -> posedge b: 0.10 ns\n", {})
    assert (
        found
        == [{"from": "a", "to": "b", "delay_ns": 0.1, "limit_ns": None, "met": False}]
        == late({"crossings": found})
    )


@pytest.fixture
def tools(monkeypatch):
    """A build whose tools write given results at once: a function of the delay from the
    main clock to the core's."""

    def make(delay):
        def runs(script, folder, environment, limit, look):
            (folder / "top.tim").write_text(
                log(delay).replace("70.37 MHz (FAIL", "90.37 MHz (PASS")
            )
            (folder / "top.report.json").write_text(
                json.dumps(
                    {
                        "utilization": {"TRELLIS_COMB": {"used": 9, "available": 24288}},
                        "critical_paths": [],
                    }
                )
            )
            (folder / "top.bit").write_bytes(b"bits")

        monkeypatch.setattr(flow, "run_script", runs)
        monkeypatch.setattr(flow, "tool_environment", lambda family: {})
        from quintet.gateware import cores

        monkeypatch.setattr(cores, "open_core", lambda name: STREAM)

    return make


def test_a_build_reports_clocks_crossings_and_margins(tools, tmp_path):
    tools("1.64")
    report = flow.build(
        "ulx3s-25f", "stream", preset="sim", params={"own_clock": True, "ratio": 8}, dir=tmp_path
    )
    assert report == json.loads((tmp_path / "report.json").read_text())
    assert report["crossings"] == crossings(log(), NAMES) and report["clock_met"]
    assert report["clock_asked_mhz"] == report["clock_real_mhz"] == 80
    assert set(report["sdram"]) == {
        "phase_degrees",
        "capture",
        "write_setup_ns",
        "write_hold_ns",
        "read_setup_ns",
        "read_hold_ns",
    }
    assert (
        report["sdram"]["capture"] == 1
        and min(value for name, value in report["sdram"].items() if name.endswith("_ns")) >= 1
    )


def test_a_report_tells_the_clock_asked_for_from_the_real_one(tools, tmp_path):
    tools("1.64")
    report = flow.build(
        "ulx3s-25f",
        "stream",
        preset="sim",
        params={"own_clock": True, "ratio": 8},
        dir=tmp_path,
        freq=79.3,
    )
    assert (
        report["clock_asked_mhz"]
        == 79.3
        != report["clock_real_mhz"]
        == pytest.approx(79.3, rel=0.01)
    )


@pytest.mark.parametrize("delay, code", [("1.64", 0), ("13.01", 1)])
def test_exit_code_of_a_crossing_that_is_too_long(tools, tmp_path, quintet, delay, code):
    tools(delay)
    ran = quintet(
        "build",
        "ulx3s-25f",
        "stream",
        "--preset",
        "sim",
        "-P",
        "own_clock=true",
        "-P",
        "ratio=8",
        "-o",
        tmp_path,
    )
    assert ran.code == code and ("TOO LONG" in ran.out) == bool(code) and "277.5" in ran.out
    assert "13.01" in ran.out if code else "1.64" in ran.out
