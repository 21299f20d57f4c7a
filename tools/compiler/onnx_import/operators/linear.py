# SPDX-License-Identifier: BSD-2-Clause
"""Translators of matrix products. A product with a constant becomes a dense layer, with weights
permuted to the axis order of the graph's tensor."""

from collections.abc import Iterable
from math import prod
from typing import Any

import numpy as np

from ...graph import Conv, Dense, MatMul
from ..errors import Refused
from ..step import Constant, Step, View, operator
from .elementwise import binary
from .windows import weight_steps


def dense(
    step: Step,
    view: View,
    weights: np.ndarray,
    bias: np.ndarray | None,
    scale: np.ndarray | None,
    output: str | None,
) -> View:
    """Adds a dense layer of ``weights`` [out, features] on the model's last axis and returns the
    view of its result."""
    draft, lengths = step.draft, view.lengths
    if not lengths or lengths[-1] != weights.shape[1]:
        raise Refused(f"weights for {weights.shape[1]} features on a tensor of shape {lengths}")
    attributes: dict[str, Any] = {"weights": weights, "bias": bias, "weight_scale": scale}
    long = [axis for axis, length in enumerate(lengths[:-1]) if length > 1]
    units: list[tuple[int, ...]] = [()] * (len(lengths) - 1)
    if not long:
        # The layer reads the tensor in its own order: so must the weights be.
        inner = weights.reshape(len(weights), *(view.shape[axis] for axis in view.flat))
        order: Iterable[int] = np.argsort(view.flat) if view.flat else []
        attributes["weights"] = np.ascontiguousarray(
            inner.transpose(0, *(int(at) + 1 for at in order)).reshape(len(weights), -1)
        )
        return draft.view(
            draft.add(Dense, view.tensor, output=output, **attributes), [*units, (0,)]
        )
    if len(long) == 1:
        tensor = draft.arranged(view, [(long[0],), (len(lengths) - 1,)])
        units[long[0]] = (0,)
        return draft.view(
            draft.add(Dense, tensor, output=output, steps=True, **attributes), [*units, (1,)]
        )
    if len(long) == 2:
        # On a map it is a convolution of 1 x 1.
        tensor = draft.arranged(view, [(axis,) for axis in long] + [(len(lengths) - 1,)])
        attributes["weights"] = weights[:, None, None, :]
        for own, axis in enumerate(long):
            units[axis] = (own,)
        return draft.view(draft.add(Conv, tensor, output=output, **attributes), [*units, (2,)])
    tensor = draft.arranged(view, [tuple(range(len(lengths) - 1)), (len(lengths) - 1,)])
    result = draft.view(
        draft.add(Dense, tensor, output=output, steps=True, **attributes), [(0,), (1,)]
    )
    return draft.seen(result, (*lengths[:-1], len(weights)))


def _matrix(step, index, what):
    """Checks a constant factor and returns its two axes and its values."""
    constant = step.fixed(index, what)
    data = step.finite(what, constant.data)
    if data.ndim > 2 and prod(data.shape[:-2]) == 1:
        data = data.reshape(data.shape[-2:])
    if data.ndim != 2 or not data.size:
        raise Refused(
            f"{what} has the shape {constant.data.shape}: expected a constant of two axes"
        )
    return data, constant


@operator("MatMul")
def _matmul(step):
    first, second = step.operand(0), step.operand(1)
    if isinstance(second, Constant):
        if second.data.ndim == 1:
            view = step.flowing()
            result = dense(step, view, step.finite("B", second.data)[None], None, None, step.output)
            return step.draft.seen(result, view.lengths[:-1])
        data, constant = _matrix(step, 1, "B")
        steps = weight_steps(constant, 1) if constant.data.ndim == 2 else None
        return dense(step, step.flowing(), np.ascontiguousarray(data.T), None, steps, step.output)
    if isinstance(first, Constant):
        # A x = (x' A')'
        data, constant = _matrix(step, 0, "A")
        view = step.flowing(1)
        if len(view.lengths) < 2:
            return dense(step, view, data, None, None, step.output)
        swap = [*range(len(view.lengths) - 2), len(view.lengths) - 1, len(view.lengths) - 2]
        steps = weight_steps(constant, 0) if constant.data.ndim == 2 else None
        return dense(step, view.permuted(swap), data, None, steps, step.output).permuted(swap)
    return product(step, step.flowing(0), step.flowing(1), step.output)


def product(step: Step, first: View, second: View, output: str | None, part: str = "") -> View:
    """Adds a product of two matrices, or of two batches of matrices, and returns the view of its
    result."""
    draft = step.draft
    try:
        lengths = MatMul(name="", inputs=[], output="").shape_of(first.lengths, second.lengths)
    except ValueError as error:
        raise Refused(f"shapes do not fit: {error}") from None
    tensors = []
    for view in (first, second):
        # Axes in front that are one long are the inputs' or broadcast; the matrices' own stay.
        skip = 0
        while len(view.lengths) - skip > 2 and view.lengths[skip] == 1:
            skip += 1
        tensors.append(draft.ordered(view, view.lengths[skip:]))
    result = draft.add(MatMul, *tensors, output=output, part=part)
    count = len(draft.graph.shape(result))
    return draft.view(result, [()] * (len(lengths) - count) + [(axis,) for axis in range(count)])


@operator("Gemm")
def _gemm(step):
    alpha, beta = float(step.attribute("alpha", 1.0)), float(step.attribute("beta", 1.0))
    addend = step.operand(2) if beta else None
    first, second = step.operand(0), step.operand(1)
    for operand in (first, second):
        if operand is not None and len(operand.lengths) != 2:
            raise Refused(f"a factor of shape {tuple(operand.lengths)}: expected two axes")
    bias = None
    if isinstance(first, View) and isinstance(second, Constant):
        view = step.flowing().permuted((1, 0)) if step.attribute("transA", 0) else step.flowing()
        data, constant = _matrix(step, 1, "B")
        turned = step.attribute("transB", 0)
        weights, steps = data if turned else data.T, weight_steps(constant, 0 if turned else 1)
        if isinstance(addend, Constant):
            values = step.finite("C", step.fixed(2, "C").data) * beta
            # A row for all results of the layer; anything else is added after it.
            if values.ndim < 2 or values.shape[0] == 1:
                if values.size not in (1, len(weights)):
                    raise Refused(f"C of shape {values.shape} for {len(weights)} features")
                bias, addend = np.array(np.broadcast_to(values.ravel(), len(weights))), None
        steps = steps * abs(alpha) if steps is not None and alpha else None
        result = dense(
            step,
            view,
            np.ascontiguousarray(weights * alpha),
            bias,
            steps,
            step.output if addend is None else None,
        )
    else:
        factors = [step.flowing(0) if isinstance(first, View) else None, step.flowing(1)]
        if factors[0] is None:
            data, _ = _matrix(step, 0, "A")
            view = factors[1] if step.attribute("transB", 0) else factors[1].permuted((1, 0))
            weights = np.ascontiguousarray(
                (data.T if step.attribute("transA", 0) else data) * alpha
            )
            result = dense(
                step, view, weights, None, None, step.output if addend is None else None
            ).permuted((1, 0))
        else:
            turned = [
                view.permuted((1, 0)) if step.attribute(name, 0) else view
                for view, name in zip(factors, ("transA", "transB"), strict=True)
            ]
            plain = alpha == 1 and addend is None
            result = product(step, *turned, step.output if plain else None)
            if alpha != 1:
                result = binary(
                    step,
                    "mul",
                    result,
                    Constant(np.float64(alpha)),
                    step.output if addend is None else None,
                    "alpha",
                )
    if addend is None:
        return result
    if isinstance(addend, Constant):
        return binary(
            step, "add", result, Constant(step.fixed(2, "C").data * beta), step.output, "add"
        )
    flowing = step.flowing(2)
    scaled = (
        flowing
        if beta == 1
        else binary(step, "mul", flowing, Constant(np.float64(beta)), None, "beta")
    )
    return binary(step, "add", result, scaled, step.output, "add")
