# SPDX-License-Identifier: BSD-2-Clause
"""The images of the digits, their split and their float network."""

import runpy
import sys

import numpy as np
import pytest

from quintet.firmware import digits
from quintet.firmware.digits import training
from quintet.firmware.opentpu import digits as opentpu
from quintet.gateware.cores.opentpu.params import SPACE
from quintet.tools import Job


def test_at_least_thirty_percent_held_out():
    assert len(digits.labels()) == digits.IMAGES >= 0.3 * 1797
    assert (
        digits.images().shape == (540, 64)
        and digits.images().max() == 16
        and digits.images(7).shape == (7, 64)
    )
    assert (digits.images()[:, 0] == 0).all()  # the pixel that carries the constant
    assert list(digits.with_bias(np.full((1, 64), 16))[0, :3]) == [127, 16, 16]


def test_results():
    scores = np.eye(10)[digits.labels(20)]
    scores[3] = 0
    found = digits.result(scores)
    assert (found.total, found.correct) == (
        20,
        20 - int(digits.labels()[3] != 0),
    ) and found.accuracy == found.correct / 20
    assert digits.float_accuracy() == 531 / 540


def test_held_out_images_are_those_of_the_split():
    sklearn = pytest.importorskip("sklearn.datasets")
    data = sklearn.load_digits()
    (images, _), (test, answers), held = training.split(data.data.astype(np.int64), data.target)
    assert np.array_equal(test, digits.images()) and np.array_equal(answers, digits.labels())
    assert len(images) + len(held) == 1797


def test_source_and_licence_stand_beside():
    text = (digits.FOLDER / "SOURCE.md").read_text()
    assert "CC BY 4.0" in text and "UCI" in text


def test_training_script(tmp_path, capsys):
    """A short training already gives a usable network, in the form that ships."""
    pytest.importorskip("sklearn")
    out = tmp_path / "digits.npz"
    training.main(["--out", str(out), "--seeds", "1", "--epochs", "15"])
    assert float(capsys.readouterr().out.split("held out ")[1][:6]) > 0.9
    with np.load(out) as new, np.load(digits.FOLDER / "digits.npz") as shipped:
        assert new.files == shipped.files
        assert all(
            new[k].shape == shipped[k].shape and new[k].dtype == shipped[k].dtype for k in new.files
        )
        assert all(np.array_equal(new[k], shipped[k]) for k in ("images", "labels", "held_out"))


@pytest.mark.parametrize(
    "isa, given, message",
    [
        (
            "opu",
            ["--preset", "up5k", "--images", "0"],
            "argument --images: expected 1 to 540, not 0",
        ),
        (
            "pim",
            ["--preset", "up5k", "--images", "541"],
            "argument --images: expected 1 to 540, not 541",
        ),
        ("opu", ["--preset", "up5k", "--memory", "100"], "bytes of memory"),
        ("opentpu", ["--preset", "up5k-4x4", "--norm"], "this build has no ext_norm"),
    ],
)
def test_what_the_commands_refuse(isa, given, message, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["digits", *given, "--out", str(tmp_path)])
    with pytest.raises(SystemExit, match="2"):
        runpy.run_module(f"quintet.firmware.{isa}.digits", run_name="__main__")
    assert message in capsys.readouterr().err and not any(tmp_path.iterdir())


def test_a_job_of_a_build_of_other_sizes_says_what_it_recognised(tmp_path):
    """Batches as large as fit would not be of one size."""
    path = opentpu.make_job(tmp_path, SPACE.resolve("sim", {"n": 6, "ub_rows": 512}))
    [save] = Job.load(path).saves
    assert (
        digits.evaluate(path, np.zeros(save.shape, save.dtype)).total == 540
        and save.recognition.shape[0] == 27
    )
