# SPDX-License-Identifier: BSD-2-Clause
"""Support checks of the OPU: which nodes of a network a build can run."""

from functools import singledispatch

import numpy as np

from ...graph import (
    Activation,
    Affine,
    AveragePool,
    Binary,
    Concat,
    Conv,
    Dense,
    Graph,
    Gru,
    LayerNorm,
    Lstm,
    MatMul,
    MaxPool,
    Node,
    Pad,
    Reduce,
    Reshape,
    Slice,
    Softmax,
    TopK,
    Transpose,
)
from ...ranges import never_negative
from ..base import DECOMPOSED, HOST, NATIVE, NO, Support
from ..rewriting import against_product, is_interleaving, is_whole_maximum, turns
from .form import map_shape
from .layers import MOST_STRIDE

__all__ = [
    "MOST_POOL",
    "constant_of",
    "check_support",
    "window_strides",
]

#: Greatest side of a window of ``store``.
MOST_POOL = 15
_YES = Support(NATIVE)
_INTERLEAVED = Support(DECOMPOSED, "each phase stored to its own rows and columns")


def check_support(graph: Graph, node: Node) -> Support:
    """Support check of ``node``: collects every reason against it."""
    reasons = [
        f"{name} has {len(shape)} axes, at most 3 (rows, columns, channels)"
        for name in (*node.inputs, node.output)
        if len(shape := graph.shape(name)) > 3
    ]
    if reasons:
        return Support(HOST, "; ".join(reasons))
    return _judge(node, graph)


def _limits(*limits):
    """Reasons from range checks of (name, values, lowest, highest), one per violated range."""
    return [
        f"{name} {tuple(values)}, this core takes {low} to {high}"
        for name, values, low, high in limits
        if not all(low <= v <= high for v in values)
    ]


def _activation(node):
    """Reasons why an activation cannot follow a convolution."""
    if node is None or node.function == "relu" or is_limit(node):
        return []
    if node.function == "leaky":
        return (
            []
            if node.alpha == 0.125
            else [f"leaky relu of slope {node.alpha:g}, this core has 0.125"]
        )
    if node.function == "clip":
        if node.high > 0 and (node.low == 0 or (node.low < 0 and np.isclose(node.low, -node.high))):
            return []
        return [
            f"clip to {node.low:g}..{node.high:g}, this core clips where its numbers end: "
            f"from 0 or from minus the upper end, to an upper end above 0"
        ]
    return [f"{node.function}, this core has relu, leaky relu of slope 0.125 and clip"]


def is_limit(node: Activation | None) -> bool:
    """Whether a node is the minimum of its input and a constant."""
    return (
        isinstance(node, Activation)
        and node.function == "clip"
        and node.low == -np.inf
        and np.isfinite(node.high)
    )


def _answer(reasons, yes=_YES):
    return Support(HOST, "; ".join(reasons)) if reasons else yes


@singledispatch
def _judge(node: Node, graph):
    return Support(NO, f"{node.kind} is unknown")


@_judge.register
def _(node: Conv, graph):
    reasons = _activation(node.activation)
    if node.groups > 1:
        return _answer(
            reasons,
            Support(
                DECOMPOSED,
                "as kernels that are zero outside their groups, in channel blocks of 16",
            ),
        )
    return _answer(reasons)


@_judge.register
def _(node: Dense, graph):
    return _answer(_activation(node.activation))


@_judge.register
def _(node: Activation, graph):
    if node.function == "neg":
        return Support(DECOMPOSED, "as a convolution with minus one")
    if node.function == "abs":
        return Support(DECOMPOSED, "as relu(x) + relu(-x)")
    if node.function == "leaky" and node.alpha != 0.125 and 0 <= node.alpha <= 1:
        return Support(DECOMPOSED, "as alpha x + relu((1 - alpha) x)")
    if is_limit(node):
        return Support(DECOMPOSED, "as c - relu(c - x)")
    if node.function in ("relu", "leaky", "clip"):
        return _answer(_activation(node), Support(DECOMPOSED, "as a convolution with one"))
    return Support(HOST, _activation(node)[0])


def constant_of(graph: Graph, node: Binary) -> tuple[int, np.ndarray] | None:
    """Constant operand of a Binary, if it is a number or one per channel: (index of the activation
    operand, constant); else ``None``."""
    found = [graph.tensors[name].data for name in node.inputs]
    if len([c for c in found if c is not None]) != 1:
        return None
    flowing = 0 if found[0] is None else 1
    values = found[1 - flowing]
    channels = graph.shape(node.inputs[flowing])[-1:]
    if values is None:
        return None
    if values.size != 1 and not (values.shape[-1:] == channels and values.size == channels[0]):
        return None
    return (
        (flowing, values.reshape(-1))
        if graph.shape(node.output) == graph.shape(node.inputs[flowing])
        else None
    )


@_judge.register
def _(node: Binary, graph):
    constants = [name for name in node.inputs if graph.tensors[name].data is not None]
    if constants:
        found = constant_of(graph, node)
        if found is None:
            return Support(
                HOST,
                f"{node.function} with a constant of shape {graph.shape(constants[0])}, this "
                f"core takes one number, or one a channel",
            )
        if node.function == "div" and found[0] == 1:
            return Support(HOST, "a constant divided by a tensor")
        return _answer(
            _activation(node.activation),
            Support(DECOMPOSED, "as a convolution of each channel by itself"),
        )
    shapes = [graph.shape(name) for name in node.inputs]
    if node.function not in ("add", "sub"):
        return Support(
            HOST, f"{node.function} of two tensors, this core multiplies by constants alone"
        )
    if shapes[0] != shapes[1]:
        return Support(
            HOST,
            f"{node.function} of shapes {shapes[0]} and {shapes[1]}, this core takes equal ones",
        )
    how = (
        Support(NATIVE)
        if node.function == "add"
        else Support(DECOMPOSED, "as a sum with minus one times the second")
    )
    return _answer(_activation(node.activation), how)


@_judge.register
def _(node: Affine, graph):
    return _answer(
        _activation(node.activation),
        Support(DECOMPOSED, "as a convolution of each channel by itself"),
    )


def window_strides(graph: Graph, node: AveragePool | MaxPool) -> tuple[int, int]:
    """Strides of a pooling's window; a stride greater than the core's maximum is replaced by the
    maximum if there is only one result."""
    shape, results = graph.shape(node.inputs[0]), graph.shape(node.output)
    lengths = [shape[a] + node.padding[a] + node.padding[a + 2] for a in (0, 1)]
    rows, columns = (
        MOST_STRIDE if s > MOST_STRIDE and n == 1 and k + MOST_STRIDE > length else s
        for s, n, k, length in zip(node.stride, results[:2], node.window, lengths, strict=True)
    )
    return rows, columns


@_judge.register
def _(node: MaxPool, graph):
    if max(node.window) > MOST_POOL and is_whole_maximum(graph, node):
        return Support(DECOMPOSED, "windows of up to 13 elements, then their results")
    reasons = _limits(("dilation", node.dilation, 1, 1))
    if any(node.padding) and not never_negative(graph.maker, node.inputs[0]):
        reasons.append(
            f"padding {node.padding} around values that may be negative, this core pads with zeros"
        )
    large = max(node.window) > MOST_POOL or max(window_strides(graph, node)) > MOST_STRIDE
    return _answer(
        reasons,
        Support(DECOMPOSED, f"windows of up to {MOST_POOL} elements, then their results")
        if large
        else _YES,
    )


@_judge.register
def _(node: AveragePool, graph):
    if any(node.padding) and not node.include_padding:
        return Support(HOST, f"padding {node.padding} that does not count, this core counts it")
    return _YES


@_judge.register
def _(node: Reduce, graph):
    shape = graph.shape(node.inputs[0])
    axes = {axis % len(shape) for axis in node.axes}
    whole = set(range(len(shape) - 1))
    if node.function != "mean" or not axes or axes != whole:
        return Support(
            HOST,
            f"{node.function} over axes {tuple(sorted(axes))} of {shape}, this core takes "
            f"the mean over all positions",
        )
    return Support(DECOMPOSED, "as an average")


@_judge.register
def _(node: Reshape, graph):
    source, result = graph.shape(node.inputs[0]), graph.shape(node.output)
    if is_interleaving(graph, node):
        return _INTERLEAVED
    flat = (
        len(result) == 1
        and all(isinstance(reader, Dense) for reader in graph.readers(node.output))
        and node.output not in graph.kept()
    )
    first = (
        len(source) == 1
        and graph.maker(node.inputs[0]) is None
        and len(graph.readers(node.inputs[0])) == 1
        and node.inputs[0] not in graph.kept()
    )
    if map_shape(source) == map_shape(result) or flat or (first and _regular(map_shape(result))):
        return _YES
    return Support(
        HOST,
        f"reshape of {source} to {result}, this core flattens for dense layers, shapes "
        f"inputs that are vectors, and drops axes of length 1",
    )


def _regular(shape):
    """Whether an element's place in a map is a mixed-radix function of its index."""
    return shape[2] <= 16 or shape[2] % 64 == 0


@_judge.register
def _(node: Concat, graph):
    shape = graph.shape(node.output)
    if is_interleaving(graph, node):
        return _INTERLEAVED
    if any(graph.tensors[name].data is not None for name in node.inputs):
        return Support(HOST, "concat with a constant, this core joins tensors that flow")
    if node.axis % len(shape) != len(shape) - 1:
        return Support(DECOMPOSED, "as convolutions with one on padded maps, added up")
    return Support(DECOMPOSED, "as convolutions that put channels in their places, added up")


@_judge.register
def _(node: Pad, graph):
    reasons = [] if node.value == 0 else [f"pad with {node.value:g}, this core pads with 0"]
    reasons += _limits(("pad of channels", (node.before[-1], node.after[-1]), 0, 1 << 20))
    return _answer(reasons, Support(DECOMPOSED, "as a convolution with one on a padded map"))


@_judge.register
def _(node: Slice, graph):
    if min(node.step) < 1:
        return Support(HOST, f"slice by steps {node.step}, this core goes forward")
    return Support(DECOMPOSED, "as a convolution with a single one")


@_judge.register
def _(node: MatMul, graph):
    reason = against_product(graph, node)
    return (
        Support(HOST, reason)
        if reason
        else Support(DECOMPOSED, "positions of the second as a kernel")
    )


@_judge.register
def _(node: Transpose, graph):
    if turns(graph, node):
        return Support(DECOMPOSED, "as a product of ones on a diagonal")
    return Support(
        HOST, f"transpose to {node.order}, this core swaps the last two of two or three axes"
    )


@_judge.register(Softmax)
@_judge.register(TopK)
@_judge.register(Lstm)
@_judge.register(Gru)
@_judge.register(LayerNorm)
def _(node, graph):
    return Support(
        HOST,
        {
            "softmax": "softmax, this core has no exponential",
            "topk": "top-k, this core does not sort",
            "lstm": (
                "gates of an LSTM, this core multiplies by constants alone and has no sigmoid"
            ),
            "gru": "gates of a GRU, this core multiplies by constants alone and has no sigmoid",
            "layernorm": "layer normalisation, this core has no division and no root",
        }[node.kind],
    )
