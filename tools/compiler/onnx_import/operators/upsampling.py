# SPDX-License-Identifier: BSD-2-Clause
"""Translators of operators that resize maps: transposed convolutions, Resize, DepthToSpace,
SpaceToDepth.

A map enlarged by a whole factor s is computed by phases: phase p gives the elements p, p + s,
p + 2 s, ... of an axis, and is a convolution of the small map, so that nothing is multiplied by
inserted zeros. The phases of a row lie side by side in the channels, and those of a column in the
columns, where a Reshape sees them as columns and rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, floor

import numpy as np

from ...graph import Concat, Conv, Reshape, Slice
from ..errors import Refused
from ..step import Step, operator
from .chain import Chain
from .linear import dense
from .windows import each

#: Weights of a resized axis beyond which it is refused.
_MOST_WEIGHTS = 2**22
#: Slices that an axis enlarged to the nearest elements may become; from there on it is a product.
_MOST_SLICES = 16


def _interleaved(
    step: Step, phases: Sequence[str], factors: Sequence[int], lengths: Sequence[int]
) -> str:
    """Interleaves phases into a map of ``lengths`` rows and columns and returns its name;
    ``phases`` are the maps of the row phases, each with its column phases as channels."""
    draft, (down, across) = step.draft, factors
    rows, columns, channels = draft.graph.shape(phases[0])
    exact = (rows * down, columns * across) == tuple(lengths)
    tensor = phases[0]
    if down > 1:
        tensor = draft.add(Concat, *phases, part="rows", axis=1)
    if down * across > 1:
        tensor = draft.add(
            Reshape,
            tensor,
            output=step.output if exact else None,
            part="" if exact else "interleaved",
            shape=(rows * down, columns * across, channels // across),
        )
    if exact:
        return tensor
    return draft.add(
        Slice,
        tensor,
        output=step.output,
        start=(0, 0, 0),
        stop=(*lengths, channels // across),
        step=(1, 1, 1),
    )


def _seen(step, tensor, spatial):
    """Converts a view to the model's order: rows, columns, channels."""
    return step.draft.view(tensor, [(), (2,), (0,), (1,)] if spatial == 2 else [(), (2,), (1,)])


def _cut_rows(step, tensor, rows, columns):
    """Slices the first ``rows`` and ``columns`` of a map."""
    shape = step.draft.graph.shape(tensor)
    if shape[:2] == (rows, columns):
        return tensor
    return step.draft.add(
        Slice,
        tensor,
        part="cut",
        start=(0, 0, 0),
        stop=(rows, columns, shape[2]),
        step=(1, 1, 1),
    )


@operator("ConvTranspose")
def _conv_transpose(step):
    """Translates ConvTranspose by phases of its stride: each is a convolution with the kernel taps
    that contribute to that phase."""
    view = step.flowing()
    lengths = view.lengths
    spatial = len(lengths) - 2
    if spatial not in (1, 2) or lengths[0] != 1:
        raise Refused(
            f"input of shape {lengths}: expected a batch of 1, channels, and one axis "
            "or two behind them"
        )
    weights = step.finite("W", step.fixed(1, "W").data)
    groups = step.attribute("group", 1)
    if weights.ndim != spatial + 2 or not weights.size or weights.shape[0] != lengths[1]:
        raise Refused(f"W of shape {weights.shape} on an input of {lengths}")
    if groups < 1 or lengths[1] % groups:
        raise Refused(f"group = {groups} for {lengths[1]} channels")
    size = list(weights.shape[2:])
    if list(step.attribute("kernel_shape", size)) != size:
        raise Refused(f"kernel_shape = {list(step.attribute('kernel_shape'))}, W has {size}")
    stride, dilation = each(step, "strides", spatial), each(step, "dilations", spatial)
    before, results = _transposed_lengths(step, lengths[2:], size, stride, dilation)
    bias = step.fixed(2, "B")
    out = weights.shape[1] * groups
    bias = np.zeros(out) if bias is None else step.finite("B", bias.data)
    if bias.shape != (out,):
        raise Refused(f"B of shape {bias.shape} for {out} channels")
    small = list(lengths[2:])
    if spatial == 1:
        weights = weights[:, :, None]
        for values, value in ((small, 1), (size, 1), (stride, 1), (dilation, 1), (before, 0)):
            values.insert(0, value)
        results.insert(0, 1)
    tensor = step.draft.arranged(view, [(2,), (3,), (1,)] if spatial == 2 else [(), (2,), (1,)])
    # [out, rows, columns, in / groups], as a convolution has them
    kernels = weights.reshape(groups, -1, *weights.shape[1:]).transpose(0, 2, 3, 4, 1)
    kernels = kernels.reshape(out, *size, -1)
    taps = [
        [
            _taps(phase, size[axis], stride[axis], dilation[axis], before[axis])
            for phase in range(stride[axis])
        ]
        for axis in (0, 1)
    ]
    result = _by_phases(step, tensor, results, tuple(stride), taps, kernels, bias, groups)
    return _seen(step, result, spatial)


def _taps(phase, size, stride, dilation, before):
    """Taps of one phase of an axis: distance from the element -> index of the kernel's tap."""
    return {
        (phase + before - tap * dilation) // stride: tap
        for tap in range(size)
        if (phase + before - tap * dilation) % stride == 0
    }


def _transposed_lengths(step, lengths, size, stride, dilation):
    """Elements to crop before each axis of the result, and the lengths of its axes."""
    count = len(lengths)
    extra = list(step.attribute("output_padding", [0] * count))
    pads = list(step.attribute("pads", [0] * (2 * count)))
    mode = step.wants("auto_pad", ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"), "NOTSET")
    wanted = step.attribute("output_shape")
    if len(extra) != count or len(pads) != 2 * count or min(*extra, *pads, 0) < 0:
        raise Refused(
            f"pads = {pads}, output_padding = {extra}: expected numbers from 0 on, two "
            "and one for each axis"
        )
    if wanted is not None and len(wanted) not in (count, count + 2):
        raise Refused(f"output_shape = {list(wanted)} for {count} axes")
    whole = [
        (length - 1) * s + e + (k - 1) * d + 1
        for length, s, e, k, d in zip(lengths, stride, extra, size, dilation, strict=True)
    ]
    if wanted is None and not mode.startswith("SAME"):
        before, after = pads[:count], pads[count:]
        if mode == "VALID":
            before = after = [0] * count
        results = [w - a - b for w, a, b in zip(whole, before, after, strict=True)]
    else:
        results = (
            list(wanted[-count:])
            if wanted is not None
            else [length * s for length, s in zip(lengths, stride, strict=True)]
        )
        total = [max(w - r, 0) for w, r in zip(whole, results, strict=True)]
        before = [t // 2 if mode == "SAME_UPPER" else t - t // 2 for t in total]
    if min(results) < 1:
        raise Refused(f"pads = {pads}: nothing is left of {whole}")
    return list(before), results


def _by_phases(step, tensor, results, factors, taps, kernels, bias, groups):
    """Adds a map of ``results`` rows and columns as interleaved convolutions of its phases; returns
    its name.

    Parameters
    ----------
    taps : for rows and for columns a dict for each phase, distance -> index of the kernel's tap
    kernels : float64 [out, rows, columns, channels / groups]
    """
    draft, (down, across) = step.draft, factors
    small = draft.graph.shape(tensor)[:2]
    counts = [-(-result // factor) for result, factor in zip(results, factors, strict=True)]
    maps = []
    single = down * across == 1
    for row in range(down):
        parts = []
        # Without groups one convolution makes all phases of a row: its channels are the phases'.
        for columns in [range(across)] if groups == 1 else [[at] for at in range(across)]:
            weights, padding = _kernel(
                kernels, taps[0][row], [taps[1][at] for at in columns], small, counts
            )
            plain = single and (
                _positions(small[0], padding[0], padding[2], weights.shape[1]),
                _positions(small[1], padding[1], padding[3], weights.shape[2]),
            ) == tuple(results)
            parts.append(
                draft.add(
                    Conv,
                    tensor,
                    output=step.output if plain else None,
                    part="" if plain else f"phase_{row}_{columns[0]}",
                    weights=weights,
                    bias=np.tile(bias, len(columns)),
                    padding=padding,
                    groups=groups,
                )
            )
        parts = [_cut_rows(step, part, *counts) for part in parts]
        joined = parts[0]
        if len(parts) > 1:
            joined = draft.add(Concat, *parts, part=f"columns_{row}", axis=2)
        maps.append(joined)
    return _interleaved(step, maps, factors, results)


def _positions(length: int, before: int, after: int, size: int) -> int:
    """Number of positions of a window of ``size`` on a padded axis."""
    return length + before + after - size + 1


def _kernel(kernels, rows, columns, lengths, counts):
    """Weights [phases * out, rows, columns, channels / groups] and padding of the convolution that
    computes one row phase and several column phases."""
    out, _, _, inner = kernels.shape
    spans = []
    for taps in (list(rows), [at for one in columns for at in one]):
        spans.append((min([*taps, 0]), max([*taps, 0])))
    (top, bottom), (left, right) = spans
    weights = np.zeros((len(columns), out, bottom - top + 1, right - left + 1, inner))
    for number, taps in enumerate(columns):
        for at, row in rows.items():
            for beside, column in taps.items():
                weights[number, :, at - top, beside - left] = kernels[:, row, column]
    padding = []
    for axis, (first, last) in enumerate(spans):
        before = -first
        after = max(counts[axis] + (last - first) - lengths[axis] - before, 0)
        padding.append((before, after))
    (above, below), (ahead, behind) = padding
    return (
        weights.reshape(-1, *weights.shape[2:]),
        (above, ahead, below, behind),
    )


@operator("DepthToSpace")
def _depth_to_space(step):
    """Translates DepthToSpace: one convolution per row of a block selects its channels."""
    mode = step.wants("mode", ("DCR", "CRD"), "DCR")
    view, size = step.flowing(), step.attribute("blocksize")
    _, channels, rows, columns = _four(view)
    if size < 1 or channels % size**2:
        raise Refused(f"blocksize = {size} for {channels} channels")
    inner = channels // size**2
    order = np.arange(channels)
    places = (
        order.reshape(size, size, inner)
        if mode == "DCR"
        else order.reshape(inner, size, size).transpose(1, 2, 0)
    )
    tensor = step.draft.arranged(view, [(2,), (3,), (1,)])
    maps = [
        step.draft.add(
            Conv,
            tensor,
            part=f"row_{row}",
            weights=np.eye(channels)[places[row].ravel()][:, None, None, :],
        )
        for row in range(size)
    ]
    result = _interleaved(step, maps, (size, size), (rows * size, columns * size))
    return _seen(step, result, 2)


def _four(view):
    if len(view.lengths) != 4 or view.lengths[0] != 1:
        raise Refused(
            f"input of shape {view.lengths}: expected a batch of 1, channels, rows and columns"
        )
    return view.lengths


@operator("SpaceToDepth")
def _space_to_depth(step):
    """Translates SpaceToDepth: a convolution with a single one per result channel."""
    mode = step.wants("mode", ("DCR", "CRD"), "DCR")
    view, size = step.flowing(), step.attribute("blocksize")
    _, channels, rows, columns = _four(view)
    if size < 1 or rows % size or columns % size:
        raise Refused(f"blocksize = {size} for a map of {rows} x {columns}")
    tensor = step.draft.arranged(view, [(2,), (3,), (1,)])
    # [row, column, channel] of the block, in the order of the result's channels
    weights = np.eye(size * size * channels).reshape(-1, size, size, channels)
    if mode == "CRD":
        order = np.arange(len(weights)).reshape(size, size, channels).transpose(2, 0, 1)
        weights = weights[order.ravel()]
    result = step.draft.add(Conv, tensor, output=step.output, weights=weights, stride=(size, size))
    return _seen(step, result, 2)


# Resize


@operator("Resize", "Upsample")
def _resize(step):
    """Translates Resize. Nearest interpolation by integer factors becomes a concatenation of the
    map with itself; linear interpolation is computed by phases; any other axis is multiplied by a
    matrix."""
    view = step.flowing()
    mode = step.wants("mode", ("nearest", "linear", "cubic"), "nearest")
    axes = _resized(step, view.lengths)
    if mode == "nearest":
        return _nearest_map(step, view, axes)
    if mode == "linear" and (phased := _linear_by_phases(step, view, axes)) is not None:
        return phased
    for number, axis in enumerate(axes):
        view = _multiplied(step, view, axis, axis.matrix(step, mode), number == len(axes) - 1)
    return view


@dataclass(frozen=True)
class _Axis:
    """An axis that a Resize changes: its number, its lengths before and after, and the scale."""

    number: int
    length: int
    result: int
    scale: float

    @property
    def factor(self) -> int | None:
        """The integer factor by which the axis grows; ``None`` if the factor is no integer."""
        whole = self.scale == int(self.scale) and self.result == self.length * self.scale
        return int(self.scale) if whole else None

    def places(self, step: Step) -> np.ndarray:
        """Coordinate on the source axis of each element of the result."""
        at = np.arange(self.result, dtype=np.float64)
        mode = (
            step.attribute("coordinate_transformation_mode", "half_pixel")
            if step.operator == "Resize"
            else "asymmetric"
        )
        centred = (at + 0.5) / self.scale - 0.5
        if mode == "asymmetric":
            return at / self.scale
        if mode == "half_pixel" or mode == "pytorch_half_pixel" and self.result > 1:
            return centred
        if mode == "pytorch_half_pixel":
            return at * 0
        if mode == "half_pixel_symmetric":
            offset = self.length / 2 * (1 - self.result / (self.scale * self.length))
            return offset + centred
        if mode == "align_corners":
            return at * (self.length - 1) / max(self.result - 1, 1)
        raise Refused(
            f"coordinate_transformation_mode = {mode!r}: expected asymmetric, half_pixel, "
            f"pytorch_half_pixel, half_pixel_symmetric or align_corners"
        )

    def nearest(self, step: Step) -> list[int]:
        """Index of the nearest source element for each element of the result."""
        rounding = (
            step.attribute("nearest_mode", "round_prefer_floor")
            if step.operator == "Resize"
            else "floor"
        )
        ways: dict[str, Callable] = {
            "floor": np.floor,
            "ceil": np.ceil,
            "round_prefer_floor": lambda x: np.ceil(x - 0.5),
            "round_prefer_ceil": lambda x: np.floor(x + 0.5),
        }
        if rounding not in ways:
            raise Refused(f"nearest_mode = {rounding!r}: expected {', '.join(ways)}")
        found = np.clip(ways[rounding](self.places(step)), 0, self.length - 1)
        return [int(place) for place in found]

    def matrix(self, step: Step, mode: str) -> np.ndarray:
        """Interpolation matrix [result, length]: the weight of each source element in each element
        of the result."""
        if self.length * self.result > _MOST_WEIGHTS:
            raise Refused(
                f"axis {self.number} from {self.length} to {self.result}: expected at most "
                f"{_MOST_WEIGHTS:,} weights"
            )
        matrix = np.zeros((self.result, self.length))
        narrow = min(self.scale, 1.0) if step.attribute("antialias", 0) else 1.0
        filters = {
            "linear": _triangle,
            "cubic": _cubic(float(step.attribute("cubic_coeff_a", -0.75))),
        }
        support = (1 if mode == "linear" else 2) / narrow
        for row, place in enumerate(self.places(step)):
            near = range(floor(place - support) + 1, ceil(place + support))
            weights = {at: float(filters[mode]((at - place) * narrow)) for at in near}
            if step.attribute("exclude_outside", 0):
                weights = {at: w for at, w in weights.items() if 0 <= at < self.length}
            total = sum(weights.values())
            for at, weight in weights.items():
                matrix[row, min(max(at, 0), self.length - 1)] += weight / total
        return matrix


def _triangle(distance):
    return max(0.0, 1.0 - abs(distance))


def _cubic(a):
    """Keys' cubic interpolation kernel."""

    def kernel(distance):
        x = abs(distance)
        if x <= 1:
            return (a + 2) * x**3 - (a + 3) * x**2 + 1
        return a * x**3 - 5 * a * x**2 + 8 * a * x - 4 * a if x < 2 else 0.0

    return kernel


def _resized(step, lengths):
    """The axes that a Resize changes."""
    numbers = step.counted("axes", step.attribute("axes", range(len(lengths))), len(lengths))
    scales = step.fixed(1 if step.operator == "Upsample" else 2, "scales")
    if scales is not None and scales.data.size:
        given = [float(scale) for scale in scales.data.ravel()]
        _each_axis(given, numbers)
        results = [floor(lengths[n] * s) for n, s in zip(numbers, given, strict=True)]
    else:
        sizes = step.numbers(3, "sizes", [])
        _each_axis(sizes, numbers)
        given = [size / lengths[n] for n, size in zip(numbers, sizes, strict=True)]
        policy = step.wants(
            "keep_aspect_ratio_policy", ("stretch", "not_larger", "not_smaller"), "stretch"
        )
        results = list(sizes)
        if policy != "stretch":
            same = (min if policy == "not_larger" else max)(given)
            given = [same] * len(given)
            results = [floor(lengths[n] * same + 0.5) for n in numbers]
    if any(scale <= 0 for scale in given) or min(results, default=1) < 1:
        raise Refused(f"scales = {given}: expected positive numbers")
    return [
        _Axis(n, lengths[n], result, scale)
        for n, result, scale in zip(numbers, results, given, strict=True)
        if (result, scale) != (lengths[n], 1.0)
    ]


def _each_axis(given, axes):
    if len(given) != len(axes):
        raise Refused(f"{len(given)} scales or sizes for {len(axes)} axes")


def _multiplied(step, view, axis, matrix, last):
    """Multiplies one axis by an interpolation matrix [result, length]."""
    count = len(view.lengths)
    order = [at for at in range(count) if at != axis.number] + [axis.number]
    back = [int(at) for at in np.argsort(order)]
    result = dense(step, view.permuted(order), matrix, None, None, step.output if last else None)
    return result.permuted(back)


def _nearest_map(step, view, axes):
    """Nearest interpolation: elements repeated equally often are concatenated with themselves;
    others are gathered."""
    chain = Chain(step)
    todo = []
    for axis in axes:
        places = axis.nearest(step)
        factor = axis.factor
        if factor is not None and places == [at // factor for at in range(axis.result)]:
            todo.append(axis)
            continue
        runs = 1 + sum(b - a != 1 for a, b in zip(places, places[1:], strict=False))
        if runs > _MOST_SLICES:
            matrix = np.zeros((axis.result, axis.length))
            matrix[range(axis.result), places] = 1.0
            view = _multiplied(step, view, axis, matrix, False)
        else:
            view = chain.take(f"axis_{axis.number}", view, axis.number, places)
    return _repeated(step, view, todo) if todo else view


def _repeated(step, view, axes):
    """Repeats each row or pixel by concatenation and a reshape."""
    view = step.draft.single_axes(view, [axis.number for axis in axes])
    tensor, shape = view.tensor, list(view.shape)
    for number, axis in enumerate(axes):
        (own,) = view.axes[axis.number]
        if own == len(shape) - 1:
            tensor = step.draft.add(Reshape, tensor, part=f"apart_{number}", shape=(*shape, 1))
        tensor = step.draft.add(
            Concat, *[tensor] * axis.factor, part=f"repeated_{number}", axis=own + 1
        )
        shape[own] *= axis.factor
        last = number == len(axes) - 1
        tensor = step.draft.add(
            Reshape,
            tensor,
            output=step.output if last else None,
            part="" if last else f"enlarged_{number}",
            shape=tuple(shape),
        )
    return step.draft.view(tensor, view.axes)


def _linear_by_phases(step, view, axes):
    """Linear interpolation by integer factors, by phases: each is a depthwise convolution of the
    map with its border repeated. ``None`` if the weights differ between elements."""
    lengths = view.lengths
    numbers = [axis.number for axis in axes]
    if (
        len(lengths) not in (3, 4)
        or lengths[0] != 1
        or not axes
        or min(numbers) < 2
        or any(axis.factor is None for axis in axes)
        or step.attribute("exclude_outside", 0)
    ):
        return None
    spatial = len(lengths) - 2
    tensor = step.draft.arranged(view, [(2,), (3,), (1,)] if spatial == 2 else [(), (2,), (1,)])
    factors, taps = [1, 1], [[{0: 1.0}], [{0: 1.0}]]
    for axis in axes:
        own = axis.number - len(lengths) + 2
        phases = _linear_phases(axis, axis.matrix(step, "linear"))
        if phases is None:
            return None
        factors[own], taps[own] = axis.factor, phases
    return _seen(step, _enlarged(step, tensor, factors, taps), spatial)


def _linear_phases(axis, matrix):
    """Taps of each phase, distance -> weight; ``None`` if a matrix row differs from its phase's
    taps on the map with repeated border."""
    phases = []
    middle = axis.length // 2
    places = range(axis.length)
    for phase in range(axis.factor):
        row = matrix[middle * axis.factor + phase]
        taps = {int(at) - middle: float(row[at]) for at in np.flatnonzero(row)}
        for q in places:
            expected = np.zeros(axis.length)
            for distance, weight in taps.items():
                expected[min(max(q + distance, 0), axis.length - 1)] += weight
            if not np.allclose(expected, matrix[q * axis.factor + phase], atol=1e-12):
                return None
        phases.append(taps)
    return phases


def _enlarged(step, tensor, factors, taps):
    """Adds the enlarged map and returns its name; ``taps``: for rows and columns, phase by
    phase."""
    draft = step.draft
    rows, columns, channels = draft.graph.shape(tensor)
    results = [rows * factors[0], columns * factors[1]]
    wide = []
    for phases in taps:
        distances = [0, *(at for one in phases for at in one)]
        wide.append((-min(distances), max(distances)))
    for axis, (before, after) in enumerate(wide):
        tensor = _bordered(step, tensor, axis, before, after)
    maps = []
    for row in taps[0]:
        parts = []
        for column in taps[1]:
            kernel = np.zeros((sum(wide[0]) + 1, sum(wide[1]) + 1))
            for at, weight in row.items():
                for beside, other in column.items():
                    kernel[at + wide[0][0], beside + wide[1][0]] += weight * other
            parts.append(
                draft.add(
                    Conv,
                    tensor,
                    part=f"phase_{len(maps)}_{len(parts)}",
                    weights=np.tile(kernel[None, :, :, None], (channels, 1, 1, 1)),
                    groups=channels,
                )
            )
        joined = parts[0]
        if len(parts) > 1:
            joined = draft.add(Concat, *parts, part=f"columns_{len(maps)}", axis=2)
        maps.append(joined)
    return _interleaved(step, maps, factors, results)


def _bordered(step, tensor, axis, before, after):
    """Pads a map by repeating its first and last row or column."""
    shape = step.draft.graph.shape(tensor)
    sides = []
    for count, place in ((before, 0), (after, shape[axis] - 1)):
        if not count:
            sides.append([])
            continue
        start, stop = [0] * 3, list(shape)
        start[axis], stop[axis] = place, place + 1
        edge = step.draft.add(
            Slice, tensor, part="edge", start=tuple(start), stop=tuple(stop), step=(1, 1, 1)
        )
        sides.append([edge] * count)
    if not before and not after:
        return tensor
    return step.draft.add(Concat, *sides[0], tensor, *sides[1], part="border", axis=axis)
