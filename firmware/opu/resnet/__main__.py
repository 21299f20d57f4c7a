# SPDX-License-Identifier: BSD-2-Clause
"""Writes the ResNet jobs that ship, or one for a preset: ``python -m
quintet.firmware.opu.resnet``."""

from quintet.firmware.commandline import write_jobs
from quintet.firmware.opu import resnet
from quintet.gateware.cores.opu.params import SPACE


def make(given, params):
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
