# SPDX-License-Identifier: BSD-2-Clause
"""Load a bitstream into a board. Without --permanent it is gone at the next power-up."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ..errors import Exit
from ..examples import user_path

if TYPE_CHECKING:
    from ..console import Console


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("board", help="name of the board (quintet boards lists them)")
    parser.add_argument("dir", metavar="DIR", help="folder that quintet build made, or a bitstream")
    parser.add_argument(
        "--permanent", action="store_true", help="into flash memory, so that it stays"
    )


def run(args: argparse.Namespace, console: Console) -> int:
    from ...boards import open_board
    from ..build.flash import flash

    board = open_board(args.board)
    result = flash(board.name, board.programmers, user_path(args.dir), permanent=args.permanent)
    console.note(result["output"].rstrip())
    console.out(
        f"{board.name}: loaded {result['bitstream']} with {result['programmer']}"
        + (", into flash memory" if args.permanent else "")
    )
    console.result({"board": board.name, **result})
    return Exit.OK
