# SPDX-License-Identifier: BSD-2-Clause
"""Interleaved maps: each phase is copied to its rows and columns by stores of single rows.

A row of a map is read as a column of slots. ``store`` puts the rows of a column ``ofm_mem_w`` slots
apart, so that the columns of a phase get their distance.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ....common.inputs import KernelError
from ..layers import Layer
from ..schedule.tiling import Target, channels_of, ifm_channels, ofm_channels
from .tiles import Chunk, Job, Load, Part

if TYPE_CHECKING:
    from .jobs import JobMaker

__all__ = ["interleaved_jobs"]


@dataclass(frozen=True)
class _Copy:
    """Copy of a phase to a channel block of the result."""

    row: int
    column: int
    out: int
    ofm_c: int
    matrices: dict[int, np.ndarray]  # channel block of the source -> [ofm_c, ifm_c]


def _copies(layer: Layer) -> Iterator[_Copy]:
    """The copies that a layer consists of, for each phase and channel block."""
    source, result = layer.source, layer.result
    assert layer.phases is not None
    for row, column, at in layer.phases.places:
        for out in range(result.channel_blocks):
            first, last = result.span(out)
            ofm_c, matrices = ofm_channels(last - first), {}
            for part in range(source.channel_blocks):
                low, high = source.span(part)
                mine = np.arange(max(low, at + first), min(high, at + last))
                if len(mine):
                    matrix = np.zeros((ofm_c, ifm_channels(channels_of(source, part))), np.int64)
                    matrix[mine - at - first, mine - low] = 1
                    matrices[part] = matrix
            yield _Copy(row, column, out, ofm_c, matrices)


def _kernels(maker: JobMaker, layer: Layer) -> dict[tuple[int, ...], tuple[int, int, int]]:
    """Kernels of a layer: (row phase, column phase, channel block, channel block of the source)
    -> (address, taps, tap). Copies of one channel block of the source share a kernel as far as
    the build holds it, so that it is loaded once."""
    groups: dict[tuple[int, int], list[_Copy]] = {}
    for copy in _copies(layer):
        for part in copy.matrices:
            groups.setdefault((part, copy.ofm_c), []).append(copy)
    found: dict[tuple[int, ...], tuple[int, int, int]] = {}
    for (part, ofm_c), copies in groups.items():
        most = maker.target.kernel_taps(ofm_c, copies[0].matrices[part].shape[1])
        if not most:
            raise KernelError(
                f"one tap of {copies[0].matrices[part].shape[1]} to {ofm_c} channels: expected at "
                f"most ker_rows = {maker.target.params['ker_rows']} rows of kernel memory",
                layer.name,
            )
        for begin in range(0, len(copies), most):
            some = copies[begin : begin + most]
            matrices = [copy.matrices[part] for copy in some]
            at = maker.kernel((layer.name, part, ofm_c, begin), matrices.copy)
            for tap, copy in enumerate(some):
                found[copy.row, copy.column, copy.out, part] = at, len(some), tap
    return found


def _most_columns(target: Target, layer: Layer) -> int:
    """Greatest number of columns of a tile."""
    ifm_c = ifm_channels(channels_of(layer.source, 0))
    ofm_c = ofm_channels(channels_of(layer.result, 0))
    most = layer.source.width
    while most and not (target.holds_ifm((most, 1, ifm_c)) and target.holds_ofm((most, 1, ofm_c))):
        most -= 1
    if not most:
        raise KernelError(
            f"one result needs ifm [1, 1, {ifm_c}] and ofm [1, 1, {ofm_c}]; this build has "
            f"ifm_lines = {target.params['ifm_lines']}, ofm_lines = {target.params['ofm_lines']}",
            layer.name,
        )
    return most


def interleaved_jobs(maker: JobMaker, layer: Layer, n: int) -> list[Job]:
    """Jobs of image ``n`` of a layer with ``phases``, in order; raises KernelError if the build
    does not hold one column."""
    phases = layer.phases
    assert phases is not None
    source, result = (maker.maps.buffers[tensor] for tensor in (layer.source, layer.result))
    (down, across), width = phases.factors, layer.source.width
    most = _most_columns(maker.target, layer)
    # Equal tiles: the last one overlaps its neighbour rather than having another shape.
    count = -(-width // -(-width // most))
    starts = sorted({min(at, width - count) for at in range(0, width, count)})
    kernels, copies, jobs = _kernels(maker, layer), list(_copies(layer)), []
    for row in range(layer.source.height):
        for start in starts:
            for copy in copies:
                parts = []
                for part, matrix in copy.matrices.items():
                    at, taps, tap = kernels[copy.row, copy.column, copy.out, part]
                    load = Load(
                        source.at(n, part, row, start),
                        1,
                        (count, 1, matrix.shape[1]),
                    )
                    chunk = Chunk(load, (1, 1), layer.f[copy.out], ((0, 0, tap),))
                    parts.append(Part(at, taps, (chunk,)))
                jobs.append(
                    Job(
                        layer,
                        (count, 1, copy.ofm_c),
                        parts,
                        None,
                        0,
                        None,
                        result.at(
                            n,
                            copy.out,
                            row * down + copy.row,
                            start * across + copy.column,
                        ),
                        (result.mem[0], across),
                        count,
                        1,
                        maker.borders(layer, range(n, n + 1), copy.out),
                    )
                )
    return jobs
