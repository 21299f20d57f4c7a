# SPDX-License-Identifier: BSD-2-Clause
"""Offsets of hidden tensors: a layer's results are stored without their common mean, which would
waste part of the 8-bit range; the biases of the reading layers add it.

A tensor holds ``x - offset``, one offset for each channel. Without an activation any offset will
do. With a relu the offset of every channel is at least as large as the least number: the end of the
numbers is then at or above the relu's zero, so that saturation does what the relu did, for any
input::

    saturate(relu(x) - offset) == saturate(x - offset)    where offset >= -low * step

The relu goes, and its result, which is never negative, fills the negative numbers too.
"""

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, replace

import numpy as np

from ..graph import Activation, Conv, Dense, Graph, MaxPool, Node
from ..passes.readers import Held, without
from ..quantised import Arithmetic
from .scales import Scales, Sums
from .statistics import Seen
from .steps import WIDE, Wish, choose_step, saturating

__all__ = [
    "Centred",
    "Chosen",
    "Reader",
    "choose",
    "far_channels",
    "is_worth_it",
    "movable",
    "moved",
    "without_middle",
]

#: An offset is worth the biases' work if the squared error falls below this share.
_SHARE = 0.8
#: Inputs to come go this much further from the middle than those seen, or from a relu's zero.
_LOUDER = 1.1
#: Elements that a scale is chosen on, at most.
_SAMPLES = 1 << 16


def _is_relu(activation):
    return activation is not None and activation.function == "relu"


def movable(graph: Graph, node: Node, arithmetic: Mapping[str, Arithmetic], scales: Scales) -> bool:
    """Whether an offset can be subtracted from a layer's result: it saturates, every tensor that
    shares its scale can hold the offset too, its scale has few bits and is not prescribed, its
    range is not trained, and all its readers can compensate for the offset."""
    numbers = arithmetic[node.name]
    if (
        not isinstance(node, Conv | Dense)
        or numbers.weight_bits is None
        or numbers.wraps
        or node.activation is not None
        and not _is_relu(node.activation)
        or scales.width(node.output) >= WIDE
        or node.output in scales.taken() | scales.quantised
        or node.output in scales.of
    ):
        return False
    try:
        # Of channels that differ, so that a node that mixes them is met.
        changed, offsets = without(graph, node.output, np.arange(_channels(graph, node)) + 1.0)
    except Held:
        return False
    readers = [arithmetic[name] for name in changed]
    between = [one for one in graph.nodes if one.output in offsets and one is not node]
    return (
        bool(changed)
        # Cores pad maps with zero, which is not the least number any more.
        and not any(isinstance(one, MaxPool) and any(one.padding) for one in between)
        and not any(arithmetic[one.name].favours_positive for one in between)
        and all(one.weight_bits is not None and not one.wraps for one in readers)
        and set(scales.members(node.output)) <= offsets.keys()
    )


def _channels(graph, node):
    shape = graph.shape(node.output)
    return shape[-1] if shape else 1


def far_channels(seen: Seen, node: Conv | Dense) -> np.ndarray:
    """Channels of a layer's result whose range an offset can narrow: after a relu those that never
    reached zero, else all; bool [channels]. ``seen``: :class:`~.statistics.Seen`."""
    return np.ones(len(seen.channel_low), bool) if node.activation is None else seen.channel_low > 0


def without_middle(seen: Seen, node: Conv | Dense, far: np.ndarray) -> Seen:
    """Statistics (:class:`~.statistics.Seen`) of a layer's result after subtraction of the middle
    of the range, in the channels ``far``.

    A relu's channel that meets its zero counts by its greatest value, though with its offset half
    of that will do; so the width of another is what compares with it.
    """
    size = seen.channel_high - seen.channel_low
    size = size / 2 if node.activation is None else size
    spread = seen.channel_power - np.square(seen.channel_mean)
    return replace(
        seen,
        channel_most=np.where(far, size, seen.channel_most),
        channel_power=np.where(far, np.maximum(spread, 0), seen.channel_power),
    )


class Centred(Wish):
    """Data for choosing the scale of a tensor (a :class:`Wish`) from which an offset may be
    subtracted.

    Parameters
    ----------
    plain : Wish of its group as it is
    values : float64 [elements, channels], its values on the calibration inputs
    activation : Activation that makes it: a relu, or ``None``
    partial : :class:`~.scales.Sums` of the layer that makes it, or ``None``

    Attributes
    ----------
    middle : float64 [channels], midway between each channel's least and greatest value
    """

    def __init__(
        self,
        plain: Wish,
        values: np.ndarray,
        activation: Activation | None,
        partial: Sums | None = None,
    ):
        low, high = values.min(axis=0), values.max(axis=0)
        self.middle, self.relu = (low + high) / 2, activation is not None
        count = max(1, _SAMPLES // values.shape[1])
        if count < len(values):
            values = values[np.linspace(0, len(values) - 1, count).round().astype(int)]
        self._values, self._partial = values, partial
        fixed = np.where(self.relu & (low <= 0), 0.0, self.middle)
        self._louder = fixed + (values - fixed) * _LOUDER
        super().__init__(plain.bits, [values - self.middle])
        self.layers, self.percentile = plain.layers, plain.percentile

    def without_offset(self, plain: Wish) -> Wish:
        """The data ``plain`` for this tensor alone, without others of its group."""
        alone = copy(plain)
        alone.samples = [self._values]
        return alone

    def offset(self, step: float) -> np.ndarray:
        """Offset of each channel, float64 [channels], for the scale ``step``."""
        return np.maximum(self.middle, (self.top + 1) * step) if self.relu else self.middle

    def greatest(self) -> float:
        most, partial = _LOUDER * super().greatest(), self._partial
        if partial is None:
            return most
        size = np.abs(partial.values - self.middle[partial.channel]).max(initial=0.0)
        return max(most, float(size * (self.top + 1) / partial.limit))

    def rounding(self, step: float) -> float:
        held = self._louder - self.offset(step)
        whole = np.clip(np.rint(held / step), -self.top - 1, self.top)
        return float(np.mean(np.square(held - step * whole)))

    def saturation(self, step: float) -> float:
        if self._partial is None:
            return 0.0
        values = self._partial.values - self.offset(step)[self._partial.channel]
        # Sums that end below the least number of a relu's result were to be its zero.
        low = -(self.top + 1) * step if self.relu else -np.inf
        return saturating(values, lambda sums: np.maximum(sums, low), self._partial.limit * step)


@dataclass(frozen=True)
class Chosen:
    """Chosen scale of a tensor: the scale, the reason, the mean squared error with it, and the
    offset of each channel, ``None`` without offsets."""

    step: float
    why: str
    lost: float
    offset: np.ndarray | None = None


def choose(plain: Wish, centred: Centred) -> list[Chosen]:
    """Chooses a tensor's scale without an offset and with one; the second is offered only if its
    error is much smaller. Returns a list of :class:`Chosen`.

    ``plain``: :class:`~.steps.Wish` of its group; ``centred``: :class:`Centred`.
    """
    step, why = choose_step(plain)
    found = [Chosen(step, why, centred.without_offset(plain).cost(step))]
    step, why = choose_step(centred)
    lost = centred.cost(step)
    if lost < _SHARE * found[0].lost:
        found.append(Chosen(step, why, lost, centred.offset(step)))
    return found


@dataclass(frozen=True)
class Reader:
    """A layer that reads a tensor and whose partial sums saturate.

    Attributes
    ----------
    gain : mean of its results' sums of squared weights
    size : least size that the range of its results may have
    with_offset, without : size that its partial sums ask for, with the tensor's offset in its bias
        and without
    """

    gain: float
    size: float
    with_offset: float
    without: float

    def lost(self, chosen: Chosen) -> float:
        """Mean squared error of the layer's results: from the tensor's error, and from their own
        rounding."""
        room = self.without if chosen.offset is None else self.with_offset
        return self.gain * chosen.lost + np.square(max(room, self.size) / 128) / 12


def is_worth_it(plain: Chosen, centred: Chosen, readers: list[Reader]) -> bool:
    """Whether an offset gains more accuracy than the readers lose: their partial sums start at the
    bias and saturate earlier. ``plain``, ``centred``: :class:`Chosen`; ``readers``: list of
    :class:`Reader`."""
    return all(one.lost(centred) < _SHARE * one.lost(plain) for one in readers)


def moved(node: Conv | Dense, offset: np.ndarray) -> Conv | Dense:
    """Returns the layer with ``offset`` subtracted from its result; saturation then replaces a
    relu."""
    return replace(
        node,
        bias=(0 if node.bias is None else node.bias) - offset,
        activation=None,
        floor=None if node.activation is None else -offset,
    )
