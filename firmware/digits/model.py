# SPDX-License-Identifier: BSD-2-Clause
"""ONNX models of the digits networks: ``python -m quintet.firmware.digits.model`` writes
``mlp.onnx`` and ``mlp_plain.onnx`` again (extra ``compile``).

Weights are trained ones before any quantisation: of the CNN by :mod:`.cnn`, which writes
``cnn.onnx``, of the MLP (64-32-10) by :mod:`.training`. The input is an image of 64 pixels from 0
to 16, as ``digits.npz`` has them; the outputs are the scores of the ten digits. ``mlp_plain.onnx``
is the same network of small integers, for cores without a shift behind their sums
(:mod:`quintet.firmware.opentpu.digits`).
"""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from quintet.gateware.isa.files import write_whole
from quintet.gateware.requirements import extra_command

from ..opentpu import digits as opentpu
from ..opentpu.digits import PLAIN_BIAS, PLAIN_SHIFT
from . import BIAS, FOLDER, float_weights

__all__ = ["cnn_bytes", "main", "mlp_bytes", "plain_bytes"]

#: Operator, inputs, output, name, attributes.
_Node: TypeAlias = tuple[str, list[str], str, str, dict[str, Any]]


def cnn_bytes(model: Mapping[str, tuple[np.ndarray, np.ndarray]]) -> bytes:
    """Builds the CNN's ONNX file, as bytes, from float weights and biases by layer."""
    # The trainer flattens the last map by rows, columns, channels; ONNX flattens channels first.
    hidden = model["dense1"][0].reshape(64, 2, 2, 32).transpose(0, 3, 1, 2).reshape(64, 128)
    constants = {
        "shape": np.array([-1, 1, 8, 8], np.int64),
        "sixteenth": np.float32(1 / 16),
        "dense1.weight": hidden,
    }
    constants.update({f"{layer}.weight": model[layer][0] for layer in ("conv1", "conv2", "dense2")})
    constants.update(
        {f"{layer}.bias": model[layer][1] for layer in ("conv1", "conv2", "dense1", "dense2")}
    )
    nodes: list[_Node] = [
        ("Reshape", ["pixels", "shape"], "map", "reshape", {}),
        ("Mul", ["map", "sixteenth"], "image", "scale", {}),
    ]
    here = "image"
    for layer in ("conv1", "conv2"):
        nodes += [
            (
                "Conv",
                [here, f"{layer}.weight", f"{layer}.bias"],
                layer,
                layer,
                {"pads": [1] * 4, "kernel_shape": [3, 3]},
            ),
            ("Relu", [layer], f"{layer}.relu", f"{layer}.relu", {}),
            (
                "MaxPool",
                [f"{layer}.relu"],
                f"{layer}.pool",
                f"{layer}.pool",
                {"kernel_shape": [2, 2], "strides": [2, 2]},
            ),
        ]
        here = f"{layer}.pool"
    nodes += [
        ("Flatten", [here], "flat", "flatten", {}),
        ("Gemm", ["flat", "dense1.weight", "dense1.bias"], "dense1", "dense1", {"transB": 1}),
        ("Relu", ["dense1"], "dense1.relu", "dense1.relu", {}),
        (
            "Gemm",
            ["dense1.relu", "dense2.weight", "dense2.bias"],
            "scores",
            "dense2",
            {"transB": 1},
        ),
    ]
    return _file("digits", nodes, constants)


def mlp_bytes(weights: np.ndarray, factors: np.ndarray) -> bytes:
    """Builds the MLP's ONNX file, as bytes, from float weights [64, 32] and [32, 10]; the first row
    of ``weights``, times ``BIAS``, is the bias."""
    nodes: list[_Node] = [
        ("Mul", ["pixels", "sixteenth"], "image", "scale", {}),
        ("Gemm", ["image", "dense1.weight", "dense1.bias"], "dense1", "dense1", {}),
        ("Relu", ["dense1"], "dense1.relu", "dense1.relu", {}),
        ("MatMul", ["dense1.relu", "dense2.weight"], "scores", "dense2", {}),
    ]
    pixels = np.concatenate([np.zeros_like(weights[:1]), weights[1:] * np.float32(16)])
    return _file(
        "digits_mlp",
        nodes,
        {
            "sixteenth": np.float32(1 / 16),
            "dense1.weight": pixels,
            "dense1.bias": weights[0] * np.float32(BIAS),
            "dense2.weight": factors,
        },
    )


def plain_bytes(weights: np.ndarray, factors: np.ndarray) -> bytes:
    """Builds the ONNX file, as bytes, of the MLP whose weights, int8 [64, 32] and [32, 10], need no
    scale: whole numbers all the way. Pixel 0, black in every image, becomes the constant that makes
    biases of the first row of ``weights``."""
    constant = np.zeros(64, np.float32)
    constant[0] = PLAIN_BIAS

    def grid(source: str, result: str) -> list[_Node]:
        whole = f"{result}.whole"
        return [
            ("QuantizeLinear", [source, "one", "zero"], whole, f"{result}.quantise", {}),
            ("DequantizeLinear", [whole, "one", "zero"], result, f"{result}.value", {}),
        ]

    def weight(layer: str) -> _Node:
        operands = [f"{layer}.integers", "one", "zero"]
        return "DequantizeLinear", operands, f"{layer}.weight", f"{layer}.weights", {}

    nodes: list[_Node] = [
        ("Mul", ["pixels", "quarter"], "quarters", "scale", {}),
        ("Add", ["quarters", "constant"], "shifted", "constant", {}),
        ("Floor", ["shifted"], "levels", "levels", {}),
        *grid("levels", "image"),
        weight("dense1"),
        ("MatMul", ["image", "dense1.weight"], "dense1", "dense1", {}),
        ("Relu", ["dense1"], "dense1.relu", "dense1.relu", {}),
        *grid("dense1.relu", "hidden"),
        weight("dense2"),
        ("MatMul", ["hidden", "dense2.weight"], "dense2", "dense2", {}),
        *grid("dense2", "scores"),
    ]
    constants = {
        "quarter": np.float32(2.0**-PLAIN_SHIFT),
        "constant": constant,
        "one": np.float32(1),
        "zero": np.int8(0),
        "dense1.integers": weights,
        "dense2.integers": factors,
    }
    return _file("digits_mlp_plain", nodes, constants)


def _file(name, nodes, constants):
    """Builds an ONNX model from ``pixels`` to ``scores``. ``nodes``: (operator, inputs, output,
    name, attributes)."""
    from onnx import TensorProto, helper, numpy_helper

    made = [
        helper.make_node(kind, inputs, [output], called, **attributes)
        for kind, inputs, output, called, attributes in nodes
    ]
    graph = helper.make_graph(
        made,
        name,
        [helper.make_tensor_value_info("pixels", TensorProto.FLOAT, ["inputs", 64])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["inputs", 10])],
        [
            numpy_helper.from_array(np.ascontiguousarray(array), called)
            for called, array in constants.items()
        ],
    )
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 17)], producer_name="quintet", ir_version=8
    )
    return model.SerializeToString(deterministic=True)


def main(argv: Sequence[str] | None = None) -> None:
    """Entry point of this module's command line."""
    parser = argparse.ArgumentParser(
        prog="model", description="Write the digits' MLPs as ONNX models (extra `compile`)."
    )
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder of the models")
    options = parser.parse_args(argv)
    try:
        plain = [layer.weights for layer in opentpu.layers()]
        models = {
            "mlp.onnx": mlp_bytes(*float_weights()),
            "mlp_plain.onnx": plain_bytes(*plain),
        }
    except ImportError:
        parser.error(f"needs onnx: {extra_command('compile')}")
    for name, data in models.items():
        write_whole(options.out / name, data)
        print(f"wrote {options.out / name}")


if __name__ == "__main__":
    main()
