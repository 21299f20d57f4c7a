# SPDX-License-Identifier: BSD-2-Clause
"""Support checks of PIM: which nodes a build runs, by what other nodes, and why not."""

from collections.abc import Mapping
from typing import Any

from ...graph import (
    Activation,
    AveragePool,
    Binary,
    Concat,
    Conv,
    Dense,
    Graph,
    Gru,
    Lstm,
    MatMul,
    MaxPool,
    Node,
    Pad,
    Reduce,
    Reshape,
    Slice,
    Transpose,
)
from ..base import DECOMPOSED, HOST, NATIVE, Support
from ..rewriting import against_product, turns
from .arithmetic import SUM_BITS, TABLES
from .legalise import is_whole, most_averaged, support_of_rewritten
from .maps import spans
from .products import most_transposed
from .rows.functions import is_function, support_of_function

__all__ = ["check_support"]

#: Reasons by kind of a node.
_HOST = {"topk": "this core does not sort"}


def check_support(graph: Graph, node: Node, params: Mapping[str, Any]) -> Support:
    """Support check of one node."""
    activation = getattr(node, "activation", None)
    if activation is not None and activation.function not in ("relu", "clip"):
        return Support(HOST, f"{activation.function}: expected relu or clip")
    if isinstance(node, Conv | Dense | Reshape):
        return Support(NATIVE)
    rewritten = support_of_rewritten(graph, node)
    if rewritten is not None:
        return _narrow_product(node, params) or rewritten
    if is_function(node):
        return support_of_function(graph, node, params)
    if isinstance(node, Activation):
        return _activation(graph, node, params)
    if isinstance(node, Binary):
        return _binary(graph, node, params)
    if isinstance(node, MaxPool):
        shapes = graph.shape(node.inputs[0]), graph.shape(node.output)
        for axis, (length, results) in enumerate(zip(*shapes, strict=True)):
            if axis < 2 and not all(spans(node, length, k, axis) for k in range(results)):
                return Support(
                    HOST,
                    f"padding = {list(node.padding)}: expected an element of the map under every "
                    f"window",
                )
        return Support(NATIVE)
    if isinstance(node, AveragePool):
        whole = is_whole(graph, node)
        if not whole and not node.include_padding and any(node.padding):
            return Support(HOST, "padding that does not count: expected include_padding = 1")
        if whole and node.window[0] * node.window[1] > most_averaged(params):
            return Support(
                DECOMPOSED, "a depthwise convolution with equal weights, and a smaller average"
            )
        return (
            Support(NATIVE)
            if whole
            else Support(DECOMPOSED, "a depthwise convolution with equal weights")
        )
    if isinstance(node, Concat):
        return Support(NATIVE)
    if isinstance(node, Lstm | Gru):
        return _recurrent(node, params)
    if isinstance(node, MatMul):
        return _product(graph, node, params)
    if isinstance(node, Transpose):
        return _transpose(graph, node, params)
    return Support(HOST, _reason(graph, node))


def _reason(graph, node):
    """Why no instructions of this core compute a node."""
    shape = graph.shape(node.inputs[0])
    if isinstance(node, Reduce):
        return (
            f"{node.function} over axes {node.axes} of {shape}: expected an average over all rows "
            f"and columns of a map"
        )
    if isinstance(node, Slice):
        return f"slice of {shape}: expected one of a map or a sequence"
    if isinstance(node, Pad):
        return "pad: expected one that a convolution or a pool behind it can take over"
    return _HOST.get(node.kind, f"{node.kind}: no sequence of this core's instructions computes it")


def _activation(graph, node, params):
    if node.function in ("relu", "clip"):
        return Support(NATIVE)
    if node.function not in TABLES:
        return Support(HOST, f"{node.function}: expected relu, clip, sigmoid, tanh, exp or sqrt")
    if not params["act_unit"]:
        return Support(HOST, f"{node.function}: a build with act_unit has it")
    return Support(NATIVE)


def _binary(graph, node, params):
    shapes, result = [graph.shape(name) for name in node.inputs], graph.shape(node.output)
    if (
        node.function not in ("add", "sub", "mul")
        or any(graph.tensors[name].data is not None for name in node.inputs)
        or result not in shapes
        or not all(_repeats(shape, result) for shape in shapes)
    ):
        return Support(
            HOST,
            f"{node.function} of "
            f"{' and '.join(str(list(s)) for s in dict.fromkeys(shapes))}: expected add, "
            f"sub or mul of two tensors of one shape, or of which one repeats along the axes "
            f"in front",
        )
    return _narrow_product(node, params) or Support(NATIVE)


def _narrow_product(node, params):
    """The answer to a product of two tensors that the build has no numbers for, else ``None``."""
    if isinstance(node, Binary) and node.function == "mul" and params["max_biw"] < 32:
        return Support(HOST, f"mul: products want max_biw = 32, this build has {params['max_biw']}")
    return None


def _repeats(shape, result):
    """Whether an operand of ``shape`` equals the result in shape, or is broadcast along leading
    axes."""
    own = (1,) * (len(result) - len(shape)) + tuple(shape)
    same = next((k for k, length in enumerate(own) if length > 1), len(own))
    return tuple(result[same:]) == own[same:]


def _product(graph, node, params):
    """Support check of a MatMul."""
    reason = against_product(graph, node)
    if reason is None and params["max_biw"] < SUM_BITS:
        reason = f"sums want max_biw = {SUM_BITS}, this build has {params['max_biw']}"
    return (
        Support(HOST, reason)
        if reason
        else Support(DECOMPOSED, "a product of two vectors for each result")
    )


def _transpose(graph, node, params):
    """Support check of a Transpose."""
    if turns(graph, node):
        return Support(DECOMPOSED, "column by column with vmv")
    if graph.tensors[node.output].size <= most_transposed(graph, node, params):
        return Support(DECOMPOSED, "row by row with vmv or lmv")
    return Support(DECOMPOSED, "in tiles with vmv, or in runs")


def _recurrent(node, params):
    """Support check of an Lstm or Gru."""
    reasons = [
        f"{name} = {need}, this build has {params[name]}"
        for name, need in (("act_unit", 1), ("x_bits", 16), ("max_biw", 32))
        if params[name] < need
    ]
    return Support(HOST, "; ".join(reasons)) if reasons else Support(NATIVE)
