# SPDX-License-Identifier: BSD-2-Clause
"""Writes the digits jobs that ship, or one for a preset: ``python -m
quintet.firmware.pim.digits``."""

import argparse
from pathlib import Path
from typing import Any

from quintet.firmware.commandline import image_count, write_jobs
from quintet.firmware.pim import digits
from quintet.gateware.cores.pim.params import SPACE


def make(given: argparse.Namespace, params: dict[str, Any]) -> Path:
    """Writes the job of the command's arguments."""
    return digits.make_job(
        given.out,
        params,
        network=given.network,
        images=given.images,
        cores=given.cores,
        gmem=given.gmem,
        name=f"{given.network}_{given.preset}_{given.cores}",
    )


if __name__ == "__main__":
    write_jobs(
        digits,
        SPACE,
        make,
        {
            "--network": {"choices": digits.NETWORKS, "default": "mlp"},
            "--images": {
                "type": image_count,
                "default": digits.IMAGES,
                "help": "how many of the 540 images",
            },
            "--cores": {"type": int, "default": 1, "help": "cores that share them out"},
            "--gmem": {
                "type": lambda text: int(text, 0),
                "default": digits.GMEM,
                "help": "main-memory address of the images",
            },
        },
    )
