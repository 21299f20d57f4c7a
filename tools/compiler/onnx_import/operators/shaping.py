# SPDX-License-Identifier: BSD-2-Clause
"""Translators of operators that move or select elements. Most of them only change a tensor's view
and add no node."""

from dataclasses import replace
from math import prod

import numpy as np

from ...graph import Concat
from ..draft import MOST_ELEMENTS
from ..errors import Refused
from ..folding import split_lengths
from ..step import Constant, View, operator
from .chain import Chain
from .linear import dense
from .reduction import one_hot


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
    if prod(wanted) > MOST_ELEMENTS:
        raise Refused(f"shape = {list(wanted)}: expected at most {MOST_ELEMENTS:,} elements")
    if prod(wanted) == prod(view.lengths):
        return step.draft.seen(view, wanted)
    same = step.draft.seen(view, (1,) * (len(wanted) - len(view.lengths)) + tuple(view.lengths))
    return _repeated(
        step,
        same,
        {axis: length for axis, length in enumerate(wanted) if length != same.lengths[axis]},
    )


def _repeated(step, view, repeats):
    """Repeats a tensor along its axes and along axes that only its view has."""
    alone = [axis for axis in repeats if view.single(axis) is None]
    if alone:
        view = step.draft.plain(view, keep=0 in alone)
    return Chain(step).repeat("", view, repeats)


@operator("Tile")
def _tile(step):
    view, repeats = step.view(), step.numbers(1, "repeats")
    if len(repeats) != len(view.lengths) or min(repeats, default=1) < 1:
        raise Refused(f"repeats = {repeats}: expected a positive number for each axis")
    if prod(repeats) * prod(view.lengths) > MOST_ELEMENTS:
        raise Refused(f"repeats = {repeats}: expected at most {MOST_ELEMENTS:,} elements")
    wanted = {axis: count for axis, count in enumerate(repeats) if count > 1}
    return _repeated(step, view, wanted) if wanted else view


@operator("Slice")
def _slice(step):
    view = step.view()
    starts, stops = step.numbers(1, "starts", []), step.numbers(2, "ends", [])
    axes = step.counted(
        "axes", step.numbers(3, "axes", list(range(len(starts)))), len(view.lengths)
    )
    strides = step.numbers(4, "steps", [1] * len(starts))
    if not len(starts) == len(stops) == len(axes) == len(strides):
        raise Refused(
            f"{len(starts)} starts, {len(stops)} ends, {len(axes)} axes and {len(strides)} "
            f"steps: expected equally many of each"
        )
    if not all(strides):
        raise Refused(f"steps = {strides}: expected other numbers than 0")
    cuts = {}
    for axis, start, stop, stride in zip(axes, starts, stops, strides, strict=True):
        length = view.lengths[axis]
        # Before the first element means, counting backwards, all of them.
        stop = None if stride < 0 and stop < -length else stop
        first, last, stride = slice(start, stop, stride).indices(length)
        cuts[axis] = (first, -length - 1 if stride < 0 and last < 0 else last, stride)
    return Chain(step).cut("", view, cuts)


@operator("Split")
def _split(step):
    view = step.view()
    (axis,) = step.counted("axis", [step.attribute("axis", 0)], len(view.lengths))
    parts = split_lengths(step, view.lengths[axis])
    ends = np.cumsum(parts)
    return [
        Chain(step).cut("", view, {axis: (int(end) - part, int(end), 1)}, name)
        for name, part, end in zip(step.outputs, parts, ends, strict=True)
    ]


@operator("Gather")
def _gather(step):
    """Translates Gather. An activation at constant indices becomes slices, concatenated if the
    indices have unequal distances. A constant table at computed indices becomes a product with a
    one-hot matrix."""
    index = step.operand(1)
    if not isinstance(index, Constant):
        return _embedded(step)
    view = step.view()
    (axis,) = step.counted("axis", [step.attribute("axis", 0)], len(view.lengths))
    length = view.lengths[axis]
    if index.data.dtype.kind not in "iu":
        raise Refused("indices are no whole numbers: expected integers")
    places = [place + length * (place < 0) for place in index.data.ravel().tolist()]
    if not places or not all(0 <= place < length for place in places):
        raise Refused(
            f"indices of shape {index.data.shape} on an axis of {length}: expected one number or "
            f"more of those inside"
        )
    result = Chain(step).take("", view, axis, places)
    lengths = view.lengths
    return step.draft.seen(result, (*lengths[:axis], *index.data.shape, *lengths[axis + 1 :]))


def _embedded(step):
    """Embedding lookup: rows of a constant table at computed indices, as a dense layer on a one-hot
    encoding."""
    if not isinstance(step.operand(0), Constant):
        raise Refused("indices depend on the network's inputs: expected a constant, or a table")
    table = step.fixed(0, "data")
    places = step.view(1, "indices")
    data = step.finite("data", table.data)
    if data.ndim < 1 or step.attribute("axis", 0) not in (0, -data.ndim):
        raise Refused(f"axis = {step.attribute('axis', 0)} of a constant: expected 0, its rows")
    if not places.integer:
        raise Refused("indices hold real numbers: expected whole ones")
    chain, depth = Chain(step), len(data)
    if any(port.tensor == places.tensor for port in step.draft.graph.inputs):
        step.draft.integer_input(places.tensor)
    places = step.draft.seen(replace(places, integer=False), (*places.lengths, 1))
    hot = one_hot(chain, places, len(places.lengths) - 1, depth, "chosen")
    weights = np.ascontiguousarray(data.reshape(depth, -1).T)
    result = dense(step, hot, weights, None, None, step.output)
    return step.draft.seen(result, (*places.lengths[:-1], *data.shape[1:]))


@operator("OneHot")
def _one_hot(step):
    """Translates OneHot: one of two values, by whether the position equals a computed index."""
    places = step.view(0, "indices")
    (depth,) = step.numbers(1, "depth")
    off, on = (float(one) for one in step.finite("values", step.fixed(2, "values").data).ravel())
    (axis,) = step.counted("axis", [step.attribute("axis", -1)], len(places.lengths) + 1)
    if not places.integer:
        raise Refused("indices hold real numbers: expected whole ones")
    if any(port.tensor == places.tensor for port in step.draft.graph.inputs):
        step.draft.integer_input(places.tensor)
    chain = Chain(step)
    lengths = (*places.lengths[:axis], 1, *places.lengths[axis:])
    places = step.draft.seen(replace(places, integer=False), lengths)
    hot = one_hot(chain, places, axis, depth, "chosen")
    return chain.plus("", chain.times("sized", hot, on - off), off)


@operator("Where")
def _where(step):
    """Translates Where as condition x + (1 - condition) y, with a condition of ones and zeros."""
    condition = step.operand(0)
    chain, (yes, no) = Chain(step), (_choice(step, at) for at in (1, 2))
    if isinstance(condition, Constant):
        mask = (condition.data != 0).astype(np.float64)
        if mask.all() or not mask.any():
            chosen = yes if mask.all() else no
            lengths = np.broadcast_shapes(yes.lengths, no.lengths, mask.shape)
            if isinstance(chosen, View) and tuple(chosen.lengths) == lengths:
                return chosen
        return chain.of_two(
            "", "add", _masked(chain, "yes", mask, yes), _masked(chain, "no", 1 - mask, no)
        )
    chosen = step.view(0, "condition")
    chosen = replace(chosen, integer=False)
    # no + condition (yes - no)
    if isinstance(yes, Constant) and isinstance(no, Constant):
        difference = Constant(step.finite("X", yes.data) - step.finite("Y", no.data))
    else:
        difference = chain.of_two("difference", "sub", yes, no)
    return chain.of_two("", "add", chain.of_two("chosen", "mul", chosen, difference), no)


def _choice(step, at):
    """An operand of Where; a mask constant of minus infinity before a Softmax becomes a finite
    value with the same effect."""
    operand = step.operand(at)
    if not isinstance(operand, Constant):
        return step.flowing(at)
    return step.softened(step.fixed(at, "XY"[at - 1]))


def _masked(chain, part, mask, operand):
    """Masks an operand: ``operand`` where the mask is one, zeros elsewhere."""
    if isinstance(operand, Constant):
        return Constant(mask * chain.step.finite("its constant", operand.data))
    return chain.times(part, operand, Constant(mask))


_COMPARED = {
    "Less": (1, 0, False),
    "Greater": (0, 1, False),
    "LessOrEqual": (0, 1, True),
    "GreaterOrEqual": (1, 0, True),
}


@operator(*_COMPARED)
def _compared(step):
    """Translates comparisons to ones and zeros: the step function of the difference, or one minus
    that of its opposite."""
    first, second, turned = _COMPARED[step.operator]
    chain, operands = Chain(step), []
    for at in (first, second):
        constant = isinstance(step.operand(at), Constant)
        operands.append(step.fixed(at, "its operand") if constant else _number(step, at))
    difference = chain.of_two("difference", "sub", *operands)
    result = chain.act("step" if turned else "", difference, "step")
    if turned:
        result = chain.of_two("", "sub", 1, result)
    return replace(result, integer=True)


def _number(step, at):
    """A computed operand, integer or real."""
    view = step.view(at)
    if view.grid is not None:
        return step.flowing(at)
    if view.integer and any(port.tensor == view.tensor for port in step.draft.graph.inputs):
        step.draft.integer_input(view.tensor)
    return replace(view, integer=False)


@operator("Equal")
def _equal(step):
    """Translates Equal as 1 - step(|a - b|)."""
    chain, operands = Chain(step), []
    for at in (0, 1):
        constant = isinstance(step.operand(at), Constant)
        operands.append(step.fixed(at, "its operand") if constant else _number(step, at))
    apart = chain.act("apart", chain.of_two("difference", "sub", *operands), "abs")
    result = chain.of_two("", "sub", 1, chain.act("differs", apart, "step"))
    return replace(result, integer=True)


@operator("Not")
def _not(step):
    return replace(Chain(step).of_two("", "sub", 1, _number(step, 0)), integer=True)


@operator("And")
def _and(step):
    operands = [
        Constant((one.data != 0).astype(np.float64)) if isinstance(one, Constant) else None
        for one in step.operands
    ]
    first, second = (_number(step, at) if one is None else one for at, one in enumerate(operands))
    return replace(Chain(step).of_two("", "mul", first, second), integer=True)


@operator("CastLike")
def _cast_like(step):
    """Translates CastLike between float types, by the type of its second operand."""
    like, first = step.operand(1), step.operand(0)
    if isinstance(first, Constant):
        real = like.data.dtype.kind == "f" if isinstance(like, Constant) else not like.integer
        return Constant(first.data.astype(np.float64 if real else np.int64))
    view = step.view()
    if view.grid is not None:
        raise Refused("its input holds quantised numbers: expected a DequantizeLinear")
    real = like.data.dtype.kind == "f" if isinstance(like, Constant) else not like.integer
    if not real and not view.integer:
        raise Refused("to whole numbers: expected floats")
    return replace(view, integer=not real)


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
