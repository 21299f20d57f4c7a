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
    *(
        pytest.param(n, marks=pytest.mark.long)
        for n in (127, 128, 255, 256, 1023, 1024, 4095, 4096, 65536)
    ),
]


@pytest.mark.parametrize("isa", backend_names())
@pytest.mark.parametrize("size", SIZES)
def test_fields_at_their_limits(tmp_path, isa, size):
    for what, (operator, attributes, shape, weight_shape, result) in LAYERS.items():
        w = None if weight_shape is None else weights(*weight_shape(size)).astype(np.float32)
        graph = helper.make_graph(
            [
                helper.make_node(
                    operator, ["x", *(["w"] if w is not None else [])], ["y"], **attributes(size)
                )
            ],
            "net",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["b", *shape(size)])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
            [] if w is None else [numpy_helper.from_array(w, "w")],
        )
        path = tmp_path / "net.onnx"
        onnx.save(
            helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
            path,
        )
        x = np.random.default_rng(1).normal(size=(2, *shape(size))).astype(np.float32)
        want = result(x, w)
        try:
            compiled = compile_model(str(path), f"model:{isa}", calibration=x)
        except InputError as error:
            assert f"{operator}_0" in str(error), (what, error)
            assert size > LARGEST.get((isa, what), 2048), (what, error)
            continue
        assert size <= LARGEST.get((isa, what), size), what
        with compiled.open() as session:
            found = session(x)
        assert found.shape == want.shape, what
        noise = np.square(found - want).sum() / np.square(want).sum()
        assert noise < 0.01, (what, noise)
