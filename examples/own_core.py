# SPDX-License-Identifier: BSD-2-Clause
"""A core of your own: the package that `quintet new core` writes, an accumulator machine of six
instructions, assembled and run on its golden model without installing it."""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", default=None, help="a folder to keep the package in")
    with tempfile.TemporaryDirectory() as temporary:
        package = Path(parser.parse_args().o or Path(temporary) / "mycore")
        quintet = [sys.executable, "-m", "quintet.tools.cli"]
        subprocess.run([*quintet, "new", "core", "mycore", "-o", package], check=True)
        print((package / "programs" / "polynomial.s").read_text())
        subprocess.run([sys.executable, "-m", "pytest", "-q", package / "tests"], check=True)


if __name__ == "__main__":
    main()
