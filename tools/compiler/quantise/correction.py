# SPDX-License-Identifier: BSD-2-Clause
"""Correction of a layer's bias: the mean of every channel is that of the float network, whatever
rounding and saturation do."""

import numpy as np

__all__ = ["mean_error"]

#: Least share of a channel's results that follow its bias.
_ACTIVE = 0.05


def mean_error(real, whole, scale):
    """What is to be added to each channel's bias, in real numbers: float64 [out].

    Parameters
    ----------
    real : [inputs, ..., out], the float network's results behind the activation
    whole : the machine's, of the same shape
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
