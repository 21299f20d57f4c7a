# SPDX-License-Identifier: BSD-2-Clause
"""Writes the digits jobs that ship, or one for a preset: ``python -m quintet.firmware.pim.digits``."""
import argparse
from pathlib import Path

from quintet.gateware.cores.pim.params import SPACE
from quintet.tools.kernels.pim import KernelError

from . import FOLDER, GMEM, IMAGES, NETWORKS, make_job, write_shipped


def main(argv=None):
    parser = argparse.ArgumentParser(prog="digits", description="Write digits jobs for PIM.")
    parser.add_argument("--preset", choices=list(SPACE.presets), help="build of one job; without it: all that ship")
    parser.add_argument("--network", choices=NETWORKS, default="mlp")
    parser.add_argument("--images", type=int, default=IMAGES, help="how many of the 540 images")
    parser.add_argument("--cores", type=int, default=1, help="cores that share them out")
    parser.add_argument("--gmem", type=lambda text: int(text, 0), default=GMEM, help="main-memory address of the images")
    parser.add_argument("--out", type=Path, default=FOLDER)
    options = parser.parse_args(argv)
    if options.preset is None:
        for path in write_shipped(options.out):
            print(path)
        return
    if not 1 <= options.images <= IMAGES:
        parser.error(f"--images must be 1 to {IMAGES}, not {options.images}")
    try:
        print(make_job(options.out, SPACE.resolve(options.preset), network=options.network, images=options.images,
                       name=f"{options.network}_{options.preset}_{options.cores}", cores=options.cores, gmem=options.gmem))
    except KernelError as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
