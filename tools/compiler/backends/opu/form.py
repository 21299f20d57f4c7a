# SPDX-License-Identifier: BSD-2-Clause
"""Form that a network takes on the machine: which tensors lie in pieces of 16 channels, which inputs are folded, which tensors are one.

All of it shows in the results, since partial sums saturate in the order in which pieces are added up; it follows from the graph and from
how much memory there is, not from tilings.
"""
from dataclasses import dataclass

import numpy as np

from ....kernels.opu.graph import NARROW
from ...graph import Activation as Act
from ...graph import AveragePool, Binary, Conv, Dense, Graph, MaxPool, Reshape

__all__ = ["Fold", "Form", "map_shape"]

_SLOT = 64


def map_shape(shape):
    """(rows, columns, channels) of a tensor of one to three axes: a sequence is a map of one column."""
    return (1,) * (3 - len(shape)) + tuple(shape) if len(shape) != 2 else (shape[0], 1, shape[1])


@dataclass(frozen=True)
class Fold:
    """Positions of an input that lie in one slot, ``stride`` (rows, columns): a convolution with that stride then has fewer taps on more
    channels. ``phase``: zeros of the padding (rows, columns) before the first one; ``padding``: what is left of it for the machine.

    Attributes
    ----------
    shape : of the folded input, rows, columns, channels, padding included
    taps : of the folded kernel
    """
    stride: tuple
    phase: tuple
    shape: tuple
    taps: tuple

    def input(self, values):
        """``values`` [inputs, rows, columns, channels] folded."""
        (down, across), (top, left), (rows, columns, _) = self.stride, self.phase, self.shape
        count, high, wide, channels = values.shape
        whole = np.zeros((count, rows * down, columns * across, channels), values.dtype)
        whole[:, top:top + high, left:left + wide] = values
        blocks = whole.reshape(count, rows, down, columns, across, channels)
        return blocks.transpose(0, 1, 3, 2, 4, 5).reshape(count, rows, columns, -1)

    def weights(self, weights):
        """Weights [out, rows, columns, in] of the convolution as [out, in, rows, columns] of the folded one."""
        out, high, wide, channels = weights.shape
        (down, across), (rows, columns) = self.stride, self.taps
        whole = np.zeros((out, rows * down, columns * across, channels), weights.dtype)
        whole[:, :high, :wide] = weights
        blocks = whole.reshape(out, rows, down, columns, across, channels)
        return blocks.transpose(0, 2, 4, 5, 1, 3).reshape(out, -1, rows, columns)


class Form:
    """Form of a prepared graph.

    Parameters
    ----------
    graph : Graph
    memory_size : bytes of main memory

    Attributes
    ----------
    split : set of names of tensors in pieces of 16 channels
    folds : dict, name of an input -> Fold
    """
    def __init__(self, graph: Graph, memory_size):
        self.graph = graph
        self._readers = {}
        for node in graph.nodes:
            for name in node.inputs:
                self._readers.setdefault(name, []).append(node)
        self._makers = {node.output: node for node in graph.nodes}
        self.folds = {port.tensor: fold for port in graph.inputs if (fold := self._fold(port.tensor)) is not None}
        self.split = self._split()
        if self._bytes() > memory_size:
            self.split = set()              # sixteen channels of 64 waste memory

    def readers(self, name):
        return self._readers.get(name, [])

    def maker(self, name):
        return self._makers.get(name)

    def map_shape(self, name):
        return map_shape(self.graph.shape(name))

    def place(self, name):
        """(name, shape) of the tensor whose memory is that of ``name`` and of how the machine sees it: rows, columns, channels."""
        while isinstance(self.maker(name), Reshape):
            name = self.maker(name).inputs[0]
        readers = self.readers(name)
        if self.maker(name) is None and len(self.graph.shape(name)) == 1 and len(readers) == 1 and isinstance(readers[0], Reshape) and name not in self.graph.kept():
            return name, map_shape(readers[0].shape)            # an input as its reader wants it
        return name, self.map_shape(name)

    # Pieces of 16 channels

    def _split(self):
        """Tensors that a convolution in groups reads or makes, and all that must lie like them."""
        like = {}

        def root(name):
            while like.setdefault(name, name) != name:
                name = like[name]
            return name

        wanted = set()
        for node in self.graph.nodes:
            flowing = [name for name in node.inputs if self.graph.tensors[name].data is None]
            if isinstance(node, Conv) and node.groups > 1 and self._narrow(node):
                wanted |= {flowing[0], node.output}
            # What is added up, and what is worked on channel by channel, lies as its source.
            if isinstance(node, Conv) and len(flowing) > 1:
                flowing = flowing[1:]
            elif not isinstance(node, Act | Binary | MaxPool | AveragePool | Reshape):
                continue
            for name in flowing:
                like[root(name)] = root(node.output)
        flow = [name for name, tensor in self.graph.tensors.items() if tensor.data is None]
        roots = {root(name) for name in wanted} - {root(name) for name in flow if not self._fits(name)}
        return {name for name in flow if root(name) in roots}

    def _narrow(self, node):
        """Whether pieces of 16 channels take fewer steps than maps of 64."""
        inner = node.weights.shape[3]
        return inner <= NARROW and inner * node.groups > NARROW

    def _fits(self, name):
        rows, columns, _ = self.map_shape(name)
        return max(rows, columns) * 4 + 8 * 15 <= 1023

    def _bytes(self):
        """Of all maps, borders of one left out, and of the weights of dense and ordinary layers; rough."""
        total = 0
        for name, tensor in self.graph.tensors.items():
            if tensor.data is None:
                rows, columns, channels = self.map_shape(name)
                total += (rows + 2) * (columns + 2) * -(-channels // (NARROW if name in self.split else _SLOT)) * _SLOT
        for node in self.graph.nodes:
            if isinstance(node, Conv | Dense):
                total += node.weights.size * (NARROW if isinstance(node, Conv) and node.groups > 1 else 1)
        return total

    # Folded inputs

    def _fold(self, name):
        """The :class:`Fold` of an input that one convolution alone reads, if it saves work."""
        readers = self.readers(name)
        shape = self.graph.shape(name)
        if len(readers) != 1 or not isinstance(readers[0], Conv) or name in self.graph.kept() or len(shape) != 3:
            return None
        node = readers[0]
        (rows, columns, channels), (down, across) = shape, node.stride
        folded = channels * down * across
        if node.groups > 1 or node.dilation != (1, 1) or len(node.inputs) > 1 or down * across == 1 or folded > _SLOT:
            return None
        top, left = node.padding[:2]
        taps = tuple(-(-k // s) for k, s in zip(node.weights.shape[1:3], node.stride, strict=True))

        def steps(count, inner):
            return count * max(1, -(-inner // NARROW))

        if steps(taps[0] * taps[1], folded) >= steps(node.weights.shape[1] * node.weights.shape[2], channels):
            return None
        sides = [out - 1 + t for out, t in zip(self.graph.shape(node.output)[:2], taps, strict=True)]
        if any(side * s < before + n for side, s, before, n in zip(sides, node.stride, (top, left), (rows, columns), strict=True)):
            return None                     # its last elements, which no kernel reads, would have no place
        return Fold(node.stride, (top, left), (*sides, folded), taps)
