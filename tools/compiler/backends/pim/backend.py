# SPDX-License-Identifier: BSD-2-Clause
"""PIM's implementation of the back-end interface."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from quintet.gateware.cores.pim.image.image import Writer

from ...graph import (
    Activation,
    AveragePool,
    Binary,
    Concat,
    Conv,
    Dense,
    Graph,
    Gru,
    Lstm,
    MatMul,
    MaxPool,
    Node,
    Pad,
    Reduce,
    Reshape,
    Slice,
    Tensor,
    Transpose,
)
from ...layout import dense_layout
from ...quantised import Arithmetic, Quantised
from ..base import (
    DECOMPOSED,
    HOST,
    NATIVE,
    Backend,
    LayerSpan,
    Lowered,
    LoweringError,
    Placed,
    Support,
    with_states,
)
from ..rewriting import join_turned
from .arrays.assign import assign, empty_numbers, layer_needs, unique
from .arrays.matrices import split_layers
from .choose import choose_fused, program_cycles
from .cost import main_memory
from .flat import most_repeated
from .legalise import (
    TABLES,
    as_convolutions,
    support_of_rewritten,
    table_steps,
    wants_too_much,
    with_rescaling,
)
from .products import places_before, support_of_product, support_of_transpose
from .program import ProgramWriter
from .recurrent import support_of_recurrent
from .reference import run_node

__all__ = ["PIMBackend"]

_ALIGN = 64
#: Granularity of a program's size, so that addresses after it are stable.
_PAGE = 4096
#: Layers that run together take less code than so many times that of single ones.
_MORE = 8

#: Reasons by kind of a node.
_HOST = {
    "softmax": "this core has no exponential function",
    "layernorm": "this core has no division and no root",
    "topk": "this core does not sort",
}


def _reason(graph, node):
    """Why no instructions of this core compute a node."""
    shape = graph.shape(node.inputs[0])
    if isinstance(node, Reduce):
        return (
            f"{node.function} over axes {node.axes} of {shape}: expected an average over all rows "
            f"and columns of a map"
        )
    if isinstance(node, Slice):
        return f"slice of {shape}: expected one of a map or a sequence"
    if isinstance(node, Pad):
        return "pad: expected one that a convolution or a pool behind it can take over"
    return _HOST.get(node.kind, f"{node.kind}: no sequence of this core's instructions computes it")


#: Elements that one ``vavg`` takes (docs/isa/pim.md, 3.1).
MOST_AVERAGED = 2047


def _most_averaged(params):
    """Greatest number of elements that one ``vavg`` averages: 16 bits each, held in local memory
    with the result."""
    return min(MOST_AVERAGED, params["lmem_bytes"] // 2 - 4)


def _whole(graph, node):
    """Whether an average covers the whole map and has no other operations fused."""
    return tuple(node.window) == graph.shape(node.inputs[0])[:2] and not any(node.padding)


def _first_window(rows, columns, limit):
    """First window of an average over more positions than ``limit``: the smallest whose results can
    be averaged at once. Of equal sizes, the window that exceeds the map's edges least."""
    sizes = []
    for h in range(1, rows + 1):
        most = limit // -(-rows // h)  # windows side by side
        if most:
            sizes.append((h, -(-columns // most)))
    return min(sizes, key=lambda size: (size[0] * size[1], -rows % size[0] + -columns % size[1]))


def _in_two_steps(graph, node, limit):
    """Splits a global average over more positions than ``limit`` into a depthwise convolution and
    an average of its results. The map is padded with zeros if no window divides it."""
    rows, columns, channels = graph.shape(node.inputs[0])
    window = _first_window(rows, columns, limit)
    left = (-(-rows // window[0]), -(-columns // window[1]))
    part = Tensor(f"{node.name}:part", (*left, channels))
    first = _depthwise_average(
        node,
        part.name,
        part.name,
        channels,
        window,
        window,
        padding=(0, 0, left[0] * window[0] - rows, left[1] * window[1] - columns),
        # Of all places: the average that follows divides by its own number.
        weight=left[0] * left[1] / (rows * columns),
    )
    return part, first, replace(node, inputs=[part.name], window=left, stride=left)


def _depthwise_average(node, output, name, channels, window, stride, padding, weight):
    """An average as a depthwise convolution with equal weights."""
    return Conv(
        name=name,
        inputs=list(node.inputs),
        output=output,
        origin=node.origin,
        weights=np.full((channels, *window, 1), weight),
        stride=stride,
        padding=padding,
        groups=channels,
    )


def _repeats(shape, result, most):
    """Whether an operand of ``shape`` equals the result in shape, or is broadcast along leading
    axes with at most ``most`` elements."""
    own = (1,) * (len(result) - len(shape)) + tuple(shape)
    same = next((k for k, length in enumerate(own) if length > 1), len(own))
    return tuple(result[same:]) == own[same:] and (
        own == tuple(result) or np.prod(own, dtype=int) <= most
    )


class PIMBackend(Backend):
    """Activations of 16 bits if the build multiplies them (``x_bits``), weights of 8; sums are
    exact."""

    isa = "pim"
    #: Number of programs of the network; if there are several, each fills the arrays anew.
    _programs = 0
    _choice = None

    @property
    def _timing(self):
        return main_memory(self.main_memory)

    @property
    def bits(self) -> tuple[int, ...]:
        """Supported widths of activations, the preferred width first."""
        return (16, 8) if self.params["x_bits"] >= 16 and self.params["max_biw"] >= 16 else (8,)

    def is_narrow(self, bits: int | None = None) -> bool:
        return (bits if bits in self.bits else self.bits[0]) < 16

    def check_support(self, graph: Graph, node: Node) -> Support:
        """Support check of one node."""
        activation = getattr(node, "activation", None)
        if activation is not None and activation.function not in ("relu", "clip"):
            return Support(HOST, f"{activation.function}: expected relu or clip")
        if isinstance(node, Conv | Dense | Reshape):
            return Support(NATIVE)
        rewritten = support_of_rewritten(graph, node)
        if rewritten is not None:
            return rewritten
        if isinstance(node, Activation):
            return self._activation(graph, node)
        if isinstance(node, Binary):
            return self._binary(graph, node)
        if isinstance(node, MaxPool):
            return (
                Support(NATIVE)
                if node.dilation == (1, 1)
                else Support(HOST, f"dilation = {list(node.dilation)}: expected 1")
            )
        if isinstance(node, AveragePool):
            whole = _whole(graph, node)
            if not whole and not node.include_padding and any(node.padding):
                return Support(HOST, "padding that does not count: expected include_padding = 1")
            if whole and node.window[0] * node.window[1] > _most_averaged(self.params):
                return Support(
                    DECOMPOSED, "a depthwise convolution with equal weights, and a smaller average"
                )
            return (
                Support(NATIVE)
                if whole
                else Support(DECOMPOSED, "a depthwise convolution with equal weights")
            )
        if isinstance(node, Concat):
            constants = [name for name in node.inputs if graph.tensors[name].data is not None]
            return (
                Support(
                    HOST,
                    f"constant {constants[0]} among concatenated tensors: expected tensors that "
                    f"flow",
                )
                if constants
                else Support(NATIVE)
            )
        if isinstance(node, Lstm | Gru):
            if wants_too_much(graph, node):
                return Support(
                    HOST,
                    f"{node.kind} of {node.recurrent.shape[1]} states whose scale others share",
                )
            return support_of_recurrent(graph, node, self.params)
        if isinstance(node, MatMul):
            return support_of_product(graph, node, self.params)
        if isinstance(node, Transpose):
            return support_of_transpose(graph, node)
        return Support(HOST, _reason(graph, node))

    def _activation(self, graph, node):
        if node.function in ("relu", "clip"):
            return Support(NATIVE)
        if node.function not in TABLES:
            return Support(HOST, f"{node.function}: expected relu, clip, sigmoid or tanh")
        if not self.params["act_unit"]:
            return Support(HOST, f"{node.function}: a build with act_unit has it")
        if wants_too_much(graph, node):
            return Support(
                HOST,
                f"{node.function} of {graph.shape(node.output)[-1]} numbers whose scale others "
                f"share",
            )
        return Support(NATIVE)

    def _binary(self, graph, node):
        shapes, result = [graph.shape(name) for name in node.inputs], graph.shape(node.output)
        if (
            node.function not in ("add", "sub", "mul")
            or any(graph.tensors[name].data is not None for name in node.inputs)
            or result not in shapes
            or not all(_repeats(shape, result, most_repeated(self.params)) for shape in shapes)
        ):
            return Support(
                HOST,
                f"{node.function} of "
                f"{' and '.join(str(list(s)) for s in dict.fromkeys(shapes))}: expected add, "
                f"sub or mul of two tensors of one shape, or of which one repeats along the axes "
                f"in front, {most_repeated(self.params)} elements at most",
            )
        if node.function == "mul" and self.params["max_biw"] < 32:
            return Support(
                HOST, f"mul: products want max_biw = 32, this build has {self.params['max_biw']}"
            )
        return Support(NATIVE)

    def legalise(self, graph: Graph) -> Graph:
        """Legalises a graph: averages of parts of a map, scales by channel and slices become
        convolutions; sigmoid and tanh get the scales that their tables require; layers that exceed
        the arrays are split."""
        graph, nodes = as_convolutions(join_turned(graph)), []
        tensors = dict(graph.tensors)
        for node in graph.nodes:
            if isinstance(node, AveragePool):
                rows, columns, channels = graph.shape(node.inputs[0])
                if not _whole(graph, node):
                    node = _depthwise_average(
                        node,
                        node.output,
                        node.name,
                        channels,
                        node.window,
                        node.stride,
                        node.padding,
                        1 / (node.window[0] * node.window[1]),
                    )
                elif rows * columns > (most := _most_averaged(self.params)):
                    part, first, node = _in_two_steps(graph, node, most)
                    tensors[part.name] = part
                    nodes.append(first)
            nodes.append(node)
        graph = replace(graph, nodes=nodes, tensors=tensors)
        return split_layers(with_rescaling(graph), self.params, self._held)

    def split(self, graph: Graph) -> list[Graph]:
        """Splits into consecutive programs, each with as many layers as the arrays hold."""
        parts, begin = [], 0
        taken = np.array([self._taken(node, graph) for node in graph.nodes]).reshape(-1, 3)
        whole = self.params["cores"] * np.array(
            [self.params["arrays"], self.params["bias_words"], self.params["groups"]]
        )
        while begin < len(graph.nodes):
            # Layers that take more than there is need no search for their places.
            fitting = (taken[begin:].cumsum(axis=0) <= whole).all(axis=1)
            end = begin + max(1, int(fitting.sum()))
            while end > begin + 1 and not self._held(graph.nodes[begin:end], graph):
                end -= 1
            parts.append(graph.part(graph.nodes[begin:end]))
            begin = end
        self._programs += len(parts)
        return parts

    def check(self, graph: Graph) -> None:
        needs = layer_needs(empty_numbers(graph, self.bits[0]), self.params, rate=self._timing.rate)
        assign(unique(needs), self.params)

    def _taken(self, node, graph):
        """Arrays, biases and groups that a layer takes, infinite if it does not fit by itself."""
        alone = empty_numbers(replace(graph, nodes=[node]), self.bits[0])
        try:
            needs = unique(layer_needs(alone, self.params))
        except LoweringError:
            return (np.inf,) * 3
        return [sum(getattr(n, what) for n in needs) for what in ("arrays", "biases", "groups")]

    def _held(self, nodes, graph):
        try:
            self.check(graph.part(nodes))
        except LoweringError:
            return False
        return True

    def arithmetic(self, graph: Graph, node: Node) -> Arithmetic:
        """Integer arithmetic of a node of a legalised graph."""
        common: dict[str, Any] = {
            "bits": self.bits[0],
            "reads": self.bits,
            "out_bits": self.bits,
            "weight_bits": 8,
            "bias_bits": 32,
            "shifts": (0, 47),
            "clips": True,
        }
        if isinstance(node, Conv | Dense):
            return Arithmetic(**common)
        if isinstance(node, Lstm | Gru):
            sums, result = table_steps(16)
            return Arithmetic(**{**common, "out_bits": (16,)}, source_step=sums, result_step=result)
        if isinstance(node, Activation) and node.function in TABLES:
            source, result = table_steps(self.bits[0])
            return Arithmetic(
                **{
                    **common,
                    "weight_bits": None,
                    "reads": self.bits[:1],
                    "out_bits": self.bits[:1],
                },
                source_step=source,
                result_step=result,
            )
        if isinstance(node, MatMul):
            before = places_before(graph.shape(node.inputs[0])[-1], self.bits[0])
            return Arithmetic(**{**common, "weight_bits": None, "shifts": (before, 30 + before)})
        if isinstance(node, Binary) and node.function == "mul":
            return Arithmetic(**{**common, "weight_bits": None, "shifts": (0, 30)})
        return Arithmetic(
            **{**common, "weight_bits": None},
            equal_scales=isinstance(node, Binary | Concat),
            same_scale=not isinstance(node, Binary | Concat),
        )

    def reference(
        self, quantised: Quantised, inputs: Mapping[str, np.ndarray], keep: bool = False
    ) -> dict[str, np.ndarray]:
        """Bit-exact numpy reference of the core."""
        values = {name: np.asarray(v, np.int64) for name, v in inputs.items()}
        for node in quantised.graph.nodes:
            values[node.output] = run_node(
                quantised, node, [values[name] for name in node.inputs], self.params
            )
        return (
            values
            if keep
            else {port.tensor: values[port.tensor] for port in quantised.graph.outputs}
        )

    def lower(self, quantised: Quantised, *, keep: bool = False) -> Lowered:
        """Lowers a quantised graph to a program."""
        return self._lower(quantised, [] if keep else self._chosen(quantised), 0)

    def buffered_copy(self, quantised: Quantised, lowered: Lowered, at: int) -> Lowered:
        """The double-buffered copy of a program."""
        # It is as long as the program and takes as many cycles.
        size = -(-len(lowered.program) // _PAGE) * _PAGE
        spent = [(layer.cycles, layer.bytes) for layer in lowered.layers]
        return self._lower(quantised, self._chosen(quantised), at, size, spent)

    def _chosen(self, quantised):
        """Chosen groups of fused layers; a program and its double-buffered copy share one
        choice."""
        if self._choice is None or self._choice[0] is not quantised:
            self._check_layers(quantised)
            self._choice = quantised, choose_fused(quantised, self.params, self._timing)
        return self._choice[1]

    def _check_layers(self, quantised):
        """Raises an error for a layer that local memory cannot hold, before the search for fused
        layers."""
        writer = ProgramWriter(quantised, self.params)
        writer.place_all(0)
        try:
            writer.write()
        except LoweringError as error:
            graph = quantised.graph
            node = next((node for node in graph.nodes if node.name == error.node), None)
            if node is None:
                raise
            # Fused, a layer has whole rows in local memory, at least a window of its source's.
            if isinstance(node, Conv | MaxPool):
                rows, columns, channels = graph.shape(node.inputs[0])
                taken = min(rows, node.window[0]) * columns * channels * writer.size(node.inputs[0])
                if taken <= self.params["lmem_bytes"]:
                    return
            raise

    def _lower(self, quantised, fused, at, size=0, spent=None):
        """Lowers to a program at byte address ``at``, with its tensors after it. ``size``: bytes
        reserved for the program; ``spent``: (cycles, bytes of main memory) of each stretch, if
        known."""
        writer, laid, end = self._laid(quantised, fused, at, size)
        return self._lowered(quantised, writer, laid, at, end, fused, spent)

    def check_programs(self, parts: Sequence[Quantised], images: int = 1) -> None:
        """Raises :class:`LoweringError` if the programs do not fit; skips the search for fused
        layers if there is plenty of memory."""
        # Layers that run together take code of their own and less local memory: a network that does
        # not fit easily without them is checked with them.
        for part in parts:
            try:
                _, laid, end = self._laid(part, [], 0)
            except LoweringError:
                end, laid = self.memory_size + 1, None
            if laid is None or end + _MORE * len(laid.data) > self.memory_size:
                self._laid(part, self._chosen(part), 0)

    def _laid(self, quantised, fused, at, size=0):
        """Writes and places the program: (ProgramWriter, program as bytes, end of its range of main
        memory)."""
        # Addresses are offsets of instructions: the program's own size is needed first, and does
        # not depend on them.
        for _ in range(4):
            writer = ProgramWriter(
                quantised, self.params, fused, self._kept(quantised.graph), self._timing
            )
            end = writer.place_all(at + size)
            writer.write()
            laid = Writer(writer.image())
            data = laid.data
            if len(data) <= size:
                break
            size = -(-len(data) // _PAGE) * _PAGE
        else:
            raise LoweringError("the program finds no size of its own")
        if end > self.memory_size:
            name = max(writer.places, key=lambda n: quantised.graph.tensors[n].size)
            raise LoweringError(
                f"the network takes {end:,} bytes of main memory, there are "
                f"{self.memory_size:,}; program and weights take {len(data):,}, the "
                f"largest tensor is {name} "
                f"({quantised.graph.tensors[name].size * writer.size(name):,} bytes)",
                bytes_needed=end,
            )
        return writer, laid, end

    def _kept(self, graph):
        """The states that a program of ``graph`` both reads and computes."""
        return [pair for pair in self.states if set(pair) <= graph.tensors.keys()]

    def _lowered(self, quantised, writer, laid, at, end, fused, spent):
        graph, data = quantised.graph, laid.data

        def placed(name):
            return Placed(
                name,
                dense_layout(
                    writer.places[name], (1, *graph.shape(name)), f"int{8 * writer.size(name)}"
                ),
            )

        held = {node.output for node in graph.nodes} | {port.tensor for port in graph.inputs}
        held -= {node.output for some in fused for node in some.nodes[:-1]}
        layers = []
        for (names, _, _), cut, (cycles, moved) in zip(
            writer.stretches,
            writer.cuts(laid.core_table),
            spent or program_cycles(writer, self._programs > 1),
            strict=True,
        ):
            nodes = [node for node in graph.nodes if node.name in names]
            layers.append(
                LayerSpan(
                    names[-1],
                    names,
                    None,
                    None,
                    sum(graph.macs(node) for node in nodes),
                    cycles,
                    moved,
                    cut,
                )
            )
        p = self.params
        lowered = Lowered(
            program=data,
            text="",
            program_at=at,
            registers={"program_address": at, "program_length": len(data), "run_flags": 0},
            again={"run_flags": 1},
            inputs={port.tensor: placed(port.tensor) for port in graph.inputs},
            outputs={port.tensor: placed(port.tensor) for port in graph.outputs},
            tensors={name: placed(name) for name in sorted(held)},
            memory=end,
            layers=layers,
            params={
                key: p[key]
                for key in (
                    "cores",
                    "xb_rows",
                    "xb_cols",
                    "arrays",
                    "lmem_bytes",
                    "max_biw",
                    "x_bits",
                )
            },
        )
        return with_states(lowered, [name for name, _ in writer.kept_states()])
