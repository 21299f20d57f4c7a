# SPDX-License-Identifier: BSD-2-Clause
"""A step of training of the digits' network on Cherry's golden model, against float64."""

import numpy as np

from quintet.tools import Job, open_target, run_job
from quintet.tools.examples import FOLDER

DIGITS = FOLDER / "cherry" / "digits"
#: Images of a step, and its rate of learning.
BATCH, RATE = 64, 0.05


def exact_step(a):
    """The new weights, in float64, from the job's arrays by name."""
    hidden = np.maximum(a["x"] @ a["w1"], 0)
    powers = np.exp(hidden @ a["w2"] + a["mask"])
    error = (powers / powers.sum(1, keepdims=True) - a["truth"]) * RATE / BATCH
    return {
        "w2": a["w2"] - hidden.T @ error,
        "w1": a["w1"] - a["x"].T @ ((error @ a["w2"].T) * (hidden > 0)),
    }


def test_a_step_of_training():
    names = ("x", "w1", "w2", "truth", "mask")
    arrays = {name: np.load(DIGITS / f"training_{name}.npy").astype(float) for name in names}
    assert len(arrays["x"]) == BATCH
    with open_target("model:cherry?preset=85f") as target:
        result = run_job(Job.load(DIGITS / "training.toml"), target)
    assert result.outcome.status == "done"
    for name, new in exact_step(arrays).items():
        got, old = result.tensors[f"training_new_{name}.npy"], arrays[name]
        # The weights' own rounding, and a tenth of the largest change.
        assert np.abs(got - new).max() <= np.abs(old).max() * 2**-10 + 0.1 * np.abs(new - old).max()
        assert np.corrcoef((got - old).ravel(), (new - old).ravel())[0, 1] > 0.98
