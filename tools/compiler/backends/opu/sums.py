# SPDX-License-Identifier: BSD-2-Clause
"""Partial sums of a layer in real numbers, in the core's accumulation order."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import TYPE_CHECKING

import numpy as np

from ...graph import Conv, Graph, Node
from .codegen.graph import Network
from .reference import products_of_taps, runs_of_channels

if TYPE_CHECKING:
    from .form import Form

__all__ = ["partial_sums"]


def partial_sums(graph: Graph, form: Form, node: Node, values: np.ndarray) -> Iterator[np.ndarray]:
    """Partial sums after every tap, arrays [inputs, ..., out], for ``values`` of the node's source;
    the first includes the bias."""
    values = np.asarray(values, np.float64)
    layer, source, weights = _layer(
        form, node, values.reshape(len(values), *form.place(node.inputs[0])[1])
    )
    top, bottom, left, right = layer.padding
    padded = np.pad(source, ((0, 0), (top, bottom), (left, right), (0, 0)))
    shape = len(values), layer.rows, layer.columns, layer.result.channels
    bias = getattr(node, "bias", None)
    total = np.zeros(shape) + (0.0 if bias is None else np.tile(bias, shape[3] // len(bias)))
    runs = runs_of_channels(layer)
    for parts in zip_longest(*(products_of_taps(layer, padded, weights, *run) for run in runs)):
        for (first, last, _), part in zip(runs, parts, strict=True):
            if part is not None:
                total[..., first:last] += part
        yield total.reshape(
            len(values), *graph.shape(node.output)
        ).copy()  # columns of a block lie one after the other


def _layer(form, node, source):
    """Returns the layer of a node (source in space-to-depth layout, weights zero) and its real
    weights [out, in / groups, rows, columns]."""
    network, grid = Network(), form.grids.get(node.inputs[0])
    regular = form.regular(node) if isinstance(node, Conv) else None
    options = {"weight_fraction": 0, "fraction": 0, "split": node.output in form.split}
    if regular is not None:
        source, weights = (
            source if grid is None else grid.pack(source),
            regular.weights(node.weights, node.groups),
        )
        options.update(stride=regular.stride, padding=regular.padding)
    elif isinstance(node, Conv):
        top, left, bottom, right = node.padding
        weights = node.weights.transpose(0, 3, 1, 2)
        options.update(
            stride=node.stride,
            padding=(top, bottom, left, right),
            groups=node.groups,
            dilation=node.dilation,
        )
    elif node.steps:
        weights = node.weights[:, :, None, None]
    else:
        weights = node.weights.reshape(len(node.weights), *source.shape[1:]).transpose(0, 3, 1, 2)
    x = network.input("x", source.shape[1:], fraction=0, split=node.inputs[0] in form.split)
    network.conv("y", x, np.zeros(weights.shape, np.int64), **options)
    return network.layers[0], source, weights
