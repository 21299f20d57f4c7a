# SPDX-License-Identifier: BSD-2-Clause
"""Statistics of a network's tensors on the calibration inputs: samples, extremes, magnitudes by
channel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError
from ..evaluate import run_graph
from .calibration import batches

if TYPE_CHECKING:
    from ..graph import Graph

__all__ = ["Seen", "collect"]

#: Elements that are kept of a tensor.
SAMPLES = 1 << 16


@dataclass(eq=False)
class Seen:
    """Statistics of one tensor on the calibration inputs.

    Attributes
    ----------
    most : greatest size of an element; ``low``, ``high``: least and greatest element
    sample : float64 [some of the elements], drawn evenly
    channel_most, channel_power, channel_active : of the last axis, greatest size, mean of the
    squares, share of elements that are not 0
    channel_inputs : in how many of the inputs the channel is not all 0
    channel_low, channel_high, channel_mean : of the last axis, least and greatest element, mean
    """

    most: float
    low: float
    high: float
    sample: np.ndarray
    channel_most: np.ndarray
    channel_power: np.ndarray
    channel_active: np.ndarray
    channel_inputs: np.ndarray
    channel_low: np.ndarray
    channel_high: np.ndarray
    channel_mean: np.ndarray


def collect(graph: Graph, values: Mapping[str, np.ndarray], seed: int = 0) -> dict[str, Seen]:
    """Collects :class:`Seen` of every activation tensor, by name; ``values``: result of
    :func:`~.calibration.check_calibration`.

    Raises
    ------
    InputError
        A tensor that the network itself makes infinite, or no number.
    """
    random, count = np.random.default_rng(seed), len(next(iter(values.values())))
    parts: dict[str, Any] = {}
    for batch in batches(graph, values):
        share = len(next(iter(batch.values()))) / count
        for name, array in run_graph(graph, batch, keep=True).items():
            if not np.isfinite(array).all():
                bad = array[~np.isfinite(array)][0]
                raise InputError(
                    f"tensor {name} becomes {bad} on the calibration inputs, expected finite "
                    f"numbers"
                )
            # A number without axes is one channel; the first axis counts inputs.
            channels = array.shape[-1] if array.ndim > 1 else 1
            flat = array.reshape(-1, channels)
            wanted = int(np.ceil(SAMPLES * share))
            sample = (
                array.ravel()
                if array.size <= wanted
                else array.ravel()[random.integers(0, array.size, wanted)]
            )
            low, high = flat.min(axis=0), flat.max(axis=0)
            parts.setdefault(name, []).append(
                (
                    low,
                    high,
                    sample,
                    flat.mean(axis=0) * share,
                    np.square(flat).mean(axis=0) * share,
                    (flat != 0).mean(axis=0) * share,
                    (array.reshape(len(array), -1, channels) != 0).any(axis=1).sum(axis=0),
                )
            )
    result = {}
    for name, seen in parts.items():
        lows, highs, samples, means, powers, active, inputs = zip(*seen, strict=True)
        low, high = np.min(lows, axis=0), np.max(highs, axis=0)
        most = np.maximum(-low, high)
        result[name] = Seen(
            most=float(most.max()),
            low=float(low.min()),
            high=float(high.max()),
            sample=np.concatenate(samples),
            channel_most=most,
            channel_power=np.sum(powers, axis=0),
            channel_active=np.sum(active, axis=0),
            channel_inputs=np.sum(inputs, axis=0),
            channel_low=low,
            channel_high=high,
            channel_mean=np.sum(means, axis=0),
        )
    return result
