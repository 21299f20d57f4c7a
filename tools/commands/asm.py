# SPDX-License-Identifier: BSD-2-Clause
"""Assemble a program. The suffix of OUT chooses among the forms the ISA has (quintet cores ISA
lists them)."""

from __future__ import annotations

import argparse
import io
import os
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import Exit, InputError
from ..examples import user_path
from ..options import add_sizes, open_named_core, sizes
from ..outputs import check_output

if TYPE_CHECKING:
    from ..console import Console


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("isa", help="name of the core")
    parser.add_argument("source", metavar="SRC", help="the program")
    parser.add_argument("-o", dest="out", metavar="OUT", required=True, help="output file")
    parser.add_argument(
        "--pass",
        dest="passes",
        metavar="NAME",
        action="append",
        default=[],
        help="pass that rewrites the program (an unknown name lists them); may be repeated",
    )
    add_sizes(parser)


def run(args: argparse.Namespace, console: Console) -> int:
    package = open_named_core(args.isa)
    given = sizes(args)
    check_output(args.out)
    source = Path(user_path(args.source))
    # Without sizes the assembler checks against the fields of the words alone.
    params = package.params.SPACE.resolve(args.preset, given) if args.preset or given else None
    from ...gateware.isa.asm import AsmError, load_program, save_program
    from ...gateware.isa.asm.files import suffix_of

    software = package.software.SOFTWARE
    form = software.forms[suffix_of(software, args.out)]  # before anything is assembled
    if form.kind == "assembly":
        raise AsmError("this form is only read", file=args.out)
    if os.path.realpath(args.out) == os.path.realpath(source):
        raise InputError(f"-o {args.out}: is the source itself")
    known = software.passes
    for name in args.passes:
        if name not in known:
            raise InputError(f"--pass {name}: {package.name} has {', '.join(known) or 'no passes'}")
    printed = io.StringIO()
    with redirect_stdout(printed):  # directives that export without a file name
        program = load_program(software, source, params, exports=True)
    for name in args.passes:
        program = known[name](software, program, params)
    for warning in program.warnings:
        console.note(str(warning))
    if printed.getvalue():
        console.out(printed.getvalue().rstrip("\n"))
    save_program(software, program, args.out)  # a slash at the end says that a folder is meant
    console.out(f"{args.out}: {len(program.data):,} bytes")
    console.result(
        {
            "isa": package.name,
            "source": args.source,
            "output": args.out,
            "bytes": len(program.data),
            "warnings": [str(w) for w in program.warnings],
        }
    )
    return Exit.OK
