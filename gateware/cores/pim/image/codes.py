# SPDX-License-Identifier: BSD-2-Clause
"""Codec of whole code sections: converts between bytes and 64-bit words, millions of instructions
at a time (specification, section 3)."""

import numpy as np

from ..storage import WIDE

__all__ = ["CodeError", "code_of", "expand_words", "narrow_words", "words_of"]

_LOW = np.uint64(0xFFFF_FFFF)
_HALF = np.uint64(32)


class CodeError(ValueError):
    """Error: an instruction has no form in the mode; ``index`` is that of the first."""

    def __init__(self, index: int, message: str) -> None:
        super().__init__(message)
        self.index = index


def expand_words(low: np.ndarray) -> np.ndarray:
    """Expands 32-bit forms to 64-bit words; ``low`` and the result are uint64 arrays."""
    op = low & np.uint64(63)
    wide = low.copy()
    for opcodes, shift in (((1,), 11), ((6, 7), 16)):
        some = np.isin(op, opcodes)
        value = low[some].astype(np.uint32).view(np.int32) >> shift
        wide[some] = (value.view(np.uint32).astype(np.uint64) << _HALF) | low[some] & np.uint64(
            (1 << shift) - 1
        )
    return wide


def narrow_words(words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Narrows 64-bit words to 32-bit forms where possible: ``(low, fits)``, arrays of uint64 and
    bool."""
    op, low, high = words & np.uint64(63), words & _LOW, words >> _HALF
    fits = high == 0
    for opcodes, shift in (((1,), 11), ((6, 7), 16)):
        some = np.isin(op, opcodes)
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
