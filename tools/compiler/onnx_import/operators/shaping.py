# SPDX-License-Identifier: BSD-2-Clause
"""Translators of operators that move or select elements. Most only change a tensor's view and add
nothing to the graph."""

from dataclasses import replace
from math import prod

import numpy as np

from ...graph import Concat, Slice
from ..errors import Refused
from ..step import operator
from ..views import Constant, View


@operator("Identity")
def _identity(step):
    return step.view()


@operator("Dropout")
def _dropout(step):
    step.only_output("mask")
    training = step.operand(2)
    if training is not None and not (isinstance(training, Constant) and not training.data.any()):
        raise Refused("training_mode is set: expected a network that only infers")
    return step.view()


@operator("Cast")
def _cast(step):
    view = step.view()
    if view.integer and step.attribute("to") in (6, 7):
        return view
    if step.attribute("to") not in (1, 10, 11, 16):
        raise Refused(f"to = {step.attribute('to')} of a tensor that flows: expected floats")
    if view.grid is not None:
        raise Refused("its input holds quantised numbers: expected a DequantizeLinear")
    if view.integer and any(port.tensor == view.tensor for port in step.draft.graph.inputs):
        step.draft.integer_input(view.tensor)
    return replace(view, integer=False)


@operator("Shape")
def _shape(step):
    lengths = step.view().lengths
    return Constant(
        np.asarray(lengths[slice(step.attribute("start", 0), step.attribute("end"))], np.int64)
    )


@operator("Size")
def _size(step):
    return Constant(np.asarray(prod(step.view().lengths), np.int64))


@operator("Transpose")
def _transpose(step):
    view = step.view()
    count = len(view.lengths)
    order = list(step.attribute("perm", reversed(range(count))))
    if sorted(order) != list(range(count)):
        raise Refused(f"perm = {order} of a tensor of {count} axes")
    return view.permuted(order)


@operator("Flatten")
def _flatten(step):
    view = step.view()
    count = len(view.lengths)
    axis = step.attribute("axis", 1)
    if not -count <= axis <= count:
        raise Refused(f"axis = {axis} of a tensor of {count} axes")
    axis = axis + count if axis < 0 else axis
    return step.draft.seen(view, (prod(view.lengths[:axis]), prod(view.lengths[axis:])))


@operator("Reshape")
def _reshape(step):
    view, shape = step.view(), step.numbers(1, "shape")
    if not step.attribute("allowzero", 0):
        shape = [
            view.lengths[at] if length == 0 and at < len(view.lengths) else length
            for at, length in enumerate(shape)
        ]
    if shape.count(-1) == 1:
        rest = -prod(shape)
        shape[shape.index(-1)] = prod(view.lengths) // rest if rest > 0 else 0
    if any(length < 1 for length in shape):
        raise Refused(f"shape = {shape}: expected positive lengths, and -1 at most once")
    return step.draft.seen(view, tuple(shape))


@operator("Squeeze")
def _squeeze(step):
    view = step.view()
    lengths = view.lengths
    axes = step.axes(len(lengths), [axis for axis, length in enumerate(lengths) if length == 1])
    if any(lengths[axis] != 1 for axis in axes):
        raise Refused(f"axes = {axes} of {lengths}: expected axes of one element")
    return step.draft.seen(
        view, [length for axis, length in enumerate(lengths) if axis not in axes]
    )


@operator("Unsqueeze")
def _unsqueeze(step):
    view = step.view()
    given = step.attribute("axes") or step.numbers(1, "axes", [])
    axes, left = step.counted("axes", given, len(view.lengths) + len(given)), list(view.lengths)
    return step.draft.seen(
        view, [1 if axis in axes else left.pop(0) for axis in range(len(view.lengths) + len(axes))]
    )


@operator("Expand")
def _expand(step):
    view = step.view()
    try:
        wanted = np.broadcast_shapes(view.lengths, tuple(step.numbers(1, "shape")))
    except ValueError as error:
        raise Refused(f"shapes do not fit: {error}") from None
    if prod(wanted) != prod(view.lengths):
        raise Refused(
            f"from {view.lengths} to {wanted}: expected the same number of elements (Add and "
            f"Mul broadcast by themselves)"
        )
    return step.draft.seen(view, wanted)


def _sliced(step, view, cuts, output=None):
    """``cuts``: the model's axis -> (start, stop, step)."""
    cuts = {axis: cut for axis, cut in cuts.items() if cut != (0, view.lengths[axis], 1)}
    if not cuts:
        return view
    view = step.draft.single_axes(view, cuts)
    start, stop, pace = [0] * len(view.shape), list(view.shape), [1] * len(view.shape)
    for axis, (a, b, c) in cuts.items():
        own = view.axes[axis][0]
        start[own], stop[own], pace[own] = a, b, c
    result = step.draft.add(
        Slice, view.tensor, output=output, start=tuple(start), stop=tuple(stop), step=tuple(pace)
    )
    return step.draft.view(result, view.axes, grid=view.grid, integer=view.integer)


@operator("Slice")
def _slice(step):
    view = step.view()
    starts, stops = step.numbers(1, "starts", []), step.numbers(2, "ends", [])
    axes = step.counted(
        "axes", step.numbers(3, "axes", list(range(len(starts)))), len(view.lengths)
    )
    paces = step.numbers(4, "steps", [1] * len(starts))
    if not len(starts) == len(stops) == len(axes) == len(paces):
        raise Refused(
            f"{len(starts)} starts, {len(stops)} ends, {len(axes)} axes and {len(paces)} "
            f"steps: expected equally many of each"
        )
    if any(pace < 1 for pace in paces):
        raise Refused(f"steps = {paces}: expected positive steps")
    cuts = {
        axis: slice(a, b, c).indices(view.lengths[axis])
        for axis, a, b, c in zip(axes, starts, stops, paces, strict=True)
    }
    return _sliced(step, view, cuts, step.output)


@operator("Split")
def _split(step):
    view = step.view()
    (axis,) = step.counted("axis", [step.attribute("axis", 0)], len(view.lengths))
    length, count = view.lengths[axis], len(step.outputs)
    parts = step.attribute("split") or step.numbers(1, "split")
    if parts is None:
        size = -(-length // count)
        parts = [min(size, length - size * at) for at in range(count)]
    if len(parts) != count or sum(parts) != length or min(parts) < 1:
        raise Refused(f"split = {list(parts)} into {count} of an axis of {length}")
    ends = np.cumsum(parts)
    return [
        _sliced(step, view, {axis: (int(end) - part, int(end), 1)}, name or None)
        for name, part, end in zip(step.outputs, parts, ends, strict=True)
    ]


@operator("Gather")
def _gather(step):
    """Of one element, or of elements that stand at equal distances."""
    view = step.view()
    (axis,) = step.counted("axis", [step.attribute("axis", 0)], len(view.lengths))
    index = step.operand(1)
    if not isinstance(index, Constant):
        raise Refused("indices depend on the network's inputs: expected a constant")
    places = [int(place) + view.lengths[axis] * (place < 0) for place in index.data.ravel()]
    if (
        index.data.ndim > 1
        or not places
        or not all(0 <= place < view.lengths[axis] for place in places)
    ):
        raise Refused(
            f"indices of shape {index.data.shape} on an axis of {view.lengths[axis]}: expected one "
            f"number or a list of those inside"
        )
    pace = places[1] - places[0] if len(places) > 1 else 1
    if places != list(range(places[0], places[0] + pace * len(places), pace or 1)) or pace < 1:
        raise Refused(
            f"indices = {places[:8]}{' ...' if len(places) > 8 else ''}: expected ascending "
            f"indices at equal distances"
        )
    result = _sliced(step, view, {axis: (places[0], places[-1] + 1, pace)}, step.output)
    return (
        result
        if index.data.ndim
        else step.draft.seen(
            result, [length for at, length in enumerate(result.lengths) if at != axis]
        )
    )


@operator("Concat")
def _concat(step):
    count = len(step.operands[0].lengths) if step.operands[0] is not None else 0
    (axis,) = step.counted("axis", [step.attribute("axis")], count)
    operands = [
        step.fixed(at, "its operand") if isinstance(operand, Constant) else step.flowing(at)
        for at, operand in enumerate(step.operands)
    ]
    shapes = [operand.lengths for operand in operands]
    rest = [(*shape[:axis], *shape[axis + 1 :]) for shape in shapes]
    if any(len(shape) != count for shape in shapes) or any(one != rest[0] for one in rest):
        raise Refused(
            f"shapes {', '.join(str(tuple(shape)) for shape in shapes)} along axis {axis} do "
            f"not fit"
        )
    if len(operands) == 1:
        return operands[0]
    leader = next(operand for operand in operands if isinstance(operand, View))
    leader = step.draft.single_axes(leader, [axis])
    tensors, own = [], leader.axes[axis][0]
    for operand in operands:
        shape = list(leader.shape)
        shape[own] = operand.lengths[axis]
        if isinstance(operand, Constant):
            data = step.draft.graph.tensors[
                step.draft.conform(operand, replace(leader, shape=tuple(shape)))
            ].data
            tensors.append(
                step.draft.constant(step.finite("its constant", np.broadcast_to(data, shape)))
            )
        else:
            tensors.append(step.draft.conform(operand, replace(leader, shape=tuple(shape))))
    result = step.draft.add(Concat, *tensors, output=step.output, axis=own)
    return step.draft.view(result, leader.axes)
