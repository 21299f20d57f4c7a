# SPDX-License-Identifier: BSD-2-Clause
"""Handwritten digits: the 540 test images of the UCI set, which every core's digits package
classifies, and a float network for them.

* ``images(count)``, ``labels(count)``: the first images, uint8 [count, 64] of pixels 0 to 16, and
their labels.
* ``float_weights()``: the network 64-32-10 with ReLU, before any quantisation;
  ``with_bias(images)`` are its inputs; ``float_accuracy()``.
* ``result(scores)``, ``evaluate(job, saved)`` -> :class:`Result`: predictions and accuracy.

Source and licence of the images: ``SOURCE.md``. :mod:`.training` makes ``digits.npz``.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from quintet.gateware.isa.files import load_archive, load_array
from quintet.tools.jobs.job import Job

__all__ = [
    "BIAS",
    "CLASSES",
    "FOLDER",
    "IMAGES",
    "Result",
    "evaluate",
    "float_accuracy",
    "float_weights",
    "images",
    "labels",
    "result",
    "with_bias",
]

FOLDER = Path(__file__).resolve().parent
IMAGES, CLASSES = 540, 10
#: Input 0 of the float network, where the images have a pixel that is always black: its weights are
#: the bias.
BIAS = 127


@dataclass(frozen=True)
class Result:
    """Classification result: ``predictions`` uint8 [images], ``logits`` [images, 10], ``correct``
    of ``total``."""

    predictions: np.ndarray
    logits: np.ndarray
    correct: int
    total: int

    @property
    def accuracy(self) -> float:
        """Fraction of the images that were classified correctly."""
        return self.correct / self.total


@cache
def _data():
    return load_archive(FOLDER / "digits.npz")


def images(count: int = IMAGES) -> np.ndarray:
    """First ``count`` test images, uint8 [count, 64], pixels 0 to 16."""
    return _data()["images"][:count].copy()


def labels(count: int = IMAGES) -> np.ndarray:
    """Labels of the first ``count`` test images, uint8 [count]."""
    return _data()["labels"][:count].copy()


def with_bias(images: np.ndarray) -> np.ndarray:
    """Converts pixels 0 to 16 [count, 64] to int8 inputs, with :data:`BIAS` in place of pixel 0."""
    inputs = np.array(images, np.int8)
    inputs[:, 0] = BIAS
    return inputs


def float_weights() -> tuple[np.ndarray, np.ndarray]:
    """Weights of the float network, float32 [64, 32] and [32, 10]."""
    return _data()["float_w1"].copy(), _data()["float_w2"].copy()


def float_accuracy() -> float:
    """Accuracy of the float network on the test images."""
    w1, w2 = float_weights()
    return result(np.maximum(with_bias(images()).astype(np.float32) @ w1, 0) @ w2).accuracy


def result(scores: np.ndarray) -> Result:
    """Builds the :class:`Result` from the scores of the first images, [count, 10]."""
    predictions = scores.argmax(axis=1).astype(np.uint8)
    return Result(predictions, scores, int((predictions == labels(len(scores))).sum()), len(scores))


def evaluate(job: Job | str | Path, saved: np.ndarray | str | Path) -> Result:
    """Builds the :class:`Result` of a run.

    Parameters
    ----------
    job : the job that ran, or its path; it describes the layout of the scores
    saved : the tensor that it saved, or the path of its .npy
    """
    job = job if isinstance(job, Job) else Job.load(job)
    [recognition] = [save.recognition for save in job.saves if save.recognition]
    return result(recognition.scores(saved if isinstance(saved, np.ndarray) else load_array(saved)))
