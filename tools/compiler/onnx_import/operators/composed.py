# SPDX-License-Identifier: BSD-2-Clause
"""Translators of composite operators, expressed by simpler nodes; those that a core does not
support may go to the host."""

from math import pi, sqrt

import numpy as np

from ...graph import Activation, Concat, Reduce, Reshape
from ..errors import Refused
from ..step import operator
from ..views import Constant
from .elementwise import binary

#: Of Selu, where the model gives none (ONNX).
_SELU = 1.6732632423543772, 1.0507009873554805
#: Coefficients of :func:`_error_function`.
_ERF_PLACE, _ERF = 0.3275911, (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)


class _Chain:
    """Nodes for one of the model's, each with a ``part`` of its name but the last."""

    def __init__(self, step):
        self.step = step

    def act(self, part, view, function, **attributes):
        return self.step.draft.same(Activation, view, None, part, function=function, **attributes)

    def of_two(self, part, function, first, second):
        """``first`` and ``second``: views or numbers."""
        first, second = (
            Constant(np.float64(one)) if isinstance(one, int | float) else one
            for one in (first, second)
        )
        return binary(self.step, function, first, second, None if part else self.step.output, part)


@operator("Elu", "Selu", "Celu")
def _elu(step):
    """gamma * (max(x, 0) + alpha * (exp(min(x, 0) / scale) - 1))."""
    usual, factor = _SELU if step.operator == "Selu" else (1.0, 1.0)
    alpha, gamma = float(step.attribute("alpha", usual)), float(step.attribute("gamma", factor))
    chain, x = _Chain(step), step.flowing()
    low = chain.act("low", x, "clip", high=0.0)
    if step.operator == "Celu" and alpha != 1:
        low = chain.of_two("scaled", "div", low, alpha)
    bent = chain.of_two(
        "bent", "mul", chain.of_two("below", "sub", chain.act("exp", low, "exp"), 1), gamma * alpha
    )
    high = chain.act("high", x, "relu")
    return chain.of_two(
        "", "add", high if gamma == 1 else chain.of_two("straight", "mul", high, gamma), bent
    )


@operator("Softplus")
def _softplus(step):
    """max(x, 0) + log(1 + exp(-|x|)), which is right however large x is."""
    chain, x = _Chain(step), step.flowing()
    small = chain.act("exp", chain.act("neg", chain.act("abs", x, "abs"), "neg"), "exp")
    return chain.of_two(
        "",
        "add",
        chain.act("high", x, "relu"),
        chain.act("log", chain.of_two("one", "add", small, 1), "log"),
    )


@operator("Softsign")
def _softsign(step):
    chain, x = _Chain(step), step.flowing()
    return chain.of_two("", "div", x, chain.of_two("one", "add", chain.act("abs", x, "abs"), 1))


def _error_function(chain, x, last=""):
    """erf by a polynomial of 1 / (1 + p |x|) times exp(-x^2) (Abramowitz and Stegun, 7.1.26),
    1.5e-7 from it at most; its sign is a steep line, cut."""
    size = chain.act("size", x, "abs")
    place = chain.of_two(
        "place",
        "div",
        1,
        chain.of_two("from_one", "add", chain.of_two("spread", "mul", size, _ERF_PLACE), 1),
    )
    total = chain.of_two("term_4", "mul", place, _ERF[4])
    for number in (3, 2, 1, 0):
        total = chain.of_two(
            f"term_{number}",
            "mul",
            chain.of_two(f"sum_{number}", "add", total, _ERF[number]),
            place,
        )
    bell = chain.act(
        "bell", chain.act("below", chain.of_two("square", "mul", size, size), "neg"), "exp"
    )
    rest = chain.of_two("rest", "sub", 1, chain.of_two("tail", "mul", total, bell))
    return chain.of_two(
        last,
        "mul",
        rest,
        chain.act("sign", chain.of_two("steep", "mul", x, 2.0**20), "clip", low=-1.0, high=1.0),
    )


@operator("Erf")
def _erf(step):
    return _error_function(_Chain(step), step.flowing())


@operator("Gelu")
def _gelu(step):
    """x / 2 * (1 + erf(x / sqrt(2))), or with tanh(sqrt(2 / pi) * (x + 0.044715 x^3)) for the error
    function."""
    way = step.wants("approximate", ("none", "tanh"), "none")
    chain, x = _Chain(step), step.flowing()
    if way == "tanh":
        square = chain.of_two("square", "mul", x, x)
        inside = chain.of_two(
            "inside",
            "mul",
            chain.of_two("bent", "add", chain.of_two("scaled", "mul", square, 0.044715), 1),
            x,
        )
        gate = chain.act("tanh", chain.of_two("sized", "mul", inside, sqrt(2 / pi)), "tanh")
    else:
        gate = _error_function(chain, chain.of_two("sized", "mul", x, sqrt(0.5)), "erf")
    return chain.of_two(
        "", "mul", chain.of_two("half", "mul", x, 0.5), chain.of_two("one", "add", gate, 1)
    )


@operator("InstanceNormalization")
def _instance(step):
    """Every channel by its own mean and variance, over what lies behind the channels."""
    chain, x = _Chain(step), step.flowing()
    lengths = x.lengths
    if len(lengths) < 3 or lengths[0] != 1:
        raise Refused(
            f"input of shape {lengths}: expected a batch of 1, channels and at least one axis "
            f"behind them"
        )
    scale, shift = (
        step.finite(name, step.fixed(at, name).data) for at, name in ((1, "scale"), (2, "B"))
    )
    for name, data in (("scale", scale), ("B", shift)):
        if data.shape != (lengths[1],):
            raise Refused(f"{name} of shape {data.shape} for {lengths[1]} channels")
    x = step.draft.single_axes(x, range(1, len(lengths)))
    axes = tuple(sorted(axis for group in x.axes[2:] for axis in group))

    def mean(part, view):
        return step.draft.same(Reduce, view, None, part, function="mean", axes=axes, keep=True)

    def channels(data):
        return Constant(data.reshape(-1, *[1] * (len(lengths) - 2)))

    centred = chain.of_two("centred", "sub", x, mean("mean", x))
    variance = mean("variance", chain.of_two("square", "mul", centred, centred))
    spread = chain.act(
        "spread",
        chain.of_two("even", "add", variance, float(step.attribute("epsilon", 1e-5))),
        "sqrt",
    )
    return chain.of_two(
        "",
        "add",
        chain.of_two(
            "scaled", "mul", chain.of_two("divided", "div", centred, spread), channels(scale)
        ),
        channels(shift),
    )


def _nearest(step, length, factor):
    """Source index of each element of an enlarged axis, as ONNX computes it."""
    place = np.arange(length * factor)
    mode = (
        step.attribute("coordinate_transformation_mode", "half_pixel")
        if step.operator == "Resize"
        else "asymmetric"
    )
    modes = {
        "asymmetric": place / factor,
        "half_pixel": (place + 0.5) / factor - 0.5,
        "pytorch_half_pixel": (place + 0.5) / factor - 0.5,
        "align_corners": place * (length - 1) / max(length * factor - 1, 1),
    }
    rounding = (
        step.attribute("nearest_mode", "round_prefer_floor")
        if step.operator == "Resize"
        else "floor"
    )
    ways = {
        "floor": np.floor,
        "ceil": np.ceil,
        "round_prefer_floor": lambda x: np.ceil(x - 0.5),
        "round_prefer_ceil": lambda x: np.floor(x + 0.5),
    }
    if mode not in modes or rounding not in ways:
        raise Refused(
            f"coordinate_transformation_mode = {mode!r}, nearest_mode = {rounding!r}: expected "
            f"asymmetric, half_pixel or align_corners with floor, ceil or a "
            "round_prefer"
        )
    return np.clip(ways[rounding](modes[mode]), 0, length - 1).astype(int)


def _factors(step, lengths):
    """How often each of the model's axes is repeated."""
    axes = step.counted("axes", step.attribute("axes", range(len(lengths))), len(lengths))
    scales = step.fixed(1 if step.operator == "Upsample" else 2, "scales")
    if scales is not None and scales.data.size:
        given = [float(scale) for scale in scales.data.ravel()]
    else:
        sizes = step.numbers(3, "sizes", [])
        given = [size / lengths[axis] for size, axis in zip(sizes, axes, strict=False)]
    if len(given) != len(axes):
        raise Refused(f"{len(given)} scales or sizes for {len(axes)} axes")
    factors = dict(zip(axes, given, strict=True))
    if any(factor < 1 or factor != int(factor) for factor in given):
        raise Refused(f"scales = {given}: expected positive integers")
    return {axis: int(factor) for axis, factor in factors.items() if factor > 1}


@operator("Resize", "Upsample")
def _resize(step):
    """Nearest-neighbour upsampling: each row, or pixel, is concatenated with itself."""
    step.wants("mode", ("nearest",), "nearest")
    view = step.flowing()
    factors = _factors(step, view.lengths)
    if not factors:
        return view
    for axis, factor in factors.items():
        length = view.lengths[axis]
        if list(_nearest(step, length, factor)) != [
            place // factor for place in range(length * factor)
        ]:
            raise Refused(
                "its rounding takes other elements than each one equally often: expected "
                "coordinate_transformation_mode asymmetric with nearest_mode floor"
            )
    view = step.draft.single_axes(view, factors)
    tensor, shape = view.tensor, list(view.shape)
    for number, (axis, factor) in enumerate(factors.items()):
        (own,) = view.axes[axis]
        if own == len(shape) - 1:
            tensor = step.draft.add(Reshape, tensor, part=f"apart_{number}", shape=(*shape, 1))
        tensor = step.draft.add(Concat, *[tensor] * factor, part=f"repeated_{number}", axis=own + 1)
        shape[own] *= factor
        last = number == len(factors) - 1
        tensor = step.draft.add(
            Reshape,
            tensor,
            output=step.output if last else None,
            part="" if last else f"enlarged_{number}",
            shape=tuple(shape),
        )
    return step.draft.view(tensor, view.axes)
