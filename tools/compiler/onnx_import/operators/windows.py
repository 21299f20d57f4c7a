# SPDX-License-Identifier: BSD-2-Clause
"""Translators of convolutions, pools and padding. One-dimensional signals become maps of one
row."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...graph import AveragePool, Conv, MaxPool, Pad, Reduce
from ..errors import Refused
from ..step import Constant, Grid, Step, operator
from .chain import Chain


def each(step: Step, name: str, spatial: int) -> list[int]:
    """Reads an attribute with a positive integer for each spatial axis; ones if it is missing.
    Raises :class:`Refused`."""
    values = list(step.attribute(name, [1] * spatial))
    if len(values) != spatial or min(values) < 1:
        raise Refused(f"{name} = {values}: expected one positive integer per spatial axis")
    return values


class _Window:
    """Attributes that convolutions and pools share, for ``spatial`` axes; one-dimensional windows
    are extended by a row axis."""

    def __init__(self, step, lengths, size):
        spatial = len(lengths)
        if len(size) != spatial:
            raise Refused(f"kernel_shape {list(size)} on a map of {spatial} axes")
        self.lengths, self.size = list(lengths), list(size)
        self.stride = each(step, "strides", spatial)
        self.dilation = each(step, "dilations", spatial)
        pads = list(step.attribute("pads", [0] * (2 * spatial)))
        if len(pads) != 2 * spatial or min(pads) < 0:
            raise Refused(f"pads = {pads}: expected two non-negative integers per axis")
        self.before, self.after = pads[:spatial], pads[spatial:]
        mode = step.wants("auto_pad", ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"), "NOTSET")
        if mode != "NOTSET":
            self.before, self.after = [0] * spatial, [0] * spatial
        if mode.startswith("SAME"):
            for axis, (length, effective_size, stride) in enumerate(
                zip(self.lengths, self.effective_size, self.stride, strict=True)
            ):
                total = max((-(-length // stride) - 1) * stride + effective_size - length, 0)
                small, large = total // 2, total - total // 2
                self.before[axis], self.after[axis] = (
                    (small, large) if mode == "SAME_UPPER" else (large, small)
                )
        if spatial == 1:
            for values, value in (
                (self.lengths, 1),
                (self.size, 1),
                (self.stride, 1),
                (self.dilation, 1),
                (self.before, 0),
                (self.after, 0),
            ):
                values.insert(0, value)

    @property
    def effective_size(self):
        return [(k - 1) * d + 1 for k, d in zip(self.size, self.dilation, strict=True)]

    @property
    def padding(self):
        return (*self.before, *self.after)

    def ceiling(self):
        """Padding at the end of each axis that adds a last, incomplete window if it begins inside
        the map (``ceil_mode``)."""
        extra = []
        for length, before, after, effective_size, stride in zip(
            self.lengths, self.before, self.after, self.effective_size, self.stride, strict=True
        ):
            free = length + before + after - effective_size
            count = -(-free // stride) + 1
            if (count - 1) * stride >= length + before:
                count -= 1
            extra.append(max((count - 1) * stride - free, 0))
        return extra


def _map(step, spatial=(1, 2)):
    """The first operand as a map: its view, the name of a tensor (rows, columns, channels), and the
    numbers of rows and columns."""
    view = step.flowing()
    lengths = view.lengths
    if len(lengths) - 2 not in spatial:
        raise Refused(
            f"input of {len(lengths)} axes {lengths}: expected maps of rows and columns, or of "
            f"columns alone"
        )
    if lengths[0] != 1:
        raise Refused(f"{lengths[0]} inputs at once: expected a batch of 1")
    groups = [(2,), (3,), (1,)] if len(lengths) == 4 else [(), (2,), (1,)]
    return step.draft.arranged(view, groups), lengths[2:]


def _seen(step, tensor, spatial):
    """Converts a view to the model's order: rows, columns, channels."""
    return step.draft.view(tensor, [(), (2,), (0,), (1,)] if spatial == 2 else [(), (2,), (1,)])


def _flat(step, size, translate):
    """Translates an operator on a volume with an axis of length one as the same operator on the map
    without that axis."""
    view = step.flowing()
    lengths = view.lengths
    pads = step.attribute("pads", [0] * 6)
    stride, dilation = each(step, "strides", 3), each(step, "dilations", 3)
    conv = step.operator == "Conv"
    for axis in range(3):
        # Only the tap on the element counts in a longer kernel.
        tap = pads[axis] // dilation[axis]
        free = 1 + pads[axis] + pads[axis + 3] - (size[axis] - 1) * dilation[axis] - 1
        if lengths[2 + axis] != 1 or free // stride[axis] or free < 0 or len(size) != 3:
            continue
        if size[axis] > 1 and (not conv or pads[axis] % dilation[axis] or tap >= size[axis]):
            continue

        def left(values, axis=axis):
            return [value for at, value in enumerate(values) if at % 3 != axis]

        attributes = {
            "kernel_shape": left(size),
            "pads": left(pads),
            "strides": left(stride),
            "dilations": left(dilation),
        }
        around = (*lengths[: 2 + axis], *lengths[3 + axis :])
        operands = [step.draft.seen(view, around), *step.operands[1:]]
        if conv:
            weights = step.fixed(1, "W")
            if isinstance(weights.grid, Grid) and np.ndim(weights.grid.scale):
                scale = np.asarray(weights.grid.scale)
                scale = scale.take(0, axis=2 + axis) if scale.ndim == 5 else scale
                grid = replace(weights.grid, scale=scale)
            else:
                grid = weights.grid
            operands[1] = Constant(weights.data.take(tap, axis=2 + axis), grid)
        result = translate(step.rewritten(step.operator, operands, **attributes))
        made = result.lengths
        return step.draft.seen(result, (*made[: 2 + axis], 1, *made[2 + axis :]))
    raise Refused(
        f"input of 5 axes {lengths}: expected one of the last three to be a single element long, "
        f"with a kernel of 1"
    )


@operator("Conv")
def _conv(step):
    kernel = step.fixed(1, "W")
    if len(step.flowing().lengths) == 5 and kernel.data.ndim == 5:
        return _flat(step, kernel.data.shape[2:], _conv)
    tensor, lengths = _map(step)
    weights = step.finite("W", kernel.data)
    if weights.ndim != len(lengths) + 2 or not weights.size:
        raise Refused(f"W of shape {weights.shape} on a map of {len(lengths)} axes")
    size = step.attribute("kernel_shape", weights.shape[2:])
    if tuple(size) != weights.shape[2:]:
        raise Refused(f"kernel_shape = {list(size)}, W has {list(weights.shape[2:])}")
    window = _Window(step, lengths, weights.shape[2:])
    groups = step.attribute("group", 1)
    if groups < 1 or weights.shape[0] % groups:
        raise Refused(f"group = {groups} for {weights.shape[0]} output channels")
    if len(lengths) == 1:
        weights = weights[:, :, None]
    bias = step.fixed(2, "B")
    scale = weight_steps(kernel, 0)
    result = step.draft.add(
        Conv,
        tensor,
        output=step.output,
        weights=np.ascontiguousarray(weights.transpose(0, 2, 3, 1)),
        bias=None if bias is None else step.finite("B", bias.data),
        stride=tuple(window.stride),
        padding=window.padding,
        dilation=tuple(window.dilation),
        groups=groups,
        weight_scale=scale,
    )
    return _seen(step, result, len(lengths))


def weight_steps(constant: Constant, axis: int) -> np.ndarray | None:
    """Scale of the weights of every output channel (``axis``) of a quantised constant, float64
    [out]; ``None`` if it has none or its scales do not run along that axis."""
    if constant.grid is None:
        return None
    scale, out = np.asarray(constant.grid.scale, np.float64), constant.data.shape[axis]
    if scale.size == 1:
        return np.full(out, scale.reshape(()))
    along = scale.ndim == constant.data.ndim and scale.shape[axis] == out == scale.size
    return scale.reshape(out) if along else None


@operator("MaxPool")
def _max_pool(step):
    if len(step.flowing().lengths) == 5:
        return _flat(step, step.attribute("kernel_shape"), _max_pool)
    step.only_output("Indices")
    tensor, lengths = _map(step)
    window = _Window(step, lengths, step.attribute("kernel_shape"))
    if step.attribute("ceil_mode", 0):
        window.after = [a + b for a, b in zip(window.after, window.ceiling(), strict=True)]
    _overlapping(window)
    result = step.draft.add(
        MaxPool,
        tensor,
        output=step.output,
        window=tuple(window.size),
        stride=tuple(window.stride),
        padding=window.padding,
        dilation=tuple(window.dilation),
    )
    return _seen(step, result, len(lengths))


def _overlapping(window):
    """Checks that every window overlaps the map: a window of padding alone has no maximum and no
    mean."""
    for length, effective_size, before, after in zip(
        window.lengths, window.effective_size, window.before, window.after, strict=True
    ):
        if max(before, after) >= effective_size or length < 1:
            raise Refused(
                f"pads = {list(window.padding)}: expected less than the window's "
                f"{list(window.effective_size)}"
            )


@operator("AveragePool")
def _average_pool(step):
    if len(step.flowing().lengths) == 5:
        return _flat(step, step.attribute("kernel_shape"), _average_pool)
    tensor, lengths = _map(step)
    window = _Window(step, lengths, step.attribute("kernel_shape"))
    if any(rate != 1 for rate in window.dilation):
        raise Refused(f"dilations = {window.dilation}: expected 1")
    _overlapping(window)
    counted = bool(step.attribute("count_include_pad", 0))
    extra = window.ceiling() if step.attribute("ceil_mode", 0) else [0, 0]
    if any(extra):
        # Elements outside the padding never count: where the padding does, it becomes part of the
        # map.
        if counted and any(window.padding):
            tensor = step.draft.add(
                Pad, tensor, part="pad", before=(*window.before, 0), after=(*window.after, 0)
            )
            window.before, window.after = [0, 0], [0, 0]
        counted = False
        window.after = [a + b for a, b in zip(window.after, extra, strict=True)]
    result = step.draft.add(
        AveragePool,
        tensor,
        output=step.output,
        window=tuple(window.size),
        stride=tuple(window.stride),
        padding=window.padding,
        include_padding=counted or not any(window.padding),
    )
    return _seen(step, result, len(lengths))


@operator("GlobalAveragePool", "GlobalMaxPool")
def _global(step):
    view = step.flowing()
    if len(view.lengths) > 4:
        function = "mean" if step.operator == "GlobalAveragePool" else "max"
        axes = range(2, len(view.lengths))
        own = tuple(sorted(axis for at in axes for axis in view.axes[at]))
        return step.draft.same(Reduce, view, step.output, function=function, axes=own, keep=True)
    tensor, lengths = _map(step)
    rows_columns = (1, *lengths)[-2:]
    kind = AveragePool if step.operator == "GlobalAveragePool" else MaxPool
    result = step.draft.add(
        kind, tensor, output=step.output, window=tuple(rows_columns), stride=(1, 1)
    )
    return _seen(step, result, len(lengths))


#: Elements of a side up to which a copied one is joined from single elements. These are slices that
#: every core with slices takes; those in reverse order are not.
_SINGLE = 8


def _copied(step, view, sides, mode):
    """Pads with copies of the tensor's own elements: axis after axis, slices that are joined.
    ``sides``: axis -> (before, after)."""
    chain = Chain(step)
    for number, (axis, (before, after)) in enumerate(sides.items()):
        length = view.lengths[axis]
        if mode == "reflect" and max(before, after) >= length:
            raise Refused(
                f"pads {before} and {after} of an axis of {length}, reflected: expected less than "
                f"its length"
            )
        places = [int(place) for place in np.pad(np.arange(length), (before, after), mode=mode)]
        part = "" if number == len(sides) - 1 else f"axis_{axis}"
        if max(before, after) > _SINGLE:
            view = chain.take(part, view, axis, places)
            continue
        outside = places[:before] + places[before + length :]
        copies = {
            place: chain.cut(f"copy_{axis}_{place}", view, {axis: (place, place + 1, 1)})
            for place in dict.fromkeys(outside)
        }
        pieces = [copies[place] for place in outside]
        view = chain.join(part, [*pieces[:before], view, *pieces[before:]], axis)
    return view


def _cropped(step, view, sides):
    """Takes away what negative pads say."""
    cuts = {
        axis: (max(-a, 0), view.lengths[axis] - max(-b, 0), 1)
        for axis, (a, b) in sides.items()
        if a < 0 or b < 0
    }
    if any(stop <= start for start, stop, _ in cuts.values()):
        raise Refused(f"its pads leave nothing of {tuple(view.lengths)}")
    last = not any(side > 0 for pair in sides.values() for side in pair)
    return Chain(step).cut("" if last else "cut", view, cuts)


@operator("Pad")
def _pad(step):
    mode = step.wants("mode", ("constant", "edge", "reflect", "wrap"), "constant")
    view = step.flowing()
    count = len(view.lengths)
    axes = step.counted("axes", step.numbers(3, "axes", list(range(count))), count)
    pads = step.numbers(1, "pads")
    if pads is None or len(pads) != 2 * len(axes):
        raise Refused(f"pads = {pads}: expected two integers per axis")
    if mode != "constant" and min(pads, default=0) < 0:
        raise Refused(f"pads = {pads} of mode {mode!r}: expected non-negative integers")
    value = step.number(2, "constant_value", 0.0)
    sides = {
        axis: (a, b) for axis, a, b in zip(axes, pads[: len(axes)], pads[len(axes) :], strict=True)
    }
    view = _cropped(step, view, sides)
    sides = {axis: (max(a, 0), max(b, 0)) for axis, (a, b) in sides.items() if a > 0 or b > 0}
    if not sides:
        return view
    if mode != "constant":
        return _copied(step, view, sides, mode)
    view = step.draft.single_axes(view, sides)
    before, after = [0] * len(view.shape), [0] * len(view.shape)
    for axis, (a, b) in sides.items():
        before[view.axes[axis][0]], after[view.axes[axis][0]] = a, b
    return step.draft.same(
        Pad, view, step.output, before=tuple(before), after=tuple(after), value=value
    )
