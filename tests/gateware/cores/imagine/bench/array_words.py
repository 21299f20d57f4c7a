# SPDX-License-Identifier: BSD-2-Clause
"""Random legal words of the array, and their results on the golden model."""

from quintet.gateware.cores.imagine.isa import ISA
from quintet.gateware.cores.imagine.model.model import ArrayState


def random_words(rng, mapping, count, registers=None):
    """``count`` words of the array, few registers so that they meet; writes and selects come in
    runs."""
    n = registers or min(mapping.registers, 5)
    depth, width = mapping.depth, mapping.width
    words = [0x18C00000] + [
        0x04000000 | a << 16 | rng.getrandbits(16) for a in range(min(depth, n * width))
    ]
    while len(words) < count:
        kind = rng.randrange(10)
        a, b, c = (rng.randrange(n) for _ in range(3))
        if kind == 0:
            words += [
                0x04000000 | rng.randrange(min(depth, n * width)) << 16 | rng.getrandbits(16)
                for _ in range(rng.randint(1, 6))
            ]
        elif kind == 1:
            row, col = rng.randrange(mapping.rows), rng.randrange(mapping.cols)
            words.append(
                rng.choice(
                    (
                        0x18000000 | col,
                        0x18400000 | row << 8 | col,
                        0x18800000 | row << 8,
                        0x18C00000,
                    )
                )
            )
        elif kind == 2:
            words += [rng.choice((0, 0x20000000))] * rng.randint(1, 6)
        elif kind in (3, 4):
            words.append(0x14000000 | rng.choice((0, 3)) << 22 | c << 16 | b << 6 | a)
        elif kind == 5:
            words.append(0x10000000 | rng.randint(1, 4) << 16 | b << 6 | a)
        elif kind == 6:
            words.append(0x10400000 | rng.randint(0, mapping.top_level) << 16 | a)
        elif kind == 7:
            offset = rng.choice((0, rng.randrange(width)))
            words.append(0x1C000000 | offset << 16 | b << 6 | a)
        else:
            first, last = (
                (0, width)
                if kind == 8 and rng.random() < 0.5
                else (b := rng.randrange(width), b + rng.randint(1, 2))
            )
            x, y = rng.randrange(n), rng.randrange(n)
            words += [
                0x0C000000 | bit << 22 | c << 16 | x << 6 | y
                for bit in range(first, min(last, width))
            ]
    params = parameters(mapping)
    return [word for word in words if ISA.decode(word, params).fault is None]


def parameters(mapping):
    return {
        "rows": mapping.rows,
        "cols": mapping.cols,
        "reg_width": mapping.width,
        "depth": mapping.depth,
    }


def golden(mapping, words):
    """The machine after ``words``."""
    params = parameters(mapping)
    machine = ArrayState(params)
    for word in words:
        decoded = ISA.decode(word, params)
        machine.execute(decoded.instruction.mnemonic, decoded.values)
    return machine
