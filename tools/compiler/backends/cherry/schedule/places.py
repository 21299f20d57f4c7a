# SPDX-License-Identifier: BSD-2-Clause
"""Scratchpad allocation: buffers with lifetimes in steps, and addresses for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from ....common.lifetimes import Lifetime, first_fit
from ...base import LoweringError
from ..codegen.views import View
from ..kernel_graph import Ref, Value

__all__ = ["Buffer", "Crowded", "Place", "allocate", "borders", "edges", "geometry"]

TILE = 4


class Crowded(LoweringError):
    """Error: the scratchpad is too small for the buffers that are live in step ``step``."""

    def __init__(self, step: int, text: str):
        super().__init__(text)
        self.step = step


@dataclass(eq=False)
class Buffer:
    """Scratchpad buffer of ``size`` elements, live from step ``first`` to step ``last``; ``what``
    names it in messages."""

    size: int
    what: str
    first: int | None = None
    last: int | None = None
    address: int = 0

    def use(self, first: int, last: int) -> None:
        """Extends the lifetime so that it includes these steps."""
        self.first = first if self.first is None else min(self.first, first)
        self.last = last if self.last is None else max(self.last, last)


@dataclass(frozen=True)
class Place:
    """Layout of a value in a buffer: element (0, 0, 0) lies ``lead`` elements after the buffer's
    start."""

    buffer: Buffer
    shape: tuple[int, int, int]
    strides: tuple[int, int, int]
    lead: int = 0

    def view(self, ref: Ref) -> View:
        """Scratchpad view of a reference."""
        at = (
            self.buffer.address
            + self.lead
            + sum(n * s for n, s in zip(ref.start, self.strides, strict=True))
        )
        strides = tuple(
            step * self.strides[axis] for axis, step in zip(ref.axes, ref.step, strict=True)
        )
        return View(at, ref.shape, strides)


def geometry(value: Value, spread: bool = True) -> tuple[tuple[int, int, int], int, int]:
    """Layout of a value: (strides, elements before element (0, 0, 0), elements in all). Pixels
    follow one another; a row's right border is the next one's left. ``spread``: their pitch is an
    odd multiple of four, so that tiles lie in different banks."""
    rows, columns, channels = value.shape
    top, left, bottom, right = value.border
    if value.tight or value.data is not None:
        pitch = channels
    else:
        tiles = -(-channels // TILE)
        pitch = TILE * (tiles | (spread and rows * columns > 1))
    width = columns + max(left, right)
    if (
        spread
        and any(value.border)
        and width % 2 == 0
        and -(-rows // TILE) * columns < -(-columns // TILE) * rows
    ):
        # Tiles will stand upright: the pitch of rows is to spread them as well.
        width += 1
    row = width * pitch
    lead = top * row + left * pitch
    return (row, pitch, 1), lead, lead + (rows - 1 + bottom) * row + (columns + right) * pitch


def borders(value: Value, place: Place) -> list[View]:
    """Views of the border of a value, each as (1, pixels, channels)."""
    rows, columns, _ = value.shape
    top, left, bottom, right = value.border
    row, pitch, _ = place.strides
    begin = place.buffer.address + place.lead
    width = row // pitch
    found = []
    if top * width + left:
        found.append(View(begin - place.lead, (1, top * width + left, pitch), (0, pitch, 1)))
    if rows > 1 and width > columns:
        found.append(
            View(begin + columns * pitch, (rows - 1, width - columns, pitch), (row, pitch, 1))
        )
    if bottom * width + right:
        found.append(
            View(
                begin + (rows - 1) * row + columns * pitch,
                (1, bottom * width + right, pitch),
                (0, pitch, 1),
            )
        )
    return found


def edges(value: Value, place: Place, low: int, high: int, sides: bool) -> list[View]:
    """Views of the border around rows [``low``, ``high``) of a value: its rows and, with ``sides``,
    its columns."""
    rows, columns, _ = value.shape
    _, left, _, right = value.border
    row, pitch, _ = place.strides
    begin = place.buffer.address + place.lead

    def pixels(at, height, width):
        return View(begin + at, (height, width, pitch), (row, pitch, 1))

    found = [
        pixels(first * row, end - first, columns)
        for first, end in ((low, min(0, high)), (max(rows, low), high))
        if end > first
    ]
    if sides and left:
        found.append(pixels(low * row - left * pitch, 1, left))
    if sides and high - low > 1 and row > columns * pitch:
        found.append(pixels(low * row + columns * pitch, high - low - 1, row // pitch - columns))
    if sides and right:
        found.append(pixels((high - 1) * row + columns * pitch, 1, right))
    return found


#: Orders in which buffers are placed, the first that fits is taken.
_ORDERS: tuple[Callable[[Any], tuple[int, ...]], ...] = (
    lambda b: (-b.size, b.first),
    lambda b: (b.first, -b.size),
    lambda b: (b.first - b.last, -b.size),
)


def allocate(buffers: Sequence[Buffer], elements: int) -> None:
    """Assigns addresses so that buffers with overlapping lifetimes are disjoint; raises Crowded if
    they do not fit."""
    buffers = [buffer for buffer in buffers if buffer.first is not None]
    if not buffers:
        return
    step, needed, most = _peak(buffers)
    # Where one step alone takes too much, no order of the buffers helps.
    for key in _ORDERS if needed <= elements else ():
        order = sorted(buffers, key=key)
        addresses = first_fit(cast("list[Lifetime]", order), 0, elements)  # all have steps
        if len(addresses) == len(order):
            for buffer, address in zip(order, addresses, strict=True):
                buffer.address = address
            return
    names = ", ".join(f"{b.what} {b.size:,}" for b in most[:4])
    raise Crowded(
        step,
        f"step {step} needs {needed:,} elements of the scratchpad at a time, there are "
        f"{elements:,}: {names}",
    )


def _peak(buffers):
    """Step of the highest scratchpad demand: (step, elements, buffers by size)."""
    change = np.zeros(max(b.last for b in buffers) + 2, np.int64)
    np.add.at(change, [b.first for b in buffers], [b.size for b in buffers])
    np.subtract.at(change, [b.last + 1 for b in buffers], [b.size for b in buffers])
    needed = change.cumsum()[:-1]
    step = int(needed.argmax())
    there = sorted((b for b in buffers if b.first <= step <= b.last), key=lambda b: -b.size)
    return step, int(needed[step]), there
