# SPDX-License-Identifier: BSD-2-Clause
"""Build a bitstream, with a report of clock and area. Exit code 1 if the requested clock was not
reached, or a path between two clocks is longer than a period of the first, or, with --check, the
netlist differs from the virtual board.

With --seeds, one netlist is placed and routed with several seeds, and the best bitstream is kept.

The folder then holds the bitstream, report.json, and the logs of the tools.
"""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING

from ..errors import Exit, InputError
from ..options import add_sizes, sizes
from ..outputs import check_folder

if TYPE_CHECKING:
    from ..console import Console

#: Placements of one netlist; on two processors some hundred take a week.
MOST_SEEDS = 1000


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("board", help="name of the board (quintet boards lists them)")
    parser.add_argument("isa", help="name of the core (quintet cores lists them)")
    add_sizes(parser)
    parser.add_argument(
        "--freq",
        type=float,
        metavar="MHZ",
        help="main clock (default: the preset's or the board's)",
    )
    parser.add_argument(
        "--seed", type=int, default=1, metavar="N", help="seed of the placement (default: 1)"
    )
    parser.add_argument(
        "--seeds",
        type=int,
        metavar="N",
        help="place with N seeds, from --seed on, and keep the best (default: one)",
    )
    parser.add_argument(
        "--jobs",
        type=int,
        metavar="N",
        help="with --seeds: placements at the same time (default: as many as processors and "
        "memory allow, on a cluster all)",
    )
    parser.add_argument(
        "--cluster",
        metavar="ADDRESS",
        help="with --seeds: place on the workers of this Dask cluster, as tcp://HOST:8786",
    )
    parser.add_argument(
        "--link",
        choices=("uart", "uartbone", "usb", "spi"),
        help="link to the host: a serial line with our protocol or with LiteX's UARTBone for "
        "its tools, the FPGA's own USB wires, or SPI (default: uart where the board has it)",
    )
    parser.add_argument(
        "--on-chip",
        type=int,
        metavar="BYTES",
        help=(
            "main memory in block RAM, from address 0, before the board's memory chip "
            "(default: the preset's)"
        ),
    )
    parser.add_argument(
        "--sdram-rate",
        type=int,
        choices=(1, 2),
        metavar="RATE",
        help="cycles of the board's SDRAM for each of the main clock, 1 or 2 (default: 1)",
    )
    parser.add_argument(
        "--run-list",
        action="store_true",
        help="the SoC walks lists of runs: several inputs in a row without the host",
    )
    parser.add_argument(
        "--boot",
        action="store_true",
        help="the SoC starts from a plan image in flash memory (quintet image)",
    )
    parser.add_argument(
        "--limit",
        type=float,
        metavar="MINUTES",
        help="time limit for the tools (default: none)",
    )
    parser.add_argument(
        "--router",
        choices=("router1", "router2"),
        help=(
            "nextpnr's router: router2 goes on where wires are crowded, by detours that cost "
            "much of the clock (default: the preset's, or router1)"
        ),
    )
    parser.add_argument(
        "--placer",
        choices=("heap", "static"),
        help=(
            "nextpnr's placer: static spreads a crowded design, with less regard to its clock "
            "(default: the preset's, or heap)"
        ),
    )
    parser.add_argument(
        "--mapping",
        metavar="NAME",
        help="how yosys maps logic: plain, abc, dff, retime or nowidelut on an ECP5; plain, abc9, "
        "abc2, dff or retime on an iCE40 (default: the core's)",
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="simulate the netlist that is placed against the virtual board (quintet check)",
    )
    parser.add_argument(
        "-o", dest="out", metavar="DIR", help="folder (default: out/build/BOARD-ISA-PRESET-SEED)"
    )


def run(args: argparse.Namespace, console: Console) -> int:
    given = sizes(args)
    if args.out is not None:
        check_folder(args.out)
    if args.freq is not None and not 0 < args.freq < 1000:
        raise InputError(
            f"--freq {args.freq:g}: expected a clock in MHz, more than 0 and less than 1000"
        )
    if args.seed < 0:
        raise InputError(f"--seed {args.seed}: expected a number from 0")
    _check_seeds(args)
    if args.limit is not None and not args.limit > 0:
        raise InputError(f"--limit {args.limit:g}: expected minutes, more than 0")
    # Names and sizes before anything that takes time; the messages are those of what they name.
    from ...boards import open_board
    from ...gateware.cores import open_core

    board = open_board(args.board).with_sdram_rate(args.sdram_rate)
    package = open_core(args.isa)
    package.params.SPACE.resolve(args.preset or board.preset_for(package), given)
    board.on_chip_memory(package, args.preset, given, args.on_chip)
    from ..build.bitstream import build
    from ..build.crossings import late
    from ..build.stages import expected_seconds

    stage, seconds = _Stage(), None
    if not given:
        preset = args.preset or board.preset_for(package)
        seconds = expected_seconds(board.name, package.name, preset, args.seed)
    with console.progress() as progress, console.signs_of_life(stage.describe, silence=30.0):

        def say(text):
            if text == "synthesis" and seconds is not None:
                text += f" (of a build that took {_minutes(seconds)} in the table of builds)"
            console.note(text)

        def detail(name, text):
            stage.tell(name, text)
            progress(name, note=text)

        options = {
            "preset": args.preset,
            "params": given,
            "freq": args.freq,
            "dir": args.out,
            "progress": say,
            "link": args.link,
            "limit": None if args.limit is None else 60 * args.limit,
            "router": args.router,
            "placer": args.placer,
            "on_chip": args.on_chip,
            "detail": detail,
            "run_list": args.run_list,
            "boot": args.boot,
            "sdram_rate": args.sdram_rate,
            "mapping": args.mapping,
        }
        if args.seeds is None:
            report = build(args.board, args.isa, seed=args.seed, **options)
        else:
            report = _seeds(args, options)
    _show(report, console)
    good = report["clock_met"] and not late(report)
    if args.check:
        good = _check(report, console) and good
    console.result(report)
    return Exit.OK if good else Exit.NO


def _check_seeds(args):
    if args.seeds is not None and not 1 <= args.seeds <= MOST_SEEDS:
        raise InputError(f"--seeds {args.seeds}: expected 1 to {MOST_SEEDS:,}")
    if args.jobs is not None and args.jobs < 1:
        raise InputError(f"--jobs {args.jobs}: expected at least 1")
    for name in ("jobs", "cluster"):
        if args.seeds is None and getattr(args, name) is not None:
            raise InputError(f"--{name} {getattr(args, name)}: expected --seeds, too")


def _seeds(args, options):
    """Builds with several seeds; returns the report of the best."""
    from ..build.seeds import build_seeds, place_here

    place, jobs = place_here, args.jobs
    if args.cluster is not None:
        from ..build.cluster import cluster_place

        place, jobs = cluster_place(args.cluster), jobs or args.seeds
    seeds = range(args.seed, args.seed + args.seeds)
    return build_seeds(args.board, args.isa, seeds, jobs=jobs, place=place, **options)


class _Stage:
    """Reports the stage of a build on its own line now and then, for outputs without a spinner."""

    def __init__(self):
        self._name, self._text, self._began = "preparing", "", time.monotonic()

    def tell(self, name, text):
        if name != self._name:
            self._name, self._began = name, time.monotonic()
        self._text = text

    def describe(self):
        text = f", {self._text}" if self._text else ""
        return f"  {self._name} for {_minutes(time.monotonic() - self._began)}{text}"


def _minutes(seconds):
    """Formats a duration in minutes or seconds."""
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} minutes"


def _check(report, console):
    """Checks the build's netlist and adds the result to the report."""
    from pathlib import Path

    from ..build.bitstream import write_report
    from ..netlist.check import check_build
    from ..netlist.command import show

    folder = Path(report["bitstream"]).parent
    with console.progress() as progress:
        check = check_build(folder, progress=progress)
    show(check, console)
    report["check"] = check.as_dict()
    write_report(folder, report)
    return check.ok


def _show(report, console):
    from ..build.logs import TITLES

    console.table(
        ("clock", ">asked, MHz", ">reached, MHz", ""),
        [
            (
                name,
                f"{c['asked_mhz']:.2f}",
                f"{c['reached_mhz']:.2f}",
                "" if c["reached_mhz"] >= c["asked_mhz"] else "NOT REACHED",
            )
            for name, c in report["clocks"].items()
        ],
    )
    if report.get("crossings"):
        console.table(
            ("from clock", "to clock", ">longest path, ns", ">allowed", ""),
            [
                (
                    c["from"],
                    c["to"],
                    f"{c['delay_ns']:.2f}",
                    "unknown" if c["limit_ns"] is None else f"{c['limit_ns']:.2f}",
                    "" if c["met"] else "TOO LONG",
                )
                for c in report["crossings"]
            ],
        )
    if "sdram" in report:
        chip = report["sdram"]
        console.table(
            (
                ">SDRAM's clock, degrees",
                *(
                    f">{kind} {time}, ns"
                    for kind in ("write", "read")
                    for time in ("setup", "hold")
                ),
            ),
            [
                (
                    f"{chip['phase_degrees']:.1f}",
                    *(
                        f"{chip[f'{kind}_{time}_ns']:.2f}"
                        for kind in ("write", "read")
                        for time in ("setup", "hold")
                    ),
                )
            ],
        )
    available = report.get("available", {})
    rows = []
    for name, title in TITLES.items():
        if name in report:
            of = available.get(name)
            rows.append(
                (
                    title,
                    f"{report[name]:,}",
                    f"{of:,}" if of else "",
                    f"{100 * report[name] / of:.0f} %" if of else "",
                )
            )
    console.table(("resource", ">used", ">of", ">"), rows)
    if on_chip := report.get("memory", {}).get("on_chip"):
        console.out(
            f"main memory: {on_chip['size']:,} bytes on chip in beats of "
            f"{on_chip['beat_bytes']} bytes, the rest "
            f"{report['memory']['kind']} in beats of {report['memory']['beat_bytes']}"
        )
    if rate := report.get("memory", {}).get("rate"):
        console.out(f"SDRAM's clock: {rate} times the main clock")
    if "seeds" in report:
        _show_seeds(report, console)
    if tools := report.get("tools"):
        console.out(
            "tools: "
            + ", ".join(
                f"{name} {tool['version'] or 'of an unknown release'} "
                f"({'native' if tool['native'] else 'YoWASP'})"
                for name, tool in tools.items()
            )
        )
    console.out(
        f"{report['bitstream']}: {report['board']}, {report['isa']} {report['preset']}, seed "
        f"{report['seed']}, "
        f"{report['seconds']:.0f} s"
    )


def _show_seeds(report, console):
    console.table(
        (">seed", ">main clock, MHz", ">seconds", ""),
        [
            (
                row["seed"],
                f"{row['clock_reached_mhz']:.2f}" if "error" not in row else "",
                f"{row['seconds']:.0f}" if "error" not in row else "",
                row.get("error") or ("" if row["clock_met"] else "NOT REACHED"),
            )
            for row in report["seeds"]
        ],
    )
    clocks = report["distribution_mhz"]
    console.out(
        f"main clock of {sum('error' not in row for row in report['seeds'])} seeds: worst "
        f"{clocks['worst']:.2f}, median {clocks['median']:.2f}, best {clocks['best']:.2f} MHz"
    )
