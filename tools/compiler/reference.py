# SPDX-License-Identifier: BSD-2-Clause
"""Integer operators in numpy, exact to a core's rounding and saturation; back ends build their
``reference`` from them.

Arrays are int64 with a first axis that counts inputs; maps [inputs, rows, columns, channels].
Products run through floating-point matrix multiplication where every partial sum is a whole number
that it holds exactly, which is many times faster and gives the same numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .graph import Activation
    from .quantised import Integer

__all__ = [
    "ROUNDINGS",
    "activate",
    "add",
    "average_pool",
    "conv",
    "dense",
    "finish",
    "global_average",
    "max_pool",
    "padded",
    "product",
    "saturate",
    "scale_down",
    "taps",
    "window_sum",
]

#: Names of the roundings that :func:`scale_down` knows: to the nearest with ties up, to even, away
#: from zero; down; toward zero.
ROUNDINGS = ("half_up", "half_even", "half_away", "floor", "zero")

#: Places beyond which a shift no longer changes the result of a number that int64 holds with some
#: room.
_FAR = 62


def saturate(values: np.ndarray, bits: int) -> np.ndarray:
    """Clamps ``values`` to two's complement of ``bits`` bits."""
    return np.clip(values, -(1 << bits - 1), (1 << bits - 1) - 1)


def scale_down(
    values: np.ndarray, shift: int | np.ndarray, rounding: str = "half_up"
) -> np.ndarray:
    """Scales integers down, ``values * 2^-shift``, with rounding.

    Parameters
    ----------
    values : int64; below 2^61 in size where they are rounded
    shift : int, or int array that broadcasts against ``values`` (a shift for each channel);
        negative: to the left
    rounding : one of :data:`ROUNDINGS`

    Raises
    ------
    ValueError
        A rounding of another name.
    """
    if rounding not in ROUNDINGS:
        raise ValueError(f"rounding is {rounding!r}, expected one of {', '.join(ROUNDINGS)}")
    values, shift = np.asarray(values, np.int64), np.asarray(shift, np.int64)
    left, right = np.clip(-shift, 0, _FAR), np.clip(shift, 0, _FAR)
    if not right.any():
        return values << left
    whole = values >> right
    rest = values - (whole << right)
    half = np.int64(1) << np.maximum(right - 1, 0)
    if rounding == "floor":
        up = np.zeros_like(rest, bool)
    elif rounding == "zero":
        up = (values < 0) & (rest > 0)
    elif rounding == "half_up":
        up = rest >= half
    elif rounding == "half_even":
        up = (rest > half) | ((rest == half) & (whole & 1 == 1))
    else:
        up = (rest > half) | ((rest == half) & (values > 0))
    return np.where(right > 0, whole + (up & (right > 0)), values << left)


def _holds(bound):
    """The fastest type that represents every integer up to ``bound`` exactly."""
    return np.float32 if bound < 1 << 24 else np.float64 if bound < 1 << 53 else np.int64


def _most(values):
    """Greatest magnitude of an element, as a Python integer."""
    return max(abs(int(values.min(initial=0))), abs(int(values.max(initial=0))))


def product(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Matrix product of ``values`` [..., in] and ``weights`` [out, in]: int64 [..., out], exact if
    sums stay below 2^63."""
    kind = _holds(_most(values) * int(np.abs(weights).sum(axis=1).max(initial=0)))
    return (values.astype(kind, copy=False) @ weights.astype(kind, copy=False).T).astype(np.int64)


def padded(values: np.ndarray, padding: Sequence[int], fill: int = 0) -> np.ndarray:
    """Pads a map with ``fill``: ``padding`` is (top, left, bottom, right)."""
    top, left, bottom, right = padding
    if not any(padding):
        return values
    return np.pad(values, ((0, 0), (top, bottom), (left, right), (0, 0)), constant_values=fill)


def taps(
    values: np.ndarray,
    window: Sequence[int],
    *,
    stride: Sequence[int] = (1, 1),
    padding: Sequence[int] = (0, 0, 0, 0),
    dilation: Sequence[int] = (1, 1),
    fill: int = 0,
) -> Iterator[tuple[tuple[int, int], np.ndarray]]:
    """Iterates over the taps of a window, row by row: pairs of (row, column) of the tap and a view
    [inputs, rows, columns, channels] of the elements that it multiplies.

    Raises
    ------
    ValueError
        A window that is larger than the map with its padding.
    """
    values = padded(values, padding, fill)
    (high, wide), (down, across), (sparse, apart) = window, stride, dilation
    rows, columns = (
        (values.shape[1] - (high - 1) * sparse - 1) // down + 1,
        (values.shape[2] - (wide - 1) * apart - 1) // across + 1,
    )
    if rows < 1 or columns < 1:
        raise ValueError(
            f"a window of {high} x {wide} does not fit {values.shape[1]} x {values.shape[2]} "
            f"positions"
        )
    for r in range(high):
        for c in range(wide):
            yield (
                (r, c),
                values[
                    :,
                    r * sparse : r * sparse + (rows - 1) * down + 1 : down,
                    c * apart : c * apart + (columns - 1) * across + 1 : across,
                ],
            )


def conv(
    values: np.ndarray,
    weights: np.ndarray,
    *,
    stride: Sequence[int] = (1, 1),
    padding: Sequence[int] = (0, 0, 0, 0),
    dilation: Sequence[int] = (1, 1),
    groups: int = 1,
) -> np.ndarray:
    """Convolution without bias: exact sums of products.

    Parameters
    ----------
    values : [inputs, rows, columns, channels]
    weights : [out, rows, columns, channels / groups]
    stride, padding, dilation, groups : as :class:`~quintet.tools.compiler.graph.Conv`'s

    Returns
    -------
    int64 [inputs, rows, columns, out]
    """
    out, high, wide, inner = weights.shape
    kind = _holds(_most(values) * int(np.abs(weights).reshape(out, -1).sum(axis=1).max(initial=0)))
    values, weights = values.astype(kind, copy=False), weights.astype(kind, copy=False)
    sums: np.ndarray | None = None
    for (r, c), seen in taps(
        values, (high, wide), stride=stride, padding=padding, dilation=dilation
    ):
        part = _tap(seen, weights[:, r, c], groups, inner)
        if sums is None:
            sums = part
        else:
            sums += part
    assert sums is not None  # a window has at least one tap
    return sums.astype(np.int64)


def _tap(seen, weights, groups, inner):
    """Product of one tap: ``seen`` [inputs, rows, columns, channels] times ``weights`` [out,
    channels / groups]."""
    if groups == 1:
        return seen @ weights.T
    each = len(weights) // groups
    seen = seen.reshape(*seen.shape[:3], groups, inner)
    if inner == 1:
        return (seen * weights.reshape(groups, each)).reshape(*seen.shape[:3], -1)
    grouped = np.moveaxis(seen, 3, 0) @ weights.reshape(groups, 1, 1, each, inner).swapaxes(-1, -2)
    return np.moveaxis(grouped, 0, 3).reshape(*seen.shape[:3], -1)


def dense(values: np.ndarray, weights: np.ndarray, *, steps: bool = False) -> np.ndarray:
    """Fully connected layer without bias: a map is flattened, with ``steps`` every step separately;
    int64 [inputs, ..., out]."""
    return product(values if steps else values.reshape(len(values), -1), weights)


def activate(
    values: np.ndarray,
    activation: Activation | None,
    *,
    low: int | None = None,
    high: int | None = None,
    rounding: str = "half_up",
) -> np.ndarray:
    """Applies an activation to integers.

    Parameters
    ----------
    activation : :class:`~quintet.tools.compiler.graph.Activation` of kind relu,
        leaky (its slope a power of two) or clip, or ``None``
    low, high : limits of a clip in whole numbers; ``None``: none
    rounding : of the leaky's shift

    Raises
    ------
    ValueError
        A leaky whose slope is no power of two; another function.
    """
    if activation is None:
        return values
    if activation.function == "relu":
        return np.maximum(values, 0)
    if activation.function == "clip":
        return np.clip(values, low, high) if low is not None or high is not None else values
    if activation.function != "leaky":
        raise ValueError(f"no activation of whole numbers: {activation.function}")
    mantissa, exponent = np.frexp(activation.alpha)
    if mantissa != 0.5 or exponent > 1:
        raise ValueError(
            f"slope {activation.alpha} of a leaky relu is no power of two of at most 1"
        )
    return np.where(values >= 0, values, scale_down(values, 1 - int(exponent), rounding))


def finish(
    sums: np.ndarray,
    integer: Integer,
    bits: int,
    *,
    activation: Activation | None = None,
    rounding: str = "half_up",
    low: int | None = None,
    high: int | None = None,
) -> np.ndarray:
    """Requantises a layer's sums of products: adds the bias, scales down, applies the activation
    and saturates. For cores whose sums are exact.

    Parameters
    ----------
    sums : int64 [..., out]
    integer : :class:`~quintet.tools.compiler.quantised.Integer`
    bits : width of the result
    activation, low, high : as :func:`activate`'s
    """
    if integer.bias is not None:
        sums = sums + scale_down(integer.bias, -integer.bias_shift, rounding)
    return saturate(
        activate(
            scale_down(sums, integer.shift, rounding),
            activation,
            low=low,
            high=high,
            rounding=rounding,
        ),
        bits,
    )


def add(
    a: np.ndarray,
    b: np.ndarray,
    bits: int,
    *,
    multipliers: Sequence[int] | np.ndarray | None = None,
    shift: int | np.ndarray = 0,
    activation: Activation | None = None,
    rounding: str = "half_up",
) -> np.ndarray:
    """Adds two tensors, saturated to ``bits``; with ``multipliers`` (a pair): ``(m0 * a + m1 * b) *
    2^-shift``."""
    if multipliers is not None:
        a, b = a * int(multipliers[0]), b * int(multipliers[1])
    return saturate(
        activate(scale_down(a + b, shift, rounding), activation, rounding=rounding), bits
    )


def max_pool(
    values: np.ndarray,
    window: Sequence[int],
    *,
    stride: Sequence[int],
    padding: Sequence[int] = (0, 0, 0, 0),
    dilation: Sequence[int] = (1, 1),
) -> np.ndarray:
    """Max pooling; the padding counts as less than any number."""
    result: np.ndarray | None = None
    least = np.iinfo(np.int64).min
    for _, seen in taps(
        values, window, stride=stride, padding=padding, dilation=dilation, fill=least
    ):
        result = seen.copy() if result is None else np.maximum(result, seen, out=result)
    assert result is not None  # a window has at least one tap
    return result


def window_sum(
    values: np.ndarray,
    window: Sequence[int],
    *,
    stride: Sequence[int],
    padding: Sequence[int] = (0, 0, 0, 0),
) -> np.ndarray:
    """Sum of each window, int64."""
    parts = (seen for _, seen in taps(values, window, stride=stride, padding=padding))
    return np.asarray(sum(parts))


def _divide(sums, counts, rounding):
    """Quotient ``sums / counts``, correctly rounded."""
    down, rest = np.divmod(sums, counts)
    if rounding == "floor":
        return down
    if rounding == "zero":
        return down + ((sums < 0) & (rest > 0))
    if rounding == "half_even":
        return down + ((2 * rest > counts) | ((2 * rest == counts) & (down % 2 == 1)))
    if rounding == "half_away":
        return down + ((2 * rest > counts) | ((2 * rest == counts) & (sums > 0)))
    return down + (2 * rest >= counts)


def average_pool(
    values: np.ndarray,
    window: Sequence[int],
    *,
    stride: Sequence[int],
    padding: Sequence[int] = (0, 0, 0, 0),
    include_padding: bool = True,
    multiplier: int | None = None,
    shift: int = 0,
    rounding: str = "half_up",
    bits: int | None = None,
) -> np.ndarray:
    """Average pooling of integers.

    Parameters
    ----------
    multiplier, shift : the sum is multiplied and scaled down instead of divided,
        as machines without a division do
    include_padding : bool, whether zeros of the padding count
    rounding : one of :data:`ROUNDINGS`
    bits : width to saturate to, ``None``: none

    Raises
    ------
    ValueError
        A rounding of another name.
    """
    sums = window_sum(values, window, stride=stride, padding=padding)
    if multiplier is not None:
        result = scale_down(sums * int(multiplier), shift, rounding)
    elif rounding not in ROUNDINGS:
        raise ValueError(f"rounding is {rounding!r}, expected one of {', '.join(ROUNDINGS)}")
    else:
        counts = window[0] * window[1]
        if not include_padding and any(padding):
            counts = window_sum(
                np.ones((1, *values.shape[1:3], 1), np.int64),
                window,
                stride=stride,
                padding=padding,
            )
        result = _divide(sums, counts, rounding)
    return result if bits is None else saturate(result, bits)


def global_average(values: np.ndarray, **how: Any) -> np.ndarray:
    """Mean over all positions of a map, [inputs, 1, 1, channels]; ``how``: options of
    :func:`average_pool`."""
    return average_pool(values, values.shape[1:3], stride=(1, 1), **how)
