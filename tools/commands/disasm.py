# SPDX-License-Identifier: BSD-2-Clause
"""Disassemble a program: the text assembles to the same bytes."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import Exit
from ..examples import user_path
from ..options import add_sizes, open_named_core, sizes
from ..outputs import check_output, write_output

if TYPE_CHECKING:
    from ..console import Console


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("isa", help="name of the core")
    parser.add_argument("binary", metavar="BIN", help="the program, in any form of the ISA")
    parser.add_argument(
        "-o", dest="out", metavar="OUT", help="output file (default: standard output)"
    )
    add_sizes(parser)


def run(args: argparse.Namespace, console: Console) -> int:
    package = open_named_core(args.isa)
    given = sizes(args)
    if args.out is not None:
        check_output(args.out)
    binary = Path(user_path(args.binary))
    params = package.params.SPACE.resolve(args.preset, given) if args.preset or given else None
    from ...gateware.isa.asm import AsmError, disassemble, load_program

    program = load_program(package.software.SOFTWARE, binary, params)
    try:
        text = disassemble(package.software.SOFTWARE, program.data, params)
    except AsmError as error:
        raise AsmError(error.message, file=binary, expected=error.expected) from None
    if args.out:
        write_output(args.out, (text.rstrip("\n") + "\n").encode())
        console.out(f"{args.out}: {len(text.splitlines()):,} lines")
    else:
        console.out(text.rstrip("\n"))
    console.result(
        {"isa": package.name, "source": args.binary, "output": args.out, "lines": text.splitlines()}
    )
    return Exit.OK
