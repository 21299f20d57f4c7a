# SPDX-License-Identifier: BSD-2-Clause
"""The command line of a package of jobs: writes all that ship, or one for a preset."""
import argparse
from pathlib import Path

__all__ = ["image_count", "write_jobs"]


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
    make : callable(options, params), writes the job for a preset and gives its path; a ``ValueError`` of it is the user's
    options : flag -> arguments of ``add_argument``
    """
    parser = argparse.ArgumentParser(prog=package.__name__, description=f"Write jobs of {space.isa}.")
    parser.add_argument("--preset", choices=list(space.presets), help="build of one job; without it: all that ship")
    for flag, more in options.items():
        parser.add_argument(flag, **more)
    parser.add_argument("--out", type=Path, default=package.FOLDER)
    given = parser.parse_args(argv)
    try:
        made = package.write_shipped(given.out) if given.preset is None else [make(given, space.resolve(given.preset))]
    except ValueError as error:
        parser.error(str(error))
    print(*made, sep="\n")
