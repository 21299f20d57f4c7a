# SPDX-License-Identifier: BSD-2-Clause
"""Checker with the original project's option and file names: applies :mod:`.check` to the files
that an application, ``sim`` and ``runtpu`` wrote.

``python -m quintet.firmware.opentpu.checker`` compares ``gt32.npy`` with ``sim32.npy``, and
``sim8.npy`` with ``hw8.npy``.
"""

import sys
from collections.abc import Sequence

from . import check

__all__ = ["main"]

_FILES = {
    "gt32": "float results of the application",
    "sim32": "float results of the simulator",
    "sim8": "int8 results of the simulator",
    "hw8": "int8 results of a run",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of this module's command line."""
    parser = check.parser("checker", "Compare gt32 with sim32, and hw8 with sim8.")
    for name, text in _FILES.items():
        parser.add_argument(
            f"--{name}", default=f"{name}.npy", metavar="FILE", help=f"{text} (default: {name}.npy)"
        )
    options = parser.parse_args(argv)
    # The application's results begin at --at; a run's host memory is whole.
    return check.run(
        "checker",
        options,
        floats=(options.gt32, options.sim32),
        ints=(options.hw8, options.sim8),
        ints_at=0,
    )


if __name__ == "__main__":
    sys.exit(main())
