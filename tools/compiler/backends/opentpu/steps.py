# SPDX-License-Identifier: BSD-2-Clause
"""Translation of a legalised graph into steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from quintet.tools.compiler.backends.opentpu.form import (
    InterleaveStep,
    KernelStep,
    PoolStep,
    Step,
    StoredTile,
    Term,
    conv_matrices,
    copy_terms,
    cut,
    cut_phases,
    dense_terms,
    gather,
    window_terms,
)
from quintet.tools.compiler.backends.opentpu.layout import Planes, blocks

from ...graph import (
    Activation,
    AveragePool,
    Binary,
    Concat,
    Conv,
    Dense,
    MatMul,
    MaxPool,
    Reshape,
    Slice,
)
from ...ranges import never_negative
from ..base import LoweringError
from ..rewriting import interleaved
from .arithmetic import (
    LEAKY_SHIFT,
    clip_limit,
    factors,
    integer_bias,
    leaky_factor,
    least_bias,
    window_factor,
)
from .legalise import MOST_STRIDE, stored_shapes
from .sharing import Sharing, shared_places

if TYPE_CHECKING:
    from ...quantised import Quantised

__all__ = ["Steps"]

#: Cycles of a product of one vector, for its instruction's 14 bytes.
_POSITION = 8


class Steps:
    """Builds the kernel steps of a legalised and quantised graph.

    Parameters
    ----------
    quantised : Quantised
    params : build parameters
    swap : bool, a line is a column of the map
    images : inputs of a run; several, side by side, where all tensors are vectors

    Attributes
    ----------
    steps : list of Step, PoolStep, KernelStep and InterleaveStep
    planes : dict, tensor -> Planes without gaps
    root : dict, tensor -> the tensor in whose place it lies
    """

    def __init__(
        self, quantised: Quantised, params: Mapping[str, Any], *, swap: bool, images: int = 1
    ):
        self.quantised, self.params, self.swap, self.images = quantised, params, swap, images
        n = self.n = params["n"]
        graph = self.graph = quantised.graph
        self.stored = stored_shapes(graph, n)
        self.steps: list[Step | PoolStep | KernelStep | InterleaveStep] = []
        self.planes: dict[str, Planes] = {}
        self.root: dict[str, str] = {}
        self._made: dict[Any, str] = {}  # (source, phase, stride) -> map of the phase
        self._sharing = shared_places(graph, self.stored, n, swap) if params["ext_conv"] else {}
        for port in graph.inputs:
            self.root[port.tensor] = port.tensor
            self.planes[port.tensor] = self._map(
                self.stored[port.tensor], *self._phases(port.tensor)
            )
        for node in graph.nodes:
            moves = interleaved(graph, node) is not None and (
                isinstance(node, Concat)
                or self.stored[node.inputs[0]] == graph.shape(node.inputs[0])
            )
            if isinstance(node, Reshape) and not moves:
                self.root[node.output] = self.root[node.inputs[0]]
                continue
            self.root[node.output] = node.output
            sharing = self._sharing.get(node.output, Sharing(1))
            self.planes[node.output] = self._map(
                self.stored[node.output], (1, sharing.count), (0, sharing.shift)
            )
            make = Steps._interleave if moves else _KINDS[type(node)]
            make(self, node, [self.root[name] for name in node.inputs])

    def _turned(self, pair):
        """Converts (rows, columns) to (along lines, along places)."""
        return tuple(reversed(pair)) if self.swap else tuple(pair)

    def _map(self, shape, phases=(1, 1), shift=(0, 0)):
        lines, length = self._turned(shape[:2])
        return Planes(lines, length * self.images, shape[2], self.n, phases=phases, shift=shift)

    def _phases(self, name):
        """Space-to-depth of an input: the neighbours that share a vector, as many as the stride of
        its only reader, and the first of them that the reader's window covers. If neighbours share
        vectors of the reader's result as well and a vector holds what these step over, the reader's
        stride is 1."""
        readers = self.graph.readers(name)
        if len(readers) != 1 or not isinstance(readers[0], Conv) or name in self.graph.kept():
            return (1, 1), (0, 0)
        stride, padding = self._turned(readers[0].stride), self._turned(readers[0].padding[:2])
        along = stride[1] * self._sharing.get(readers[0].output, Sharing(1)).count
        if along * self.stored[name][2] <= self.n and (along == 2 or padding[1] % along == 0):
            stride = stride[0], along
        return stride, tuple(p % 2 if s == 2 else 0 for s, p in zip(stride, padding, strict=True))

    # Helpers

    def _add(
        self,
        node,
        sources,
        terms,
        *,
        shifts,
        bias=None,
        relu=False,
        stride=(1, 1),
        target=None,
        macs=0,
    ):
        """Adds a step, and the step of a clip after it if needed."""
        out, activation = target or node.output, None if target else self._activation(node)
        limit = (
            clip_limit(self.quantised, node, activation)
            if activation is not None and activation.function == "clip"
            else 127
        )
        first = out if limit == 127 else self._between(node, "relu")
        self.steps.append(
            Step(
                name=node.name,
                target=first,
                sources=list(sources),
                terms=terms,
                shifts=shifts,
                bias=bias,
                relu=relu or activation is not None,
                stride=stride,
                nodes=(node.name,),
                macs=macs,
            )
        )
        if limit < 127:
            # limit - relu(limit - x)
            rest, channels = self._between(node, "rest"), self._width(out)
            for source, result, below in ((first, rest, True), (rest, out, False)):
                self.steps.append(
                    Step(
                        name=node.name,
                        target=result,
                        sources=[source],
                        terms=self._copy(channels, -1),
                        shifts=[0] * self._blocks(out),
                        bias=self._padded(np.full(channels, limit)),
                        relu=below,
                        nodes=(node.name,),
                    )
                )

    @staticmethod
    def _activation(node):
        activation = node if isinstance(node, Activation) else getattr(node, "activation", None)
        return (
            activation
            if activation is not None and activation.function in ("relu", "clip")
            else None
        )

    def _between(self, node, what):
        name = f"{node.output}:{what}"
        self.planes[name] = self.planes[node.output]
        return name

    def _copy(self, channels, factor=1, source=0):
        return copy_terms(channels, 0, channels, self.n, source=source, factor=factor)

    def _blocks(self, name):
        return blocks(self._width(name), self.n)

    def _width(self, name):
        """Elements of a tensor's vectors: its channels or, where positions share vectors, all."""
        planes = self.planes[name]
        return planes.channels if planes.phases == (1, 1) else planes.blocks * self.n

    def _shared(self, name, values):
        """Values of channels for the elements of a tensor's vectors; ``None`` if there are
        none."""
        planes = self.planes[name]
        if values is None or planes.phases[1] == 1:
            return values
        found = np.zeros(planes.blocks * self.n, np.int64)
        for place in range(planes.phases[1]):
            first = planes.lane(0, place, 0)
            found[first : first + planes.channels] = values
        return found

    def _padded(self, bias):
        """Pads a bias to whole blocks; ``None`` if there is none."""
        if bias is None or not np.any(bias):
            return None
        return np.pad(np.asarray(bias, np.int64), (0, -len(bias) % self.n))

    def _shifts(self, shift, out):
        shift = np.broadcast_to(np.ravel(shift), out)
        each = [np.unique(shift[at : at + self.n]) for at in range(0, out, self.n)]
        if any(len(values) > 1 for values in each):
            raise ValueError(f"shifts {shift.tolist()}: those of {self.n} channels must be equal")
        return [int(values[0]) for values in each]

    def _bias(self, node, integer):
        if not self.params["ext_norm"]:
            return integer_bias(integer)  # results that wrap differ by every bit of it
        return least_bias(
            integer,
            relu=node.activation is not None,
            positive=never_negative(self.graph.maker, node.inputs[0]),
        )

    # Nodes

    def _conv(self, node, sources):
        integer, planes = self.quantised.layers[node.name], self.planes[sources[0]]
        weights = integer.weights.transpose(0, 2, 1, 3) if self.swap else integer.weights
        matrices, stride = conv_matrices(
            weights,
            planes,
            before=self._turned(node.padding[:2]),
            stride=self._turned(node.stride),
            dilation=self._turned(node.dilation),
            groups=node.groups,
            target=self.planes[node.output],
        )
        gathered = None
        # Without ext_norm a copy would be shifted too.
        if node.groups == 1 and self.params["ext_norm"]:
            gathered = gather(matrices, planes, self.planes[node.output], stride)
        if gathered is not None:
            name = f"{node.output}:gathered"
            self.planes[name], matrices = gathered.planes, gathered.matrices
            self.steps.append(
                Step(
                    name=node.name,
                    target=name,
                    sources=sources,
                    terms=gathered.terms,
                    shifts=[0],
                    nodes=(node.name,),
                )
            )
            sources = [name]
        width = self._width(node.output)
        terms = cut(matrices, width, self.n)
        if stride[1] > 1 and not self.params["ext_conv"] and self.params["ext_norm"]:
            sources, terms, stride = self._by_phases(node, sources[0], matrices, terms, stride)
        self._add(
            node,
            sources,
            terms,
            shifts=self._shifts(self._shared(node.output, integer.shift), width),
            bias=self._padded(self._shared(node.output, self._bias(node, integer))),
            stride=stride,
            macs=self.graph.macs(node),
        )

    def _by_phases(self, node, source, matrices, terms, stride):
        """Splits a convolution by the phases of its stride: (sources, terms, stride). Used if its
        products would run one position at a time and making the phase maps takes fewer products."""
        phases, apart = cut_phases(matrices, self.planes[node.output].channels, self.n, stride)
        planes, positions = (
            self.planes[source],
            self.planes[node.output].down * self.planes[node.output].across,
        )
        new = [phase for phase in phases if (source, phase, stride) not in self._made]
        each, count = (
            -(-planes.down // stride[0]) * -(-planes.across // stride[1]),
            sum(map(len, terms)),
        )
        if (
            _POSITION * len(new) * planes.blocks * each + count * positions
            >= _POSITION * count * positions
        ):
            return [source], terms, stride
        for line, place in new:
            name = self._made[source, (line, place), stride] = (
                f"{source}:phase_{stride[0]}x{stride[1]}_{line}_{place}"
            )
            self.planes[name] = Planes(
                max(1, -(-(planes.lines - line) // stride[0])),
                max(1, -(-(planes.length - place) // stride[1])),
                planes.channels,
                self.n,
            )
            self._plain(
                node,
                [source],
                copy_terms(planes.channels, 0, planes.channels, self.n, line=line, place=place),
                name,
                stride=stride,
            )
        return [self._made[source, phase, stride] for phase in phases], apart, (1, 1)

    def _dense(self, node, sources):
        integer, planes = self.quantised.layers[node.name], self.planes[sources[0]]
        if (node.steps or self.images > 1) and planes.channels == integer.weights.shape[1]:
            terms = cut(
                conv_matrices(integer.weights[:, None, None, :], planes, before=(0, 0))[0],
                len(integer.weights),
                self.n,
            )
        else:
            terms = dense_terms(integer.weights, planes, swap=self.swap)
        self._add(
            node,
            sources,
            terms,
            shifts=self._shifts(integer.shift, len(integer.weights)),
            bias=self._padded(self._bias(node, integer)),
            macs=self.graph.macs(node),
        )

    def _matmul(self, node, sources):
        """Adds a product of two activations: stores the second operand as tiles in main memory,
        then multiplies by one tile at a time."""
        first, second = (self.planes[name] for name in sources)
        out, rows = self.graph.shape(node.output)[1], blocks(first.channels, self.n) * self.n
        kernel = f"{node.output}:kernel"
        self.planes[kernel] = Planes(1, 1, blocks(out, self.n) * rows * self.n, self.n)
        self.steps.append(
            KernelStep(
                name=node.name,
                target=kernel,
                sources=[sources[1]],
                rows=rows,
                turned=node.turned,
                nodes=(node.name,),
            )
        )
        terms = [
            [
                Term(0, part, 0, 0, StoredTile(kernel, block * rows + part * self.n))
                for part in range(first.blocks)
            ]
            for block in range(blocks(out, self.n))
        ]
        self._add(
            node,
            sources[:1],
            terms,
            shifts=[int(self.quantised.layers[node.name].shift[0])] * len(terms),
            macs=self.graph.macs(node),
        )

    def _binary(self, node, sources):
        (first, second), shift = factors(self.quantised, node)
        channels = self.planes[node.output].channels
        if any(self.stored[name] != self.stored[node.output] for name in node.inputs):
            raise LoweringError(
                f"operands stored as "
                f"{' and '.join(str(self.stored[name]) for name in node.inputs)}, expected one "
                f"shape",
                node.name,
            )
        if sources[0] == sources[1]:
            terms, sources = self._twice(channels, first, second), sources[:1]
        else:
            terms = [
                a + b
                for a, b in zip(
                    self._copy(channels, first), self._copy(channels, second, 1), strict=True
                )
            ]
        self._add(node, sources, terms, shifts=[shift] * len(terms))

    def _twice(self, channels, first, second):
        return [
            a + b
            for a, b in zip(self._copy(channels, first), self._copy(channels, second), strict=True)
        ]

    def _average(self, node, sources):
        factor, shift = window_factor(self.quantised, node)
        planes = self.planes[sources[0]]
        terms = window_terms(
            planes.channels,
            self._turned(node.window),
            self._turned(node.padding[:2]),
            self.n,
            factor,
        )
        self._add(
            node, sources, terms, shifts=[shift] * len(terms), stride=self._turned(node.stride)
        )

    def _max_pool(self, node, sources):
        window, stride, before = map(self._turned, (node.window, node.stride, node.padding[:2]))
        # Products copy single elements that are farther apart than CFG pool can tell.
        if self.params["ext_pool"] and max(stride) <= MOST_STRIDE:
            self.steps.append(
                PoolStep(
                    name=node.name,
                    target=node.output,
                    sources=sources,
                    window=window,
                    stride=stride,
                    before=before,
                    nodes=(node.name,),
                )
            )
            return
        places = [
            (line - before[0], place - before[1])
            for line in range(window[0])
            for place in range(window[1])
        ]
        channels, positive = (
            self.planes[node.output].channels,
            never_negative(self.graph.maker, node.inputs[0]),
        )
        newest = None
        for number, place in enumerate(places):
            last = number == len(places) - 1
            seen = self._between(node, f"seen_{number}") if len(places) > 1 else node.output
            self._plain(
                node,
                sources,
                copy_terms(channels, 0, channels, self.n, line=place[0], place=place[1]),
                seen,
                stride=stride,
            )
            if newest is not None:
                seen = self._larger(
                    node,
                    newest,
                    seen,
                    node.output if last else self._between(node, f"largest_{number}"),
                    number,
                    positive,
                )
            newest = seen

    def _plain(self, node, sources, terms, target, *, bias=None, relu=False, stride=(1, 1)):
        """Adds an intermediate step without a shift."""
        self.steps.append(
            Step(
                name=node.name,
                target=target,
                sources=list(sources),
                terms=terms,
                shifts=[0] * len(terms),
                bias=bias,
                relu=relu,
                stride=stride,
                nodes=(node.name,),
            )
        )

    def _sum(self, channels, factors_):
        """Terms of a sum of sources, each times its factor."""
        parts = [self._copy(channels, factor, source) for source, factor in enumerate(factors_)]
        return [[term for terms in each for term in terms] for each in zip(*parts, strict=True)]

    def _larger(self, node, a, b, target, number, positive):
        """Adds the maximum of two tensors, a + relu(b - a), with the difference split into values
        that fit a byte."""
        channels, rests = self.planes[node.output].channels, []
        for part in range(1 if positive else 3):
            rests.append(self._between(node, f"more_{number}_{part}"))
            self._plain(
                node,
                [a, b],
                self._sum(channels, (-1, 1)),
                rests[-1],
                bias=self._padded(np.full(channels, -127 * part)),
                relu=True,
            )
        self._plain(node, [a, *rests], self._sum(channels, [1] * (1 + len(rests))), target)
        return target

    def _activate(self, node, sources):
        channels, count = self.planes[node.output].channels, self._blocks(node.output)
        if node.function in ("relu", "clip", "neg"):
            self._add(
                node,
                sources,
                self._copy(channels, -1 if node.function == "neg" else 1),
                shifts=[0] * count,
            )
            return
        negative = self._between(node, "negative")
        self._add(
            node, sources, self._copy(channels, -1), shifts=[0] * count, relu=True, target=negative
        )
        one = 1 << LEAKY_SHIFT
        first, second, shift = (
            (1, 2, 0) if node.function == "abs" else (one, one - leaky_factor(node), LEAKY_SHIFT)
        )
        terms = [
            a + b
            for a, b in zip(
                self._copy(channels, first), self._copy(channels, second, 1), strict=True
            )
        ]
        self._add(node, [*sources, negative], terms, shifts=[shift] * count)

    def _interleave(self, node, sources):
        """Adds the step that makes an interleaved map of its phases. That of a Concat is the map of
        the Reshape behind it, whose elements have the same order."""
        found = interleaved(self.graph, node)
        unique = list(dict.fromkeys(sources))
        channels = found.shape[2]

        def terms(name, first):
            planes = self.planes[self.root[name]]
            matrix = np.zeros((planes.blocks * self.n, channels), np.int8)
            matrix[first + np.arange(channels), np.arange(channels)] = 1
            return cut({(0, 0): matrix}, channels, self.n, unique.index(self.root[name]))

        phases = [[terms(name, first) for name, first in row] for row in found.phases]
        if self.swap:
            phases = [list(column) for column in zip(*phases, strict=True)]
        self.steps.append(
            InterleaveStep(
                name=node.name,
                target=node.output,
                sources=unique,
                factors=self._turned(found.factors),
                terms=phases,
                nodes=(node.name,),
            )
        )

    def _concat(self, node, sources):
        unique = list(dict.fromkeys(sources))
        planes = self.planes[node.output]
        axis = node.axis % len(self.graph.shape(node.output)) - len(self.graph.shape(node.output))
        first = [0, 0, 0]
        terms = [[] for _ in range(self._blocks(node.output))]
        for name, root in zip(node.inputs, sources, strict=True):
            line, place = self._turned((-first[0], -first[1]))
            copied = copy_terms(
                self.planes[root].channels,
                first[2],
                planes.channels,
                self.n,
                source=unique.index(root),
                line=line,
                place=place,
            )
            for all_, new in zip(terms, copied, strict=True):
                all_ += new
            first[axis] += self.graph.shape(name)[axis]
        self._add(node, unique, terms, shifts=[0] * len(terms))

    def _slice(self, node, sources):
        """Adds the step of a slice of rows and columns: a copy from further down and across."""
        # Plain integers, since addresses are shifted beyond 64 bits.
        line, place = self._turned([int(at) for at in (0, *node.start[:-1])[-2:]])
        channels = self.planes[node.output].channels
        terms = copy_terms(channels, 0, channels, self.n, line=line, place=place)
        self._add(node, sources, terms, shifts=[0] * len(terms))


_KINDS = {
    Conv: Steps._conv,
    Dense: Steps._dense,
    Binary: Steps._binary,
    AveragePool: Steps._average,
    MaxPool: Steps._max_pool,
    Activation: Steps._activate,
    Concat: Steps._concat,
    MatMul: Steps._matmul,
    Slice: Steps._slice,
}
