# SPDX-License-Identifier: BSD-2-Clause
"""Windows over time without a concatenation: two maps that are padded with zeros and added up, and
parts of a map by convolutions that take one tap, for cores that join channels alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..graph import Binary, Concat, Conv, Graph, Node, Pad, Slice

__all__ = ["as_padded"]

#: Zeros that one padding adds at an end, at most: OPU's limit.
_MOST = 15


def as_padded(graph: Graph, convolutions: bool = False) -> Graph:
    """The same network with sums of padded maps in place of concatenations along rows or columns.
    ``convolutions``: parts of maps are taken by convolutions, for cores that cut no maps."""
    made = _Padded(graph, convolutions)
    return Graph(graph.name, list(graph.inputs), list(graph.outputs), made.nodes, made.tensors)


class _Padded:
    def __init__(self, graph, convolutions):
        self.tensors = dict(graph.tensors)
        self.nodes: list[Node] = []
        for node in graph.nodes:
            shape = graph.shape(node.output)
            last = len(shape) - 1
            if isinstance(node, Concat) and node.axis % len(shape) != last:
                self._sum(node, shape)
            elif convolutions and isinstance(node, Slice) and self._is_part(node, shape):
                self._tap(node, shape)
            else:
                self.nodes.append(node)

    def _tensor(self, name, like, shape):
        self.tensors[name] = replace(self.tensors[like], name=name, shape=tuple(shape))
        return name

    def _sum(self, node, shape):
        """The sum of the operands, each padded to the whole."""
        axis = node.axis % len(shape)
        at, here = 0, None
        for number, name in enumerate(node.inputs):
            length = self.tensors[name].shape[axis]
            padded = self._padded(node, number, name, axis, (at, shape[axis] - at - length))
            at += length
            if here is None:
                here = padded
                continue
            last = number == len(node.inputs) - 1
            output = node.output if last else self._tensor(f"{node.name}:{number}", name, shape)
            self.nodes.append(
                Binary(
                    name=node.name if last else output,
                    inputs=[here, padded],
                    output=output,
                    origin=node.origin,
                    function="add",
                )
            )
            here = output

    def _padded(self, node, number, name, axis, ends):
        """A tensor with so many zeros (before, behind) along an axis."""
        step = 0
        while any(ends):
            some = tuple(min(end, _MOST) for end in ends)
            ends = tuple(end - part for end, part in zip(ends, some, strict=True))
            shape = list(self.tensors[name].shape)
            before, after = ([0] * len(shape) for _ in range(2))
            before[axis], after[axis] = some
            shape[axis] += sum(some)
            output = self._tensor(f"{node.name}:padded{number}_{step}", name, shape)
            self.nodes.append(
                Pad(
                    name=output,
                    inputs=[name],
                    output=output,
                    origin=node.origin,
                    before=tuple(before),
                    after=tuple(after),
                )
            )
            name, step = output, step + 1
        return name

    def _is_part(self, node, shape):
        """Whether a slice is a part of a map in one piece, of all its channels."""
        before = self.tensors[node.inputs[0]].shape
        return (
            len(shape) == 3
            and set(node.step) == {1}
            and (node.start[2], shape[2]) == (0, before[2])
        )

    def _tap(self, node, shape):
        """A convolution of each channel by itself that takes one tap."""
        before = self.tensors[node.inputs[0]].shape
        size = tuple(long - short + 1 for long, short in zip(before[:2], shape[:2], strict=True))
        weights = np.zeros((shape[2], *size, 1))
        weights[:, node.start[0], node.start[1]] = 1.0
        self.nodes.append(
            Conv(
                name=node.name,
                inputs=list(node.inputs),
                output=node.output,
                origin=node.origin,
                weights=weights,
                groups=shape[2],
            )
        )
