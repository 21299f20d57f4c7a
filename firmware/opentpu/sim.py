# SPDX-License-Identifier: BSD-2-Clause
"""Functional simulator with the original project's file names: :mod:`.functional`, which writes
``sim8.npy`` and ``sim32.npy``.

``python -m quintet.firmware.opentpu.sim PROG HOSTMEM.npy WEIGHTS.npy``
"""

import sys
from collections.abc import Sequence

from . import functional

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of this module's command line."""
    return functional.main(argv, prog="sim", names={"int8": "sim8.npy", "float32": "sim32.npy"})


if __name__ == "__main__":
    sys.exit(main())
