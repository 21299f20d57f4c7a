# SPDX-License-Identifier: BSD-2-Clause
"""Writer of the shipped programs and jobs: ``python -m quintet.firmware.opentpu.programs [--train]
[--out DIR]``."""

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

from .. import regression
from . import FOLDER, matmul, small, two_layers


def main(argv: Sequence[str] | None = None) -> None:
    """Entry point of this module's command line."""
    parser = argparse.ArgumentParser(prog="programs", description="Write the jobs that ship.")
    parser.add_argument(
        "--train", action="store_true", help="train the networks again too (extra `train`)"
    )
    parser.add_argument("--out", type=Path, default=FOLDER)
    options = parser.parse_args(argv)
    print(small(options.out))
    for n in (4, 8):
        print(matmul(n, options.out))
        if options.train:
            print(two_layers(n, options.out))
            with tempfile.TemporaryDirectory() as folder:
                paths = [
                    f"--save-{kind}-path={folder}/{kind}" for kind in ("input", "weight", "output")
                ]
                regression.main([*paths, f"--size={n}", f"--job={options.out}"])


if __name__ == "__main__":
    main()
