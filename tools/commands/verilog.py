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
        "--core", metavar="ISA", help="the core alone: registers, memory port or bus, interrupt"
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
    parser.add_argument(
        "--bus",
        choices=("wishbone", "axi4", "native", "port"),
        help="with --core: bus master of the memory: Wishbone B4, AXI4, LiteDRAM's native port, or "
        "the memory port itself (default: the memory port of the core's shell)",
    )
    parser.add_argument(
        "--bus-width",
        type=int,
        choices=(8, 16, 32, 64, 128),
        help="with --bus: data bits of the bus (default: 32)",
    )
    parser.add_argument(
        "--registers",
        choices=("wishbone", "axi4-lite"),
        help="with --bus: bus of the registers (default: wishbone)",
    )
    parser.add_argument(
        "--memory-base",
        metavar="ADDRESS",
        help="with --bus: address of the core's memory on the bus, as in 0x40000000 (default: 0)",
    )
    parser.add_argument(
        "--package",
        action="store_true",
        help="with --core and -o FILE.v: also write FILE.core (FuseSoC), FILE.xml (IP-XACT) and "
        "FILE.rdl (SystemRDL of the registers)",
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
    if args.package and not (args.core and args.out and args.out.endswith(".v")):
        raise InputError("--package goes with --core and -o FILE.v, and writes its files beside it")
    if not (args.core and args.bus) and (
        args.bus or args.bus_width or args.registers or args.memory_base is not None
    ):
        raise InputError(
            "--bus belongs to --core, and --bus-width, --registers and --memory-base to --bus"
        )
    memory_size = _bytes("32M" if args.memory_size is None else args.memory_size)
    from ...boards import open_board
    from ...gateware.cores import open_core
    from ..export.core_package import package_files
    from ..export.verilog import core_component, verilog

    package = open_core(args.core or args.isa)
    beside: dict[str, str] = {}
    if args.core:
        preset = args.preset or package.params.SPACE.default_preset
        export = core_component(
            package.name,
            preset,
            given,
            family=args.family,
            beat_bytes=args.beat_bytes,
            memory_size=memory_size,
            bus=args.bus,
            bus_width=args.bus_width,
            registers=args.registers or "wishbone",
            memory_base=_address(args.memory_base),
        )
        if args.bench:
            beside[bench_path(args.out)] = _bench(args, export, given, memory_size)
        if args.package:
            beside |= package_files(export, args.out, bench_path(args.out) if args.bench else None)
        with console.progress() as progress:
            progress(f"elaborate and convert {package.name}")
            text = export.verilog()
    else:
        board = open_board(args.board)
        preset = args.preset or board.preset_for(package)
        package.params.SPACE.resolve(preset, given)
        with console.progress() as progress:
            progress(f"elaborate and convert {board.name} with {package.name}")
            text = verilog(board.name, package.name, preset, given)
    if args.out:
        write_output(args.out, text.encode())
        for path, contents in beside.items():
            write_output(path, contents.encode())
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


def _bench(args, export, given, memory_size):
    from ..export.verilog_bench import test_bench
    from ..jobs.job import Job

    return test_bench(
        Job.load(args.bench),
        name=export.name,
        preset=export.preset,
        params=given,
        beat_bytes=export.bus_bytes,
        memory_size=memory_size,
        domain=export.second_clock,
        bus=args.bus,
        registers=export.registers,
        memory_base=_address(args.memory_base),
    )


def _address(text):
    """Parses a bus address."""
    if text is None:
        return 0
    if not re.fullmatch(r"0[xX][0-9a-fA-F]{1,8}|[0-9]{1,10}", text, re.ASCII):
        raise InputError(f"--memory-base {text}: expected an address, as in 0x40000000")
    return int(text, 16 if text[:2] in ("0x", "0X") else 10)


def _bytes(text):
    """Parses a memory size."""
    found = re.fullmatch(r"(\d{1,10})([KM]?)", text, re.ASCII)
    size = int(found[1]) << {"": 0, "K": 10, "M": 20}[found[2]] if found else 0
    if size % 64 or not 64 <= size <= 1 << 31:
        raise InputError(f"--memory-size {text}: expected a multiple of 64 bytes from 64 to 2048M")
    return size
