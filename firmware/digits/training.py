# SPDX-License-Identifier: BSD-2-Clause
"""Training of the digits networks, and the split of the images: ``python -m
quintet.firmware.digits.training`` writes ``digits.npz``.

Needs the extra ``train``. Nothing but the 1,257 images that are not held out decides about any
weight.
"""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from quintet.gateware.requirements import extra_command

from . import FOLDER, IMAGES, with_bias

__all__ = [
    "CALIBRATION",
    "HIDDEN",
    "accuracy",
    "augment",
    "best_of",
    "load",
    "main",
    "margin",
    "split",
    "train",
]

HIDDEN = 32
#: Training images that are shipped, to calibrate a quantiser with.
CALIBRATION = 128
_SEED = 2026


def split(
    images: np.ndarray, labels: np.ndarray
) -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray], np.ndarray]:
    """Splits the images: (training images, labels), (test images, labels), and the indices of the
    test images; fixed by a seed."""
    order = np.random.default_rng(_SEED).permutation(len(images))
    held, rest = np.sort(order[:IMAGES]), np.sort(order[IMAGES:])
    return (images[rest], labels[rest]), (images[held], labels[held]), held


def load(
    parser: argparse.ArgumentParser,
) -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray], np.ndarray]:
    """Loads the whole set, which scikit-learn ships, and returns its :func:`split`; without
    scikit-learn an error of ``parser``."""
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        parser.error(f"needs scikit-learn: {extra_command('train')}")
    data = load_digits()
    return split(data.data.astype(np.int64), data.target)


def _shift(images, distance, axis):
    """Shifts images [count, 8, 8] by a fraction of a pixel, with linear interpolation."""
    padding = [(0, 0), (0, 0), (0, 0)]
    padding[axis] = (1, 1)
    padded = np.pad(images, padding)
    first, last = [slice(None)] * 3, [slice(None)] * 3
    first[axis], last[axis] = slice(None, -2), slice(2, None)
    moved = np.where((distance > 0)[:, None, None], padded[tuple(first)], padded[tuple(last)])
    part = np.abs(distance)[:, None, None]
    return images * (1 - part) + moved * part


def augment(images: np.ndarray, rng: np.random.Generator, amount: float) -> np.ndarray:
    """Augments images by random shifts up to ``amount`` pixels, brightness and noise; the result is
    rounded to pixels."""
    count = len(images)
    result = images.reshape(-1, 8, 8).astype(np.float32)
    result = _shift(
        _shift(result, rng.uniform(-amount, amount, count), 2),
        rng.uniform(-amount, amount, count),
        1,
    )
    result = result * rng.uniform(0.85, 1.1, (count, 1, 1)) + rng.normal(0, 0.5, result.shape)
    return np.clip(np.rint(result), 0, 16).astype(np.int64).reshape(-1, 64)


def train(
    images: np.ndarray,
    labels: np.ndarray,
    *,
    seed: int,
    epochs: int = 100,
    rate: float = 0.02,
    shift: float = 0.3,
) -> list[np.ndarray]:
    """Trains a two-layer network by Adam on the cross-entropy. Returns its weights, two float32
    matrices."""
    rng = np.random.default_rng(seed)
    scale = (1 / 16, 1.0)
    weights = [
        rng.normal(0, scale[0] * 0.35, (64, HIDDEN)),
        rng.normal(0, scale[1] * 0.5, (HIDDEN, 10)),
    ]
    weights = [w.astype(np.float32) for w in weights]
    first = [np.zeros_like(w) for w in weights]
    second = [np.zeros_like(w) for w in weights]
    size, step = 64, 0
    steps = epochs * (len(images) // size)
    for _ in range(epochs):
        order = rng.permutation(len(images))
        inputs = with_bias(augment(images, rng, shift)).astype(np.float32)
        for at in range(0, len(images) - size + 1, size):
            index = order[at : at + size]
            w1, w2 = weights
            sums = inputs[index] @ w1
            hidden = np.maximum(sums, 0)
            logits = hidden @ w2
            grad = np.exp(logits - logits.max(axis=1, keepdims=True))
            grad /= grad.sum(axis=1, keepdims=True)
            grad[np.arange(size), labels[index]] -= 1
            back = (grad @ w2.T) * (sums > 0)
            step += 1
            speed = rate * 0.5 * (1 + np.cos(np.pi * step / steps)) + 1e-4
            for k, slope in enumerate((inputs[index].T @ back, hidden.T @ grad)):
                first[k] = 0.9 * first[k] + 0.1 * slope
                second[k] = 0.99 * second[k] + 0.01 * slope * slope
                move = first[k] / (1 - 0.9**step) / (np.sqrt(second[k] / (1 - 0.99**step)) + 1e-8)
                weights[k] -= speed * scale[k] * move
                weights[k] *= 1 - 0.02 * speed
    return weights


def accuracy(logits: np.ndarray, labels: np.ndarray) -> float:
    """Fraction of the images whose largest score belongs to their label."""
    return float((logits.argmax(axis=1) == labels).mean())


def margin(logits: np.ndarray, labels: np.ndarray) -> float:
    """Mean difference between the correct logit and the best wrong one, clipped to +-30: a measure
    of training progress."""
    rows = np.arange(len(labels))
    others = logits.astype(np.float64).copy()
    others[rows, labels] = -np.inf
    return float(np.clip(logits[rows, labels] - others.max(axis=1), -30, 30).mean())


def best_of(made: Callable[[int], tuple[float, Any]], seeds: int) -> Any:
    """Trains a network for each of ``seeds`` and returns the one with the best score;
    ``made(seed)`` returns score and network."""
    return max(map(made, range(seeds)), key=lambda pair: pair[0])[1]


def main(argv: Sequence[str] | None = None) -> None:
    """Entry point of this module's command line."""
    parser = argparse.ArgumentParser(
        prog="training", description="Train the float network of the digits (extra `train`)."
    )
    parser.add_argument("--out", type=Path, default=FOLDER / "digits.npz")
    parser.add_argument(
        "--seeds", type=int, default=3, help="networks, the best on training data is kept"
    )
    parser.add_argument("--epochs", type=int, default=100)
    options = parser.parse_args(argv)
    (images, labels), (test, answers), held = load(parser)

    def made(seed):
        weights = train(images, labels, seed=seed, epochs=options.epochs)
        logits = np.maximum(with_bias(images) @ weights[0], 0) @ weights[1]
        score = accuracy(logits, labels), margin(logits, labels)
        print(
            f"float, seed {seed}: training accuracy {score[0]:.4f}, margin {score[1]:.2f}",
            flush=True,
        )
        return score, weights

    w1, w2 = best_of(made, options.seeds)
    print(f"float: held out {accuracy(np.maximum(with_bias(test) @ w1, 0) @ w2, answers):.4f}")
    options.out.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(
        options.out,
        images=test.astype(np.uint8),
        labels=answers.astype(np.uint8),
        held_out=held.astype(np.uint16),
        float_w1=w1,
        float_w2=w2,
        calibration=images[:CALIBRATION].astype(np.uint8),
    )
    print(f"wrote {options.out}")


if __name__ == "__main__":
    main()
