# SPDX-License-Identifier: BSD-2-Clause
"""Run a job on a target, save its results, and print the counters with their meaning.

targets:
  model, model:ISA?preset=NAME&param=VALUE        the golden model
  sim:BOARD/ISA?preset=NAME&param=VALUE&link=wire the virtual board
  /dev/ttyUSB0, COM3, socket://host:port, auto    a board, or a server of its protocol
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from ..errors import Exit, InputError
from ..options import add_trace
from ..outputs import check_folder, check_output

if TYPE_CHECKING:
    from ..console import Console


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("job", help="the job, a TOML file")
    parser.add_argument(
        "--on", metavar="TARGET", default="model", help="where to run it (default: model)"
    )
    parser.add_argument(
        "--out",
        metavar="DIR",
        help="folder for the results (default: that of the job; of an example the current one)",
    )
    for kind, text in (("vcd", "every signal"), ("fst", "the same, compressed")):
        parser.add_argument(
            f"--{kind}",
            metavar="FILE",
            help=f"of a virtual board: a trace of {text}, with save files for GTKWave and Surfer",
        )
    add_trace(parser)
    parser.add_argument(
        "--allow-outside", action="store_true", help="let the job's saves leave that folder"
    )


def run(args: argparse.Namespace, console: Console) -> int:
    from ..jobs.timeline import trace_file
    from ..targets.names import open_target, parse_target

    on = _traced(args)
    parse_target(on)
    trace = trace_file(args, on)
    from ..jobs.job import Job

    job = Job.load(args.job)
    if args.out is not None:
        check_folder(args.out, "--out")
    from ..jobs.report import run_object
    from ..jobs.runner import check_outputs, run_job, save_outputs

    check_outputs(job, args.out, args.allow_outside)
    with console.progress() as progress:
        with open_target(on, progress=progress) as target:
            if trace is not None:
                trace.record(target)
            result = run_job(job, target, progress=progress, tick=lambda seconds: progress("run"))
            notes = (
                trace.write(target, result.source, comments=job.isa.syntax.comments)
                if trace is not None
                else []
            )
    for warning in (*result.image.warnings, *notes):
        console.note(warning)
    save_outputs(result, args.out, args.allow_outside)
    _show(result, console)
    if trace is not None:
        console.out(f"saved {trace.path}")
    console.result({**run_object(result), **({} if trace is None else {"trace": trace.path})})
    return Exit.OK if result.outcome.status == "done" else Exit.FAULT


def _traced(args):
    """Adds the requested trace to the target's name."""
    given = [(kind, path) for kind in ("vcd", "fst") if (path := getattr(args, kind)) is not None]
    if not given:
        return args.on
    kind, path = given[0]
    if len(given) > 1:
        raise InputError("--vcd and --fst: expected one of them")
    if not args.on.startswith("sim:"):
        from ..targets.names import public_name

        raise InputError(
            f"--{kind} {path}: only a virtual board writes a trace (--on sim:BOARD/ISA), not "
            f"{public_name(args.on)}"
        )
    if not path.endswith(f".{kind}"):
        raise InputError(f"--{kind} {path}: expected a name that ends in .{kind}")
    check_output(path, f"--{kind}")
    return f"{args.on}{'&' if '?' in args.on else '?'}{urlencode({'trace': path})}"


def _show(result, console):
    from ..jobs.recognition import recognised_text
    from ..jobs.report import counter_rows, describe_outcome, explanation, run_rows

    info = result.info
    where = f"{info.board}, " if info.board else ""
    preset = f" {info.preset}" if info.preset else ""
    console.out(
        f"{result.job.core}{preset} on {result.target} ({where}{info.memory_size >> 10:,} KiB): "
        f"{describe_outcome(result)}"
    )
    if result.outcome.status != "done":
        console.note(f"quintet: {result.job.origin}: {describe_outcome(result)}")
        for line in explanation(result):
            console.note(f"  {line}")
    if len(result.image.steps) > 1:
        console.table(*run_rows(result))
    console.table(("counter", ">value", "meaning"), counter_rows(result))
    for name, value in result.outcome.values.items():
        console.out(f"{name} = {value:#x}")
    console.out(
        f"{result.loaded_bytes:,} bytes written and checked in {result.load_seconds:.2f} s, "
        f"run and counters read in "
        f"{result.run_seconds:.2f} s"
    )
    found = result.recognised
    for name, count in found.items():
        console.out((f"{name}: " if len(found) > 1 else "") + recognised_text(**count))
    for path in result.outputs:
        console.out(f"saved {path}")
