# SPDX-License-Identifier: BSD-2-Clause
"""Bias correction: restores each channel's mean of the float network after rounding and
saturation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ..quantised import Scale

__all__ = ["mean_error"]

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
