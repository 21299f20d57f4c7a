# SPDX-License-Identifier: BSD-2-Clause
"""PIM's jobs on virtual boards, gateware, SDRAM and link included, against the golden model."""

import numpy as np
import pytest

from quintet.firmware.pim import small
from quintet.tools import Job, open_target, run_job
from tests.support.digits_jobs import JOBS

#: Two cores, quickly compiled; and what the ULX3S-85F gets.
QUICK, WHOLE = "sim:ulx3s-85f/pim?preset=sim", "sim:ulx3s-85f/pim"


@pytest.fixture(scope="module")
def board():
    with open_target(QUICK) as target:
        yield target


@pytest.fixture(scope="module")
def whole_board():
    with open_target(WHOLE) as target:
        yield target


def run_both(path, target, preset):
    """The job on ``target`` and on the model: same end, results and counts. Gives the results."""
    got = run_job(Job.load(path), target)
    with open_target(f"model:pim?preset={preset}") as model:
        want = run_job(Job.load(path), model)
    assert got.outcome.status == want.outcome.status == "done", got.outcome
    assert got.tensors.keys() == want.tensors.keys()
    for name, tensor in want.tensors.items():
        assert np.array_equal(got.tensors[name], tensor), name
    for name in ("instructions", "operations", "bytes_read", "bytes_written"):
        assert got.outcome.counters[name] == want.outcome.counters[name], name
    return got


def test_worked_job_on_a_board(board):
    result = run_both(small.JOB, board, "sim")
    assert {name: tensor.tolist() for name, tensor in result.tensors.items()} == small.RESULTS


def test_digits_on_a_board(board):
    known = JOBS["pim/digits/mlp_up5k"]
    [tensor] = run_both(known.path, board, "sim").tensors.values()
    assert known.holds(tensor)


@pytest.mark.long
@pytest.mark.parametrize("name", ("mlp1", "mlp4", "cnn1", "cnn4"))
def test_shipped_jobs_on_the_ulx3s(whole_board, name):
    known = JOBS[f"pim/digits/{name}"]
    [tensor] = run_both(known.path, whole_board, "85f").tensors.values()
    assert known.holds(tensor)
