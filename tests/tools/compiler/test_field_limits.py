# SPDX-License-Identifier: BSD-2-Clause
"""Lengths, strides and counts at the limits of instruction fields and one past them, through the
compiler: each core gives the right numbers, or refuses the network by name."""

import numpy as np
import pytest

pytest.importorskip("onnx")

import onnx
from onnx import TensorProto, helper, numpy_helper

from quintet import compile_model
from quintet.tools.compiler.backends import backend_names
from quintet.tools.errors import InputError


def weights(*shape):
    return np.random.default_rng(0).normal(size=shape) / shape[-1]


#: What ``n`` counts -> operator, its attributes, shapes of input and weights, the result in numpy.
LAYERS = {
    "places of an average": (
        "GlobalAveragePool",
        lambda n: {},
        lambda n: (2, 1, n),
        None,
        lambda x, w: x.mean(axis=(2, 3), keepdims=True),
    ),
    "places of a maximum": (
        "MaxPool",
        lambda n: {"kernel_shape": [1, n]},
        lambda n: (2, 1, n),
        None,
        lambda x, w: x.max(axis=(2, 3), keepdims=True),
    ),
    "elements": ("Relu", lambda n: {}, lambda n: (n,), None, lambda x, w: np.maximum(x, 0)),
    "inputs of a product": (
        "MatMul",
        lambda n: {},
        lambda n: (n,),
        lambda n: (n, 2),
        lambda x, w: x @ w,
    ),
    "outputs of a product": (
        "MatMul",
        lambda n: {},
        lambda n: (2,),
        lambda n: (2, n),
        lambda x, w: x @ w,
    ),
    "stride": (
        "Conv",
        lambda n: {"strides": [1, n]},
        lambda n: (1, 1, n + 1),
        lambda n: (1, 1, 1, 1),
        lambda x, w: x[..., :: x.shape[-1] - 1] * w[0, 0, 0, 0],
    ),
    "output channels": (
        "Conv",
        lambda n: {},
        lambda n: (1, 1, 2),
        lambda n: (n, 1, 1, 1),
        lambda x, w: x * w.reshape(1, -1, 1, 1),
    ),
    "rows": (
        "Conv",
        lambda n: {},
        lambda n: (1, n, 1),
        lambda n: (1, 1, 1, 1),
        lambda x, w: x * w[0, 0, 0, 0],
    ),
}
#: (Core, what is counted) -> the largest number that it takes. All others take 2,048 at least.
LARGEST = {
    ("imagine", "rows"): 256,
    ("opentpu", "places of a maximum"): 15,
    ("opu", "places of an average"): 127,
    ("opu", "places of a maximum"): 15,
    ("opu", "stride"): 7,
    ("opu", "rows"): 1023,
    ("pim", "places of a maximum"): 2047,
}
SIZES = [
    2047,
    2048,
    2053,  # a prime
    *(
        pytest.param(n, marks=pytest.mark.long)
        for n in (127, 128, 131, 255, 256, 257, 1023, 1024, 1031, 4093, 4095, 4096, 65536, 65537)
    ),
]


@pytest.mark.parametrize("isa", backend_names())
@pytest.mark.parametrize("size", SIZES)
def test_fields_at_their_limits(tmp_path, isa, size):
    for what, (operator, attributes, shape, weight_shape, result) in LAYERS.items():
        w = None if weight_shape is None else weights(*weight_shape(size)).astype(np.float32)
        operands = ["x", *(["w"] if w is not None else [])]
        graph = helper.make_graph(
            [
                helper.make_node(operator, operands, ["y"], name="limited", **attributes(size)),
                helper.make_node("Relu", ["small"], ["z"], name="other"),
            ],
            "net",
            [
                helper.make_tensor_value_info("x", TensorProto.FLOAT, ["b", *shape(size)]),
                helper.make_tensor_value_info("small", TensorProto.FLOAT, ["b", 8]),
            ],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("y", "z")],
            [] if w is None else [numpy_helper.from_array(w, "w")],
        )
        path = tmp_path / "net.onnx"
        onnx.save(
            helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
            path,
        )
        x = np.random.default_rng(1).normal(size=(2, *shape(size))).astype(np.float32)
        inputs = {"x": x, "small": x.reshape(2, -1)[:, :1].repeat(8, axis=1)}
        want = result(x, w)
        try:
            compiled = compile_model(str(path), f"model:{isa}", calibration=inputs)
        except InputError as error:
            text = str(error)
            assert "limited" in text and "other" not in text, (what, error)
            assert size > LARGEST.get((isa, what), 2048), (what, error)
            continue
        assert size <= LARGEST.get((isa, what), size), what
        with compiled.open() as session:
            found = session(inputs)["y"]
        assert found.shape == want.shape, what
        noise = np.square(found - want).sum() / np.square(want).sum()
        assert noise < 0.01, (what, noise)
