# SPDX-License-Identifier: BSD-2-Clause
"""Writes the digits' job: ``python -m quintet.firmware.cherry.digits``."""

from quintet.gateware.cores.cherry.params import SPACE

from . import write_shipped

if __name__ == "__main__":
    print(write_shipped(SPACE.resolve("85f")))
