# SPDX-License-Identifier: BSD-2-Clause
"""Worked job of the specification (7.5): a 3x3 convolution, 6x6x16 to 4x4x4, with bias, leaky ReLU
and 2x2 pooling, stored into the interior of a 4x4 map whose border is zeroed.

``python -m quintet.firmware.opu.small`` writes its data again. The program and the job are
``small.s`` and ``small.toml``.
"""

from pathlib import Path

import numpy as np

__all__ = ["CRC", "FOLDER", "JOB", "arrays", "write"]

FOLDER = Path(__file__).resolve().parent
JOB = FOLDER / "small.toml"

#: CRC-32 of each file's bytes, of the program and of the result.
CRC = {
    "ifm.bin": 0xA0A14B45,
    "ker.bin": 0x20C7289E,
    "bias.bin": 0x123F859B,
    "program": 0x139F9725,
    "out": 0x97092464,
}


def arrays() -> dict[str, np.ndarray]:
    """Arrays of the job, by file name."""
    i, j, l = np.ogrid[:6, :6, :64]
    ifm = np.where(l < 16, (37 * i + 53 * j + 11 * l) % 201 - 100, 0x3C).astype(np.int8)
    n, k, l = np.ogrid[:9, :4, :16]
    return {
        "ifm.bin": ifm,
        "ker.bin": ((29 * n + 41 * k + 7 * l) % 101 - 50).astype(np.int8),
        "bias.bin": (900 * np.arange(4) - 1300).astype("<i2"),
        "fill.bin": np.full(1024, 0x55, np.uint8),
    }


def write(folder: Path = FOLDER) -> None:
    """Writes the arrays into ``folder``."""
    for name, array in arrays().items():
        (folder / name).write_bytes(array.tobytes())
