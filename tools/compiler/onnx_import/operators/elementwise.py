# SPDX-License-Identifier: BSD-2-Clause
"""Translators of elementwise operators: activations, and arithmetic of two broadcast operands."""

import numpy as np

from ...graph import Activation, Binary
from ..errors import Refused
from ..step import Step, operator
from ..views import Constant, View

_PLAIN = {
    "Relu": "relu",
    "Sigmoid": "sigmoid",
    "Tanh": "tanh",
    "Exp": "exp",
    "Log": "log",
    "Sqrt": "sqrt",
    "Neg": "neg",
    "Abs": "abs",
}


@operator(*_PLAIN)
def _plain(step):
    return step.unary(Activation, function=_PLAIN[step.operator])


@operator("LeakyRelu")
def _leaky(step):
    return step.unary(Activation, function="leaky", alpha=float(step.attribute("alpha", 0.01)))


@operator("PRelu")
def _prelu(step):
    return step.unary(Activation, function="leaky", alpha=step.number(1, "slope"))


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


@operator("Clip")
def _clip(step):
    low, high = step.number(1, "min", -np.inf), step.number(2, "max", np.inf)
    if not low <= high:
        raise Refused(f"min = {low} and max = {high}: expected the lower one first")
    return step.unary(Activation, function="clip", low=low, high=high)


@operator("Min", "Max")
def _limit(step):
    """Of a tensor and one number: a limit."""
    kinds = [type(operand) for operand in step.operands]
    if sorted(kinds, key=lambda kind: kind.__name__) != [Constant, View]:
        raise Refused(
            f"{step.operator} of {len(step.operands)} operands: expected a tensor and a constant "
            f"number"
        )
    at = 0 if isinstance(step.operands[0], View) else 1
    number = step.number(1 - at, "the constant")
    limits = {"low": number} if step.operator == "Max" else {"high": number}
    return step.draft.same(Activation, step.flowing(at), step.output, function="clip", **limits)


def binary(
    step: Step,
    function: str,
    first: View | Constant,
    second: View | Constant,
    output: str | None,
    part: str = "",
) -> View:
    """Adds ``function`` of two operands, broadcast by numpy's rules, and returns the view of its
    result."""
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
    return (
        step.fixed(index, "its operand")
        if isinstance(step.operand(index), Constant)
        else step.flowing(index)
    )


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
    if power not in (2, 3):
        raise Refused(f"exponent {power:g}: expected -1, 0.5, 1, 2 or 3")
    square = binary(
        step, "mul", view, view, step.output if power == 2 else None, "" if power == 2 else "square"
    )
    return square if power == 2 else binary(step, "mul", square, view, step.output)
