# SPDX-License-Identifier: BSD-2-Clause
"""``quintet measure``: what there is, what is refused, and every table in a small configuration."""

import pytest

from quintet.gateware.cores import core_names
from quintet.tools.measure import Choice, Measure, Row
from quintet.tools.measure.catalogue import find, measures, topics


def figures(quintet, *args):
    """Values of a table that misses no bound, by their names."""
    ran = quintet("measure", *args, "--json")
    assert ran.code == 0 and not ran.json["missed"], ran.err
    return {row["what"]: row["value"] for rows in ran.json["tables"].values() for row in rows}


def test_list(quintet):
    ran = quintet("measure", "--list", "--json")
    assert ran.code == 0 and list(ran.json["measures"]) == [
        name for topic in topics() for name in measures(topic)
    ]
    assert set(core_names()) < set(topics())
    one = quintet("measure", "opu/layers", "--list")
    assert "p128" in one.out and "opu/workloads" not in one.out


def test_topics_are_folders():
    assert list(find(["pim"])) == list(measures("pim")) and list(find(["sdram", "pim/area"])) == [
        "sdram/patterns",
        "pim/area",
    ]


@pytest.mark.parametrize(
    "args, message",
    [
        ((), "WHAT is missing (quintet measure --list shows what there is)"),
        (("opo",), "measure 'opo': did you mean opu?"),
        (("opu/layer",), "measure 'opu/layer': did you mean opu/layers?"),
        (("xyzzy",), "measure 'xyzzy': expected cherry, imagine, link, opentpu,"),
        (("opu/layers", "--preset", "p46"), "--preset of opu/layers 'p46': did you mean p64"),
        (("opu/layers", "--memory", "x"), "--memory of opu/layers 'x': expected ideal, sdram"),
        (("sdram", "--memory", "x"), "--memory x: sdram/patterns has no such choice"),
        (("opu/workloads", "--only", "W11"), "--only of opu/workloads 'W11': did you mean W1"),
        (("pim/files", "--set", "counts=3"), "--set of pim/files 'counts': did you mean count?"),
        (("pim/files", "--set", "count"), "--set count: expected name=value"),
        (("pim/files", "--set", "count=few"), "--set count=few: expected a whole number"),
        (("imagine/clock", "--set", "freq=high"), "--set freq=high: expected a number"),
        (("opu/layers", "--set", "a=1"), "--set a=1: opu/layers has no settings"),
        (("opu/layers", "-P", "a=1"), "-P a: opu/layers is measured on presets as they are"),
        (("pim/area", "-P", "a"), "-P a: expected name=value"),
        (("sdram", "--set", "part=W9825G7"), "--set part 'W9825G7': did you mean W9825G6"),
        (
            ("sdram", "--set", "mhz=sixty"),
            "--set mhz=sixty: expected numbers of MHz with blanks between",
        ),
    ],
)
def test_refused(quintet, args, message):
    ran = quintet("measure", *args)
    assert ran.code == 2 and ran.err.startswith(f"quintet: {message}"), ran.err


def test_missed_bounds(quintet, monkeypatch):
    def rows(choice):
        yield Row("fast", 9, "cycles", 10, more={"of": choice.settings["of"]})
        yield Row("slow", 11, "cycles", 10, more={"of": "b"})
        yield Row("rate", 1.234, "MB/s", 1.5, True)

    monkeypatch.setattr(
        "quintet.tools.measure.catalogue.find",
        lambda names: {"x/y": Measure("one", rows, settings={"of": "a"})},
    )
    ran = quintet("measure", "x")
    assert ran.code == 1
    assert ran.out.splitlines() == [
        "x/y: one",
        "",
        "| what | measured | unit | bound | of |",
        "|---|---|---|---|---|",
        "| fast | 9 | cycles | 10 | a |",
        "| slow | **11: missed** | cycles | 10 | b |",
        "| what | measured | unit | bound |",
        "|---|---|---|---|",
        "| rate | **1.23: missed** | MB/s | 1.50 |",
        "",
    ]
    ran = quintet("measure", "x", "--json")
    assert (
        ran.code == 1
        and ran.json["missed"]
        and [row["missed"] for row in ran.json["tables"]["x/y"]] == [False, True, True]
    )


def test_choice():
    measure = Measure("", None, ("a", "b"), ("b",), ("m", "n"), ("x", "y"), {"k": 1})
    assert Choice.of("t", measure) == Choice(("b",), ("m",), (), {"k": 1})
    assert Choice.of("t", measure, ["a"], ["n"], ["y"], ["k=2"]) == Choice(
        ("a",), ("n",), ("y",), {"k": 2}
    )
    assert Choice().takes("x") and not Choice(only=("y",)).takes("x")


# Small configurations: the builds are those of other tests. Figures are those of
# docs/performance/index.md where its builds are quick.


def test_opu(quintet):
    assert figures(quintet, "opu/workloads", "--preset", "sim", "--only", "W10") == {"W10": 2305}


def test_opentpu(quintet):
    assert figures(quintet, "opentpu/workloads", "--only", "W18") == {"W18": 168}


def test_opentpu_nops(quintet):
    found = figures(quintet, "opentpu/nops", "--only", "ulx3s-85f")
    assert found["ulx3s-85f"] == pytest.approx(7.11, abs=0.05)


def test_pim(quintet):
    found = figures(
        quintet, "pim/items", "--preset", "sim", "--only", "mvmul 1", "--only", "vavg 64"
    )
    assert found == {"mvmul 1": 1040, "vavg 64": 109}


@pytest.mark.long
def test_pim_streams(quintet):
    """A build of four cores, which takes the compiler minutes."""
    found = figures(quintet, "pim/streams", "--preset", "four", "--only", "B")
    assert 0 < found["B, dense"] < found["B"]


def test_pim_files(quintet):
    assert list(figures(quintet, "pim/files", "--set", "count=3000")) == [
        "disassemble",
        "assemble",
        "write .json",
        "import .json",
        "write .pim",
        "import .pim",
    ]


def test_imagine(quintet):
    found = figures(
        quintet, "imagine/acceptance", "--preset", "4x2", "--only", "worked job's kernel"
    )
    assert found == {"worked job's kernel": 693}


def test_imagine_cycles(quintet):
    found = figures(quintet, "imagine/cycles", "--preset", "tdp-4")
    assert found["GEMV and bias, first word"] == 132


def test_cherry(quintet):
    found = figures(quintet, "cherry/workloads", "--preset", "sim", "--only", "matmul 16")
    assert found == {"matmul 16": 722}


def test_cherry_simulated(quintet):
    assert figures(
        quintet, "cherry/simulated", "--preset", "85f-max", "--only", "row sum 64x64"
    ) == {"row sum 64x64": 310}


def test_sdram(quintet):
    found = figures(quintet, "sdram", "--only", "read", "--set", "mhz=80", "--set", "cycles=4000")
    assert found["sequential read"] == pytest.approx(98.5, abs=0.1)


def test_link(quintet):
    found = figures(quintet, "link", "--preset", "uart", "--set", "size=4096")
    assert found["UART, to the board"] > 95 and found["UART, back"] > 95


def test_virtual(quintet):
    found = figures(quintet, "virtual/speed", "--set", "cycles=40000", "--set", "pysim=20")
    assert len(found) == 2 and all(value > 0 for value in found.values())
