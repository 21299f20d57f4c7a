# SPDX-License-Identifier: BSD-2-Clause
"""Command-line options that several commands share."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from .errors import InputError
from .outputs import check_folder

if TYPE_CHECKING:
    from ..gateware.cores import CorePackage

__all__ = ["add_kept", "add_sizes", "add_trace", "check_kept", "open_named_core", "sizes"]


def add_sizes(parser: argparse.ArgumentParser) -> None:
    """Adds the options of build sizes: ``--preset`` and ``-P``."""
    parser.add_argument(
        "--preset", metavar="NAME", help="sizes of this preset (quintet cores lists them)"
    )
    parser.add_argument(
        "-P",
        dest="params",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="a build parameter; may be given several times",
    )


def sizes(args: argparse.Namespace) -> dict[str, str]:
    """Parameters given with ``-P``, name -> text."""
    given = {}
    for text in args.params:
        name, sign, value = text.partition("=")
        if not sign or not name:
            raise InputError(f"-P {text}: expected name=value")
        if name in given:
            raise InputError(f"-P {text}: {name} is given twice")
        given[name] = value
    return given


def open_named_core(name: str) -> CorePackage:
    from ..gateware.cores import open_core

    return open_core(name)


def add_kept(parser: argparse.ArgumentParser, file: str, what: str) -> None:
    """Adds ``--out`` and ``--resume``, for commands that save results as they arrive."""
    parser.add_argument(
        "--out", metavar="DIR", help=f"folder for {file}; {what} are kept there as they come"
    )
    parser.add_argument(
        "--resume",
        action="store_true",
        help="continue an interrupted run into the same folder",
    )


def check_kept(args: argparse.Namespace) -> None:
    """Checks the options of :func:`add_kept` before any time-consuming work."""
    if args.out is not None:
        check_folder(args.out, "--out")
    elif args.resume:
        raise InputError("--resume: expected --out too, the folder of the run that was interrupted")


def add_trace(parser: argparse.ArgumentParser) -> None:
    """Adds the options of commands that write a timeline."""
    parser.add_argument(
        "--trace",
        metavar="FILE.json",
        help=(
            "of a virtual board: a timeline of the core's units and instructions, which "
            "Perfetto opens"
        ),
    )
    for name, text in (
        ("from", "begin the timeline at this cycle of the first run"),
        ("to", "end the timeline before this cycle"),
    ):
        parser.add_argument(f"--trace-{name}", metavar="CYCLE", help=text)
