# SPDX-License-Identifier: BSD-2-Clause
"""Strides beyond those of ``conv``: tiles of a single line of results.

The distance of a map's rows in memory is free (``@mem.ifm``), so that a load takes a line of
windows as its rows, one stride apart; ``store`` puts the column of results in a line again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....common.inputs import KernelError
from ..layers import MOST_STRIDE, Layer
from ..schedule.memory import MOST_SIDE
from ..schedule.tiling import channels_of, ifm_channels, ofm_channels
from .tiles import Job, Load, Tap, starts

if TYPE_CHECKING:
    from ..schedule.tiling import Tiling
    from .jobs import JobMaker

__all__ = ["line_jobs"]


def line_jobs(maker: JobMaker, layer: Layer, tiling: Tiling, n: int) -> list[Job]:
    """Jobs of image ``n`` of a layer, in order; raises KernelError if the build does not hold one
    result, or if windows over several lines follow."""
    if layer.pool != (1, 1, 1, 1):
        raise KernelError(
            f"a pooling behind strides {layer.stride}: expected strides of at most {MOST_STRIDE}",
            layer.name,
        )
    source, result = (maker.maps.buffers[tensor] for tensor in (layer.source, layer.result))
    sides = layer.result.shape[:2]
    # Windows of a row lie one stride apart, those of a column as many rows of memory.
    steps = source.row_slots * layer.stride[0], layer.stride[1]
    others = [maker.maps.buffers[t] for t in (layer.result, layer.residual) if t is not None]
    # The greatest distance of the rows that a line takes of a map.
    apart = max(steps[0], *(buffer.row_slots for buffer in others)), steps[1]
    axis = max((0, 1), key=lambda axis: (apart[axis] <= MOST_SIDE, sides[axis]))
    step = min(steps[axis], MOST_SIDE)
    count = 1 if apart[axis] > MOST_SIDE else _most(maker.target, layer, sides[axis])
    count = -(-sides[axis] // -(-sides[axis] // count))
    jobs = []
    for out in range(layer.result.channel_blocks):
        for other in range(sides[1 - axis]):
            for start in starts(sides[axis], count):
                place = (start, other) if axis == 0 else (other, start)
                jobs.append(_job(maker, layer, tiling, out, n, place, count, step, axis))
    return jobs


def _most(target, layer, length):
    """Greatest number of results of a line."""
    ifm_c = ifm_channels(channels_of(layer.source, 0))
    ofm_c = ofm_channels(channels_of(layer.result, 0))
    wide = max((columns - 1) * layer.dilation[1] + 1 for *_, columns in layer.blocks)
    shapes = [(wide, ifm_c)]
    if layer.residual is not None:
        shapes.append((1, ifm_channels(ofm_c)))
    for count in range(min(length, MOST_SIDE), 0, -1):
        loads = all(target.holds_ifm((count, *shape)) for shape in shapes)
        if loads and target.holds_ofm((count, 1, ofm_c)):
            return count
    raise KernelError(
        f"one result needs ifm {[1, wide, ifm_c]} and ofm {[1, 1, ofm_c]}; this build has "
        f"ifm_lines = {target.params['ifm_lines']}, ofm_lines = {target.params['ofm_lines']}",
        layer.name,
    )


def _job(maker, layer, tiling, out, n, place, count, step, axis):
    """The job of ``count`` results from ``place`` (row, column) on along ``axis``; ``step``: slots
    between their windows."""
    source, result = (maker.maps.buffers[tensor] for tensor in (layer.source, layer.result))
    top, left = (
        at * stride - pad
        for at, stride, pad in zip(place, layer.stride, layer.padding[::2], strict=True)
    )
    (far, apart), ofm_c = layer.dilation, ofm_channels(channels_of(layer.result, out))
    taps = []
    for part in layer.reads(out):
        ifm_c = ifm_channels(channels_of(layer.source, part))
        for r0, c0, high, wide in layer.blocks:
            for r in range(r0, r0 + high):
                at = source.at(n, part, top + r * far, left + c0 * apart)
                load = Load(at, step, (count, (wide - 1) * apart + 1, ifm_c))
                for c in range(wide):
                    weights = (part, 0, 0) if layer.weights is None else (part, r, c0 + c)
                    taps.append(Tap(load, (1, 1), layer.f[out], 0, c * apart, weights))
    taps = maker.without_zeros(layer, out, taps)

    def line(buffer):
        """Slots between the results of a line; a single one has any."""
        return min(buffer.row_slots, MOST_SIDE) if axis == 0 else 1

    residual = None
    if layer.residual is not None:
        buffer = maker.maps.buffers[layer.residual]
        shape = count, 1, ifm_channels(ofm_c)
        residual = Load(buffer.at(n, out, *place), line(buffer), shape)
    if layer.by_tap:
        taps.append(Tap(residual, (1, 1), layer.residual_f, 0, 0, ()))
    return Job(
        layer,
        (count, 1, ofm_c),
        maker.parts(layer, tiling, out, taps, ofm_c),
        maker.bias(layer, out, ofm_c),
        layer.b[out],
        residual if layer.adds else None,
        result.at(n, out, *place),
        (result.mem[0], line(result)),
        count,
        1,
        maker.borders(layer, range(n, n + 1), out),
    )
