# SPDX-License-Identifier: BSD-2-Clause
"""Translators of normalisation operators: batch, instance, group, layer and RMS normalisation."""

from math import prod

import numpy as np

from ...graph import Affine, LayerNorm
from ..errors import Refused
from ..step import Constant, Step, View, operator
from .chain import Chain
from .linear import dense


@operator("LRN")
def _local_response(step):
    """Translates LRN: x (bias + alpha / size * sum of squares of neighbouring channels)^-beta."""
    view, size = step.flowing(), step.attribute("size")
    if len(view.lengths) < 2:
        raise Refused(f"input of shape {view.lengths}: expected channels behind the batch")
    alpha, beta = float(step.attribute("alpha", 1e-4)), float(step.attribute("beta", 0.75))
    bias = float(step.attribute("bias", 1.0))
    if bias <= 0 or alpha < 0:
        raise Refused(f"bias = {bias:g}, alpha = {alpha:g}: expected bias > 0 and alpha >= 0")
    channels = view.lengths[1]
    # Channel c sees those from c - (size - 1) // 2 to c + size // 2.
    near = np.tri(channels, k=size // 2) - np.tri(channels, k=-((size - 1) // 2) - 1)
    chain, axes = Chain(step), len(view.lengths)
    square = chain.of_two("square", "mul", view, view)
    order = [0, *range(2, axes), 1]
    sums = dense(
        step, square.permuted(order), near * (alpha / size), np.full(channels, bias), None, None
    ).permuted([order.index(at) for at in range(axes)])
    log = chain.act("log", sums, "log")
    factor = chain.act("factor", chain.times("scaled", log, -beta), "exp")
    return chain.of_two("", "mul", view, factor)


@operator("BatchNormalization")
def _batch(step):
    step.only_output("mean", "var", "saved_mean", "saved_var")
    step.wants("training_mode", (0,), 0)
    view = step.flowing()
    if any(isinstance(operand, View) for operand in step.operands[1:]) or view.lengths[0] != 1:
        return _batch_of_tensors(step, view)
    if len(view.lengths) < 2:
        raise Refused(
            f"input of shape {view.lengths}: expected a batch of 1 and channels behind it"
        )
    scale, shift, mean, variance = (
        step.finite(name, step.fixed(at, name).data)
        for at, name in enumerate(("scale", "B", "mean", "var"), 1)
    )
    channels = view.lengths[1]
    for name, data in (("scale", scale), ("B", shift), ("mean", mean), ("var", variance)):
        if data.shape != (channels,):
            raise Refused(f"{name} of shape {data.shape} for {channels} channels")
    spread = variance + step.attribute("epsilon", 1e-5)
    if not (spread > 0).all():
        raise Refused("var + epsilon is not positive")
    factor = scale / np.sqrt(spread)
    # The graph's channels are its last axis.
    if view.single(1) != len(view.shape) - 1:
        order = [*range(2, len(view.lengths)), 1]
        tensor = step.draft.arranged(view, [(axis,) for axis in order])
        view = step.draft.view(
            tensor, [(), (len(order) - 1,), *((axis,) for axis in range(len(order) - 1))]
        )
    return step.draft.same(Affine, view, step.output, scale=factor, shift=shift - mean * factor)


def _batch_of_tensors(step, view):
    """Translates a batch normalisation whose statistics are activations, or which has several
    inputs at once, by its formula."""
    if len(view.lengths) < 2:
        raise Refused(f"input of shape {view.lengths}: expected channels behind the batch")
    chain = Chain(step)
    scale, shift, mean, variance = (
        of_channels(step, at, name, view)
        for at, name in enumerate(("scale", "B", "mean", "var"), 1)
    )
    epsilon = float(step.attribute("epsilon", 1e-5))
    if isinstance(variance, Constant):
        spread = Constant(np.sqrt(variance.data + epsilon))
    else:
        spread = chain.act("spread", chain.plus("even", variance, epsilon), "sqrt")
    centred = chain.of_two("centred", "sub", view, mean)
    scaled = chain.of_two("scaled", "mul", chain.of_two("divided", "div", centred, spread), scale)
    return chain.of_two("", "add", scaled, shift)


def of_channels(step: Step, index: int, name: str, view: View) -> View | Constant:
    """An operand with one number per channel of ``view``, shaped to broadcast to the view. Raises
    :class:`Refused`."""
    count = view.lengths[1]
    operand = step.operand(index)
    shape = (count, *[1] * (len(view.lengths) - 2))
    if operand is None or tuple(operand.lengths) != (count,):
        found = "nothing" if operand is None else f"shape {tuple(operand.lengths)}"
        raise Refused(f"{name} has {found}: expected {count} numbers")
    if isinstance(operand, Constant):
        known = step.fixed(index, name)
        assert known is not None
        return Constant(step.finite(name, known.data).reshape(shape))
    return step.draft.seen(step.flowing(index, name), shape)


def standardised(
    chain: Chain, view: View, axes: list[int], epsilon: float, part: str = "divided"
) -> View:
    """Adds a standardisation, (x - mean) / sqrt(variance + epsilon) over ``axes``."""
    mean = chain.reduce("mean", view, "mean", axes)
    centred = chain.of_two("centred", "sub", view, mean)
    square = chain.of_two("square", "mul", centred, centred)
    variance = chain.reduce("variance", square, "mean", axes)
    spread = chain.act("spread", chain.plus("even", variance, epsilon), "sqrt")
    return chain.of_two(part, "div", centred, spread)


@operator("InstanceNormalization")
def _instance(step):
    """Translates InstanceNormalization: each channel is normalised by its own mean and variance
    over the spatial axes."""
    chain, x = Chain(step), step.flowing()
    lengths = x.lengths
    if len(lengths) < 3:
        raise Refused(
            f"input of shape {lengths}: expected a batch, channels and at least one axis behind "
            f"them"
        )
    scale, shift = (of_channels(step, at, name, x) for at, name in ((1, "scale"), (2, "B")))
    own = step.draft.single_axes(x, [at for at in range(len(lengths)) if lengths[at] > 1 or at])
    epsilon = float(step.attribute("epsilon", 1e-5))
    divided = standardised(chain, own, list(range(2, len(lengths))), epsilon)
    return chain.of_two("", "add", chain.of_two("scaled", "mul", divided, scale), shift)


@operator("GroupNormalization")
def _group(step):
    """Translates GroupNormalization: each group of channels is normalised by its own mean and
    variance."""
    chain, x = Chain(step), step.flowing()
    lengths, groups = x.lengths, step.attribute("num_groups")
    if len(lengths) < 3 or groups < 1 or lengths[1] % groups:
        raise Refused(
            f"num_groups = {groups} on an input of shape {lengths}: expected a divisor "
            "of its channels, and an axis behind them"
        )
    split = step.draft.seen(x, (lengths[0], groups, prod(lengths[1:]) // groups))
    split = step.draft.single_axes(split, [at for at in range(3) if split.lengths[at] > 1 or at])
    divided = standardised(chain, split, [2], float(step.attribute("epsilon", 1e-5)))
    scale, bias = (of_channels(step, at, name, x) for at, name in ((1, "scale"), (2, "bias")))
    scaled = chain.of_two("scaled", "mul", step.draft.seen(divided, lengths), scale)
    return chain.of_two("", "add", scaled, bias)


@operator("MeanVarianceNormalization")
def _mean_variance(step):
    chain, x = Chain(step), step.flowing()
    axes = step.counted("axes", step.attribute("axes", [0, 2, 3]), len(x.lengths))
    # ONNX adds 1e-9 to the deviation; inside the root it does the same.
    return standardised(chain, x, axes, 1e-18, "")


@operator("RMSNormalization")
def _rms(step):
    """Translates RMSNormalization: x / sqrt(mean(x^2) + epsilon) * scale, over the axes from
    ``axis`` on."""
    chain, x = Chain(step), step.flowing()
    count = len(x.lengths)
    (axis,) = step.counted("axis", [step.attribute("axis", -1)], count)
    axes = list(range(axis, count))
    square = chain.of_two("square", "mul", x, x)
    mean = chain.reduce("mean", square, "mean", axes)
    even = chain.plus("even", mean, float(step.attribute("epsilon", 1e-5)))
    divided = chain.of_two("divided", "div", x, chain.act("root", even, "sqrt"))
    return chain.times("", divided, _factor(step, 1, "scale"))


def _factor(step, index, name):
    if isinstance(step.operand(index), View):
        return step.flowing(index, name)
    return Constant(step.finite(name, step.fixed(index, name).data))


@operator("LayerNormalization")
def _layer(step):
    view = step.flowing()
    lengths = view.lengths
    (axis,) = step.counted("axis", [step.attribute("axis", -1)], len(lengths))
    epsilon = float(step.attribute("epsilon", 1e-5))
    result = _layer_result(step, view, axis, epsilon)
    if not any(name and name in step.used for name in step.outputs[1:]):
        return result
    # The statistics by nodes of their own: hardly any network reads them.
    chain, axes = Chain(step), list(range(axis, len(lengths)))
    mean = chain.reduce("mean", view, "mean", axes)
    centred = chain.of_two("centred", "sub", view, mean)
    square = chain.of_two("square", "mul", centred, centred)
    even = chain.plus("even", chain.reduce("variance", square, "mean", axes), epsilon)
    return [result, mean, chain.of_two("inverse", "div", 1, chain.act("root", even, "sqrt"))]


def _layer_result(step, view, axis, epsilon):
    lengths = view.lengths
    size = prod(lengths[axis:])
    flowing = any(isinstance(step.operand(at), View) for at in (1, 2))
    attributes = {"scale": np.ones(size), "shift": np.zeros(size)}
    if not flowing:
        attributes = _layer_constants(step, lengths[axis:], size)
    flat = step.draft.seen(view, (*lengths[:axis], size))
    if flat.single(axis) != len(flat.shape) - 1:
        flat = step.draft.plain(flat, keep=axis == 0)
    result = step.draft.same(
        LayerNorm,
        flat,
        None if flowing else step.output,
        "normal" if flowing else "",
        epsilon=epsilon,
        **attributes,
    )
    result = step.draft.seen(result, lengths)
    if not flowing:
        return result
    chain = Chain(step)
    shifted = step.operand(2) is not None
    result = chain.of_two("scaled" if shifted else "", "mul", result, _factor(step, 1, "Scale"))
    return chain.of_two("", "add", result, _factor(step, 2, "B")) if shifted else result


def _layer_constants(step, lengths, size):
    """Scale and shift of a layer normalisation, for every element."""
    scale, shift = (step.fixed(at, name) for at, name in ((1, "Scale"), (2, "B")))
    try:
        scale, shift = (
            np.array(
                np.broadcast_to(
                    empty if one is None else step.finite("Scale or B", one.data), lengths
                )
            ).reshape(size)
            for one, empty in ((scale, np.float64(1)), (shift, np.float64(0)))
        )
    except ValueError:
        raise Refused(f"Scale or B does not fit the axes {lengths}") from None
    return {"scale": scale, "shift": shift}
