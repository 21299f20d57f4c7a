# SPDX-License-Identifier: BSD-2-Clause
"""Writes the digits jobs that ship, or one for given sizes: ``python -m quintet.firmware.opentpu.digits``."""
import argparse
from pathlib import Path

from quintet.gateware.cores.opentpu.params import SPACE

from . import FOLDER, make_job, write_shipped


def main(argv=None):
    parser = argparse.ArgumentParser(prog="digits", description="Write digits jobs.")
    parser.add_argument("--preset", choices=list(SPACE.presets), help="sizes of one job; without it: all that ship")
    parser.add_argument("--norm", action="store_true", help="the network with normalisation")
    parser.add_argument("--out", type=Path, default=FOLDER)
    options = parser.parse_args(argv)
    if options.preset is None:
        for path in write_shipped(options.out):
            print(path)
        return
    try:
        print(make_job(options.out, SPACE.resolve(options.preset), norm=options.norm))
    except ValueError as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
