# SPDX-License-Identifier: BSD-2-Clause
"""List the examples that ship, and copy them.

Networks, arrays and jobs with their programs are part of the package. "example:NAME" stands for the
file wherever a command or a job reads one, as in

  quintet run example:opu/digits/digits.toml

With -o they are copied, to be changed: a job with its program and arrays, a folder with all that is
in it, without NAME all of them.
"""

from __future__ import annotations

import argparse
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from quintet.tools.errors import Exit, InputError
from quintet.tools.examples import FOLDER, PREFIX, example_files, user_path
from quintet.tools.outputs import OutputPath, check_folder, write_places

if TYPE_CHECKING:
    from quintet.tools.console import Console


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "name", nargs="?", default="", help="an example, or a folder of them (default: all)"
    )
    parser.add_argument("-o", "--out", metavar="DIR", help="copy them into this folder")


def run(args: argparse.Namespace, console: Console) -> int:
    from . import chosen, examples

    name = args.name.removeprefix(PREFIX)
    if name:
        user_path(PREFIX + name)  # refuses unknown names
    names = chosen(name)
    if args.out is not None:
        return _copy(name, names, args.out, console)
    listed = [one for one in examples() if one.name in names]
    rows = [(PREFIX + one.name, one.what, _builds(one)) for one in listed]
    if name:
        described = {one.name for one in listed}
        rows += [
            (PREFIX + other, f"{example_files()[other].stat().st_size:,} bytes", "")
            for other in names
            if other not in described
        ]
    console.table(("example", "what it is", "for"), rows)
    console.result(
        {
            "examples": [
                {
                    "name": PREFIX + one.name,
                    "kind": one.kind,
                    "what": one.what,
                    "core": one.core,
                    "presets": list(one.presets),
                }
                for one in listed
            ],
            "files": [PREFIX + other for other in names],
        }
    )
    return Exit.OK


def _builds(example):
    return f"{example.core}: {', '.join(example.presets)}" if example.core else "every core"


def _copy(name, names, out, console):
    """Copies the files; names are relative to the requested folder, or to that of the file."""
    from . import licence_for

    check_folder(out)
    top = PurePosixPath(name)
    top = top.parent if name in example_files() else top
    copies = {PurePosixPath(other).relative_to(top): other for other in names}
    licence = licence_for(names)
    if licence is not None and licence not in names:
        copies[PurePosixPath("SOURCE.md")] = licence
    for place in copies:
        if (Path(out) / place).exists():
            raise InputError(f"-o {out}: {Path(out) / place} is there already; nothing is copied")
    write_places(
        {
            OutputPath(out, place.parts, str(Path(out) / place)): (FOLDER / other).read_bytes()
            for place, other in copies.items()
        }
    )
    written = [str(Path(out) / place) for place in copies]
    for path in written:
        console.out(f"wrote {path}")
    console.result({"written": written})
    return Exit.OK
