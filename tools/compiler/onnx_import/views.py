# SPDX-License-Identifier: BSD-2-Clause
"""Values during import: constants, and tensors of the graph together with the axes under which the
model sees them.

A model's NCHW tensor is a graph's NHWC tensor seen through an order of axes; Transpose, Flatten,
Reshape, Squeeze and Unsqueeze mostly change what is seen and not the tensor. So maps stay rows,
columns, channels, and Transposes around convolutions vanish.
"""

from dataclasses import dataclass, replace
from math import prod

import numpy as np

__all__ = ["Constant", "Grid", "View", "factored"]


@dataclass(frozen=True)
class Grid:
    """Whole numbers that stand for real ones: (number - ``zero_point``) * ``scale``. ``scale`` of a
    constant may be an array that broadcasts."""

    scale: object
    zero_point: int
    bits: int
    signed: bool


@dataclass(frozen=True, eq=False)
class Constant:
    """A constant in the model's axes; of a QDQ model with the ``grid`` that its real numbers lie
    on. ``whole``: still the grid's numbers."""

    data: np.ndarray
    grid: Grid | None = None
    whole: bool = False

    @property
    def lengths(self):
        return self.data.shape


@dataclass(frozen=True)
class View:
    """A tensor of the graph as the model sees it.

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
    shape: tuple
    axes: tuple
    grid: Grid | None = None
    integer: bool = False

    @property
    def lengths(self):
        """Of the model's axes."""
        return tuple(prod(self.shape[axis] for axis in group) for group in self.axes)

    def long(self, group):
        """The axes of ``group`` that are longer than one."""
        return tuple(axis for axis in group if self.shape[axis] > 1)

    @property
    def flat(self):
        """The tensor's axes longer than one, in the model's order of elements."""
        return tuple(axis for group in self.axes for axis in self.long(group))

    def single(self, axis):
        """The tensor's one axis that the model's ``axis`` is, or ``None`` where it is several or
        none."""
        group = self.axes[axis]
        if len(group) == 1:
            return group[0]
        long = self.long(group)
        return long[0] if len(long) == 1 else None

    def permuted(self, order):
        return replace(self, axes=tuple(self.axes[axis] for axis in order))

    def reshaped(self, lengths):
        """The same tensor seen with axes of ``lengths``, or ``None`` where an axis of the tensor
        would have to be cut."""
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

    def aligned(self, count):
        """With axes of one element in front, so that there are ``count``."""
        return replace(self, axes=((),) * (count - len(self.axes)) + self.axes)


def factored(view, lengths):
    """For an operand of ``lengths`` that is broadcast to ``view`` (as many axes as the model's):
    lengths of its axes, cut as the view's groups are, and the order that brings them into that of
    the tensor's axes; axes that the view's groups lack are one long and stand first."""
    cut, places = [], []
    for group, length in zip(view.axes, lengths, strict=True):
        for axis in group:
            places.append(axis)
            cut.append(view.shape[axis] if length > 1 else 1)
    missing = [axis for axis in range(len(view.shape)) if axis not in places]
    return (*(1 for _ in missing), *cut), tuple(int(i) for i in np.argsort([*missing, *places]))
