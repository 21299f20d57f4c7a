# SPDX-License-Identifier: BSD-2-Clause
"""Translators of ai.onnx.ml operators that scikit-learn's converters emit around linear models and
perceptrons."""

import numpy as np

from ...graph import Activation, Affine, Binary, Reduce, Softmax
from ..errors import Refused
from ..step import Constant, operator
from .linear import dense


def _floats(step, name):
    return step.finite(name, step.attribute(name, []))


@operator("Scaler")
def _scaler(step):
    view = step.flowing()
    features = view.lengths[-1] if view.lengths else 1
    offset, scale = _floats(step, "offset"), _floats(step, "scale")
    for name, values in (("offset", offset), ("scale", scale)):
        if values.size not in (1, features):
            raise Refused(f"{name} has {values.size} elements for {features} features")
    view = step.draft.single_axes(view, [len(view.lengths) - 1])
    if view.axes[-1][0] != len(view.shape) - 1:
        view = step.draft.plain(view)
    scale = np.array(np.broadcast_to(scale, features))
    return step.draft.same(Affine, view, step.output, scale=scale, shift=-offset * scale)


def _linear(step, out, output):
    """Adds the product with ``out`` rows of coefficients and returns its view."""
    view = step.flowing()
    coefficients, intercepts = _floats(step, "coefficients"), _floats(step, "intercepts")
    if not out or coefficients.size % out or intercepts.size not in (0, out):
        raise Refused(
            f"{coefficients.size} coefficients and {intercepts.size} intercepts for {out} results"
        )
    return dense(
        step,
        view,
        coefficients.reshape(out, -1),
        intercepts if intercepts.size else None,
        None,
        output,
    )


@operator("LinearRegressor")
def _regressor(step):
    step.wants("post_transform", ("NONE",), "NONE")
    return _linear(step, step.attribute("targets", 1), step.output)


@operator("LinearClassifier")
def _classifier(step):
    """Translates LinearClassifier: class labels and scores."""
    transform = step.wants("post_transform", ("NONE", "SOFTMAX", "LOGISTIC"), "NONE")
    intercepts = step.attribute("intercepts", [])
    labels = list(step.attribute("classlabels_ints", []))
    if len(intercepts) < 2:
        raise Refused(f"{len(intercepts)} intercepts: expected one for each of two classes or more")
    label, score = (name if name in step.used else None for name in step.outputs)
    sums = _linear(step, len(intercepts), score if transform == "NONE" else None)
    draft, axis = step.draft, sums.axes[-1][0]
    scores = sums
    if transform == "SOFTMAX":
        scores = draft.same(Softmax, sums, score, part="softmax", axis=axis)
    elif transform == "LOGISTIC":
        scores = draft.same(Activation, sums, score, part="logistic", function="sigmoid")
    if label is None:
        return [None, scores]
    if labels != list(range(len(intercepts))):
        raise Refused(
            f"classlabels = {labels or step.attribute('classlabels_strings')}: expected numbers "
            f"from 0 on, or its scores alone"
        )
    largest = draft.add(
        Reduce, sums.tensor, output=label, part="label", function="argmax", axes=(axis,), keep=True
    )
    found = draft.view(largest, sums.axes, integer=True)
    return [draft.seen(found, sums.lengths[:-1]), scores]


@operator("ArrayFeatureExtractor")
def _extractor(step):
    """Translates the label lookup of a classifier whose labels are the class indices."""
    labels = step.operand(0)
    if not isinstance(labels, Constant):
        raise Refused("X depends on the network's inputs: expected constant labels")
    numbers = labels.data.ravel()
    if not np.array_equal(numbers, np.arange(numbers.size)):
        raise Refused(f"X = {numbers[:8].tolist()}: expected labels that are numbers from 0 on")
    view = step.view(1, "Y")
    if not view.integer:
        raise Refused("Y holds real numbers: expected what ArgMax gives")
    return step.draft.seen(view, (1, *view.lengths) if len(view.lengths) < 2 else view.lengths)


@operator("Normalizer")
def _normalizer(step):
    step.wants("norm", ("L1",), "MAX")
    view = step.flowing()
    view = step.draft.single_axes(view, [len(view.lengths) - 1])
    size = step.draft.same(Activation, view, None, part="size", function="abs")
    total = step.draft.add(
        Reduce, size.tensor, part="sum", function="sum", axes=(view.axes[-1][0],), keep=True
    )
    return step.draft.view(
        step.draft.add(Binary, view.tensor, total, output=step.output, function="div"), view.axes
    )
