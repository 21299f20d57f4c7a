# SPDX-License-Identifier: BSD-2-Clause
"""Lengths, strides and counts at the limits of instruction fields and one past them, through the
compiler: each core gives the right numbers, or refuses the network by name."""

import re
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("onnx")

import onnx
from onnx import TensorProto, helper, numpy_helper

from quintet import compile_model
from quintet.tools.compiler.backends import backend_names
from quintet.tools.compiler.evaluate import run_graph
from quintet.tools.compiler.planning import Options, compile_graph
from quintet.tools.compiler.session import Session
from quintet.tools.compiler.target_build import target_build
from quintet.tools.errors import InputError
from quintet.tools.targets.model import ModelTarget
from tests.tools.compiler.networks import NETWORKS


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
SIZES = [
    2047,
    2048,
    2053,  # a prime
    *(
        pytest.param(n, marks=pytest.mark.long)
        for n in (127, 128, 131, 255, 256, 257, 1023, 1024, 1031, 4093, 4095, 4096, 65536, 65537)
    ),
]


#: (Core, sizes, what is counted, the largest number whose tensors the core's memory holds): its
#: addresses go up to the last one.
MEMORIES = [
    ("cherry", {"log_mem": 10}, "elements", 508),
    ("opentpu", {"n": 2, "ub_rows": 64, "acc_rows": 64}, "elements", 122),
    ("opentpu", {"n": 2, "ub_rows": 64, "acc_rows": 64}, "inputs of a product", 124),
    ("opu", {"ifm_lines": 16, "ofm_lines": 16}, "inputs of a product", 256),
    ("pim", {"lmem_bytes": 1024}, "elements", 1024),
    ("pim", {"lmem_bytes": 1024}, "places of an average", 511),
    ("pim", {"lmem_bytes": 1024}, "inputs of a product", 510),
    pytest.param("cherry", {"log_mem": 17}, "elements", 65532, marks=pytest.mark.long),
    pytest.param(
        "opentpu",
        {"n": 2, "ub_rows": 65536, "acc_rows": 65536},
        "elements",
        131066,
        marks=pytest.mark.long,
    ),
]

#: (Core, what is counted) of layers that are done in pieces if memory does not hold their tensors.
IN_PIECES = {
    ("cherry", "elements"),
    ("opentpu", "elements"),
    ("opentpu", "inputs of a product"),
    ("pim", "elements"),
    ("pim", "places of an average"),
    ("pim", "inputs of a product"),
}


def check_layer(path, isa, what, size, params=None):
    """Compile and run the layer ``what`` of ``size``, which is called ``limited``, beside another
    one: whether the core takes it, with the right numbers. A refusal names it and no other."""
    operator, attributes, shape, weight_shape, result = LAYERS[what]
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
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
    x = np.random.default_rng(1).normal(size=(2, *shape(size))).astype(np.float32)
    inputs = {"x": x, "small": x.reshape(2, -1)[:, :1].repeat(8, axis=1)}
    try:
        compiled = compile_model(str(path), f"model:{isa}", calibration=inputs, params=params)
    except InputError as error:
        text = str(error)
        assert "limited" in text and "other" not in text, (what, error)
        return False
    want = result(x, w)
    with compiled.open() as session:
        found = session(inputs)["y"]
    assert found.shape == want.shape, what
    noise = np.square(found - want).sum() / np.square(want).sum()
    assert noise < 0.01, (what, noise)
    return True


@pytest.mark.parametrize("isa", backend_names())
@pytest.mark.parametrize("size", SIZES)
def test_fields_at_their_limits(tmp_path, isa, size):
    for what in LAYERS:
        taken = check_layer(tmp_path / "net.onnx", isa, what, size)
        assert taken or size > 2053, (what, size)


@pytest.mark.parametrize("isa, params, what, largest", MEMORIES)
def test_addresses_at_the_limits_of_memories(tmp_path, isa, params, what, largest):
    assert check_layer(tmp_path / "net.onnx", isa, what, largest, params)
    beyond = check_layer(tmp_path / "net.onnx", isa, what, largest + 1, params)
    assert beyond == ((isa, what) in IN_PIECES)


@pytest.mark.parametrize("isa", backend_names())
def test_main_memory_of_just_the_size_that_a_network_takes(isa):
    graph, build = NETWORKS["autoencoder"][1](), target_build(f"model:{isa}")
    x = np.random.default_rng(2).normal(size=(4, *graph.inputs[0].shape))
    calibration = {graph.inputs[0].name: x}
    size, plan = build.memory_size, None
    while size:
        try:
            plan = compile_graph(graph, replace(build, memory_size=size), calibration)
        except InputError as error:
            # The one before fitted to the last byte.
            assert re.search(rf"{size + 1:,}|{size + 1}", str(error)), error
            break
        assert plan.memory <= size
        size = plan.memory - 1
    # A dry run, whose placeholder numbers may take more, answers alike.
    just = replace(build, memory_size=plan.memory)
    assert compile_graph(graph, just, calibration, Options(dry=True)).memory
    want = run_graph(graph, {graph.inputs[0].tensor: x})[graph.outputs[0].tensor]
    target = ModelTarget(isa=isa, memory_size=plan.memory)
    with Session(plan, target) as session:
        found = session(x)
    assert np.square(found - want).sum() < 0.01 * np.square(want).sum()
