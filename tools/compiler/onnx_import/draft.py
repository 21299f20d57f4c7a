# SPDX-License-Identifier: BSD-2-Clause
"""Graph builder of the importer: adds nodes with the model's names and converts tensors to the axis
order that a node needs; chooses the order of an input."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from ..graph import Activation, Graph, Node, Port, Reshape, Tensor, Transpose
from ..ranges import bounds, never_negative
from .errors import Refused
from .step import Constant, Grid, View, factored, refined

if TYPE_CHECKING:
    from .reading import Model, Value
    from .reading import Node as ModelNode

__all__ = ["Draft", "MOST_AXES", "MOST_ELEMENTS", "wanted_order"]


#: Elements that a tensor may have, computed constants all together: as many as the largest board's
#: memory holds.
MOST_ELEMENTS = 2**26
MOST_AXES = 8


def _merged(shape, groups):
    """Merges neighbouring axes of a tensor that are also neighbours in one of the groups."""
    follows = {a for group in groups for a, b in zip(group, group[1:], strict=False) if b == a + 1}
    place, lengths = {}, []
    for axis, length in enumerate(shape):
        if axis - 1 in follows:
            lengths[-1] *= length
        else:
            lengths.append(length)
        place[axis] = len(lengths) - 1
    return lengths, [list(dict.fromkeys(place[axis] for axis in group)) for group in groups]


class Draft:
    """The graph under construction.

    Attributes
    ----------
    graph : Graph
    node : the model's node that is being translated;
        names and origins of the graph's nodes come from it

    Parameters
    ----------
    reserved : names of the model's own tensors, which no other gets
    """

    def __init__(self, name: str, reserved: Iterable[str] = ()):
        self.graph = Graph(name)
        self.node: ModelNode | None = None
        self._reserved = frozenset(reserved)
        self._names: set[str] = set()
        self._arranged: dict[tuple[str, tuple[int, ...], tuple[int, ...]], str] = {}
        self._integers: dict[str, Grid | None] = {}
        self._makers: dict[str, Node] = {}

    def _unique(self, wanted, names, reserved=()):
        name, number = wanted, 1
        while name in names or name in reserved:
            name, number = f"{wanted}_{number}", number + 1
        return name

    def add(
        self,
        kind: type[Node],
        *tensors: str,
        output: str | None = None,
        part: str = "",
        **attributes: Any,
    ) -> str:
        """Adds a node of class ``kind`` on ``tensors`` and returns the name of its output.

        Parameters
        ----------
        output : the tensor's name, if it is the model's own; else one is derived from the node's
        part : role of the node, if one of the model's becomes several
        """
        assert self.node is not None
        name = self._unique(f"{self.node.name}_{part}" if part else self.node.name, self._names)
        output = self._unique(
            output or f"{name}:0", self.graph.tensors, () if output else self._reserved
        )
        node = kind(
            name=name, inputs=list(tensors), output=output, origin=self.node.operator, **attributes
        )
        try:
            shape = node.shape_of(*(self.graph.shape(tensor) for tensor in tensors))
        except ValueError as error:
            raise Refused(f"shapes do not fit: {error}") from None
        if prod(shape) > MOST_ELEMENTS:
            raise Refused(
                f"its result has {prod(shape):,} elements: expected at most {MOST_ELEMENTS:,}"
            )
        self._names.add(name)
        self.graph.nodes.append(node)
        self._makers[output] = node
        self.graph.tensors[output] = Tensor(output, shape)
        return output

    def constant(self, data: np.ndarray, part: str = "constant") -> str:
        """Adds a constant tensor and returns its name."""
        assert self.node is not None
        name = self._unique(f"{self.node.name}_{part}", self.graph.tensors, self._reserved)
        data = np.asarray(data, np.float64)
        self.graph.tensors[name] = Tensor(name, data.shape, data)
        return name

    def view(self, tensor: str, axes: Sequence[tuple[int, ...]], **flags: Any) -> View:
        """The :class:`View` of one of the graph's tensors."""
        return View(
            tensor, self.graph.shape(tensor), tuple(tuple(group) for group in axes), **flags
        )

    def same(
        self, kind: type[Node], view: View, output: str | None, part: str = "", **attributes: Any
    ) -> View:
        """Adds an elementwise node, whose result has the axes of its source."""
        return self.view(
            self.add(kind, view.tensor, output=output, part=part, **attributes), view.axes
        )

    # Orders of axes

    def ordered(self, view: View, shape: Sequence[int]) -> str:
        """Name of a tensor of ``shape`` that holds the elements of ``view`` in the model's
        order."""
        return self._moved(view, view.flat, tuple(shape))

    def _moved(self, view, order, shape):
        """Permutes the tensor's axes longer than one into ``order``, then reshapes it to
        ``shape``."""
        key = (view.tensor, order, shape)
        if key not in self._arranged:
            tensor = view.tensor
            if list(order) != sorted(order):
                missing = [axis for axis in range(len(view.shape)) if axis not in order]
                tensor = self.add(Transpose, tensor, part="transpose", order=(*missing, *order))
            if self.graph.shape(tensor) != shape:
                tensor = self.add(Reshape, tensor, part="reshape", shape=shape)
            self._arranged[key] = tensor
        return self._arranged[key]

    def arranged(self, view: View, groups: Sequence[tuple[int, ...]]) -> str:
        """Name of a tensor with one axis for each of ``groups``, tuples of the model's axes; axes
        outside of all groups must have length one."""
        flat = tuple(axis for group in groups for at in group for axis in view.long(view.axes[at]))
        return self._moved(
            view, flat, tuple(prod(view.lengths[at] for at in group) for group in groups)
        )

    def plain(self, view: View, keep: bool = False) -> View:
        """View of a tensor that has the model's axes, without the first if that has length one (the
        batch axis), unless ``keep``."""
        lengths = view.lengths
        first = 1 if len(lengths) > 1 and lengths[0] == 1 and not keep else 0
        tensor = self.ordered(view, lengths[first:])
        return self.view(
            tensor,
            [()] * first + [(axis,) for axis in range(len(lengths) - first)],
            grid=view.grid,
            integer=view.integer,
        )

    def seen(self, view: View, lengths: Sequence[int]) -> View:
        """View with axes of ``lengths``: of the same tensor if possible, else of a reshaped one."""
        if prod(lengths) != prod(view.lengths):
            raise Refused(
                f"{view.lengths} has {prod(view.lengths)} elements, {tuple(lengths)} has "
                f"{prod(lengths)}"
            )
        if len(lengths) > MOST_AXES:
            raise Refused(f"its result has {len(lengths)} axes: expected at most {MOST_AXES}")
        found = view.reshaped(lengths) or self._split(view, lengths)
        if found is not None:
            return found
        first = 1 if len(lengths) > 1 and lengths[0] == 1 else 0
        tensor = self.ordered(view, tuple(lengths[first:]))
        return self.view(
            tensor,
            [()] * first + [(axis,) for axis in range(len(lengths) - first)],
            grid=view.grid,
            integer=view.integer,
        )

    def _split(self, view: View, lengths: Sequence[int]) -> View | None:
        """View with axes of ``lengths``, after splitting or merging axes in place, if that saves a
        Transpose and leaves no more axes than a map or a channel shuffle has."""
        if list(view.flat) == sorted(view.flat):
            return None
        parts = refined([view.shape[axis] for axis in view.flat], lengths)
        if parts is None:
            return None
        places = dict(zip(view.flat, parts, strict=True))
        shape: list[int] = []
        groups: list[list[int]] = [[] for _ in lengths]
        begin: dict[int, int] = {}
        for axis in sorted(view.flat):
            begin[axis] = len(shape)
            shape += [length for length, _ in places[axis]]
        for axis in view.flat:
            for at, (_, group) in enumerate(places[axis]):
                groups[group].append(begin[axis] + at)
        shape, groups = _merged(shape, groups)
        if len(shape) > (4 if len(lengths) == 5 else 3):
            return None
        tensor = self._moved(view, tuple(sorted(view.flat)), tuple(shape))
        return self.view(tensor, [tuple(g) for g in groups], grid=view.grid, integer=view.integer)

    def single_axes(self, view: View, axes: Sequence[int]) -> View:
        """View of a tensor that has one axis for each of the model's ``axes``."""
        groups = list(view.axes)
        for at in axes:
            own = view.single(at)
            if own is None:
                return self._merged_axes(view, axes) or self.plain(view, keep=0 in axes)
            groups[at] = (own,)
        return replace(view, axes=tuple(groups))

    def _merged_axes(self, view: View, axes: Sequence[int]) -> View | None:
        """View of a tensor with one axis for each of the model's axes longer than one, in the
        tensor's present order; ``None`` if the model's own order is no worse."""
        if list(view.flat) == sorted(view.flat) or any(view.lengths[at] == 1 for at in axes):
            return None
        long = [at for at, length in enumerate(view.lengths) if length > 1]
        long.sort(key=lambda at: min(view.long(view.axes[at])))
        tensor = self.arranged(view, [(at,) for at in long])
        places = {at: (own,) for own, at in enumerate(long)}
        return self.view(
            tensor,
            [places.get(at, ()) for at in range(len(view.axes))],
            grid=view.grid,
            integer=view.integer,
        )

    def conform(self, operand: View | Constant, target: View) -> str:
        """Name of a tensor that broadcasts to the tensor of ``target`` as ``operand`` broadcasts to
        it in the model."""
        operand_lengths = (1,) * (len(target.axes) - len(operand.lengths)) + tuple(operand.lengths)
        shape, order = factored(target, operand_lengths)
        if isinstance(operand, Constant):
            data = operand.data.reshape(shape).transpose(order)
            while data.ndim and data.shape[0] == 1:
                data = data[0]
            return self.constant(data)
        aligned = operand.aligned(len(target.axes))
        wanted = tuple(shape[at] for at in order)
        if aligned.shape == wanted and all(
            aligned.long(mine) == tuple(axis for axis in theirs if aligned.shape[axis] > 1)
            for mine, theirs in zip(aligned.axes, target.axes, strict=True)
        ):
            return operand.tensor
        cut = self.ordered(operand, shape)
        return self.arranged(
            self.view(cut, [(axis,) for axis in range(len(shape))]), [(at,) for at in order]
        )

    # Ports

    def input(
        self, value: Value, lengths: Sequence[int], batched: bool, order: Sequence[int]
    ) -> View:
        """Adds an input of the network; the axes of its tensor are the user's (without the batch
        axis), permuted by ``order``."""
        user = lengths[1:] if batched else lengths
        shape = tuple(user[axis] for axis in order)
        if len(lengths) > MOST_AXES:
            raise Refused(f"{len(lengths)} axes: expected at most {MOST_AXES}")
        if prod(shape) > MOST_ELEMENTS:
            raise Refused(f"{prod(shape):,} elements: expected at most {MOST_ELEMENTS:,}")
        self.graph.tensors[value.name] = Tensor(value.name, shape)
        self.graph.inputs.append(Port(value.name, value.name, tuple(order), tuple(user), batched))
        seen: list[tuple[int, ...]] = [(order.index(axis),) for axis in range(len(order))]
        return self.view(value.name, [()] * batched + seen, integer=value.dtype.kind in "iu")

    def set_grid(self, tensor: str, grid: Grid) -> None:
        """Records the quantisation grid of a tensor; the first grid in the model takes
        precedence."""
        found = self.graph.tensors[tensor]
        if found.scale is None:
            found.scale = grid.scale
            found.zero_point = grid.zero_point
            found.bits = grid.bits
            found.signed = grid.signed

    def cut(
        self, view: View, output: str | None, part: str, low: float, high: float, scale: float
    ) -> View:
        """Clips a tensor where its grid of steps of ``scale`` ends, unless it is an input of the
        network or ends there by itself; ``output`` and ``part`` as in :meth:`same`."""
        least, greatest = bounds(self._makers.get, view.tensor)
        half = scale / 2
        if not self.is_made(view) or low - half <= least and greatest <= high + half:
            return view
        return self.same(Activation, view, output, part, function="clip", low=low, high=high)

    def may_be_negative(self, view: View) -> bool:
        """Whether a tensor may have negative values."""
        return view.tensor in self._makers and not never_negative(self._makers.get, view.tensor)

    def is_made(self, view: View) -> bool:
        """Whether a node computes the tensor; if not, it is an input of the network."""
        return view.tensor in self._makers

    def integer_input(self, tensor: str, grid: Grid | None = None) -> None:
        """Records the meaning of an input's integers: real numbers on ``grid``, or plain integers
        (``None``)."""
        at = next((at for at, port in enumerate(self.graph.inputs) if port.tensor == tensor), None)
        if at is None:
            raise Refused(
                "its input is made of whole numbers inside the network: expected an integer input "
                "of the network"
            )
        if self._integers.setdefault(tensor, grid) != grid:
            raise Refused(
                "the same input is taken in two ways: expected one scale and zero point for all "
                "nodes that read it"
            )
        if grid is not None:
            self.graph.inputs[at] = replace(self.graph.inputs[at], **vars(grid))
            self.set_grid(tensor, grid)

    def stand_in(self, name: str, lengths: Sequence[int]) -> View:
        """Adds a placeholder for the result of a refused node, so that the import can continue and
        report further nodes; the graph is then discarded."""
        name = self._unique(name, self.graph.tensors)
        self.graph.tensors[name] = Tensor(name, tuple(lengths))
        return self.view(name, [(axis,) for axis in range(len(lengths))])

    def output(self, name: str, view: View, batched: bool) -> None:
        """Marks ``view`` as an output of the network."""
        user = view.lengths[1:] if batched else view.lengths
        groups = view.axes[1:] if batched else view.axes
        spare = [axis for axis in range(len(view.shape)) if view.shape[axis] == 1]
        order = {}
        for axis, group in enumerate(groups):
            long = view.long(group)
            if len(long) == 1:
                order[long[0]] = axis
            elif not long and spare:
                order[spare.pop()] = axis
        if not user and view.shape:  # a number an input, whatever axes of one element it has
            tensor = view.tensor
        elif len(order) != len(view.shape) or len(order) != len(user):
            tensor = self.ordered(view, user)
            order = {axis: axis for axis in range(len(user))}
        else:
            tensor = view.tensor
        grid = {} if view.grid is None else vars(view.grid)
        self.graph.outputs.append(
            Port(
                name,
                tensor,
                tuple(order[axis] for axis in range(len(user))),
                tuple(user),
                batched,
                **grid,
            )
        )


_MAPS = {
    "Conv",
    "MaxPool",
    "AveragePool",
    "GlobalAveragePool",
    "GlobalMaxPool",
    "BatchNormalization",
}
#: Operators that leave the axes of their first operand as they are.
_THROUGH = {
    "Identity",
    "Cast",
    "Relu",
    "LeakyRelu",
    "Clip",
    "Sigmoid",
    "Tanh",
    "Neg",
    "Abs",
    "Add",
    "Sub",
    "Mul",
    "Div",
    "Dropout",
    "Pad",
    "QuantizeLinear",
    "DequantizeLinear",
    "Quant",
    "IntQuant",
    "BipolarQuant",
    "Trunc",
}


def wanted_order(model: Model, name: str, count: int) -> tuple[int, ...] | None:
    """Order of the axes of input ``name`` after the batch axis; ``None`` if no consumer needs
    another order than the model's.

    Parameters
    ----------
    count : axes of the input; the first counts inputs
    """
    if count not in (3, 4):
        return None
    # Tensor -> its axes, as axes of the input.
    seen = {name: tuple(range(count))}
    for node in model.nodes:
        source = next((seen[read] for read in node.inputs if read in seen), None)
        # Of a node that is refused nothing can be relied on.
        if source is None or node.name in model.refused:
            continue
        if node.operator in _MAPS and node.inputs[0] in seen:
            if source[0] != 0:
                return None
            return tuple(axis - 1 for axis in (*source[2:], source[1]))
        if node.operator in _THROUGH and node.outputs:
            seen[node.outputs[0]] = source
        elif node.operator == "Transpose" and sorted(node.attributes.get("perm", ())) == list(
            range(count)
        ):
            seen[node.outputs[0]] = tuple(source[axis] for axis in node.attributes["perm"])
    return None
