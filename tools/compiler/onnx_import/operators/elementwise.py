# SPDX-License-Identifier: BSD-2-Clause
"""Translators of elementwise operators: activations, and arithmetic of two broadcast operands."""

import numpy as np

from ...graph import Activation, Binary
from ..errors import Refused
from ..step import Constant, Step, View, operator

_PLAIN = {
    "Relu": "relu",
    "Sigmoid": "sigmoid",
    "Tanh": "tanh",
    "Exp": "exp",
    "Log": "log",
    "Sqrt": "sqrt",
    "Neg": "neg",
    "Abs": "abs",
    "Sign": "sign",
    "Floor": "floor",
    "Ceil": "ceil",
    "Round": "round",
    "Sin": "sin",
    "Cos": "cos",
    "Tan": "tan",
    "Asin": "asin",
    "Acos": "acos",
    "Atan": "atan",
    "Sinh": "sinh",
    "Cosh": "cosh",
    "Asinh": "asinh",
    "Acosh": "acosh",
    "Atanh": "atanh",
}


@operator(*_PLAIN)
def _plain(step):
    return step.unary(Activation, function=_PLAIN[step.operator])


@operator("LeakyRelu")
def _leaky(step):
    return step.unary(Activation, function="leaky", alpha=float(step.attribute("alpha", 0.01)))


@operator("PRelu")
def _prelu(step):
    """Translates PRelu: a single slope is a leaky ReLU; several slopes give a x + (1 - a)
    relu(x)."""
    slope = step.operand(1)
    if isinstance(slope, View):
        x, slope = step.flowing(), step.flowing(1, "slope")
        high = step.draft.same(Activation, x, None, "high", function="relu")
        low = binary(step, "sub", x, high, None, "low")
        return binary(step, "add", high, binary(step, "mul", low, slope, None, "part"), step.output)
    data = step.finite("slope", step.fixed(1, "slope").data)
    if data.size and np.all(data == data.flat[0]):
        return step.unary(Activation, function="leaky", alpha=float(data.flat[0]))
    x = step.flowing()
    if np.broadcast_shapes(x.lengths, data.shape) != tuple(x.lengths):
        raise Refused(f"slope of shape {data.shape} for an input of {x.lengths}")
    high = step.draft.same(Activation, x, None, "high", function="relu")
    bent = binary(step, "mul", x, Constant(data), None, "bent")
    rest = binary(step, "mul", high, Constant(1 - data), None, "rest")
    return binary(step, "add", bent, rest, step.output)


@operator("HardSigmoid")
def _hard_sigmoid(step):
    return step.unary(
        Activation,
        function="hard_sigmoid",
        alpha=float(step.attribute("alpha", 0.2)),
        beta=float(step.attribute("beta", 0.5)),
    )


@operator("HardSwish")
def _hard_swish(step):
    return step.unary(Activation, function="hard_swish", alpha=1 / 6, beta=0.5)


def binary(
    step: Step,
    function: str,
    first: View | Constant,
    second: View | Constant,
    output: str | None,
    part: str = "",
) -> View:
    """Adds a node with ``function`` of two operands, broadcast by numpy's rules, and returns the
    view of its result."""
    draft, operands = step.draft, [first, second]
    try:
        lengths = np.broadcast_shapes(first.lengths, second.lengths)
    except ValueError:
        raise Refused(
            f"shapes {tuple(first.lengths)} and {tuple(second.lengths)} do not fit"
        ) from None
    for at, operand in enumerate(operands):
        if isinstance(operand, Constant):
            operands[at] = Constant(step.finite("its constant", operand.data))
    target = next(
        (
            operand.aligned(len(lengths))
            for operand in operands
            if isinstance(operand, View) and operand.aligned(len(lengths)).lengths == lengths
        ),
        None,
    )
    if target is not None:
        tensors = [draft.conform(operand, target) for operand in operands]
        return draft.view(
            draft.add(Binary, *tensors, output=output, part=part, function=function), target.axes
        )
    # Each is broadcast along some axis: both get the model's own axes, from the first on that is
    # longer than one.
    first = next((at for at, length in enumerate(lengths) if length > 1), len(lengths))
    tensors = []
    for operand in operands:
        own = (1,) * (len(lengths) - len(operand.lengths)) + tuple(operand.lengths)
        tensors.append(
            draft.ordered(operand, own[first:])
            if isinstance(operand, View)
            else draft.constant(operand.data.reshape(own[first:]))
        )
    result = draft.add(Binary, *tensors, output=output, part=part, function=function)
    return draft.view(result, [()] * first + [(axis,) for axis in range(len(lengths) - first)])


_FUNCTIONS = {"Add": "add", "Sub": "sub", "Mul": "mul", "Div": "div"}


def _operand(step, index):
    if not isinstance(step.operand(index), Constant):
        return step.flowing(index)
    found = step.fixed(index, "its operand")
    return step.softened(found) if step.operator == "Add" else found


@operator(*_FUNCTIONS)
def _binary(step):
    return binary(
        step, _FUNCTIONS[step.operator], _operand(step, 0), _operand(step, 1), step.output
    )


@operator("Sum")
def _sum(step):
    total = _operand(step, 0)
    if len(step.operands) == 1:
        return total
    for index in range(1, len(step.operands)):
        last = index == len(step.operands) - 1
        other = _operand(step, index)
        if isinstance(total, Constant) and isinstance(other, Constant):
            try:
                total = Constant(total.data + other.data)
            except ValueError as error:
                raise Refused(f"cannot be computed from its constants: {error}") from None
        else:
            total = binary(
                step,
                "add",
                total,
                other,
                step.output if last else None,
                "" if last else f"part_{index}",
            )
    return total


@operator("Reciprocal")
def _reciprocal(step):
    return binary(step, "div", Constant(np.float64(1)), step.flowing(), step.output)


@operator("Pow")
def _pow(step):
    view, power = step.flowing(), step.number(1, "the exponent")
    if power == 1:
        return view
    if power == 0.5:
        return step.unary(Activation, function="sqrt")
    if power == -1:
        return _reciprocal(step)
    if power in (2, 3, 4):
        square = binary(
            step,
            "mul",
            view,
            view,
            step.output if power == 2 else None,
            "" if power == 2 else "square",
        )
        if power == 2:
            return square
        return binary(step, "mul", square, view if power == 3 else square, step.output)
    if step.draft.may_be_negative(view) or not step.draft.is_made(view):
        raise Refused(
            f"exponent {power:g}: expected -1, 0.5, 1, 2, 3 or 4, or a base that is never negative "
            f"(behind a Relu, a Clip from 0, an Abs or an Exp)"
        )
    log = step.draft.same(Activation, view, None, "log", function="log")
    scaled = binary(step, "mul", log, Constant(np.float64(power)), None, "scaled")
    return step.draft.same(Activation, scaled, step.output, function="exp")
