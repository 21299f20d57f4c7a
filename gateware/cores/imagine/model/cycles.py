# SPDX-License-Identifier: BSD-2-Clause
"""Cycle formulas of instructions, macros and kernels (section 10). Only :func:`estimate` imports
numpy.

Array cycles, from dispatch to dispatch, with FIFO-in never empty and FIFO-out never full. ``width``
is N, the bits of a register; ``levels`` the levels of a row's accumulation.
"""

from collections.abc import Iterable

from ....isa.parameters import Params
from ..isa import ISA, MULTI_CYCLE, levels

__all__ = [
    "FIRST_WORD",
    "allaccum",
    "blockaccum",
    "clrreg",
    "estimate",
    "gemv",
    "instruction",
    "mult",
    "multfxp",
    "tiled",
]

#: From the dispatch of ``vv_parallelEn`` to the first word in FIFO-out.
FIRST_WORD = 4
#: A word of ``mv_write`` without operands, and the bits of its data and of its address.
_LOAD = ISA.encode("mv_write", addr=0, data=0)
_DATA = ISA.encode("mv_write", addr=0, data=0xFFFF) ^ _LOAD
_ADDRESS = ISA.encode("mv_write", addr=0x3FF, data=0) ^ _LOAD


def instruction(mnemonic: str, width: int, level: int = 0) -> int:
    """Cycles of one instruction; ``level``: that of ``mv_accumRow``."""
    if mnemonic in ("mv_add", "mv_sub"):
        return 2 * width + 1
    if mnemonic in ("mv_mov", "mv_movOffset", "mv_blockFold"):
        return width + 5
    if mnemonic == "mv_updatepp":
        return 2 * width + 3
    if mnemonic == "mv_accumRow":
        return width + 6 + (1 << level)
    if mnemonic not in ISA.opcodes:
        raise ValueError(f"no instruction {mnemonic!r}")
    return 1


def mult(width: int) -> int:
    """Cycles of ``mv_MULT``."""
    return 1 + width * instruction("mv_updatepp", width)


def multfxp(width: int) -> int:
    """Cycles of ``mv_MULTFXP``."""
    return mult(width) + instruction("mv_movOffset", width)


def blockaccum(width: int, folds: int = 4) -> int:
    """Cycles of ``mv_BLOCKACCUM``."""
    return folds * instruction("mv_blockFold", width)


def allaccum(width: int, levels: int, folds: int = 4) -> int:
    """Cycles of ``mv_ALLACCUM`` or ``mv_RNGACCUM`` with this number of levels."""
    return blockaccum(width, folds) + sum(
        instruction("mv_accumRow", width, level) for level in range(levels)
    )


def clrreg(width: int) -> int:
    """Cycles of ``mv_CLRREG``."""
    return width + 1


def gemv(width: int, rows: int, cols: int) -> tuple[int, int]:
    """Cycles of GEMV and bias (``vv_serialEn``; MULTFXP; ALLACCUM; add; SYNC; ``vv_parallelEn``) on
    ``rows`` x ``cols`` blocks.

    Returns
    -------
    tuple of int
        Cycles from ``vv_serialEn`` to the first word in FIFO-out, and to the last.
    """
    first = (
        multfxp(width)
        + allaccum(width, levels(cols))
        + instruction("mv_add", width)
        + 3
        + FIRST_WORD
    )
    return first, first + rows - 1


def tiled(width: int, rows: int, cols: int, height: int, length: int) -> int:
    """Cycles of GEMV and bias for a ``height`` x ``length`` matrix stored in the array, tile by
    tile (kernels alone)."""
    tall, wide = -(-height // rows), -(-length // (16 * cols))
    passed = (
        wide * (multfxp(width) + instruction("mv_add", width))
        + allaccum(width, levels(cols))
        + rows
        + 7
    )
    return tall * passed


def estimate(words: Iterable[int], params: Params) -> int:
    """Cycles of a program's ``words``, dispatched one per cycle, up to the end of its last
    operation.

    The array and the shift-out overlap as the dispatch rules of section 4 allow; transfers are not
    counted. A word that faults ends the program.
    """
    width, rows = params["reg_width"], params["rows"]
    now = array_free = captured_until = shift_free = 0
    serial = False
    for word, count in _runs(words, params):
        if count:
            # One after the other, a cycle each.
            now = array_free = max(now, array_free) + count
            continue
        decoded = ISA.decode(word, params)
        if decoded.fault is not None or decoded.instruction is None:
            break
        mnemonic = decoded.instruction.mnemonic
        if mnemonic.startswith("mv_"):
            now = max(now, array_free)
            array_free = now + instruction(mnemonic, width, decoded.values.get("level", 0))
            if serial and mnemonic in MULTI_CYCLE:
                captured_until = array_free
        else:
            now = max(now, shift_free)
            if mnemonic != "vv_nop":
                now, serial = max(now, captured_until), mnemonic == "vv_serialEn"
            if mnemonic == "vv_parallelEn":
                shift_free = now + FIRST_WORD + rows
        now += 1
    return max(now, array_free, shift_free - 1)


def _runs(words, params):
    """Run-length encoding of words for the estimate: (first word, count) for each stretch of legal
    single-cycle words, and (word, 0) for any other word. Most words of a program load weights,
    whose data do not affect timing."""
    import numpy as np

    words = np.array(words, np.int64)
    loads = (words & ~(_DATA | _ADDRESS)) == _LOAD
    kinds, of = np.unique(np.where(loads, words & ~_DATA, words), return_inverse=True)
    single = np.array([_single(int(word), params) for word in kinds], bool)[of]
    edges = np.flatnonzero(np.diff(single)) + 1
    for begin, end in zip([0, *edges], [*edges, len(words)], strict=True):
        if begin < end and single[begin]:
            yield int(words[begin]), int(end - begin)
        else:
            for word in words[begin:end].tolist():
                yield word, 0


def _single(word, params):
    """Whether a word is legal and takes the array a single cycle, without any other effect on
    timing."""
    decoded = ISA.decode(word, params)
    if decoded.fault is not None:
        return False
    mnemonic = decoded.instruction.mnemonic
    return (
        mnemonic.startswith("mv_")
        and mnemonic not in MULTI_CYCLE
        and instruction(mnemonic, params["reg_width"], decoded.values.get("level", 0)) == 1
    )
