# SPDX-License-Identifier: BSD-2-Clause
"""Worked job of the specification (section 7): y = W x + b on 4 x 2 blocks, Q11.4. ``small.s`` and
``small.toml``."""

from pathlib import Path

__all__ = ["CRC", "FOLDER", "JOB", "RESULT"]

FOLDER = Path(__file__).resolve().parent
JOB = FOLDER / "small.toml"

#: CRC-32 of the program, and of the result's bytes.
CRC = {"program": 0xA751B066, "y": 0x59783774}
#: y, in sixteenths.
RESULT = (27, 0, 1600, -161)
