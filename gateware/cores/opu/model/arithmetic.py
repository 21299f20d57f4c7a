# SPDX-License-Identifier: BSD-2-Clause
"""Exact arithmetic of the golden model, in integers (specification, sections 4.1, 4.4 and 4.5).

Arrays are int64. Where 64 bits do not do (shifts by many places) numpy arrays of Python integers
take their place.
"""

import numpy as np

from ..types import TypeSet

__all__ = ["activate", "conv_acc", "conv_bias", "dot", "pool", "requantise", "shifted"]

_WORD = 62  # bits that may be used of an int64, so that a sum of two still fits


def dot(window: np.ndarray, taps: np.ndarray) -> np.ndarray:
    """Dot product S of section 4.4: [rows, columns, channels] x [outputs, channels] -> int64
    [rows, columns, outputs]."""
    rows, columns, channels = window.shape
    return (window.reshape(-1, channels) @ taps.T).reshape(rows, columns, -1)


def _clamp(x, limits):
    return np.clip(x, *limits)


def shifted(sums: np.ndarray, places: int, types: TypeSet) -> np.ndarray:
    """Shifted dot product: ``S * 2^places``, ties up, clamped to ``types.term_bits``, as in
    ``conv`` and ``conv.acc``.

    Clamping loses nothing: a term that it cuts saturates any sum with a value of OTYPE.
    """
    if places < 0:
        if -places > types.right_most:
            return np.zeros_like(sums)
        return _clamp(sums + (1 << -places - 1) >> -places, _limits(types.term_bits))
    places = min(places, types.left_most)
    low, high = _limits(types.term_bits)
    # Clamped before the shift too, with one to spare, so that the shift stays inside 64 bits.
    return _clamp(_clamp(sums, ((low >> places) - 1, (high >> places) + 1)) << places, (low, high))


def _limits(bits):
    return -(1 << bits - 1), (1 << bits - 1) - 1


def conv_acc(before: np.ndarray | int, sums: np.ndarray, f: int, types: TypeSet) -> np.ndarray:
    """Result of ``conv`` and ``conv.acc``: ``kappa_O(before + S * 2^f)``; ``before`` 0 for
    ``conv``."""
    return _clamp(before + shifted(sums, f, types), types.ofm_range)


def conv_bias(bias: np.ndarray, sums: np.ndarray, f: int, b: int, types: TypeSet) -> np.ndarray:
    """Result of ``conv.bias``: ``kappa_O(bias * 2^b + S * 2^f)``, one rounding of the exact sum.
    ``bias`` is [outputs]."""
    cut = max(-f, -b, 0)  # fraction bits of the exact sum
    if max(types.dot_bits + f + cut, types.bias + b + cut, cut) > _WORD:
        sums, bias = sums.astype(object), bias.astype(object)
    exact = (sums << f + cut) + (bias << b + cut)
    if cut:
        exact = exact + (1 << cut - 1) >> cut
    return _clamp(exact, types.ofm_range).astype(np.int64)


def requantise(sums: np.ndarray, types: TypeSet) -> np.ndarray:
    """Requantisation A of section 4.5: ``kappa_I(ofm * 2^(delta_I - delta_O))``."""
    return _clamp(sums + (1 << types.store_shift - 1) >> types.store_shift, types.ifm_range)


def activate(x: np.ndarray, act: int) -> np.ndarray:
    """Activation ``act`` of section 4.5: 0 none, 1 ReLU, 2 leaky ReLU."""
    if act == 1:
        return np.maximum(x, 0)
    if act == 2:
        return np.where(x >= 0, x, x + 4 >> 3)
    return x


def pool(x: np.ndarray, window: tuple[int, int, int, int]) -> np.ndarray:
    """Max pooling: ``window`` = (rows, columns, row stride, column stride); left-over rows and
    columns are dropped."""
    high, wide, down, right = window
    rows, columns = (x.shape[0] - high) // down + 1, (x.shape[1] - wide) // right + 1
    views = [
        x[a : a + (rows - 1) * down + 1 : down, b : b + (columns - 1) * right + 1 : right]
        for a in range(high)
        for b in range(wide)
    ]
    result = views[0].copy()
    for view in views[1:]:
        np.maximum(result, view, out=result)
    return result
