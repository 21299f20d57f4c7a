# SPDX-License-Identifier: BSD-2-Clause
"""Sharing of vectors: with few channels, neighbouring positions of a line share a vector, so that a
product works on all of them at once.

A depthwise convolution of 8 channels, for example, uses half of a vector of 16. With two columns in
a vector it takes half the products. Sums are exact, so that results stay the same.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...graph import Conv, Graph
from .form import conv_matrices, cut
from .layout import Planes

__all__ = ["shared_places"]


def shared_places(
    graph: Graph, stored: Mapping[str, tuple[int, int, int]], n: int, swap: bool
) -> dict[str, int]:
    """Tensors whose neighbours along a line share vectors, name -> how many of them; others are not
    named.

    Parameters
    ----------
    graph : Graph, legalised
    stored : dict, name of a tensor -> its stored shape
    n : elements of a vector
    swap : a line is a column of the map
    """
    return _Sharing(graph, stored, n, swap).found


class _Sharing:
    def __init__(self, graph, stored, n, swap):
        self._graph, self._stored, self._n, self._swap = graph, stored, n, swap
        self.found: dict[str, int] = {}
        for node in graph.nodes:
            channels = graph.shape(node.output)[-1]
            if (
                not isinstance(node, Conv)
                or node.output in self.found
                or 2 * channels > n
                or n % channels
                or not any(
                    isinstance(reader, Conv) and reader.groups == channels > 1
                    for reader in graph.readers(node.output)
                )
            ):
                continue
            chain = self._chain(node, n // channels, {})
            if chain is not None and self._products(chain) < self._products({}, chain):
                self.found.update(chain)

    def _turned(self, pair):
        return tuple(reversed(pair)) if self._swap else tuple(pair)

    def _chain(self, node, count, found):
        """Tensors from a node's result on that must share vectors, until a stride separates the
        positions again; ``None`` if that is impossible."""
        shape, readers = self._stored[node.output], self._graph.readers(node.output)
        if (
            not isinstance(node, Conv)
            or len(node.inputs) > 1
            or shape != self._graph.shape(node.output)
            or node.output in self._graph.kept()
            or not readers
            or self._turned(shape[:2])[1] % count
            or (self._n % shape[2] and shape[2] % self._n)
        ):
            return None
        found = {**found, node.output: count}
        for reader in readers:
            if not isinstance(reader, Conv) or len(reader.inputs) > 1:
                return None
            if self._turned(reader.stride)[1] % count:
                found = self._chain(reader, count, found)
                if found is None:
                    return None
        return found

    def _products(self, shared, chain=None):
        """Products of vectors of the convolutions that make or read the tensors of ``chain``, with
        the sharing of ``shared``."""
        names, total = shared if chain is None else chain, 0
        for node in self._graph.nodes:
            if isinstance(node, Conv) and {node.inputs[0], node.output} & names.keys():
                source, target = (
                    self._planes(name, shared) for name in (node.inputs[0], node.output)
                )
                total += self._terms(node, source, target) * target.down * target.across
        return total

    def _planes(self, name, shared):
        shape = self._stored[name]
        lines, length = self._turned(shape[:2])
        return Planes(lines, length, shape[2], self._n, phases=(1, shared.get(name, 1)))

    def _terms(self, node, source, target):
        """Tiles of a convolution without a weight of zero."""
        out, *window, inner = node.weights.shape
        matrices, _ = conv_matrices(
            np.ones((out, *self._turned(window), inner)),
            source,
            before=self._turned(node.padding[:2]),
            stride=self._turned(node.stride),
            dilation=self._turned(node.dilation),
            groups=node.groups,
            target=target,
        )
        width = next(iter(matrices.values())).shape[1]
        return sum(map(len, cut(matrices, width, self._n)))
