# SPDX-License-Identifier: BSD-2-Clause
"""Writes the digits jobs that ship, or one for a preset: ``python -m quintet.firmware.opu.digits``."""
import argparse
from pathlib import Path

from quintet.gateware.cores.opu.params import SPACE
from quintet.tools.kernels.opu import KernelError

from . import FOLDER, IMAGES, make_job, write_shipped


def main(argv=None):
    parser = argparse.ArgumentParser(prog="digits", description="Write digits jobs for the OPU.")
    parser.add_argument("--preset", choices=list(SPACE.presets), help="build of one job; without it: all that ship")
    parser.add_argument("--images", type=int, default=IMAGES, help="how many of the 540 images")
    parser.add_argument("--memory", type=int, help="bytes of main memory that the job must fit")
    parser.add_argument("--out", type=Path, default=FOLDER)
    options = parser.parse_args(argv)
    if options.preset is None:
        for path in write_shipped(options.out):
            print(path)
        return
    if not 1 <= options.images <= IMAGES:
        parser.error(f"--images must be 1 to {IMAGES}, not {options.images}")
    try:
        print(make_job(options.out, SPACE.resolve(options.preset), name=f"digits_{options.preset}", images=options.images,
                       memory=options.memory))
    except KernelError as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
