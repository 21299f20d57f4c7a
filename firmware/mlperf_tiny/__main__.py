# SPDX-License-Identifier: BSD-2-Clause
"""Measure MLPerf Tiny's networks: ``python -m quintet.firmware.mlperf_tiny DIR``.

For every network and core: accuracy by the reference in numpy, cycles of one input on the virtual
ULX3S-85F beside what was estimated, and, with --verify, whether every tensor of every layer is
equal on reference, golden model and virtual board.

With --board: cycles on that virtual board, the clock that place and route has reached for the
preset, the time of one input, and what other systems have published. Energy stays empty until a
board is measured.
"""

import sys
import time
from collections.abc import Sequence
from pathlib import Path

from quintet.boards import open_board
from quintet.tools.console import Console
from quintet.tools.errors import Exit, InputError, QuintetError

from ..commandline import Parser, guarded
from . import BARS, NETWORKS, PEERS, PRESETS, load_inputs, presets_of

_BOARD = "ulx3s-85f"


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of this module's command line."""
    parser = Parser(prog="mlperf_tiny", description=__doc__)
    parser.add_argument("folder", help="folder with the networks and data/")
    parser.add_argument("--isa", action="append", choices=sorted(BARS), help="these cores only")
    parser.add_argument(
        "--network", action="append", choices=sorted(NETWORKS), help="these networks only"
    )
    parser.add_argument("--board", help="table of times on this board")
    parser.add_argument("--preset", help="this build of one core (with --isa)")
    parser.add_argument(
        "--sdram-rate",
        type=int,
        choices=(1, 2),
        metavar="RATE",
        help="cycles of the board's SDRAM for each of the main clock (with --preset)",
    )
    parser.add_argument(
        "--limit",
        type=int,
        default=400,
        metavar="N",
        help="judge by the first N inputs (default: 400)",
    )
    parser.add_argument(
        "--estimate", action="store_true", help="estimated cycles, nothing is simulated"
    )
    parser.add_argument(
        "--verify", action="store_true", help="compare every tensor of every layer, of one input"
    )
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object on standard output"
    )
    args = parser.parse_args(argv)
    return guarded("mlperf_tiny", lambda: _command(args, Console(args.json)))


def _measure(args, isa, preset, network, progress):
    """Measures one network on one core; returns a dict."""
    from quintet.tools.compiler.onnx_import import import_onnx
    from quintet.tools.compiler.results.comparison import compare_network

    data = load_inputs(args.folder, network)
    graph = import_onnx(Path(args.folder, network.file))
    port = graph.inputs[0]
    x, y = data.x[: args.limit], None if data.y is None else data.y[: args.limit]
    began = time.monotonic()
    target = isa + (f"?preset={preset}" if preset else "")
    if args.sdram_rate:
        target += f"&sdram_rate={args.sdram_rate}"
    found = compare_network(
        graph,
        args.board or _BOARD,
        [target],
        {port.name: data.calibration},
        {port.name: x},
        y,
        estimate=args.estimate,
        verify=args.verify,
        layers=False,
        progress=progress,
    )
    cell = found.cells[0]
    required, aim = (None, None) if args.board else BARS[isa].get(network.name, (None, None))
    return {
        "network": network.name,
        "isa": isa,
        "preset": cell.preset,
        "refusal": cell.refusal,
        "cycles": cell.cycles,
        "measured": cell.measured,
        "time_hz": cell.time_hz,
        "clock_note": cell.clock_note,
        "milliseconds": cell.milliseconds,
        "estimated": cell.estimated,
        "required": required,
        "aim": aim,
        "inputs": found.inputs,
        "float_correct": found.correct,
        "correct": cell.correct,
        "agreement": cell.agreement,
        "snr": cell.snr,
        "macs": cell.macs,
        "bytes": cell.bytes_of_an_input,
        "counters": cell.counters,
        "equal": cell.equal,
        "compile_seconds": cell.seconds,
        "seconds": round(time.monotonic() - began, 1),
    }


def _command(args, console):
    if args.limit < 1:
        raise InputError(f"--limit {args.limit}: expected at least 1")
    if args.preset and len(args.isa or BARS) != 1:
        raise InputError(f"--preset {args.preset}: expected one --isa that it is a preset of")
    if args.sdram_rate and not args.preset:
        raise InputError(f"--sdram-rate {args.sdram_rate}: expected --preset, too")
    if args.board:
        open_board(args.board)
    cells = []
    with console.progress() as progress:
        for name in args.network or NETWORKS:
            for isa in args.isa or BARS:
                for preset in _presets(args, isa):
                    try:
                        cells.append(_measure(args, isa, preset, NETWORKS[name], progress))
                    except QuintetError as error:
                        cells.append(
                            {
                                "network": name,
                                "isa": isa,
                                "preset": preset,
                                "refusal": str(error),
                            }
                        )
                    print(_line(cells[-1]), file=sys.stderr, flush=True)
    if args.board:
        console.table(*_times(args.network or NETWORKS, cells))
    else:
        console.table(*_quality(cells))
    console.result({"board": args.board or _BOARD, "cells": cells})
    late = [cell for cell in cells if cell.get("equal") is False]
    return Exit.NO if late else Exit.OK


def _presets(args, isa):
    """Presets with which to measure a core."""
    if args.preset:
        return (args.preset,)
    return presets_of(args.board, isa) if args.board else (PRESETS.get(isa),)


def _quality(cells):
    """Table of cycles and accuracy: (columns, rows)."""
    return (
        (
            "network",
            "core",
            ">cycles",
            ">required",
            ">aim",
            ">estimate",
            ">correct",
            ">float",
            ">same class",
            ">SNR dB",
            "layers",
        ),
        [_row(cell) for cell in cells],
    )


def _times(networks, cells):
    """Table of inference times, those of other systems after each network's own: (columns,
    rows)."""
    rows = []
    for name in networks:
        for cell in (cell for cell in cells if cell["network"] == name):
            core = (name, cell["isa"], cell.get("preset") or "")
            if cell["refusal"]:
                rows.append((*core, "refused", *[""] * 4))
                continue
            time, hz = cell["milliseconds"], cell["time_hz"]
            rows.append(
                (
                    *core,
                    f"{cell['cycles']:,}" + ("" if cell["measured"] else "*"),
                    f"{hz / 1e6:.1f}" if hz else "-",
                    f"{time:.3f}" if time else "-",
                    "",
                    cell["clock_note"],
                )
            )
        rows += [
            (name, peer.name, "", "", "", f"{peer.milliseconds[name]:g}", "", peer.source)
            for peer in PEERS
            if name in peer.milliseconds
        ]
    return (
        "network",
        "core or system",
        "preset",
        ">cycles",
        ">clock, MHz",
        ">ms",
        ">energy, µJ",
        "source",
    ), rows


def _line(cell):
    return f"{cell['network']} on {cell['isa']}: " + (
        cell["refusal"] or f"{cell['cycles']:,} cycles"
    )


def _row(cell):
    if cell["refusal"]:
        return cell["network"], cell["isa"], "refused", *[""] * 8

    def share(key):
        return "" if cell[key] is None else f"{100 * cell[key] / cell['inputs']:.1f} %"

    def number(key):
        return "" if cell[key] is None else f"{cell[key]:,}"

    return (
        cell["network"],
        cell["isa"],
        number("cycles") + ("" if cell["measured"] else "*"),
        number("required"),
        number("aim"),
        f"{100 * cell['estimated'] / cell['cycles'] - 100:+.1f} %" if cell["cycles"] else "",
        share("correct"),
        share("float_correct"),
        "" if cell["agreement"] is None else f"{100 * cell['agreement']:.1f} %",
        f"{cell['snr']:.1f}",
        "" if cell["equal"] is None else "equal" if cell["equal"] else "DIFFERENT",
    )


if __name__ == "__main__":
    sys.exit(main())
