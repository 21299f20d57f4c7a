# SPDX-License-Identifier: BSD-2-Clause
"""Integer weights of a layer: a shift for each group of channels, rounded weights, an integer bias,
and its correction by the mean error. Layers are matrices here: one row per output channel."""

from __future__ import annotations

from dataclasses import replace
from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from ..graph import Affine, Conv, Dense, Node
from ..quantised import Arithmetic, Integer

if TYPE_CHECKING:
    from ..quantised import Scale

__all__ = [
    "fit_shifts",
    "integer_bias",
    "make_integer",
    "mean_error",
    "neighbourhoods",
    "of_rows",
    "on_grid",
    "round_nearest",
    "round_with_feedback",
    "rows_of",
    "shift_groups",
    "weighted",
    "with_weights",
]


#: Positions whose neighbourhoods are kept of a layer, and elements of them all together.
POSITIONS, ELEMENTS = 1 << 13, 1 << 22


def weighted(node: Node) -> bool:
    """Whether the node has weights that multiply an activation, and a bias."""
    return isinstance(node, Affine | Conv | Dense)


def rows_of(node: Conv | Dense | Affine) -> np.ndarray:
    """Weights of a layer as rows, float64 [groups, out / groups, products]."""
    if isinstance(node, Conv):
        return node.weights.reshape(node.groups, len(node.weights) // node.groups, -1)
    return node.weights[None] if isinstance(node, Dense) else node.scale.reshape(-1, 1, 1)


def of_rows(node: Conv | Dense | Affine, rows: np.ndarray) -> np.ndarray:
    """Reshapes ``rows`` to the shape of the node's weights, the inverse of :func:`rows_of`."""
    return rows.reshape((node.scale if isinstance(node, Affine) else node.weights).shape)


def with_weights(
    node: Conv | Dense | Affine, weights: np.ndarray, bias: np.ndarray | None
) -> Conv | Dense | Affine:
    """A copy of the node with other weights and bias."""
    if isinstance(node, Affine):
        assert bias is not None
        return replace(node, scale=weights, shift=bias)
    return replace(node, weights=weights, bias=bias)


def _maps(node, values, random):
    """Random windows of a convolution's source: [positions, rows, columns, channels]."""
    high, wide = node.weights.shape[1:3]
    inputs, rows, columns, channels = values.shape
    top, left, bottom, right = node.padding
    size = [
        (length + before + after - effective_size) // step + 1
        for length, before, after, effective_size, step in zip(
            (rows, columns), (top, left), (bottom, right), node.window, node.stride, strict=True
        )
    ]
    total = inputs * size[0] * size[1]
    kept = min(total, POSITIONS, ceil(ELEMENTS / (high * wide * channels)))
    at = np.arange(total) if kept == total else random.choice(total, kept, replace=False)
    n, y, x = np.unravel_index(at, (inputs, *size))
    down = y[:, None] * node.stride[0] + np.arange(high) * node.dilation[0] - top
    across = x[:, None] * node.stride[1] + np.arange(wide) * node.dilation[1] - left
    inside = ((down >= 0) & (down < rows))[:, :, None] & ((across >= 0) & (across < columns))[
        :, None
    ]
    found = values[
        n[:, None, None],
        np.clip(down, 0, rows - 1)[:, :, None],
        np.clip(across, 0, columns - 1)[:, None],
    ]
    return np.where(inside[..., None], found, 0)


def neighbourhoods(
    node: Conv | Dense | Affine, values: np.ndarray, random: np.random.Generator
) -> np.ndarray:
    """Random samples of a layer's im2col rows: float64 [groups, positions, products], in the order
    of :func:`rows_of`.

    Parameters
    ----------
    values : [inputs, ...], the layer's source
    random : numpy Generator
    """
    if isinstance(node, Conv):
        seen = _maps(node, values, random)
        count, groups = len(seen), node.groups
        return (
            seen.reshape(count, -1, groups, seen.shape[3] // groups)
            .transpose(2, 0, 1, 3)
            .reshape(groups, count, -1)
        )
    flat = (
        values.reshape(-1, values.shape[-1])
        if isinstance(node, Affine) or node.steps
        else values.reshape(len(values), -1)
    )
    kept = min(len(flat), POSITIONS, ceil(ELEMENTS / flat.shape[1]))
    if kept < len(flat):
        flat = flat[random.choice(len(flat), kept, replace=False)]
    return flat.T[:, :, None] if isinstance(node, Affine) else flat[None]


#: Most products of a result, and products times results, with error feedback; beyond them weights
#: are rounded to nearest.
DEEP, WORK = 4096, 1 << 33
#: Negligible share of the squared error of rounding a result.
_NOTHING = 0.01


def shift_groups(out: int, size: int | None) -> np.ndarray:
    """Group index of each of ``out`` channels, ``size`` per group (``None``: one group), int64
    [out]."""
    return np.arange(out) // (size or out)


def _limits(bits):
    return -(1 << bits - 1), (1 << bits - 1) - 1


def round_nearest(rows: np.ndarray, step: np.ndarray, bits: int) -> np.ndarray:
    """Rounds ``rows`` [groups, out, products] to the nearest multiples of the scale ``step``
    [groups, out], as integers clamped to ``bits``."""
    return np.clip(np.rint(rows / step[..., None]), *_limits(bits))


def round_with_feedback(
    rows: np.ndarray, step: np.ndarray, bits: int, seen: np.ndarray
) -> np.ndarray:
    """Rounds with error feedback (GPTQ): like :func:`round_nearest`, but later weights compensate
    for the rounding errors of earlier ones, as far as their inputs correlate. Columns are processed
    in turn, by the Cholesky factor of the inverse of the inputs' second moments.

    Parameters
    ----------
    seen : [groups, positions, products], inputs
    """
    groups, out, depth = rows.shape
    if depth < 2 or depth > DEEP or groups * out * depth * depth > WORK:
        return round_nearest(rows, step, bits)
    moments = seen.transpose(0, 2, 1) @ seen / seen.shape[1]
    power = moments.diagonal(axis1=1, axis2=2)
    # A hundredth of the mean power avoids fitting to chance correlations of few inputs.
    damped = moments + np.eye(depth) * np.maximum(0.01 * power.mean(axis=1), 1e-30)[:, None, None]
    order = np.argsort(-power, axis=1, kind="stable")
    damped = np.take_along_axis(np.take_along_axis(damped, order[:, :, None], 1), order[:, None], 2)
    upper = np.linalg.cholesky(np.linalg.inv(damped)).transpose(0, 2, 1)
    left = np.take_along_axis(rows / step[..., None], order[:, None], 2)
    result = np.zeros_like(left)
    low, high = _limits(bits)
    for k in range(depth):
        result[:, :, k] = np.clip(np.rint(left[:, :, k]), low, high)
        lost = (left[:, :, k] - result[:, :, k]) / upper[:, k, k, None]
        left[:, :, k + 1 :] -= lost[:, :, None] * upper[:, k, None, k + 1 :]
    back = np.empty_like(result)
    np.put_along_axis(back, np.broadcast_to(order[:, None], back.shape), result, 2)
    return back


def _most_shift(bias, result_step, numbers):
    """Greatest shift with which a bias fits its width."""
    most = np.abs(bias).max(initial=0.0)
    if most == 0 or numbers.bias_in_result:
        return numbers.shifts[1]
    room = (
        (_limits(numbers.bias_bits)[1] - 0.5) * result_step * 2.0 ** numbers.bias_shifts[1] / most
    )
    return int(np.clip(np.floor(np.log2(room)), *numbers.shifts))


def on_grid(values: np.ndarray, step: float, low: int, high: int) -> np.ndarray:
    """Values rounded to ``low`` to ``high`` times ``step``, as a new array."""
    rounded = np.asarray(values / step)
    np.rint(rounded, out=rounded)
    np.maximum(rounded, low, out=rounded)
    np.minimum(rounded, high, out=rounded)
    rounded *= step
    return rounded


def fit_shifts(
    rows: np.ndarray,
    bias: np.ndarray,
    power: np.ndarray,
    source_step: float,
    result_step: float,
    numbers: Arithmetic,
    short_bias: bool = False,
) -> tuple[np.ndarray, float]:
    """Chooses the shift of every channel that minimises the weights' rounding error.

    Parameters
    ----------
    rows : [groups, out / groups, products]
    bias : [out], zeros where there is none
    power : [groups, products], mean of the squares of the inputs
    source_step, result_step : scales of the source and of the result
    numbers : Arithmetic
    short_bias : bool, a lower shift is chosen where a bias then takes fewer instructions and the
        weights lose almost nothing, because they are so small that they change the result by hardly
        one

    Returns
    -------
    int64 [out], and the mean of the squared error that rounding the weights makes in the results
    """
    groups, each, _ = rows.shape
    of = shift_groups(groups * each, numbers.shift_group)
    flat, power = rows.reshape(groups * each, -1), np.repeat(power, each, axis=0)
    low, high = _limits(numbers.weight_bits)
    shift, lost = np.zeros(len(flat), np.int64), 0.0
    for group in range(of[-1] + 1):
        mine = of == group
        weights, here = flat[mine], power[mine]
        ceiling = _most_shift(bias[mine], result_step, numbers)
        most = max(weights.max(initial=0) / high, weights.min(initial=0) / low)
        finest = (
            ceiling
            if most == 0
            else int(
                np.clip(
                    np.floor(np.log2(result_step / (source_step * most)) + 1e-9),
                    numbers.shifts[0],
                    ceiling,
                )
            )
        )

        def cost(places, weights=weights, here=here):
            step = result_step * 2.0**-places / source_step
            error = on_grid(weights, step, low, high)
            error -= weights
            error *= error
            error *= here
            return float(np.sum(error))

        costs = {places: cost(places) for places in range(finest, min(finest + 1, ceiling) + 1)}
        best = min(costs, key=lambda places: costs[places])
        if short_bias and numbers.bias_tile is not None:
            # A bias that saturates the results for every input stands for any greater one.
            reach = np.abs(weights).sum(axis=1) * source_step + 2 * result_step
            most = np.minimum(np.abs(bias[mine]), reach * (high + 1)).max(initial=0.0)
            least = np.floor(np.log2(max(numbers.bias_tile * result_step / max(most, 1e-300), 1)))
            allowed = costs[best] + _NOTHING * len(weights) * result_step**2 / 12
            while best > max(least, numbers.shifts[0]) and cost(best - 1) <= allowed:
                best -= 1
        lost += costs[best] if best in costs else cost(best)
        shift[mine] = best
    return shift, lost / len(flat)


def integer_bias(
    bias: np.ndarray, shift: np.ndarray, result_step: float, numbers: Arithmetic
) -> tuple[np.ndarray, np.ndarray]:
    """Integer bias: (int64 [out], its shift relative to the products' scale, int64 [out])."""
    of = shift_groups(len(bias), numbers.shift_group)
    unit = result_step * 2.0 ** -shift.astype(np.float64)
    low, high = numbers.bias_shifts
    if numbers.bias_in_result:
        places = shift - numbers.partial_shifted
    else:
        most = np.zeros(of[-1] + 1)
        np.maximum.at(most, of, np.abs(bias) / unit)
        with np.errstate(divide="ignore"):
            places = np.ceil(np.log2(most / (_limits(numbers.bias_bits)[1] - 0.5)))
        # A finer scale than the products' is of no use.
        places = np.clip(places, max(low, min(0, high)), high).astype(np.int64)[of]
    whole = np.rint(bias / (unit * 2.0 ** places.astype(np.float64)))
    if numbers.wraps:  # so do the sums that it is added to: only the result counts
        half = 1 << numbers.bias_bits - 1
        whole = np.mod(whole + half, 2 * half) - half
    return np.clip(whole, *_limits(numbers.bias_bits)).astype(np.int64), np.asarray(
        places, np.int64
    )


def make_integer(
    node: Conv | Dense,
    bias: np.ndarray | None,
    shift: np.ndarray,
    source_step: float,
    result_step: float,
    numbers: Arithmetic,
    seen: np.ndarray | None = None,
) -> Integer:
    """The :class:`Integer` parameters of a layer.

    Parameters
    ----------
    bias : float64 [out] or ``None``
    shift : int64 [out]
    seen : inputs as :func:`neighbourhoods` gives them, for rounding with feedback; ``None``:
        to the nearest
    """
    assert numbers.weight_bits is not None
    rows = rows_of(node)
    step = (result_step * 2.0 ** -shift.astype(np.float64) / source_step).reshape(rows.shape[:2])
    rounded = (
        round_nearest(rows, step, numbers.weight_bits)
        if seen is None
        else round_with_feedback(rows, step, numbers.weight_bits, seen)
    )
    whole, places = (
        (None, np.zeros(len(shift), np.int64))
        if bias is None
        else integer_bias(bias, shift, result_step, numbers)
    )
    return Integer(
        weights=of_rows(node, rounded).astype(np.int64), bias=whole, shift=shift, bias_shift=places
    )


#: Least share of a channel's results that follow its bias.
_ACTIVE = 0.05


def mean_error(real: np.ndarray, whole: np.ndarray, scale: Scale) -> np.ndarray:
    """Bias correction of each channel, the mean error of its results in real numbers, float64
    [out].

    Parameters
    ----------
    real : [inputs, ..., out], the float network's results behind the activation
    whole : the core's, of the same shape
    scale : Scale of the result

    Channels few of whose results follow the bias (cut, or behind a relu) stay as they are, and so
    far as a difference may be the chance of few inputs it is left alone.
    """
    axes = tuple(range(1, real.ndim - 1))
    error = real - scale.value(whole)
    follows = (
        ((whole > 0) | (real > 0)) & (whole < scale.high)
        if real.min() >= 0
        else (whole > scale.low) & (whole < scale.high)
    )
    active = follows.mean(axis=(0, *axes))
    each = error.mean(axis=axes) if axes else error
    mean = each.mean(axis=0)
    chance = each.var(axis=0) / len(each)
    kept = np.clip(1 - chance / np.maximum(np.square(mean), 1e-300), 0, 1)
    return np.where(active >= _ACTIVE, kept * mean / np.maximum(active, _ACTIVE), 0.0)
