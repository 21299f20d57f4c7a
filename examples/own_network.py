# SPDX-License-Identifier: BSD-2-Clause
"""A network of your own, from numpy to a core: train two layers on two interleaved half moons,
write them as ONNX, compile them for the OPU and run them on its golden model."""

import argparse
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from quintet import compile_model

HIDDEN = 16


def half_moons(count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Points [count, 2] of two half circles, and the circle (0 or 1) of each."""
    label = rng.integers(0, 2, count)
    angle = rng.uniform(0, np.pi, count)
    x = np.where(label, 1 - np.cos(angle), np.cos(angle))
    y = np.where(label, 0.5 - np.sin(angle), np.sin(angle))
    points = np.stack([x, y], 1) + rng.normal(0, 0.1, (count, 2))
    return points.astype(np.float32), label


def train(x: np.ndarray, label: np.ndarray, rng: np.random.Generator) -> list[np.ndarray]:
    """Weights and biases of two dense layers, by gradient descent on the cross-entropy."""
    w1, b1 = rng.normal(0, 1, (2, HIDDEN)), np.zeros(HIDDEN)
    w2, b2 = rng.normal(0, 0.3, (HIDDEN, 2)), np.zeros(2)
    target = np.eye(2)[label]
    for _ in range(1500):
        hidden = np.maximum(x @ w1 + b1, 0)
        scores = np.exp(hidden @ w2 + b2)
        error = (scores / scores.sum(1, keepdims=True) - target) / len(x)
        back = (error @ w2.T) * (hidden > 0)
        for array, gradient in (
            (w2, hidden.T @ error),
            (b2, error.sum(0)),
            (w1, x.T @ back),
            (b1, back.sum(0)),
        ):
            array -= 0.5 * gradient
    return [array.astype(np.float32) for array in (w1, b1, w2, b2)]


def save(path: Path, arrays: list[np.ndarray]) -> None:
    """Write the network as ONNX: Gemm, Relu, Gemm."""
    names = ("w1", "b1", "w2", "b2")
    graph = helper.make_graph(
        [
            helper.make_node("Gemm", ["x", "w1", "b1"], ["sum"]),
            helper.make_node("Relu", ["sum"], ["hidden"]),
            helper.make_node("Gemm", ["hidden", "w2", "b2"], ["scores"]),
        ],
        "moons",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["inputs", 2])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["inputs", 2])],
        [numpy_helper.from_array(array, name) for array, name in zip(arrays, names, strict=True)],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--for", dest="target", default="model:opu", help="target to compile for")
    target = parser.parse_args().target
    rng = np.random.default_rng(1)
    points, labels = half_moons(400, rng)
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "moons.onnx"
        save(model, train(points, labels, rng))
        compiled = compile_model(model, target, calibration=points)
    test_points, test_labels = half_moons(200, rng)
    with compiled.open() as session:
        scores = session(test_points)
    right = int((scores.argmax(1) == test_labels).sum())
    print(f"{right} of {len(test_labels)} points right on {target}")


if __name__ == "__main__":
    main()
