# SPDX-License-Identifier: BSD-2-Clause
"""Compile a network for every core of a board, and compare accuracy, cycles, time and memory.

Accuracy is that of the reference in numpy, which the cores equal bit for bit. Cycles are measured
on the virtual board, for one input; with --estimate they are what the compiler expects, and nothing
is simulated.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ..errors import InputError
from ..options import add_kept, check_kept
from ..outputs import check_output

if TYPE_CHECKING:
    from ..console import Console


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", help="the network, an .onnx file")
    parser.add_argument("--board", required=True, help="the board")
    parser.add_argument(
        "--isa",
        action="append",
        metavar="ISA[?preset=NAME]",
        help="these cores only; may be given several times",
    )
    parser.add_argument(
        "--calibrate",
        metavar="FILE",
        action="append",
        help="inputs to quantise for, as quintet compile takes them",
    )
    parser.add_argument(
        "--input",
        metavar="FILE",
        action="append",
        help="inputs to judge by (default: those of calibration)",
    )
    parser.add_argument("--labels", metavar="FILE", help="class of each of them")
    parser.add_argument(
        "--limit", metavar="N", type=int, default=100, help="judge by the first N (default: 100)"
    )
    parser.add_argument(
        "--estimate", action="store_true", help="estimated cycles instead of a simulation"
    )
    parser.add_argument(
        "--host-steps", action="store_true", help="nodes that a core cannot do may run on the host"
    )
    parser.add_argument(
        "--html",
        metavar="FILE",
        help="write a page that opens without a network, as quintet report does",
    )
    add_kept(parser, "compare.json", "cores")


def run(args: argparse.Namespace, console: Console) -> None:
    if args.limit < 1:
        raise InputError(f"--limit {args.limit}: expected at least 1")
    if args.html is not None:
        from ..report.charts import library

        check_output(args.html, "--html")
        library()  # reports what is missing before anything that takes time
    check_kept(args)
    from ..compiler.arrays import load_inputs, load_labels
    from ..compiler.backends import backend_names
    from ..compiler.onnx_import import import_onnx
    from ..compiler.results.comparison import clock_notes, compare_network, comparison_rows
    from ..compiler.results.kept import KeptResults, digest_of, interruption_note
    from ..compiler.values import check_arrays

    graph = import_onnx(args.model)

    def arrays(texts, option):
        return (
            None
            if not texts
            else check_arrays(graph.name, graph.inputs, load_inputs(texts, graph.inputs, option))
        )

    calibration, inputs = arrays(args.calibrate, "--calibrate"), arrays(args.input, "--input")
    if inputs is not None:
        given = len(next(iter(inputs.values())))
        inputs = {name: array[: args.limit] for name, array in inputs.items()}
    labels = None
    if args.labels is not None:
        if inputs is None:
            raise InputError("--labels: expected --input with the inputs that they belong to")
        labels = load_labels(args.labels, given, args.limit)
    kept = None
    if args.out is not None:
        import pickle

        identity = digest_of(
            pickle.dumps(graph),
            (args.board, args.limit, args.estimate, args.host_steps),
            calibration or {},
            inputs or {},
            {} if labels is None else {"labels": labels},
        )
        kept = KeptResults(args.out, "compare.json", identity, resume=args.resume)
    isas = args.isa or backend_names()
    with interruption_note(console, kept, len(isas), "cores"), console.progress() as progress:
        found = compare_network(
            graph,
            args.board,
            isas,
            calibration,
            inputs,
            labels,
            host_steps=args.host_steps,
            estimate=args.estimate,
            progress=progress,
            kept=kept,
        )
    for note in found.notes:
        console.note(f"quintet: {note}")
    console.table(*comparison_rows(found))
    for note in clock_notes(found):
        console.out(note)
    for cell in found.cells:
        if cell.refusal:
            console.out(f"{cell.isa}: {cell.refusal}")
    if kept is not None:
        kept.finish(found.as_dict())
    if args.html is not None:
        from ..report.command import write_page

        write_page(args.html, "compare", found.as_dict())
        console.out(f"wrote {args.html}")
    console.result(found.as_dict())
