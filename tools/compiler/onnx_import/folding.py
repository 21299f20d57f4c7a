# SPDX-License-Identifier: BSD-2-Clause
"""Constant folding during import: evaluates the operator chains with which exporters compute shapes
and prepare weights."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from .draft import MOST_ELEMENTS
from .errors import Refused
from .step import Constant

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


def _filled(step):
    value = step.attribute("value")
    shape = _bounded(step.numbers(0, "its shape"))
    return np.full(shape, value.ravel()[0] if value is not None and value.size else 0.0)


def _cast_like(step):
    data, like = step.operand(0).data, step.operand(1).data
    return data.astype(np.float64 if like.dtype.kind == "f" else like.dtype)


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


def _evaluated(step):
    """Evaluates the operator by ONNX's own reference implementation, which keeps the width of
    floats."""
    from onnx import AttributeProto, TensorProto, helper
    from onnx.reference import ReferenceEvaluator

    if step.operator in _AXES:
        step.axes(step.operand(0).data.ndim, index=_AXES[step.operator])
    shape = _SHAPES.get(step.operator)
    _bounded(
        np.broadcast_shapes(*(one.data.shape for one in step.operands if one is not None))
        if step.operator in _ELEMENTWISE
        else shape(step, step.operand(0).data)
        if shape is not None
        else ()
    )
    names = ["" if one is None else f"operand_{at}" for at, one in enumerate(step.operands)]
    data = {name: one.data for name, one in zip(names, step.operands, strict=True) if name}
    node = helper.make_node(step.operator, names, ["result"])
    node.attribute.extend(
        helper.make_attribute(name, value, attr_type=AttributeProto.INTS if value == [] else None)
        for name, value in step.attributes.items()
    )
    graph = helper.make_graph(
        [node],
        step.operator,
        [helper.make_tensor_value_info(name, TensorProto.UNDEFINED, None) for name in data],
        [helper.make_tensor_value_info("result", TensorProto.UNDEFINED, None)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", step.opset)])
    (found,) = ReferenceEvaluator(model).run(None, data)
    return found


def _range_length(step, start):
    limit, delta = (step.operand(at).data.item() for at in (1, 2))
    if not delta:
        raise Refused("delta is 0")
    return [max(0, int(np.ceil((limit - start.item()) / delta)))]


def _gathered(step, data):
    (axis,) = step.counted("axis", [step.attributes.get("axis", 0)], data.ndim)
    return *data.shape[:axis], *step.operand(1).data.shape, *data.shape[axis + 1 :]


def _expanded(step, data):
    return np.broadcast_shapes(data.shape, _bounded(step.numbers(1, "shape")))


def _product(step, data):
    first, second = (
        one.T if step.attribute(name, 0) else one
        for one, name in ((data, "transA"), (step.operand(1).data, "transB"))
    )
    batch = np.broadcast_shapes(first.shape[:-2], second.shape[:-2])
    return (*batch, *first.shape[-2:-1], second.shape[-1])


def _padded(step, data):
    low, high = np.reshape(step.numbers(1, "pads"), (2, -1))
    return [
        length + max(0, *sides)
        for length, *sides in zip(data.shape, low, high, low + high, strict=True)
    ]


#: Operator -> operand with its axes, where that is no attribute.
_AXES = {
    "Slice": 3,
    **dict.fromkeys(
        ("ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum", "Squeeze"), 1
    ),
}
#: Operators whose operands are broadcast.
_ELEMENTWISE = frozenset(
    """
    Add And Div Equal Greater GreaterOrEqual Less LessOrEqual Max Min Mod Mul Or Pow Sub Sum Where
    Xor
    """.split()
)
#: Other operators whose result may be larger than their operands -> its shape, at least.
_SHAPES = {
    "Expand": _expanded,
    "Gather": _gathered,
    **dict.fromkeys(("MatMul", "Gemm"), _product),
    "OneHot": lambda step, data: (*data.shape, int(step.operand(1).data.item())),
    "Pad": _padded,
    "Range": _range_length,
    "Tile": lambda step, data: np.multiply(data.shape, step.numbers(1, "repeats")),
}
#: Operator -> function of a step that computes it on constants in another way than ONNX's reference
#: does: reals of all widths are of 64 bits here.
_OWN = {
    "Constant": _constant,
    "ConstantOfShape": _filled,
    "Shape": lambda step: _shape(step, step.operand(0).data.shape),
    "CastLike": _cast_like,
    "Split": _split,
    "Dropout": lambda step: step.operand(0).data,
    "Cast": _cast,
}
#: Operators that are computed on constants.
FOLDED = frozenset(_OWN) | frozenset(
    """
    Abs Add And Ceil Clip Concat Cos CumSum Div Equal Exp Expand Flatten Floor Gather Gemm
    Greater GreaterOrEqual Identity IsNaN Less LessOrEqual Log MatMul Max Min Mod Mul Neg Not OneHot
    Or Pad Pow
    Range Reciprocal ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum Relu Reshape Round Sigmoid
    Sign Sin Size Slice Sqrt Squeeze Sub Sum Tanh Tile Transpose Trilu Unsqueeze Where Xor
    """.split()
)
#: Errors that a node may raise if it cannot be computed.
_ERRORS = (
    ValueError,
    IndexError,
    TypeError,
    OverflowError,
    ZeroDivisionError,
    RuntimeError,
    AssertionError,
)
#: Operators that move elements and keep their values, so that a grid stays.
_MOVED = {"Identity", "Dropout", "Transpose", "Reshape", "Flatten", "Squeeze", "Unsqueeze"}
#: Operators that may do without an operand after the first.
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
    "Gemm",
    "Pad",
}


def _shape(step, lengths):
    return np.asarray(lengths[slice(step.attribute("start", 0), step.attribute("end"))], np.int64)


def _result(step):
    own = _OWN.get(step.operator)
    return _evaluated(step) if own is None else own(step)


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
            found = _result(step)
            if isinstance(found, list):
                return [Constant(one) for one in found]
            data = np.asarray(found)
    except _ERRORS as error:
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
    scale = np.asarray(_result(along))
    for axis in range(scale.ndim):
        first = np.take(scale, [0], axis=axis)
        if np.all(scale == first):
            scale = first
    return replace(grid, scale=scale)
