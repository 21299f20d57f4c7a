# SPDX-License-Identifier: BSD-2-Clause
"""Load a bitstream into a board. Without --permanent it is gone at the next power-up."""

from __future__ import annotations

import argparse
import os
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import Exit, InputError
from ..examples import user_path

if TYPE_CHECKING:
    from ..console import Console


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("board", help="name of the board (quintet boards lists them)")
    parser.add_argument("dir", metavar="DIR", help="folder that quintet build made, or a bitstream")
    parser.add_argument(
        "--permanent", action="store_true", help="into flash memory, so that it stays"
    )
    parser.add_argument(
        "--plan",
        metavar="PLAN",
        help="a compiled network or its image (quintet image), written into flash memory, too, for "
        "a bitstream that starts from there (quintet build --boot); with --permanent",
    )


def run(args: argparse.Namespace, console: Console) -> int:
    from ...boards import open_board
    from ..build.flash import flash

    board = open_board(args.board)
    with _image(args, board) as image:
        result = flash(
            board.name,
            board.programmers,
            user_path(args.dir),
            permanent=args.permanent,
            image=image,
        )
    console.note(result["output"].rstrip())
    console.out(
        f"{board.name}: loaded {result['bitstream']} with {result['programmer']}"
        + (", into flash memory" if args.permanent else "")
        + (f", and the plan image of {args.plan}" if args.plan else "")
    )
    console.result({"board": board.name, **result})
    return Exit.OK


@contextmanager
def _image(args, board):
    """File of the plan image and its address in flash memory, ``None`` without ``--plan``."""
    from ...gateware.standalone.image import ImageError, unpack
    from ..compiler.plan import load_plan
    from ..resident.image import plan_image

    if args.plan is None:
        yield None
        return
    if not args.permanent:
        raise InputError("--plan is written into flash memory: expected --permanent with it")
    if board.flash is None:
        raise InputError(f"--plan: {board.name} cannot start from flash memory")
    path = Path(args.plan)
    data = path.read_bytes() if os.path.isfile(path) else plan_image(load_plan(args.plan))
    try:
        unpack(data)
    except ImageError as error:
        raise InputError(f"{args.plan}: {error}") from None
    space = board.flash.size - board.flash.image_at
    if len(data) > space:
        raise InputError(
            f"{args.plan}: a plan image of {len(data):,} bytes: expected at most {space:,}, the "
            f"flash memory of {board.name} behind the bitstream"
        )
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "plan.bin"
        file.write_bytes(data)
        yield file, board.flash.image_at
