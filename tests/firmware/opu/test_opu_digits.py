# SPDX-License-Identifier: BSD-2-Clause
"""The digits CNN of the OPU: accuracy, the shipped jobs on models of every build, and that what
ships is current."""

import numpy as np
import pytest

from quintet.firmware.opu import digits, train_digits
from quintet.tools import Job, open_target, run_job
from quintet.tools.kernels.opu import KernelError


def run(name, preset):
    with open_target(f"model:opu?preset={preset}") as target:
        result = run_job(Job.load(digits.job(name)), target)
    assert result.outcome.status == "done"
    return digits.evaluate(digits.job(name), result.tensors[f"{name}_dense2.npy"])


@pytest.mark.parametrize("preset", ["85f", "45f", "25f"])
def test_shipped_job_on_every_ecp5_build(preset):
    result = run("digits", preset)
    assert np.array_equal(result.logits, digits.logits()) and result.total == 540
    assert result.accuracy >= max(0.985, digits.float_accuracy() - 0.01)


@pytest.mark.parametrize("preset", ["up5k", "hx8k"])
def test_shipped_jobs_of_the_small_engine_fit_their_memory(preset):
    job = Job.load(digits.job(f"digits_{preset}"))
    ends = [load.at + load.size for load in job.loads] + [save.at + save.size for save in job.saves]
    ends += [job.registers["region_base[2]"] + job.registers["region_limit[2]"]]
    assert max(ends) <= 64 << 10
    result = run(f"digits_{preset}", preset)
    assert np.array_equal(result.logits, digits.logits(10)) and result.correct >= 9


def test_all_images_in_several_runs():
    with open_target("model:opu?preset=up5k") as target:
        result = digits.classify(target, images=25, memory=64 << 10)
    assert np.array_equal(result.logits, digits.logits(25)) and result.total == 25


def test_shipped_files_are_current(tmp_path):
    for path in digits.write_shipped(tmp_path):
        for suffix in (".toml", ".s"):
            shipped = digits.FOLDER / path.with_suffix(suffix).name
            assert shipped.read_text() == path.with_suffix(suffix).read_text(), (
                f"{shipped.name}: write it again"
            )
        with (
            np.load(path.with_suffix(".npz")) as new,
            np.load(digits.FOLDER / f"{path.stem}.npz") as old,
        ):
            assert new.files == old.files and all(np.array_equal(new[k], old[k]) for k in new.files)


def test_refusals(tmp_path):
    with pytest.raises(
        ValueError, match="no digits job 'big' ships, only digits, digits_up5k, digits_hx8k"
    ):
        digits.job("big")
    from quintet.gateware.cores.opu.params import SPACE

    with pytest.raises(KernelError, match="takes .* bytes of memory .*, there are 65536"):
        digits.make_job(tmp_path, SPACE.resolve("up5k"), images=11, memory=65536)


def test_training_script(tmp_path, capsys):
    """A short training already gives a usable network, in the form that ships."""
    pytest.importorskip("sklearn")
    out = tmp_path / "weights.npz"
    train_digits.main(["--out", str(out), "--epochs", "4"])
    report = capsys.readouterr().out
    held = report.split("held out: ")[1].split("\n")[0]
    floats, integers = (float(part.split()[1]) for part in held.split(", "))
    assert floats > 0.85 and integers > floats - 0.03
    with np.load(out) as new, np.load(digits.FOLDER / "weights.npz") as shipped:
        assert new.files == shipped.files
        assert all(
            new[k].shape == shipped[k].shape and new[k].dtype == shipped[k].dtype for k in new.files
        )


def test_gradients_are_those_of_the_loss():
    rng = np.random.default_rng(1)
    model = {
        name: [rng.normal(0, 0.3, shape), rng.normal(0, 0.1, shape[0])]
        for name, shape in train_digits.LAYERS.items()
    }
    images, weights = rng.random((3, 8, 8, 1)), rng.normal(0, 1, (3, 10))

    def loss():
        return float((train_digits.forward(model, images)["dense2"] * weights).sum())

    slopes = train_digits._backward(model, train_digits.forward(model, images), weights)
    for name in train_digits.LAYERS:
        for k in (0, 1):
            flat = model[name][k].ravel()
            for index in rng.integers(0, flat.size, 4):
                before = flat[index]
                flat[index] = before + 1e-5
                high = loss()
                flat[index] = before - 1e-5
                low = loss()
                flat[index] = before
                assert slopes[name][k].ravel()[index] == pytest.approx(
                    (high - low) / 2e-5, rel=1e-3, abs=1e-6
                )
