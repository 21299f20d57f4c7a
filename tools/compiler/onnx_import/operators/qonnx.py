# SPDX-License-Identifier: BSD-2-Clause
"""Translators of QONNX's operators, which Brevitas exports as well: Quant, BipolarQuant, Trunc.

Constants take exactly the values that the operators' documents define. A tensor that flows stays in
real numbers, clipped where its grid ends, and records a grid of 8 bits for the quantiser.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...graph import Activation
from ..errors import Refused
from ..step import Constant, Grid, Step, View, operator
from .chain import Chain

#: Rounding mode -> the function on an array. Halves: ROUND to even, HALF_UP away from zero.
_ROUNDING: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "ROUND": np.rint,
    "HALF_EVEN": np.rint,
    "CEIL": np.ceil,
    "FLOOR": np.floor,
    "UP": lambda x: np.sign(x) * np.ceil(np.abs(x)),
    "DOWN": np.trunc,
    "HALF_UP": lambda x: np.sign(x) * np.floor(np.abs(x) + 0.5),
    "HALF_DOWN": lambda x: np.sign(x) * np.ceil(np.abs(x) - 0.5),
}
#: What a mode adds to a tensor that flows, in steps of its grid, before a core rounds to the
#: nearest.
_MOVED = {"FLOOR": -0.5, "CEIL": 0.5, "ROUND": 0, "HALF_EVEN": 0, "HALF_UP": 0, "HALF_DOWN": 0}


def _mode(step: Step, default: str) -> str:
    mode = str(step.attribute("rounding_mode", default)).upper()
    if mode not in _ROUNDING:
        raise Refused(f"rounding_mode = {mode!r}: expected {', '.join(_ROUNDING)}")
    return mode


def _moved(mode: str) -> float:
    if mode not in _MOVED:
        raise Refused(
            f"rounding_mode = {mode!r} of a tensor that depends on the network's inputs: expected "
            f"{', '.join(_MOVED)}"
        )
    return _MOVED[mode]


def _positive(step: Step, at: int, what: str) -> np.ndarray:
    found = step.fixed(at, what)
    if found is None:
        raise Refused(f"{what} is left out: expected a constant")
    scale = step.finite(what, found.data)
    if not (scale > 0).all():
        raise Refused(f"{what} is not positive")
    return scale


def _width(step: Step, at: int, what: str, low: int = 2) -> int:
    bits = step.number(at, what)
    if bits is None or bits != int(bits) or not low <= bits <= 32:
        raise Refused(f"{what} = {bits}: expected a whole number from {low} to 32")
    return int(bits)


def _range(bits: int, signed: bool, narrow: bool) -> tuple[int, int]:
    """Least and greatest integer of a width."""
    if signed:
        return -(1 << bits - 1) + narrow, (1 << bits - 1) - 1
    return 0, (1 << bits) - 1 - narrow


def _flags(step: Step, narrow: int) -> tuple[bool, bool]:
    return bool(step.attribute("signed", 1)), bool(step.attribute("narrow", narrow))


def _scalar(what: str, values: np.ndarray) -> float:
    if values.size != 1:
        raise Refused(f"{values.size} {what} of a tensor that flows: expected one")
    return float(values.flat[0])


def _ended(step: Step, view: View, grid: Grid, offset: float, limits: tuple[int, int]) -> View:
    """Clips a tensor where its grid ends, if that does anything beside rounding, and records the
    grid if cores have its width."""
    unit, low, high = float(grid.scale), *((at - offset) * float(grid.scale) for at in limits)
    # Its numbers end there, and quantisers omit a Relu or a Clip if that has the same effect.
    if grid.bits < 8:
        view = step.draft.same(
            Activation, view, step.output, "", function="clip", low=low, high=high
        )
    elif grid.bits == 8 or low >= 0 and grid.bits < 16:
        view = step.draft.cut(view, step.output, "", low, high, unit)
    if grid.bits == 8 and offset == int(offset):
        step.draft.set_grid(view.tensor, Grid(unit, int(offset), grid.bits, grid.signed))
    return view


@operator("Quant", "IntQuant")
def _quant(step):
    """Translates Quant: any scale, any zero point, and widths from 1 bit on."""
    bits, mode = _width(step, 3, "bitwidth", 1), _mode(step, "ROUND")
    signed, narrow = _flags(step, 0)
    scale = _positive(step, 1, "scale")
    zero = step.finite("zeropt", step.fixed(2, "zeropt").data)
    if bits == 1:
        if not signed or zero.any():
            raise Refused("bitwidth = 1: expected signed = 1 and zeropt 0, for plus and minus one")
        return _two_values(step, scale)
    limits = _range(bits, signed, narrow)
    if isinstance(step.operand(0), Constant):
        real = step.finite("its input", step.fixed(0, "its input").data)
        numbers = _ROUNDING[mode](np.clip(real / scale + zero, *limits)) - zero
        whole = zero.size == 1 and bits <= 16
        grid = Grid(_one(scale), int(zero.flat[0]), bits, signed) if whole else None
        return Constant(numbers * scale, grid)
    unit, offset = _scalar("scales", scale), _scalar("zero points", zero)
    view = Chain(step).plus("rounding", step.flowing(), _moved(mode) * unit)
    return _ended(step, view, Grid(unit, 0, bits, signed), offset, limits)


def _one(scale):
    """A scale as a single number, if all its elements are equal."""
    return float(scale.flat[0]) if scale.size == 1 else scale


@operator("BipolarQuant")
def _bipolar(step):
    """Translates BipolarQuant: plus and minus one, times a scale."""
    return _two_values(step, _positive(step, 1, "scale"))


def _two_values(step, scale):
    if isinstance(step.operand(0), Constant):
        data = step.finite("its input", step.fixed(0, "its input").data)
        return Constant(np.where(data >= 0, 1.0, -1.0) * scale)
    # 1 - 2 * (-x > 0), so that zero gives plus one.
    unit, chain = _scalar("scales", scale), Chain(step)
    below = chain.act("below", chain.act("minus", step.flowing(), "neg"), "step")
    return chain.plus("", chain.times("both", below, -2 * unit), unit)


@operator("Trunc")
def _trunc(step):
    """Translates Trunc, which drops the lowest bits. With five operands (version 1) the result
    keeps the scale of the source; with six (version 2) it has one of its own, and ends where its
    width ends."""
    mode, second = _mode(step, "FLOOR"), step.operand(5) is not None
    scale = _positive(step, 1, "scale")
    zero = step.finite("zeropt", step.fixed(2, "zeropt").data)
    before = _width(step, 3, "in_bitwidth", 1)
    after = _width(step, 5 if second else 4, "out_bitwidth", 1)
    signed, narrow = _flags(step, 0)
    if second:
        unit = _positive(step, 4, "out_scale")
        power, limits = 2.0 ** np.rint(np.log2(unit / scale)), _range(after, signed, narrow)
        offset = zero / power
    else:
        if after > before:
            raise Refused(f"out_bitwidth = {after} for in_bitwidth = {before}: expected fewer bits")
        unit, power, offset = scale, np.float64(2.0 ** (before - after)), zero
        limits = None
    if isinstance(step.operand(0), Constant):
        real = step.finite("its input", step.fixed(0, "its input").data)
        numbers = np.rint(real / scale + zero) / power
        numbers = numbers if limits is None else np.clip(numbers, *limits)
        return Constant((_ROUNDING[mode](numbers) - offset) * unit)
    unit, scale = _scalar("scales", unit), _scalar("scales", scale)
    power, offset = _scalar("scales", power), _scalar("zero points", offset)
    chain = Chain(step)
    # (x / scale + zero) / power - offset, in steps of the result. What is dropped is less than a
    # step by one unit of the source.
    gain = unit / scale / power
    below = _moved(mode) * (1 - 1 / power)
    moved = (_scalar("zero points", zero) / power - offset + below) * unit
    view = chain.plus("rounding", chain.times("kept", step.flowing(), gain), moved)
    grid = Grid(unit, 0, after, signed)
    if limits is not None:
        return _ended(step, view, grid, offset, limits)
    if after == 8 and offset == int(offset):
        step.draft.set_grid(view.tensor, Grid(unit, int(offset), after, signed))
    return view
