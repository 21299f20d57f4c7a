# SPDX-License-Identifier: BSD-2-Clause
"""Translators of reductions: sums, means, extremes, norms, softmax, and indices of extremes."""

from math import prod

import numpy as np

from ...graph import Reduce, Softmax, TopK
from ..errors import Refused
from ..step import Constant, View, operator
from .chain import Chain
from .linear import dense

#: Reductions that the graph has.
_PLAIN = {
    "ReduceMean": "mean",
    "ReduceSum": "sum",
    "ReduceMax": "max",
    "ReduceProd": "prod",
}


@operator("CumSum")
def _running_sum(step):
    """Translates CumSum as a product with a triangle of ones."""
    view = step.flowing()
    (axis,) = step.counted("axis", [int(step.number(1, "axis"))], len(view.lengths))
    length = view.lengths[axis]
    ones = np.tri(length, k=-1 if step.attribute("exclusive", 0) else 0)
    order = [at for at in range(len(view.lengths)) if at != axis] + [axis]
    weights = ones.T if step.attribute("reverse", 0) else ones
    summed = dense(step, view.permuted(order), weights, None, None, step.output)
    return summed.permuted([order.index(at) for at in range(len(order))])


@operator(
    *_PLAIN,
    "ReduceMin",
    "ReduceL1",
    "ReduceL2",
    "ReduceSumSquare",
    "ReduceLogSum",
    "ReduceLogSumExp",
)
def _reduce(step):
    view = step.flowing()
    count = len(view.lengths)
    axes = step.axes(count)
    if not axes:
        if step.attribute("noop_with_empty_axes", 0):
            axes = []
            if step.operator in (*_PLAIN, "ReduceMin"):
                return view
        else:
            axes = list(range(count))
    view = _reduced(step, view, axes)
    if step.attribute("keepdims", 1):
        return view
    return step.draft.seen(
        view, [length for at, length in enumerate(view.lengths) if at not in axes]
    )


def _reduced(step, view, axes):
    """Adds a Reduce node; the reduced axes keep length one."""
    chain, kind = Chain(step), step.operator
    if kind in _PLAIN:
        return chain.reduce("", view, _PLAIN[kind], axes)
    if kind == "ReduceMin":
        greatest = chain.reduce("greatest", chain.act("neg", view, "neg"), "max", axes)
        return chain.act("", greatest, "neg")
    if kind == "ReduceL1":
        return chain.reduce("", chain.act("size", view, "abs"), "sum", axes)
    if kind == "ReduceLogSum":
        return chain.act("", chain.reduce("sum", view, "sum", axes), "log")
    if kind == "ReduceLogSumExp":
        greatest = chain.reduce("greatest", view, "max", axes)
        below = chain.act("exp", chain.of_two("below", "sub", view, greatest), "exp")
        log = chain.act("log", chain.reduce("sum", below, "sum", axes), "log")
        return chain.of_two("", "add", log, greatest)
    square = chain.of_two("square", "mul", view, view)
    if kind == "ReduceSumSquare":
        return chain.reduce("", square, "sum", axes)
    return chain.act("", chain.reduce("sum", square, "sum", axes), "sqrt")


@operator("LpNormalization")
def _lp_normalization(step):
    """Translates LpNormalization: divides by the L1 or L2 norm along one axis."""
    power = step.wants("p", (1, 2), 2)
    chain, x = Chain(step), step.flowing()
    (axis,) = step.counted("axis", [step.attribute("axis", -1)], len(x.lengths))
    part = chain.act("size", x, "abs") if power == 1 else chain.of_two("square", "mul", x, x)
    size = chain.reduce("sum", part, "sum", [axis])
    if power == 2:
        size = chain.act("root", size, "sqrt")
    # Zeros alone have no direction: they stay zeros.
    return chain.of_two("", "div", x, chain.act("limit", size, "clip", low=1e-12))


@operator("Softmax", "LogSoftmax")
def _softmax(step):
    view = step.flowing()
    count = len(view.lengths)
    if step.opset >= 13:
        (axis,) = step.counted("axis", [step.attribute("axis", -1)], count)
        view = step.draft.single_axes(view, [axis])
        return step.draft.same(
            Softmax, view, step.output, axis=view.axes[axis][0], log=step.operator == "LogSoftmax"
        )
    # Before opset 13 everything from the axis on is one distribution.
    (axis,) = step.counted("axis", [step.attribute("axis", 1)], count)
    flat = step.draft.single_axes(
        step.draft.seen(view, (prod(view.lengths[:axis]), prod(view.lengths[axis:]))), [1]
    )
    result = step.draft.same(
        Softmax, flat, step.output, axis=flat.axes[1][0], log=step.operator == "LogSoftmax"
    )
    return step.draft.seen(result, view.lengths)


@operator("ArgMax", "ArgMin")
def _index(step):
    last = "_last" if step.attribute("select_last_index", 0) else ""
    view = step.flowing()
    (axis,) = step.counted("axis", [step.attribute("axis", 0)], len(view.lengths))
    view = step.draft.single_axes(view, [axis])
    result = step.draft.add(
        Reduce,
        view.tensor,
        output=step.output,
        function=step.operator.lower() + last,
        axes=(view.axes[axis][0],),
        keep=True,
    )
    result = step.draft.view(result, view.axes, integer=True)
    if step.attribute("keepdims", 1):
        return result
    return step.draft.seen(
        result, [length for at, length in enumerate(result.lengths) if at != axis]
    )


@operator("TopK")
def _top(step):
    """Translates TopK: values and indices, each by a node of its own."""
    view, (count,) = step.flowing(), step.numbers(1, "K")
    (axis,) = step.counted("axis", [step.attribute("axis", -1)], len(view.lengths))
    if not step.attribute("sorted", 1):
        raise Refused("sorted = 0: expected 1, the greatest first")
    view = step.draft.single_axes(view, [axis])
    results = []
    for name, indices in zip((*step.outputs, ""), (False, True), strict=False):
        if not name or name not in step.used:
            results.append(None)
            continue
        tensor = step.draft.add(
            TopK,
            view.tensor,
            output=name,
            part="indices" if indices else "",
            axis=view.axes[axis][0],
            count=count,
            largest=bool(step.attribute("largest", 1)),
            indices=indices,
        )
        results.append(step.draft.view(tensor, view.axes, integer=indices))
    return results


@operator("Hardmax")
def _hardmax(step):
    """Translates Hardmax: one at the first greatest element along an axis, else zero."""
    view = step.flowing()
    count = len(view.lengths)
    (axis,) = step.counted("axis", [step.attribute("axis", -1 if step.opset >= 13 else 1)], count)
    flat = view
    if step.opset < 13:
        # Before opset 13 everything from the axis on is one row.
        flat = step.draft.seen(view, (prod(view.lengths[:axis]), prod(view.lengths[axis:])))
        axis = 1
    flat = step.draft.single_axes(flat, [axis])
    places = step.draft.same(
        Reduce, flat, None, "place", function="argmax", axes=flat.axes[axis], keep=True
    )
    result = one_hot(Chain(step), places, axis, flat.lengths[axis])
    return step.draft.seen(result, view.lengths)


def one_hot(chain: Chain, places: View, axis: int, depth: int, last: str = "") -> View:
    """One-hot encoding as max(0, 1 - |place - index|): one where the index equals the place, else
    zero.

    Parameters
    ----------
    places : View of whole numbers, its ``axis`` one long
    """
    shape = [1] * len(places.lengths)
    shape[axis] = depth
    indices = Constant(np.arange(depth, dtype=np.float64).reshape(shape))
    apart = chain.act("apart", chain.of_two("from", "sub", places, indices), "abs")
    return chain.act(last, chain.of_two("near", "sub", 1, apart), "relu")
