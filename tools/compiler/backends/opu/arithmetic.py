# SPDX-License-Identifier: BSD-2-Clause
"""Arithmetic of the OPU for the quantiser: widths and shifts of each node, and partial sums of a
layer in real numbers, in the core's accumulation order."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph import AveragePool, Binary, Concat, Conv, Dense, Graph, MatMul, Node, Reduce
from ...quantised import Arithmetic
from ...reference import taps
from .layers import Network
from .lower import core_weights
from .reference import products_of_taps, runs_of_channels, surrounded

if TYPE_CHECKING:
    from .....gateware.cores.opu.types import TypeSet
    from .form import Form

__all__ = ["arithmetic_of", "average_sums", "partial_sums"]

#: Shifts after a sum of products, and of a bias' unit above that of the products: the range of
#: ``@shift``, as far as numbers need it.
_SHIFTS, _BIAS_SHIFTS = (-24, 40), (-24, 40)
#: Partial sums of an average that are looked at.
_MOST_SUMS = 16


def arithmetic_of(types: TypeSet, form: Form, node: Node) -> Arithmetic:
    """Integer arithmetic of a node of a legalised graph."""
    common: dict[str, Any] = {"bits": types.ifm, "out_bits": (types.ifm,)}
    if isinstance(node, Conv | Dense):
        each = 16 if node.output in form.split else 64
        return Arithmetic(
            weight_bits=types.ker,
            bias_bits=types.bias,
            shifts=_SHIFTS,
            bias_shifts=_BIAS_SHIFTS,
            shift_group=each,
            partial_bits=types.ofm,
            partial_shifted=types.store_shift,
            equal_scales=len(node.inputs) > 1,
            **common,
        )
    if isinstance(node, AveragePool | Reduce):
        return Arithmetic(
            weight_bits=types.ker,
            bias_bits=types.bias,
            bias_shifts=_BIAS_SHIFTS,
            biased_averages=isinstance(node, AveragePool),
            shifts=_SHIFTS,
            partial_bits=types.ofm,
            partial_shifted=types.store_shift,
            **common,
        )
    if isinstance(node, MatMul):
        return Arithmetic(weight_bits=None, shifts=_SHIFTS, **common)
    several = isinstance(node, Binary | Concat)
    return Arithmetic(weight_bits=None, equal_scales=several, same_scale=not several, **common)


def partial_sums(graph: Graph, form: Form, node: Node, values: np.ndarray) -> Iterator[np.ndarray]:
    """Partial sums after every tap, arrays [inputs, ..., out], for ``values`` of the node's source;
    the first includes the bias."""
    values = np.asarray(values, np.float64)
    layer, source, weights = _layer(form, node, values)
    padded = surrounded(layer, source)
    shape = len(values), layer.rows, layer.columns, layer.result.channels
    bias = getattr(node, "bias", None)
    total = np.zeros(shape) + (0.0 if bias is None else np.tile(bias, shape[3] // len(bias)))
    runs = runs_of_channels(layer)
    for parts in zip_longest(*(products_of_taps(layer, padded, weights, *run) for run in runs)):
        for (first, last, _), part in zip(runs, parts, strict=True):
            if part is not None:
                total[..., first:last] += part
        # Columns of a block lie one after the other.
        yield form.exchange(total).reshape(len(values), *graph.shape(node.output)).copy()


def average_sums(node: AveragePool, values: np.ndarray) -> Iterator[np.ndarray]:
    """Partial sums of an average, as :func:`partial_sums` gives them, but no more than
    :data:`_MOST_SUMS`, evenly spaced: a global average has as many taps as its map positions."""
    bias = 0.0 if node.bias is None else node.bias
    count = node.window[0] * node.window[1]
    seen = taps(
        np.asarray(values, np.float64), node.window, stride=node.stride, padding=node.padding
    )
    total: np.ndarray | float = 0.0
    every = -(-count // _MOST_SUMS)
    for number, (_, part) in enumerate(seen):
        total = total + part
        if number % every == 0 or number == count - 1:
            yield total / count + bias


def _layer(form, node, values):
    """The layer of a node without numbers, ``values`` of its source as the core has them, and its
    real weights [out, in / groups, rows, columns]."""
    (name,), network = node.inputs[:1], Network()
    weights, options = core_weights(form, node, node.weights, form.place(name)[1])
    source = form.packed(name, values)
    x = network.input("x", form.exchange(source).shape[1:], split=name in form.split)
    zeros = np.zeros(weights.shape, np.int64)
    network.conv("y", x, zeros, shift=0, split=node.output in form.split, **options)
    if form.exchanged:
        network, weights = network.exchanged()[0], weights.swapaxes(2, 3)
    return network.layers[0], source, weights
