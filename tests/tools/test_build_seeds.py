# SPDX-License-Identifier: BSD-2-Clause
"""`quintet build --seeds`: one synthesis, a placement for each seed, the best is kept; by tools
that stand in for yosys, nextpnr and ecppack."""

import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from quintet.boards import open_board
from quintet.gateware import cores
from quintet.tools.build import bitstream as flow
from quintet.tools.build import cluster, seeds
from quintet.tools.build.bitstream import BuildError, TooLargeError
from quintet.tools.errors import InputError
from tests.support.stream_core import PACKAGE as STREAM

#: Main clock of each seed, MHz; seed 4 is not routed.
CLOCKS = {1: 71.5, 2: 90.25, 3: 84.0, 5: 79.99}
#: Asked of the board.
ASKED = 80

YOSYS = """
import sys
from pathlib import Path
if "--version" in sys.argv:
    sys.exit(print("Yosys 9.87 (git sha1 0)"))
with open("synthesised", "a") as log:
    log.write("once\\n")
Path("top.json").write_text('{"modules": {}}')
Path("top.rpt").write_text("1.1. Executing ABC9 pass.\\n")
"""
NEXTPNR = """
import json, sys
from pathlib import Path
if "--version" in sys.argv:
    sys.exit(print("nextpnr-ecp5 -- Next Generation Place and Route (Version nextpnr-0.7.2-1)"))
assert Path("top.json").read_text() and Path("top.lpf").read_text()
seed = int(sys.argv[sys.argv.index("--seed") + 1])
clock = CLOCKS.get(seed)
if clock is None:
    Path("top.tim").write_text("ERROR: wires are overused\\n")
    sys.exit(1)
word = "PASS" if clock >= 80 else "FAIL"
Path("top.tim").write_text(
    f"Info: Max frequency for clock 'soc.clk': {clock:.2f} MHz ({word} at 80.00 MHz)\\n")
Path("top.report.json").write_text(json.dumps(
    {"utilization": {"TRELLIS_COMB": {"used": 9, "available": 24288}}, "critical_paths": []}))
Path("top.config").write_text(f"seed {seed}")
"""
ECPPACK = """
from pathlib import Path
Path("top.bit").write_text(Path("top.config").read_text())
"""


@pytest.fixture
def tools(tmp_path, monkeypatch):
    """Stand-ins in a folder; the environment that finds them."""
    folder = tmp_path / "tools"
    folder.mkdir()
    for tool, text in (
        ("yosys", YOSYS),
        ("nextpnr-ecp5", f"CLOCKS = {CLOCKS}\n{NEXTPNR}"),
        ("yowasp-ecppack", ECPPACK),
    ):
        (folder / tool).write_text(f"#!{sys.executable}\n{text}")
        (folder / tool).chmod(0o755)
    environment = {
        **os.environ,
        "YOSYS": str(folder / "yosys"),
        "NEXTPNR_ECP5": str(folder / "nextpnr-ecp5"),
        "ECPPACK": str(folder / "yowasp-ecppack"),
        "AMARANTH_USE_YOSYS": "system",
    }
    monkeypatch.setattr(flow, "tool_environment", lambda family: environment)
    monkeypatch.setattr(cluster, "tool_environment", lambda family: environment)
    monkeypatch.setattr(cores, "open_core", lambda name: STREAM)
    return environment


def built(tmp_path, numbers, **options):
    said = []
    report = seeds.build_seeds(
        "ulx3s-25f",
        "stream",
        numbers,
        preset="sim",
        dir=tmp_path / "b",
        progress=said.append,
        **options,
    )
    return report, said


def test_the_best_of_several_seeds_is_kept(tools, tmp_path):
    report, said = built(tmp_path, [1, 2, 3, 4], jobs=2)
    folder = tmp_path / "b"
    assert report == json.loads((folder / "report.json").read_text())
    assert (report["seed"], report["clock_reached_mhz"]) == (2, CLOCKS[2])
    assert report["bitstream"] == str(folder / "top.bit")
    assert (folder / "top.bit").read_text() == "seed 2"
    assert report["distribution_mhz"] == {"worst": 71.5, "median": 84.0, "best": 90.25}
    assert report["jobs"] == 2
    assert [(row["seed"], row.get("clock_reached_mhz")) for row in report["seeds"]] == [
        (1, 71.5),
        (2, 90.25),
        (3, 84.0),
        (4, None),
    ]
    assert "wires are overused" in report["seeds"][3]["error"]
    assert "seed 2: 90.2 MHz (" in " ".join(said)
    assert any(text.startswith("4 seeds, 2 at a time (synthesis: ") for text in said)


def test_there_is_one_synthesis(tools, tmp_path):
    stages = []
    built(tmp_path, [1, 2, 3], detail=lambda stage, text: stages.append((stage, text)))
    assert stages[0][0] == "synthesis"
    placing = [text for stage, text in stages if stage == "placing and routing"]
    assert placing == [f"{done} of 3 seeds" for done in range(4)]
    assert (tmp_path / "b" / "synthesised").read_text() == "once\n"
    for seed in (1, 2, 3):
        own = tmp_path / "b" / f"seed-{seed}"
        assert json.loads((own / "report.json").read_text())["seed"] == seed
        assert (own / "top.bit").read_text() == f"seed {seed}"
        assert not (own / "synthesised").exists() and not (own / "top.json").exists()
    assert (tmp_path / "b" / "top.json").exists()


def test_a_seed_has_the_same_files_as_a_build_of_its_own(tools, tmp_path):
    report, _ = built(tmp_path, [5])
    alone = flow.build("ulx3s-25f", "stream", preset="sim", seed=5, dir=tmp_path / "alone")
    differ = {"seeds", "distribution_mhz", "jobs", "seconds", "bitstream"}
    assert {name: report[name] for name in report.keys() - differ} == {
        name: alone[name] for name in alone.keys() - differ
    }
    for name in ("top.il", "top.lpf", "top.tim", "top.bit", "top.config", "build_top.sh"):
        assert (tmp_path / "b" / name).read_text() == (tmp_path / "alone" / name).read_text()
    assert not report["clock_met"]


def test_a_missed_clock_gives_way_to_a_met_one():
    def report(met, clock, share):
        array = {"asked_mhz": 100.0, "reached_mhz": 100.0 * share}
        return {
            "clock_met": met,
            "clock_reached_mhz": clock,
            "clock_asked_mhz": 80.0,
            "clocks": {"array": array},
        }

    worse, better = report(False, 99.0, 0.9), report(True, 81.0, 1.2)
    assert seeds._quality(better) > seeds._quality(worse)
    # A core's own clock counts by its share.
    assert seeds._quality(report(True, 95.0, 1.0)) < seeds._quality(report(True, 90.0, 1.2))


def test_without_a_routed_seed_the_first_error_is_raised(tools, tmp_path):
    with pytest.raises(BuildError, match="wires are overused"):
        built(tmp_path, [4, 6])


def test_a_design_that_is_too_large_is_said_once(tools, tmp_path):
    log = "Info: TRELLIS_COMB: 99999/ 24288 411%\nERROR: no BELs remaining\n"

    def place(name, folder, job, limit):
        (folder / "top.tim").write_text(log)
        raise BuildError("no BELs remaining")

    with pytest.raises(TooLargeError, match="needs 99,999 of 24,288 logic cells"):
        built(tmp_path, [1, 2], jobs=1, place=place)
    assert json.loads((tmp_path / "b" / "report.json").read_text())["luts"] == 99_999


def test_seeds_that_are_none(tools, tmp_path):
    with pytest.raises(BuildError, match=r"seeds = \[\]: expected at least one seed"):
        built(tmp_path, [])


def test_the_tools_are_named(tools, tmp_path):
    report, _ = built(tmp_path, [2])
    assert report["tools"] == {
        "yosys": {"version": "9.87", "native": True},
        "nextpnr-ecp5": {"version": "0.7.2", "native": True},
    }


@pytest.mark.parametrize(
    "processors, pages, seeds_asked, jobs",
    [(8, 1 << 30, 4, 4), (2, 1 << 30, 4, 2), (8, 900_000, 8, 2), (8, 1, 8, 1)],
    ids=["one a seed", "one a processor", "as memory holds", "at least one"],
)
def test_placements_at_the_same_time(monkeypatch, processors, pages, seeds_asked, jobs):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(processors)), raising=False)
    values = {"SC_AVPHYS_PAGES": pages, "SC_PAGE_SIZE": 4096}
    monkeypatch.setattr(os, "sysconf", values.__getitem__)
    assert seeds.jobs_here("ecp5", seeds_asked) == jobs


def test_placements_on_a_cluster(tools, tmp_path, monkeypatch):
    """By a client that runs what is submitted here, in another folder."""

    class Client:
        def __init__(self, address, timeout):
            assert address == "tcp://somewhere:8786"

        def submit(self, function, *args, pure):
            assert pure is False
            return SimpleNamespace(result=lambda: function(*args))

    monkeypatch.setitem(sys.modules, "distributed", SimpleNamespace(Client=Client))
    monkeypatch.chdir(tmp_path)
    place = cluster.cluster_place("tcp://somewhere:8786")
    report, _ = built(tmp_path, [1, 3, 4], jobs=3, place=place)
    assert report["seed"] == 3 and "wires are overused" in report["seeds"][2]["error"]
    assert (tmp_path / "b" / "top.bit").read_text() == "seed 3"
    assert {path.name for path in Path(tmp_path).iterdir()} == {"b", "tools"}


def test_a_cluster_needs_dask(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InputError, match="--cluster needs Dask"):
        cluster.cluster_place("tcp://127.0.0.1:1")


@pytest.mark.parametrize(
    "options, message",
    [
        (("--seeds", "0"), "--seeds 0: expected 1 to 1,000"),
        (("--seeds", "1001"), "--seeds 1001: expected 1 to 1,000"),
        (("--seeds", "2", "--jobs", "0"), "--jobs 0: expected at least 1"),
        (("--jobs", "2"), "--jobs 2: expected --seeds, too"),
        (("--cluster", "tcp://a:1"), "--cluster tcp://a:1: expected --seeds, too"),
    ],
)
def test_options_that_are_refused(quintet, tmp_path, options, message):
    ran = quintet("build", "ulx3s-25f", "opentpu", *options, "-o", tmp_path / "b")
    assert ran.code == 2 and ran.err.strip() == f"quintet: {message}"
    assert not (tmp_path / "b").exists()


def test_the_command_shows_every_seed(quintet, tools, tmp_path):
    args = ("build", "ulx3s-25f", "stream", "--preset", "sim", "-o", tmp_path / "b")
    ran = quintet(*args, "--seed", "1", "--seeds", "4", "--jobs", "2")
    assert ran.code == 0, ran.err
    assert "main clock of 3 seeds: worst 71.50, median 84.00, best 90.25 MHz" in ran.out
    assert "tools: yosys 9.87 (native), nextpnr-ecp5 0.7.2 (native)" in ran.out
    assert "NOT REACHED" in ran.out and "wires are overused" in ran.out
    assert "stream sim, seed 2, " in ran.out
    missed = quintet(*args, "--seed", "5", "--seeds", "1", "--json")
    assert missed.code == 1 and missed.json["distribution_mhz"]["best"] == CLOCKS[5]


def test_the_board_asks_for_that_clock():
    assert open_board("ulx3s-25f").clock_mhz == ASKED
