# SPDX-License-Identifier: BSD-2-Clause
"""Values during import: constants, and graph tensors together with their axes in the model.

A model's NCHW tensor is a graph's NHWC tensor seen through an order of axes; Transpose, Flatten,
Reshape, Squeeze and Unsqueeze mostly change what is seen and not the tensor. So maps stay rows,
columns, channels, and Transposes around convolutions vanish.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

__all__ = ["Constant", "Grid", "View", "factored", "refined"]


@dataclass(frozen=True)
class Grid:
    """Quantisation grid: real = (integer - ``zero_point``) * ``scale``. A constant's ``scale`` may
    be an array that broadcasts."""

    scale: float | np.ndarray
    zero_point: int
    bits: int
    signed: bool


@dataclass(frozen=True, eq=False)
class Constant:
    """A constant in the model's axes, in a QDQ model with the ``grid`` of its real numbers.
    ``whole``: the data are still integers on the grid."""

    data: np.ndarray
    grid: Grid | None = None
    whole: bool = False

    @property
    def lengths(self) -> tuple[int, ...]:
        """Shape of the constant."""
        return self.data.shape


@dataclass(frozen=True)
class View:
    """A tensor of the graph with the axes that it has in the model.

    Attributes
    ----------
    tensor : str, its name
    shape : tuple, lengths of the tensor's own axes
    axes : tuple of tuples: for each of the model's axes the tensor's axes that it consists of,
        the most significant first. The tensor's axes that are one long may be missing, those of
        more elements occur once; an empty tuple is an axis of one element, the inputs' as well.
    grid : Grid, between QuantizeLinear and DequantizeLinear
    integer : bool, whole numbers that stand for themselves (an integer input, the result of ArgMax)
    """

    tensor: str
    shape: tuple[int, ...]
    axes: tuple[tuple[int, ...], ...]
    grid: Grid | None = None
    integer: bool = False

    @property
    def lengths(self) -> tuple[int, ...]:
        """Lengths of the model's axes."""
        return tuple(prod(self.shape[axis] for axis in group) for group in self.axes)

    def long(self, group: Iterable[int]) -> tuple[int, ...]:
        """The axes of ``group`` that are longer than one."""
        return tuple(axis for axis in group if self.shape[axis] > 1)

    @property
    def flat(self) -> tuple[int, ...]:
        """The tensor's axes that are longer than one, in the model's order of elements."""
        return tuple(axis for group in self.axes for axis in self.long(group))

    def single(self, axis: int) -> int | None:
        """The single tensor axis that corresponds to the model's ``axis``, ``None`` if there are
        several or none."""
        group = self.axes[axis]
        if len(group) == 1:
            return group[0]
        long = self.long(group)
        return long[0] if len(long) == 1 else None

    def permuted(self, order: Iterable[int]) -> View:
        """The same tensor with the model's axes in another order."""
        return replace(self, axes=tuple(self.axes[axis] for axis in order))

    def reshaped(self, lengths: Sequence[int]) -> View | None:
        """The same tensor with axes of ``lengths``; ``None`` if an axis of the tensor would have to
        be split."""
        left, axes = list(self.flat), []
        for length in lengths:
            group, reach = [], 1
            while reach < length and left:
                group.append(left.pop(0))
                reach *= self.shape[group[-1]]
            if reach != length:
                return None
            axes.append(tuple(group))
        return replace(self, axes=tuple(axes)) if not left else None

    def aligned(self, count: int) -> View:
        """The view extended to ``count`` axes by leading axes of length one."""
        return replace(self, axes=((),) * (count - len(self.axes)) + self.axes)


def factored(view: View, lengths: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Factors the axes of an operand of ``lengths``, which broadcasts to ``view``, like the view's
    axes: (lengths of the factors, permutation to the order of the tensor's axes). Factors that the
    view lacks have length one and stand first."""
    cut, places = [], []
    for group, length in zip(view.axes, lengths, strict=True):
        for axis in group:
            places.append(axis)
            cut.append(view.shape[axis] if length > 1 else 1)
    missing = [axis for axis in range(len(view.shape)) if axis not in places]
    return (*(1 for _ in missing), *cut), tuple(int(i) for i in np.argsort([*missing, *places]))


def refined(given: Sequence[int], wanted: Sequence[int]) -> list[list[tuple[int, int]]] | None:
    """Refines axes of the lengths ``given`` so that axes of the lengths ``wanted`` are products of
    whole factors: for each given axis its factors, (length, index of the wanted axis). ``None`` if
    an axis cannot be split in this way."""
    parts: list[list[tuple[int, int]]] = [[] for _ in given]
    group, room = 0, wanted[0] if wanted else 1
    for axis, length in enumerate(given):
        left = length
        while left > 1:
            while room == 1:
                group += 1
                if group == len(wanted):
                    return None
                room = wanted[group]
            part = left if room % left == 0 else room if left % room == 0 else 0
            if not part:
                return None
            parts[axis].append((part, group))
            left, room = left // part, room // part
    return parts
