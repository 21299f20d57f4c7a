# SPDX-License-Identifier: BSD-2-Clause
"""Handwritten digits on the golden model: all images through the Python interface, the shipped
jobs, and what ships is current."""

import numpy as np
import pytest

from quintet.firmware.imagine import digits
from quintet.gateware.cores.imagine.params import SPACE
from quintet.tools import Job, open_target
from quintet.tools.jobs.runner import run_job


def test_no_sum_wraps_and_the_accuracy():
    first, second = digits.layers()
    worst = np.abs(first.weights[0]).sum(axis=1) + (np.abs(first.bias) << 8 >> 8)
    assert worst.max() < 1 << 15, "pixels are at most 1: no sum of the first layer can wrap"
    for x in digits.inputs():
        hidden = digits.activate(first.reference(x))
        assert (second.reference(hidden) == second.reference(hidden, wrap=False)).all()
    found = digits.logits()
    assert (found.argmax(axis=1) == digits.labels()).sum() == 532


@pytest.mark.parametrize("preset, count", [("85f", 40), ("25f", 20), ("up5k", 8)])
def test_images_on_a_target(preset, count):
    with open_target(f"model:imagine?preset={preset}") as target:
        result, session = digits.classify(target, count=count, batch=4)
    assert session.resident == (preset != "up5k")
    assert (result.logits == digits.logits(count)).all() and result.total == count
    assert result.correct >= count - 2


@pytest.mark.parametrize("preset", digits.SHIPPED)
def test_shipped_jobs(preset):
    params, count = SPACE.resolve(preset), digits.SHIPPED[preset]
    first, _ = digits.layers()
    for part in digits.PARTS:
        with open_target(f"model:imagine?preset={preset}") as target:
            job = Job.load(digits.job(preset, part))
            result = run_job(job, target)
        assert result.outcome.status == "done"
        saved = next(iter(result.tensors.values()))
        if part == "hidden":
            found = digits.program(params, part, count).results(saved[..., 0])
            assert (found == [first.reference(x) for x in digits.inputs()[:count]]).all()
        else:
            assert (digits.evaluate(job, saved).logits == digits.logits(count)).all()


def test_what_ships_is_current(tmp_path):
    for path in digits.write_shipped(tmp_path):
        for suffix in (".toml", ".s"):
            assert (
                path.with_suffix(suffix).read_text()
                == (digits.FOLDER / path.name).with_suffix(suffix).read_text()
            )
        with (
            np.load(path.with_suffix(".npz")) as new,
            np.load((digits.FOLDER / path.name).with_suffix(".npz")) as shipped,
        ):
            assert sorted(new.files) == sorted(shipped.files) and all(
                (new[k] == shipped[k]).all() for k in new.files
            )


def test_refusals():
    with pytest.raises(
        ValueError, match="^no digits job ships for preset 'sim', only for 25f, up5k; make_jobs"
    ):
        digits.job("sim")
    with pytest.raises(ValueError, match="^no part 'output', only hidden and logits$"):
        digits.program(SPACE.resolve("25f"), "output", 1)
