# SPDX-License-Identifier: BSD-2-Clause
"""Writes the data of the worked job: ``python -m quintet.firmware.cherry.small``."""

from . import write

if __name__ == "__main__":
    write()
