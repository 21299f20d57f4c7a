# SPDX-License-Identifier: BSD-2-Clause
"""Instruction words of IMAGine, encoded by shifts, independently of the ISA table, and a kernel
made of them."""

__all__ = ["accumulate", "add", "fold", "kernel", "move", "step"]


def add(rd: int, a: int, b: int) -> int:
    """Encodes ``mv_add``."""
    return 0x14000000 | rd << 16 | b << 6 | a


def fold(count: int, rd: int, rs: int) -> int:
    """Encodes ``mv_blockFold``."""
    return 0x10000000 | count << 16 | rd << 6 | rs


def accumulate(level: int, reg: int) -> int:
    """Encodes ``mv_accumRow``."""
    return 0x10400000 | level << 16 | reg


def step(reg: int, multiplicand: int, multiplier: int, bit: int) -> int:
    """Encodes ``mv_updatepp``."""
    return 0x0C000000 | bit << 22 | reg << 16 | multiplicand << 6 | multiplier


def move(offset: int, rd: int, rs: int) -> int:
    """Encodes ``mv_movOffset``."""
    return 0x1C000000 | offset << 16 | rd << 6 | rs


def kernel(width: int, levels: int) -> list[int]:
    """Words of a GEMV with bias, from vv_serialEn to vv_parallelEn."""
    return [
        0x44000000,
        0x20000000,
        *(step(4, 1, 2, bit) for bit in range(width)),
        move(width // 4, 3, 4),
        fold(1, 6, 3),
        *(fold(k, 6, 6) for k in (2, 3, 4)),
        *(accumulate(k, 6) for k in range(levels)),
        add(7, 6, 0),
        0,
        0,
        0x48000000,
    ]
