# SPDX-License-Identifier: BSD-2-Clause
"""Command lines of this folder: errors of one line, exit codes as ``quintet`` has them, and the one
that packages of jobs share."""

import argparse
import sys
from pathlib import Path

from quintet.gateware.processes import ended_by_signals
from quintet.tools.errors import Exit, exit_code

__all__ = ["Parser", "guarded", "image_count", "write_jobs"]


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line."""

    def error(self, message):
        self.exit(Exit.BAD_INPUT, f"{self.prog}: {message} (see --help)\n")


def guarded(name, work):
    """The exit code of ``work()``; what a user has caused is one line on standard error."""
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


def image_count(text):
    """The type of an option that says how many of the digits' images."""
    from .digits import IMAGES

    if not text.isdecimal() or not 1 <= int(text) <= IMAGES:
        raise argparse.ArgumentTypeError(f"expected 1 to {IMAGES}, not {text}")
    return int(text)


def write_jobs(package, space, make, options, argv=None):
    """Runs the command.

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
