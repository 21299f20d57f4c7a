# SPDX-License-Identifier: BSD-2-Clause
"""Kernel-level representation of a network: values with three axes, references to parts of them,
and a few kinds of operation.

A shape of the graph is seen as (rows, columns, channels): shapes with fewer axes get ones in front.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

__all__ = [
    "Box",
    "Chain",
    "KernelGraph",
    "Operation",
    "PairProduct",
    "Product",
    "Ref",
    "Regroup",
    "Value",
    "Window",
    "three",
]


def three(shape: Sequence[int]) -> tuple[int, ...]:
    """Extends a shape of at most three axes to three, with ones in front."""
    return (*(1,) * (3 - len(shape)), *shape)


@dataclass(frozen=True, eq=False)
class Box:
    """Box of an array in main memory, from element ``start`` on, of which a scratchpad value is a
    copy. The copy is loaded before its first use (``comes``), stored when it is complete
    (``leaves``), or both."""

    value: Value
    start: tuple[int, ...]
    comes: bool = False
    leaves: bool = False


@dataclass(eq=False)
class Value:
    """A tensor: an activation, or a constant (``data``: float64 elements).

    Attributes
    ----------
    name : tensor of the graph that it represents, or ``None``
    tight : columns follow each other without gaps, so that a window's row of channels is one run
    border : [top, left, bottom, right] elements around it that readers want to be ``around``
    box : the box of an array in main memory that it copies, ``None`` if it is a value of its own
    """

    shape: tuple[int, ...]
    name: str | None = None
    data: np.ndarray | None = None
    tight: bool = False
    border: list[int] = field(default_factory=lambda: [0, 0, 0, 0])
    around: float = 0.0
    box: Box | None = None

    @property
    def size(self) -> int:
        """Number of elements."""
        return int(np.prod(self.shape, dtype=np.int64))


@dataclass(frozen=True, eq=False)
class Ref:
    """A strided view of a value: its axis i follows the value's axis ``axes[i]``, with every
    ``step[i]``-th element from ``start`` (counted along the value's axes)."""

    value: Value
    shape: tuple[int, ...]
    axes: tuple[int, ...] = (0, 1, 2)
    start: tuple[int, ...] = (0, 0, 0)
    step: tuple[int, ...] = (1, 1, 1)

    @classmethod
    def of(cls, value: Value) -> Ref:
        """The Ref of a whole value."""
        return cls(value, value.shape)

    def part(
        self,
        start: tuple[int, ...],
        shape: tuple[int, ...],
        step: tuple[int, ...] = (1, 1, 1),
    ) -> Ref:
        """A subview of the view, with ranges along its own axes."""
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

    def ordered(self, order: tuple[int, ...]) -> Ref:
        """The view with its axes permuted."""
        return Ref(
            self.value,
            tuple(self.shape[a] for a in order),
            tuple(self.axes[a] for a in order),
            self.start,
            tuple(self.step[a] for a in order),
        )

    def index(self) -> tuple[slice, ...]:
        """Slices of the value's array, whose first axis counts inputs."""
        found = [slice(None)] * 4
        for axis, length, step in zip(self.axes, self.shape, self.step, strict=True):
            found[axis + 1] = slice(
                self.start[axis], self.start[axis] + step * (length - 1) + 1, step
            )
        return tuple(found)

    def read(self, array: np.ndarray) -> np.ndarray:
        """Extracts the view from the value's array."""
        return array[self.index()].transpose(0, *(axis + 1 for axis in self.axes))

    def write(self, array: np.ndarray, result: np.ndarray) -> None:
        """Stores ``result`` in the value's array."""
        back = np.argsort(self.axes)
        array[self.index()] = result.transpose(0, *(axis + 1 for axis in back))


@dataclass(eq=False, kw_only=True)
class Operation:
    """Base class of kernel calls. ``node``: name of the graph's node; ``fused``: names of the nodes
    fused into it; ``out``: Ref to its result."""

    node: str
    out: Ref
    fused: tuple[str, ...] = ()

    @property
    def nodes(self) -> tuple[str, ...]:
        """Names of all nodes that the operation computes, its own last."""
        return (*self.fused, self.node)

    def refs(self) -> list[Ref]:
        """References that the operation reads."""
        return []


def _parts_refs(parts):
    return [part[1] for part in parts if not isinstance(part, str)]


@dataclass(eq=False, kw_only=True)
class Chain(Operation):
    """An elementwise instruction chain: in ``parts`` a string is an instruction and a pair
    (register, Ref) a load."""

    parts: list[str | tuple[str, Ref]]

    def refs(self) -> list[Ref]:
        """References that the operation reads."""
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
    results : pixels of the convolution that it is a box of; ``None`` if it is whole
    """

    source: Ref
    weights: np.ndarray
    start: Ref
    parts: list[str | tuple[str, Ref]]
    each: bool = False
    stride: tuple[int, int] = (1, 1)
    dilation: tuple[int, int] = (1, 1)
    padding: tuple[int, int] = (0, 0)
    results: int | None = None

    def refs(self) -> list[Ref]:
        """References that the operation reads."""
        return [self.source, self.start, *_parts_refs(self.parts)]

    @property
    def runs(self) -> bool:
        """Whether each row of the window is summed as one contiguous run, as for narrow values
        stored without gaps."""
        return self.source.value.tight and not self.each


@dataclass(eq=False, kw_only=True)
class PairProduct(Operation):
    """Batched matrix product ``left`` @ ``right`` over the last two axes."""

    left: Ref
    right: Ref
    start: Ref
    parts: list[str | tuple[str, Ref]]

    def refs(self) -> list[Ref]:
        """References that the operation reads."""
        return [self.left, self.right, self.start, *_parts_refs(self.parts)]


@dataclass(eq=False, kw_only=True)
class Window(Operation):
    """Maximum or sum (``function`` max, sum) over windows: axis i of the result moves ``step[i]``
    along axis ``axes[i]`` of ``source``; the window is ``outer`` and ``inner``: (axis, length,
    distance). ``start``: Ref of one element, -inf or 0. ``padding`` by the source's axes."""

    function: str
    source: Value
    axes: tuple[int, ...]
    step: tuple[int, ...]
    outer: tuple[int, ...]
    inner: tuple[int, ...]
    start: Ref
    parts: list[str | tuple[str, Ref]]
    padding: tuple[int, ...] = (0, 0, 0)

    def refs(self) -> list[Ref]:
        """References that the operation reads."""
        return [Ref.of(self.source), self.start, *_parts_refs(self.parts)]


@dataclass(eq=False, kw_only=True)
class Regroup(Operation):
    """Reshape: the same elements in C order under another shape."""

    source: Ref

    def refs(self) -> list[Ref]:
        """References that the operation reads."""
        return [self.source]


@dataclass(eq=False)
class KernelGraph:
    """A network as a list of kernel operations on values.

    Attributes
    ----------
    inputs : dict, tensor name -> Value
    outputs : dict, tensor name -> Ref; ``None`` until :func:`~.fuse.fuse` fills it
    values : dict, tensor name -> Ref
    operations : list
    outside : values that lie in main memory; boxes of them are brought to the scratchpad
    """

    inputs: dict[str, Value] = field(default_factory=dict)
    outputs: dict[str, Ref | None] = field(default_factory=dict)
    values: dict[str, Ref] = field(default_factory=dict)
    operations: list[Operation] = field(default_factory=list)
    outside: set[Value] = field(default_factory=set)
