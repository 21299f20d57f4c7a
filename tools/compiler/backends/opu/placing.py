# SPDX-License-Identifier: BSD-2-Clause
"""Layouts of the tensors of a compiled network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .....gateware.cores.opu.types import SLOT
from ...layout import Digit, Layout

if TYPE_CHECKING:
    from .codegen.program import Placed
    from .grid import Grid

__all__ = ["grid_layout", "layout_of"]


def layout_of(placed: Placed, shape: Sequence[int]) -> Layout | None:
    """Memory layout of a tensor of ``shape`` (its first axis counts inputs) at its place in the
    kernel library's network. ``None`` if address digits cannot describe it: a flattened map whose
    channel blocks are not full."""
    buffer, size = placed.buffer, placed.bits // 8
    tensor, slot = buffer.tensor, SLOT * size
    rows = [(tensor.height, buffer.row_slots * slot)]
    columns = [(tensor.width, slot)]
    channels = _channels(
        buffer, slot, size, tensor.each if tensor.channel_blocks > 1 else tensor.channels
    )
    start = placed.address + (buffer.at(0) - buffer.base) * 64
    parts = {0: [], 1: [channels], 2: [rows, channels], 3: [rows, columns, channels]}[len(shape)]
    if _sizes(tensor, len(shape)) != tuple(shape):
        # Another shape of the same elements: digits of one axis count all of them.
        if len(shape) != 1 or (tensor.channel_blocks > 1 and tensor.channels % tensor.each):
            return None
        parts = [rows + columns + channels]
    digits = [Digit(0, buffer.images, buffer.image_slots * slot)]
    digits += [Digit(axis, *digit) for axis, part in enumerate(parts, 1) for digit in part]
    return Layout(start, (buffer.images, *shape), f"int{placed.bits}", tuple(digits))


def _sizes(tensor, axes):
    return {
        0: (),
        1: (tensor.channels,) if tensor.height == tensor.width == 1 else None,
        2: (tensor.height, tensor.channels) if tensor.width == 1 else None,
        3: tensor.shape,
    }[axes]


def _channels(buffer, slot, size, each):
    """Address digits of the channels: maps, channel blocks within a map, channels of a block."""
    tensor, digits = buffer.tensor, []
    if tensor.maps > 1:
        digits.append((tensor.maps, buffer.map_slots * slot))
    if tensor.shares > 1:
        digits.append((tensor.shares, buffer.line_slots * slot))
    return [*digits, (each, size)]


def grid_layout(placed: Placed, shape: tuple[int, int, int], grid: Grid) -> Layout:
    """Layout of a tensor of ``shape`` (rows, columns, channels) whose positions share slots."""
    buffer, size = placed.buffer, placed.bits // 8
    slot, (rows, columns, _), (down, across) = SLOT * size, grid.shape, grid.block
    start = placed.address + (buffer.at(0) - buffer.base) * 64
    each = buffer.tensor.each
    if shape[2] >= each:  # positions in channel blocks of their own
        blocks = shape[2] // each
        column, channels = (
            blocks * buffer.line_slots * slot,
            [Digit(3, blocks, buffer.line_slots * slot), Digit(3, each, size)],
        )
    else:
        column, channels = shape[2] * size, [Digit(3, shape[2], size)]
    digits = [
        Digit(0, buffer.images, buffer.image_slots * slot),
        Digit(1, rows, buffer.row_slots * slot),
        Digit(1, down, across * column),
        Digit(2, columns, slot),
        Digit(2, across, column),
        *channels,
    ]
    return Layout(
        start, (buffer.images, *shape), f"int{placed.bits}", tuple(digits), (0, *grid.phase, 0)
    )
