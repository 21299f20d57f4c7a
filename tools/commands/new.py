# SPDX-License-Identifier: BSD-2-Clause
"""Create the package of a new core or board. It works unchanged, and has tests."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import Exit
from ..outputs import check_folder

if TYPE_CHECKING:
    from ..console import Console


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kind", choices=("core", "board"), help="kind of the package")
    parser.add_argument("name", help="its name: lower-case letters, digits and _")
    parser.add_argument(
        "-o", dest="out", metavar="DIR", help="the folder to create (default: NAME)"
    )


def run(args: argparse.Namespace, console: Console) -> int:
    from ..new.package import write

    out = args.name if args.out is None else args.out
    check_folder(out)
    made = write(args.kind, args.name, out)
    console.result({"kind": args.kind, "name": args.name, "folder": str(out), "files": made})
    for place in made:
        console.out(str(Path(out) / place))
    console.out(
        f"pip install -e {Path(out) if Path(out).is_absolute() else f'./{out}'} makes quintet "
        f"find it; pytest {out} tries it."
    )
    return Exit.OK
