# SPDX-License-Identifier: BSD-2-Clause
"""Builder of the simpler nodes into which a composite operator is rewritten."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph import Activation, Concat, Reduce, Slice, Softmax
from ..draft import MOST_ELEMENTS
from ..errors import Refused
from ..step import Constant, View
from .elementwise import binary

if TYPE_CHECKING:
    from ..step import Step

__all__ = ["Chain", "Operand"]

#: Operand of an operation: a tensor that flows, a constant, or one number.
Operand = View | Constant | float | int


def _operand(value: Operand) -> View | Constant:
    return Constant(np.float64(value)) if isinstance(value, int | float) else value


class Chain:
    """Adds a sequence of nodes that replaces one node of the model.

    Axes are the model's own. Every method takes the ``part`` that stands in its node's name; the
    node with the empty part makes the model's own output.
    """

    def __init__(self, step: Step):
        self.step, self.draft = step, step.draft

    def _output(self, part: str) -> str | None:
        return None if part else self.step.output

    def act(self, part: str, view: View, function: str, **attributes: Any) -> View:
        """Adds an elementwise function of a tensor."""
        return self.draft.same(
            Activation, view, self._output(part), part, function=function, **attributes
        )

    def of_two(self, part: str, function: str, first: Operand, second: Operand) -> View:
        """Adds an add, sub, mul or div of two operands, broadcast by numpy's rules."""
        return binary(
            self.step, function, _operand(first), _operand(second), self._output(part), part
        )

    def times(self, part: str, operand: View, factor: Operand) -> View:
        """Adds a product; returns the operand itself if ``factor`` is one."""
        data = _operand(factor)
        if isinstance(data, Constant) and data.data.size == 1 and np.all(data.data == 1):
            return operand
        return self.of_two(part, "mul", operand, factor)

    def plus(self, part: str, operand: View, addend: Operand) -> View:
        """Adds a sum; returns the operand itself if ``addend`` is zero."""
        data = _operand(addend)
        if isinstance(data, Constant) and data.data.size == 1 and not np.any(data.data):
            return operand
        return self.of_two(part, "add", operand, addend)

    def maximum(self, part: str, first: Operand, second: Operand) -> View:
        """Adds a maximum of two operands: a clip if one of them is a number, else a + relu(b -
        a)."""
        first, second = _operand(first), _operand(second)
        for number, other in ((first, second), (second, first)):
            if isinstance(number, Constant) and number.data.size == 1 and isinstance(other, View):
                if number.data.ndim <= len(other.lengths):
                    return self.act(part, other, "clip", low=float(number.data.reshape(())))
        if isinstance(second, Constant):
            first, second = second, first
        below = self.act("above", self.of_two("difference", "sub", second, first), "relu")
        return self.of_two(part, "add", first, below)

    def minimum(self, part: str, first: Operand, second: Operand) -> View:
        """Adds a minimum of two operands: a clip if one of them is a number, else a - relu(a -
        b)."""
        first, second = _operand(first), _operand(second)
        for number, other in ((first, second), (second, first)):
            if isinstance(number, Constant) and number.data.size == 1 and isinstance(other, View):
                if number.data.ndim <= len(other.lengths):
                    return self.act(part, other, "clip", high=float(number.data.reshape(())))
        if isinstance(second, Constant):
            first, second = second, first
        above = self.act("above", self.of_two("difference", "sub", first, second), "relu")
        return self.of_two(part, "sub", first, above)

    def reduce(self, part: str, view: View, function: str, axes: Sequence[int]) -> View:
        """Adds a reduction over ``axes``, which keep length one."""
        own = tuple(sorted(axis for at in axes for axis in view.axes[at]))
        if all(view.shape[axis] == 1 for axis in own):
            return view
        return self.draft.same(
            Reduce, view, self._output(part), part, function=function, axes=own, keep=True
        )

    def softmax(self, part: str, view: View, axis: int, log: bool = False) -> View:
        """Adds a softmax over one axis."""
        view = self.draft.single_axes(view, [axis])
        own = view.axes[axis][0]
        return self.draft.same(Softmax, view, self._output(part), part, axis=own, log=log)

    def cut(
        self,
        part: str,
        view: View,
        cuts: Mapping[int, tuple[int, int, int]],
        output: str | None = None,
    ) -> View:
        """Adds a slice: from start to stop by a step, for each axis in ``cuts``. With a negative
        step, a stop of minus the axis's length minus one includes the first element. ``output``:
        name of the result, for an operator with several outputs."""
        cuts = {axis: cut for axis, cut in cuts.items() if cut != (0, view.lengths[axis], 1)}
        if not cuts:
            return view
        view = self.draft.single_axes(view, list(cuts))
        start, stop, step = [0] * len(view.shape), list(view.shape), [1] * len(view.shape)
        for axis, (first, last, stride) in cuts.items():
            own = view.axes[axis][0]
            start[own], stop[own], step[own] = first, last, stride
        tensor = self.draft.add(
            Slice,
            view.tensor,
            output=output or self._output(part),
            part=part,
            start=tuple(start),
            stop=tuple(stop),
            step=tuple(step),
        )
        return self.draft.view(tensor, view.axes, grid=view.grid, integer=view.integer)

    def take(self, part: str, view: View, axis: int, places: Sequence[int]) -> View:
        """Adds a gather: the elements at ``places`` of an axis, in that order, repeated if a place
        is."""
        runs = list(_runs(list(places)))
        length = view.lengths[axis]
        if len(runs) == 1:
            return self.cut(part, view, {axis: _cut(runs[0], length)})
        slices = [
            self.cut(f"{part or 'taken'}_{number}", view, {axis: _cut(run, length)})
            for number, run in enumerate(runs)
        ]
        return self.join(part, slices, axis)

    def join(self, part: str, views: Sequence[View | Constant], axis: int) -> View:
        """Adds a concatenation along one axis, of at least one activation."""
        if len(views) == 1 and isinstance(views[0], View):
            return views[0]
        leader = next(one for one in views if isinstance(one, View))
        leader = self.draft.single_axes(leader, [axis])
        own, tensors = leader.axes[axis][0], []
        for one in views:
            shape = list(leader.shape)
            shape[own] = one.lengths[axis]
            target = replace(leader, shape=tuple(shape))
            tensor = self.draft.conform(one, target)
            if isinstance(one, Constant):
                conformed = np.asarray(self.draft.graph.tensors[tensor].data)
                data = np.broadcast_to(self.step.finite("its constant", conformed), shape)
                tensor = self.draft.constant(np.array(data))
            tensors.append(tensor)
        result = self.draft.add(Concat, *tensors, output=self._output(part), part=part, axis=own)
        return self.draft.view(result, leader.axes, grid=leader.grid, integer=leader.integer)

    def repeat(self, part: str, view: View, repeats: Mapping[int, int]) -> View:
        """Adds a tiling: repeats the whole tensor along each axis in ``repeats``."""
        todo = [(axis, count) for axis, count in repeats.items() if count > 1]
        total = int(np.prod([count for _, count in todo], dtype=np.int64))
        if total * int(np.prod(view.lengths)) > MOST_ELEMENTS:
            raise Refused(f"its result has more than {MOST_ELEMENTS:,} elements")
        for number, (axis, count) in enumerate(todo):
            last = number == len(todo) - 1
            view = self.join(part if last else f"{part or 'copies'}_{number}", [view] * count, axis)
        return view


def _runs(places: list[int]) -> list[tuple[int, int, int]]:
    """Splits a list of numbers into arithmetic progressions (first, count, distance), greedily."""
    runs, at = [], 0
    while at < len(places):
        end = at + 1
        stride = places[end] - places[at] if end < len(places) else 1
        if stride == 0:
            runs.append((places[at], 1, 1))
            at += 1
            continue
        while end < len(places) and places[end] - places[end - 1] == stride:
            end += 1
        # The distance of two alone is chance: the second may begin a longer run.
        if end - at == 2 and end < len(places) and abs(stride) != 1:
            end = at + 1
        runs.append((places[at], end - at, stride if end - at > 1 else 1))
        at = end
    return runs


def _cut(run: tuple[int, int, int], length: int) -> tuple[int, int, int]:
    """Start, stop and step of a slice that selects an arithmetic progression from an axis of
    ``length``."""
    first, count, stride = run
    last = first + stride * (count - 1)
    if stride > 0:
        return first, last + 1, stride
    return first, last - 1 if last else -length - 1, stride
