# SPDX-License-Identifier: BSD-2-Clause
"""Translators of QuantizeLinear and DequantizeLinear: the graph keeps real numbers, its tensors
record the quantisation grid."""

from dataclasses import replace

import numpy as np

from ...graph import Activation
from ..errors import Refused
from ..step import operator
from ..views import Constant, Grid

_WIDTHS = {
    "int8": (8, True),
    "uint8": (8, False),
    "int16": (16, True),
    "uint16": (16, False),
    "int32": (32, True),
}


def _grid(step, dtype, lengths):
    """Grid of the operator's scale and zero point, arrays shaped to broadcast to ``lengths``."""
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
    if grid.zero_point == (
        -(1 << grid.bits - 1) if grid.signed else 0
    ) and step.draft.may_be_negative(view):
        # Its lowest number stands for zero: quantisers leave a Relu out where this does what the
        # Relu did.
        view = step.draft.same(Activation, view, None, part="saturation", function="relu")
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
