# SPDX-License-Identifier: BSD-2-Clause
"""IMAGine's implementation of the back-end interface."""

from collections.abc import Mapping, Sequence

import numpy as np

from ...common.inputs import KernelError
from ...graph import Graph, Node
from ...layout import BitPlanes, Digit, Layout
from ...quantised import Arithmetic, Quantised
from ..base import (
    Backend,
    LayerSpan,
    Lowered,
    LoweringError,
    Placed,
    Support,
    moved,
)
from .arithmetic import arithmetic, layer_of
from .codegen import kernel_template, loader_template, streamed_template
from .cost import program_cycles
from .legalise import legalised
from .reference import run
from .schedule import registers_of_layers
from .support import check_support

__all__ = ["IMAGineBackend"]

_ALIGN = 64
#: Vectors of a batch whose program is written without counting its bytes before.
_FEW = 16


class IMAGineBackend(Backend):
    """Integer dense layers; sums wrap, so scales leave headroom above the calibrated range."""

    isa = "imagine"
    #: The host computes everything between dense layers, since the core returns results to it
    #: anyway.
    host_free = True
    keeps_states = False

    def is_narrow(self, bits: int | None = None) -> bool:
        return self.params["reg_width"] < 16

    def check_support(self, graph: Graph, node: Node) -> Support:
        """Support check of one node."""
        return check_support(graph, node)

    def legalise(self, graph: Graph) -> Graph:
        """Legalises a graph for this core."""
        return legalised(
            graph,
            lambda node: (
                node.name not in self.forced_to_host and self.check_support(graph, node).runs
            ),
        )

    def split(self, graph: Graph) -> list[Graph]:
        """Splits into one program per layer: results pass through the host."""
        return [graph.part([node]) for node in graph.nodes]

    def arithmetic(self, graph: Graph, node: Node) -> Arithmetic:
        """Integer arithmetic of a node of a legalised graph."""
        return arithmetic(self.params["reg_width"])

    def reference(
        self, quantised: Quantised, inputs: Mapping[str, np.ndarray], keep: bool = False
    ) -> dict[str, np.ndarray]:
        """Bit-exact numpy reference of the core."""
        values = run(quantised, inputs, self.params["reg_width"])
        if keep:
            return values
        return {port.tensor: values[port.tensor] for port in quantised.graph.outputs}

    def lower(self, quantised: Quantised, *, keep: bool = False) -> Lowered:
        """Lowers a quantised graph to a program."""
        return self.lower_all([quantised])[0]

    def lower_all(self, parts: Sequence[Quantised], images: int = 1) -> list[Lowered]:
        """Lowers all ``parts``, side by side in memory; if all weights fit the array they are
        loaded once, by a setup program."""
        if not parts:
            return []
        nodes = [self._only(part) for part in parts]
        layers = [
            layer_of(part, node, self.params["reg_width"])
            for part, node in zip(parts, nodes, strict=True)
        ]
        kept, at, found = registers_of_layers(layers, self.params), 0, []
        for index, (part, node, layer) in enumerate(zip(parts, nodes, layers, strict=True)):
            try:
                lowered, at = self._program(
                    part.graph, node, layer, at, None if kept is None else kept[1][index]
                )
            except KernelError as error:
                raise LoweringError(error.reason, node.name) from None
            found.append(lowered)
        if at > self.memory_size:
            largest = max(found, key=lambda lowered: len(lowered.program))
            raise LoweringError(
                f"the programs take {at:,} bytes of main memory, there are "
                f"{self.memory_size:,}; the largest is that of "
                f"{largest.layers[0].name}, {len(largest.program):,} bytes",
                bytes_needed=at,
            )
        return found

    def buffered_copy(self, quantised: Quantised, lowered: Lowered, at: int) -> Lowered:
        """The double-buffered copy of a program."""
        # Inputs are words of the program, which lies anywhere.
        by = at - lowered.program_at
        return moved(lowered, by, ("program_address", "output_at", "output_limit"), program_at=at)

    @staticmethod
    def _only(part):
        (node,) = part.graph.nodes
        return node

    def _program(self, graph, node, layer, at, places):
        batch = int(np.prod(graph.shape(node.output)[:-1], dtype=int))
        setup = []

        def made_for(batch):
            if places is None:
                return streamed_template(layer, self.params, batch)
            return kernel_template(layer, self.params, batch, *places)

        self._check_memory(node, made_for, batch)
        made = made_for(batch)
        if places is not None:
            loader = loader_template(layer, self.params, *places)
            setup = [(loader.data, at)]
            at = -(-(at + len(loader.data)) // _ALIGN) * _ALIGN
        program = made.program
        data = program.data
        output_at = -(-(at + len(data)) // _ALIGN) * _ALIGN
        end = output_at + program.output_bytes
        slots = tuple((s.vector, s.first, s.count, s.at) for s in made.slots)
        source = graph.shape(node.inputs[0])
        planes = BitPlanes(at, (1, *source), slots, self.params["reg_width"])
        result = self._results(made, output_at, graph.shape(node.output))
        span = LayerSpan(
            node.name,
            (node.name,),
            at,
            at + len(data),
            layer.height * layer.lengths[0] * batch,
            program_cycles(program.words(), self.params, self.clock_ratio),
            len(data) + program.output_bytes,
        )
        registers = {
            "program_address": at,
            "program_length": len(data),
            "output_at": output_at,
            "output_limit": end,
        }
        placed = Placed(node.output, result)
        return Lowered(
            program=data,
            text="",
            program_at=at,
            registers=registers,
            setup=setup,
            inputs={node.inputs[0]: Placed(node.inputs[0], planes)},
            outputs={node.output: placed},
            tensors={node.output: placed},
            memory=-(-end // _ALIGN) * _ALIGN,
            layers=[span],
            params={key: self.params[key] for key in ("rows", "cols", "reg_width", "depth")},
        ), -(-end // _ALIGN) * _ALIGN

    def _check_memory(self, node, made_for, batch):
        """Raises LoweringError if main memory does not hold a long program, before that is written:
        from two vectors on, each one more takes as many bytes."""
        if batch <= _FEW:
            return
        two, three = (
            4 * made.program.size + made.program.output_bytes for made in map(made_for, (2, 3))
        )
        needed = two + (batch - 2) * (three - two)
        if needed > self.memory_size:
            raise LoweringError(
                f"the program of {node.name} takes {needed:,} bytes of main memory, there are "
                f"{self.memory_size:,}",
                bytes_needed=needed,
            )

    def _results(self, made, output_at, shape):
        """Layout of results as FIFO-out delivers them: four-byte words with the value in the lower
        half."""
        rows, tall, batch = self.params["rows"], made.tiles.tall, made.batch
        vectors, tiles = (
            (4 * rows * tall, 4 * rows)
            if made.order[:tall] == [(0, t) for t in range(tall)]
            else (4 * rows, 4 * rows * batch)
        )
        digits, step = [], vectors
        for axis in reversed(range(len(shape) - 1)):
            digits.append(Digit(axis + 1, shape[axis], step))
            step *= shape[axis]
        digits += [Digit(len(shape), tall, tiles), Digit(len(shape), rows, 4)]
        return Layout(output_at, (1, *shape), "int16", tuple(digits))
