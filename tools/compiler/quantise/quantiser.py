# SPDX-License-Identifier: BSD-2-Clause
"""One network for one machine: from calibration inputs to scales, shifts, weights and biases in
whole numbers."""

import numpy as np

from ...errors import InputError
from ..evaluate import run_graph
from ..graph import Affine, AveragePool, Binary, Gru, Lstm, MatMul, Reduce
from ..quantised import Integer, Quantised
from .calibration import check_calibration, evenly, fewer
from .correction import mean_error
from .entry import input_step
from .equalise import equalised
from .integers import fit_shifts, integer_bias, make_integer
from .recurrent import recurrent_integer
from .rows import neighbourhoods, rows_of, weighted
from .scales import Scales, bounded
from .statistics import collect
from .steps import better_apart
from .walk import Walk, copy_of

__all__ = ["Quantiser", "check_bits", "check_percentile", "quantise"]

#: Rounds of bias correction; inputs whose partial sums are looked at before equalisation.
_ROUNDS, _FEW = 2, 8


def quantise(
    graph, backend, calibration, *, bits=None, equalise=True, percentile=None, quick=False
):
    """A network in a machine's numbers.

    Parameters
    ----------
    graph : Graph, as imported and simplified; it stays as it is
    backend : Backend; its ``prepare``, ``arithmetic``, ``partial_sums`` and ``reference`` are used
    calibration : dict, name of each input's tensor -> numbers, first axis the inputs;
        100 to 200 suffice
    bits : width of the tensors, where the machine leaves a choice (:func:`check_bits`);
        ``None``: what it prefers
    equalise : bool, whether channels are scaled between layers
    percentile : of the sizes of a tensor's elements, in percent: what lies above is cut;
        ``None``: ranges by least squared error
    quick : bool, weights are rounded to the nearest and no mean is corrected: for numbers that
        nobody computes with

    Returns
    -------
    Quantised; of a machine that computes in floating point the prepared graph alone

    Raises
    ------
    InputError
        Calibration that does not fit or has no finite numbers, another option's value, a network
        for which the machine has no scales.
    """
    check_percentile(percentile)
    values = check_calibration(graph, calibration)
    graph = copy_of(backend.prepare(graph))
    if backend.floating:
        return Quantised(graph=graph)
    return Quantiser(graph, backend, values, bits, percentile, quick).run(equalise)


def check_percentile(percentile):
    """Raises InputError where ``percentile`` is none (:func:`quantise`)."""
    if percentile is not None and not 0 < percentile <= 100:
        raise InputError(f"percentile is {percentile!r}, expected a number above 0, at most 100")


def check_bits(bits, parts):
    """Raises InputError where ``bits`` was asked for and no tensor of ``parts``, all that was
    quantised of a network, could have this width."""
    taken = {
        part.scales[name].bits
        for part in parts
        for name in part.graph.tensors
        if name in part.scales
    }
    if bits is not None and taken and bits not in taken:
        raise InputError(
            f"bits is {bits}, no tensor of the network can have this width on this machine; it "
            f"takes {', '.join(map(str, sorted(taken)))}"
        )


class Quantiser:
    """What :func:`quantise` works with: ``graph`` (its nodes are replaced, never changed),
    ``result``, ``scales`` (of the class given), and of each node its ``arithmetic``."""

    def __init__(self, graph, backend, values, bits, percentile, quick, scales=Scales):
        self._rounds, self._feedback = (0, False) if quick else (_ROUNDS, True)
        self.graph, self.backend, self.values = graph, backend, values
        self.result = Quantised(graph=graph)
        self.arithmetic = {node.name: backend.arithmetic(graph, node) for node in graph.nodes}
        self.scales = scales(
            graph, backend, self.arithmetic, bits=bits, percentile=percentile, note=self._note
        )
        self.result.scales = self.scales.of
        self._random = np.random.default_rng(1)

    def _note(self, name, what, value, why):
        self.result.choices.append({"name": name, "what": what, "value": value, "why": why})

    def run(self, equalise):
        """The network quantised."""
        self.scales.seen = collect(self.graph, self.values)
        if equalise:
            self._equalise()
        self.walk = Walk(self.graph, self.backend, fewer(self.graph, self.values))
        for port in self.graph.inputs:
            self._input(port.tensor)
            self.walk.whole[port.tensor] = self.scales.choose(port.tensor).quantise(
                self.walk.real[port.tensor]
            )
        for index, node in enumerate(self.graph.nodes):
            self.walk.run_real(node)
            for name in node.inputs:
                self.scales.choose(name)
            self._node(node)
            self.walk.forget(index)
        return self.result

    def _input(self, name):
        """Chooses the scale of an input that shares it with no other tensor."""
        if self.scales.percentile is None and self.scales.alone(name):
            chosen = input_step(self.graph, self.values, name, self.scales.width(name))
            if chosen is not None:
                self.scales.fix(name, *chosen)

    # Equalisation

    def _sums(self):
        """Greatest size of each channel's partial sums, as a range of the result, of layers whose
        partial sums saturate."""
        layers = [
            node
            for node in self.graph.nodes
            if weighted(node) and self.arithmetic[node.name].partial_bits is not None
        ]
        sums, real = (
            {},
            run_graph(self.graph, evenly(self.values, _FEW), keep=True) if layers else {},
        )
        for node in layers:
            numbers, most = self.arithmetic[node.name], 0.0
            for part in self.backend.partial_sums(self.graph, node, real[node.inputs[0]]):
                most = np.maximum(most, np.abs(part).reshape(-1, part.shape[-1]).max(axis=0))
            sums[node.name] = most * 2.0 ** (
                self.scales.width(node.output) + numbers.partial_shifted - numbers.partial_bits
            )
        return sums

    def _equalise(self):
        levels = {name: (1 << self.scales.width(name) - 1) - 1 for name in self.scales.seen}
        nodes, factors = equalised(
            self.graph, self.arithmetic, self.scales.seen, self._sums(), levels, self.scales.taken()
        )
        self.graph.nodes[:] = nodes
        for name, mine in factors.items():
            if mine.max() > mine.min():
                self._note(
                    name,
                    "equalised",
                    [float(mine.min()), float(mine.max())],
                    "channels divided by factors of this range",
                )
            self.graph.tensors[name].scale = None
        self.scales.seen = collect(self.graph, self.values)

    # Nodes

    def _node(self, node):
        numbers = self.arithmetic[node.name]
        if numbers.weight_bits is not None and weighted(node):
            return self._layer(node, numbers)
        if numbers.weight_bits is not None and isinstance(node, Gru | Lstm):
            self._recurrent(node, numbers)
        elif isinstance(node, MatMul) or isinstance(node, Binary) and node.function == "mul":
            scale, shift = self.scales.follow(node)
            self._keep(node, np.zeros(0, np.int64), shift, f"step {scale.step:.4g}")
        elif numbers.weight_bits is not None and not (
            numbers.equal_scales or numbers.same_scale or numbers.power_of_two
        ):
            self._multipliers(node, numbers)
        else:
            self.scales.choose(node.output)
        return self.walk.run_whole(node, self.result)

    def _keep(self, node, weights, shift, why):
        one = np.array([shift], np.int64)
        self.result.layers[node.name] = Integer(
            weights=weights, bias=None, shift=one, bias_shift=np.zeros(1, np.int64)
        )
        self._note(node.name, "shift", int(shift), why)

    def _multipliers(self, node, numbers):
        """An addition whose operands have factors, or a mean with one."""
        if isinstance(node, Binary) and node.function in ("add", "sub"):
            count = 1
        elif isinstance(node, AveragePool):
            count = int(np.prod(node.window))
        elif isinstance(node, Reduce) and node.function in ("mean", "sum"):
            count = (
                self.graph.tensors[node.inputs[0]].size // self.graph.tensors[node.output].size
                if node.function == "mean"
                else 1
            )
        else:
            return self.scales.choose(node.output)
        result = self.scales.choose(node.output, sums=self.scales.partial_sums(node, self.walk))
        ratio = np.array([self.scales.of[name].step for name in node.inputs]) / (
            count * result.step
        )
        most = (1 << numbers.weight_bits - 1) - 1
        shift = int(np.clip(np.floor(np.log2(most / ratio.max())), *numbers.shifts))
        weights = np.clip(np.rint(ratio * 2.0**shift), 0, most).astype(np.int64)
        return self._keep(node, weights, shift, f"factors {', '.join(map(str, weights))}")

    def _recurrent(self, node, numbers):
        result = self.scales.choose(node.output)
        integer, sums, why = recurrent_integer(
            node, self.scales.of[node.inputs[0]], result, numbers, self.walk.real[node.inputs[0]]
        )
        self.result.layers[node.name], self.scales.of[f"{node.name}.sums"] = integer, sums
        self._note(f"{node.name}.sums", "scale", sums.step, f"{sums.bits} bits, {why}")
        self._note(node.name, "shift", _few(integer.shift), "finest weights that fit")

    def _layer(self, node, numbers):
        source = self.scales.of[node.inputs[0]]
        seen = neighbourhoods(node, source.value(self.walk.whole[node.inputs[0]]), self._random)
        rows, power, given = (
            rows_of(node),
            np.square(seen).mean(axis=1),
            node.shift if isinstance(node, Affine) else node.bias,
        )
        bias = (
            np.zeros(rows.shape[0] * rows.shape[1])
            if given is None
            else np.array(given, np.float64)
        )
        sums = self.scales.partial_sums(node, self.walk)
        scale = self.scales.choose(node.output, (rows, bias, power, source.step, numbers), sums)
        if sums and bounded(node.activation) and better_apart(scale.bits, sums, scale.step):
            self.result.apart.append(node.name)
        shift, lost = fit_shifts(rows, bias, power, source.step, scale.step, numbers)
        integer = make_integer(
            node,
            bias,
            shift,
            source.step,
            scale.step,
            numbers,
            seen if self._feedback else None,
        )
        self.result.layers[node.name] = integer
        self._note(
            node.name,
            "shift",
            _few(shift),
            f"least squared error of the weights, {np.sqrt(lost) / scale.step:.2g} units in a "
            f"result",
        )
        corrected = bias
        for _ in range(self._rounds):
            whole = self.walk.run_whole(node, self.result)
            corrected = corrected + mean_error(self.walk.real[node.output], whole, scale)
            integer.bias, integer.bias_shift = integer_bias(corrected, shift, scale.step, numbers)
        self._note(
            node.name,
            "bias",
            float(np.abs(corrected - bias).max() / scale.step),
            "units that the correction of the mean moved it, at most",
        )
        return self.walk.run_whole(node, self.result)


def _few(shift):
    """A shift for the report: the one, or the least and greatest."""
    least, most = int(shift.min()), int(shift.max())
    return least if least == most else [least, most]
