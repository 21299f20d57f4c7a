# SPDX-License-Identifier: BSD-2-Clause
"""Operator fusion into the ``store`` of a convolution: residual addition and max pooling. Fusion
does not change results."""

from typing import NamedTuple

from ...graph import Binary, Conv, Graph, MaxPool, Node

__all__ = ["Fusing", "FusedSum"]


class FusedSum(NamedTuple):
    """A sum fused into the ``store`` of the convolution ``main``; ``other``: name of the addend;
    ``order``: number of the order in ``@post``."""

    main: Conv
    other: str
    order: int


class Fusing:
    """Fusion decisions for a graph: which sums and poolings are fused, and into which convolution.

    Attributes
    ----------
    sums : dict, name of a Binary -> FusedSum
    pools : dict, name of a MaxPool -> the Conv or Binary before it
    within : names of the nodes that run within another node's layer
    """

    def __init__(self, graph: Graph):
        self._graph, kept = graph, graph.kept()
        makers = {node.output: node for node in graph.nodes}
        # Tensors that only the next node reads.
        counts: dict[str, int] = {}
        for node in graph.nodes:
            for name in node.inputs:
                counts[name] = counts.get(name, 0) + 1
        self._single = {
            name: makers[name]
            for name, count in counts.items()
            if count == 1 and name in makers and name not in kept
        }
        self.sums, self.pools = {}, {}
        for node in graph.nodes:
            if isinstance(node, Binary) and (fused := self._fused_sum(node)) is not None:
                self.sums[node.name] = fused
            elif isinstance(node, MaxPool) and (maker := self._pooled(node)) is not None:
                self.pools[node.name] = maker
        self.within = {fused.main.name for fused in self.sums.values()} | {
            maker.name for maker in self.pools.values()
        }

    def _fused_sum(self, node: Binary):
        if node.function != "add":
            return None
        found = []
        for name, other in (node.inputs, node.inputs[::-1]):
            main = self._single.get(name)
            if (
                isinstance(main, Conv)
                and len(main.inputs) == 1
                and (main.activation is None or node.activation is None)
            ):
                found.append(FusedSum(main, other, 1 if main.activation is None else 0))
        # The longer one: its convolutions then hide the load of the residual.
        return max(found, key=lambda fused: self._graph.macs(fused.main), default=None)

    def _pooled(self, node: MaxPool) -> Node | None:
        maker = self._single.get(node.inputs[0])
        if any(node.padding):
            return None
        if isinstance(maker, Conv):
            return maker if len(maker.inputs) == 1 else None
        # A sum with a constant is a layer with weights by now.
        return maker if isinstance(maker, Binary) else None
