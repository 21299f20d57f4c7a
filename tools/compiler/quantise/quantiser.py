# SPDX-License-Identifier: BSD-2-Clause
"""One network for one machine, from statistics to whole numbers."""
import numpy as np

from ..evaluate import activate, run_graph
from ..graph import Activation, Conv
from ..quantised import Quantised, Scale
from .calibration import check_calibration, fewer
from .correction import mean_error
from .equalise import equalised
from .groups import Groups, widths
from .integers import fit_shifts, integer_bias, make_integer
from .rows import neighbourhoods, rows_of, weighted
from .statistics import collect
from .steps import Wish, choose_step
from .walk import Walk, copy_of

__all__ = ["quantise"]

#: Elements of partial sums that are looked at, a step; rounds of bias correction.
_SUMS, _ROUNDS = 1 << 15, 2


def quantise(graph, backend, calibration, *, bits=None, equalise=True, percentile=None, feedback=True, correct=True):
    graph = copy_of(backend.prepare(graph))
    values = check_calibration(graph, calibration)
    if backend.floating:
        return Quantised(graph=graph)
    quantiser = Quantiser(graph, backend, values, bits=bits, equalise=equalise, percentile=percentile, feedback=feedback, correct=correct)
    return quantiser.run()


class Quantiser:
    def __init__(self, graph, backend, values, *, bits, equalise, percentile, feedback=True, correct=True):
        self.graph, self.backend, self.percentile, self.feedback, self.correct = graph, backend, percentile, feedback, correct
        self.arithmetic = {node.name: backend.arithmetic(graph, node) for node in graph.nodes}
        self.groups = Groups(graph, self.arithmetic)
        self.bits = widths(graph, self.arithmetic, self.groups, bits)
        self.seen = collect(graph, values)
        self.random = np.random.default_rng(1)
        self.result = Quantised(graph=graph)
        self.steps = {}
        if equalise:
            self.equalise(values)
        self.walk = Walk(graph, backend, fewer(graph, values))

    def equalise(self, values):
        sums = {}
        few = {name: array[np.linspace(0, len(array) - 1, min(len(array), 8)).round().astype(int)] for name, array in values.items()}
        if any(numbers.partial_bits is not None for numbers in self.arithmetic.values()):
            real = run_graph(self.graph, few, keep=True)
            for node in self.graph.nodes:
                numbers = self.arithmetic[node.name]
                if weighted(node) and numbers.partial_bits is not None:
                    room = 2.0 ** (self.bits[self.groups.of(node.output)] + numbers.partial_shifted - numbers.partial_bits)
                    sums[node.name] = room * np.max([np.abs(part).reshape(-1, part.shape[-1]).max(axis=0)
                                                     for part in self.backend.partial_sums(self.graph, node, real[node.inputs[0]])], axis=0)
        levels = {name: (1 << self.bits[self.groups.of(name)] - 1) - 1 for name in self.seen}
        self.graph.nodes, factors = equalised(self.graph, self.arithmetic, self.seen, sums, levels)
        for name, mine in factors.items():
            self.note(name, "equalise", [float(mine.min()), float(mine.max())], "factors of channels")
        self.seen = collect(self.graph, values)

    def note(self, name, what, value, why):
        self.result.choices.append({"name": name, "what": what, "value": value, "why": why})

    def run(self):
        for port in self.graph.inputs:
            self.scale_of(port.tensor)
            self.walk.whole[port.tensor] = self.result.scales[port.tensor].quantise(self.walk.real[port.tensor])
        for index, node in enumerate(self.graph.nodes):
            self.walk.run_real(node)
            for name in node.inputs:
                self.scale_of(name)
            self.node(node)
            self.walk.forget(index)
        return self.result

    # Scales

    def wish(self, group):
        tensors = self.groups.members[group]
        data = [self.graph.tensors[name].data for name in tensors]
        wish = Wish(self.bits[group], [self.seen[name].sample if own is None else own.ravel() for name, own in zip(tensors, data, strict=True)])
        wish.percentile = self.percentile
        for node in self.graph.nodes:
            if node.output in tensors:
                numbers = self.arithmetic[node.name]
                wish.wraps |= numbers.wraps
                act = node if isinstance(node, Activation) else getattr(node, "activation", None)
                if act is not None and act.function == "clip" and np.isfinite(act.high):
                    wish.most = min(wish.most, act.high)
        return wish

    def scale_of(self, tensor, node=None, layer=None):
        group = self.groups.of(tensor)
        if group not in self.steps:
            wish = self.wish(group)
            if layer is not None:
                wish.layers.append(layer)
            if node is not None:
                wish.sums += self.partial_sums(node)
            step, why = choose_step(wish)
            self.steps[group] = step
            for name in self.groups.members[group]:
                self.result.scales[name] = Scale(step, self.bits[group])
                self.note(name, "scale", step, why)
        return self.steps[group]

    def partial_sums(self, node):
        numbers = self.arithmetic[node.name]
        if numbers.partial_bits is None:
            return []
        values = self.walk.real[node.inputs[0]]
        size = self.graph.tensors[node.output].size
        count = int(np.clip(16 * _SUMS // size, 1, len(values)))
        index = np.linspace(0, len(values) - 1, count).round().astype(int)
        sums, at = [], None
        for part in self.backend.partial_sums(self.graph, node, values[index]):
            if at is None:
                at = np.arange(part.size) if part.size <= _SUMS else self.random.choice(part.size, _SUMS, replace=False)
            sums.append(part.ravel()[at])
        if isinstance(node, Conv) and len(node.inputs) > 1:
            sums.append(sums[-1] + self.walk.real[node.inputs[1]][index].ravel()[at])
        limit = (1 << numbers.partial_bits - 1) * 2.0 ** -numbers.partial_shifted
        return [(np.stack(sums), lambda x: activate(node, x), limit)] if sums else []

    # Nodes

    def node(self, node):
        numbers = self.arithmetic[node.name]
        if weighted(node) and numbers.weight_bits is not None:
            self.layer(node, numbers)
        else:
            self.scale_of(node.output)
            self.walk.run_whole(node, self.result)

    def layer(self, node, numbers):
        source = self.result.scales[node.inputs[0]]
        seen = neighbourhoods(node, source.value(self.walk.whole[node.inputs[0]]), self.random)
        rows, power = rows_of(node), np.square(seen).mean(axis=1)
        real_bias = node.bias if not hasattr(node, "shift") else node.shift
        bias = np.zeros(rows.shape[0] * rows.shape[1]) if real_bias is None else np.array(real_bias, np.float64)
        step = self.scale_of(node.output, node, (rows, bias, power, source.step, numbers))
        shift, _ = fit_shifts(rows, bias, power, source.step, step, numbers)
        integer = make_integer(node, bias, shift, source.step, step, numbers, seen if self.feedback else None)
        self.result.layers[node.name] = integer
        for _ in range(_ROUNDS if self.correct else 0):
            whole = self.walk.run_whole(node, self.result)
            bias = bias + mean_error(self.walk.real[node.output], whole, self.result.scales[node.output])
            integer.bias, integer.bias_shift = integer_bias(bias, shift, step, numbers)
        self.walk.run_whole(node, self.result)
