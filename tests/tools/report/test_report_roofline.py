# SPDX-License-Identifier: BSD-2-Clause
"""Roofs, points below them, and the sentences about them."""

import pytest

from quintet.tools.report import sections
from quintet.tools.report.roofline import Point, Roof, above, describe, merged_layers, roof_lines
from quintet.tools.report.sections import in_classes, roof_of, size_text
from quintet.tools.targets.ceilings import moved
from tests.tools.report.samples import sample

ROOF = Roof("opu", 128, 2.0)


def test_a_roof_has_a_slope_and_a_level():
    assert ROOF.ridge == 64 and ROOF.at(16) == 32 and ROOF.at(64) == 128 and ROOF.at(1000) == 128
    level = Roof("opu", 128, None)
    assert (
        level.ridge is None
        and level.at(0.001) == 128
        and level.bound(Point("a", "job", 1, 1, 1)) == ""
    )


def test_a_point_says_what_it_did():
    point = Point("the job", "job", 32_000, 1000, 1000)
    assert point.rate == 32 and point.intensity == 32 and point.share(ROOF) == 0.5 and point.shown
    assert not Point("nothing", "job", 0, 1000, 1000).shown
    assert describe(ROOF, point) == (
        "This build does at most 128 MACs a cycle and moves at most 2 bytes of main memory in "
        "one; below 64 MACs a byte memory is the bound, above it the array. "
        "The job: 32 MACs a cycle at 32 MACs a byte: 50 % of what is possible there, bound by "
        "memory."
    )
    assert (
        describe(Roof("x", 0.1818, None))
        == "This build does at most 0.1818 MACs a cycle; what its main memory moves is not known."
    )
    assert describe(Roof("pim", 128, 2.0, "weights that LOAD reads")).endswith(
        "Its bytes are without weights that LOAD reads: what moves them in every run belongs "
        "further left."
    )
    assert "bound by the array" in describe(ROOF, Point("it", "job", 100_000, 1000, 1000))


def test_a_build_with_two_memories_has_two_slopes():
    roof = Roof("fast", 256, 2.0, on_chip=8.0)
    assert (roof.ridge, roof.near_ridge) == (128, 32)
    assert roof.at(16) == 128 and roof.at(32) == roof.at(1000) == 256
    bounds = [roof.bound(Point("it", "job", macs, 1, 1)) for macs in (16, 32, 127, 128)]
    assert bounds == ["memory", "memory off chip", "memory off chip", "the array"]
    assert roof.corners(1, 1000) == [
        (1000, 256),
        (128, 256),
        (1, 2),
        (1, 8),
        (32, 256),
        (1000, 256),
    ]
    assert describe(roof) == (
        "This build does at most 256 MACs a cycle and moves at most 2 bytes of main memory in "
        "one; below 128 MACs a byte memory is the bound, above it the array. The part of main "
        "memory on chip moves 8: of data there, memory is the bound below 32 MACs a byte."
    )
    rows = roof_lines([roof, ROOF], [])
    assert [row["order"] for row in rows] == list(range(9))
    assert sections.roofline([(roof, []), (ROOF, [])]).count("2, on chip 8") == 1


def test_a_part_above_the_roof_is_told():
    whole, part = (
        Point("all", "job", 32_000, 1000, 1000),
        Point("conv2", "layer", 32_000, 200, 1000),
    )
    assert above(ROOF, [whole]) == "" and above(ROOF, [whole, part]).startswith(
        "Above the roof: conv2. Part of that work was done beside"
    )


def test_lines_reach_past_points_and_ridge():
    rows = roof_lines([ROOF, Roof("small", 1, 4.0)], [Point("it", "job", 10, 10, 10)])
    assert {row["build"] for row in rows} == {"opu", "small"} and len(rows) == 6
    assert min(row["x"] for row in rows) < 0.25 and max(row["x"] for row in rows) > 64
    for row in rows:
        roof = ROOF if row["build"] == "opu" else Roof("small", 1, 4.0)
        assert row["y"] == roof.at(row["x"])
    assert [row["y"] for row in roof_lines([Roof("x", 5, None)], [])] == [5, 5]


def test_layers_that_were_measured_together_are_one_point():
    rows = sample("infer")["layers"]
    one, two = merged_layers(rows, {"byte_counters": ["bytes_read"]})
    assert (one.name, one.macs, one.cycles, one.bytes) == ("conv1 + conv2", 29_000, 740, 900) and (
        two.name,
        two.cycles,
    ) == ("dense", 260)
    estimated = merged_layers(sample("plan")["layers"], None)
    assert [(point.name, point.cycles, point.bytes) for point in estimated] == [
        ("conv1", 200, 300),
        ("conv2", 500, 400),
        ("dense", 210, 300),
    ]


def test_bytes_are_those_of_the_cores_own_counters():
    counters = {"bytes_read": 1, "bytes_written": 2, "code_bytes": 40}
    assert (
        moved(counters, {"byte_counters": ["bytes_read", "code_bytes"]}) == 41
        and moved(counters, None) == 3
        and moved({}, {}) == 0
    )


@pytest.mark.parametrize("ceilings", [None, {}, {"macs": None}, {"macs": 0}])
def test_what_is_not_known_has_no_roof(ceilings):
    assert roof_of("x", ceilings) is None


def test_classes_add_up():
    rows = in_classes("it", {"work": 60, "stall_fetch": -1, "stall_operand": 40, "cycles": 99})
    assert [(row["class"], row["share"]) for row in rows] == [("work", 0.6), ("operands", 0.4)]
    assert in_classes("it", {"stall_fetch": 3}) == [] and in_classes("it", {"work": 0}) == []


def test_sizes_as_text():
    assert [size_text(size) for size in (100, 2048, 3 << 20)] == ["100 bytes", "2 KiB", "3 MiB"]
