# SPDX-License-Identifier: BSD-2-Clause
"""Writer of the language model as an ONNX model (extra ``compile``).

An inference takes one character, ``token`` [1, characters], which is one at the character's number
and else zero, and gives ``scores`` [1, characters] of the next. Each layer has a cache of keys and
one of values, ``past_*`` and ``present_*`` [1, window, head]: the oldest row leaves, the new one
enters at the end. The vocabulary is metadata of the file. Weights are stored in 16 bits.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .network import Sizes

__all__ = ["text_bytes"]


class _Writer:
    """Nodes, constants and ports of a model under construction; tensors are named by their
    nodes."""

    def __init__(self, weights: Mapping[str, np.ndarray]):
        from onnx import TensorProto, helper, numpy_helper

        self.helper, self.numpy_helper = helper, numpy_helper
        self.float = TensorProto.FLOAT
        self.weights = weights
        self.nodes: list[Any] = []
        self.constants: dict[str, np.ndarray] = {}
        self.inputs: dict[str, list[int]] = {}
        self.outputs: dict[str, list[int]] = {}

    def node(self, operator: str, inputs: Sequence[str], name: str, **attributes: Any) -> str:
        """Adds a node with one result and returns its name."""
        self.nodes.append(self.helper.make_node(operator, list(inputs), [name], name, **attributes))
        return name

    def numbers(self, *values: int) -> str:
        """Name of a constant of integers."""
        name = "numbers_" + "_".join(map(str, values))
        self.constants[name] = np.array(values, np.int64)
        return name

    def weight(self, name: str, array: np.ndarray) -> str:
        """Adds weights in 16 bits, which a Cast widens, and returns the name of the latter."""
        self.constants[f"{name}.half"] = np.ascontiguousarray(array, np.float16)
        return self.node("Cast", [f"{name}.half"], name, to=self.float)

    def dense(self, x: str, name: str, matrix: np.ndarray, bias: np.ndarray | None = None) -> str:
        """Adds a dense layer."""
        operands = [x, self.weight(f"{name}.weight", matrix)]
        if bias is not None:
            operands.append(self.weight(f"{name}.bias", bias))
        return self.node("Gemm", operands, name)

    def trained(self, x: str, name: str) -> str:
        """Adds a dense layer with the trained weights of its name."""
        return self.dense(x, name, self.weights[name], self.weights[f"{name}.bias"])

    def cache(self, row: str, name: str, window: int, head: int) -> str:
        """Adds a cache that a vector enters, and returns its rows, the newest last."""
        past, present = f"past_{name}", f"present_{name}"
        self.inputs[past] = self.outputs[present] = [1, window, head]
        ends = [self.numbers(1), self.numbers(window), self.numbers(1)]
        old = self.node("Slice", [past, *ends], f"old_{name}")
        new = self.node("Reshape", [row, self.numbers(1, 1, head)], f"new_{name}")
        return self.node("Concat", [old, new], present, axis=1)

    def content(self, name: str, metadata: Mapping[str, str]) -> bytes:
        """The model's file."""

        def ports(shapes):
            return [
                self.helper.make_tensor_value_info(port, self.float, shape)
                for port, shape in shapes.items()
            ]

        constants = [
            self.numpy_helper.from_array(array, called) for called, array in self.constants.items()
        ]
        graph = self.helper.make_graph(
            self.nodes, name, ports(self.inputs), ports(self.outputs), constants
        )
        model = self.helper.make_model(
            graph,
            opset_imports=[self.helper.make_opsetid("", 17)],
            producer_name="quintet",
            ir_version=8,
        )
        self.helper.set_model_props(model, dict(metadata))
        return model.SerializeToString(deterministic=True)


def _attention(writer: _Writer, sizes: Sizes, x: str, layer: int) -> str:
    """Adds the attention of a layer, and returns the sum of its results and ``x``."""
    weights, head = writer.weights, sizes.head
    keys, values = (
        writer.cache(writer.trained(x, f"{name}{layer}"), f"{name}{layer}", sizes.window, head)
        for name in ("key", "value")
    )
    turned = writer.node("Transpose", [keys], f"keys{layer}", perm=[0, 2, 1])
    query, bias = weights[f"query{layer}"], weights[f"query{layer}.bias"]
    result = x
    for number in range(sizes.heads):
        name, own = f"{layer}_{number}", slice(number * head, (number + 1) * head)
        row = writer.dense(x, f"query{name}", query[:, own], bias[own])
        row = writer.node("Reshape", [row, writer.numbers(1, 1, head)], f"query{name}.row")
        products = writer.node("MatMul", [row, turned], f"products{name}")
        distance = writer.weight(f"distance{name}", weights[f"distance{layer}"][number][None, None])
        nearer = writer.node("Add", [products, distance], f"nearer{name}")
        attention = writer.node("Relu", [nearer], f"attention{name}")
        mixed = writer.node("MatMul", [attention, values], f"mixed{name}")
        mixed = writer.node("Reshape", [mixed, writer.numbers(1, head)], f"mixed{name}.vector")
        # Each head is added by itself, since a Concat would give all of them one scale.
        last = number == sizes.heads - 1
        joined = writer.dense(
            mixed,
            f"joined{name}",
            weights[f"joined{layer}"][own],
            weights[f"joined{layer}.bias"] if last else None,
        )
        result = writer.node("Add", [result, joined], f"attended{name}")
    return result


def text_bytes(sizes: Sizes, weights: Mapping[str, np.ndarray], vocabulary: Sequence[str]) -> bytes:
    """Builds the ONNX file, as bytes, from weights and the texts of the vocabulary."""
    writer = _Writer(weights)
    writer.inputs["token"] = [1, sizes.characters]
    x = writer.dense("token", "embed", weights["embed"])
    for layer in range(sizes.layers):
        x = _attention(writer, sizes, x, layer)
        hidden = writer.node("Relu", [writer.trained(x, f"up{layer}")], f"hidden{layer}")
        x = writer.node("Add", [x, writer.trained(hidden, f"down{layer}")], f"layer{layer}")
    writer.trained(x, "scores")
    writer.outputs["scores"] = [1, sizes.characters]
    return writer.content("text", {"vocabulary": json.dumps(list(vocabulary))})
