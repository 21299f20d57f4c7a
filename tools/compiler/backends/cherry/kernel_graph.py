# SPDX-License-Identifier: BSD-2-Clause
"""Kernel-level representation of a network: values with three axes, references to parts of them,
and a few kinds of operation; and fusion of elementwise chains with the operation whose result they
read, before it is stored.

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
    "fuse",
    "made_closely",
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
    passing : its weights are one of many ranges of a window's, and do not stay for later boxes
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
    passing: bool = False

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
    distance). ``start``: Ref of one element, -inf or 0, or of what other windows gave.
    ``padding`` by the source's axes."""

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
    outputs : dict, tensor name -> Ref; ``None`` until :func:`fuse` fills it
    values : dict, tensor name -> Ref
    operations : list
    outside : values that lie in main memory; boxes of them are brought to the scratchpad
    """

    inputs: dict[str, Value] = field(default_factory=dict)
    outputs: dict[str, Ref | None] = field(default_factory=dict)
    values: dict[str, Ref] = field(default_factory=dict)
    operations: list[Operation] = field(default_factory=list)
    outside: set[Value] = field(default_factory=set)


#: Cycles of copying a tile.
_COPY = 3.5


def fuse(kernel_graph: KernelGraph, keep: bool) -> KernelGraph:
    """Fuses elementwise operations into their producers; with ``keep``, every tensor of the graph
    is preserved."""
    outputs = {kernel_graph.values[name].value for name in kernel_graph.outputs}
    kept = {ref.value for ref in kernel_graph.values.values()} if keep else outputs
    for name in kernel_graph.outputs:
        kernel_graph.outputs[name] = kernel_graph.values[name]
    readers: dict[Value, list[Operation]] = {}
    writers: dict[Value, list[Operation]] = {}
    for operation in kernel_graph.operations:
        for ref in operation.refs():
            readers.setdefault(ref.value, []).append(operation)
        writers.setdefault(operation.out.value, []).append(operation)
    done: list[Operation] = []
    for operation in kernel_graph.operations:
        before = done[-1] if done else None
        if isinstance(operation, Chain):
            # The producer of the chain's operand may stand some places ahead.
            for ref in operation.refs():
                made = writers.get(ref.value, [])
                if (
                    len(made) != 1
                    or made[0] not in done
                    or ref.value in kept
                    or set(map(id, readers[ref.value])) != {id(operation)}
                ):
                    continue
                if _fused(made[0], operation, done):
                    before = made[0]
                    break
            else:
                done.append(operation)
                continue
            done.remove(before)
            done.append(before)
            writers[operation.out.value] = [
                before if w is operation else w for w in writers[operation.out.value]
            ]
            for ref in operation.refs():
                if ref.value in readers:
                    readers[ref.value] = [
                        before if r is operation else r for r in readers[ref.value]
                    ]
            continue
        done.append(operation)
    kernel_graph.operations = done
    return kernel_graph


def _fused(first, chain, done):
    """Appends ``chain`` to the operation ``first``, if the chain can read the result from a
    register everywhere."""
    if (
        not isinstance(first, (Product, PairProduct, Window, Chain))
        or first.out.shape != chain.out.shape
    ):
        return False
    made = first.out
    if made.shape != made.value.shape or made.axes != (0, 1, 2):
        return False
    if isinstance(first, (Product, PairProduct)) and chain.out.shape != first.out.shape:
        return False
    # What stands between the two must not write what the chain reads later than it would now, nor
    # read what it writes: the chain runs where it stood, so only the first operation moves, and
    # what it reads must not be written in between.
    later = done[done.index(first) + 1 :]
    written = {operation.out.value for operation in later}
    if any(ref.value in written for ref in first.refs()) or any(
        ref.value is first.out.value for operation in later for ref in operation.refs()
    ):
        return False
    held = "OUTPUT" if first.parts or isinstance(first, Chain) else "ACC"
    parts, touched = [], False
    for part in chain.parts:
        if isinstance(part, str):
            touched |= _writes(part) == held
            parts.append(part)
            continue
        register, ref = part
        if ref.value is not made.value:
            touched |= register == held
            parts.append(part)
            continue
        if touched or not _same(ref, made):
            return False
        if register != held:
            parts.append(f"copy {register}, {held}")
    first.parts = [*first.parts, *parts]
    first.out = chain.out
    first.fused = tuple(
        name for name in dict.fromkeys((*first.nodes, *chain.fused)) if name != chain.node
    )
    first.node = chain.node
    return True


def _same(ref: Ref, other: Ref):
    return (ref.value, ref.shape, ref.axes, ref.start, ref.step) == (
        other.value,
        other.shape,
        other.axes,
        other.start,
        other.step,
    )


def _writes(text):
    """Name of the register that an instruction writes."""
    name, *operands = text.replace(",", " ").split()
    return operands[0] if name in ("copy", "zero") else "ACC" if name == "mulacc" else "OUTPUT"


# Packing of results that need a border: a 1x1 convolution writes them without one, and they are
# copied, if the tiles saved are worth the copy.


def made_closely(kernel_graph: KernelGraph, macs: int) -> KernelGraph:
    """Splits a convolution with a border into a borderless one and a copy, where that is faster;
    ``macs``: multipliers of the build."""
    operations = []
    for operation in kernel_graph.operations:
        operations.append(operation)
        if not _gains(operation, macs):
            continue
        out = operation.out
        operation.out = Ref.of(Value(out.shape))
        operations.append(
            Chain(
                node=operation.node,
                fused=operation.fused,
                out=out,
                parts=[("OUTPUT", operation.out)],
            )
        )
    kernel_graph.operations = operations
    return kernel_graph


def _gains(operation, macs):
    if (
        not isinstance(operation, Product)
        or operation.each
        or operation.weights.shape[:2] != (1, 1)
        or operation.stride != (1, 1)
    ):
        return False
    out, source = operation.out, operation.source
    if (
        not any(out.value.border)
        or any(source.value.border)
        or source.value.tight
        or out.shape != out.value.shape
        or source.shape != source.value.shape
    ):
        return False
    rows, columns, channels = out.shape
    apart = min(rows * -(-columns // 4), columns * -(-rows // 4))
    closely = -(-rows * columns // 4)
    blocks, steps = -(-channels // 4), -(-operation.weights.shape[2] // 4)
    return (apart - closely) * blocks * steps * 64 / macs > apart * blocks * _COPY
