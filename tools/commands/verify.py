# SPDX-License-Identifier: BSD-2-Clause
"""Run the same job, or the plan of a network, on two targets and compare the results bit for bit.

The first difference is reported with address, tensor and element, and, where one of the two is the
model, with the instruction that wrote it. Counters that the program's meaning fixes must agree too.
Exit code 1 if anything differs.

Of a plan, the folder that quintet compile wrote, every tensor of every layer is compared;
"--against reference" is plain numpy.
"""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from ..errors import Exit, InputError
from ..examples import user_path
from ..options import add_kept, check_kept

if TYPE_CHECKING:
    from ..console import Console


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("job", help="the job, a TOML file, or the folder of a plan")
    parser.add_argument("--on", metavar="A", required=True, help="the target under test")
    parser.add_argument(
        "--against",
        metavar="B",
        default="model",
        help="the target to compare with (default: model); of a plan also: reference",
    )
    parser.add_argument(
        "--input",
        metavar="FILE",
        action="append",
        help="of a plan: inputs, as quintet infer takes them (default: two random ones)",
    )
    add_kept(parser, "verify.json", "results of inputs that are equal")


def run(args: argparse.Namespace, console: Console) -> int:
    from ..targets.names import parse_target

    check_kept(args)
    if os.path.isdir(user_path(args.job)):
        return _plan(args, console)
    if args.input:
        raise InputError(f"--input: {args.job} is a job, which has its own inputs")
    if args.out is not None or args.resume:
        raise InputError(f"--out, --resume: {args.job} is a job; expected the folder of a plan")
    names = [parse_target(args.on), parse_target(args.against)]
    from ..jobs.job import Job
    from ..jobs.verify import verify_job

    job = Job.load(args.job)
    with console.progress() as progress:
        comparison = verify_job(
            job,
            *(_Opener(name, progress) for name in names),
            progress=progress,
            tick=lambda seconds: progress("run"),
        )
    _show(comparison, console)
    console.result(comparison.as_dict())
    if not comparison.equal:
        return Exit.NO
    return Exit.OK if comparison.a.outcome.status == "done" else Exit.FAULT


class _Opener:
    def __init__(self, name, progress):
        self.name = name
        self.kind = name.kind
        self.progress = progress

    def __call__(self):
        from ..targets import open_target

        return open_target(self.name.text, progress=self.progress)


def _show(comparison, console):
    from ..jobs.report import describe_outcome

    a, b = comparison.a, comparison.b
    for result in (a, b):
        console.out(f"{result.target}: {describe_outcome(result)}")
    rows = [
        (
            name,
            f"{c['a']:,}",
            f"{c['b']:,}",
            "" if not c["must_agree"] else "equal" if c["a"] == c["b"] else "DIFFERENT",
        )
        for name, c in comparison.counters.items()
    ]
    if rows:
        console.table(("counter", f">{a.target}", f">{b.target}", ""), rows)
    for trouble in comparison.troubles:
        console.out(f"DIFFERENT: {trouble}")
    if comparison.equal:
        size = sum(len(data) for data in a.raw.values())
        what = (
            f"all {size:,} bytes of {len(a.raw)} saved tensors"
            if a.raw
            else "the way the run ended"
        )
        console.out(f"equal: {what}")


def _plan(args, console):
    from ..compiler.arrays import load_inputs
    from ..compiler.plan import load_plan
    from ..compiler.results.kept import KeptResults, digest_of, interruption_note, plan_identity
    from ..compiler.values import check_inputs
    from ..compiler.verification import group_size, random_inputs, verify_plan
    from ..targets import open_target
    from ..targets.names import parse_target, public_name

    plan = load_plan(args.job)
    names = [
        parse_target(name) if name != "reference" else None for name in (args.on, args.against)
    ]
    if names[0] is None:
        raise InputError(
            "--on reference: expected a target; the reference is what it is compared with, as "
            "in --against reference"
        )
    inputs = (
        random_inputs(plan)
        if not args.input
        else check_inputs(
            plan.network, plan.inputs, load_inputs(args.input, plan.inputs, "--input")
        )
    )

    def opener(name, progress):
        text = f"model:{plan.isa}" if name.kind == "model" and name.isa is None else name.text
        return lambda: open_target(text, progress=progress)

    kept = None
    if args.out is not None:
        identity = digest_of(plan_identity(args.job, inputs), args.on, args.against)
        kept = KeptResults(args.out, "verify.json", identity, resume=args.resume)
    size = group_size(plan)
    groups = -(-len(next(iter(inputs.values()))) // size)
    what = f"groups of {size} inputs"
    with interruption_note(console, kept, groups, what), console.progress() as progress:
        openers = [None if name is None else opener(name, progress) for name in names]
        found = verify_plan(
            plan,
            inputs,
            public_name(args.on),
            openers[0],
            public_name(args.against),
            openers[1],
            progress,
            kept,
        )
    values = {"network": plan.network, "isa": plan.isa, **found.as_dict()}
    if kept is not None:
        kept.finish(values)
    if found.equal:
        console.out(
            f"equal: {found.elements:,} elements of {len(found.tensors)} tensors, "
            f"{found.inputs} inputs, on {found.a} and {found.b}"
        )
    else:
        console.out(f"DIFFERENT: {found.difference}")
    console.result(values)
    return Exit.OK if found.equal else Exit.NO
