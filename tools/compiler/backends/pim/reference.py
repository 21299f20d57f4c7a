# SPDX-License-Identifier: BSD-2-Clause
"""Bit-exact numpy reference of PIM, node by node."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph import (
    Activation,
    AveragePool,
    Binary,
    Conv,
    Dense,
    Gru,
    Lstm,
    MatMul,
    MaxPool,
)
from .arithmetic import (
    SUM_BITS,
    TABLES,
    elements_together,
    places_before,
    run_table,
    saturated,
)
from .arrays.matrices import dense_tiling
from .recurrent import ALIGNED, BITS, ONE, PLACES, WIDE, cell_numbers, late_biases, spread_of
from .rows.functions import is_function, run_function

if TYPE_CHECKING:
    from ...quantised import Quantised

__all__ = ["run"]


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


def _dense(quantised, node, x, params):
    numbers = quantised.layers[node.name]
    x = x.reshape(len(x), -1, node.weights.shape[1])
    shift, bias = int(numbers.shift.flat[0]), 0 if numbers.bias is None else numbers.bias
    tiling = dense_tiling(quantised, node, params)
    if len(tiling.splits) == 1:
        return _shifted(_product(x, numbers.weights.T) + bias, shift)
    total = None
    for first, count in tiling.splits:
        part = _product(x[..., first : first + count], numbers.weights[:, first : first + count].T)
        if total is None:
            total = saturated(part + bias + (1 << shift >> 1), 32)
        else:
            total = saturated(total + saturated(part, 32), 32)
    return total >> shift


def run(
    quantised: Quantised, inputs: Mapping[str, np.ndarray], params: Mapping[str, Any]
) -> dict[str, np.ndarray]:
    """Computes every tensor of a segment: int64 [inputs, ...] by name."""
    values = {name: np.asarray(v, np.int64) for name, v in inputs.items()}
    for node in quantised.graph.nodes:
        sources = [values[name] for name in node.inputs if name in values]
        values[node.output] = _run_node(quantised, node, sources, params)
    return values


def _run_node(quantised, node, sources, params):
    """Computes the result of a node from its operands ``sources``, int64 [inputs, ...]."""
    shape = quantised.graph.shape(node.output)
    scale = quantised.scales[node.output]
    numbers = quantised.layers.get(node.name)
    if isinstance(node, Conv):
        sums, _ = _conv(node, numbers, sources[0], scale.bits)
        return _activated(saturated(sums, scale.bits), node.activation, scale)
    if isinstance(node, Dense):
        sums = _dense(quantised, node, sources[0], params)
        return _activated(saturated(sums, scale.bits), node.activation, scale).reshape(
            len(sums), *shape
        )
    if is_function(node):
        return run_function(quantised, node, sources)
    if isinstance(node, Binary):
        a, b = (x.reshape(len(x), *(1,) * (len(shape) - x.ndim + 1), *x.shape[1:]) for x in sources)
        if node.function == "mul":
            assert numbers is not None
            return _activated(
                saturated(_shifted(a * b, int(numbers.shift.flat[0])), scale.bits),
                node.activation,
                scale,
            )
        return _activated(
            saturated(a - b if node.function == "sub" else a + b, scale.bits),
            node.activation,
            scale,
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
        return _recurrent(node, numbers, sources[0], spread_of(node, params))
    if isinstance(node, MatMul):
        return _matmul(quantised, node, *sources, params)
    return node.run(*sources)


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
        for r in range(0, node.window[0] * node.dilation[0], node.dilation[0])
        for c in range(0, node.window[1] * node.dilation[1], node.dilation[1])
    ]
    return np.max(taps, axis=0)


def _matmul(quantised, node, first, second, params):
    bits, result = (quantised.scales[name].bits for name in (node.inputs[0], node.output))
    inner = first.shape[-1]
    if node.turned:
        second = second.swapaxes(-1, -2)
    together = elements_together(node, inner, (bits // 8, result // 8), params)
    before, shift = places_before(together, bits), int(quantised.layers[node.name].shift.flat[0])
    between = places_before(inner, bits) - before
    first = saturated(first + (1 << before >> 1), bits) >> before
    total = np.int64(0)
    for k in range(0, inner, together):
        part = saturated(first[..., k : k + together] @ second[..., k : k + together, :], SUM_BITS)
        total = saturated(total + _down(part, between), SUM_BITS)
    return saturated(_down(total, shift - before - between), result)


def _down(values, places):
    """Rounds 32-bit sums and shifts them right, as ``vvadd`` and ``vvsra`` do."""
    return saturated(values + (1 << places >> 1), WIDE) >> places


def _gate_sums(x, weights, bias, shift, spread):
    """Sums of one product of a recurrent layer (:class:`~.recurrent.Spread`), rounded split by
    split."""
    side, total = x.shape[1], 0
    for first, end in [(0, side)] if spread.tiling is None else spread.tiling.splits(side):
        sums = _product(x[:, first:end], weights[:, first:end].T) + bias * spread.biased
        sums = saturated(sums + (1 << shift >> 1) >> shift, WIDE)
        total = saturated(total + sums, WIDE)
    return total if spread.biased else saturated(total + late_biases(bias, shift), WIDE)


def _recurrent(node, numbers, x, spread):
    """States for a sequence ``x`` [inputs, steps, features], int64 [inputs,
    steps, hidden], or only the last state; ``spread``: :class:`~.recurrent.Spread`."""
    hidden, results = (
        node.recurrent.shape[1],
        np.zeros((*x.shape[:2], node.recurrent.shape[1]), np.int64),
    )
    assert numbers.recurrent is not None and numbers.recurrent_shift is not None
    shift, behind = int(numbers.shift.flat[0]), int(numbers.recurrent_shift.flat[0])
    state = np.tile(
        np.clip(np.rint(node.initial * (1 << PLACES)), -ONE - 1, ONE).astype(np.int64),
        (len(x), 1),
    )
    lstm = isinstance(node, Lstm)
    cell = np.tile(cell_numbers(node).astype(np.int64), (len(x), 1)) if lstm else None
    biases: Any = (numbers.bias, 0) if lstm else numbers.bias
    own, theirs = biases
    for place in range(x.shape[1])[:: -1 if node.reverse else 1]:
        given = _gate_sums(x[:, place], numbers.weights, own, shift, spread)
        if lstm:
            sums = saturated(
                saturated(given + _gate_sums(state, numbers.recurrent, 0, behind, spread), WIDE),
                BITS,
            )
            i, o, f = np.split(run_table("sigmoid", sums[:, : 3 * hidden], BITS), 3, axis=1)
            new = _down(i * run_table("tanh", sums[:, 3 * hidden :], BITS), ALIGNED)
            cell = saturated(_down(saturated(f * cell + new, WIDE), PLACES), BITS)
            state = saturated(_down(o * run_table("tanh", cell, BITS), PLACES), BITS)
        else:
            two = 2 * hidden
            past = _gate_sums(state, numbers.recurrent[:two], theirs[:two], behind, spread)
            update, reset = np.split(
                run_table("sigmoid", saturated(saturated(given[:, :two] + past, WIDE), BITS), BITS),
                2,
                axis=1,
            )
            if isinstance(node, Gru) and node.linear_before_reset:
                past = _down(
                    reset
                    * saturated(
                        _gate_sums(state, numbers.recurrent[two:], theirs[two:], behind, spread),
                        BITS,
                    ),
                    PLACES,
                )
            else:
                past = _gate_sums(
                    saturated(_down(reset * state, PLACES), BITS),
                    numbers.recurrent[two:],
                    theirs[two:],
                    behind,
                    spread,
                )
            new = run_table("tanh", saturated(saturated(given[:, two:] + past, WIDE), BITS), BITS)
            state = saturated(
                _down(saturated(update * state + (ONE - update) * new, WIDE), PLACES), BITS
            )
        results[:, place] = state
    return state if node.last else results
