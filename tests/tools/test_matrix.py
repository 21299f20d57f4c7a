# SPDX-License-Identifier: BSD-2-Clause
"""The matrix with builds that take no time: what is kept, what is built again, what an interrupted
run leaves."""

import csv
import json
import subprocess
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import pytest

from quintet import boards
from quintet.boards import open_board
from quintet.gateware.isa.parameters import Parameter, ParameterSpace, Preset
from quintet.tools.build import matrix, reached
from quintet.tools.build.matrix import (
    COLUMNS,
    Cell,
    cells,
    design_of,
    is_stale,
    run_matrix,
    source_commit,
    source_digest,
    stale_rows,
)
from quintet.tools.build.netlists import design_digest
from quintet.tools.errors import InputError

A, B = Cell("ulx3s-85f", "x", "85f"), Cell("icebreaker", "x", "up5k")


def builder(log, fail=()):
    def build(cell, folder):
        log.append(cell.key)
        if cell in fail:
            return {
                "board": cell.board,
                "isa": cell.isa,
                "preset": cell.preset,
                "seed": cell.seed,
                "state": "failed: 12 DSPs needed | 8 there",
            }
        return {
            "board": cell.board,
            "isa": cell.isa,
            "preset": cell.preset,
            "seed": cell.seed,
            "luts": 10,
            "clock_reached_mhz": 81.25,
            "state": "built",
        }

    return build


def presets_of(fpga, room):
    return room.params.SPACE.presets_for(fpga)


def test_cells_are_the_presets_that_fit():
    space = ParameterSpace(
        "x",
        [Parameter("n", int, range(1, 9), 4, "")],
        [Preset("85f-a", default=True), Preset("25f"), Preset("up5k"), Preset("sim")],
    )
    room = SimpleNamespace(name="x", params=SimpleNamespace(SPACE=space))
    boards = [
        SimpleNamespace(name=name, presets=partial(presets_of, fpga))
        for name, fpga in (("big", "85f"), ("mid", "45f"), ("ice", "hx8k"))
    ]
    assert [c.key for c in cells(boards, [room], (1, 2))] == [
        "big/x/85f-a/1",
        "big/x/85f-a/2",
        "big/x/25f/1",
        "big/x/25f/2",
        "mid/x/25f/1",
        "mid/x/25f/2",
        "ice/x/up5k/1",
        "ice/x/up5k/2",
    ]


def test_cells_of_a_link():
    space = ParameterSpace(
        "x", [Parameter("n", int, range(1, 9), 4, "")], [Preset("25f", default=True)]
    )
    room = SimpleNamespace(name="x", params=SimpleNamespace(SPACE=space))
    boards = [
        SimpleNamespace(name=name, presets=partial(presets_of, "25f"), links=links)
        for name, links in (("one", ("uart", "usb")), ("two", ("uart",)))
    ]
    assert [c.key for c in cells(boards, [room], link="usb")] == ["one/x/25f/1/usb"]


def test_a_cell_that_does_not_fit_says_what_it_lacks_and_is_kept(tmp_path, monkeypatch):
    """By the command itself, with a packer's log in place of the tools."""
    log = (
        "Info: Device utilisation:\nInfo: \t         ICESTORM_LC:    5500/   5280   104%\n"
        "Info: \t        ICESTORM_RAM:      31/     30   103%\n"
        "Info: \t        ICESTORM_DSP:       8/      8   100%\nInfo:      1200 LCs used as "
        "LUT4 and DFF\nERROR: no BELs remaining\n"
    )
    (tmp_path / "sitecustomize.py").write_text(
        "import quintet.tools.build.bitstream as b\n\n"
        "def run(name, folder, environment, limit, look):\n"
        f"    (folder / 'top.tim').write_text({log!r})\n    raise b.BuildError('no BELs "
        f"remaining')\nb.run_script = run\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    cell = Cell("icebreaker", "opentpu", "up5k-4x4")
    result = run_matrix([cell], tmp_path / "m", "one")[cell.key]
    assert result["state"] == "does not fit: needs 5,500 of 5,280 logic cells, 31 of 30 block RAMs"
    assert (
        result["luts"] == 5500
        and result["ffs"] == 1200
        and result["available"]["brams"] == 30
        and "bitstream" not in result
    )
    run_matrix([cell], tmp_path / "m", "one", build=None)


def test_kept_failed_and_changed_sources(tmp_path):
    log = []
    first = run_matrix([A, B], tmp_path, "one", build=builder(log, fail=[B]))
    assert first[A.key]["state"] == "built" and first[B.key]["state"].startswith("failed")
    run_matrix([A, B], tmp_path, "one", build=builder(log))
    assert log == [A.key, B.key, B.key]
    run_matrix([A, B], tmp_path, "two", build=builder(log))
    assert log[3:] == [A.key, B.key]
    run_matrix([A], tmp_path, "two", build=builder(log), again=True)
    assert log[5:] == [A.key]


def test_tables(tmp_path):
    run_matrix([A, B], tmp_path, "one", build=builder([], fail=[B]), workers=2)
    rows = list(csv.DictReader(open(tmp_path / "matrix.csv")))
    assert tuple(rows[0]) == COLUMNS and {r["board"] for r in rows} == {"ulx3s-85f", "icebreaker"}
    text = (tmp_path / "matrix.md").read_text()
    assert "| 81.2 |" in text and "12 DSPs needed / 8 there" in text
    assert {len(line.split("|")) for line in text.splitlines()} == {len(COLUMNS) + 2}
    assert set(json.loads((tmp_path / "matrix.json").read_text())["cells"]) == {A.key, B.key}


def test_rows_keep_the_commit_of_their_build(tmp_path):
    first = run_matrix([A], tmp_path, "one", build=builder([]), commit="04d304a")
    later = run_matrix([A, B], tmp_path, "one", build=builder([]), commit="16b9e10")
    assert first[A.key]["commit"] == later[A.key]["commit"] == "04d304a"
    assert later[B.key]["commit"] == "16b9e10"


def test_commit_of_the_sources(tmp_path):
    assert source_commit(tmp_path) is None

    def git(*words):
        who = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
        command = ["git", "-C", str(tmp_path), *who, *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    for folder in ("gateware", "boards", "docs"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.py").write_text("one")
    git("init")
    git("add", "-A")
    git("commit", "-m", "first")
    commit = git("rev-parse", "--short=7", "HEAD")
    assert source_commit(tmp_path) == commit
    (tmp_path / "docs" / "a.py").write_text("two")
    assert source_commit(tmp_path) == commit
    (tmp_path / "boards" / "a.py").write_text("two")
    assert source_commit(tmp_path) == f"{commit}+"
    assert source_commit(tmp_path / "boards") is None


def test_an_interrupted_run_goes_on(tmp_path):
    log = []

    def build(cell, folder):
        if cell == B and len(log) < 2:
            log.append("interrupted")
            raise KeyboardInterrupt
        return builder(log)(cell, folder)

    with pytest.raises(KeyboardInterrupt):
        run_matrix([A, B], tmp_path, "one", build=build)
    log.append("again")
    run_matrix([A, B], tmp_path, "one", build=build)
    assert log == [A.key, "interrupted", "again", B.key]


def test_another_file_is_not_overwritten(tmp_path):
    (tmp_path / "matrix.json").write_text("[]")
    with pytest.raises(InputError, match="is not a table of quintet matrix"):
        run_matrix([A], tmp_path, "one", build=builder([]))
    assert (tmp_path / "matrix.json").read_text() == "[]"


def test_workers(tmp_path):
    with pytest.raises(InputError, match="--workers 0: expected at least 1"):
        run_matrix([A], tmp_path, "one", workers=0, build=builder([]))


def test_digest_sees_every_source(tmp_path):
    for room in ("gateware", "boards"):
        (tmp_path / room).mkdir()
        (tmp_path / room / "a.py").write_text(room)
    before = source_digest(tmp_path)
    (tmp_path / "boards" / "a.py").write_text("changed")
    assert source_digest(tmp_path) != before


def test_a_cluster_without_dask_or_without_anybody(monkeypatch):
    import sys

    from quintet.tools.build import cluster
    from quintet.tools.errors import NoDeviceError

    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(
        InputError, match=r"--cluster needs Dask: pip install 'dask\[distributed\]'"
    ):
        cluster.cluster_build("tcp://127.0.0.1:1")

    def nobody(address, timeout):
        raise OSError("Timed out trying to connect")

    monkeypatch.setitem(sys.modules, "distributed", SimpleNamespace(Client=nobody))
    with pytest.raises(NoDeviceError, match="no Dask cluster at tcp://127.0.0.1:1: Timed out"):
        cluster.cluster_build("tcp://127.0.0.1:1")


def test_cells_are_built_by_workers(tmp_path, monkeypatch):
    import sys

    from quintet.tools.build import cluster

    submitted = []

    class Client:
        def __init__(self, address, timeout):
            assert address == "tcp://somewhere:8786"

        def submit(self, function, *arguments, pure):
            assert not pure and arguments[1] == 30
            submitted.append(arguments[:1])
            return SimpleNamespace(result=lambda: function(*arguments))

    monkeypatch.setitem(sys.modules, "distributed", SimpleNamespace(Client=Client))
    monkeypatch.setattr(
        cluster,
        "build_cell",
        lambda cell, folder, limit: {**builder([])(cell, folder), "bitstream": "somewhere/top.bit"},
    )
    monkeypatch.chdir(tmp_path)
    results = run_matrix(
        [A, B],
        tmp_path / "m",
        "one",
        workers=2,
        build=cluster.cluster_build("tcp://somewhere:8786", limit=30),
    )
    assert (
        {c for (c,) in submitted} == {A, B}
        and results[A.key]["state"] == "built"
        and "bitstream" not in results[B.key]
    )
    assert [p.name for p in tmp_path.iterdir()] == ["m"]


@pytest.mark.long
def test_a_real_cluster(tmp_path, monkeypatch):
    distributed = pytest.importorskip("distributed")
    from quintet.tools.build import cluster

    monkeypatch.chdir(tmp_path)
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
    ) as local:
        cell = Cell("nowhere", "opentpu", "up5k-4x4")
        results = run_matrix(
            [cell], tmp_path / "m", "one", build=cluster.cluster_build(local.scheduler_address)
        )
        assert results[cell.key]["state"].startswith("failed: no board named 'nowhere'")


def test_a_row_is_stale_if_its_design_has_changed():
    asked = []

    def design(cell):
        asked.append(cell)
        return "today's"

    assert not is_stale(A, {"digest": "now"}, "now", design)
    assert not is_stale(A, {"sources": "now", "design": "another"}, "now", design)
    assert not asked, "the sources are the same"
    assert not is_stale(A, {"digest": "before", "design": "today's"}, "now", design)
    assert is_stale(A, {"sources": "before", "design": "another"}, "now", design)
    # Without a design nobody knows.
    assert is_stale(A, {"sources": "before"}, "now", design)
    assert asked == [A, A]


def test_other_sources_build_only_changed_designs_again(tmp_path):
    log, asked = [], []
    seeds = [replace(A, seed=seed) for seed in (1, 2)]

    def build(cell, folder):
        return {**builder(log)(cell, folder), "design": f"{cell.board} 1"}

    def design(cell):
        asked.append(cell.key)
        return "icebreaker 2" if cell.board == "icebreaker" else f"{cell.board} 1"

    run_matrix([*seeds, B], tmp_path, "one", build=build, design=design)
    del log[:]
    results = run_matrix([*seeds, B], tmp_path, "two", build=build, design=design)
    # Seeds share a design.
    assert log == [B.key] and asked == [A.key, B.key]
    assert {result["digest"] for result in results.values()} == {"two"}
    assert stale_rows([A, B, Cell("fomu", "x", "up5k")], results, "three", design) == [
        (A, "current"),
        (B, "stale"),
        (Cell("fomu", "x", "up5k"), "not built"),
    ]


def test_a_design_depends_on_sizes_and_clock_but_not_on_the_seed(monkeypatch):
    cell = Cell("icebreaker", "opentpu", "up5k-4x4")
    today = design_of(cell)
    assert today is not None and today == design_of(replace(cell, seed=7))
    board = open_board("icebreaker")
    monkeypatch.setattr(boards, "open_board", lambda name: replace(board, clock_mhz=18))
    assert design_of(cell) not in (today, None)
    monkeypatch.undo()
    assert design_of(replace(cell, preset="85f-8x8")) is None


def test_places_in_the_sources_are_no_part_of_a_design():
    def digest(text, script="nextpnr --seed 3 --freq 80 "):
        files = {"top.il": text, "build_top.sh": script, "top.debug.v": "module"}
        return design_digest(SimpleNamespace(files=files), 3)

    text = 'attribute \\src "core.py:12"\nwire width 3 \\a\n'
    assert digest(text) == digest(text.replace("12", "13").encode())
    assert digest(text) != digest(text.replace("width 3", "width 4"))
    assert digest(text) != digest(text, "nextpnr --seed 3 --freq 81 ")


def test_stale_rows_are_listed(quintet, tmp_path, monkeypatch):
    monkeypatch.setattr(matrix, "source_digest", lambda root: "two")
    monkeypatch.setattr(reached, "measured", lambda: {})
    cell = Cell("icebreaker", "opentpu", "up5k-4x4")
    monkeypatch.setattr(matrix.stale_rows, "__defaults__", (lambda cell: "today's",))
    args = ("matrix", "--board", "icebreaker", "--isa", "opentpu", "--stale", "-o", tmp_path)

    def listed(row):
        (tmp_path / "matrix.json").write_text(json.dumps({"cells": {cell.key: row}}))
        ran = quintet(*args, "--json")
        assert ran.code == (1 if ran.json["stale"] else 0)
        return {row["cell"]: row["state"] for row in ran.json["cells"]}[cell.key]

    assert listed({"digest": "one", "design": "today's"}) == "current"
    assert listed({"digest": "one", "design": "another"}) == "stale"
    ran = quintet(*args)
    assert "1 of 1 rows are older than their sources" in ran.out
    assert not list(tmp_path.glob("*.csv")), "nothing is built"
