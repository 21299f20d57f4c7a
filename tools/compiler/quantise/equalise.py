# SPDX-License-Identifier: BSD-2-Clause
"""Changes before rounding that leave the network's function as it is: factors by channel
(cross-layer equalisation), and offsets of hidden tensors, whose common mean would waste a part of
the 8-bit range.

A clip from zero to a bound, as relu6, is one number for all channels, so that a channel's factor
may neither exceed 1 nor bring its greatest values beyond the bound. Within these limits::

    clip(x / factor, 0, bound) == clip(x, 0, bound) / factor    where x <= factor * bound

Inputs to come whose values are greater than those seen, and a margin, saturate as they do in any
tensor.

A tensor holds ``x - offset``, one offset for each channel. Without an activation any offset will
do. With a relu the offset of every channel is at least as large as the least number: the end of the
numbers is then at or above the relu's zero, so that saturation does what the relu did, for any
input::

    saturate(relu(x) - offset) == saturate(x - offset)    where offset >= -low * step

The relu goes, and its result, which is never negative, fills the negative numbers too.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from copy import copy
from dataclasses import dataclass, replace

import numpy as np

from ..graph import (
    Activation,
    Affine,
    AveragePool,
    Concat,
    Conv,
    Dense,
    Graph,
    MaxPool,
    Node,
    Reduce,
)
from ..passes.folding import Held, without
from ..quantised import Arithmetic
from .calibration import Seen
from .groups import channel_classes
from .integers import of_rows, rows_of, shift_groups, weighted, with_weights
from .scales import WIDE, Scales, Sums, Wish, choose_step, saturating

__all__ = [
    "Centred",
    "Chosen",
    "Reader",
    "choose",
    "equalised",
    "far_channels",
    "is_worth_it",
    "movable",
    "moved",
    "sensitivities",
    "without_middle",
]


def _positions(graph, name):
    shape = graph.shape(name)
    return max(1, graph.tensors[name].size // (shape[-1] if shape else 1))


def _fold(values, channels):
    """Adapts per-channel ``values`` to a tensor of ``channels``: means if the channels repeat,
    copies if they are too few."""
    if len(values) % channels == 0:
        return values.reshape(-1, channels).mean(axis=0)
    return np.full(channels, values.mean())


def _through_layer(node, channels, weight, together):
    """Propagates sensitivity through a layer with weights to the source's ``channels``, as if each
    source position had a single result."""
    rows = rows_of(node)
    groups, out, products = rows.shape
    taps = rows.reshape(groups, out, -1, channels // groups)
    gain = np.square(taps.sum(axis=2)) if together else np.square(taps).sum(axis=2)
    return np.einsum("goi,go->gi", gain, weight.reshape(groups, out)).ravel()


def sensitivities(graph: Graph, seen: Mapping[str, Seen], together: bool) -> dict[str, np.ndarray]:
    """Sensitivity of every activation tensor: increase of the results' relative squared error per
    squared error of one element of each channel; dict, tensor name -> float64 [channels].

    ``together``: an error is the same at all positions of a map, as one of a weight is, else every
    position has one of its own, as rounding gives. Errors of channels are taken as independent of
    each other, and a result that an activation cuts as deaf to them.
    """
    result = {name: np.zeros_like(values.channel_power) for name, values in seen.items()}
    for name in graph.kept():
        result[name] += 1 / (seen[name].channel_power.sum() * _positions(graph, name) + 1e-30)
    for node in reversed(graph.nodes):
        after, here = result[node.output], _positions(graph, node.output)
        for at, name in enumerate(node.inputs):
            if name not in result:
                continue
            channels, ratio = len(result[name]), here / _positions(graph, name)
            if isinstance(node, Concat):
                apart = channels < len(after)
                begin = sum(graph.shape(other)[-1] for other in node.inputs[:at]) if apart else 0
                result[name] += after[begin : begin + channels]
                continue
            if weighted(node):
                heard = after * seen[node.output].channel_active
                result[name] += (
                    heard if at else _through_layer(node, channels, heard, together) * ratio
                )
                continue
            if isinstance(node, AveragePool) and not together:
                ratio /= np.prod(node.window)
            elif isinstance(node, Reduce) and node.function == "mean" and not together:
                ratio *= ratio
            result[name] += _fold(after, channels) * ratio
    return result


#: Times that all classes are gone through.
SWEEPS = 2
#: A channel's range is at least so many times what its sums would spread were all inputs
#: independent.
_SPREAD = 2.0
#: A range's doubt, divided by the root of the inputs that it was seen in.
_UNSEEN = 3.0
#: Greatest logarithm of a factor that the rules give.
_FURTHEST = 4.0
#: Exponents tried of: a channel's range in the map, its weights in the layers before, its weights
#: in the layers after. None leans on the range alone: channels that all fill theirs are all cut by
#: inputs that are a little louder than these.
EXPONENTS = [
    (0, 0, 0),
    (0, 0.5, 0.5),
    (0, 0.25, 0.25),
    (0.25, 0.25, 0.25),
    (0.5, 0.25, 0.25),
    (0.25, 0.5, 0.5),
]


class _Layer:
    """Weights of a layer, arranged by channels read and channels written.

    Attributes
    ----------
    most : [groups, out / groups, channels read], greatest size over the window; ``power``:
        sum of the squares of the same
    taps : products a channel read
    source : [groups, channels read]: which channel of the source
    """

    def __init__(self, node, channels, numbers):
        rows = rows_of(node)
        groups, out, products = rows.shape
        inner = channels // groups
        parts = rows.reshape(groups, out, products // inner, inner)
        self.most, self.power, self.taps = (
            np.abs(parts).max(axis=2),
            np.square(parts).sum(axis=2),
            products // inner,
        )
        self.source = np.arange(channels).reshape(groups, inner)
        self.of = shift_groups(groups * out, numbers.shift_group)
        self.levels = (1 << numbers.weight_bits - 1) - 1

    def steps(self, most):
        """Scale of the weights of each row, given their greatest sizes ``most`` [out]."""
        group = np.zeros(self.of[-1] + 1)
        np.maximum.at(group, self.of, most)
        return (group / self.levels)[self.of]


class _Cost:
    """Cost function of a channel class: error in the network's results from rounding in the class's
    tensors, and in the weights of the layers that write and read them."""

    def __init__(self, found, graph, nodes, seen, weight, arithmetic, ranges, levels, far):
        self.range, self.levels, self.readers, self.writers = ranges, levels, [], []
        self.held = found.held

        def heard(name):
            return (
                weight[True][name]
                * seen[name].channel_active
                * (graph.tensors[name].size / len(weight[True][name]))
            )

        self.weight = np.zeros(found.channels)
        for name, at in found.tensors.items():
            np.add.at(self.weight, at, weight[False][name] * (graph.tensors[name].size / len(at)))
        for name, source in found.readers:
            at = found.tensors[source]
            reader = _Layer(nodes[name], len(at), arithmetic[name])
            power = seen[source].channel_power[reader.source]
            self.readers.append((reader, at[reader.source], heard(nodes[name].output), power))
        for name in found.writers:
            source = nodes[name].inputs[0]
            writer = _Layer(nodes[name], graph.shape(source)[-1], arithmetic[name])
            power = seen[source].channel_power[writer.source]
            # A channel that is hardly active on these inputs may be on others; the spread of its
            # sums bounds its range, and its bias must fit.
            spread = _SPREAD * np.sqrt(np.einsum("goi,gi->go", writer.power, power).ravel())
            at = found.tensors[nodes[name].output]
            biased = (
                0.5 * np.abs(_bias(nodes[name])) * ~far.get(nodes[name].output, np.zeros(1, bool))
            )
            bound = found.clipped.get(nodes[name].output, np.inf)
            np.maximum.at(self.range, at, np.minimum(spread + biased, bound))
            energy = np.repeat(power.sum(axis=1) * writer.taps, writer.most.shape[1])
            self.writers.append(
                (writer, at, energy * heard(nodes[name].output), writer.most.max(axis=2).ravel())
            )

    def before(self):
        """Greatest weight per channel in the layers that write the class."""
        return _greatest(len(self.range), [(at, most) for _, at, _, most in self.writers])

    def behind(self):
        """Greatest weight per channel in the layers that read the class."""
        return _greatest(
            len(self.range), [(at, reader.most.max(axis=1)) for reader, at, *_ in self.readers]
        )

    def __call__(self, factors):
        square = np.square(factors)
        total = np.square(np.max(self.range / factors) / self.levels) * (square @ self.weight)
        for writer, at, energy, most in self.writers:
            total += np.square(writer.steps(most / factors[at])) @ (energy * square[at])
        for reader, at, weight, values in self.readers:
            rows = (reader.most * factors[at][:, None]).max(axis=2).ravel()
            given = (values / square[at]).sum(axis=1) * reader.taps
            total += np.square(reader.steps(rows)) @ (
                np.repeat(given, reader.most.shape[1]) * weight
            )
        return total


def _greatest(channels, parts):
    """Greatest value of each channel among ``parts``, pairs (channel of each value, values)."""
    result = np.zeros(channels)
    for at, values in parts:
        np.maximum.at(result, at, values)
    return result


def _best(cost, low, high):
    """Best factors of the form range^a * before^b / behind^c, [channels], between ``low`` and
    ``high`` [channels]; fixed channels have factor 1, and the others are relative to them."""
    tiny = 1e-12
    logs = [
        np.log(np.maximum(values, max(values.max(), tiny) * 1e-4))
        for values in (cost.range, cost.before(), cost.behind())
    ]
    tried = []
    for a, b, c in EXPONENTS:
        exponent = a * logs[0] + b * logs[1] - c * logs[2]
        middles = [np.median(exponent[cost.held] if cost.held.any() else exponent)]
        if np.isfinite(high).all() and not cost.held.any():
            # Factors that may only fall are relative to the greatest.
            middles.append(exponent.max())
        for middle in middles:
            factors = np.exp(np.clip(exponent - middle, -_FURTHEST, _FURTHEST))
            factors = np.clip(factors, low, high)
            factors[cost.held] = 1.0
            tried.append((cost(factors), factors))
    return min(tried, key=lambda one: one[0])[1]


def _bias(node):
    """Bias of a layer, 0 if it has none."""
    bias = node.shift if isinstance(node, Affine) else node.bias
    return 0.0 if bias is None else bias


def _likely(values):
    """Expected range of each channel on other inputs: greater than the range seen, by a margin that
    shrinks with the number of inputs that activated the channel."""
    return values.channel_most * (1 + _UNSEEN / np.sqrt(values.channel_inputs + 1))


def _least_factors(found, seen):
    """Factors of a class below which a clip would cut numbers that it did not cut before, float64
    [channels]: a channel divided by less reaches the bound."""
    least = np.zeros(found.channels)
    for name, bound in found.clipped.items():
        np.maximum.at(least, found.tensors[name], np.minimum(_likely(seen[name]) / bound, 1.0))
    return least


def _greatest_factors(found):
    """Factors of a class above which a clip would cut less than before, float64 [channels]."""
    most = np.full(found.channels, np.inf)
    for name in found.clipped:
        most[found.tensors[name]] = 1.0
    return most


def _scaled(node, rows, columns):
    """Returns a layer with its rows multiplied by ``rows`` [out] and its columns by ``columns``
    [channels read]; either may be ``None``."""
    bias = node.shift if isinstance(node, Affine) else node.bias
    weights = rows_of(node)
    if rows is not None:
        weights = weights * rows.reshape(weights.shape[:2])[..., None]
        bias = None if bias is None else bias * rows
    if columns is not None:
        groups, _, products = weights.shape
        repeated = np.tile(columns.reshape(groups, -1), (1, products * groups // len(columns)))
        weights = weights * repeated[:, None]
    return with_weights(node, of_rows(node, weights), bias)


def equalised(
    graph: Graph,
    arithmetic: Mapping[str, Arithmetic],
    seen: Mapping[str, Seen],
    sums: dict[str, np.ndarray],
    levels: Mapping[str, float],
    fixed: Collection[str] = (),
    far: Mapping[str, np.ndarray] | None = None,
) -> tuple[list[Node], dict[str, np.ndarray]]:
    """Equalises a graph: the nodes with changed weights, and the factors.

    Parameters
    ----------
    graph : Graph, legalised
    arithmetic : dict, node name -> Arithmetic
    seen : dict, tensor name -> Seen; what it says of channels is kept true
    sums : dict, node name -> float64 [out],
        greatest size of each channel's partial sums where they saturate; kept true
    levels : dict, tensor name -> greatest whole number
    fixed : names of tensors that keep their scale
    far : dict, tensor name -> bool [channels], channels whose middle is nothing that the tensor
        would have to hold; what ``seen`` says of them leaves it out

    Returns
    -------
    (list of Node, dict tensor name -> factors [channels] that its values were divided by)
    """
    nodes = {node.name: node for node in graph.nodes}
    factors_of: dict[str, np.ndarray] = {}
    weight = {together: sensitivities(graph, seen, together) for together in (False, True)}
    classes = [
        found
        for found in channel_classes(graph, fixed)
        if all(
            arithmetic[name].weight_bits is not None
            for name in [*found.writers, *(name for name, _ in found.readers)]
        )
    ]
    most_of = {id(found): _greatest_factors(found) for found in classes}
    for _ in range(SWEEPS):
        for found in classes:
            ranges = _greatest(
                found.channels,
                [
                    (at, np.minimum(_likely(seen[name]), found.clipped.get(name, np.inf)))
                    for name, at in found.tensors.items()
                ]
                + [
                    (found.tensors[nodes[name].output], sums[name])
                    for name in found.writers
                    if name in sums
                ],
            )
            first = next(iter(found.tensors))
            cost = _Cost(
                found, graph, nodes, seen, weight, arithmetic, ranges, levels[first], far or {}
            )
            most = most_of[id(found)]
            factors = _best(cost, np.minimum(_least_factors(found, seen), most), most)
            most /= factors
            for name in found.writers:
                mine = factors[found.tensors[nodes[name].output]]
                nodes[name] = _scaled(nodes[name], 1 / mine, None)
                if name in sums:
                    sums[name] = sums[name] / mine
            for name, source in found.readers:
                nodes[name] = _scaled(nodes[name], None, factors[found.tensors[source]])
            for name in [*found.tensors, *found.vectors]:
                at = found.tensors[found.vectors.get(name, name)]
                if found.held[at].all():
                    continue
                mine = np.resize(factors[at], len(seen[name].channel_most))
                seen[name].channel_most, seen[name].channel_power = (
                    seen[name].channel_most / mine,
                    seen[name].channel_power / np.square(mine),
                )
                for kind in weight.values():
                    kind[name] = kind[name] * np.square(mine)
                factors_of[name] = factors_of.get(name, 1.0) * mine
    return [nodes[node.name] for node in graph.nodes], factors_of


#: An offset is worth the biases' work if the squared error falls below this share.
_SHARE = 0.8
#: Inputs to come go this much further from the middle than those seen, or from a relu's zero.
_LOUDER = 1.1
#: Elements that a scale is chosen on, at most.
_SAMPLES = 1 << 16


def _is_relu(activation):
    return activation is not None and activation.function == "relu"


def _activation(node):
    return getattr(node, "activation", None)


def movable(graph: Graph, node: Node, arithmetic: Mapping[str, Arithmetic], scales: Scales) -> bool:
    """Whether an offset can be subtracted from a layer's result: it saturates, every tensor that
    shares its scale can hold the offset too, its scale has few bits and is not prescribed, its
    range is not trained, and all its readers can compensate for the offset."""
    numbers = arithmetic[node.name]
    if (
        not isinstance(node, Conv | Dense | AveragePool)
        or isinstance(node, AveragePool)
        and not numbers.biased_averages
        or numbers.weight_bits is None
        or numbers.wraps
        or _activation(node) is not None
        and not _is_relu(_activation(node))
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
    reached zero, else all; bool [channels]. ``seen``: :class:`~.calibration.Seen`."""
    return np.ones(len(seen.channel_low), bool) if node.activation is None else seen.channel_low > 0


def without_middle(seen: Seen, node: Conv | Dense, far: np.ndarray) -> Seen:
    """Statistics (:class:`~.calibration.Seen`) of a layer's result after subtraction of the middle
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
    of_average : bool, whether an average makes it: there are so few values of one that inputs to
        come may go much further than those seen

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
        of_average: bool = False,
    ):
        self._further = _LOUDER
        if of_average:
            self._further = max(_LOUDER, 1 + _UNSEEN / np.sqrt(len(values) + 1))
        low, high = values.min(axis=0), values.max(axis=0)
        self.middle, self.relu = (low + high) / 2, activation is not None
        count = max(1, _SAMPLES // values.shape[1])
        if count < len(values):
            values = values[np.linspace(0, len(values) - 1, count).round().astype(int)]
        self._values, self._partial = values, partial
        fixed = np.where(self.relu & (low <= 0), 0.0, self.middle)
        self._louder = fixed + (values - fixed) * self._further
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
        most, partial = self._further * super().greatest(), self._partial
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

    ``plain``: :class:`~.scales.Wish` of its group; ``centred``: :class:`Centred`.
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


def moved(node: Conv | Dense | AveragePool, offset: np.ndarray) -> Conv | Dense | AveragePool:
    """Returns the layer with ``offset`` subtracted from its result; saturation then replaces a
    relu."""
    if isinstance(node, AveragePool):
        return replace(node, bias=-offset)
    return replace(
        node,
        bias=(0 if node.bias is None else node.bias) - offset,
        activation=None,
        floor=None if node.activation is None else -offset,
    )
