# SPDX-License-Identifier: BSD-2-Clause
"""Worked job of the specification (7.5): relu(A @ B) of 4x8 by 8x8, with float32 in main memory and
Cherry floats in the core.

``python -m quintet.firmware.cherry.small`` writes its data again. The program and the job are
``relu_matmul.s`` and ``relu_matmul.toml``.
"""

from pathlib import Path

import numpy as np

__all__ = ["CRC", "FOLDER", "JOB", "arrays", "write"]

FOLDER = Path(__file__).resolve().parent
JOB = FOLDER / "relu_matmul.toml"

#: CRC-32 of the arrays, of the program and of the result.
CRC = {"a.npy": 0x00811EB8, "b.npy": 0x35DE33DD, "program": 0x56803E66, "c": 0x6C95DDE8}


def arrays() -> dict[str, np.ndarray]:
    """Arrays of the job, by file name."""
    i, j = np.ogrid[:4, :8]
    k = np.arange(8)
    return {
        "a.npy": ((3 * i - 2 * j + 5) / 3).astype(np.float32),
        "b.npy": ((k[:, None] * k % 5 - 1) / 7).astype(np.float32),
    }


def write(folder: Path = FOLDER) -> None:
    """Writes the arrays into ``folder``."""
    for name, array in arrays().items():
        np.save(folder / name, array)
