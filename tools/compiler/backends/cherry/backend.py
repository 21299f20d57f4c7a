# SPDX-License-Identifier: BSD-2-Clause
"""Cherry's implementation of the back-end interface."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from .....gateware.cores.cherry.image import relocated
from .....gateware.cores.cherry.software import SOFTWARE
from .....gateware.isa.asm import disassemble
from ..base import Backend, Lowered, Support, moved
from .legalise import kernel_graph_of
from .lowering import lower_kernel_graph
from .reference import run_kernel_graph
from .schedule.memory import main_memory
from .support import check_support

if TYPE_CHECKING:
    from ...graph import Graph, Node
    from ...quantised import Quantised

__all__ = ["Cherry"]

#: Weights from which on a dry run takes the first program that fits.
_LARGE = 400_000


class Cherry(Backend):
    """Networks in Cherry's 18-bit floats, without quantisation."""

    isa = "cherry"
    floating = True

    def check_support(self, graph: Graph, node: Node) -> Support:
        """Support check of one node."""
        return check_support(graph, node, self.params)

    def reference(
        self, quantised: Quantised, inputs: Mapping[str, np.ndarray], keep: bool = False
    ) -> dict[str, np.ndarray]:
        """Bit-exact numpy reference of the core."""
        graph = quantised.graph
        kernel_graph = kernel_graph_of(graph, self.params, keep=keep)
        held = run_kernel_graph(kernel_graph, inputs, 18 if self.params["acc_frac"] == 17 else 10)
        names = kernel_graph.values if keep else kernel_graph.outputs
        return {
            name: np.asarray(inputs[name], np.float32)
            if name in kernel_graph.inputs
            else self._array(kernel_graph.values[name], held, graph.shape(name))
            for name in names
        }

    @staticmethod
    def _array(ref, held, shape):
        array = (
            held[ref.value]
            if ref.value.data is None
            else np.repeat(ref.value.data[None], len(next(iter(held.values()))), 0)
        )
        return np.ascontiguousarray(ref.read(array)).reshape(-1, *shape).astype(np.float32)

    def lower(self, quantised: Quantised, *, keep: bool = False) -> Lowered:
        """Lowers a quantised graph to a program."""
        graph = quantised.graph
        kernel_graph = kernel_graph_of(graph, self.params, keep=keep)
        weights = sum(np.size(getattr(node, "weights", ())) for node in graph.nodes)
        return lower_kernel_graph(
            kernel_graph,
            graph,
            self.params,
            self.memory_size,
            keep,
            main_memory(self.main_memory),
            quick=self.quick and weights > _LARGE,
            states=self.states,
        )

    def buffered_copy(self, quantised: Quantised, lowered: Lowered, at: int) -> Lowered:
        """The double-buffered copy of a program."""

        def move(address):
            # Constants stay.
            held = any(
                first <= address < first + constant.size for first, constant, _ in lowered.constants
            )
            return address if held else address + at

        data = relocated(lowered.program, move)
        return moved(
            lowered,
            at,
            ("program_address",),
            program=data,
            text=disassemble(SOFTWARE, data),
            program_at=lowered.program_at + at,
        )
