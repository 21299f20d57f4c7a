# SPDX-License-Identifier: BSD-2-Clause
"""Bit-exact numpy reference of OpenTPU's integer arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from ...graph import (
    Activation,
    AveragePool,
    Binary,
    Conv,
    Dense,
    MatMul,
    MaxPool,
    Movement,
    Node,
)
from .arithmetic import (
    LEAKY_SHIFT,
    clip_limit,
    factors,
    integer_bias,
    leaky_factor,
    window_factor,
)

if TYPE_CHECKING:
    from ...quantised import Quantised
    from .arithmetic import WiredNorm

__all__ = ["run"]


def run(
    quantised: Quantised,
    inputs: Mapping[str, np.ndarray],
    keep: bool = False,
    norm: WiredNorm | None = None,
) -> dict[str, np.ndarray]:
    """Computes all tensors, or only the outputs: name -> int64 array, first axis the inputs.
    ``norm``: that of a build without ``ext_norm``."""
    wired = {} if norm is None else {"norm": norm}
    graph, values = (
        quantised.graph,
        {name: np.asarray(array, np.int64) for name, array in inputs.items()},
    )
    for node in graph.nodes:
        sources = [values[name] for name in node.inputs]
        result = (
            node.run(*sources)
            if isinstance(node, Movement)
            else _KINDS[type(node)](quantised, node, *sources, **wired)
        )
        values[node.output] = result.reshape(-1, *graph.shape(node.output))
    return values if keep else {name: values[name] for name in graph.kept()}


def _wrapped(sums):
    """Wraps sums to 32-bit accumulators."""
    return (sums + (1 << 31) & 0xFFFF_FFFF) - (1 << 31)


def _finish(quantised, node, sums, shift, activation=None, norm=None):
    """Converts sums to results: shift with rounding, activation, saturation; without ext_norm as
    ``norm`` says."""
    shift = np.asarray(shift, np.int64)
    half = np.where(shift > 0, np.int64(1) << np.maximum(shift - 1, 0), 0)
    half = half if norm is None or norm.rounds else 0
    values = _wrapped(sums) + half >> shift
    if activation is not None:
        values = np.maximum(values, 0)
        if activation.function == "clip":
            values = np.minimum(values, clip_limit(quantised, node, activation))
    if norm is not None and norm.mode == 0:
        return (values + 128 & 0xFF) - 128
    return np.clip(values, -128, 127)


def _taps(values, window, stride, padding, dilation=(1, 1), fill=0):
    """Taps of a window: pairs of (row, column) and the source elements under that tap at all
    positions."""
    top, left, bottom, right = padding
    values = np.pad(values, ((0, 0), (top, bottom), (left, right), (0, 0)), constant_values=fill)
    rows, columns = (
        (size - (w - 1) * d - 1) // s + 1
        for size, w, d, s in zip(values.shape[1:3], window, dilation, stride, strict=True)
    )
    for r in range(window[0]):
        for c in range(window[1]):
            y, x = r * dilation[0], c * dilation[1]
            yield (
                r,
                c,
                values[
                    :,
                    y : y + (rows - 1) * stride[0] + 1 : stride[0],
                    x : x + (columns - 1) * stride[1] + 1 : stride[1],
                ],
            )


def _product(values, weights):
    """Exact product of [..., in] and [out, in] in float64: no sum of byte products reaches 2^53."""
    return (values.astype(np.float64) @ weights.T.astype(np.float64)).astype(np.int64)


def _conv(quantised, node, source, norm=None):
    integer = quantised.layers[node.name]
    out, high, wide, inner = integer.weights.shape
    each, sums = out // node.groups, 0
    for r, c, seen in _taps(source, (high, wide), node.stride, node.padding, node.dilation):
        if inner == 1:
            sums = sums + np.repeat(seen, each, axis=3) * integer.weights[:, r, c, 0]
        else:
            sums = sums + np.concatenate(
                [
                    _product(
                        seen[..., k * inner : (k + 1) * inner],
                        integer.weights[k * each : (k + 1) * each, r, c],
                    )
                    for k in range(node.groups)
                ],
                axis=3,
            )
    return _finish(quantised, node, sums + _bias(integer), integer.shift, node.activation, norm)


def _bias(integer):
    bias = integer_bias(integer)
    return 0 if bias is None else bias


def _dense(quantised, node, source, norm=None):
    integer = quantised.layers[node.name]
    values = source if node.steps else source.reshape(len(source), -1)
    return _finish(
        quantised,
        node,
        _product(values, integer.weights) + _bias(integer),
        integer.shift,
        node.activation,
        norm,
    )


def _binary(quantised, node, a, b):
    (first, second), shift = factors(quantised, node)
    return _finish(quantised, node, first * a + second * b, shift, node.activation)


def _average(quantised, node, source):
    factor, shift = window_factor(quantised, node)
    sums = sum(seen for _, _, seen in _taps(source, node.window, node.stride, node.padding))
    return _finish(quantised, node, sums * factor, shift)


def _max_pool(quantised, node, source):
    return np.max(
        [seen for _, _, seen in _taps(source, node.window, node.stride, node.padding, fill=-128)],
        axis=0,
    )


def _activation(quantised, node, source):
    function = node.function
    if function in ("relu", "clip"):
        return _finish(quantised, node, source, 0, node)
    if function == "neg":
        return np.clip(-source, -128, 127)
    negative = np.clip(-source, 0, 127)  # what goes through a byte on its way
    if function == "abs":
        return np.clip(source + 2 * negative, -128, 127)
    one = 1 << LEAKY_SHIFT
    return _finish(
        quantised, node, one * source + (one - leaky_factor(node)) * negative, LEAKY_SHIFT
    )


def _matmul(quantised, node, first, second):
    sums = first.astype(np.float64) @ (second.swapaxes(-1, -2) if node.turned else second)
    return _finish(quantised, node, sums.astype(np.int64), quantised.layers[node.name].shift[0])


_KINDS: dict[type[Node], Callable[..., np.ndarray]] = {
    Conv: _conv,
    Dense: _dense,
    Binary: _binary,
    AveragePool: _average,
    MaxPool: _max_pool,
    Activation: _activation,
    MatMul: _matmul,
}
