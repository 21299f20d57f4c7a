# SPDX-License-Identifier: BSD-2-Clause
"""Quantisation of one network for one core: scales, shifts, integer weights and biases from
calibration inputs; or placeholders of the same widths and sizes, for checking without calibration
inputs whether a core can hold the program."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError
from ..evaluate import run_graph
from ..graph import Affine, AveragePool, Binary, Graph, Gru, Lstm, MatMul, Reduce
from ..passes.folding import without
from ..quantised import Integer, Quantised
from .calibration import Walk, check_calibration, collect, copy_of, evenly, fewer
from .equalise import (
    Centred,
    Reader,
    choose,
    equalised,
    far_channels,
    is_worth_it,
    movable,
    moved,
    without_middle,
)
from .integers import (
    fit_shifts,
    integer_bias,
    make_integer,
    mean_error,
    neighbourhoods,
    rows_of,
    weighted,
)
from .recurrent import recurrent_integer
from .scales import Scales, activated, better_unfused, bounded, input_step

if TYPE_CHECKING:
    from ..backends.base import Backend

__all__ = ["Quantiser", "ValuesNeeded", "check_bits", "check_percentile", "placeholder", "quantise"]


#: Rounds of bias correction; inputs whose partial sums are looked at before equalisation.
_ROUNDS, _FEW = 2, 8


def quantise(
    graph: Graph,
    backend: Backend,
    calibration: Mapping[str, Any],
    *,
    bits: int | None = None,
    equalise: bool = True,
    percentile: float | None = None,
    quick: bool = False,
) -> Quantised:
    """Quantises a network for a core.

    Parameters
    ----------
    graph : Graph, as imported and simplified; it stays as it is
    backend : Backend; its ``legalise``, ``arithmetic``, ``partial_sums`` and ``reference`` are used
    calibration : dict, name of each input's tensor -> numbers, first axis the inputs;
        100 to 200 suffice
    bits : width of the tensors, where the core leaves a choice (:func:`check_bits`);
        ``None``: what it prefers
    equalise : bool, whether channels are scaled between layers
    percentile : of the sizes of a tensor's elements, in percent: greater values are clipped;
        ``None``: ranges by least squared error
    quick : bool, weights are rounded to the nearest and no mean is corrected: for numbers that
        nobody computes with

    Returns
    -------
    Quantised; for a core that computes in floating point the legalised graph alone

    Raises
    ------
    InputError
        Calibration that does not fit or has no finite numbers, another option's value, a network
        for which the core has no scales.
    """
    check_percentile(percentile)
    values = check_calibration(graph, calibration)
    graph = copy_of(backend.legalise(graph))
    if backend.floating:
        return Quantised(graph=graph)
    return Quantiser(graph, backend, values, bits, percentile, quick).run(equalise)


def check_percentile(percentile: float | None) -> None:
    """Raises InputError if ``percentile`` is out of range (:func:`quantise`)."""
    if percentile is not None and not 0 < percentile <= 100:
        raise InputError(f"percentile is {percentile!r}, expected a number above 0, at most 100")


def check_bits(bits: int | None, parts: Sequence[Quantised]) -> None:
    """Raises InputError if ``bits`` was requested and no tensor of ``parts``, all quantised
    subgraphs of a network, can have this width."""
    taken = {
        part.scales[name].bits
        for part in parts
        for name in part.graph.tensors
        if name in part.scales
    }
    if bits is not None and taken and bits not in taken:
        raise InputError(
            f"bits is {bits}, no tensor of the network can have this width on this core; it "
            f"takes {', '.join(map(str, sorted(taken)))}"
        )


class Quantiser:
    """State of :func:`quantise`: ``graph`` (its nodes are replaced, never changed), ``result``,
    ``scales`` (of the class given), and the ``arithmetic`` of each node."""

    def __init__(
        self,
        graph: Graph,
        backend: Backend,
        values: Mapping[str, Any],
        bits: int | None,
        percentile: float | None,
        quick: bool,
        scales: Callable[..., Scales] = Scales,
    ):
        self._rounds, self._feedback = (0, False) if quick else (_ROUNDS, True)
        self.graph, self.backend, self.values = graph, backend, values
        self.result = Quantised(graph=graph)
        self.arithmetic = {node.name: backend.arithmetic(graph, node) for node in graph.nodes}
        self.scales = scales(
            graph, backend, self.arithmetic, bits=bits, percentile=percentile, note=self._note
        )
        self.result.scales = self.scales.of
        self._random = np.random.default_rng(1)
        self._moved: set[str] = set()  # tensors that hold an offset less

    def _note(self, name, what, value, why):
        self.result.choices.append({"name": name, "what": what, "value": value, "why": why})

    def run(self, equalise: bool) -> Quantised:
        """Quantises all nodes and returns the network."""
        self.scales.seen = collect(self.graph, self.values)
        if equalise:
            self._equalise()
        self.scales.prescribe(self.backend.tensor_steps(self.graph, self.scales.seen))
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
        """Chooses the scale of an input that shares its scale with no other tensor."""
        if self.scales.percentile is None and self.scales.alone(name):
            chosen = input_step(self.graph, self.values, name, self.scales.width(name))
            if chosen is not None:
                self.scales.fix(name, *chosen)

    # Equalisation

    def _sums(self):
        """Greatest magnitude of each channel's partial sums, at the scale of the result, for layers
        whose partial sums saturate."""
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
        far, seen = {}, self.scales.seen
        for node in self.graph.nodes:
            name, numbers = node.output, self.arithmetic[node.name]
            # Partial sums that saturate begin at the bias, whatever the result leaves out.
            if (
                weighted(node)
                and numbers.partial_bits is None
                and movable(self.graph, node, self.arithmetic, self.scales)
            ):
                far[name] = far_channels(seen[name], node)
                seen[name] = without_middle(seen[name], node, far[name])
        nodes, factors = equalised(
            self.graph,
            self.arithmetic,
            seen,
            self._sums(),
            levels,
            self.scales.taken(),
            far,
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
            node = self._multipliers(node, numbers)
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
        """Quantises an addition whose operands have factors, or a mean that has one, and returns
        the node; an average may get a bias."""
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
            self.scales.choose(node.output)
            return node
        if isinstance(node, AveragePool):
            node = self._without_offset(node, None, self.scales.sampled_sums(node, self.walk))
        else:
            self.scales.choose(node.output, sums=self.scales.partial_sums(node, self.walk))
        result = self.scales.of[node.output]
        ratio = np.array([self.scales.of[name].step for name in node.inputs]) / (
            count * result.step
        )
        most = (1 << numbers.weight_bits - 1) - 1
        shift = int(np.clip(np.floor(np.log2(most / ratio.max())), *numbers.shifts))
        weights = np.clip(np.rint(ratio * 2.0**shift), 0, most).astype(np.int64)
        self._keep(node, weights, shift, f"factors {', '.join(map(str, weights))}")
        if isinstance(node, AveragePool) and node.bias is not None:
            self._bias_of_average(node, numbers)
        return node

    def _bias_of_average(self, node, numbers):
        """Adds the integer bias of an average from which an offset is subtracted. It also makes up
        for what the rounded factor does to the mean."""
        integer, scale = self.result.layers[node.name], self.scales.of[node.output]
        bias, shift = node.bias, np.full(len(node.bias), integer.shift[0])
        integer.bias, integer.bias_shift = integer_bias(bias, shift, scale.step, numbers)
        for _ in range(self._rounds):
            whole = self.walk.run_whole(node, self.result)
            bias = bias + mean_error(self.walk.real[node.output], whole, scale)
            integer.bias, integer.bias_shift = integer_bias(bias, shift, scale.step, numbers)

    def _recurrent(self, node, numbers):
        result = self.scales.choose(node.output)
        integer, sums, why = recurrent_integer(
            node, self.scales.of[node.inputs[0]], result, numbers, self.walk.real[node.inputs[0]]
        )
        self.result.layers[node.name], self.scales.of[f"{node.name}.sums"] = integer, sums
        self._note(f"{node.name}.sums", "scale", sums.step, f"{sums.bits} bits, {why}")
        self._note(node.name, "shift", _few(integer.shift), "finest weights that fit")

    def _copies(self, node):
        """Whether a layer only moves the elements of a state. These must not get a correction,
        since it would accumulate from step to step."""
        ends = {node.inputs[0], node.output}
        return any(ends <= set(names) for names in self.backend.alike)

    def _without_offset(self, node, layer, sums):
        """Quantises a layer and, where useful, subtracts an offset from its result, for which the
        readers' biases compensate; the scale of the result is chosen with it.

        ``layer``: as :meth:`Scales.choose` takes it, ``None`` for an average;
        ``sums``: :class:`~.scales.Sums`, or ``None``.
        """
        name, real = node.output, self.walk.real[node.output]
        if not movable(self.graph, node, self.arithmetic, self.scales):
            self.scales.choose(name, layer, activated(node, sums))
            return node
        plain = self.scales.wish(name, layer, activated(node, sums))
        activation = getattr(node, "activation", None)
        centred = Centred(
            plain,
            real.reshape(-1, real.shape[-1]),
            activation,
            sums,
            of_average=isinstance(node, AveragePool),
        )
        tried = choose(plain, centred)
        if len(tried) > 1 and not is_worth_it(*tried, self._readers(node, tried[-1].offset)):
            tried.pop()
        found = tried[-1]
        self.scales.fix(name, found.step, found.why)
        if found.offset is None:
            return node
        changed, offsets = without(self.graph, name, found.offset)
        changed[node.name] = moved(node, found.offset)
        self.graph.nodes[:] = [changed.get(one.name, one) for one in self.graph.nodes]
        for tensor, values in self._carried(name, offsets, real - found.offset).items():
            self.scales.resample(tensor, values)
        self.walk.real[name] = real - found.offset
        self._moved |= offsets.keys()
        self._note(
            name,
            "offset",
            [float(found.offset.min()), float(found.offset.max())],
            "common to all inputs: the biases of the layers that read it make up for it",
        )
        return changed[node.name]

    def _carried(self, first, names, values):
        """Values of the tensors ``names`` in order, all of which only move elements of the first:
        tensor name -> array."""
        found = {first: values}
        for node in self.graph.nodes:
            if node.output in names and node.output != first:
                found[node.output] = node.run(found[node.inputs[0]])
        return found

    def _readers(self, node, offset):
        """Readers (:class:`~.equalise.Reader`) of a layer's result whose partial sums saturate;
        ``offset``: that of the result."""
        real = self.walk.real[node.output]
        few = real[np.linspace(0, len(real) - 1, min(len(real), _FEW)).round().astype(int)]
        changed, offsets = without(self.graph, node.output, offset)
        before = self._carried(node.output, offsets, few)
        after = self._carried(node.output, offsets, few - offset)
        found = []
        for reader in [one for one in self.graph.nodes if one.name in changed]:
            numbers, source = self.arithmetic[reader.name], reader.inputs[0]
            if numbers.partial_bits is None:
                continue
            # Of a residual what counts is left out: it comes last.
            result = reader.run(before[source], *(0.0 for _ in reader.inputs[1:]))
            axes = tuple(range(result.ndim - 1))
            limit = 2.0 ** (self.scales.width(reader.output) + numbers.partial_shifted)
            limit /= 2.0**numbers.partial_bits
            sums = [
                max(np.abs(part).max() for part in self.backend.partial_sums(self.graph, *one))
                for one in ((changed[reader.name], after[source]), (reader, before[source]))
            ]
            found.append(
                Reader(
                    gain=float(np.square(rows_of(reader)).sum(axis=2).mean()),
                    size=float((result.max(axis=axes) - result.min(axis=axes)).max() / 2),
                    with_offset=float(sums[0] * limit),
                    without=float(sums[1] * limit),
                )
            )
        return found

    def _layer(self, node, numbers):
        source = self.scales.of[node.inputs[0]]
        seen = neighbourhoods(node, source.value(self.walk.whole[node.inputs[0]]), self._random)
        # The bias makes up for what rounding weights does to the mean of what lies off its middle.
        mean = np.zeros_like(seen[:, 0])
        if node.inputs[0] in self._moved:
            mean = seen.mean(axis=1)
            seen = seen - mean[:, None]
        rows, power = rows_of(node), np.square(seen).mean(axis=1)
        partial = self.scales.sampled_sums(node, self.walk)
        layer = (rows, _bias(node), power, source.step, numbers)
        node = self._without_offset(node, layer, partial)
        bias, scale, sums = _bias(node), self.scales.of[node.output], activated(node, partial)
        if sums and bounded(node.activation) and better_unfused(scale.bits, sums, scale.step):
            self.result.apart.append(node.name)
        with_offset = not self._moved.isdisjoint((node.inputs[0], node.output))
        shift, lost = fit_shifts(
            rows, bias, power, source.step, scale.step, numbers, short_bias=with_offset
        )
        integer = make_integer(
            node,
            bias,
            shift,
            source.step,
            scale.step,
            numbers,
            seen if self._feedback else None,
        )
        bias = bias + _lost(integer, rows, mean, scale.step / source.step)
        integer.bias, integer.bias_shift = integer_bias(bias, shift, scale.step, numbers)
        self.result.layers[node.name] = integer
        self._note(
            node.name,
            "shift",
            _few(shift),
            f"least squared error of the weights, {np.sqrt(lost) / scale.step:.2g} times the "
            f"scale in a result",
        )
        corrected = bias
        for _ in range(0 if self._copies(node) else self._rounds):
            whole = self.walk.run_whole(node, self.result)
            corrected = corrected + mean_error(self.walk.real[node.output], whole, scale)
            integer.bias, integer.bias_shift = integer_bias(corrected, shift, scale.step, numbers)
        self._note(
            node.name,
            "bias",
            float(np.abs(corrected - bias).max() / scale.step),
            "largest correction of the mean, in multiples of the scale",
        )
        return self.walk.run_whole(node, self.result)


def _bias(node):
    """Bias of a layer, float64 [out]."""
    if isinstance(node, Affine):
        return np.array(node.shift, np.float64)
    return np.zeros(len(node.weights)) if node.bias is None else np.array(node.bias, np.float64)


def _lost(integer, rows, mean, unit):
    """Mean error of a layer's results from the rounding of its weights, float64 [out]; ``mean``
    [groups, products] is the mean of its operands, ``unit`` the weights' scale at shift 0."""
    step = unit * 2.0 ** -integer.shift.astype(np.float64).reshape(rows.shape[:2])
    whole = integer.weights.reshape(rows.shape) * step[..., None]
    return np.einsum("gop,gp->go", rows - whole, mean).ravel()


def _few(shift):
    """A shift for the report: the common shift, or the least and the greatest."""
    least, most = int(shift.min()), int(shift.max())
    return least if least == most else [least, most]


#: Greatest size that numbers of a tensor stand for: more than the usual bound of a clip, so that a
#: clip is not left to the end of the numbers.
_RANGE = 8.0


class ValuesNeeded(Exception):
    """Raised if values of tensors decide whether a core supports a network, or the shape of its
    program."""


def placeholder(graph: Graph, backend: Backend, bits: int | None = None) -> Quantised:
    """Placeholder :class:`~..quantised.Quantised` of a legalised subgraph: weights are rounded to
    the nearest, and all tensors are assumed to have the same range.

    ``bits``: as of :func:`~.quantiser.quantise`.

    Raises
    ------
    ValuesNeeded
        The program depends on the tensors' values, which calibration alone shows.
    LoweringError
        A network for which the core has no scales, whatever the values.
    """
    graph = copy_of(backend.legalise(graph))
    if backend.floating:
        return Quantised(graph=graph)
    return _Placeholder(graph, backend, bits).made()


class _Scales(Scales):
    """Scales for the range :data:`_RANGE`, except those that the model or the core prescribes."""

    def choose(self, tensor, layer=None, sums=()):
        if tensor not in self.of:
            step, why = self._given[self.groups.of(tensor)] or (None, None)
            self.fix(tensor, step or _RANGE / (1 << self.width(tensor) - 1), why or "placeholder")
        return self.of[tensor]

    def follow(self, node):
        if self._given[self.groups.of(node.output)] or node.output in self.of:
            raise ValuesNeeded(f"{node.name}: its result shares a scale with other tensors")
        unit = np.prod([self.of[name].step for name in node.inputs])
        step = _RANGE / (1 << self.width(node.output) - 1)
        shift = int(np.clip(np.rint(np.log2(step / unit)), *self.arithmetic[node.name].shifts))
        self.fix(node.output, unit * 2.0**shift, "placeholder")
        return self.of[node.output], shift

    def partial_sums(self, node, walk):
        return []

    def sampled_sums(self, node, walk):
        return None


class _NoWalk:
    """Replaces the :class:`~.calibration.Walk` for a network that is not computed."""

    def run_whole(self, node, quantised):
        return None


class _Placeholder(Quantiser):
    def __init__(self, graph, backend, bits):
        super().__init__(graph, backend, {}, bits, None, quick=True, scales=_Scales)
        self.walk = _NoWalk()

    def _note(self, name, what, value, why):
        pass

    def made(self):
        """Computes the placeholder numbers of the whole graph."""
        for port in self.graph.inputs:
            self.scales.choose(port.tensor)
        for node in self.graph.nodes:
            for name in node.inputs:
                self.scales.choose(name)
            self._node(node)
        return self.result

    def _without_offset(self, node, layer, sums):
        able = movable(self.graph, node, self.arithmetic, self.scales)
        self.scales.choose(node.output)
        if not able:
            return node
        # A bias of any size takes the place of the one that the values decide.
        return replace(node, bias=np.ones(self.graph.shape(node.output)[-1]))

    def _bias_of_average(self, node, numbers):
        integer = self.result.layers[node.name]
        integer.bias = np.ones(len(node.bias), np.int64)
        integer.bias_shift = np.zeros(len(node.bias), np.int64)

    def _layer(self, node, numbers):
        if numbers.partial_bits is not None and bounded(node.activation):
            raise ValuesNeeded(
                f"{node.name}: its partial sums decide whether its clip stays unfused"
            )
        source, result = (self.scales.choose(name) for name in (node.inputs[0], node.output))
        rows, given = rows_of(node), node.shift if isinstance(node, Affine) else node.bias
        groups, each, products = rows.shape
        bias = np.zeros(groups * each) if given is None else np.array(given, np.float64)
        power = np.ones((groups, products))
        shift, _ = fit_shifts(rows, bias, power, source.step, result.step, numbers)
        integer = make_integer(node, bias, shift, source.step, result.step, numbers)
        # Even a layer without biases gets some, to correct the means.
        integer.bias = np.where(integer.bias == 0, 1, integer.bias)
        if numbers.shifts[0] == numbers.shifts[1]:
            # Scales suit each other, so that hardly a weight is rounded to zero. Weights that
            # differ stay so, because equal tiles would share memory.
            most = (1 << numbers.weight_bits - 1) - 1
            weights = np.rint(node.weights * (most / (np.abs(node.weights).max() or 1.0)))
            weights = np.where(weights == 0, node.weights != 0, weights)
            integer.weights = weights.astype(integer.weights.dtype)
        self.result.layers[node.name] = integer

    def _recurrent(self, node, numbers):
        source, result = (self.scales.choose(name) for name in (node.inputs[0], node.output))
        nothing = np.zeros((1, *self.graph.shape(node.inputs[0])))
        few = replace(numbers, source_step=numbers.source_step or result.step)
        integer, sums, _ = recurrent_integer(node, source, result, few, nothing)
        self.result.layers[node.name], self.scales.of[f"{node.name}.sums"] = integer, sums
