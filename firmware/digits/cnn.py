# SPDX-License-Identifier: BSD-2-Clause
"""Training of the digits CNN: ``python -m quintet.firmware.digits.cnn`` writes ``cnn.onnx``. Needs
the extras ``train`` and ``compile``; takes a minute.

A network in the manner of LeNet on the 8x8 images of the UCI handwritten digits: 3x3 1->16, ReLU,
2x2 max-pool; 3x3 16->32, ReLU, 2x2 max-pool; 128->64, ReLU; 64->10. The images that are held out
decide about nothing.
"""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from quintet.gateware.isa.files import write_whole

from . import FOLDER
from .model import cnn_bytes
from .training import augment, load

__all__ = ["LAYERS", "forward", "main", "train"]

#: name -> shape of the weights, convolutions [out, in, rows, columns], the others [out, in].
LAYERS = {"conv1": (16, 1, 3, 3), "conv2": (32, 16, 3, 3), "dense1": (64, 128), "dense2": (10, 64)}


def _patches(values):
    """Extracts 3x3 patches, padded with zeros: [images, h, w, c] -> [images, h, w, 9 * c] in the
    order row, column, channel."""
    padded = np.pad(values, ((0, 0), (1, 1), (1, 1), (0, 0)))
    h, w = values.shape[1:3]
    return np.concatenate(
        [padded[:, r : r + h, c : c + w] for r in range(3) for c in range(3)], axis=3
    )


def as_matrix(weights: np.ndarray) -> np.ndarray:
    """Reshapes weights to the matrix by which rows of inputs are multiplied."""
    return (
        weights.transpose(2, 3, 1, 0).reshape(-1, weights.shape[0])
        if weights.ndim == 4
        else weights.T
    )


def _pool(values):
    n, h, w, c = values.shape
    return values.reshape(n, h // 2, 2, w // 2, 2, c).max(axis=(2, 4))


def forward(
    model: Mapping[str, tuple[np.ndarray, np.ndarray]], images: np.ndarray
) -> dict[str, np.ndarray]:
    """Forward pass: values of every layer, in float. ``images`` [count, 8, 8, 1] from 0 to 1;
    ``model``: name -> (weights, bias)."""
    found = {"image": images}
    x = images
    for name in LAYERS:
        weights, bias = model[name]
        if weights.ndim == 4:
            x = _patches(x)
        elif x.ndim == 4:
            x = x.reshape(len(x), -1)
        found[name + ".in"] = x
        x = x @ as_matrix(weights) + bias
        if name != "dense2":
            x = np.maximum(x, 0)
        found[name] = x
        if weights.ndim == 4:
            x = _pool(x)
            found[name + ".pooled"] = x
    return found


def _unpatch(grads, channels):
    """Backward pass of :func:`_patches`."""
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


def main(argv: Sequence[str] | None = None) -> None:
    """Entry point of this module's command line."""
    parser = argparse.ArgumentParser(
        prog="cnn", description="Train the digits' CNN (extras `train` and `compile`)."
    )
    parser.add_argument("--out", type=Path, default=FOLDER / "cnn.onnx")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--epochs", type=int, default=60)
    options = parser.parse_args(argv)
    (images, labels), (test, answers), _ = load(parser)
    model = train(images, labels, seed=options.seed, epochs=options.epochs)
    for what, some, wanted in (("training", images, labels), ("held out", test, answers)):
        scores = forward(model, (some / 16).astype(np.float32).reshape(-1, 8, 8, 1))["dense2"]
        print(f"{what}: {(scores.argmax(axis=1) == wanted).mean():.4f}")
    write_whole(options.out, cnn_bytes(model))
    print(f"wrote {options.out}")


if __name__ == "__main__":
    main()
