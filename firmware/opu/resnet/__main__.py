# SPDX-License-Identifier: BSD-2-Clause
"""Writes the ResNet jobs that ship, or one for a preset: ``python -m
quintet.firmware.opu.resnet``."""

import argparse
from pathlib import Path
from typing import Any

from quintet.firmware.commandline import write_jobs
from quintet.firmware.opu import resnet
from quintet.gateware.cores.opu.params import SPACE


def make(given: argparse.Namespace, params: dict[str, Any]) -> Path:
    """Writes the job of the command's arguments."""
    return resnet.make_job(
        given.out, params, name=f"resnet20_{given.preset}", schedule=not given.layer_after_layer
    )


if __name__ == "__main__":
    write_jobs(
        resnet,
        SPACE,
        make,
        {"--layer-after-layer": {"action": "store_true", "help": "do not schedule it"}},
    )
