# SPDX-License-Identifier: BSD-2-Clause
"""Command lines of the firmware folder: errors of one line, exit codes like those of ``quintet``,
and the command that packages of jobs share."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NoReturn

from quintet.gateware.processes import ended_by_signals
from quintet.tools.errors import Exit, exit_code

if TYPE_CHECKING:
    from quintet.gateware.isa.parameters import ParameterSpace

__all__ = ["Parser", "guarded", "image_count", "write_jobs"]


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(Exit.BAD_INPUT, f"{self.prog}: {message} (see --help)\n")


def guarded(name: str, work: Callable[[], int]) -> int:
    """Exit code of ``work()``; an error that a user can cause becomes one line on standard
    error."""
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


def image_count(text: str) -> int:
    """Argument type of an option that gives a number of digit images."""
    from .digits import IMAGES

    if not text.isdecimal() or not 1 <= int(text) <= IMAGES:
        raise argparse.ArgumentTypeError(f"expected 1 to {IMAGES}, not {text}")
    return int(text)


def write_jobs(
    package: ModuleType,
    space: ParameterSpace,
    make: Callable[[argparse.Namespace, dict[str, Any]], Path],
    options: Mapping[str, Mapping[str, Any]],
    argv: Sequence[str] | None = None,
) -> None:
    """Runs the command that writes a package's jobs.

    Parameters
    ----------
    package : module with ``FOLDER`` and ``write_shipped(folder)``
    space : ParameterSpace of its core
    make : callable(options, params), writes the job for a preset and gives its path;
        a ``ValueError`` of it is the user's
    options : flag -> arguments of ``add_argument``
    """
    parser = argparse.ArgumentParser(
        prog=package.__name__, description=f"Write jobs of {space.isa}."
    )
    parser.add_argument(
        "--preset", choices=list(space.presets), help="build of one job; without it: all that ship"
    )
    for flag, more in options.items():
        parser.add_argument(flag, **more)
    parser.add_argument("--out", type=Path, default=package.FOLDER)
    given = parser.parse_args(argv)
    try:
        made = (
            package.write_shipped(given.out)
            if given.preset is None
            else [make(given, space.resolve(given.preset))]
        )
    except ValueError as error:
        parser.error(str(error))
    print(*made, sep="\n")
