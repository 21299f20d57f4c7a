# SPDX-License-Identifier: BSD-2-Clause
"""Timelines of virtual boards: every core, both kinds of engines. Slices of classes add up to the
counters, a window is a part of the whole."""

import json
import re
import shutil
import time
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from quintet.boards.virtual.activity import Shown
from quintet.boards.virtual.timeline import Timeline
from quintet.gateware.shell.activity import Row
from quintet.tools import Job, open_target
from quintet.tools.jobs.runner import run_job
from quintet.tools.jobs.timeline import TraceFile, trace_json

FIRMWARE = Path(__file__).resolve().parents[2] / "firmware"
#: The same product without contexts, for a small engine.
SERIAL = """.loop n 2
.loop k 2
.apu A 0 1 8 k:4
.apu B 32 1 8 k:32 n:4
.apu C 96 1 8 n:4
.in fp32 0x2000 0 4 8
.in fp32 0x2100 32 8 8
.out fp32 0x3000 96 4 8
start_loop n
  zero ACC
  start_loop k
    load A, INPUT
    load B, WEIGHTS
    matmul
  end_loop k
  copy INPUT, ACC
  relu
  store C, OUTPUT
end_loop n
"""
CLASSES = ("work", "stall_fetch", "stall_operand", "stall_write", "stall_other")
OPENTPU, PIM = ("opentpu/programs", "small.toml"), ("pim/small", "two.toml")
CHERRY_SERIAL = (
    "cherry/small",
    "relu_matmul.toml",
    {"relu_matmul.s": SERIAL, "relu_matmul.toml": lambda text: text.replace("10_000", "1_000_000")},
)
CHERRY, IMAGINE, OPU = (
    ("cherry/small", "relu_matmul.toml"),
    ("imagine/small", "small.toml"),
    ("opu/small", "small.toml"),
)
long = pytest.mark.long
#: Targets with a job of theirs; those that no other quick test compiles are long.
TARGETS = [
    ("icebreaker/opentpu", OPENTPU),
    ("ulx3s-85f/opentpu", ("opentpu/programs", "matmul_n8.toml")),
    ("ulx3s-85f/pim?preset=sim", PIM),
    *(
        pytest.param(*case, marks=long)
        for case in (
            ("icebreaker/cherry", CHERRY_SERIAL),
            ("icebreaker/imagine", IMAGINE),
            ("icebreaker/opu", ("opu/digits", "digits_up5k.toml")),
            ("icebreaker/pim", ("pim/digits", "mlp_up5k.toml")),
            ("ulx3s-85f/cherry?preset=sim", CHERRY),
            # The array in the main clock, and in one of five cycles in four of its.
            ("ulx3s-85f/imagine?preset=sim&rows=4", IMAGINE),
            ("ulx3s-85f/imagine?preset=sim&rows=4&own_clock=true&clock_ratio=5", IMAGINE),
            ("ulx3s-85f/opu?preset=sim", OPU),
        )
    ),
]


class Run:
    """A traced run of the job in ``folder``: the object that the command printed, and the
    timeline."""

    def __init__(self, quintet, target, job, *options):
        self.file = job.parent / "trace.json"
        ran = quintet("run", job, "--on", f"sim:{target}", "--trace", self.file, "--json", *options)
        assert ran.code == 0, ran.err
        self.result, self.whole = ran.json, json.loads(self.file.read_text())
        assert self.result["trace"] == str(self.file) and not list(job.parent.glob(".*"))
        self.rows = {
            e["args"]["name"]: e["tid"]
            for e in self.whole["traceEvents"]
            if e["ph"] == "M" and e["name"] == "thread_name"
        }

    def slices(self, row):
        return [
            e for e in self.whole["traceEvents"] if e["ph"] == "X" and e["tid"] == self.rows[row]
        ]

    def cycles(self, row):
        """Name -> cycles of its slices."""
        found = Counter()
        for event in self.slices(row):
            found[event["name"]] += event["dur"]
        return found


def well_formed(trace):
    """As the format demands: metadata and complete events, which do not overlap in a row."""
    ends = {}
    for event in trace["traceEvents"]:
        assert {"ph", "ts", "pid", "tid", "name"} <= set(event) and event["ph"] in ("M", "X")
        assert (
            isinstance(event["name"], str)
            and event["name"]
            and isinstance(event["pid"], int)
            and isinstance(event["tid"], int)
        )
        if event["ph"] == "X":
            assert event["ts"] >= ends.get(event["tid"], 0) and event["dur"] > 0
            ends[event["tid"]] = event["ts"] + event["dur"]
    return ends


def clipped(events, begin, end):
    """Slices as they are in a window: (name, begin, length)."""
    found = [(e["name"], max(begin, e["ts"]), min(end, e["ts"] + e["dur"])) for e in events]
    return [(name, a, b - a) for name, a, b in found if a < b]


@pytest.mark.parametrize(
    "target, job",
    TARGETS,
    ids=lambda value: value if isinstance(value, str) else value[0].split("/")[0],
)
def test_timeline_of_a_run(quintet, tmp_path, target, job):
    folder, name, *changes = job
    shutil.copytree(FIRMWARE / folder, tmp_path / "job")
    for file, change in (changes[0] if changes else {}).items():
        (tmp_path / "job" / file).write_text(
            change if isinstance(change, str) else change((tmp_path / "job" / file).read_text())
        )
    path = tmp_path / "job" / name
    run = Run(quintet, target, path)
    counters = run.result["counters"]
    well_formed(run.whole)
    sums = run.cycles("class")
    assert {name: sums[name] for name in CLASSES} == {
        name: counters[name] for name in CLASSES
    } and set(sums) <= set(CLASSES)
    # 20 megabytes for a run of 200,000 cycles.
    assert run.file.stat().st_size <= 20_000 + 100 * counters["cycles"]
    (first,) = run.slices("run")
    clock = run.whole["otherData"]["clock_hz"]
    assert first["ts"] == 0 and first["name"] == "run 1" and clock == run.result["clock_hz"]
    if (
        "imagine" in target
    ):  # whose counters may be in cycles of another clock; each word is an instruction that starts
        assert len(run.slices("array")) == counters["instructions"]
    else:
        assert first["dur"] == counters["cycles"]
    # Instructions have the places of their source; of a program as short as these nearly every line
    # is seen.
    named = [e for e in run.whole["traceEvents"] if e["ph"] == "X" and "line" in e.get("args", {})]
    ((short, source),) = run.whole["otherData"]["sources"].items()
    lines = Path(source).read_text().split("\n")
    assert (
        Path(source).parent == path.parent
        and short == Path(source).name
        and all(e["args"]["line"].startswith(f"{short}:") for e in named)
    )
    for event in named:
        text = " ".join(lines[int(event["args"]["line"].rpartition(":")[2]) - 1].split())
        assert text.startswith(event["name"]) and re.fullmatch(r"0x[0-9a-f]+", event["args"]["pc"])
    assert len({e["args"]["line"] for e in named}) >= 4
    # A window is a part of the whole, where the run before does not shift what comes after it.
    middle = max(2, int(first["dur"]) // 2)
    part = Run(quintet, target, path, "--trace-from", middle // 2, "--trace-to", middle)
    well_formed(part.whole)
    for row in set(run.rows) - {"link to board", "link to host"}:
        assert clipped(part.slices(row), 0, 1 << 60) == clipped(
            run.slices(row), middle // 2, middle
        ), row


def test_views_of_a_machine_of_several_cores(quintet, tmp_path):
    shutil.copytree(FIRMWARE / "pim/small", tmp_path / "job")
    run = Run(quintet, "ulx3s-85f/pim?preset=sim", tmp_path / "job" / "two.toml")
    cycles = run.result["counters"]["cycles"]
    views = [row for row in run.rows if row.startswith("class of core ")]
    assert len(views) >= 2 and all(sum(run.cycles(row).values()) == cycles for row in views)


@pytest.mark.parametrize(
    "words, message",
    [
        (
            ["--trace", "a.json"],
            "--trace a.json: only a virtual board writes a timeline (--on sim:BOARD/ISA), not "
            "model",
        ),
        (
            ["--trace", "a.json", "--on", "/dev/ttyUSB0"],
            "--trace a.json: only a virtual board writes a timeline (--on sim:BOARD/ISA), not "
            "/dev/ttyUSB0",
        ),
        (
            ["--on", "sim:icebreaker/opentpu", "--trace", "a.vcd"],
            "--trace a.vcd: expected a name that ends in .json",
        ),
        (
            ["--on", "sim:icebreaker/opentpu", "--trace", "none/a.json"],
            "--trace none/a.json: no such folder: none",
        ),
        (
            ["--on", "sim:icebreaker/opentpu", "--trace-from", "5"],
            "--trace-from 5: needs --trace FILE.json",
        ),
        (["--trace-to", "5"], "--trace-to 5: needs --trace FILE.json"),
        *(
            (
                ["--on", "sim:icebreaker/opentpu", "--trace", "a.json", f"--trace-{name}={value}"],
                f"--trace-{name} {value}: expected a number of cycles, 0 or more and below 2^48",
            )
            for name in ("from", "to")
            for value in ("-1", "x", "1.5", "", "²", str(1 << 48))
        ),
        (
            ["--on", "sim:icebreaker/opentpu", "--trace", "a.json", "--trace-to", "0"],
            "--trace-to 0: expected a cycle behind 0, at which the timeline begins",
        ),
        (
            [
                "--on",
                "sim:icebreaker/opentpu",
                "--trace",
                "a.json",
                "--trace-from",
                "9",
                "--trace-to",
                "9",
            ],
            "--trace-to 9: expected a cycle behind 9, at which the timeline begins",
        ),
    ],
)
@pytest.mark.parametrize("command", ["run", "infer"])
def test_timelines_that_are_refused(quintet, small, tmp_path, monkeypatch, command, words, message):
    """Before anything is opened or compiled."""
    monkeypatch.chdir(tmp_path)
    ran = (
        quintet(command, small, *words)
        if command == "run"
        else quintet(command, "none", "--input", "none.npy", *words)
    )
    assert (
        ran.code == 2
        and ran.err.strip() == f"quintet: {message}"
        and not list(tmp_path.glob("a.*"))
    )


def test_nothing_is_left_of_a_run_that_is_interrupted(quintet, small, monkeypatch):
    from quintet.tools.targets.sim import SimTarget

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(SimTarget, "run", interrupted)
    before = sorted(small.folder.iterdir())
    ran = quintet(
        "run", small, "--on", "sim:icebreaker/opentpu", "--trace", small.folder / "a.json"
    )
    assert ran.code != 0 and "interrupted" in ran.err and sorted(small.folder.iterdir()) == before


def test_a_run_that_faults_has_a_timeline(quintet, small):
    small.program(
        "RW  1\n" if "RW  1\n" in (small.folder / "small.a").read_text() else "RW 1\n",
        ".word 0x0900000000000000000000000000\n",
    )
    ran = quintet(
        "run", small, "--on", "sim:icebreaker/opentpu", "--trace", small.folder / "a.json", "--json"
    )
    assert ran.code == 5 and ran.json["fault"]["name"] == "illegal_opcode"
    trace = json.loads((small.folder / "a.json").read_text())
    well_formed(trace)
    assert (
        sum(e["dur"] for e in trace["traceEvents"] if e["ph"] == "X" and e["tid"] == 2)
        == ran.json["cycles"]
    )


def test_a_window_in_which_nothing_happens_is_told(quintet, small):
    ran = quintet(
        "run",
        small,
        "--on",
        "sim:icebreaker/opentpu",
        "--trace",
        small.folder / "a.json",
        "--trace-from",
        10_000_000,
    )
    assert (
        ran.code == 0
        and (
            f"--trace {small.folder}/a.json: nothing happened in its window, cycles 10000000 "
            f"to the end"
        )
        in ran.err
    )
    assert [
        e
        for e in json.loads((small.folder / "a.json").read_text())["traceEvents"]
        if e["ph"] == "X"
    ] == []


def test_a_place_that_cannot_be_written_is_told(quintet, small):
    (small.folder / "a.json").mkdir()
    ran = quintet(
        "run", small, "--on", "sim:icebreaker/opentpu", "--trace", small.folder / "a.json"
    )
    assert (
        ran.code == 2
        and f"--trace {small.folder}/a.json: is a folder" in ran.err
        and not (small.folder / "y.npy").exists()
    )


@long
def test_a_run_with_a_timeline_is_no_fifth_slower(tmp_path):
    """On the board whose cycles cost least, its file written too: the quickest of three runs each,
    in turn."""
    job = Job.load(FIRMWARE / "opentpu/digits/digits_plain_n4.toml")
    spent = {False: [], True: []}
    for traced in (False, True) * 3:
        with open_target("sim:icebreaker/opentpu") as target:
            file, began = TraceFile(str(tmp_path / "a.json")), time.process_time()
            if traced:
                file.record(target)
            result = run_job(job, target)
            if traced:
                file.write(target, result.source)
            spent[traced].append(time.process_time() - began)
    ratio = min(spent[True]) / min(spent[False])
    print(f"\n{result.outcome.counters['cycles']} cycles: {ratio:.3f} of the time without")
    assert ratio <= 1.2


# What is written

ROWS = (
    Shown(Row("run", numbered=False), "run"),
    Shown(Row("class"), "class"),
    Shown(Row("unit")),
    Shown(Row("fetch", numbered=False)),
    Shown(Row("link", numbered=False), "pulses"),
)
SLICE = np.dtype(
    [("begin", "<u8"), ("end", "<u8"), ("row", "<u4"), ("number", "<u4"), ("count", "<u8")]
)


def written(*slices, ticks=1, source=lambda pc: None, text=None):
    timeline = Timeline(ROWS, np.array(list(slices), SLICE), ticks, None)
    trace = json.loads(
        trace_json(timeline, source, {"board": "b", "core": "c"}, text, comments=("//", "#"))
    )
    well_formed(trace)
    return [
        {k: v for k, v in event.items() if k not in ("ph", "pid")}
        for event in trace["traceEvents"]
        if event["ph"] == "X"
    ]


def test_slices_by_kind():
    assert written(
        (0, 10, 0, 0, 0),
        (12, 20, 0, 0, 0),
        (0, 4, 1, 3, 0),
        (4, 10, 1, 0, 0),
        (1, 2, 3, 0, 0),
        (2, 9, 4, 0, 1),
        (90, 95, 4, 0, 3),
    ) == [
        {"tid": 1, "ts": 0, "dur": 10, "name": "run 1"},
        {"tid": 1, "ts": 12, "dur": 8, "name": "run 2"},
        {"tid": 2, "ts": 0, "dur": 4, "name": "stall_write"},
        {"tid": 2, "ts": 4, "dur": 6, "name": "work"},
        {"tid": 4, "ts": 1, "dur": 1, "name": "busy"},
        {"tid": 5, "ts": 2, "dur": 7, "name": "1 byte", "args": {"bytes": 1}},
        {"tid": 5, "ts": 90, "dur": 5, "name": "3 bytes", "args": {"bytes": 3}},
    ]


def test_instructions_with_source_with_text_and_with_neither(tmp_path):
    (tmp_path / "a.s").write_text(
        "first\n  MMC   0,\t1   " + "x" * 50 + ' # y\n// only\n"quoted" \\ é\n'
    )
    places = {
        8: (tmp_path / "a.s", 2),
        12: (tmp_path / "a.s", 3),
        16: (tmp_path / "a.s", 99),
        20: (tmp_path / "gone.s", 1),
        32: (tmp_path / "a.s", 4),
    }
    found = written(
        *((k, k + 1, 2, pc, 0) for k, pc in enumerate((8, 12, 16, 20, 24, 28, 32))),
        source=places.get,
        text={24: "add 1"}.get,
    )
    assert [e["name"] for e in found] == [
        "MMC 0, 1 " + "x" * 31,
        "line 3",
        "line 99",
        "line 1",
        "add 1",
        "0x1c",
        '"quoted" \\ é',
    ]
    assert found[0]["args"] == {"line": "a.s:2", "pc": "0x8"} and found[4]["args"] == {"pc": "0x18"}


def test_two_sources_of_one_name(tmp_path):
    places = {8: (tmp_path / "a.s", 2), 12: (tmp_path / "b" / "a.s", 3)}
    found = written((0, 1, 2, 8, 0), (1, 2, 2, 12, 0), source=places.get)
    assert [e["args"]["line"] for e in found] == ["a.s:2", f"{tmp_path}/b/a.s:3"]


def test_cycles_of_a_clock_that_is_no_multiple():
    assert [(e["ts"], e["dur"]) for e in written((4, 12, 1, 0, 0), (5, 10, 3, 0, 0), ticks=4)] == [
        (1, 2),
        (1.25, 1.25),
    ]


def test_a_timeline_that_is_full_says_where(tmp_path):
    file = TraceFile(str(tmp_path / "a.json"))
    file._recorder = SimpleNamespace(
        timeline=lambda: Timeline(ROWS, np.array([(0, 1, 0, 0, 0)], SLICE), 1, 1234.0)
    )
    info = SimpleNamespace(board="b", isa="c", preset="p", clock_hz=1)
    (note,) = file.write(SimpleNamespace(info=info, name="t"), lambda pc: None)
    assert note == (
        f"--trace {tmp_path}/a.json: the limit of 1 slices is reached, so that it ends at cycle "
        f"1234; --trace-from and --trace-to choose another "
        "part"
    )


# Networks


@long
def test_timeline_of_a_network(quintet, tmp_path):
    """Two inputs of the digits' network: runs and classes of both, instructions by their text, the
    link beside the core."""
    digits = FIRMWARE / "digits"
    assert (
        quintet(
            "compile",
            digits / "cnn.onnx",
            "--for",
            "ulx3s-85f/opu",
            "--calibrate",
            f"{digits / 'digits.npz'}:calibration",
            "-o",
            tmp_path / "net",
        ).code
        == 0
    )
    file = tmp_path / "trace.json"
    ran = quintet(
        "infer",
        tmp_path / "net",
        "--on",
        "sim:ulx3s-85f/opu",
        "--input",
        f"{digits / 'digits.npz'}:images",
        "--limit",
        2,
        "--trace",
        file,
        "--json",
    )
    assert ran.code == 0, ran.err
    trace = json.loads(file.read_text())
    well_formed(trace)
    rows = {e["args"]["name"]: e["tid"] for e in trace["traceEvents"] if e["name"] == "thread_name"}
    slices = [e for e in trace["traceEvents"] if e["ph"] == "X"]
    counters = ran.json["counters"]
    for name in CLASSES:
        assert (
            sum(e["dur"] for e in slices if e["tid"] == rows["class"] and e["name"] == name)
            == counters[name]
        )
    runs = [e for e in slices if e["tid"] == rows["run"]]
    assert len(runs) >= 2 and sum(e["dur"] for e in runs) == counters["cycles"]
    texts = {
        e["name"].split()[0]
        for e in slices
        if e["tid"] in (rows["loads"], rows["convolutions"], rows["stores"])
    }
    assert {"ld.ifm", "ld.ker", "store"} <= texts and texts <= {
        "ld.ifm",
        "ld.ker",
        "ld.bias",
        "conv",
        "conv.bias",
        "conv.acc",
        "store",
        "pad",
    }
