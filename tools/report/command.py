# SPDX-License-Identifier: BSD-2-Clause
"""Make an HTML page of a command's results: roofline, classes of cycles, layers, memory,
utilisation; for a build clocks, margins and area by unit.

The page is self-contained, has a light and a dark scheme, fits a phone, and can be printed. Its
input is the output of run, infer, compile, compare, build or matrix with --json (a file, or - for
standard input), or the folder of a plan, a build or a matrix. Needs the extra "report" (pip
install altair vl-convert-python).
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..outputs import check_output, write_output

if TYPE_CHECKING:
    from ..console import Console


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "result",
        help=(
            "a file that a command's --json wrote, - for standard input, or the folder of a "
            "plan, a build or a matrix"
        ),
    )
    parser.add_argument(
        "-o",
        dest="out",
        metavar="FILE",
        default="report.html",
        help="the page (default: report.html)",
    )


def run(args: argparse.Namespace, console: Console) -> None:
    check_output(args.out)
    from .reading import read_result

    found = read_result(args.result)
    made = write_page(args.out, found.kind, found.data)
    console.out(f"wrote {args.out}: {found.kind}, {made:,} bytes")
    console.result({"page": args.out, "kind": found.kind, "bytes": made})


def write_page(path: str | Path, kind: str, data: Mapping[str, Any]) -> int:
    """Writes the page of a result of ``kind``; returns its size in bytes.

    Raises
    ------
    NoDeviceError
        The library of charts is missing.
    InputError
        The page would be too large, or cannot be written.
    """
    from .builds import build_page, matrix_page
    from .charts import library
    from .networks import compare_page, infer_page, plan_page
    from .page import render
    from .runs import run_page

    library()
    pages = {
        "run": run_page,
        "infer": infer_page,
        "plan": plan_page,
        "compare": compare_page,
        "build": build_page,
        "matrix": matrix_page,
    }
    text = render(pages[kind](data)).encode()
    write_output(path, text)
    return len(text)
