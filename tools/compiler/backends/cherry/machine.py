# SPDX-License-Identifier: BSD-2-Clause
"""Network as operations of Cherry's kernels: values with three axes, references to parts of them,
four kinds of operation.

A shape of the graph is seen as (rows, columns, channels): what has fewer axes gets ones in front.
"""

from dataclasses import dataclass, field

import numpy as np

__all__ = [
    "Chain",
    "Machine",
    "Operation",
    "PairProduct",
    "Product",
    "Ref",
    "Regroup",
    "Value",
    "Window",
    "three",
]


def three(shape):
    """A shape of at most three axes as one of three."""
    return (*(1,) * (3 - len(shape)), *shape)


@dataclass(eq=False)
class Value:
    """Elements that flow, or constants (``data``: float64 elements).

    Attributes
    ----------
    name : tensor of the graph that it is, or ``None``
    tight : columns follow each other without room between them,
        so that a window's row of channels is one run
    border : [top, left, bottom, right] elements around it that readers want to be ``around``
    """

    shape: tuple
    name: str | None = None
    data: np.ndarray | None = None
    tight: bool = False
    border: list = field(default_factory=lambda: [0, 0, 0, 0])
    around: float = 0.0

    @property
    def size(self):
        return int(np.prod(self.shape, dtype=np.int64))


@dataclass(frozen=True, eq=False)
class Ref:
    """Part of a value: its axis i is ``axes[i]`` of the value's, every ``step[i]``-th element from
    ``start`` (by the value's axes) on."""

    value: Value
    shape: tuple
    axes: tuple = (0, 1, 2)
    start: tuple = (0, 0, 0)
    step: tuple = (1, 1, 1)

    @classmethod
    def of(cls, value):
        return cls(value, value.shape)

    def part(self, start, shape, step=(1, 1, 1)):
        """A part of it, by its own axes."""
        moved = list(self.start)
        for axis, first, each in zip(self.axes, start, self.step, strict=True):
            moved[axis] += first * each
        return Ref(
            self.value,
            tuple(shape),
            self.axes,
            tuple(moved),
            tuple(a * b for a, b in zip(self.step, step, strict=True)),
        )

    def ordered(self, order):
        """Its axes in another order."""
        return Ref(
            self.value,
            tuple(self.shape[a] for a in order),
            tuple(self.axes[a] for a in order),
            self.start,
            tuple(self.step[a] for a in order),
        )

    def index(self):
        """Slices of the value's array, which has an axis of the inputs in front."""
        found = [slice(None)] * 4
        for axis, length, step in zip(self.axes, self.shape, self.step, strict=True):
            found[axis + 1] = slice(
                self.start[axis], self.start[axis] + step * (length - 1) + 1, step
            )
        return tuple(found)

    def read(self, array):
        """It, out of the value's array."""
        return array[self.index()].transpose(0, *(axis + 1 for axis in self.axes))

    def write(self, array, result):
        back = np.argsort(self.axes)
        array[self.index()] = result.transpose(0, *(axis + 1 for axis in back))


@dataclass(eq=False, kw_only=True)
class Operation:
    """One use of a kernel. ``node``: name of the graph's node; ``joined``: of those whose work it
    does, too; ``out``: Ref that it writes."""

    node: str
    out: Ref
    joined: tuple = ()

    @property
    def nodes(self):
        """Names of all its nodes, its own last."""
        return (*self.joined, self.node)

    def refs(self):
        """What it reads, as Refs."""
        return []


def _parts_refs(parts):
    return [part[1] for part in parts if not isinstance(part, str)]


@dataclass(eq=False, kw_only=True)
class Chain(Operation):
    """``parts`` on every element: text is an instruction, pairs (register, Ref) are loads."""

    parts: list

    def refs(self):
        return _parts_refs(self.parts)


@dataclass(eq=False, kw_only=True)
class Product(Operation):
    """Convolution by constant weights.

    Attributes
    ----------
    source : Ref
    weights : float64 elements: [rows, columns, in, out], of ``each`` [rows, columns, channels]
    start : Ref that the sums begin with: a bias, or another value of the result's shape
    parts : as a chain's, the first of which reads ACC
    each : every channel by itself
    padding : (top, left)
    """

    source: Ref
    weights: np.ndarray
    start: Ref
    parts: list
    each: bool = False
    stride: tuple = (1, 1)
    dilation: tuple = (1, 1)
    padding: tuple = (0, 0)

    def refs(self):
        return [self.source, self.start, *_parts_refs(self.parts)]

    @property
    def runs(self):
        """Whether a row of the window is summed as one run: channels of narrow values that lie
        tightly."""
        return self.source.value.tight and not self.each


@dataclass(eq=False, kw_only=True)
class PairProduct(Operation):
    """``left`` @ ``right``, the last two axes; the first one counts products."""

    left: Ref
    right: Ref
    start: Ref
    parts: list

    def refs(self):
        return [self.left, self.right, self.start, *_parts_refs(self.parts)]


@dataclass(eq=False, kw_only=True)
class Window(Operation):
    """Maximum or sum (``function`` max, sum) of windows: axis i of the result moves ``step[i]``
    along axis ``axes[i]`` of ``source``; the window is ``outer`` and ``inner``: (axis, length,
    distance). ``start``: Ref of one element, -inf or 0. ``padding`` by the source's axes."""

    function: str
    source: Value
    axes: tuple
    step: tuple
    outer: tuple
    inner: tuple
    start: Ref
    parts: list
    padding: tuple = (0, 0, 0)

    def refs(self):
        return [Ref.of(self.source), self.start, *_parts_refs(self.parts)]


@dataclass(eq=False, kw_only=True)
class Regroup(Operation):
    """The same elements in C order under another shape."""

    source: Ref

    def refs(self):
        return [self.source]


@dataclass(eq=False)
class Machine:
    """A network for the machine.

    Attributes
    ----------
    inputs, outputs : dict, tensor name -> Value
    values : dict, tensor name -> (Value, shape in the graph)
    operations : list
    """

    inputs: dict = field(default_factory=dict)
    outputs: dict = field(default_factory=dict)
    values: dict = field(default_factory=dict)
    operations: list = field(default_factory=list)
