# SPDX-License-Identifier: BSD-2-Clause
"""The command line on virtual boards: the demo's own SoC (one build, shared by all tests here), and
every wrong name."""

import pytest

from quintet.firmware.opentpu import digits
from quintet.gateware.isa.asm import assemble_text
from quintet.tools import Job, open_target
from quintet.tools.jobs.job import Run
from quintet.tools.jobs.runner import run_job
from quintet.tools.jobs.verify import compare

DEFAULT = "sim:ulx3s-85f/opentpu"


def test_demo(quintet):
    ran = quintet("demo", "--json")
    assert ran.code == 0, ran.err
    values = ran.json
    assert (values["board"], values["isa"], values["preset"]) == ("ulx3s-85f", "opentpu", "85f-8x8")
    assert values["equals_model"] and len(values["networks"]) == 2
    plain, norm = values["networks"]
    assert (
        plain["images"] == 540
        and plain["accuracy"] >= 0.95
        and norm["accuracy"] >= norm["float_accuracy"] - 0.01
    )
    for network in values["networks"]:
        counters = network["run"]["counters"]
        stalls = sum(
            counters[name]
            for name in ("stall_fetch", "stall_operand", "stall_write", "stall_other")
        )
        assert counters["work"] + stalls == counters["cycles"] > 0


@pytest.fixture(scope="module")
def board():
    with open_target(DEFAULT) as target:
        yield target


def edited(folder, *changes):
    """The digits job in ``folder``, its program or its text changed: pairs (file's suffix, old,
    new)."""
    path = digits.make_job(folder, open_params())
    for suffix, old, new in changes:
        file = path.with_suffix(suffix)
        text = file.read_text()
        assert old in text
        file.write_text(text.replace(old, new, 1))
    return Job.load(path)


def open_params():
    from quintet.gateware.cores.opentpu.params import SPACE

    return SPACE.resolve("85f-8x8")


def test_no_hlt(board, tmp_path):
    result = run_job(edited(tmp_path, (".a", "\nHLT", "\n")), board)
    assert (result.outcome.status, result.outcome.fault.name) == (
        "fault",
        "program_end",
    ) and not result.tensors


def test_illegal_opcode(board, tmp_path):
    result = run_job(
        edited(tmp_path, (".a", "\nHLT", "\n.word 0x0900000000000000000000000000\nHLT")), board
    )
    fault = result.outcome.fault
    assert (fault.name, fault.detail) == ("illegal_opcode", 9)
    assert fault.pc == result.job.program_at + len(result.image.program.data) - 28
    assert result.source(fault.pc)[1] == sum(1 for _ in open(tmp_path / "digits_plain_n8.a")) - 1


def test_limit(board, tmp_path):
    result = run_job(edited(tmp_path, (".toml", "cycles = 100000000", "cycles = 2000")), board)
    assert (result.outcome.status, result.outcome.fault.name) == (
        "aborted",
        "aborted",
    ) and not result.tensors
    assert result.outcome.counters["cycles"] > 2000


def test_good_after_all_that(board, tmp_path):
    job = edited(tmp_path)
    result = run_job(job, board)
    assert (
        result.outcome.status == "done"
        and digits.evaluate(job.origin, next(iter(result.tensors.values()))).correct > 513
    )
    again = board.run({})
    # The chip's refreshes lie elsewhere in the second run, so that its cycles differ a little.
    assert (
        again.status == "done"
        and again.counters["operations"] == result.outcome.counters["operations"]
    )


def test_other_params(quintet, small):
    ran = quintet("run", small, "--on", DEFAULT)
    assert (
        ran.code == 2
        and "params.n = 4" in ran.err
        and "n = 8" in ran.err
        and len(ran.err.splitlines()) == 1
    )


@pytest.mark.parametrize(
    "target, words",
    [
        ("sim:none/opentpu", ["no board named 'none'", "ulx3s-85f"]),
        ("sim:ulx3s-85f/opentpu?ub_rows=3", ["ub_rows"]),
        ("sim:ulx3s-85f/opentpu?rows=3", ["no parameter 'rows'"]),
        ("sim:ulx3s-85f/opentpu?preset=none", ["no preset 'none'"]),
    ],
)
def test_names(quintet, small, target, words):
    ran = quintet("run", small, "--on", target)
    assert (
        ran.code == 2 and all(word in ran.err for word in words) and len(ran.err.splitlines()) == 1
    )


def test_without_a_compiler(quintet, small, monkeypatch):
    from quintet.boards.virtual import compile as compilation

    def missing():
        raise compilation.ToolMissing("no C++ compiler found for the virtual board: install g++")

    monkeypatch.setattr(compilation, "find_compiler", missing)
    ran = quintet("run", small, "--on", "sim:ulx3s-85f/opentpu?preset=25f-4x4")
    assert ran.code == 3 and "no C++ compiler" in ran.err and len(ran.err.splitlines()) == 1


def test_several_programs(board, tmp_path):
    """The digits' program twice, between them one that does nothing: no reset, counters of each,
    the same bits as the model's."""
    job = edited(tmp_path)
    before = run_job(job, board)
    idle = assemble_text(job.software, "HLT").data
    job.runs = [Run(idle, 0x1F_0000), *job.runs, Run(idle, 0x1F_0000), *job.runs]
    result = run_job(job, board)
    assert (
        result.raw == before.raw
        and len(result.outcomes) == 4
        and len(result.image.parts) == len(job.loads) + 2
    )
    assert result.outcome.counters["cycles"] == sum(
        one.counters["cycles"] for one in result.outcomes
    )
    with open_target("model") as model:
        comparison = compare(job, result, run_job(job, model, like=board.info))
    assert comparison.equal, comparison.troubles
    job.cycle_limit = (
        result.outcome.counters["cycles"] * 3 // 4
    )  # the memory's refresh moves the count a little
    assert [one.status for one in run_job(job, board).outcomes] == [
        "done",
        "done",
        "done",
        "aborted",
    ]
    job.cycle_limit = before.outcome.counters["cycles"] // 2
    stopped = run_job(job, board)
    assert [one.status for one in stopped.outcomes] == ["done", "aborted"]
