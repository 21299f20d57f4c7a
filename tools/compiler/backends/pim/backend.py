# SPDX-License-Identifier: BSD-2-Clause
"""PIM's implementation of the back-end interface."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from quintet.gateware.cores.pim.image.image import Writer

from ...graph import Conv, Graph, Gru, Lstm, Node
from ...layout import dense_layout
from ...quantised import Arithmetic, Quantised
from ..base import (
    Backend,
    LayerSpan,
    Lowered,
    LoweringError,
    Placed,
    Support,
    with_states,
)
from .arithmetic import arithmetic
from .arrays.assign import assign, empty_numbers, layer_needs, unique
from .arrays.channels import is_channel_view
from .arrays.matrices import matrices_of
from .choose import choose_fused, program_cycles
from .cost import main_memory
from .legalise import legalise
from .maps import ConvRows
from .program import ProgramWriter
from .recurrent import SHIFTS_STREAMED, spread_of
from .reference import run
from .support import check_support

__all__ = ["PIMBackend"]

_ALIGN = 64
#: Granularity of a program's size, so that addresses after it are stable.
_PAGE = 4096
#: Layers that run together take less code than so many times that of single ones.
_MORE = 8


def _behind_views(graph, begin, end):
    """End of the program of nodes from ``begin`` on that does not part channels that are read in
    place from their map: before ``end``, or, where nothing else is before, behind their reader."""
    shorter = end
    while shorter > begin and is_channel_view(graph, graph.nodes[shorter - 1].output):
        shorter -= 1
    if shorter > begin:
        return shorter
    while end < len(graph.nodes) and is_channel_view(graph, graph.nodes[end - 1].output):
        end += 1
    return end


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
        return check_support(graph, node, self.params)

    def legalise(self, graph: Graph) -> Graph:
        """Legalises a graph for this core."""
        return legalise(graph, self.params, self._held)

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
            end = _behind_views(graph, begin, end)
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
        return [
            sum(getattr(n, what) * n.least for n in needs)
            for what in ("arrays", "biases", "groups")
        ]

    def _held(self, nodes, graph):
        try:
            self.check(graph.part(nodes))
        except LoweringError:
            return False
        return all(self._band_fits(node, graph) for node in nodes if isinstance(node, Conv))

    def _band_fits(self, node, graph):
        """Whether local memory holds the narrowest tile of a convolution."""
        height, size = graph.shape(node.inputs[0])[0], self.bits[0] // 8
        numbers = empty_numbers(replace(graph, nodes=[node]), self.bits[0]).layers[node.name]
        matrices = matrices_of(node, numbers, self.params, graph.shape(node.output)[1])
        return all(
            ConvRows.least(node, [matrix], height, size) <= self.params["lmem_bytes"]
            for matrix in matrices
        )

    def arithmetic(self, graph: Graph, node: Node) -> Arithmetic:
        """Integer arithmetic of a node of a legalised graph."""
        numbers = arithmetic(graph, node, self.bits)
        if isinstance(node, Lstm | Gru) and spread_of(node, self.params).tiling is not None:
            return replace(numbers, shifts=SHIFTS_STREAMED)
        return numbers

    def reference(
        self, quantised: Quantised, inputs: Mapping[str, np.ndarray], keep: bool = False
    ) -> dict[str, np.ndarray]:
        """Bit-exact numpy reference of the core."""
        values = run(quantised, inputs, self.params)
        if keep:
            return values
        return {port.tensor: values[port.tensor] for port in quantised.graph.outputs}

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
        writer.write()

    def _lower(self, quantised, fused, at, size=0, spent=None):
        """Lowers to a program at byte address ``at``, with its tensors after it. ``size``: bytes
        reserved for the program; ``spent``: (cycles, bytes of main memory) of each stretch, if
        known."""
        writer, laid = self._laid(quantised, fused, at, size)
        return self._lowered(quantised, writer, laid, at, fused, spent)

    def check_programs(self, parts: Sequence[Quantised], images: int = 1) -> None:
        """Raises :class:`LoweringError` if the programs do not fit; skips the search for fused
        layers if there is plenty of memory."""
        # Layers that run together take code of their own and less local memory: a network that does
        # not fit easily without them is checked with them.
        for part in parts:
            try:
                writer, laid = self._laid(part, [], 0)
            except LoweringError:
                laid = None
            if laid is None or writer.end + _MORE * len(laid.data) > self.memory_size:
                self._laid(part, self._chosen(part), 0)

    def _laid(self, quantised, fused, at, size=0):
        """Writes and places the program: (ProgramWriter, program as bytes)."""
        # Addresses are offsets of instructions: the program's own size is needed first, and does
        # not depend on them.
        for _ in range(4):
            writer = ProgramWriter(
                quantised, self.params, fused, self._kept(quantised.graph), self._timing
            )
            writer.place_all(at + size)
            writer.write()
            laid = Writer(writer.image())
            data = laid.data
            if len(data) <= size:
                break
            size = -(-len(data) // _PAGE) * _PAGE
        else:
            raise LoweringError("the program finds no size of its own")
        if writer.end > self.memory_size:
            held = len(data) + sum(len(numbers) for _, numbers, _ in writer.constants)
            name = max(writer.places, key=lambda n: quantised.graph.tensors[n].size)
            raise LoweringError(
                f"the network takes {writer.end:,} bytes of main memory, there are "
                f"{self.memory_size:,}; program and weights take {held:,}, the "
                f"largest tensor is {name} "
                f"({quantised.graph.tensors[name].size * writer.size(name):,} bytes)",
                bytes_needed=writer.end,
            )
        return writer, laid

    def _kept(self, graph):
        """The states that a program of ``graph`` both reads and computes."""
        return [pair for pair in self.states if set(pair) <= graph.tensors.keys()]

    def _lowered(self, quantised, writer, laid, at, fused, spent):
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
        held = {name for name in held if not is_channel_view(graph, name)}
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
            constants=writer.constants,
            memory=writer.end,
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
