# SPDX-License-Identifier: BSD-2-Clause
"""ONNX models made in tests, and what onnxruntime says of them."""

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from quintet.tools.compiler.evaluate import run_graph
from quintet.tools.compiler.onnx_import import import_onnx
from quintet.tools.compiler.passes import simplify
from quintet.tools.compiler.values import from_graph, to_graph

__all__ = [
    "check",
    "compare",
    "feeds_of",
    "import_model",
    "make_model",
    "node",
    "run_here",
    "run_there",
]

#: Warnings of weights that nobody reads are none of these tests'.
onnxruntime.set_default_logger_severity(3)
node = helper.make_node
_TYPES = {
    np.dtype(np.float32): TensorProto.FLOAT,
    np.dtype(np.float64): TensorProto.DOUBLE,
    np.dtype(np.int8): TensorProto.INT8,
    np.dtype(np.uint8): TensorProto.UINT8,
    np.dtype(np.int64): TensorProto.INT64,
}


def make_model(nodes, inputs, outputs, constants=None, opset=17, dtype=np.float32, name="net"):
    """A model.

    Parameters
    ----------
    inputs, outputs : dict, name -> shape (a name for an axis without a number), or (shape,
        dtype); an output's shape may be ``None``
    constants : dict, name -> array; floats become ``dtype``
    """
    nodes = list(nodes)

    def info(entry):
        name, shape = entry
        shape, kind = (
            shape
            if isinstance(shape, tuple) and len(shape) == 2 and isinstance(shape[1], type)
            else (shape, dtype)
        )
        return helper.make_tensor_value_info(name, _TYPES[np.dtype(kind)], shape)

    initializers = [
        numpy_helper.from_array(np.array(data, dtype if data.dtype.kind == "f" else None), name)
        for name, data in ((name, np.asarray(data)) for name, data in (constants or {}).items())
    ]
    graph = helper.make_graph(
        nodes,
        name,
        [info(i) for i in inputs.items()],
        [info(o) for o in outputs.items()],
        initializers,
    )
    opsets = [helper.make_opsetid("", opset)] + [helper.make_opsetid("ai.onnx.ml", 3)] * any(
        one.domain == "ai.onnx.ml" for one in nodes
    )
    return helper.make_model(graph, opset_imports=opsets, ir_version=8 if opset < 21 else 10)


def import_model(model, folder):
    """The graph of a model, by way of a file. Its nodes have numbers of Python only."""
    path = folder / "model.onnx"
    onnx.save(model, path)
    graph = import_onnx(path)
    for one in graph.nodes:
        _check_numbers(one.name, vars(one))
    return graph


def _check_numbers(name, value):
    """Checks that there is no numpy integer: Python looks for one in a ``range`` element by
    element, of which the addresses of a core's instructions have 2**32."""
    assert not isinstance(value, np.integer), f"{name} is {value!r}: expected an int"
    if isinstance(value, dict):
        for key, part in value.items():
            _check_numbers(f"{name}.{key}", part)
    elif isinstance(value, list | tuple):
        for part in value:
            _check_numbers(name, part)


def feeds_of(graph, seed=0, spread=1.0):
    """Random arrays for one input, as the model itself takes them."""
    random, feeds = np.random.default_rng(seed), {}
    for port in graph.inputs:
        shape = (1, *port.shape) if port.batched else port.shape
        if port.scale is not None:
            low = -(1 << port.bits - 1) if port.signed else 0
            feeds[port.name] = random.integers(low, low + (1 << port.bits), shape).astype(
                f"{'' if port.signed else 'u'}int{port.bits}"
            )
        else:
            feeds[port.name] = random.normal(0, spread, shape).astype(np.float32)
    return feeds


def run_here(graph, feeds, grids=False):
    """Results of the graph on what the model takes, in the model's shapes."""
    given = {
        port.tensor: to_graph(port, feeds[port.name] if port.batched else feeds[port.name][None])
        for port in graph.inputs
    }
    out = run_graph(graph, given, grids=grids)
    results = {port.name: from_graph(port, out[port.tensor]) for port in graph.outputs}
    return {
        port.name: results[port.name] if port.batched else results[port.name][0]
        for port in graph.outputs
    }


def run_there(model, feeds):
    """Results of onnxruntime, its own rewriting of the model switched off."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    types = {
        value.name: {"tensor(float)": np.float32, "tensor(double)": np.float64}.get(value.type)
        for value in session.get_inputs()
    }
    given = {
        name: data if types[name] is None else data.astype(types[name])
        for name, data in feeds.items()
    }
    return dict(
        zip(
            [output.name for output in session.get_outputs()], session.run(None, given), strict=True
        )
    )


def compare(results, expected, relative=1e-5):
    assert results.keys() == expected.keys()
    for name, value in expected.items():
        assert results[name].shape == value.shape, name
        size = max(1e-3, np.abs(value).max(initial=0.0))
        np.testing.assert_allclose(results[name], value, rtol=0, atol=relative * size, err_msg=name)


def check(model, folder, seed=0, relative=1e-5, spread=1.0):
    """A model's graph gives what onnxruntime does, simplified as well; the graph."""
    graph = import_model(model, folder)
    feeds = feeds_of(graph, seed, spread)
    expected = run_there(model, feeds)
    compare(run_here(graph, feeds), expected, relative)
    compare(run_here(simplify(graph), feeds), expected, relative)
    return graph
