# SPDX-License-Identifier: BSD-2-Clause
"""Bit-exact numpy reference of PIM, node by node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph import (
    Activation,
    AveragePool,
    Binary,
    Concat,
    Conv,
    Dense,
    Gru,
    Lstm,
    MatMul,
    MaxPool,
    Node,
    Slice,
    Transpose,
)
from .arrays.matrices import dense_splits
from .legalise import TABLES, run_table
from .products import run_product
from .recurrent import run_recurrent
from .rows.functions import is_function, run_function

if TYPE_CHECKING:
    from ...quantised import Quantised

__all__ = ["run_node"]


def _sat(values, bits):
    return np.clip(values, -(1 << bits - 1), (1 << bits - 1) - 1)


def _activated(values, activation, scale):
    if activation is None:
        return values
    if activation.function == "relu":
        return np.maximum(values, 0)
    low, high = (
        int(np.clip(np.rint(v / scale.step), scale.low, scale.high)) if np.isfinite(v) else None
        for v in (activation.low, activation.high)
    )
    values = values if low is None else np.maximum(values, low)
    return values if high is None else np.minimum(values, high)


def _shifted(sums, shift):
    return sums + (1 << shift - 1) >> shift if shift else sums


def _product(x, weights):
    """Exact product in float64: sums of some thousand products of 16 and 8 bits stay below 2^53."""
    return np.rint(x.astype(np.float64) @ weights.astype(np.float64)).astype(np.int64)


def _conv(node, numbers, x, bits):
    top, left, bottom, right = node.padding
    x = np.pad(x, ((0, 0), (top, bottom), (left, right), (0, 0)))
    out, kh, kw, inner = numbers.weights.shape
    rows, columns = (
        (have - span) // stride + 1
        for have, span, stride in zip(x.shape[1:3], node.window, node.stride, strict=True)
    )
    sums = np.zeros((len(x), rows, columns, out), np.int64)
    each = out // node.groups
    for r in range(kh):
        for c in range(kw):
            r0, c0 = r * node.dilation[0], c * node.dilation[1]
            tap = x[
                :,
                r0 : r0 + (rows - 1) * node.stride[0] + 1 : node.stride[0],
                c0 : c0 + (columns - 1) * node.stride[1] + 1 : node.stride[1],
            ]
            if node.groups == 1:
                sums += _product(tap, numbers.weights[:, r, c].T)
            else:
                tap = tap.reshape(*tap.shape[:3], node.groups, inner)
                own = numbers.weights[:, r, c].reshape(node.groups, each, inner)
                sums += np.einsum("nhwgi,goi->nhwgo", tap, own).reshape(sums.shape)
    sums += 0 if numbers.bias is None else numbers.bias
    return _shifted(sums, int(numbers.shift.flat[0])), bits


def _dense(node, numbers, x, bits, params):
    x = x.reshape(len(x), -1, node.weights.shape[1])
    shift, bias = int(numbers.shift.flat[0]), 0 if numbers.bias is None else numbers.bias
    splits = dense_splits(
        node.weights.shape[1], min(params["xb_cols"], node.weights.shape[0]), params
    )
    if len(splits) == 1:
        return _shifted(_product(x, numbers.weights.T) + bias, shift)
    total = None
    for first, count in splits:
        part = _product(x[..., first : first + count], numbers.weights[:, first : first + count].T)
        if total is None:
            total = _sat(part + bias + (1 << shift >> 1), 32)
        else:
            total = _sat(total + _sat(part, 32), 32)
    return total >> shift


def run_node(
    quantised: Quantised, node: Node, sources: Sequence[np.ndarray], params: Mapping[str, Any]
) -> np.ndarray:
    """Computes the result of a node from its operands ``sources``, int64 [inputs, ...]."""
    shape = quantised.graph.shape(node.output)
    scale = quantised.scales[node.output]
    numbers = quantised.layers.get(node.name)
    if isinstance(node, Conv):
        sums, _ = _conv(node, numbers, sources[0], scale.bits)
        return _activated(_sat(sums, scale.bits), node.activation, scale)
    if isinstance(node, Dense):
        sums = _dense(node, numbers, sources[0], scale.bits, params)
        return _activated(_sat(sums, scale.bits), node.activation, scale).reshape(len(sums), *shape)
    if is_function(node):
        return run_function(quantised, node, sources)
    if isinstance(node, Binary):
        a, b = (x.reshape(len(x), *(1,) * (len(shape) - x.ndim + 1), *x.shape[1:]) for x in sources)
        if node.function == "mul":
            assert numbers is not None
            return _activated(
                _sat(_shifted(a * b, int(numbers.shift.flat[0])), scale.bits),
                node.activation,
                scale,
            )
        return _activated(
            _sat(a - b if node.function == "sub" else a + b, scale.bits), node.activation, scale
        )
    if isinstance(node, Activation) and node.function in TABLES:
        return run_table(node.function, sources[0], scale.bits)
    if isinstance(node, Activation):
        return _activated(sources[0], node, scale)
    if isinstance(node, MaxPool):
        return _max_pool(node, sources[0], shape)
    if isinstance(node, AveragePool):
        sums, count = (
            sources[0].sum((1, 2), keepdims=True),
            sources[0].shape[1] * sources[0].shape[2],
        )
        mean = (2 * np.abs(sums) + count) // (2 * count)
        return (np.sign(sums) * mean).reshape(len(sums), *shape)
    if isinstance(node, Lstm | Gru):
        assert numbers is not None
        return run_recurrent(node, numbers, sources[0])
    if isinstance(node, MatMul):
        return run_product(quantised, node, *sources)
    if isinstance(node, Transpose):
        return sources[0].transpose(0, *(axis + 1 for axis in node.order))
    if isinstance(node, Slice):
        index = (slice(None), *map(slice, node.start, node.stop, node.step))
        return sources[0][index]
    if isinstance(node, Concat):
        return np.concatenate(sources, axis=node.axis + 1)
    return sources[0].reshape(len(sources[0]), *shape)


def _max_pool(node, x, shape):
    top, left, bottom, right = node.padding
    low = np.iinfo(np.int64).min
    x = np.pad(
        x,
        ((0, 0), (top, bottom + node.stride[0]), (left, right + node.stride[1]), (0, 0)),
        constant_values=low,
    )
    rows, columns = shape[:2]
    taps = [
        x[
            :,
            r : r + (rows - 1) * node.stride[0] + 1 : node.stride[0],
            c : c + (columns - 1) * node.stride[1] + 1 : node.stride[1],
        ]
        for r in range(node.window[0])
        for c in range(node.window[1])
    ]
    return np.max(taps, axis=0)
