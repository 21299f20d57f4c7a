# SPDX-License-Identifier: BSD-2-Clause
"""Worked job of the specification (section 7): two cores, send and recv, an event; ``two.s`` and
``two.toml``."""

from pathlib import Path

__all__ = ["CRC", "FOLDER", "JOB", "RESULTS"]

FOLDER = Path(__file__).resolve().parent
JOB = FOLDER / "two.toml"
#: CRC-32 of the program image.
CRC = 0xAA436B57
#: Arrays that the job saves.
RESULTS = {"y.npy": [28, 1, 10], "sq.npy": [784, 1, 100]}
