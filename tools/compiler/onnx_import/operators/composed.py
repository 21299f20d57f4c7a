# SPDX-License-Identifier: BSD-2-Clause
"""Translators of composite operators, as sequences of simpler nodes; nodes that a core does not
support may run on the host."""

from dataclasses import replace
from functools import reduce
from math import pi, sqrt

import numpy as np

from ...graph import Activation
from ..errors import Refused
from ..step import Constant, View, operator
from .chain import Chain

#: Of Selu, where the model gives none (ONNX).
_SELU = 1.6732632423543772, 1.0507009873554805
#: Coefficients of :func:`_error_function`.
_ERF_PLACE, _ERF = 0.3275911, (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)


@operator("Elu", "Selu", "Celu")
def _elu(step):
    """Translates Elu, Selu and Celu: gamma * (max(x, 0) + alpha * (exp(min(x, 0) / scale) - 1))."""
    usual, factor = _SELU if step.operator == "Selu" else (1.0, 1.0)
    alpha, gamma = float(step.attribute("alpha", usual)), float(step.attribute("gamma", factor))
    chain, x = Chain(step), step.flowing()
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
    """Translates Softplus as max(x, 0) + log(1 + exp(-|x|)), which is accurate for any x."""
    chain, x = Chain(step), step.flowing()
    small = chain.act("exp", chain.act("neg", chain.act("abs", x, "abs"), "neg"), "exp")
    return chain.of_two(
        "",
        "add",
        chain.act("high", x, "relu"),
        chain.act("log", chain.of_two("one", "add", small, 1), "log"),
    )


@operator("Softsign")
def _softsign(step):
    chain, x = Chain(step), step.flowing()
    return chain.of_two("", "div", x, chain.of_two("one", "add", chain.act("abs", x, "abs"), 1))


def _error_function(chain, x, last=""):
    """Translates Erf: a polynomial of 1 / (1 + p |x|) times exp(-x^2) (Abramowitz and Stegun,
    7.1.26; error at most 1.5e-7). The sign of x is computed as a steep clipped line."""
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
    return _error_function(Chain(step), step.flowing())


@operator("Gelu")
def _gelu(step):
    """Translates Gelu: x / 2 * (1 + erf(x / sqrt(2))), or with tanh(sqrt(2 / pi) * (x + 0.044715
    x^3)) in place of the error function."""
    way = step.wants("approximate", ("none", "tanh"), "none")
    chain, x = Chain(step), step.flowing()
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


@operator("Mish")
def _mish(step):
    """Translates Mish: x tanh(log(1 + exp(x))) = x w / (w + 2), where w = n (n + 2) and n = exp(x);
    from 20 on the quotient is one."""
    chain, x = Chain(step), step.flowing()
    size = chain.act("exp", chain.act("low", x, "clip", high=20.0), "exp")
    weight = chain.of_two("weight", "mul", size, chain.of_two("two", "add", size, 2))
    share = chain.of_two("share", "div", weight, chain.of_two("four", "add", weight, 2))
    return chain.of_two("", "mul", x, share)


@operator("Swish")
def _swish(step):
    chain, x = Chain(step), step.flowing()
    inside = chain.times("scaled", x, float(step.attribute("alpha", 1.0)))
    return chain.of_two("", "mul", x, chain.act("gate", inside, "sigmoid"))


@operator("ThresholdedRelu")
def _thresholded(step):
    """Translates ThresholdedRelu: x if it is greater than alpha, else zero."""
    chain, x = Chain(step), step.flowing()
    alpha = float(step.attribute("alpha", 1.0))
    chosen = chain.act("step", chain.plus("above", x, -alpha), "step")
    return chain.of_two("", "mul", x, chosen)


@operator("Shrink")
def _shrink(step):
    """Translates Shrink: x + bias below -lambd, x - bias above lambd, zero in between."""
    chain, x = Chain(step), step.flowing()
    bound, bias = float(step.attribute("lambd", 0.5)), float(step.attribute("bias", 0.0))
    sides = []
    for part, sign in (("high", 1.0), ("low", -1.0)):
        turned = x if sign > 0 else chain.act("neg", x, "neg")
        chosen = chain.act(f"{part}_step", chain.plus(f"{part}_above", turned, -bound), "step")
        sides.append(chain.of_two(part, "mul", chain.plus(f"{part}_moved", turned, -bias), chosen))
    return chain.of_two("", "sub", *sides)


@operator("Clip")
def _clip(step):
    quantised = step.view()
    if quantised.grid is not None:
        return _narrowed(step, quantised)
    chain, x = Chain(step), step.flowing()
    limits = [step.operand(at) for at in (1, 2)]
    if not any(isinstance(limit, View) for limit in limits):
        low, high = step.number(1, "min", -np.inf), step.number(2, "max", np.inf)
        if not low <= high:
            raise Refused(f"min = {low} and max = {high}: expected the lower one first")
        return step.unary(Activation, function="clip", low=low, high=high)
    if limits[0] is not None:
        x = chain.maximum("" if limits[1] is None else "low", x, limits[0])
    return x if limits[1] is None else chain.minimum("", x, limits[1])


def _narrowed(step, view):
    """Clips quantised numbers, as Brevitas writes widths of fewer than 8 bits: the tensor ends at
    these numbers, and keeps its grid."""
    numbers = [np.inf, np.inf]
    for at, what in ((1, "min"), (2, "max")):
        limit = step.operand(at)
        if (
            not isinstance(limit, Constant)
            or limit.data.size != 1
            or limit.data.dtype.kind not in "iu"
        ):
            raise Refused(f"{what} of quantised numbers: expected a constant whole number")
        numbers[at - 1] = int(limit.data.reshape(())) - view.grid.zero_point
    low, high = (number * view.grid.scale for number in numbers)
    if not low <= high:
        raise Refused(f"min = {low} and max = {high}: expected the lower one first")
    plain = replace(view, grid=None)
    clipped = step.draft.same(Activation, plain, step.output, function="clip", low=low, high=high)
    step.draft.set_grid(clipped.tensor, view.grid)
    return replace(clipped, grid=view.grid)


@operator("Min", "Max", "Mean")
def _of_several(step):
    """Translates operators on any number of operands, the constant ones first."""
    if None in step.operands:
        raise Refused("an operand is left out")
    chain = Chain(step)
    constants = [
        step.finite("its constant", step.fixed(at, "its constant").data)
        for at, operand in enumerate(step.operands)
        if isinstance(operand, Constant)
    ]
    views = [
        step.flowing(at) for at, operand in enumerate(step.operands) if isinstance(operand, View)
    ]
    function = {"Min": np.minimum, "Max": np.maximum, "Mean": np.add}[step.operator]
    try:
        whole = [Constant(np.asarray(reduce(function, constants)))] if constants else []
    except ValueError as error:
        raise Refused(f"cannot be computed from its constants: {error}") from None
    total, rest = views[0], [*views[1:], *whole]
    for number, operand in enumerate(rest):
        part = "" if number == len(rest) - 1 and step.operator != "Mean" else f"part_{number}"
        if step.operator == "Mean":
            total = chain.of_two(part, "add", total, operand)
        else:
            total = (chain.minimum if step.operator == "Min" else chain.maximum)(
                part, total, operand
            )
    return chain.times("", total, 1 / len(step.operands)) if step.operator == "Mean" else total


@operator("SwiGLU")
def _swiglu(step):
    """Translates SwiGLU: the swish of its first operand times its second one."""
    first, second = (
        step.fixed(at, name) if isinstance(step.operand(at), Constant) else step.flowing(at, name)
        for at, name in enumerate("AB")
    )
    if tuple(first.lengths) != tuple(second.lengths):
        raise Refused(
            f"A of shape {tuple(first.lengths)} and B of {tuple(second.lengths)}: expected equal "
            f"shapes"
        )
    chain, alpha = Chain(step), float(step.attribute("alpha", 1.0))
    if isinstance(first, Constant):
        gate = step.finite("A", first.data)
        return chain.of_two("", "mul", second, Constant(gate / (1 + np.exp(-alpha * gate))))
    inside = chain.times("scaled", first, alpha)
    gate = chain.of_two("gate", "mul", first, chain.act("sigmoid", inside, "sigmoid"))
    return chain.of_two("", "mul", gate, second)
