# SPDX-License-Identifier: BSD-2-Clause
"""Constants, repeated tensors, scalars and missing axes as operands: each core compiles or
refuses."""

import numpy as np
import pytest

pytest.importorskip("onnx")

import onnx
from onnx import TensorProto, helper, numpy_helper

from quintet import compile_model
from quintet.tools.compiler.backends import backend_names
from quintet.tools.compiler.graph import Graph
from quintet.tools.compiler.partition import PartitionError, partition
from tests.tools.compiler.test_compiler_partition import Machine

CONSTANTS = {
    "vector": np.arange(1, 9),
    "row": np.arange(1, 9).reshape(1, 8),
    "scalar": np.array(2.0),
    "one": np.array([2.0]),
}


def save(path, nodes, constants, shape=("b", 8), result=None):
    """Write a model of one input ``x`` and one output ``y``."""
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, result)],
        [
            numpy_helper.from_array(
                np.asarray(array, np.int64 if name == "axes" else np.float32), name
            )
            for name, array in constants.items()
        ],
    )
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path
    )


def cases():
    for kind in ("Add", "Sub", "Mul", "Div"):
        for name, constant in CONSTANTS.items():
            for inputs in (["x", "k"], ["k", "x"]):
                yield pytest.param(
                    kind, inputs, constant, {}, id=f"{kind} {name} {inputs[0]} first"
                )
        yield pytest.param(kind, ["x", "x"], None, {}, id=f"{kind} of one tensor twice")
    for inputs in (["x", "k"], ["k", "x"], ["x", "k", "x"]):
        yield pytest.param("Concat", inputs, np.ones((1, 8)), {"axis": 1}, id=f"Concat of {inputs}")
    yield pytest.param("Concat", ["x", "x"], None, {"axis": 1}, id="Concat of one tensor twice")
    yield pytest.param("Gemm", ["x", "w", "k"], np.array(2.0), {}, id="Gemm with a scalar bias")
    yield pytest.param("MatMul", ["x", "w"], None, {}, id="MatMul of a constant")


@pytest.mark.parametrize("isa", backend_names())
@pytest.mark.parametrize("kind, inputs, constant, attributes", list(cases()))
def test_every_operand_on_every_core(quintet, tmp_path, isa, kind, inputs, constant, attributes):
    constants = {"w": np.ones((8, 4))} if "w" in inputs else {}
    if constant is not None:
        constants["k"] = constant
    save(tmp_path / "net.onnx", [helper.make_node(kind, inputs, ["y"], **attributes)], constants)
    ran = quintet("compile", tmp_path / "net.onnx", "--for", f"model:{isa}", "--dry-run")
    assert ran.code in (0, 2), ran.err
    assert ran.code == 0 or "cannot run this network" in ran.err or "net.onnx" in ran.err


def test_a_concat_with_a_constant_is_refused_by_name(quintet, tmp_path):
    save(
        tmp_path / "net.onnx",
        [helper.make_node("Concat", ["x", "k"], ["y"], axis=1)],
        {"k": np.ones((1, 8))},
    )
    ran = quintet("compile", tmp_path / "net.onnx", "--for", "model:opentpu", "--dry-run")
    assert ran.code == 2 and "joins the constant" in ran.err and "cherry would run it" in ran.err


@pytest.mark.parametrize("isa", backend_names())
def test_a_result_without_axes(isa, tmp_path):
    save(
        tmp_path / "net.onnx",
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        {"w": np.ones(8)},
        shape=[8],
        result=[],
    )
    x = np.random.default_rng(1).normal(size=(12, 8)).astype(np.float32)
    with compile_model(str(tmp_path / "net.onnx"), f"model:{isa}", calibration=x).open() as session:
        y = np.asarray(session(x))
    assert y.shape == (12,) and np.abs(y - x.sum(axis=1)).max() < 0.2


@pytest.mark.parametrize("isa", backend_names())
@pytest.mark.parametrize("kind", ["product with a vector", "last axis squeezed"])
def test_a_result_whose_only_axis_counts_inputs(isa, kind, tmp_path):
    vector = kind == "product with a vector"
    nodes, constants = [helper.make_node("MatMul", ["x", "w"], ["y" if vector else "d"])], {}
    if not vector:
        nodes.append(helper.make_node("Squeeze", ["d", "axes"], ["y"]))
        constants["axes"] = np.array([1])
    constants["w"] = np.ones(8 if vector else (8, 1))
    save(tmp_path / "net.onnx", nodes, constants)
    x = np.random.default_rng(1).normal(size=(12, 8)).astype(np.float32)
    with compile_model(str(tmp_path / "net.onnx"), f"model:{isa}", calibration=x).open() as session:
        y = np.asarray(session(x))
        assert np.asarray(session(x[:1])).shape == (1,)
    assert y.shape == (12,) and np.abs(y - x.sum(axis=1)).max() < 0.2


def test_a_check_that_fails_leaves_the_refusal_as_it_is(monkeypatch):
    class Broken:
        def verdict(self, graph, node):
            raise KeyError("constant")

    from tests.tools.compiler.networks import NETWORKS

    graph: Graph = NETWORKS["autoencoder"][1]()
    monkeypatch.setattr(
        "quintet.tools.compiler.partition.neighbours_of", lambda isa: {"broken": Broken()}
    )
    with pytest.raises(PartitionError, match="no dense; conv is taken"):
        partition(graph, Machine({}))


def test_a_batch_axis_of_minus_one(tmp_path):
    """As Paddle's exporter writes it."""
    nodes = [helper.make_node("MatMul", ["x", "w"], ["m"]), helper.make_node("Relu", ["m"], ["y"])]
    save(tmp_path / "net.onnx", nodes, {"w": np.eye(8)}, shape=[-1, 8], result=[-1, 8])
    x = np.random.default_rng(2).normal(size=(6, 8)).astype(np.float32)
    with compile_model(str(tmp_path / "net.onnx"), "model:cherry", calibration=x).open() as session:
        assert np.abs(session(x) - np.maximum(x, 0)).max() < 0.01
