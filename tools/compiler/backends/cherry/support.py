# SPDX-License-Identifier: BSD-2-Clause
"""Support checks of Cherry: which nodes of a network a build can run."""

from collections.abc import Mapping
from typing import Any

from ...graph import (
    HOST_FUNCTIONS,
    INDEX_FUNCTIONS,
    Activation,
    Affine,
    AveragePool,
    Binary,
    Conv,
    Dense,
    Graph,
    Gru,
    LayerNorm,
    Lstm,
    Node,
    Reduce,
    Slice,
    Softmax,
    TopK,
)
from ..base import DECOMPOSED, HOST, NATIVE, NO, Support
from .legalise import Decomposer

__all__ = ["check_support"]

#: Axes of a tensor, without that of the inputs.
_AXES = 3
_FUNCTIONS = {
    "relu": "",
    "exp": "",
    "leaky": "relu(x) - alpha * relu(-x)",
    "clip": "bounds chosen by gtz",
    "sigmoid": "1 / (1 + exp(-x))",
    "tanh": "1 - 2 / (1 + exp(2x))",
    "hard_sigmoid": "mulacc, bounds chosen by gtz",
    "hard_swish": "x times hard_sigmoid",
    "log": "log to base 2, times ln 2",
    "sqrt": "pow by 0.5",
    "neg": "mul by -1",
    "abs": "relu(x) + relu(-x)",
}
_SPECIAL = ("exp", "sigmoid", "tanh", "log", "sqrt")
_BINARY = ("add", "sub", "mul", "div")
_REDUCES = ("mean", "sum", "max")


def check_support(graph: Graph, node: Node, params: Mapping[str, Any]) -> Support:
    """Support check of a node for a build."""
    if isinstance(node, TopK):
        return Support(HOST, "top-k: no instruction sorts")
    if not Decomposer.takes(node):
        return Support(NO, f"{node.kind}: no kernel")
    for tensor in (*node.inputs, node.output):
        shape = graph.shape(tensor)
        if len(shape) > _AXES:
            return Support(
                HOST,
                f"{tensor} has {len(shape)} axes beside that of the inputs: expected at most "
                f"{_AXES}",
            )
    if isinstance(node, Reduce) and node.function in INDEX_FUNCTIONS:
        return Support(HOST, f"{node.function}: no instruction gives an element's number")
    if isinstance(node, Reduce) and node.function == "prod":
        return Support(HOST, f"prod: expected {', '.join(_REDUCES)}")
    if isinstance(node, Activation) and node.function in HOST_FUNCTIONS:
        return Support(HOST, f"{node.function}: expected {', '.join(_FUNCTIONS)}")
    if isinstance(node, Slice) and min(node.step) < 1:
        return Support(HOST, f"step {node.step}: expected positive steps")
    for what, given, known in _choices(node):
        if given not in known:
            return Support(HOST, f"{what} {given}: there are {', '.join(known)}")
    if _special(node) and not params["sfu_lanes"]:
        return Support(
            HOST, "exp, log, div and pow: this build has sfu_lanes 0, one with 1 or more takes it"
        )
    reason = _decomposition(graph, node)
    return Support(DECOMPOSED, reason) if reason else Support(NATIVE)


def _choices(node):
    """Attributes of a node with restricted values: (attribute, its value, supported values)."""
    if isinstance(node, Activation):
        yield "function", node.function, _FUNCTIONS
    if isinstance(node, Binary):
        yield "function", node.function, _BINARY
    if isinstance(node, Reduce):
        yield "function", node.function, _REDUCES
    following = getattr(node, "activation", None)
    if following is not None:
        yield "activation", following.function, _FUNCTIONS


def _special(node):
    """Whether a node needs the special-function unit."""
    following = getattr(node, "activation", None)
    return (
        isinstance(node, (Softmax, LayerNorm, Lstm, Gru))
        or (isinstance(node, Activation) and node.function in _SPECIAL)
        or (isinstance(node, Binary) and node.function == "div")
        or (following is not None and following.function in _SPECIAL)
    )


def _decomposition(graph, node):
    """How a node is decomposed into other instructions; empty if the core has one for it."""
    if isinstance(node, Activation):
        return _FUNCTIONS[node.function]
    if isinstance(node, Conv) and node.kind == "grouped":
        each, among = node.weights.shape[3], node.weights.shape[0] // node.groups
        return (
            f"{node.groups} convolutions"
            if each % 4 == among % 4 == 0
            else "one convolution, zeros between its groups"
        )
    if isinstance(node, Softmax):
        return "max, sub, exp, sum, " + ("log, sub" if node.log else "div")
    if isinstance(node, LayerNorm):
        return "sum, sub, mul, pow by -0.5, mulacc"
    if isinstance(node, (Lstm, Gru)):
        return "products, exp, div and mulacc, step by step"
    if isinstance(node, AveragePool):
        return "sum, mul by the reciprocal"
    if isinstance(node, Reduce) and node.function == "mean":
        return "sum, mul by the reciprocal"
    following = getattr(node, "activation", None)
    if isinstance(node, (Conv, Dense, Binary, Affine)) and following is not None:
        return _FUNCTIONS[following.function]
    return ""
