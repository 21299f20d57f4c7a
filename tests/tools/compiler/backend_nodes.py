# SPDX-License-Identifier: BSD-2-Clause
"""ONNX's own tests of its operators, of the installed package: each model with floats as inputs and
everything else as constants."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper
from onnx.backend.test.case.node import collect_testcases

from quintet.tools.compiler.evaluate import run_graph
from quintet.tools.compiler.onnx_import import import_onnx
from quintet.tools.compiler.passes import simplify
from quintet.tools.compiler.values import from_graph, to_graph
from quintet.tools.errors import InputError

__all__ = ["NodeTest", "attempt", "node_tests"]


@dataclass(frozen=True)
class NodeTest:
    """A model with its inputs and what it gives; ``relative``: tolerance of the test."""

    name: str
    model: onnx.ModelProto
    inputs: dict[str, np.ndarray]
    expected: list[np.ndarray]
    relative: float


def _prepared(case):
    """The test with floats as inputs; ``None`` where none are, or where an input is no tensor."""
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    given, expected = case.data_sets[0]
    inputs, kept = {}, []
    for value, data in zip(model.graph.input, given, strict=False):
        kind = value.type.tensor_type.elem_type if value.type.HasField("tensor_type") else None
        if kind == TensorProto.FLOAT:
            inputs[value.name] = np.asarray(data)
            kept.append(onnx.ValueInfoProto.FromString(value.SerializeToString()))
        elif isinstance(data, TensorProto):
            model.graph.initializer.append(data)
        elif isinstance(data, np.ndarray):
            model.graph.initializer.append(numpy_helper.from_array(data, value.name))
        else:
            return None
    if not inputs:
        return None
    del model.graph.input[:]
    model.graph.input.extend(kept)
    return NodeTest(case.name, model, inputs, list(expected), case.rtol or 1e-3)


def node_tests() -> list[NodeTest]:
    """All tests with floats among their inputs."""
    return [test for case in collect_testcases(None) if (test := _prepared(case)) is not None]


def _given(graph, test):
    """The test's inputs as the graph's tensors."""
    return {
        port.tensor: to_graph(
            port, test.inputs[port.name] if port.batched else test.inputs[port.name][None]
        )
        for port in graph.inputs
    }


def attempt(test: NodeTest) -> str:
    """``refused: <reason>``, of the model or of inputs that are no finite numbers; ``equal``; or
    ``wrong: <what differs>``, before the passes and behind them."""
    try:
        graph = import_onnx(f"{test.name}.onnx", test.model.SerializeToString())
        _given(graph, test)
    except InputError as error:
        return f"refused: {error}"
    for stage, network in (("imported", graph), ("simplified", simplify(graph))):
        with np.errstate(all="ignore"):
            values = run_graph(network, _given(network, test))
        names = [value.name for value in test.model.graph.output]
        for name, wanted in zip(names, test.expected, strict=True):
            if not name:
                continue
            port = next(port for port in network.outputs if port.name == name)
            found = from_graph(port, values[port.tensor])
            found = found if port.batched else found[0]
            wanted = np.asarray(wanted).astype(np.float64)
            if found.shape != wanted.shape:
                return f"wrong: {stage}, {name} has the shape {found.shape}, not {wanted.shape}"
            if not np.allclose(found, wanted, rtol=2 * test.relative, atol=1e-5, equal_nan=True):
                return f"wrong: {stage}, {name} differs by {np.abs(found - wanted).max()}"
    return "equal"
