# SPDX-License-Identifier: BSD-2-Clause
"""Assemble a program. The suffix of OUT chooses among the forms the ISA has (quintet cores ISA lists them)."""
from pathlib import Path

from ..errors import Exit, InputError
from .options import add_sizes, open_named_room, sizes


def arguments(parser):
    parser.add_argument("isa", help="name of the core")
    parser.add_argument("source", metavar="SRC", help="the program")
    parser.add_argument("-o", dest="out", metavar="OUT", required=True, help="where to put the result")
    parser.add_argument("--pass", dest="passes", metavar="NAME", action="append", default=[],
                        help="rewrite the program, as the ISA can (an unknown name lists them); may be repeated")
    add_sizes(parser)


def run(args, console):
    room = open_named_room(args.isa)
    given = sizes(args)
    # Without sizes the assembler checks against the fields of the words alone.
    params = room.params.SPACE.resolve(args.preset, given) if args.preset or given else None
    from ..asm import AsmError, load_program, save_program
    from ..asm.program import suffix_of
    form = room.isa.ISA.forms[suffix_of(room.isa.ISA, args.out)]    # before anything is assembled
    if form.kind == "assembly":
        raise AsmError("this form is only read", file=args.out)
    if Path(args.out).resolve() == Path(args.source).resolve():
        raise InputError(f"-o {args.out}: is the source itself")
    known = room.isa.ISA.passes
    for name in args.passes:
        if name not in known:
            raise InputError(f"--pass {name}: {room.name} has {', '.join(known) or 'no passes'}")
    program = load_program(room.isa.ISA, Path(args.source), params)
    for name in args.passes:
        program = known[name](room.isa.ISA, program, params)
    for warning in program.warnings:
        console.note(str(warning))
    save_program(room.isa.ISA, program, args.out)    # a slash at the end says that a folder is meant
    console.out(f"{args.out}: {len(program.data):,} bytes")
    console.result({"isa": room.name, "source": args.source, "output": args.out, "bytes": len(program.data),
                    "warnings": [str(w) for w in program.warnings]})
    return Exit.OK
