# SPDX-License-Identifier: BSD-2-Clause
"""Run the same job on two targets and compare the results bit for bit.

The first difference is reported with address, tensor and element, and, where one of the two is the model, with the
instruction that wrote it. Counters that the program's meaning fixes must agree too. Exit code 1 if anything differs.
"""
from ..errors import Exit


def arguments(parser):
    parser.add_argument("job", help="the job, a TOML file")
    parser.add_argument("--on", metavar="A", required=True, help="the target under test")
    parser.add_argument("--against", metavar="B", default="model", help="the target to compare with (default: model)")


def run(args, console):
    from ..targets.names import parse_target
    names = [parse_target(args.on), parse_target(args.against)]
    from ..jobs.job import Job
    from ..jobs.verify import verify_job
    job = Job.load(args.job)
    with console.progress() as progress:
        comparison = verify_job(job, *(_Opener(name, progress) for name in names), progress=progress,
                                tick=lambda seconds: progress("run"))
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
    rows = [(name, f"{c['a']:,}", f"{c['b']:,}", "" if not c["must_agree"] else "equal" if c["a"] == c["b"] else "DIFFERENT")
            for name, c in comparison.counters.items()]
    if rows:
        console.table(("counter", f">{a.target}", f">{b.target}", ""), rows)
    for trouble in comparison.troubles:
        console.out(f"DIFFERENT: {trouble}")
    if comparison.equal:
        size = sum(len(data) for data in a.raw.values())
        what = f"all {size:,} bytes of {len(a.raw)} saved tensors" if a.raw else "the way the run ended"
        console.out(f"equal: {what}")
