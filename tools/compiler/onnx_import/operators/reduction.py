# SPDX-License-Identifier: BSD-2-Clause
"""Translators of reductions: mean, sum, max, softmax, argmax."""

from math import prod

from ...graph import Reduce, Softmax
from ..step import operator


@operator("ReduceMean", "ReduceSum", "ReduceMax")
def _reduce(step):
    view = step.flowing()
    count = len(view.lengths)
    axes = step.axes(count)
    if not axes:
        if step.attribute("noop_with_empty_axes", 0):
            return view
        axes = list(range(count))
    reduced = tuple(sorted(axis for at in axes for axis in view.axes[at]))
    if prod(view.shape[axis] for axis in reduced) > 1:
        view = step.draft.same(
            Reduce, view, step.output, function=step.operator[6:].lower(), axes=reduced, keep=True
        )
    return (
        view
        if step.attribute("keepdims", 1)
        else view.reshaped([length for at, length in enumerate(view.lengths) if at not in axes])
    )


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


@operator("ArgMax")
def _argmax(step):
    step.wants("select_last_index", (0,), 0)
    view = step.flowing()
    (axis,) = step.counted("axis", [step.attribute("axis", 0)], len(view.lengths))
    view = step.draft.single_axes(view, [axis])
    result = step.draft.add(
        Reduce,
        view.tensor,
        output=step.output,
        function="argmax",
        axes=(view.axes[axis][0],),
        keep=True,
    )
    result = step.draft.view(result, view.axes, integer=True)
    if step.attribute("keepdims", 1):
        return result
    return result.reshaped([length for at, length in enumerate(result.lengths) if at != axis])
