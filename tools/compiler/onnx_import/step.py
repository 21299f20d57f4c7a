# SPDX-License-Identifier: BSD-2-Clause
"""One node of the model during translation, its operands, and the table of translators by operator.

An operand is a constant or a view: a graph's tensor together with its axes in the model. A model's
NCHW tensor is a graph's NHWC tensor seen through an order of axes; Transpose, Flatten, Reshape,
Squeeze and Unsqueeze mostly change what is seen and not the tensor. So maps stay rows, columns,
channels, and Transposes around convolutions vanish.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import Refused

if TYPE_CHECKING:
    from .. import graph
    from .draft import Draft
    from .reading import Node

__all__ = [
    "Constant",
    "Grid",
    "HIDDEN",
    "OPERATORS",
    "Step",
    "View",
    "factored",
    "operator",
    "refined",
]


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


#: Value in place of minus infinity before a Softmax: exp of it is zero beside all scores.
HIDDEN = -1e4
#: Translates one node of the model: the value of its first output, or a list with one per output.
Translator = Callable[["Step"], "View | Constant | list[View | Constant]"]

#: Operator -> function of a :class:`Step` that gives the value of its first output, or a list with
#: one for each.
OPERATORS: dict[str, Translator] = {}


def operator(*names: str) -> Callable[[Translator], Translator]:
    """Decorator that registers a function as the translator of the operators ``names``."""

    def enter(function):
        OPERATORS.update(dict.fromkeys(names, function))
        return function

    return enter


class Step:
    """A node of the model during translation, its operands as views and constants.

    Attributes
    ----------
    draft : Draft, which the graph's nodes are added to
    operator : str
    opset : int
    operands : list of View, Constant or (left out) ``None``
    outputs : list of names, empty where one is left out
    attributes : name -> number, string, list of those, or array
    used : set of the names that other nodes or the network's outputs read

    Parameters
    ----------
    readers : tensor name -> operators of the nodes that read it, "end" for an output
    """

    def __init__(
        self,
        draft: Draft,
        node: Node,
        opset: int,
        operands: Sequence[View | Constant | None],
        used: Collection[str],
        readers: Mapping[str, Collection[str]] | None = None,
    ):
        self.draft, self.operator, self.opset, self.operands, self.used = (
            draft,
            node.operator,
            opset,
            operands,
            used,
        )
        self.outputs, self.attributes = node.outputs, node.attributes
        self._readers = readers or {}

    def attribute(self, name: str, default: Any = None) -> Any:
        """An attribute of the node, ``default`` if it is missing."""
        return self.attributes.get(name, default)

    def operand(self, index: int) -> View | Constant | None:
        """Operand by index, ``None`` if it is omitted."""
        return self.operands[index] if index < len(self.operands) else None

    def view(self, index: int = 0, what: str = "its input") -> View:
        """Operand that must be a tensor of the graph, integer or real. Raises :class:`Refused`."""
        found = self.operand(index)
        if not isinstance(found, View):
            raise Refused(
                f"{what} is a constant: expected a tensor that depends on the network's inputs"
            )
        return found

    def flowing(self, index: int = 0, what: str = "its input") -> View:
        """Operand that must be a tensor of real numbers. Raises :class:`Refused`."""
        found = self.view(index, what)
        if found.grid is not None:
            raise Refused(
                f"{what} holds quantised numbers: expected a DequantizeLinear in front of it"
            )
        if found.integer:
            raise Refused(f"{what} holds whole numbers: expected a Cast to float in front of it")
        return found

    def fixed(self, index: int, what: str, default: Constant | None = None) -> Constant | None:
        """Operand that must be a :class:`Constant` of real numbers, ``default`` if it is omitted.
        Raises :class:`Refused`."""
        found = self.operand(index)
        if found is None:
            return default
        if not isinstance(found, Constant):
            raise Refused(f"{what} depends on the network's inputs: expected a constant")
        if found.whole:
            raise Refused(
                f"{what} holds quantised numbers: expected a DequantizeLinear in front of it"
            )
        return found

    def numbers(self, index: int, what: str, default: list[int] | None = None) -> list[int] | None:
        """Operand that must be a constant list of integers (axes, lengths, borders), ``default`` if
        it is omitted. Raises :class:`Refused`."""
        found = self.operand(index)
        if found is None:
            return default
        if not isinstance(found, Constant):
            raise Refused(f"{what} depends on the network's inputs: expected a constant")
        if found.data.ndim > 1 or found.data.dtype.kind not in "iu":
            raise Refused(
                f"{what} is an array of {found.data.dtype} with {found.data.ndim} axes: expected a "
                f"list of whole numbers"
            )
        return [int(number) for number in found.data.ravel()]

    def number(self, index: int, what: str, default: float | None = None) -> float | None:
        """Operand that must be a single constant number, ``default`` if it is omitted. Raises
        :class:`Refused`."""
        found = self.fixed(index, what)
        if found is None:
            return default
        if found.data.size != 1:
            raise Refused(f"{what} has {found.data.size} elements: expected one number")
        return float(found.data.reshape(()))

    def axes(
        self, count: int, default: list[int] | None = None, index: int = 1
    ) -> list[int] | None:
        """Axes from the attribute ``axes`` or from operand ``index``, for a tensor with ``count``
        axes, as non-negative numbers."""
        given = (
            self.attribute("axes")
            if self.attribute("axes") is not None
            else self.numbers(index, "axes")
        )
        return default if given is None else self.counted("axes", given, count)

    def counted(self, what: str, axes: Iterable[int], count: int) -> list[int]:
        """Converts ``axes`` to non-negative numbers, each at most once. Raises :class:`Refused`."""
        axes = list(axes)
        if any(not -count <= axis < count for axis in axes) or len(
            {axis % max(count, 1) for axis in axes}
        ) != len(axes):
            raise Refused(f"{what} {axes} of a tensor of {count} axes")
        return [axis % count for axis in axes]

    def wants(self, name: str, taken: Sequence[object], default: object) -> Any:
        """Raises :class:`Refused` if an attribute differs from ``taken``, the only supported
        value."""
        value = self.attribute(name, default)
        if value not in taken:
            raise Refused(f"{name} = {value!r}: expected {' or '.join(map(repr, taken))}")
        return value

    def only_output(self, *names: str) -> None:
        """Raises :class:`Refused` if an output beyond the first is used; ``names`` are those of the
        further outputs."""
        for output, name in zip(self.outputs[1:], names, strict=False):
            if output and output in self.used:
                raise Refused(f"its output {name} is used: expected the first output alone")

    def rewritten(
        self, operator: str, operands: Sequence[View | Constant | None], **attributes: Any
    ) -> Step:
        """Returns the node as another operator with other operands; ``attributes`` are added to its
        own."""
        other = copy(self)
        other.operator, other.operands = operator, list(operands)
        other.attributes = {**self.attributes, **attributes}
        return other

    def read_by(self, index: int) -> set[str]:
        """Operators of the nodes that read an output; "end" stands for an output of the network."""
        name = self.outputs[index] if index < len(self.outputs) else ""
        return set(self._readers.get(name, ())) if name else set()

    def softened(self, constant: Constant) -> Constant:
        """Replaces extremely negative values of a constant by :data:`HIDDEN` if only Softmax
        nodes read the node's result, for which both are equivalent; else returns the constant
        unchanged."""
        readers = self._readers.get(self.output)
        if not readers or any(kind not in ("Softmax", "end") for kind in readers):
            return constant
        if "end" in readers or constant.data.dtype.kind != "f":
            return constant
        return Constant(np.where(constant.data < 1e3 * HIDDEN, HIDDEN, constant.data))

    @property
    def output(self) -> str:
        """Name of the first output."""
        return self.outputs[0]

    def unary(self, kind: type[graph.Node], **attributes: Any) -> View:
        """Adds an elementwise node on the first operand and returns the view of its result."""
        return self.draft.same(kind, self.flowing(), self.output, **attributes)

    @staticmethod
    def finite(what: str, data: np.ndarray) -> np.ndarray:
        """Converts ``data`` to float64. Raises :class:`Refused` if a value is not finite."""
        data = np.asarray(data, np.float64)
        if not np.isfinite(data).all():
            raise Refused(f"{what} holds NaN or infinity: expected finite numbers")
        return data
