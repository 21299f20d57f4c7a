# SPDX-License-Identifier: BSD-2-Clause
"""Handwritten digits on Cherry, in floating point: the network 64-32-10 on the 540 held-out images
of the UCI set, and a step of its training.

* ``JOB``: the job that ships, all images in one program list; ``inputs()`` its arrays;
  ``evaluate(job, saved)``: predictions and accuracy.
* ``network(params)`` -> the module it is made of; ``training_step(params)`` -> forward, backward
  and the new weights of one batch; ``step_inputs()`` its arrays, ``exact_step()`` the same in
  float64.

The images, and the weights before any quantisation, are those of ``firmware/digits``.
``python -m quintet.firmware.cherry.digits`` writes the job again.
"""

from pathlib import Path
from typing import Any

import numpy as np

from quintet.firmware.digits import (
    CLASSES,
    IMAGES,
    evaluate,
    float_weights,
    images,
    labels,
    with_bias,
)
from quintet.tools.kernels.cherry import Module, write_job
from quintet.tools.kernels.cherry.module import Matrix

__all__ = [
    "BATCH",
    "CLASSES",
    "FOLDER",
    "JOB",
    "RATE",
    "evaluate",
    "exact_step",
    "inputs",
    "network",
    "step_inputs",
    "training_step",
    "write_shipped",
]

FOLDER = Path(__file__).resolve().parent
JOB = FOLDER / "digits.toml"
#: Images of a training step, and its rate of learning.
BATCH, RATE = 64, 0.05
#: Columns of the classes, whole tiles.
_COLUMNS = 12


def _weights():
    """64 x 32 and 32 x 12, the two columns of no class zero."""
    w1, w2 = (w.astype(np.float64) for w in float_weights())
    # The training's temperature divides the logits by ten.
    return w1, np.pad(w2 / 10, ((0, 0), (0, _COLUMNS - CLASSES)))


def inputs() -> dict[str, np.ndarray]:
    """Arrays of the job, by name."""
    w1, w2 = _weights()
    return {"x": with_bias(images()).astype(np.float64), "w1": w1, "w2": w2}


def network(params: dict[str, Any], count: int = IMAGES) -> Module:
    """The module of the forward pass for ``count`` images: inputs x, w1, w2, output logits."""
    m = Module(params)
    # Pixels are whole numbers of five bits: bfloat16 holds them.
    x, w1, w2 = (
        m.input("x", count, 64, fmt="bf16"),
        m.input("w1", 64, 32),
        m.input("w2", 32, _COLUMNS),
    )
    hidden = m.matmul(x, w1)
    m.output("logits", m.matmul(m.unary("relu", hidden, hidden), w2))
    return m


def step_inputs() -> dict[str, np.ndarray]:
    """Arrays of :func:`training_step` by name: a batch, its classes as ones, the weights, and -inf
    in the columns of no class."""
    arrays = inputs()
    truth = np.zeros((BATCH, _COLUMNS))
    truth[np.arange(BATCH), labels(BATCH)] = 1
    mask = np.zeros((1, _COLUMNS))
    mask[0, CLASSES:] = -np.inf
    return {
        "x": arrays["x"][:BATCH],
        "w1": arrays["w1"],
        "w2": arrays["w2"],
        "truth": truth,
        "mask": mask,
    }


def training_step(params: dict[str, Any]) -> Module:
    """Forward and backward pass of a batch by the cross-entropy loss; outputs new_w1 and new_w2."""
    m = Module(params)
    x, w1, w2 = m.input("x", BATCH, 64), m.input("w1", 64, 32), m.input("w2", 32, _COLUMNS)
    truth, mask = m.input("truth", BATCH, _COLUMNS), m.input("mask", 1, _COLUMNS)
    hidden = m.matmul(x, w1)
    m.unary("relu", hidden, hidden)
    scores = m.binary("add", m.matmul(hidden, w2), mask)
    assert isinstance(scores, Matrix)  # small enough for the scratchpad
    chances = m.softmax(scores)
    share = m.constant(f"{RATE / BATCH}")
    error = m.chain(
        BATCH,
        _COLUMNS,
        [
            ("INPUT", chances),
            ("WEIGHTS", truth),
            "sub",
            "copy INPUT, OUTPUT",
            ("WEIGHTS", share),
            "mul",
        ],
    )
    back = m.matmul(error, w2.transposed)
    slope = m.chain(
        BATCH, 32, [("INPUT", hidden), "gtz", "copy INPUT, OUTPUT", ("WEIGHTS", back), "mul"]
    )
    m.output("new_w2", m.binary("sub", w2, m.matmul(hidden.transposed, error)))
    m.output("new_w1", m.binary("sub", w1, m.matmul(x.transposed, slope)))
    return m


def exact_step() -> dict[str, np.ndarray]:
    """The new weights of :func:`training_step`, computed in float64."""
    a = step_inputs()
    hidden = np.maximum(a["x"] @ a["w1"], 0)
    powers = np.exp(hidden @ a["w2"] + a["mask"])
    error = (powers / powers.sum(1, keepdims=True) - a["truth"]) * RATE / BATCH
    return {
        "new_w2": a["w2"] - hidden.T @ error,
        "new_w1": a["w1"] - a["x"].T @ ((error @ a["w2"].T) * (hidden > 0)),
    }


def write_shipped(params: dict[str, Any], folder: Path = FOLDER) -> Path:
    """Writes the shipped job; returns its path."""
    comment = (
        f"Handwritten digits, network 64-32-10 in 18-bit floats: all {IMAGES} held-out images.\n"
        "Written by python -m quintet.firmware.cherry.digits"
    )
    return write_job(
        network(params),
        inputs(),
        folder,
        "digits",
        labels=labels(),
        classes=CLASSES,
        comment=comment,
    )
