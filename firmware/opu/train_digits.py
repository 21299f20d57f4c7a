# SPDX-License-Identifier: BSD-2-Clause
"""Trains the digits CNN: ``python -m quintet.firmware.opu.train_digits``. Needs the extra
``train``; takes a minute.

A network in the manner of LeNet on the 8x8 images of the UCI handwritten digits: 3x3 1->16, ReLU,
2x2 max-pool; 3x3 16->32, ReLU, 2x2 max-pool; 128->64, ReLU; 64->10. The split is that of
``firmware/digits``: images that are held out decide about nothing.
"""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..digits.training import augment, load
from .digits import inputs_of, network_of
from .float_network import LAYERS, as_matrix, forward

__all__ = ["main", "quantise", "train"]


def _unpatch(grads, channels):
    """Backward pass of :func:`~.float_network._patches`."""
    n, h, w, _ = grads.shape
    padded = np.zeros((n, h + 2, w + 2, channels), grads.dtype)
    for k in range(9):
        padded[:, k // 3 : k // 3 + h, k % 3 : k % 3 + w] += grads[
            ..., k * channels : (k + 1) * channels
        ]
    return padded[:, 1:-1, 1:-1]


def _unpool(grads, values, pooled):
    wide = pooled.repeat(2, axis=1).repeat(2, axis=2)
    return np.where(values == wide, grads.repeat(2, axis=1).repeat(2, axis=2), 0)


def _backward(model, found, grad):
    """Gradients of weights and biases, by name."""
    result = {}
    for name in reversed(LAYERS):
        weights, _ = model[name]
        if weights.ndim == 4:
            pooled = found[name + ".pooled"]
            grad = _unpool(grad.reshape(pooled.shape), found[name], pooled)
        if name != "dense2":
            grad = grad * (found[name] > 0)
        x = found[name + ".in"]
        slope = x.reshape(-1, x.shape[-1]).T @ grad.reshape(-1, grad.shape[-1])
        if weights.ndim == 4:
            out, channels, _, _ = weights.shape
            slope = slope.reshape(3, 3, channels, out).transpose(3, 2, 0, 1)
        else:
            slope = slope.T
        result[name] = slope, grad.reshape(-1, grad.shape[-1]).sum(axis=0)
        grad = grad @ as_matrix(weights).T
        if weights.ndim == 4:
            grad = _unpatch(grad, weights.shape[1])
    return result


def train(
    images: np.ndarray,
    labels: np.ndarray,
    *,
    seed: int = 1,
    epochs: int = 60,
    rate: float = 0.003,
    decay: float = 1e-4,
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Trains the CNN by Adam on the cross-entropy, with random shifts and variations of the images.
    ``images`` [count, 64] of 0 to 16.

    Returns the model: name -> (weights, bias) in float32.
    """
    rng = np.random.default_rng(seed)
    trained: dict[str, list[np.ndarray]] = {}
    for name, shape in LAYERS.items():
        spread = np.sqrt(2 / np.prod(shape[1:]))
        trained[name] = [
            rng.normal(0, spread, shape).astype(np.float32),
            np.zeros(shape[0], np.float32),
        ]
    moments = {
        name: [[np.zeros_like(p), np.zeros_like(p)] for p in parts]
        for name, parts in trained.items()
    }
    size, step = 64, 0
    steps = epochs * (len(images) // size)
    for _ in range(epochs):
        order = rng.permutation(len(images))
        varied = (augment(images, rng, 0.5) / 16).astype(np.float32).reshape(-1, 8, 8, 1)
        for at in range(0, len(images) - size + 1, size):
            index = order[at : at + size]
            model = {name: (weights, bias) for name, (weights, bias) in trained.items()}
            found = forward(model, varied[index])
            grad = np.exp(found["dense2"] - found["dense2"].max(axis=1, keepdims=True))
            grad /= grad.sum(axis=1, keepdims=True)
            grad[np.arange(size), labels[index]] -= 1
            step += 1
            speed = rate * 0.5 * (1 + np.cos(np.pi * step / steps)) + 1e-5
            for name, slopes in _backward(model, found, grad / size).items():
                for k, slope in enumerate(slopes):
                    first, second = moments[name][k]
                    first += 0.1 * (slope - first)
                    second += 0.01 * (slope * slope - second)
                    move = first / (1 - 0.9**step) / (np.sqrt(second / (1 - 0.99**step)) + 1e-8)
                    trained[name][k] = trained[name][k] * (1 - decay * (k == 0)) - (
                        speed * move
                    ).astype(np.float32)
    return {name: (weights, bias) for name, (weights, bias) in trained.items()}


def _fraction(most, limit, highest=14):
    """The largest fraction length with which ``most`` stays below ``limit``."""
    return min(highest, int(np.floor(np.log2(limit / most))))


def quantise(
    model: Mapping[str, tuple[np.ndarray, np.ndarray]], images: np.ndarray
) -> dict[str, np.ndarray]:
    """Integer weights and fraction lengths of a float model.

    Parameters
    ----------
    model : as :func:`train` returns it
    images : training images [count, 64], whose values determine the range of each layer

    Returns
    -------
    dict of arrays: ``<layer>_w`` int8, ``<layer>_b`` int16, ``<layer>_p`` (fraction lengths of
    weights, bias and result)
    """
    found = forward(model, (images / 16).astype(np.float32).reshape(-1, 8, 8, 1))
    result = {}
    for name, (weights, bias) in model.items():
        p = (
            _fraction(np.abs(weights).max(), 127.49),
            _fraction(np.abs(bias).max(), 32767),
            _fraction(np.quantile(np.abs(found[name]), 0.9999), 127.49),
        )
        result[f"{name}_w"] = np.rint(weights * 2.0 ** p[0]).astype(np.int8)
        result[f"{name}_b"] = np.rint(bias * 2.0 ** p[1]).astype(np.int16)
        result[f"{name}_p"] = np.array(p, np.int8)
    return result


def main(argv: Sequence[str] | None = None) -> None:
    """Command line of this module."""
    parser = argparse.ArgumentParser(
        prog="train_digits", description="Train the digits CNN (extra `train`)."
    )
    parser.add_argument(
        "--out", type=Path, default=Path(__file__).resolve().parent / "digits" / "weights.npz"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--epochs", type=int, default=60)
    options = parser.parse_args(argv)
    from quintet.tools.kernels.opu import run_network

    (images, labels), (test, answers), _ = load(parser)
    model = train(images, labels, seed=options.seed, epochs=options.epochs)
    whole = quantise(model, images)

    def accuracies(some, wanted):
        floats = forward(model, (some / 16).astype(np.float32).reshape(-1, 8, 8, 1))["dense2"]
        integers = run_network(network_of(whole, len(some)), {"image": inputs_of(some)})[
            "dense2"
        ].reshape(len(some), -1)
        return [float((logits.argmax(axis=1) == wanted).mean()) for logits in (floats, integers)]

    print("training: float {:.4f}, int8 {:.4f}".format(*accuracies(images, labels)))
    print("held out: float {:.4f}, int8 {:.4f}".format(*accuracies(test, answers)))
    for name in LAYERS:
        print(f"{name}: fraction lengths of weights, bias, result {whole[f'{name}_p'].tolist()}")
    options.out.parent.mkdir(parents=True, exist_ok=True)
    floats = {f"{name}_float": w for name, (w, _) in model.items()}
    floats |= {f"{name}_float_b": b for name, (_, b) in model.items()}
    arrays: dict[str, Any] = {**whole, **floats}
    np.savez_compressed(options.out, **arrays)
    print(f"wrote {options.out}")


if __name__ == "__main__":
    main()
