# SPDX-License-Identifier: BSD-2-Clause
"""Random 18-bit floats for measurements."""

import random

__all__ = ["random_element"]

_SPECIAL = (
    0,
    1 << 17,
    0x1FE00,
    0x3FE00,
    0x1FF00,
    0x1FE01,
    0x00155,
    0x20001,
    0x1FDFF,
    0x3FDFF,
    0x00200,
    0x20200,
    0x0FE00,
    0x2FE00,
)


def random_element(rnd: random.Random) -> int:
    """A random 18-bit float: of unit scale, of the full range, or special."""
    kind = rnd.random()
    if kind < 0.06:
        return rnd.choice(_SPECIAL)
    exponent = rnd.randrange(120, 134) if kind < 0.85 else rnd.randrange(1, 255)
    return rnd.randrange(2) << 17 | exponent << 9 | rnd.choice((0, 511, rnd.randrange(512)))
