# SPDX-License-Identifier: BSD-2-Clause
"""Legalisation for OpenTPU: every node becomes a sum of products, a max pooling, a reshape or a
separate activation."""

from dataclasses import replace

import numpy as np

from ...graph import Affine, AveragePool, Binary, Conv, Dense, Graph, Pad, Reduce, Reshape, Tensor
from ..products import join_turned

__all__ = ["legalise"]


def legalise(graph: Graph) -> Graph:
    """Legalises a graph (returns a new one): multiplication by constants becomes a convolution or
    dense layer, a mean an average pooling; activations that cannot be fused become nodes. Tensors
    that stay keep their names."""
    graph = join_turned(graph)
    result = Graph(graph.name, list(graph.inputs), list(graph.outputs), [], dict(graph.tensors))
    for node in graph.nodes:
        for part in _parts(result, node):
            result.nodes.append(part)
    used = {name for node in result.nodes for name in (*node.inputs, node.output)} | {
        p.tensor for p in (*result.inputs, *result.outputs)
    }
    result.tensors = {name: tensor for name, tensor in result.tensors.items() if name in used}
    return result


def _parts(graph, node):
    if isinstance(node, Binary):
        node = _with_constant(graph, node)
    if isinstance(node, Affine):
        node = _scaled(graph, node)
    if isinstance(node, Pad):
        channels = graph.shape(node.inputs[0])[2]
        return [
            Conv(
                name=node.name,
                inputs=list(node.inputs),
                output=node.output,
                origin=node.origin,
                weights=np.ones((channels, 1, 1, 1)),
                groups=channels,
                padding=(*node.before[:2], *node.after[:2]),
            )
        ]
    if isinstance(node, Reduce):
        return _mean(graph, node)
    activation = getattr(node, "activation", None)
    if activation is None or activation.function in ("relu", "clip"):
        return [node]
    between = f"{node.output}:linear"
    graph.tensors[between] = Tensor(between, graph.shape(node.output))
    return [
        replace(node, output=between, activation=None),
        replace(
            activation,
            name=f"{node.name}:{activation.function}",
            inputs=[between],
            output=node.output,
            origin=node.origin,
        ),
    ]


def _with_constant(graph, node):
    """Rewrites an elementwise operation with a constant as a scale and a shift."""
    at = next(
        (k for k, name in enumerate(node.inputs) if graph.tensors[name].data is not None), None
    )
    if at is None:
        return node
    channels = graph.shape(node.output)[-1]
    constant = np.broadcast_to(np.ravel(graph.tensors[node.inputs[at]].data), channels).astype(
        np.float64
    )
    one, zero = np.ones(channels), np.zeros(channels)
    scale, shift = {
        "add": (one, constant),
        "sub": (one, -constant) if at == 1 else (-one, constant),
        "mul": (constant, zero),
        "div": (1 / constant, zero),
    }[node.function]
    return Affine(
        name=node.name,
        inputs=[node.inputs[1 - at]],
        output=node.output,
        origin=node.origin,
        scale=scale,
        shift=shift,
        activation=node.activation,
    )


def _scaled(graph, node):
    """Rewrites a scale and shift of every channel as a depthwise convolution or dense layer."""
    shape, scale = graph.shape(node.inputs[0]), np.asarray(node.scale, np.float64)
    common = {
        "name": node.name,
        "inputs": list(node.inputs),
        "output": node.output,
        "origin": node.origin,
        "bias": np.asarray(node.shift, np.float64),
        "activation": node.activation,
    }
    if len(shape) == 3:
        return Conv(**common, weights=scale.reshape(-1, 1, 1, 1), groups=shape[2])
    return Dense(**common, weights=np.diag(scale), steps=len(shape) == 2)


def _mean(graph, node):
    """Rewrites a mean over rows, columns or both as an average pooling."""
    rows, columns, channels = graph.shape(node.inputs[0])
    axes = {axis % 3 for axis in node.axes}
    window = (rows if 0 in axes else 1, columns if 1 in axes else 1)
    shape = (rows // window[0], columns // window[1], channels)
    pooled = node.output if graph.shape(node.output) == shape else f"{node.output}:map"
    graph.tensors[pooled] = Tensor(pooled, shape)
    pool = AveragePool(
        name=node.name,
        inputs=list(node.inputs),
        output=pooled,
        origin=node.origin,
        window=window,
        stride=(1, 1),
    )
    if pooled == node.output:
        return [pool]
    shape = graph.shape(node.output)
    return [
        pool,
        Reshape(
            name=f"{node.name}:shape",
            inputs=[pooled],
            output=node.output,
            origin=node.origin,
            shape=shape,
        ),
    ]
