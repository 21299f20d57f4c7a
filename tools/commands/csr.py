# SPDX-License-Identifier: BSD-2-Clause
"""Write the memory map of a SoC for other tools: LiteX's csv or json, SVD, a C header, Python
constants (by OUT's suffix).

With a bitstream built with --link uartbone, LiteX's own tools (litex_server, litex_cli) read the
csv.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import Exit, InputError
from ..options import add_sizes, sizes
from ..outputs import check_output, write_output

if TYPE_CHECKING:
    from ..console import Console


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("board", help="name of the board (quintet boards lists them)")
    parser.add_argument("isa", help="name of the core (quintet cores lists them)")
    add_sizes(parser)
    parser.add_argument(
        "--run-list", action="store_true", help="the registers of lists of runs, too"
    )
    parser.add_argument(
        "-o",
        dest="out",
        metavar="OUT",
        required=True,
        help="file ending in .csv, .json, .svd, .h or .py",
    )


def run(args: argparse.Namespace, console: Console) -> int:
    from ...boards import open_board
    from ...gateware.cores import open_core
    from ..export.csrmap import FORMATS, memory_map

    check_output(args.out)
    suffix = Path(args.out).suffix
    if suffix not in FORMATS:
        raise InputError(f"{args.out}: expected a name that ends in {', '.join(FORMATS)}")
    soc = open_board(args.board).make_soc(
        package=open_core(args.isa),
        preset=args.preset,
        params=sizes(args),
        family=None,
        run_list=args.run_list,
    )
    found = memory_map(soc)
    write_output(args.out, FORMATS[suffix](found).encode())
    console.out(f"{args.out}: {len(found.registers)} registers of {found.name}")
    console.result(
        {
            "board": args.board,
            "isa": args.isa,
            "output": args.out,
            "registers": len(found.registers),
        }
    )
    return Exit.OK
