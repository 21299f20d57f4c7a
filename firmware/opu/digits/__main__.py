# SPDX-License-Identifier: BSD-2-Clause
"""Writes the digits jobs that ship, or one for a preset: ``python -m
quintet.firmware.opu.digits``."""

import argparse
from pathlib import Path
from typing import Any

from quintet.firmware.commandline import image_count, write_jobs
from quintet.firmware.opu import digits
from quintet.gateware.cores.opu.params import SPACE


def make(given: argparse.Namespace, params: dict[str, Any]) -> Path:
    """Writes the job of the command's arguments."""
    return digits.make_job(
        given.out, params, name=f"digits_{given.preset}", images=given.images, memory=given.memory
    )


if __name__ == "__main__":
    write_jobs(
        digits,
        SPACE,
        make,
        {
            "--images": {
                "type": image_count,
                "default": digits.IMAGES,
                "help": "how many of the 540 images",
            },
            "--memory": {"type": int, "help": "bytes of main memory that the job must fit"},
        },
    )
