# SPDX-License-Identifier: BSD-2-Clause
"""Equalisation: factors of channels with which layers and maps lose least to rounding, the network's function being the same."""
import numpy as np

from ..graph import Affine
from .channels import channel_classes
from .integers import shift_groups
from .rows import of_rows, rows_of, with_weights

__all__ = ["equalised"]

#: Times that all classes are gone through.
SWEEPS = 2
#: Exponents tried of: a channel's range in the map, its weights in the layers before, its weights in the layers behind.
EXPONENTS = [(0, 0, 0), (0, .5, .5), (.5, 0, 0), (1, 0, 0), (.5, .25, .25), (.25, .25, .25), (.75, .25, .25), (.5, 0, .5), (.75, 0, .25),
             (0, 1, 0), (0, 0, 1), (0, .75, .25), (.25, .5, .5), (.5, .5, 0), (.25, .75, 0)]


class _Layer:
    """Weights of a layer by channels read and channels written.

    Attributes
    ----------
    most : [groups, out / groups, channels read], greatest size over the window; ``power``: sum of the squares of the same
    taps : products a channel read
    source : [groups, channels read]: which channel of the source
    """
    def __init__(self, node, channels, numbers):
        rows = rows_of(node)
        groups, out, products = rows.shape
        inner = channels // groups
        parts = rows.reshape(groups, out, products // inner, inner)
        self.most, self.power, self.taps = np.abs(parts).max(axis=2), np.square(parts).sum(axis=2), products // inner
        self.source = np.arange(channels).reshape(groups, inner)
        self.of = shift_groups(groups * out, numbers.shift_group)
        self.levels = (1 << numbers.weight_bits - 1) - 1

    def steps(self, most):
        """Unit of each row's weights whose greatest sizes are ``most`` [out]."""
        group = np.zeros(self.of[-1] + 1)
        np.maximum.at(group, self.of, most)
        return (group / self.levels)[self.of]

    def column_power(self):
        """Sum of the squares of the weights by channel read, [channels]."""
        return self.power.sum(axis=1).ravel()


class _Cost:
    """What rounding loses in the results of the layers that read a class, each as a share of their power."""
    def __init__(self, found, graph, nodes, seen, arithmetic, ranges, levels):
        self.range, self.levels, self.readers, self.writers = ranges, levels, [], []
        for name, source in found.readers:
            reader = _Layer(nodes[name], found.channels, arithmetic[name])
            self.readers.append((reader, float(seen[nodes[name].output].channel_power.sum()) + 1e-30, seen[source].channel_power))
        for name in found.writers:
            source = nodes[name].inputs[0]
            writer = _Layer(nodes[name], graph.shape(source)[-1], arithmetic[name])
            energy = seen[source].channel_power[writer.source].sum(axis=1) * writer.taps
            self.writers.append((writer, np.repeat(energy, writer.most.shape[1]), writer.most.max(axis=2).ravel()))

    def before(self):
        """Greatest weight a channel in the layers before."""
        return np.max([most for _, _, most in self.writers], axis=0)

    def behind(self):
        """Greatest weight a channel in the layers behind."""
        return np.max([reader.most.max(axis=1).ravel() for reader, *_ in self.readers], axis=0)

    def __call__(self, factors):
        square = np.square(factors)
        noise = np.full(len(factors), np.square(np.max(self.range / factors) / self.levels))
        for writer, energy, most in self.writers:
            noise = noise + np.square(writer.steps(most / factors)) * energy
        total = 0.0
        for reader, power, values in self.readers:
            rows = (reader.most * factors[reader.source][:, None]).max(axis=2).ravel()
            given = (values / square)[reader.source].sum(axis=1) * reader.taps
            own = np.square(reader.steps(rows)) @ np.repeat(given, reader.most.shape[1])
            total += (own + noise * square @ reader.column_power()) / power
        return total


def _rule(cost):
    """Best factors of the form range^a * before^b / behind^c."""
    tiny = 1e-12
    logs = [np.log(np.maximum(values, max(values.max(), tiny) * 1e-4)) for values in (cost.range, cost.before(), cost.behind())]
    tried = []
    for a, b, c in EXPONENTS:
        exponent = a * logs[0] + b * logs[1] - c * logs[2]
        factors = np.exp(exponent - exponent.mean())
        tried.append((cost(factors), factors))
    return min(tried, key=lambda one: one[0])


def _descend(cost, best, factors):
    """Moves one channel's factor at a time as long as that helps."""
    for ratio in (2.0, 2 ** 0.5):
        for channel in range(len(factors)):
            for move in (ratio, 1 / ratio):
                tried = factors.copy()
                tried[channel] *= move
                now = cost(tried)
                if now < best:
                    best, factors = now, tried
                    break
    return best, factors


def _scaled(node, rows, columns):
    """A layer with its rows multiplied by ``rows`` [out] and what it reads by ``columns`` [channels read], either ``None``."""
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


def equalised(graph, arithmetic, seen, sums, levels, fixed=()):
    """The nodes with other weights, and what was done.

    Parameters
    ----------
    graph : Graph, prepared
    arithmetic : dict, node name -> Arithmetic
    seen : dict, tensor name -> Seen; what it says of channels is kept true
    sums : dict, node name -> float64 [out], greatest size of each channel's partial sums where they saturate; kept true
    levels : dict, tensor name -> greatest whole number
    fixed : names of tensors that keep their scale

    Returns
    -------
    (list of Node, dict tensor name -> factors [channels] that its values were divided by)
    """
    nodes, factors_of = {node.name: node for node in graph.nodes}, {}
    classes = [found for found in channel_classes(graph, fixed)
               if all(arithmetic[name].weight_bits is not None for name in [*found.writers, *(name for name, _ in found.readers)])]
    for _ in range(SWEEPS):
        for found in classes:
            ranges = np.max([seen[name].channel_most for name in found.tensors] + [sums[name] for name in found.writers if name in sums], axis=0)
            cost = _Cost(found, graph, nodes, seen, arithmetic, ranges, levels[found.tensors[0]])
            best, factors = _rule(cost)
            _, factors = _descend(cost, best, factors)
            for name in found.writers:
                nodes[name] = _scaled(nodes[name], 1 / factors, None)
                if name in sums:
                    sums[name] = sums[name] / factors
            for name, _ in found.readers:
                nodes[name] = _scaled(nodes[name], None, factors)
            for name in [*found.tensors, *found.vectors]:
                mine = np.resize(factors, len(seen[name].channel_most))
                seen[name].channel_most, seen[name].channel_power = seen[name].channel_most / mine, seen[name].channel_power / np.square(mine)
                factors_of[name] = factors_of.get(name, 1.0) * mine
    return [nodes[node.name] for node in graph.nodes], factors_of
