# SPDX-License-Identifier: BSD-2-Clause
"""OPU's implementation of the back-end interface: convolutions with 8-bit weights, 16-bit sums that
saturate at every tap."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from .....gateware.cores.opu.types import type_set
from ...graph import AveragePool, Conv, Dense, Graph, Node, Tensor
from ...quantised import Arithmetic, Quantised
from ..base import Backend, Lowered, Support, moved
from ..rewriting import joins_rows
from .arithmetic import arithmetic_of, average_sums, partial_sums
from .codegen.emitter import REGION_MAPS
from .cost import main_memory
from .form import Form
from .legalise import legalise
from .lower import Lowering
from .program import lowered_program, plenty
from .reference import run_network
from .schedule.tiling import Target
from .stages import stages
from .support import check_support

__all__ = ["OpuBackend"]

#: Inputs of a run: more save nothing that is worth their memory.
_MOST_IMAGES = 64


class OpuBackend(Backend):
    """Back end of the OPU, for builds with its pipelined or its small engine."""

    isa = "opu"

    def __init__(
        self,
        *,
        params: Mapping[str, Any],
        memory_size: int,
        memory: Mapping[str, int | str] | None = None,
    ):
        super().__init__(params=params, memory_size=memory_size, memory=memory)
        self.types = type_set(params)
        # Tensor -> Form of the graph that it was last met in
        self._forms: WeakKeyDictionary[Tensor, Form] = WeakKeyDictionary()

    def is_narrow(self, bits: int | None = None) -> bool:
        return self.types.ifm < 16

    def check_support(self, graph: Graph, node: Node) -> Support:
        """Support check of one node."""
        return check_support(graph, node)

    def suits(self, graph: Graph, node: Node) -> bool:
        return super().suits(graph, node) and not joins_rows(graph, node)

    def legalise(self, graph: Graph) -> Graph:
        """Legalises a graph for this core."""
        return legalise(graph, Target(self.params), self.unfused_clips)

    def form(self, graph: Graph) -> Form:
        """The :class:`Form` of a legalised graph on this build. A subgraph gets the form of the
        whole graph if that is known, so that a node gives the same results by itself as within its
        network."""
        names = {name for node in graph.nodes for name in (*node.inputs, node.output)} | {
            port.tensor for port in graph.inputs
        }
        tensors = [tensor for name in names if (tensor := graph.tensors[name]).data is None]
        found = {self._forms.get(tensor) for tensor in tensors}
        form = found.pop() if len(found) == 1 else None
        if form is None or not form.covers(graph):
            form = Form(graph, self.memory_size)
            self._forms.update(dict.fromkeys(tensors, form))
        return form

    def arithmetic(self, graph: Graph, node: Node) -> Arithmetic:
        """Integer arithmetic of a node of a legalised graph."""
        return arithmetic_of(self.types, self.form(graph), node)

    def partial_sums(self, graph: Graph, node: Node, values: np.ndarray) -> Iterator[np.ndarray]:
        """Partial sums of a node in the core's accumulation order."""
        if isinstance(node, Conv | Dense):
            yield from partial_sums(graph, self.form(graph), node, values)
        elif isinstance(node, AveragePool):
            yield from average_sums(node, values)

    def _layers(self, quantised, fuse, images=1, states=()):
        """Storage form and layers of a graph."""
        form = self.form(quantised.graph)
        made = Lowering(quantised, form, self.types.name, fuse, images)
        made.keep_states(states)
        return form, made

    def reference(
        self, quantised: Quantised, inputs: Mapping[str, np.ndarray], keep: bool = False
    ) -> dict[str, np.ndarray]:
        """Bit-exact numpy reference of the core."""
        graph = quantised.graph
        form, made = self._layers(quantised, fuse=False)
        given = {}
        for name, found in inputs.items():
            given[made.values[name].name] = form.packed(name, np.asarray(found))
        wanted = {
            name: tensor for name, tensor in made.values.items() if keep or name in graph.kept()
        }
        made.network.outputs = [*dict.fromkeys(wanted.values())]
        values = run_network(made.network, given)
        return {
            name: np.asarray(inputs[name])
            if name in inputs
            else form.exchange(values[tensor]).reshape(-1, *graph.shape(name))
            for name, tensor in wanted.items()
        }

    def stages(self, quantised: Quantised, *, keep: bool = False) -> list[Quantised]:
        """Splits a network into consecutive subgraphs that fit main memory; outputs of one are
        inputs of later ones. A network that fits stays whole. Raises :class:`LoweringError`."""
        return stages(quantised, lambda part: self.lower(part, keep=keep))

    def most_images(self, graph: Graph) -> int:
        """Greatest batch size of a run."""
        return _MOST_IMAGES

    def lower(self, quantised: Quantised, *, keep: bool = False, images: int = 1) -> Lowered:
        """Lowers a quantised graph to a program; ``images``: batch size of a run. Layers run over
        the whole batch, so that weights are loaded once for all inputs."""
        form, made = self._layers(quantised, not keep, images, self.states)
        rest = quantised.graph, form, made, self.params, self.memory_size
        # Whether a close case fits can only be found with the actual program.
        return lowered_program(
            *rest, quick=self.quick and plenty(*rest), timing=main_memory(self.main_memory)
        )

    def check_programs(self, parts: Sequence[Quantised], images: int = 1) -> None:
        """Raises :class:`LoweringError` if the programs do not fit; skips the search for tilings if
        there is plenty of memory."""
        # The search for tilings makes programs a little longer, which does not matter with plenty
        # of memory.
        for part in parts:
            some = min(images, self.most_images(part.graph))
            form, made = self._layers(part, True, some, self.states)
            rest = part.graph, form, made, self.params, self.memory_size
            if not plenty(*rest):
                lowered_program(*rest, timing=main_memory(self.main_memory))

    def buffered_copy(self, quantised: Quantised, lowered: Lowered, at: int) -> Lowered:
        """The double-buffered copy of a program."""
        # Programs address maps within a region.
        register = f"region_base[{REGION_MAPS}]"
        return moved(
            lowered,
            at - lowered.registers[register],
            (register,),
            memory=at + lowered.registers[f"region_limit[{REGION_MAPS}]"],
        )
