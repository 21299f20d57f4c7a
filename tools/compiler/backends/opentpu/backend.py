# SPDX-License-Identifier: BSD-2-Clause
"""OpenTPU's implementation of the back-end interface."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...graph import Slice
from ..base import Backend, Lowered, Support, moved
from ..rewriting import joins_rows
from .arithmetic import arithmetic, wired_norm
from .legalise import legalise
from .lower import lower, most_images
from .reference import run
from .scales import balanced_steps
from .support import check_support

if TYPE_CHECKING:
    from ...graph import Graph, Node
    from ...quantise.calibration import Seen
    from ...quantised import Arithmetic, Quantised

__all__ = ["OpenTpu"]

#: Words of a program that is not compared with others where it is only looked at.
_QUICK = 60_000


class OpenTpu(Backend):
    """OpenTPU: layers are sums of products of tiles over shifted maps, with shift and saturation
    (docs/cores/opentpu-kernels.md)."""

    isa = "opentpu"

    def check_support(self, graph: Graph, node: Node) -> Support:
        """Support check of one node."""
        return check_support(graph, node, self.params)

    def suits(self, graph: Graph, node: Node) -> bool:
        slow = isinstance(node, Slice) or joins_rows(graph, node)
        return super().suits(graph, node) and not slow

    def legalise(self, graph: Graph) -> Graph:
        """Legalises a graph for this core."""
        return legalise(graph, self.params)

    def arithmetic(self, graph: Graph, node: Node) -> Arithmetic:
        """Integer arithmetic of a node of a legalised graph."""
        return arithmetic(node, self.params)

    def tensor_steps(self, graph: Graph, seen: Mapping[str, Seen]) -> dict[str, tuple[float, str]]:
        """Scales of tensors that only the whole network decides: all of a build without
        ``ext_norm``."""
        norm = wired_norm(self.params)
        return {} if norm is None else balanced_steps(graph, seen, norm)

    def reference(
        self, quantised: Quantised, inputs: Mapping[str, np.ndarray], keep: bool = False
    ) -> dict[str, np.ndarray]:
        """Bit-exact numpy reference of the core."""
        return run(quantised, inputs, keep, wired_norm(self.params))

    def most_images(self, graph: Graph) -> int:
        """Greatest batch size of a run of a legalised graph."""
        return most_images(graph, self.params)

    def lower(self, quantised: Quantised, *, keep: bool = False, images: int = 1) -> Lowered:
        """Lowers a quantised graph to a program; ``images``: batch size, up to
        :meth:`most_images`."""
        return lower(
            quantised,
            self.params,
            self.memory_size,
            keep,
            images,
            self.main_memory,
            _QUICK if self.quick else None,
            states=self.states,
        )

    def check_programs(self, parts: Sequence[Quantised], images: int = 1) -> None:
        """Raises :class:`LoweringError` if no candidate schedule fits; stops at the first that
        does."""
        for part in parts:
            some = min(images, self.most_images(part.graph))
            lower(
                part,
                self.params,
                self.memory_size,
                False,
                some,
                self.main_memory,
                0,
                states=self.states,
            )

    def buffered_copy(self, quantised: Quantised, lowered: Lowered, at: int) -> Lowered | None:
        """The double-buffered copy of a program."""
        # Programs address vectors within a region, its constant ones included; tensors that are
        # tiles lie in that of the weights as well.
        if lowered.registers["weights_base"] == lowered.registers["hostmem_base"]:
            return None
        first, end = lowered.registers["hostmem_base"], lowered.registers["hostmem_limit"]
        vectors = [
            (at, data, what) for address, data, what in lowered.constants if address == first
        ]
        return moved(
            lowered,
            at - first,
            ("hostmem_base", "hostmem_limit"),
            constants=vectors,
            memory=at + end - first,
        )
