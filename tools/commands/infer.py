# SPDX-License-Identifier: BSD-2-Clause
"""Run a compiled network on any number of inputs: golden model, virtual board or board, with the
same bits.

Weights are written once and stay in the target's memory. Inputs are FILE.npy, FILE.npz (its only
array, or "x") or FILE.npz:key, the first axis counts them; with several inputs of a network
NAME=FILE for each. --out gets one .npy for each output of the network.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ..errors import Exit, InputError
from ..options import add_kept, add_trace, check_kept

if TYPE_CHECKING:
    from ..console import Console


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("plan", help="the folder that quintet compile wrote")
    parser.add_argument(
        "--on",
        metavar="TARGET",
        default="model",
        help="where to run it (default: model, the golden model of the plan's build)",
    )
    parser.add_argument(
        "--input",
        metavar="FILE",
        action="append",
        required=True,
        help="inputs; NAME=FILE where the network has several",
    )
    parser.add_argument(
        "--labels",
        metavar="FILE",
        help="class of each input: .npy, .npz:key, or an .npz with an array y",
    )
    parser.add_argument("--limit", metavar="N", type=int, help="the first N inputs only")
    parser.add_argument(
        "--layers",
        action="store_true",
        help="signal to noise of every layer and, but on a golden model, its cycles",
    )
    parser.add_argument(
        "--no-overlap",
        action="store_true",
        help=(
            "write the next input only when the core has ended: cycles without the link's "
            "share of main memory"
        ),
    )
    parser.add_argument(
        "--resident",
        action="store_true",
        help="the board has programs and weights from its flash memory: check them, write none",
    )
    parser.add_argument(
        "--reset-every",
        metavar="N",
        type=int,
        help="of a network with states: each N inputs are a sequence, before which the states get "
        "their initial values (default: all inputs are one)",
    )
    add_trace(parser)
    add_kept(parser, "the outputs", "outputs")


def run(args: argparse.Namespace, console: Console) -> int:
    from ..compiler.arrays import load_inputs, load_labels
    from ..compiler.plan import load_plan
    from ..jobs.timeline import trace_file
    from ..targets.names import open_target, parse_target, public_name

    target_name = parse_target(args.on)
    trace = trace_file(args, args.on)
    check_kept(args)
    plan = load_plan(args.plan)
    if args.limit is not None and args.limit < 1:
        raise InputError(f"--limit {args.limit}: expected at least 1")
    _check_reset(args, plan)
    from ..compiler.values import check_arrays

    arrays = load_inputs(args.input, plan.inputs, "--input")
    if plan.states:
        arrays = _in_a_row(args, plan, arrays)
    inputs = check_arrays(plan.network, plan.inputs, arrays)
    given = len(next(iter(inputs.values())))
    inputs = {name: array[: args.limit] for name, array in inputs.items()}
    labels = None if args.labels is None else load_labels(args.labels, given, args.limit)
    from ..compiler.results.accuracy import check_labels, classified

    if labels is not None:
        check_labels(plan, labels)
    from ..compiler.results.kept import KeptOutputs
    from ..compiler.session import Session
    from ..compiler.verification import instruction_at

    name = (
        f"model:{plan.isa}" if target_name.kind == "model" and target_name.isa is None else args.on
    )
    kept = (
        None
        if args.out is None
        else KeptOutputs(
            args.out, args.plan, inputs, resume=args.resume, reset_every=args.reset_every
        )
    )
    if kept is not None and kept.done:
        console.note(f"{args.out} holds the outputs of {kept.done:,} inputs; going on behind them")
    with console.progress() as progress:
        target = open_target(name, progress=progress)
        if trace is not None:
            trace.record(target)
        with Session(
            plan, target, progress, overlap=not args.no_overlap, resident=args.resident
        ) as session:
            session.reset_every = args.reset_every
            outputs = _outputs(session, inputs, kept, console)
            report, info = session.report, target.info
            rows = _layers(session, session.check(**inputs), progress) if args.layers else None
            notes = (
                trace.write(target, lambda pc: None, lambda pc: instruction_at(plan, pc))
                if trace is not None
                else []
            )
    for note in notes:
        console.note(note)
    found = classified(outputs, labels)
    from ..compiler.results.throughput import on_the_line, throughput

    rates = throughput(report, plan, info, on_the_line(info, target_name.options))
    _show(console, args, plan, info, report, rates, found)
    if rows is not None:
        from ..compiler.results.report import show_layers

        show_layers(console, rows)
    from ..build.reached import time_clock
    from ..compiler.results.places import build_object
    from ..compiler.results.report import clock_object, plan_rows

    console.result(
        {
            "network": plan.network,
            **build_object(plan, info),
            "target": public_name(name),
            "board": info.board,
            "clock_hz": plan.clock(info.clock_hz),
            **clock_object(plan, time_clock(info)),
            **report.as_dict(),
            "macs": sum(row["macs"] for row in plan_rows(plan)),
            "inputs_per_second": rates,
            **found,
            **({} if rows is None else {"layers": rows}),
        }
    )
    return Exit.OK


def _check_reset(args, plan):
    """Checks ``--reset-every``: it must be a number, the plan must have states, and kept outputs
    must not belong to a sequence whose states are lost."""
    every = args.reset_every
    if every is not None and every < 1:
        raise InputError(f"--reset-every {every}: expected at least 1")
    if every is not None and not plan.states:
        raise InputError(f"--reset-every {every}: {plan.network} has no states")
    if plan.states and args.resume and every is None:
        raise InputError(
            f"--resume: the states of {plan.network} behind the outputs that are there are not "
            f"kept: expected --reset-every, whose sequences begin anew"
        )


def _in_a_row(args, plan, arrays):
    """Runs the inputs of a network with states in sequence; sequences [sequences, steps, ...] set
    ``--reset-every``."""
    ranks = {port.name: len(port.shape) for port in plan.inputs}
    if any(array.ndim != ranks[name] + 2 for name, array in arrays.items()):
        return arrays
    steps = {array.shape[1] for array in arrays.values()}
    every = args.reset_every
    if len(steps) > 1 or every not in (None, *steps):
        found = sorted(steps | {every} - {None})
        raise InputError(
            f"--input: sequences of {' and '.join(map(str, found))} steps: expected one length"
        )
    (args.reset_every,) = steps
    return {name: array.reshape(-1, *array.shape[2:]) for name, array in arrays.items()}


def _layers(session, inputs, progress):
    from ..compiler.fidelity import reference_tensors, states_read
    from ..compiler.results.layers import MOST_INPUTS, layer_counters, layer_snr
    from ..compiler.results.report import plan_rows

    plan = session.plan
    if progress is not None:
        progress("layers")
    some = {name: array[:MOST_INPUTS] for name, array in inputs.items()}
    numbers, values = reference_tensors(plan, some)
    # Layers are compared on the states that the core itself has made.
    some |= states_read(plan, values)
    counters = None if session.target.info.kind == "model" else layer_counters(session, some)
    return plan_rows(plan, counters, layer_snr(plan, some, numbers))


def _outputs(session, inputs, kept, console):
    """Computes the outputs of all inputs, name -> array; outputs in ``kept`` (or ``None``) are not
    computed again."""
    from ..compiler.results.kept import CHUNK, interruption_note

    plan, count = session.plan, len(next(iter(inputs.values())))
    session.expected = count
    if kept is None:
        return session.outputs(**inputs)
    images = max((step.lowered.images for step in plan.core_steps), default=1)
    if plan.states:
        # Sequences are whole, so that others go on after them.
        images = count if session.reset_every is None else session.reset_every
    chunk = -(-CHUNK // images) * images
    with interruption_note(console, kept, count, "inputs"):
        while kept.done < count:
            session.behind = kept.done
            if session.reset_every is not None:
                session.reset()
            part = {name: array[kept.done : kept.done + chunk] for name, array in inputs.items()}
            kept.add(session.outputs(**part))
    return kept.finish([port.name for port in plan.outputs])


def _show(console, args, plan, info, report, rates, found):
    from ..compiler.results.throughput import throughput_rows
    from ..targets.names import public_name

    where = (
        f"{info.board}, {info.preset or 'sizes of its own'}"
        if info.board
        else info.preset or "the plan's sizes"
    )
    console.out(
        f"{plan.network} for {plan.isa} on {public_name(args.on)} ({where}): {report.inputs} inputs"
    )
    rows = []
    if report.cycles:
        each = report.cycles / report.inputs
        rows.append(("cycles an input", f"{each:,.0f}", f"{plan.cycles:,.0f} estimated"))
    rows += throughput_rows(rates, plan, info, report)
    rows += [
        (
            "constants, written and checked once",
            f"{report.constant_bytes:,} bytes",
            f"{report.load_seconds:.2f} s",
        ),
        ("written an input", f"{report.input_bytes / report.inputs:,.0f} bytes", ""),
        ("read an input", f"{report.output_bytes / report.inputs:,.0f} bytes", ""),
    ]
    if report.host_seconds:
        rows.append(("on the host", f"{report.host_seconds:.2f} s", ""))
    console.table(("what", ">value", ""), rows)
    if "correct" in found:
        from ..jobs.recognition import recognised_text

        console.out(recognised_text(found["correct"], report.inputs))
    elif "classes" in found:
        shown = ", ".join(map(str, found["classes"][:20])) + (
            " ..." if len(found["classes"]) > 20 else ""
        )
        console.out(f"first class of each input: {shown}")
