# SPDX-License-Identifier: BSD-2-Clause
"""Write a compiled network as a C header for a host without Python.

The header holds program and weights, registers, and where inputs and outputs lie, with shapes and
scales. It is used with quintet.h and quintet.c, a host library in C99 without allocation or
operating system; --library writes these two beside it. See docs/guides/host-in-c.md.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import Exit, InputError
from ..outputs import check_output, write_output

if TYPE_CHECKING:
    from ..console import Console


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("plan", help="the folder that quintet compile wrote")
    parser.add_argument("--c", action="store_true", required=True, help="write C")
    parser.add_argument(
        "-o",
        dest="out",
        metavar="OUT",
        help="file of the header, ending in .h (default: the network's name in this folder)",
    )
    parser.add_argument(
        "--library", action="store_true", help="write quintet.h and quintet.c beside it"
    )


def run(args: argparse.Namespace, console: Console) -> int:
    from ..compiler.plan import load_plan
    from ..text import plain_name
    from .c_network import c_network

    if args.out is not None:
        check_output(args.out)
        if Path(args.out).suffix != ".h":
            raise InputError(f"-o {args.out}: expected a name that ends in .h")
        if args.library and Path(args.out).name == "quintet.h":
            raise InputError(f"-o {args.out}: is the name of the library's own header")
    plan = load_plan(args.plan)
    name = plain_name(plan.network)
    out = Path(args.out or f"{name}.h")
    files = {out: c_network(plan).encode()}
    if args.library:
        library = Path(__file__).resolve().parents[2] / "firmware" / "host"
        for part in ("quintet.h", "quintet.c"):
            files[out.parent / part] = (library / part).read_bytes()
    for path in files:
        check_output(path)
    for path, data in files.items():
        write_output(path, data)
        console.out(f"{path}: {len(data):,} bytes")
    console.result(
        {
            "network": plan.network,
            "symbol": name,
            "output": str(out),
            "files": [str(path) for path in files],
        }
    )
    return Exit.OK
