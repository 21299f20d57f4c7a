# SPDX-License-Identifier: BSD-2-Clause
"""`Task`: the smallest schedulable unit; its instructions, the scratchpad buffers it uses and its
DMA transfers."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from ......gateware.cores.cherry.image import FILL, IN, OUT, Descriptor, row_words
from ......gateware.cores.cherry.model.transfers import from_array
from .steps import Buffer, Place

if TYPE_CHECKING:
    from ..codegen.emit import Emitter
    from ..kernel_graph import Box, Ref

__all__ = ["MOST", "Arrays", "Main", "Transfer", "Task", "boxed", "moved", "whole"]

#: Rows of a descriptor and columns of its rows, at most.
MOST = 65535


class Arrays:
    """Cache of constant arrays in memory formats, shared by all candidate schedules of a
    network."""

    def __init__(self):
        self._kept, self._words = {}, {}

    def once(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """Returns the cached result of ``make()`` for this key, which is computed once."""
        if key not in self._kept:
            self._kept[key] = make()
        return self._kept[key]

    def words(self, elements: np.ndarray, fmt: str) -> np.ndarray:
        """Encodes a row of elements as bytes of main memory, uint8; ``elements`` is kept alive with
        the cache entry."""
        key = elements.__array_interface__["data"][0], elements.size, fmt
        if key not in self._words:
            self._words[key] = (
                elements,
                from_array(elements.reshape(1, -1), fmt).astype("<u4").view(np.uint8).ravel(),
            )
        return self._words[key][1]


class Main:
    """Allocator of main memory from address 0 on.

    Parameters
    ----------
    arrays : Arrays

    Attributes
    ----------
    constants : list of (address, uint8 array, description); ``end``: the first free address
    regions : list of (address, bytes), in the order of the addresses
    """

    def __init__(self, arrays: Arrays):
        self._arrays = arrays
        self.constants: list[tuple[int, np.ndarray, str]] = []
        self.regions: list[tuple[int, int]] = []
        self.end = 0

    def take(self, size: int) -> int:
        """Allocates ``size`` bytes and returns their address."""
        address, self.end = self.end, self.end + (size + 63 & ~63)
        self.regions.append((address, size))
        return address

    def rearrange(self, places: Mapping[int, int], end: int) -> Callable[[int], int]:
        """Moves each region to its address in ``places``, by its number; returns the function that
        moves an address within a region along. ``end``: the first free address afterwards."""
        before = sorted((address, number) for number, (address, _) in enumerate(self.regions))
        begins = [address for address, _ in before]

        def move(address: int) -> int:
            begin, number = before[bisect_right(begins, address) - 1]
            return places[number] + address - begin

        self.constants = [(move(address), data, what) for address, data, what in self.constants]
        self.regions = [(places[number], size) for number, (_, size) in enumerate(self.regions)]
        self.end = end
        return move

    def hold(self, elements: np.ndarray, fmt: str, what: str) -> int:
        """Stores a row of constant elements and returns its address."""
        data = self._arrays.words(elements, fmt)
        address = self.take(data.size)
        self.constants.append((address, data, what))
        return address


@dataclass
class Transfer:
    """A DMA descriptor: ``op`` in, out or fill, ``rows`` x ``cols`` elements at ``offset`` of
    ``buffer``."""

    op: str
    buffer: Buffer
    offset: int
    rows: int
    cols: int
    fmt: str = "fp32"
    main: int = 0
    pitch: int = 0
    mem_pitch: int = 0

    def split(self) -> list[Transfer]:
        """Splits an fp32 transfer into transfers within a descriptor's limits of rows and
        columns."""
        pitch, mem_pitch = (self.pitch, self.mem_pitch) if self.rows > 1 else (0, 0)
        return [
            replace(
                self,
                offset=self.offset + row * mem_pitch + col,
                rows=min(MOST, self.rows - row),
                cols=min(MOST, self.cols - col),
                main=self.main + row * pitch + 4 * col,
            )
            for row, col in product(range(0, self.rows, MOST), range(0, self.cols, MOST))
        ]

    def descriptor(self) -> Descriptor:
        """Encodes the transfer as the core's descriptor."""
        mem = self.buffer.address + self.offset
        pitch, mem_pitch = 4 * row_words(self.fmt, self.cols), self.cols
        if self.op == "fill":
            pitch = 0
        elif self.rows > 1:
            pitch, mem_pitch = self.pitch, self.mem_pitch
        return Descriptor(
            {"in": IN, "out": OUT, "fill": FILL}[self.op],
            self.fmt,
            self.main,
            mem,
            self.rows,
            self.cols,
            pitch,
            mem_pitch,
        )


@dataclass
class Task:
    """A task: the smallest schedulable unit; ``emit(emitter)`` makes its loop nests.

    Attributes
    ----------
    nodes : names of the graph's nodes
    buffers : that its program touches
    incoming, outgoing : lists of Transfer
    ordered : its inputs are outputs of the task before: nothing is prefetched
    number : of the operation
    at_once : its outputs are stored before the next program, which may overwrite them
    """

    nodes: tuple[str, ...]
    emit: Callable[[Emitter], object] | None
    buffers: set[Buffer] = field(default_factory=set)
    incoming: list[Transfer] = field(default_factory=list)
    outgoing: list[Transfer] = field(default_factory=list)
    ordered: bool = False
    macs: int = 0
    number: int = 0
    at_once: bool = False


def whole(ref: Ref) -> bool:
    """Whether a reference covers its value completely, in storage order."""
    return (ref.axes, ref.start, ref.step, ref.shape) == (
        (0, 1, 2),
        (0, 0, 0),
        (1, 1, 1),
        ref.value.shape,
    )


def moved(
    op: str,
    place: Place,
    shape: tuple[int, ...],
    main: int,
    rows: tuple[int, int] | None = None,
) -> list[Transfer]:
    """Transfers between the scratchpad and a value's fp32 array at ``main``, in C order; ``rows``:
    (first, number) of the rows to move."""
    height, width, depth = shape
    first, number = rows or (0, height)
    row, pixel, _ = place.strides
    whole = width * depth
    if pixel == depth or width == 1:
        if width == 1 and pixel != depth:
            whole, pixel = depth, depth
        if whole <= MOST or width == 1:
            return Transfer(
                op,
                place.buffer,
                place.lead + first * row,
                number,
                whole,
                main=main + 4 * first * whole,
                pitch=4 * whole,
                mem_pitch=row,
            ).split()
    found = []
    for y in range(first, first + number):
        found += Transfer(
            op,
            place.buffer,
            place.lead + y * row,
            width,
            depth,
            main=main + 4 * y * whole,
            pitch=4 * depth,
            mem_pitch=pixel,
        ).split()
    return found


def boxed(op: str, place: Place, box: Box, main: int) -> list[Transfer]:
    """Transfers between the scratchpad and a box of a value's fp32 array at ``main``, in C
    order."""
    _, width, depth = box.value.shape
    rows, columns, channels = place.shape
    row, pixel, _ = place.strides
    first = main + 4 * ((box.start[0] * width + box.start[1]) * depth + box.start[2])

    def transfer(y, number, cols, pitch, mem_pitch):
        return Transfer(
            op,
            place.buffer,
            place.lead + y * row,
            number,
            cols,
            main=first + 4 * y * width * depth,
            pitch=pitch,
            mem_pitch=mem_pitch,
        ).split()

    together = columns * channels
    if columns == 1 or (channels == depth == pixel and together <= MOST):
        return transfer(0, rows, together, 4 * width * depth, row)
    return [part for y in range(rows) for part in transfer(y, columns, channels, 4 * depth, pixel)]
