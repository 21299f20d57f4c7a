# SPDX-License-Identifier: BSD-2-Clause
"""Translators of normalisations."""

from math import prod

import numpy as np

from ...graph import Affine, LayerNorm
from ..errors import Refused
from ..step import operator


@operator("BatchNormalization")
def _batch(step):
    step.only_output("mean", "var", "saved_mean", "saved_var")
    step.wants("training_mode", (0,), 0)
    view = step.flowing()
    if len(view.lengths) < 2 or view.lengths[0] != 1:
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


@operator("LayerNormalization")
def _layer(step):
    step.only_output("Mean", "InvStdDev")
    view = step.flowing()
    lengths = view.lengths
    (axis,) = step.counted("axis", [step.attribute("axis", -1)], len(lengths))
    size = prod(lengths[axis:])
    scale, shift = (step.fixed(at, name) for at, name in ((1, "Scale"), (2, "B")))
    try:
        scale, shift = (
            np.array(
                np.broadcast_to(
                    empty if one is None else step.finite("Scale or B", one.data), lengths[axis:]
                )
            ).reshape(size)
            for one, empty in ((scale, np.float64(1)), (shift, np.float64(0)))
        )
    except ValueError:
        raise Refused(f"Scale or B does not fit the axes {lengths[axis:]}") from None
    flat = step.draft.seen(view, (*lengths[:axis], size))
    if flat.single(axis) != len(flat.shape) - 1:
        flat = step.draft.plain(flat, keep=axis == 0)
    result = step.draft.same(
        LayerNorm,
        flat,
        step.output,
        scale=scale,
        shift=shift,
        epsilon=float(step.attribute("epsilon", 1e-5)),
    )
    return step.draft.seen(result, lengths)
