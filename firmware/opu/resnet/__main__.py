# SPDX-License-Identifier: BSD-2-Clause
"""Writes the ResNet jobs that ship, or one for a preset: ``python -m quintet.firmware.opu.resnet``."""
import argparse
from pathlib import Path

from quintet.gateware.cores.opu.params import SPACE
from quintet.tools.kernels.opu import KernelError

from . import FOLDER, make_job, write_shipped


def main(argv=None):
    parser = argparse.ArgumentParser(prog="resnet", description="Write ResNet-20 jobs for the OPU.")
    parser.add_argument("--preset", choices=list(SPACE.presets), help="build of one job; without it: all that ship")
    parser.add_argument("--layer-after-layer", action="store_true", help="do not schedule it")
    parser.add_argument("--out", type=Path, default=FOLDER)
    options = parser.parse_args(argv)
    if options.preset is None:
        for path in write_shipped(options.out):
            print(path)
        return
    try:
        print(make_job(options.out, SPACE.resolve(options.preset), name=f"resnet20_{options.preset}",
                       schedule=not options.layer_after_layer))
    except KernelError as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
