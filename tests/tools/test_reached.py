# SPDX-License-Identifier: BSD-2-Clause
"""Clocks for times: those that builds of a preset have reached, and none where no build has."""

import re
from dataclasses import replace

import pytest

from quintet.gateware.cores import open_core
from quintet.tools.build.reached import TimeClock, reached_clock, time_clock
from quintet.tools.compiler.target_build import target_build
from quintet.tools.pages.builds import read
from quintet.tools.targets.base import TargetInfo


def cell(seed, reached, asked=80.0, **more):
    return {
        "seed": seed,
        "clock_asked_mhz": asked,
        "clock_reached_mhz": reached,
        "clocks": {},
        "date": f"2026-11-2{seed}",
        **more,
    }


def test_the_slowest_seed_counts():
    cells = {"b/x/p/1": cell(1, 97.0), "b/x/p/2": cell(2, 90.5, 75.0, router="router2")}
    found = reached_clock("b", "x", "p", cells=cells)
    assert found.hz == 90.5e6 and found.seeds == (1, 2)
    assert str(found) == (
        "90.5 MHz by place and route, 75 MHz asked by router2, seeds 1, 2, 2026-11-22"
    ).replace("75 MHz", "75")


def test_a_core_with_a_clock_of_its_own_counts_by_the_share_that_it_reached():
    late = {
        "array": {"asked_mhz": 48.0, "reached_mhz": 36.0},
        "usb": {"asked_mhz": 12, "reached_mhz": 1},
    }
    found = reached_clock("b", "x", "p", cells={"b/x/p/1": cell(1, 30.0, 24.0, clocks=late)})
    assert found.hz == 18e6


@pytest.mark.parametrize(
    "key, built",
    [
        ("b/x/q/1", cell(1, 80.0)),
        ("b/x/p/1/usb", cell(1, 80.0)),
        ("b/x/p/1", {"seed": 1, "state": "failed: no way", "clocks": {}}),
    ],
    ids=["another preset", "another link", "never routed"],
)
def test_what_was_not_routed_has_no_clock(key, built):
    assert reached_clock("b", "x", "p", cells={key: built}) is None
    if key.endswith("usb"):
        assert reached_clock("b", "x", "p", "usb", {key: built}).hz == 80e6


def test_every_measured_build_has_a_date():
    assert all(re.fullmatch(r"20\d\d-\d\d-\d\d", cell["date"]) for cell in read().values())


@pytest.mark.parametrize(
    "isa, preset", [("opentpu", "85f-8x8"), ("pim", "85f"), ("imagine", "85f")]
)
def test_a_virtual_board_takes_what_was_reached(isa, preset):
    build = target_build(f"sim:ulx3s-85f/{isa}?preset={preset}")
    reached = reached_clock("ulx3s-85f", isa, preset)
    assert time_clock(build) == TimeClock(min(build.clock_hz, reached.hz), str(reached))


@pytest.mark.parametrize(
    "name, note",
    [
        (
            "sim:ulx3s-45f/opu?preset=25f",
            "no build of 25f has been routed for ulx3s-45f",
        ),
        (
            "sim:ulx3s-85f/opentpu?preset=85f-8x8&ub_rows=4096",
            "no build with these parameters has been routed",
        ),
        (
            "sim:ulx3s-85f/opentpu?preset=85f-8x8&on_chip=65536",
            "no build with these parameters has been routed",
        ),
        ("model:opu", ""),
    ],
)
def test_a_build_that_was_never_routed_has_no_time(name, note):
    assert time_clock(target_build(name)) == TimeClock(None, note)


def test_a_board_has_its_own_clock():
    space = open_core("opu").params.SPACE
    info = TargetInfo(
        kind="board",
        isa="opu",
        params=space.resolve("25f"),
        memory_size=0,
        preset="25f",
        board="ulx3s-45f",
        clock_hz=50_000_000,
    )
    assert time_clock(info) == TimeClock(50_000_000, "the board's clock")
    assert time_clock(replace(info, kind="sim")).hz is None
