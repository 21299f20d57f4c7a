# SPDX-License-Identifier: BSD-2-Clause
"""Command lines of the firmware folder, with one-line errors and exit codes like those of
``quintet``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import NoReturn

from quintet.gateware.processes import ended_by_signals
from quintet.tools.errors import Exit, exit_code

__all__ = ["Parser", "guarded"]


class Parser(argparse.ArgumentParser):
    """Argument parser whose errors are a single line."""

    def error(self, message: str) -> NoReturn:
        self.exit(Exit.BAD_INPUT, f"{self.prog}: {message} (see --help)\n")


def guarded(name: str, work: Callable[[], int]) -> int:
    """Runs ``work()`` and returns its exit code; an error that a user can cause becomes one line on
    standard error."""
    try:
        with ended_by_signals():
            return work()
    except Exception as error:
        code = exit_code(error)
        if code is None:
            raise
        print(f"{name}: {' '.join(str(error).splitlines())}", file=sys.stderr)
        return code
    except KeyboardInterrupt as error:
        code = getattr(error, "code", Exit.INTERRUPTED)
        said = "interrupted" if code == Exit.INTERRUPTED else "terminated"
        print(f"{name}: {said}", file=sys.stderr)
        return code
