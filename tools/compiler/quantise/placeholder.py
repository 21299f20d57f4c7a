# SPDX-License-Identifier: BSD-2-Clause
"""Placeholder numbers: a network with the widths and sizes that the quantiser would give it, made
without calibration inputs, for checking whether a core can hold its program."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..graph import Affine
from ..quantised import Quantised
from .integers import fit_shifts, make_integer
from .quantiser import Quantiser
from .recurrent import recurrent_integer
from .rows import rows_of
from .scales import Scales, bounded
from .walk import copy_of

if TYPE_CHECKING:
    from ..backends.base import Backend
    from ..graph import Graph

__all__ = ["ValuesNeeded", "placeholder"]

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


class _NoWalk:
    """Replaces the :class:`~.walk.Walk` for a network that is not computed."""

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

    def _layer(self, node, numbers):
        if numbers.partial_bits is not None and bounded(node.activation):
            raise ValuesNeeded(f"{node.name}: its partial sums say whether its clip is apart")
        source, result = (self.scales.choose(name) for name in (node.inputs[0], node.output))
        rows, given = rows_of(node), node.shift if isinstance(node, Affine) else node.bias
        groups, each, products = rows.shape
        bias = np.zeros(groups * each) if given is None else np.array(given, np.float64)
        power = np.ones((groups, products))
        shift, _ = fit_shifts(rows, bias, power, source.step, result.step, numbers)
        integer = make_integer(node, bias, shift, source.step, result.step, numbers)
        # Even a layer without biases gets some, to correct the means.
        integer.bias = np.where(integer.bias == 0, 1, integer.bias)
        self.result.layers[node.name] = integer

    def _recurrent(self, node, numbers):
        source, result = (self.scales.choose(name) for name in (node.inputs[0], node.output))
        nothing = np.zeros((1, *self.graph.shape(node.inputs[0])))
        few = replace(numbers, source_step=numbers.source_step or result.step)
        integer, sums, _ = recurrent_integer(node, source, result, few, nothing)
        self.result.layers[node.name], self.scales.of[f"{node.name}.sums"] = integer, sums
