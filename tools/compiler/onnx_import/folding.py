# SPDX-License-Identifier: BSD-2-Clause
"""Constant folding during import: evaluates the operator chains with which exporters compute shapes
and prepare weights."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from functools import reduce
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from .draft import MOST_ELEMENTS
from .errors import Refused
from .views import Constant

if TYPE_CHECKING:
    from .step import Step

__all__ = ["FOLDED", "fold", "split_lengths"]


def _bounded(shape):
    shape = tuple(int(length) for length in shape)
    if any(length < 0 for length in shape) or prod(shape) > MOST_ELEMENTS:
        raise Refused(f"a constant of shape {shape}: expected at most {MOST_ELEMENTS:,} elements")
    return shape


def _constant(step):
    for name in ("value", "value_float", "value_int", "value_floats", "value_ints"):
        value = step.attribute(name)
        if value is not None:
            return (
                value
                if isinstance(value, np.ndarray)
                else np.asarray(value, np.float64 if "float" in name else np.int64)
            )
    raise Refused("value_string or sparse_value: expected numbers or a dense array")


def _cast(step):
    data, to = step.operand(0).data, step.attribute("to")
    if to in (1, 10, 11, 16):
        return data.astype(np.float64)
    whole = {
        2: np.uint8,
        3: np.int8,
        4: np.uint16,
        5: np.int16,
        6: np.int32,
        7: np.int64,
        9: np.bool_,
        12: np.uint32,
        13: np.uint64,
    }
    if to not in whole:
        raise Refused(
            f"to = {to}: expected floats of 16 bits and more, integers of 8 and more, and bool"
        )
    return data.astype(whole[to])


def _gather(step):
    data, index = step.operand(0).data, step.operand(1).data
    (axis,) = step.counted("axis", [step.attribute("axis", 0)], data.ndim)
    _bounded((*data.shape[:axis], *index.shape, *data.shape[axis + 1 :]))
    return np.take(data, index, axis=axis)


def _slice(step):
    data = step.operand(0).data
    starts, stops = step.numbers(1, "starts"), step.numbers(2, "ends")
    axes = step.counted("axes", step.numbers(3, "axes", list(range(len(starts)))), data.ndim)
    cut = [slice(None)] * data.ndim
    for axis, start, stop, pace in zip(
        axes, starts, stops, step.numbers(4, "steps", [1] * len(starts)), strict=True
    ):
        # Before the first element means, counting backwards, all of them; numpy would count it from
        # the end.
        cut[axis] = slice(start, None if pace < 0 and stop < -data.shape[axis] else stop, pace)
    return data[tuple(cut)]


def _squeeze(step):
    data = step.operand(0).data
    return np.squeeze(
        data,
        tuple(
            step.axes(data.ndim, [axis for axis, length in enumerate(data.shape) if length == 1])
        ),
    )


def _unsqueeze(step):
    data = step.operand(0).data
    given = step.attribute("axes") or step.numbers(1, "axes")
    return np.expand_dims(data, tuple(step.counted("axes", given, data.ndim + len(given))))


def _reshape(step):
    data, shape = step.operand(0).data, step.numbers(1, "shape")
    if not step.attribute("allowzero", 0):
        shape = [data.shape[at] if length == 0 else length for at, length in enumerate(shape)]
    return data.reshape(shape)


def _flatten(step):
    data = step.operand(0).data
    axis = step.attribute("axis", 1) % (data.ndim + 1)
    return data.reshape(prod(data.shape[:axis]), -1)


def _expand(step):
    shape = np.broadcast_shapes(step.operand(0).data.shape, _bounded(step.numbers(1, "shape")))
    return np.array(np.broadcast_to(step.operand(0).data, _bounded(shape)))


def _filled(step):
    value = step.attribute("value")
    shape = _bounded(step.numbers(0, "its shape"))
    return np.full(shape, value.ravel()[0] if value is not None and value.size else 0.0)


def _reduce(function):
    def apply(step):
        data = step.operand(0).data
        axes = step.axes(data.ndim)
        if not axes and step.attribute("noop_with_empty_axes", 0):
            return data
        return np.asarray(
            function(
                data,
                axis=tuple(axes) if axes else None,
                keepdims=bool(step.attribute("keepdims", 1)),
            )
        )

    return apply


def _divide(first, second):
    if first.dtype.kind in "iu":
        # ONNX divides whole numbers towards zero.
        return (np.sign(first) * np.sign(second) * (np.abs(first) // np.abs(second))).astype(
            first.dtype
        )
    return first / second


def _range(step):
    start, limit, delta = (step.operand(at).data.reshape(()) for at in range(3))
    if not delta:
        raise Refused("delta is 0")
    _bounded([max(0, int(np.ceil((limit - start) / delta)))])
    return np.arange(start, limit, delta)


def _elementwise(function):
    def apply(step):
        data = [operand.data for operand in step.operands]
        _bounded(np.broadcast_shapes(*(one.shape for one in data)))
        return function(*data)

    return apply


def _of_all(function):
    """Extends ``function`` of two operands to any number of operands."""

    def apply(step):
        data = [operand.data for operand in step.operands]
        _bounded(np.broadcast_shapes(*(one.shape for one in data)))
        return reduce(function, data)

    return apply


def _cast_like(step):
    data, like = step.operand(0).data, step.operand(1).data
    return data.astype(np.float64 if like.dtype.kind == "f" else like.dtype)


def _tile(step):
    data, repeats = step.operand(0).data, step.numbers(1, "repeats")
    if len(repeats) != data.ndim:
        raise Refused(f"repeats = {repeats} for {data.ndim} axes")
    _bounded([length * count for length, count in zip(data.shape, repeats, strict=True)])
    return np.tile(data, repeats)


def _padded(step):
    data, pads = step.operand(0).data, step.numbers(1, "pads")
    if step.attribute("mode", "constant") != "constant" or len(pads) != 2 * data.ndim:
        raise Refused("pads of a constant: expected mode constant and two numbers for each axis")
    value = step.operand(2).data.ravel()[0] if step.operand(2) is not None else 0
    sides = list(zip(pads[: data.ndim], pads[data.ndim :], strict=True))
    _bounded([length + sum(side) for length, side in zip(data.shape, sides, strict=True)])
    return np.pad(data, sides, constant_values=value)


def _triangle(step):
    data, diagonal = step.operand(0).data, (step.numbers(1, "k", [0]) or [0])[0]
    return np.triu(data, diagonal) if step.attribute("upper", 1) else np.tril(data, diagonal)


def _running_sum(step):
    data, (axis,) = step.operand(0).data, step.numbers(1, "axis")
    (axis,) = step.counted("axis", [axis], data.ndim)
    if step.attribute("exclusive", 0) or step.attribute("reverse", 0):
        raise Refused("exclusive or reverse is set: expected a plain running sum")
    return np.cumsum(data, axis=axis)


def _clip(step):
    low, high = (step.number(at, what) for at, what in ((1, "min"), (2, "max")))
    return np.clip(step.operand(0).data, low, high)


def _one_hot(step):
    index, (depth,) = step.operand(0).data, step.operand(1).data.ravel()
    off, on = step.operand(2).data.ravel()
    _bounded([*index.shape, int(depth)])
    (axis,) = step.counted("axis", [step.attribute("axis", -1)], index.ndim + 1)
    places = np.arange(int(depth)).reshape(-1, *[1] * (index.ndim - axis))
    found = np.expand_dims(index % int(depth), axis) == places
    inside = np.expand_dims((index >= -depth) & (index < depth), axis)
    return np.where(found & inside, on, off)


def _split(step):
    data = step.operand(0).data
    (axis,) = step.counted("axis", [step.attribute("axis", 0)], data.ndim)
    parts = split_lengths(step, data.shape[axis])
    return np.split(data, np.cumsum(parts)[:-1], axis=axis)


def split_lengths(step: Step, length: int) -> list[int]:
    """Lengths of the results of a Split of an axis of ``length``."""
    count = len(step.outputs)
    given = step.attribute("split") or step.numbers(1, "split")
    if given is None:
        size = -(-length // count)
        given = [min(size, length - size * at) for at in range(count)]
    if len(given) != count or sum(given) != length or min(given) < 1:
        raise Refused(f"split = {list(given)} into {count} of an axis of {length}")
    return list(given)


#: Operator -> function of a step that computes it on constants.
FOLDED = {
    "Constant": _constant,
    "ConstantOfShape": _filled,
    "Shape": lambda step: _shape(step, step.operand(0).data.shape),
    "Size": lambda step: np.asarray(step.operand(0).data.size, np.int64),
    "CastLike": _cast_like,
    "Tile": _tile,
    "Trilu": _triangle,
    "CumSum": _running_sum,
    "OneHot": _one_hot,
    "Split": _split,
    "Clip": _clip,
    "Pad": _padded,
    "Identity": lambda step: step.operand(0).data,
    "Dropout": lambda step: step.operand(0).data,
    "Cast": _cast,
    "Gather": _gather,
    "Slice": _slice,
    "Squeeze": _squeeze,
    "Unsqueeze": _unsqueeze,
    "Reshape": _reshape,
    "Flatten": _flatten,
    "Expand": _expand,
    "Range": _range,
    "Concat": lambda step: np.concatenate(
        [operand.data for operand in step.operands], axis=step.attribute("axis")
    ),
    "Transpose": lambda step: np.transpose(step.operand(0).data, step.attribute("perm")),
    "ReduceProd": _reduce(np.prod),
    "ReduceSum": _reduce(np.sum),
    "ReduceMax": _reduce(np.max),
    "ReduceMin": _reduce(np.min),
    "ReduceMean": _reduce(np.mean),
    "Add": _elementwise(np.add),
    "Sub": _elementwise(np.subtract),
    "Mul": _elementwise(np.multiply),
    "Div": _elementwise(_divide),
    "Pow": _elementwise(np.power),
    "Neg": _elementwise(np.negative),
    "Sqrt": _elementwise(np.sqrt),
    "Exp": _elementwise(np.exp),
    "Reciprocal": _elementwise(np.reciprocal),
    "Abs": _elementwise(np.abs),
    "Floor": _elementwise(np.floor),
    "Ceil": _elementwise(np.ceil),
    "Mod": lambda step: _elementwise(np.fmod if step.attribute("fmod", 0) else np.mod)(step),
    "Equal": _elementwise(np.equal),
    "Less": _elementwise(np.less),
    "LessOrEqual": _elementwise(np.less_equal),
    "Greater": _elementwise(np.greater),
    "GreaterOrEqual": _elementwise(np.greater_equal),
    "And": _elementwise(np.logical_and),
    "Or": _elementwise(np.logical_or),
    "Xor": _elementwise(np.logical_xor),
    "Not": _elementwise(np.logical_not),
    "IsNaN": _elementwise(np.isnan),
    "Max": _of_all(np.maximum),
    "Min": _of_all(np.minimum),
    "Sum": _of_all(np.add),
    "Round": _elementwise(np.rint),
    "Sign": _elementwise(np.sign),
    "Sin": _elementwise(np.sin),
    "Cos": _elementwise(np.cos),
    "Log": _elementwise(np.log),
    "Tanh": _elementwise(np.tanh),
    "Relu": _elementwise(lambda data: np.maximum(data, 0)),
    "Sigmoid": _elementwise(lambda data: 0.5 + 0.5 * np.tanh(0.5 * data)),
    "Where": _elementwise(lambda condition, yes, no: np.where(condition.astype(bool), yes, no)),
}
#: What moves elements and leaves their values, so that a grid stays.
_MOVED = {"Identity", "Dropout", "Transpose", "Reshape", "Flatten", "Squeeze", "Unsqueeze"}
#: Operators that may do without an operand behind the first.
_OPTIONAL = {
    "Slice",
    "Squeeze",
    "Unsqueeze",
    "Dropout",
    "ReduceProd",
    "ReduceSum",
    "ReduceMax",
    "ReduceMin",
    "ReduceMean",
    "Trilu",
    "Split",
    "Clip",
    "Pad",
}


def _shape(step, lengths):
    return np.asarray(lengths[slice(step.attribute("start", 0), step.attribute("end"))], np.int64)


def fold(step: Step) -> Constant | list[Constant] | None:
    """Evaluates an operator whose operands are all constants; returns a list if it has several
    outputs, ``None`` if the operator is not folded."""
    if step.operator not in FOLDED:
        return None
    if None in step.operands[: None if step.operator not in _OPTIONAL else 1]:
        raise Refused("an operand is left out")
    if (
        any(operand.whole for operand in step.operands if isinstance(operand, Constant))
        and step.operator not in _MOVED
    ):
        raise Refused(
            "computed from quantised constants: expected a DequantizeLinear in front of it"
        )
    try:
        with np.errstate(all="ignore"):
            found = FOLDED[step.operator](step)
            if isinstance(found, list):
                return [Constant(one) for one in found]
            data = np.asarray(found)
    except (ValueError, IndexError, TypeError, OverflowError, ZeroDivisionError) as error:
        raise Refused(f"cannot be computed from its constants: {error}") from None
    first = step.operand(0)
    if step.operator in _MOVED and isinstance(first, Constant) and first.grid is not None:
        return Constant(data, _moved(step, first.grid), first.whole)
    return Constant(data)


def _moved(step, grid):
    """Quantisation grid after elements are moved: scales per element move with the elements."""
    if not np.ndim(grid.scale):
        return grid
    along = copy(step)
    along.operands = [
        Constant(np.broadcast_to(grid.scale, step.operand(0).data.shape)),
        *step.operands[1:],
    ]
    scale = np.asarray(FOLDED[step.operator](along))
    for axis in range(scale.ndim):
        first = np.take(scale, [0], axis=axis)
        if np.all(scale == first):
            scale = first
    return replace(grid, scale=scale)
