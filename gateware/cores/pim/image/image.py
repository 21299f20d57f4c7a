# SPDX-License-Identifier: BSD-2-Clause
"""Program image: its contents, its writer and the codec of its code sections, millions of
instructions at a time (specification, sections 3 and 3.6); the reader is ``reading.py``."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

import numpy as np

from ..storage import WIDE
from .fields import ALIGN, AUTO, CORE_ENTRY, GROUP_ENTRY, HEADER, MAGIC, MOST_ARRAYS, VERSION

__all__ = [
    "CodeError",
    "CoreProgram",
    "Group",
    "Image",
    "Writer",
    "block_rows",
    "code_of",
    "expand_words",
    "narrow_words",
    "stored_weights",
    "weights_from",
    "words_of",
]


_LOW = np.uint64(0xFFFF_FFFF)
_HALF = np.uint64(32)


class CodeError(ValueError):
    """Error: an instruction has no form in the mode; ``index`` is that of the first."""

    def __init__(self, index: int, message: str) -> None:
        super().__init__(message)
        self.index = index


def _with_immediates(words):
    """Where words have an immediate that may be short, and its lowest bit in the 32-bit form; kinds
    of which there is none are left out. Programs are short and many: ``np.isin`` takes four times
    as long."""
    op = words & np.uint64(63)
    for some, shift in ((op == 1, 11), ((op == 6) | (op == 7), 16)):
        if some.any():
            yield some, shift


def expand_words(low: np.ndarray) -> np.ndarray:
    """Expands 32-bit forms to 64-bit words; ``low`` and the result are uint64 arrays."""
    wide = low.copy()
    for some, shift in _with_immediates(low):
        value = low[some].astype(np.uint32).view(np.int32) >> shift
        wide[some] = (value.view(np.uint32).astype(np.uint64) << _HALF) | low[some] & np.uint64(
            (1 << shift) - 1
        )
    return wide


def narrow_words(words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Narrows 64-bit words to 32-bit forms where possible: ``(low, fits)``, arrays of uint64 and
    bool."""
    low, high = words & _LOW, words >> _HALF
    fits = high == 0
    for some, shift in _with_immediates(words):
        candidate = (low[some] | high[some] << np.uint64(shift)) & _LOW
        low[some] = candidate
        fits[some] = expand_words(candidate) == words[some]
    return low, fits


def code_of(words: np.ndarray, mode: int) -> bytes:
    """Encodes ``words`` (uint64 array) in ``mode`` 0, 1 or 2, each instruction in the shortest form
    of its mode.

    Raises
    ------
    CodeError
        An instruction has no form in this mode.
    """
    words = np.asarray(words, dtype=np.uint64)
    if mode == 0:
        return words.astype("<u8").tobytes()
    low, fits = narrow_words(words)
    op = words & np.uint64(63)
    if mode == 2:
        fits &= op <= np.uint64(WIDE)
    bad = ~fits if mode == 1 else ~fits & ((op == 0) | (op >= np.uint64(WIDE)))
    if bad.any():
        form = (
            "32-bit form (its offset or immediate does not fit)"
            if mode == 1
            else "packed form (its upper half is not zero)"
        )
        raise CodeError(int(bad.argmax()), f"the instruction has no {form}")
    if mode == 1:
        return low.astype("<u4").tobytes()
    ends = np.cumsum(np.where(fits, 1, 2))
    stream = np.zeros(ends[-1] if len(ends) else 0, dtype="<u4")
    stream[ends[fits] - 1] = low[fits]
    wide = ~fits
    stream[ends[wide] - 2] = (words[wide] & _LOW) + np.uint64(WIDE)
    stream[ends[wide] - 1] = words[wide] >> _HALF
    return stream.tobytes()


def words_of(code: bytes, mode: int, count: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Decodes ``code``: ``(words, offsets)``, the 64-bit words (uint64), and the byte offset of
    each, followed by that of the end (int64).

    What is no whole instruction any more is left out; ``count`` ends the list earlier.
    """
    size = 8 if mode == 0 else 4
    data = np.frombuffer(code, dtype=f"<u{size}", count=len(code) // size).astype(np.uint64)
    if mode != 2:
        words = data if mode == 0 else expand_words(data)
        offsets = np.arange(len(words) + 1, dtype=np.int64) * size
    else:
        words, offsets = _packed_words(data)
    return (words, offsets) if count is None else (words[:count], offsets[: count + 1])


def _packed_words(data):
    # A word after one that is not marked wide always begins an instruction; in a row of marked
    # ones every other does.
    index = np.arange(len(data))
    marked = (data & np.uint64(63)) > np.uint64(WIDE)
    after = np.ones(len(data), dtype=bool)
    after[1:] = ~marked[:-1]
    row = np.maximum.accumulate(np.where(after, index, 0)) if len(data) else index
    starts = index[(index - row) % 2 == 0]
    end = len(data)
    if len(starts) and marked[starts[-1]] and starts[-1] == end - 1:
        starts, end = starts[:-1], end - 1
    wide = marked[starts]
    words = np.empty(len(starts), dtype=np.uint64)
    words[~wide] = expand_words(data[starts[~wide]])
    words[wide] = (data[starts[wide]] - np.uint64(WIDE)) | data[starts[wide] + 1] << _HALF
    return words, np.append(starts, end).astype(np.int64) * 4


@dataclass
class Group:
    """Group of arrays: ``weights`` int8 (rows, cols), ``bias`` int32 (cols,) or ``None``, and
    ``arrays`` in grid order."""

    rows: int
    cols: int
    arrays: tuple[int, ...] = ()
    mbiw: int = 8
    shift: int = 0
    round: int = 1
    weights: np.ndarray | None = None
    bias: np.ndarray | None = None


@dataclass
class CoreProgram:
    """Program of a core: ``code`` as bytes in memory, ``count`` instructions in form ``mode`` (0,
    1, 2), and its groups."""

    code: bytes = b""
    count: int = 0
    mode: int = 0
    wait_mode: int = 0
    ibiw: int = 8
    obiw: int = 8
    fi: int = AUTO
    fo: int = AUTO
    groups: list[Group] = field(default_factory=list)


@dataclass
class Image:
    """Program image: all cores, the geometry of their arrays, and GMem (``gmem_size`` 0: up to the
    window's limit)."""

    cores: list[CoreProgram]
    xb_rows: int = 64
    xb_cols: int = 64
    gmem_base: int = 0
    gmem_size: int = 0

    def data(self) -> bytes:
        """Encodes the image, in the canonical layout."""
        return Writer(self).data


def block_rows(rows: int, xb_rows: int) -> list[int]:
    """Number of rows in each block row of a group: ``xb_rows``, fewer in the last."""
    return [min(xb_rows, rows - k) for k in range(0, rows, xb_rows)]


def stored_weights(weights: np.ndarray, xb_rows: int, xb_cols: int) -> bytes:
    """Encodes a group's weights, int8 (rows, cols): block after block, with rows padded to
    ``xb_cols``."""
    rows, cols = weights.shape
    padded = np.zeros((rows, -(-cols // xb_cols) * xb_cols), dtype=np.int8)
    padded[:, :cols] = weights
    return b"".join(
        padded[top : top + xb_rows, left : left + xb_cols].tobytes()
        for top in range(0, rows, xb_rows)
        for left in range(0, cols, xb_cols)
    )


def weights_from(
    data: bytes | memoryview, rows: int, cols: int, xb_rows: int, xb_cols: int
) -> np.ndarray:
    """Decodes the bytes of :func:`stored_weights` to a matrix int8 (rows, all columns of the
    arrays), padding included."""
    whole = np.empty((rows, -(-cols // xb_cols) * xb_cols), dtype=np.int8)
    at = 0
    for top in range(0, rows, xb_rows):
        height = min(xb_rows, rows - top)
        for left in range(0, cols, xb_cols):
            size = height * xb_cols
            whole[top : top + height, left : left + xb_cols] = np.frombuffer(
                data, np.int8, size, at
            ).reshape(height, xb_cols)
            at += size
    return whole


class Writer:
    """Image writer. ``data``: the image's bytes; ``code_offsets``: offset of each core's code, 0
    without code; ``core_table``: offset of the cores' entries."""

    def __init__(self, image: Image) -> None:
        self._image, self._size = image, 0
        self._pieces: list[bytes] = []
        self._offsets: list[int] = []
        self._place(bytes(HEADER))
        tables = len(self._pieces)
        for piece in (
            bytes(CORE_ENTRY * len(image.cores)),
            *(bytes(GROUP_ENTRY * len(c.groups)) for c in image.cores),
        ):
            self._place(piece)
        self.core_table = core_table = self._offsets[tables]
        group_tables = self._offsets[tables + 1 :]
        self.code_offsets = [self._place(core.code) for core in image.cores]
        rows = [[self._group(group) for group in core.groups] for core in image.cores]
        data = bytearray(b"".join(self._pieces))
        data[0:HEADER] = self._header(core_table)
        for k, core in enumerate(image.cores):
            at = core_table + CORE_ENTRY * k
            data[at : at + CORE_ENTRY] = struct.pack(
                "<3I4BIHBB8x",
                self.code_offsets[k],
                core.count,
                len(core.code),
                core.mode,
                core.wait_mode,
                core.ibiw,
                core.obiw,
                group_tables[k],
                len(core.groups),
                core.fi,
                core.fo,
            )
            for n, row in enumerate(rows[k]):
                at = group_tables[k] + GROUP_ENTRY * n
                data[at : at + GROUP_ENTRY] = row
        self.data = bytes(data)

    def _place(self, piece):
        """Appends ``piece`` and returns its offset; 0 if it is empty."""
        at = self._size if piece else 0
        self._offsets.append(at)
        self._pieces.append(piece + bytes(-len(piece) % ALIGN))
        self._size += len(self._pieces[-1])
        return at

    def _header(self, core_table):
        image = self._image
        return struct.pack(
            "<4sHHIHxxIHHII32x",
            MAGIC,
            VERSION,
            HEADER,
            self._size,
            len(image.cores),
            core_table,
            image.xb_rows,
            image.xb_cols,
            image.gmem_base,
            image.gmem_size,
        )

    def _group(self, group):
        weights = bias = 0
        if group.weights is not None:
            weights = self._place(
                stored_weights(
                    np.asarray(group.weights, np.int8), self._image.xb_rows, self._image.xb_cols
                )
            )
        if group.bias is not None:
            bias = self._place(np.asarray(group.bias).astype("<i4").tobytes())
        flags = bool(group.round) | (group.bias is not None) << 1
        ids = (*group.arrays, *(0,) * (MOST_ARRAYS - len(group.arrays)))
        return struct.pack(
            "<HH4BII16H16x",
            group.rows,
            group.cols,
            group.mbiw,
            group.shift,
            flags,
            len(group.arrays),
            weights,
            bias,
            *ids,
        )
