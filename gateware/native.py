# SPDX-License-Identifier: BSD-2-Clause
"""Native FPGA tools on the PATH, with the oldest releases that can read generated files."""

import re
import shutil
import subprocess
from functools import cache

from .processes import run_child

__all__ = ["OLDEST", "find_native", "native_version"]

#: Tool -> first release that serves. The packers have no versions of their own.
OLDEST = {"yosys": (0, 40), "nextpnr-ecp5": (0, 7), "nextpnr-ice40": (0, 7)}


@cache
def native_version(path: str) -> tuple[int, ...]:
    """Version of the program at ``path`` as (major, minor); (0, 0) if it cannot be determined."""
    try:
        done = run_child(
            [path, "--version"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=120,
        )
    except (OSError, subprocess.TimeoutExpired):
        return 0, 0
    found = re.search(r"(\d+)\.(\d+)", done.stdout + done.stderr)
    return tuple(map(int, found.groups())) if found else (0, 0)


def find_native(tool: str) -> str | None:
    """Path of ``tool`` on the PATH if it is new enough, else None."""
    path = shutil.which(tool)
    return path if path and native_version(path) >= OLDEST.get(tool, (0, 0)) else None
