# SPDX-License-Identifier: BSD-2-Clause
"""Cross-layer equalisation: per-channel factors that minimise rounding loss and leave the network's
function unchanged."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

import numpy as np

from ..graph import Affine, Graph, Node
from .channels import channel_classes
from .integers import shift_groups
from .rows import of_rows, rows_of, with_weights
from .sensitivity import sensitivities

if TYPE_CHECKING:
    from ..quantised import Arithmetic
    from .statistics import Seen

__all__ = ["equalised"]

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
            np.maximum.at(self.range, at, spread + biased)
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


def _best(cost):
    """Best factors of the form range^a * before^b / behind^c, [channels]; fixed channels have
    factor 1, and the others are relative to them."""
    tiny = 1e-12
    logs = [
        np.log(np.maximum(values, max(values.max(), tiny) * 1e-4))
        for values in (cost.range, cost.before(), cost.behind())
    ]
    tried = []
    for a, b, c in EXPONENTS:
        exponent = a * logs[0] + b * logs[1] - c * logs[2]
        middle = np.median(exponent[cost.held] if cost.held.any() else exponent)
        factors = np.exp(np.clip(exponent - middle, -_FURTHEST, _FURTHEST))
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
    for _ in range(SWEEPS):
        for found in classes:
            ranges = _greatest(
                found.channels,
                [(at, _likely(seen[name])) for name, at in found.tensors.items()]
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
            factors = _best(cost)
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
