# SPDX-License-Identifier: BSD-2-Clause
"""Instruction words of IMAGine by shifts, and a kernel of them; it shares nothing with the
table."""

__all__ = ["accumulate", "add", "fold", "kernel", "move", "step"]


def add(rd, a, b):
    return 0x14000000 | rd << 16 | b << 6 | a


def fold(count, rd, rs):
    return 0x10000000 | count << 16 | rd << 6 | rs


def accumulate(level, reg):
    return 0x10400000 | level << 16 | reg


def step(reg, multiplicand, multiplier, bit):
    return 0x0C000000 | bit << 22 | reg << 16 | multiplicand << 6 | multiplier


def move(offset, rd, rs):
    return 0x1C000000 | offset << 16 | rd << 6 | rs


def kernel(width, levels):
    """GEMV and bias: vv_serialEn to vv_parallelEn."""
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
