# SPDX-License-Identifier: BSD-2-Clause
"""Nodes that move elements and compute none."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from .node import Node

__all__ = ["Concat", "Movement", "Pad", "Reshape", "Slice", "Transpose"]


class Movement(Node):
    """Base class of these kinds. What holds for numbers that keep their values (scale, sign, a back
    end's reference) asks for it, and so needs no change for another kind."""


@dataclass(eq=False, kw_only=True)
class Reshape(Movement):
    """Reshape to ``shape``, given without the batch axis: the same elements in C order of the
    graph's axes."""

    shape: tuple[int, ...]

    def _shape(self, shape):
        if prod(self.shape) != prod(shape):
            raise ValueError(
                f"{tuple(shape)} has {prod(shape)} elements, {tuple(self.shape)} has "
                f"{prod(self.shape)}"
            )
        return self.shape

    def _run(self, x):
        return x.reshape(len(x), *self.shape)


@dataclass(eq=False, kw_only=True)
class Transpose(Movement):
    """Permutation of the tensor's axes into ``order``, given without the batch axis."""

    order: tuple[int, ...]

    def _shape(self, shape):
        if sorted(self.order) != list(range(len(shape))):
            raise ValueError(f"order {tuple(self.order)} for {len(shape)} axes")
        return tuple(shape[axis] for axis in self.order)

    def _run(self, x):
        return x.transpose(0, *(axis + 1 for axis in self.order))


@dataclass(eq=False, kw_only=True)
class Concat(Movement):
    """Concatenation along ``axis`` of the graph's tensors."""

    axis: int

    def _shape(self, *shapes):
        axis = self.axis % len(shapes[0])
        rest = {(*shape[:axis], *shape[axis + 1 :]) for shape in shapes}
        if len(rest) != 1:
            raise ValueError(f"tensors of {', '.join(map(str, shapes))} along axis {axis}")
        return (*shapes[0][:axis], sum(shape[axis] for shape in shapes), *shapes[0][axis + 1 :])

    def _run(self, *values):
        count = max(len(value) for value in values)
        whole = [np.broadcast_to(value, (count, *value.shape[1:])) for value in values]
        return np.concatenate(whole, axis=1 + self.axis % (whole[0].ndim - 1))


@dataclass(eq=False, kw_only=True)
class Pad(Movement):
    """Constant padding with ``value``: ``before`` and ``after`` give the number of elements per
    axis of the graph's tensor."""

    before: tuple[int, ...]
    after: tuple[int, ...]
    value: float = 0.0

    def _shape(self, shape):
        return tuple(
            a + length + b for a, length, b in zip(self.before, shape, self.after, strict=True)
        )

    def _run(self, x):
        return np.pad(
            x, ((0, 0), *zip(self.before, self.after, strict=True)), constant_values=self.value
        )


@dataclass(eq=False, kw_only=True)
class Slice(Movement):
    """Strided slice: from ``start`` to ``stop`` by ``step``, one number per axis of the graph's
    tensor."""

    start: tuple[int, ...]
    stop: tuple[int, ...]
    step: tuple[int, ...]

    def _shape(self, shape):
        result = [
            len(range(length)[a:b:c])
            for length, a, b, c in zip(shape, self.start, self.stop, self.step, strict=True)
        ]
        if 0 in result:
            raise ValueError(f"nothing is left of {tuple(shape)} from {self.start} to {self.stop}")
        return result

    def _run(self, x):
        index = (slice(None), *map(slice, self.start, self.stop, self.step))
        return x[index]
