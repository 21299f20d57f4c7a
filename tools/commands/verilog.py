# SPDX-License-Identifier: BSD-2-Clause
"""Write readable Verilog of a board's SoC (without pads), or of a core alone, for use elsewhere."""
from ..errors import Exit, InputError
from ..outputs import check_output, write_output
from .options import add_sizes, sizes


def arguments(parser):
    parser.add_argument("board", nargs="?", help="name of the board")
    parser.add_argument("isa", nargs="?", help="name of the core")
    parser.add_argument("--core", metavar="ISA", help="the core alone: Wishbone registers, memory port, interrupt")
    parser.add_argument("-o", dest="out", metavar="FILE", help="where to put it (default: standard output)")
    add_sizes(parser)
    parser.add_argument("--family", choices=("ecp5", "ice40"),
                        help="with --core: use this family's cells (default: portable, no cells at all)")
    parser.add_argument("--beat-bytes", type=int, choices=(2, 4, 8, 16),
                        help="with --core: width of the memory port in bytes (default: 4)")


def run(args, console):
    given = sizes(args)
    if args.out is not None:
        check_output(args.out)
    if args.core and args.board:
        raise InputError("either a board and a core, or --core ISA (see quintet verilog --help)")
    if not args.core and not (args.board and args.isa):
        raise InputError("which? give a board and a core, or --core ISA (see quintet verilog --help)")
    if not args.core and (args.family or args.beat_bytes):
        raise InputError("--family and --beat-bytes belong to --core; a board knows its own")
    from ...boards import open_board
    from ...gateware.cores import open_room
    from .. import build
    room = open_room(args.core or args.isa)
    if args.core:
        preset = args.preset or room.params.SPACE.default_preset
        room.params.SPACE.resolve(preset, given)
        with console.progress() as progress:
            progress(f"elaborate and convert {room.name}")
            text = build.verilog_core(room.name, preset, given, family=args.family, beat_bytes=args.beat_bytes or 4)
    else:
        board = open_board(args.board)
        preset = args.preset or room.params.SPACE.preset_for(board.fpga)
        room.params.SPACE.resolve(preset, given)
        with console.progress() as progress:
            progress(f"elaborate and convert {board.name} with {room.name}")
            text = build.verilog(board.name, room.name, preset, given)
    if args.out:
        write_output(args.out, text.encode())
        console.out(f"{args.out}: {len(text.splitlines()):,} lines")
    else:
        console.out(text.rstrip("\n"))
    values = {"board": args.board, "isa": room.name, "preset": preset, "lines": len(text.splitlines()), "output": args.out}
    console.result(values if args.out else {**values, "verilog": text})
    return Exit.OK
