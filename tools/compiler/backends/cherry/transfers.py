# SPDX-License-Identifier: BSD-2-Clause
"""Works: what one program can do at least, with the buffers that it takes and what DMA brings
before it and takes away after it."""

from dataclasses import dataclass, field, replace
from itertools import product

import numpy as np

from ....kernels.cherry.stored import from_array
from .places import Buffer

__all__ = ["MOST", "Arrays", "Main", "Transfer", "Work", "moved", "whole"]

#: Rows of a descriptor and columns of its rows, at most.
MOST = 65535


class Arrays:
    """Arrays of constants in the forms in which they are needed, each made once, however often a
    network is laid out."""

    def __init__(self):
        self._kept, self._words = {}, {}

    def once(self, key, make):
        """What ``make()`` gave for this key."""
        if key not in self._kept:
            self._kept[key] = make()
        return self._kept[key]

    def words(self, elements, fmt):
        """A row of elements as bytes of main memory; ``elements`` is kept alive with them."""
        key = elements.__array_interface__["data"][0], elements.size, fmt
        if key not in self._words:
            self._words[key] = (
                elements,
                from_array(elements.reshape(1, -1), fmt).astype("<u4").view(np.uint8).ravel(),
            )
        return self._words[key][1]


class Main:
    """Main memory from address 0 on, taken piece by piece.

    Parameters
    ----------
    arrays : Arrays

    Attributes
    ----------
    constants : list of (address, uint8 array, what it is); ``end``: the first free address
    """

    def __init__(self, arrays):
        self._arrays, self.constants, self.end = arrays, [], 0

    def take(self, size):
        address, self.end = self.end, self.end + (size + 63 & ~63)
        return address

    def hold(self, elements, fmt, what):
        """The address of a row of constant elements."""
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
    main: object = 0
    pitch: int = 0
    mem_pitch: int = 0

    def split(self):
        """Transfers of ``in`` and ``out`` in fp32 that do the same, each of as many rows and
        columns as a descriptor has."""
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

    def line(self):
        """As assembly source."""
        mem = self.buffer.address + self.offset
        if self.op == "fill":
            return f".fill {self.main} {mem} {self.rows} {self.cols}"
        spaced = f" pitch={self.pitch} mem_pitch={self.mem_pitch}" if self.rows > 1 else ""
        return f".{self.op} {self.fmt} {self.main:#x} {mem} {self.rows} {self.cols}{spaced}"


@dataclass
class Work:
    """``emit(emitter)`` makes its loop nests.

    Attributes
    ----------
    nodes : names of the graph's nodes
    buffers : that its program touches
    incoming, outgoing : lists of Transfer
    ordered : what comes in has left with the work before: nothing is prefetched
    number : of the operation
    at_once : what leaves does so before the next program, which may write over it
    """

    nodes: tuple
    emit: object
    buffers: set = field(default_factory=set)
    incoming: list = field(default_factory=list)
    outgoing: list = field(default_factory=list)
    ordered: bool = False
    macs: int = 0
    number: int = 0
    at_once: bool = False


def whole(ref):
    """Whether a Ref is its value as it lies."""
    return (ref.axes, ref.start, ref.step, ref.shape) == (
        (0, 1, 2),
        (0, 0, 0),
        (1, 1, 1),
        ref.value.shape,
    )


def moved(op, place, shape, main, rows=None):
    """Transfers of a value whose array lies at ``main`` in fp32, C order; ``rows``: (first, number)
    of its rows."""
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
