# SPDX-License-Identifier: BSD-2-Clause
"""Offsets of hidden tensors: what is common to a layer's results stays out of their 8 bits, and the
layers that read them add it to their biases.

A tensor holds ``x - offset``, one offset for each channel. Without an activation any offset will
do. With a relu the offset of every channel is at least :data:`BELOW` units: the end of the numbers
is then at or above the relu's zero, so that saturation does what the relu did, for any input::

    saturate(relu(x) - offset) == saturate(x - offset)    where offset >= -low * step

The relu goes, and its result, which is never negative, fills the negative numbers too.
"""

from copy import copy
from dataclasses import dataclass, replace

import numpy as np

from ..graph import Conv, Dense
from ..passes.centring import Held, without
from .steps import WIDE, Wish, choose_step, saturating

__all__ = ["Centred", "Chosen", "choose", "movable", "moved"]

#: An offset is worth the biases' work if the squared error falls below this share.
_SHARE = 0.8
#: Elements that a scale is chosen on, at most.
_SAMPLES = 1 << 16


def _is_relu(activation):
    return activation is not None and activation.function == "relu"


def movable(graph, node, arithmetic, scales):
    """Whether the result of a layer may hold an offset less: it saturates, shares its scale with
    nothing that would not hold the offset less too, has a scale of few bits that nobody gives, and
    all that read it can make up for the offset."""
    numbers = arithmetic[node.name]
    if (
        not isinstance(node, Conv | Dense)
        or numbers.weight_bits is None
        or numbers.wraps
        or node.activation is not None
        and not _is_relu(node.activation)
        or scales.width(node.output) >= WIDE
        or node.output in scales.taken()
        or node.output in scales.of
    ):
        return False
    try:
        # Of channels that differ, so that a node that mixes them is met.
        changed, offsets = without(graph, node.output, np.arange(_channels(graph, node)) + 1.0)
    except Held:
        return False
    readers = [arithmetic[name] for name in changed]
    return (
        bool(changed)
        and all(one.weight_bits is not None and not one.wraps for one in readers)
        and set(scales.members(node.output)) <= offsets.keys()
    )


def _channels(graph, node):
    shape = graph.shape(node.output)
    return shape[-1] if shape else 1


class Centred(Wish):
    """Wish of a tensor that may hold an offset less.

    Parameters
    ----------
    plain : Wish of its group as it is
    values : float64 [elements, channels], what it holds on the calibration inputs
    activation : Activation that makes it: a relu, or ``None``
    partial : :class:`~.scales.Sums` of the layer that makes it, or ``None``

    Attributes
    ----------
    middle : float64 [channels], midway between each channel's least and greatest value
    """

    def __init__(self, plain, values, activation, partial=None):
        self.middle = (values.min(axis=0) + values.max(axis=0)) / 2
        self.relu = activation is not None
        count = max(1, _SAMPLES // values.shape[1])
        if count < len(values):
            values = values[np.linspace(0, len(values) - 1, count).round().astype(int)]
        self._values, self._partial = values, partial
        super().__init__(plain.bits, [values - self.middle])
        self.layers, self.percentile = plain.layers, plain.percentile

    def without_offset(self, plain):
        """The Wish ``plain`` of this tensor alone, without others of its group."""
        alone = copy(plain)
        alone.samples = [self._values]
        return alone

    def offset(self, step):
        """Offset of each channel, float64 [channels], where the unit is ``step``."""
        return np.maximum(self.middle, (self.top + 1) * step) if self.relu else self.middle

    def greatest(self):
        most, partial = super().greatest(), self._partial
        if partial is None:
            return most
        size = np.abs(partial.values - self.middle[partial.channel]).max(initial=0.0)
        return max(most, float(size * (self.top + 1) / partial.limit))

    def rounding(self, step):
        held = self._values - self.offset(step)
        whole = np.clip(np.rint(held / step), -self.top - 1, self.top)
        return float(np.mean(np.square(held - step * whole)))

    def saturation(self, step):
        if self._partial is None:
            return 0.0
        values = self._partial.values - self.offset(step)[self._partial.channel]
        # What ends below the least number of a relu's result was to be its zero.
        low = -(self.top + 1) * step if self.relu else -np.inf
        return saturating(values, lambda sums: np.maximum(sums, low), self._partial.limit * step)


@dataclass(frozen=True)
class Chosen:
    """Unit of a tensor, why, and the offset of each of its channels, ``None`` where it has none."""

    step: float
    why: str
    offset: np.ndarray | None = None


def choose(plain, centred=None):
    """The :class:`Chosen` of a tensor: with an offset, if it loses much less with it.

    ``plain``: :class:`~.steps.Wish` of its group; ``centred``: :class:`Centred`, or ``None``.
    """
    step, why = choose_step(plain)
    if centred is not None:
        own, reason = choose_step(centred)
        if centred.cost(own) < _SHARE * centred.without_offset(plain).cost(step):
            return Chosen(own, reason, centred.offset(own))
    return Chosen(step, why)


def moved(node, offset):
    """The layer whose result holds ``offset`` less; where it had a relu, saturation is the relu."""
    return replace(
        node,
        bias=(0 if node.bias is None else node.bias) - offset,
        activation=None,
        floor=None if node.activation is None else -offset,
    )
