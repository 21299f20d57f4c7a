# SPDX-License-Identifier: BSD-2-Clause
"""Memory layout of a tensor: strides for each digit of each axis, which describes blocks of
channels, borders and gaps; or bit planes, vectors transposed into a program's words, one bit of
sixteen elements per word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import prod
from typing import Any

import numpy as np

__all__ = ["BitPlanes", "Digit", "Layout", "dense_layout", "layout_of"]


@dataclass(frozen=True)
class BitPlanes:
    """Layout of vectors in IMAGine's ``mv_write`` words: bit b of elements k to k + 15 is the low
    half of word ``at + b``.

    Attributes
    ----------
    address : byte address of the program
    shape : (inputs of a run, elements)
    slots : tuple of (vector, first element, elements, first word)
    width : bits of an element
    first, end : byte addresses of the words that are written, and behind them
    """

    address: int
    shape: tuple[int, ...]
    slots: tuple[tuple[int, int, int, int], ...]
    width: int
    in_program = True

    @property
    def first(self) -> int:
        """Byte address of the lowest word that is written."""
        return self.address + 4 * min(at for *_, at in self.slots)

    @property
    def end(self) -> int:
        """Byte address after the highest word that is written."""
        return self.address + 4 * max(at + self.width for *_, at in self.slots)

    def write(self, memory: np.ndarray, values: np.ndarray, base: int = 0) -> None:
        """Stores integers in ``memory`` (uint8, its first byte at address ``base``), which holds
        the program's words."""
        values = np.asarray(values, np.int64)
        flat = values.reshape(max(vector for vector, *_ in self.slots) + 1, -1)
        words = memory.view("<u2")
        bits = np.arange(self.width)[:, None]
        for vector, first, count, at in self.slots:
            planes = ((flat[vector, first : first + count] >> bits & 1) << np.arange(count)).sum(1)
            place = (self.address - base) // 2 + 2 * at
            words[place : place + 2 * self.width : 2] = planes.astype(np.uint16)

    def as_dict(self) -> dict[str, Any]:
        """Serialises the layout for a plan's file."""
        return {
            "planes": True,
            "address": self.address,
            "shape": list(self.shape),
            "slots": [list(s) for s in self.slots],
            "width": self.width,
        }

    @classmethod
    def of_dict(cls, values: Mapping[str, Any]) -> BitPlanes:
        """Deserialises a layout, the inverse of :meth:`as_dict`."""
        return cls(
            values["address"],
            tuple(values["shape"]),
            tuple(map(tuple, values["slots"])),
            values["width"],
        )


@dataclass(frozen=True)
class Digit:
    """One digit of a mixed-radix index: ``size`` values, ``stride`` bytes apart, of axis ``axis``.
    The digits of an axis are ordered from the most significant to the least; the product of their
    sizes is at least the axis' length."""

    axis: int
    size: int
    stride: int


@dataclass(frozen=True)
class Layout:
    """Address of every element of a tensor in main memory.

    Attributes
    ----------
    address : byte address of the element whose index is 0 in every axis, counted from ``phase``
    shape : tuple of int; the first axis may count the inputs of a run
    dtype : numpy name of an element (int8, int16, int32, float32, uint16 for bfloat16,
        ...), little-endian
    digits : tuple of Digit, at least one for every axis that is longer than one
    phase : tuple of int, an axis: start of its index, so that a block of digits need not begin with
        the tensor; empty: 0

    Raises
    ------
    ValueError
        Digits that do not cover an axis.
    """

    address: int
    shape: tuple[int, ...]
    dtype: str
    digits: tuple[Digit, ...]
    phase: tuple[int, ...] = ()
    #: Whether it lies among the words of the program, which are kept when a tensor is written.
    in_program = False

    def __post_init__(self):
        for axis, length in enumerate(self.shape):
            reach, start = prod(d.size for d in self.digits if d.axis == axis), self._start(axis)
            if reach < length + start:
                raise ValueError(
                    f"axis {axis} has {length} elements"
                    + (f" from {start}" if start else "")
                    + f", its digits reach {reach}"
                )

    def _start(self, axis):
        return self.phase[axis] if self.phase else 0

    def offsets(self) -> np.ndarray:
        """Byte offset of every element from ``address``, int64 of the tensor's shape."""
        total = np.zeros(self.shape, np.int64)
        for axis, length in enumerate(self.shape):
            index, offset, below = (
                np.arange(length) + self._start(axis),
                np.zeros(length, np.int64),
                1,
            )
            for digit in reversed([d for d in self.digits if d.axis == axis]):
                offset += index // below % digit.size * digit.stride
                below *= digit.size
            total += offset.reshape([-1 if a == axis else 1 for a in range(len(self.shape))])
        return total

    @property
    def item(self) -> int:
        """Size of an element in bytes."""
        return np.dtype(self.dtype).itemsize

    @property
    def first(self) -> int:
        """Byte address of the lowest element."""
        offsets = self.offsets()
        return self.address + (int(offsets.min()) if offsets.size else 0)

    @property
    def end(self) -> int:
        """Byte address after the highest element."""
        return self.address + int(self.offsets().max(initial=-self.item)) + self.item

    def write(self, memory: np.ndarray, values: np.ndarray, base: int = 0) -> None:
        """Stores ``values`` in ``memory`` (uint8, its first byte at address ``base``); other bytes
        are unchanged."""
        data = np.ascontiguousarray(values, np.dtype(self.dtype).newbyteorder("<"))
        if data.shape != tuple(self.shape):
            raise ValueError(f"values of shape {data.shape}, the layout has {tuple(self.shape)}")
        at = self.offsets()[..., None] + np.arange(self.item) + (self.address - base)
        memory[at] = data.view(np.uint8).reshape(*self.shape, self.item)

    def read(self, memory: np.ndarray, base: int = 0) -> np.ndarray:
        """Loads the tensor from ``memory`` (uint8, its first byte at address ``base``)."""
        at = self.offsets()[..., None] + np.arange(self.item) + (self.address - base)
        return (
            np.ascontiguousarray(memory[at])
            .view(np.dtype(self.dtype).newbyteorder("<"))
            .reshape(self.shape)
            .astype(self.dtype)
        )

    def runs(self) -> tuple[np.ndarray, int]:
        """Contiguous runs in the order of the elements: (int64 byte offset of each run, bytes of a
        run)."""
        places = self.offsets().ravel()
        if not places.size:
            return np.zeros(0, np.int64), 0
        breaks = np.flatnonzero(np.diff(places) != self.item) + 1
        length = int(np.gcd.reduce(np.diff(np.concatenate([[0], breaks, [places.size]]))))
        return places[::length], length * self.item

    def strips(self) -> list[tuple[int, int, int, int]]:
        """Runs grouped by equal distance, in the order of the elements: tuples (byte offset, bytes
        of a run, distance, number of runs)."""
        places, run = self.runs()
        found, at = [], 0
        while at < len(places):
            stride = int(places[at + 1] - places[at]) if at + 1 < len(places) else run
            end = at + 1
            while stride >= run and end < len(places) and places[end] - places[end - 1] == stride:
                end += 1
            found.append((int(places[at]), run, max(stride, run), end - at))
            at = end
        return found

    def as_dict(self) -> dict[str, Any]:
        """Serialises the layout for a plan's file."""
        return {
            "address": self.address,
            "shape": list(self.shape),
            "dtype": self.dtype,
            "digits": [list(asdict(d).values()) for d in self.digits],
            "phase": list(self.phase),
        }

    @classmethod
    def of_dict(cls, values: Mapping[str, Any]) -> Layout:
        """Deserialises a layout, the inverse of :meth:`as_dict`."""
        return cls(
            int(values["address"]),
            tuple(values["shape"]),
            str(values["dtype"]),
            tuple(Digit(*map(int, d)) for d in values["digits"]),
            tuple(map(int, values.get("phase", ()))),
        )


def dense_layout(address: int, shape: Sequence[int], dtype: str) -> Layout:
    """A :class:`Layout` in C order without gaps."""
    item, digits = np.dtype(dtype).itemsize, []
    for axis in reversed(range(len(shape))):
        digits.append(Digit(axis, shape[axis], item))
        item *= shape[axis]
    return Layout(address, tuple(shape), dtype, tuple(reversed(digits)))


def layout_of(values: Mapping[str, Any]) -> Layout | BitPlanes:
    """Deserialises a :class:`Layout` or :class:`BitPlanes` from a plan's file."""
    return (BitPlanes if values.get("planes") else Layout).of_dict(values)
