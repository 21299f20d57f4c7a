# SPDX-License-Identifier: BSD-2-Clause
"""DMA between main memory, with checks against the memory window, and MEM: descriptors and their
formats (specification, section 7.2), on numpy arrays."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ....isa.model import MemoryWindow
from ....isa.outcome import RunFault
from ..image import BITS, DESCRIPTOR_BYTES, FILL, IN, ImageError, read_descriptor, row_words
from ..tables import INF, NAN
from .arithmetic import is_nan, pack, round_value, split

if TYPE_CHECKING:
    from .program import Work
    from .races import Touched

__all__ = ["MainMemory", "from_array", "from_words", "run_list", "to_words"]


class MainMemory(MemoryWindow):
    """Main memory, accessed by words.

    Methods take ``pc``, the byte address that a fault names, and raise
    :class:`~quintet.gateware.isa.outcome.RunFault`: ``window`` with the first byte address outside;
    ``bus`` where the window lies past the memory's end.
    """

    def check(self, address: int, words: int, pc: int) -> None:
        """Raises a fault for a range outside the window."""
        for name, bad in (
            ("window", self.outside(address, 4 * words)),
            ("bus", self.beyond(address, 4 * words)),
        ):
            if bad is not None:
                raise RunFault(name, bad, pc=pc)

    def word(self, address: int, pc: int) -> int:
        """Reads one word."""
        self.check(address, 1, pc)
        return int.from_bytes(self.memory[address : address + 4].tobytes(), "little")

    def words(self, address: int, count: int, pc: int) -> np.ndarray:
        """Reads ``count`` words as an int64 array."""
        self.check(address, count, pc)
        return self.memory[address : address + 4 * count].view("<u4").astype(np.int64)

    def store(self, address: int, words: np.ndarray, pc: int) -> None:
        """Writes words."""
        self.check(address, len(words), pc)
        self.write(pc, address, np.asarray(words).astype("<u4").view(np.uint8))


_LOW18, _LOW32 = (1 << 18) - 1, (1 << 32) - 1


def _from_fp32(bits):
    sign, exponent, fraction = bits >> 31, bits >> 23 & 0xFF, bits & 0x7F_FFFF
    finite = round_value(sign, fraction | 1 << 23, exponent - 150)
    result = np.where(exponent == 0, sign << 17, finite)
    return np.where(exponent == 255, np.where(fraction != 0, NAN, INF | sign << 17), result)


def _from_bf16(bits):
    x = bits << 2
    sign, exponent, _ = split(x)
    return np.where(is_nan(x), NAN, np.where(exponent == 0, sign << 17, x))


def _to_bf16(x):
    sign, exponent, fraction = split(x)
    finite = round_value(sign, fraction | 1 << 9, exponent - 136, frac=7)
    result = np.where(exponent == 0, pack(sign, 0, 0, 7), finite)
    result = np.where(exponent == 255, pack(sign, 255, 0, 7), result)
    return np.where(is_nan(x), 0x7FC0, result)


def _unpack(words, bits, cols):
    """Unpacks ``cols`` fields of ``bits`` bits from a row's little-endian bit string."""
    string = np.unpackbits(words.astype("<u4").view(np.uint8), bitorder="little")
    return (string[: cols * bits].reshape(cols, bits).astype(np.int64) << np.arange(bits)).sum(1)


def _pack_bits(fields, bits, words):
    string = np.zeros(32 * words, np.uint8)
    string[: len(fields) * bits] = (fields[:, None] >> np.arange(bits) & 1).ravel()
    return np.packbits(string, bitorder="little").view("<u4").astype(np.int64)


def from_words(fmt: str, words: np.ndarray, cols: int) -> np.ndarray:
    """Decodes the ``cols`` elements of a row from its words in main memory."""
    fields = _unpack(np.asarray(words, np.int64), BITS[fmt], cols)
    if fmt == "fp32":
        return _from_fp32(fields)
    return _from_bf16(fields) if fmt == "bf16" else fields & _LOW18


def to_words(fmt: str, elements: np.ndarray) -> np.ndarray:
    """Encodes a row's elements as words; unused bits are 0."""
    elements = np.asarray(elements, np.int64)
    fields = elements << 14 if fmt == "fp32" else _to_bf16(elements) if fmt == "bf16" else elements
    return _pack_bits(fields, BITS[fmt], row_words(fmt, len(elements)))


def from_array(array: np.ndarray, fmt: str) -> np.ndarray:
    """Encodes a float matrix as words of main memory, uint32 with one row per matrix row; rounded
    as DMA does."""
    rows = np.ascontiguousarray(array, np.float32).view(np.uint32).astype(np.int64)
    return np.array([to_words(fmt, from_words("fp32", row, row.size)) for row in rows], np.uint32)


def _word_of(memory: MainMemory, here: int, offset: int) -> int:
    """Word at ``here`` of the descriptor."""
    return memory.word(here + offset & _LOW32, here)


def run_list(
    address: int, memory: MainMemory, mem: np.ndarray, work: Work, touched: Touched | None = None
) -> None:
    """Executes the descriptors from ``address`` on, row by row. For each row the main memory range
    is checked first, then its MEM addresses; a row with a fault moves nothing.

    ``memory``: :class:`MainMemory`; ``mem``: MEM; ``work``: :class:`~.program.Work`;
    ``touched``:
    :class:`~.races.Touched` or ``None``, informed of every row.

    Raises
    ------
    RunFault
    """
    if address & 3:
        raise RunFault("descriptor", address, pc=address)
    while True:
        here = address & _LOW32
        try:
            descriptor = read_descriptor(partial(_word_of, memory, here))
        except ImageError as error:
            raise RunFault("descriptor", error.word, pc=here) from None
        work.bytes_read += DESCRIPTOR_BYTES
        if descriptor is None:
            return
        _transfer(descriptor, here, memory, mem, work, touched)
        address = here + DESCRIPTOR_BYTES


def _transfer(d, pc, memory, mem, work, touched):
    width = row_words(d.format, d.cols)
    columns = np.arange(d.cols) * d.mem_step
    for row in range(d.rows):
        main = d.main + row * d.pitch & _LOW32
        at = d.mem + row * d.mem_pitch + columns & _LOW18
        if d.op != FILL:
            memory.check(main, width, pc)
        outside = at >= len(mem)
        if outside.any():
            raise RunFault("dma_range", int(at[outside][0]), pc=pc)
        if d.op == FILL:
            mem[at] = d.main
        elif d.op == IN:
            mem[at] = from_words(d.format, memory.words(main, width, pc), d.cols)
            work.bytes_read += 4 * width
        else:
            memory.store(main, to_words(d.format, mem[at]), pc)
            work.bytes_written += 4 * width
        if touched is not None:
            touched.note(d.op, at, main, 4 * width)
