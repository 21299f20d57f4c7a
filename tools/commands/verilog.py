# SPDX-License-Identifier: BSD-2-Clause
"""Write readable Verilog of a board's SoC (without pads), or of a core alone, for use elsewhere."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING

from ..errors import Exit, InputError
from ..options import add_sizes, sizes
from ..outputs import check_output, write_output

if TYPE_CHECKING:
    from ..console import Console


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("board", nargs="?", help="name of the board")
    parser.add_argument("isa", nargs="?", help="name of the core")
    parser.add_argument(
        "--core", metavar="ISA", help="the core alone: Wishbone registers, memory port, interrupt"
    )
    parser.add_argument(
        "-o", dest="out", metavar="FILE", help="output file (default: standard output)"
    )
    parser.add_argument(
        "--bench",
        metavar="JOB",
        help="with --core and -o: also write a test bench beside FILE, FILE_tb.v, that runs "
        "this job and "
        "compares its results with the golden model's",
    )
    add_sizes(parser)
    parser.add_argument(
        "--family",
        choices=("ecp5", "ice40"),
        help="with --core: use this family's cells (default: portable, no cells at all)",
    )
    parser.add_argument(
        "--beat-bytes",
        type=int,
        choices=(2, 4, 8, 16),
        help="with --core: width of the memory port in bytes (default: 4)",
    )
    parser.add_argument(
        "--memory-size",
        metavar="BYTES",
        help="with --core: main memory that it will see, as in 65536, 64K or 32M (default: 32M)",
    )


def run(args: argparse.Namespace, console: Console) -> int:
    given = sizes(args)
    if args.out is not None:
        check_output(args.out)
    if args.core and args.board:
        raise InputError(
            f"--core {args.core}: expected no board beside it (see quintet verilog --help)"
        )
    if not args.core and not (args.board and args.isa):
        raise InputError("expected a board and a core, or --core ISA (see quintet verilog --help)")
    if not args.core and (args.family or args.beat_bytes or args.memory_size is not None):
        raise InputError(
            "--family, --beat-bytes and --memory-size belong to --core; a board knows its own"
        )
    if args.bench and not (args.core and args.out and args.out.endswith(".v")):
        raise InputError("--bench goes with --core and -o FILE.v: the test bench is FILE_tb.v")
    memory_size = _bytes("32M" if args.memory_size is None else args.memory_size)
    from ...boards import open_board
    from ...gateware.cores import open_core
    from ..export.verilog import verilog, verilog_core

    package = open_core(args.core or args.isa)
    bench = None
    if args.core:
        preset = args.preset or package.params.SPACE.default_preset
        params = package.params.SPACE.resolve(preset, given)
        if args.bench:
            bench = _bench(args, package, preset, given, params, memory_size)
        with console.progress() as progress:
            progress(f"elaborate and convert {package.name}")
            text = verilog_core(
                package.name,
                preset,
                given,
                family=args.family,
                beat_bytes=args.beat_bytes or 4,
                memory_size=memory_size,
            )
    else:
        board = open_board(args.board)
        preset = args.preset or board.preset_for(package)
        package.params.SPACE.resolve(preset, given)
        with console.progress() as progress:
            progress(f"elaborate and convert {board.name} with {package.name}")
            text = verilog(board.name, package.name, preset, given)
    if args.out:
        write_output(args.out, text.encode())
        if bench is not None:
            write_output(bench_path(args.out), bench.encode())
        console.out(f"{args.out}: {len(text.splitlines()):,} lines")
    else:
        console.out(text.rstrip("\n"))
    values = {
        "board": args.board,
        "isa": package.name,
        "preset": preset,
        "lines": len(text.splitlines()),
        "output": args.out,
    }
    console.result(values if args.out else {**values, "verilog": text})
    return Exit.OK


def bench_path(out: str) -> str:
    """Path of the test bench beside the Verilog file ``out``."""
    return out.removesuffix(".v") + "_tb.v"


def _bench(args, package, preset, given, params, memory_size):
    from ...gateware.shell.domains import requested_domain
    from ..export.verilog_bench import test_bench
    from ..jobs.job import Job

    beat_bytes = args.beat_bytes or 4
    return test_bench(
        Job.load(args.bench),
        name=f"quintet_{package.name}",
        preset=preset,
        params=given,
        beat_bytes=beat_bytes,
        memory_size=memory_size,
        domain=requested_domain(package.core.variant(params, beat_bytes), params),
    )


def _bytes(text):
    """A size of memory."""
    found = re.fullmatch(r"(\d{1,10})([KM]?)", text, re.ASCII)
    size = int(found[1]) << {"": 0, "K": 10, "M": 20}[found[2]] if found else 0
    if size % 64 or not 64 <= size <= 1 << 31:
        raise InputError(f"--memory-size {text}: expected a multiple of 64 bytes from 64 to 2048M")
    return size
