# SPDX-License-Identifier: BSD-2-Clause
"""Sharing of vectors: with few channels, neighbouring positions of a line share a vector, so that a
product works on all of them at once.

A depthwise convolution of 8 channels, for example, uses half of a vector of 16. With two columns in
a vector it takes half the products. Sums are exact, so that results stay the same.

A window of three columns over two columns of the result reads four of the source. If the result's
pairs begin one column earlier than the source's, these four lie in two vectors instead of three.
Each line of the result then begins and ends with a position outside the map, whose sums mean
nothing: no padded convolution may read them as elements beside others. As vectors of their own they
are set to zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ...graph import Conv, Graph
from .form import conv_matrices, cut
from .layout import Planes

__all__ = ["Sharing", "shared_places"]


@dataclass(frozen=True)
class Sharing:
    """Neighbours along a line that share a vector: ``count`` of them; ``shift``: phase of a line's
    first position, 0 or, of two neighbours, 1."""

    count: int
    shift: int = 0


def shared_places(
    graph: Graph, stored: Mapping[str, tuple[int, int, int]], n: int, swap: bool
) -> dict[str, Sharing]:
    """Tensors whose neighbours along a line share vectors, by name; others are not named.

    Parameters
    ----------
    graph : Graph, legalised
    stored : dict, name of a tensor -> its stored shape
    n : elements of a vector
    swap : a line is a column of the map
    """
    return _Search(graph, stored, n, swap).found


class _Search:
    def __init__(self, graph, stored, n, swap):
        self._graph, self._stored, self._n, self._swap = graph, stored, n, swap
        self.found: dict[str, Sharing] = {}
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
            count = n // channels
            chains = [self._chain(node, Sharing(count), {}, shifts) for shifts in (False, True)]
            found = [chain for chain in chains if chain is not None]
            best = min(found, key=self._products, default=None)
            if best is not None and self._products(best) < self._products({}, best):
                self.found.update(best)

    def _turned(self, pair):
        return tuple(reversed(pair)) if self._swap else tuple(pair)

    def _chain(self, node, sharing, found, shifts):
        """Tensors from a node's result on that must share vectors, until a stride separates the
        positions again; ``None`` if that is impossible. ``sharing`` is that of the result;
        ``shifts``: whether later results may be shifted."""
        shape, readers = self._stored[node.output], self._graph.readers(node.output)
        count = sharing.count
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
        found = {**found, node.output: sharing}
        beside_others = count * shape[2] <= self._n
        for reader in readers:
            if not isinstance(reader, Conv) or len(reader.inputs) > 1:
                return None
            (_, before), (_, behind) = map(self._turned, (reader.padding[:2], reader.padding[2:]))
            if sharing.shift and beside_others and (before or behind):
                return None
            if self._turned(reader.stride)[1] % count:
                # The window of the result's first vector begins with a vector of the source.
                shift = (sharing.shift - before) % 2 if shifts and count == 2 else 0
                longer = self._chain(reader, Sharing(count, shift), found, shifts)
                if longer is None and shift:
                    longer = self._chain(reader, Sharing(count), found, shifts)
                if longer is None:
                    return None
                found = longer
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
        mine = shared.get(name, Sharing(1))
        return Planes(
            lines,
            length,
            shape[2],
            self._n,
            phases=(1, mine.count),
            shift=(0, mine.shift),
        )

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
