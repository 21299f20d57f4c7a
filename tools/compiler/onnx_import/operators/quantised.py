# SPDX-License-Identifier: BSD-2-Clause
"""Translators of quantised operators: the graph keeps real numbers, and its tensors record the
quantisation grid. Integer operators are read as the equivalent QuantizeLinear and DequantizeLinear
form."""

from dataclasses import replace

import numpy as np

from ...graph import Tensor
from ..errors import Refused
from ..step import OPERATORS, Constant, Grid, View, operator

_WIDTHS = {
    "int8": (8, True),
    "uint8": (8, False),
    "int16": (16, True),
    "uint16": (16, False),
    "int32": (32, True),
}


def _grid(step, dtype, lengths):
    """Quantisation grid of the operator's scale and zero point, arrays shaped to broadcast to
    ``lengths``."""
    scale = step.fixed(1, "its scale")
    zero = step.operand(2)
    if zero is not None and not isinstance(zero, Constant):
        raise Refused("its zero point depends on the network's inputs: expected a constant")
    if zero is not None and zero.data.dtype.kind not in "iu":
        raise Refused("its zero point is no whole number: expected integers")
    dtype = np.dtype(dtype if zero is None else zero.data.dtype)
    if dtype.name not in _WIDTHS:
        raise Refused(f"numbers of {dtype}: expected {', '.join(_WIDTHS)}")
    if step.attribute("block_size", 0):
        raise Refused(
            f"block_size = {step.attribute('block_size')}: expected one scale for all or one per "
            f"element"
        )
    scale = step.finite("its scale", scale.data)
    if not (scale > 0).all():
        raise Refused("its scale is not positive")
    zero = np.zeros(scale.shape, np.int64) if zero is None else zero.data.astype(np.int64)
    if zero.size != scale.size:
        raise Refused(f"{scale.size} scales and {zero.size} zero points")
    if scale.size == 1:
        return Grid(
            float(scale.reshape(())), int(zero.reshape(())), *_WIDTHS[dtype.name]
        ), zero.reshape(())
    (axis,) = step.counted("axis", [step.attribute("axis", 1)], len(lengths))
    if scale.size != lengths[axis]:
        raise Refused(f"{scale.size} scales for an axis of {lengths[axis]}")
    shape = [1] * len(lengths)
    shape[axis] = scale.size
    return Grid(scale.reshape(shape), int(zero.ravel()[0]), *_WIDTHS[dtype.name]), zero.reshape(
        shape
    )


@operator("QuantizeLinear")
def _quantize(step):
    operand = step.operand(0)
    wanted = {2: "uint8", 3: "int8", 4: "uint16", 5: "int16"}.get(
        step.attribute("output_dtype", 0), "uint8"
    )
    if isinstance(operand, Constant):
        real = step.fixed(0, "its input")
        grid, zero = _grid(step, wanted, real.lengths)
        low = -(1 << grid.bits - 1) if grid.signed else 0
        numbers = np.clip(
            np.rint(step.finite("its input", real.data) / grid.scale) + zero,
            low,
            low + (1 << grid.bits) - 1,
        )
        return Constant(numbers.astype(np.int64), grid, whole=True)
    view = step.flowing()
    grid, _ = _grid(step, wanted, view.lengths)
    if np.ndim(grid.scale):
        raise Refused(f"{np.size(grid.scale)} scales of a tensor that flows: expected one")
    # Quantisers omit a Relu, or a Clip, if the grid has the same effect.
    ends = Tensor("", (), **vars(grid)).ends().tolist()
    view = step.draft.cut(view, None, "saturation", *ends, grid.scale)
    step.draft.set_grid(view.tensor, grid)
    return replace(view, grid=grid)


@operator("DequantizeLinear")
def _dequantize(step):
    operand = step.operand(0)
    if isinstance(operand, Constant):
        if operand.data.dtype.kind not in "iu":
            raise Refused("its input is no whole number: expected integers")
        dtype = (
            operand.data.dtype
            if operand.grid is None
            else f"{'' if operand.grid.signed else 'u'}int{operand.grid.bits}"
        )
        grid, zero = _grid(step, dtype, operand.lengths)
        return Constant((operand.data.astype(np.float64) - zero) * grid.scale, grid)
    view = step.view()
    if view.grid is not None:
        grid, _ = _grid(step, f"{'' if view.grid.signed else 'u'}int{view.grid.bits}", view.lengths)
        if grid != view.grid:
            raise Refused(
                f"scale {grid.scale} and zero point {grid.zero_point}, its input was quantised "
                f"with {view.grid.scale} and {view.grid.zero_point}: expected the same"
            )
        return replace(view, grid=None)
    if not view.integer:
        raise Refused(
            "its input holds real numbers: expected what QuantizeLinear gives, or an integer input "
            "of the network"
        )
    grid, _ = _grid(step, "uint8", view.lengths)
    if np.ndim(grid.scale):
        raise Refused(f"{np.size(grid.scale)} scales of a tensor that flows: expected one")
    step.draft.integer_input(view.tensor, grid)
    return replace(view, integer=False)


def _real(step, at, scale_at, zero_at, **attributes):
    """Real numbers of an integer operand, by the scale and zero point among the operands."""
    operands = [step.operand(at), step.operand(scale_at), step.operand(zero_at)]
    return _dequantize(step.rewritten("DequantizeLinear", operands, **attributes))


@operator("QLinearConv")
def _qlinear_conv(step):
    x, w = _real(step, 0, 1, 2), _real(step, 3, 4, 5, axis=0)
    if not isinstance(w, Constant):
        raise Refused("w depends on the network's inputs: expected a constant")
    operands = [x, w]
    if step.operand(8) is not None:
        # Its scale is that of the products.
        unit = step.fixed(1, "x_scale").data * step.fixed(4, "w_scale").data
        operands.append(Constant(step.operand(8).data * unit))
    result = OPERATORS["Conv"](step.rewritten("Conv", operands))
    return _quantize(step.rewritten("QuantizeLinear", [result, step.operand(6), step.operand(7)]))


@operator("QLinearMatMul")
def _qlinear_matmul(step):
    columns = len(step.operand(3).lengths) - 1
    factors = [_real(step, 0, 1, 2), _real(step, 3, 4, 5, axis=columns)]
    result = OPERATORS["MatMul"](step.rewritten("MatMul", factors))
    return _quantize(step.rewritten("QuantizeLinear", [result, step.operand(6), step.operand(7)]))


@operator("ConvInteger", "MatMulInteger")
def _of_integers(step):
    """Integers minus their zero points, as real numbers of scale one."""
    factors = []
    for at in (0, 1):
        operand, zero = step.operand(at), step.operand(at + 2)
        if isinstance(operand, View) and not operand.integer and operand.grid is None:
            factors.append(operand)
            continue
        one = Constant(np.ones(1 if zero is None else zero.data.shape))
        last = len(operand.lengths) - 1 if step.operator == "MatMulInteger" else 0
        factors.append(
            _dequantize(step.rewritten("DequantizeLinear", [operand, one, zero], axis=last))
        )
    kind = step.operator.removesuffix("Integer")
    return replace(OPERATORS[kind](step.rewritten(kind, factors)), integer=True)


@operator("DynamicQuantizeLinear")
def _dynamic(step):
    """Translates DynamicQuantizeLinear, which has a scale for each input. The tensor is passed on
    unchanged with scale one; the quantiser chooses one scale for all inputs."""
    behind = {"ConvInteger", "MatMulInteger", "DequantizeLinear"}
    if not step.read_by(0) <= behind or "end" in step.read_by(1) | step.read_by(2):
        raise Refused(
            f"its results go to {', '.join(sorted(step.read_by(0) - behind)) or 'an output'}: "
            f"expected {', '.join(sorted(behind))} behind it"
        )
    return [step.flowing(), Constant(np.float64(1)), Constant(np.zeros((), np.uint8))]
