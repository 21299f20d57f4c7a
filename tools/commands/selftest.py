# SPDX-License-Identifier: BSD-2-Clause
"""Test a board: link, clock, memory, every unit of its core, counters, faults, interrupt, LED.

Takes up to a minute, overwrites main memory, and suggests remedies for faults. Exit code 1 if a
test fails. A virtual board can be tested too.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING

from ..console import is_terminal
from ..errors import Exit
from ..outputs import check_output, write_output

if TYPE_CHECKING:
    from ..console import Console


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("target", metavar="TARGET", help="a port, auto, or sim:BOARD/ISA")
    parser.add_argument(
        "--report", metavar="FILE", help="write all results as JSON, fit to be sent to others"
    )
    parser.add_argument("--yes", action="store_true", help="ask nothing, and do not test the LED")


def run(args: argparse.Namespace, console: Console) -> int:
    from ..link.errors import LinkError
    from ..selftest import SelfTest
    from ..selftest.ladder import explain_silence
    from ..targets.names import open_target, parse_target

    parsed = parse_target(args.target)
    if args.report is not None:
        check_output(args.report, "--report")
    looks = (
        None
        if args.yes or not is_terminal(sys.stdin)
        else lambda question: input(f"{question} [y/n] ").strip().lower().startswith("y")
    )
    with console.progress() as progress:
        try:
            target = open_target(args.target, progress)
        except LinkError as error:
            raise explain_silence(parsed, error) from None
    with target:
        test = SelfTest(target, lambda finding: console.out(_line(finding)), looks)
        test.run()
        report = test.report()
    if args.report is not None:
        write_output(args.report, (json.dumps(report, indent=2) + "\n").encode())
        console.note(f"wrote {args.report}")
    sick = sorted({finding.part for finding in test.findings if finding.ok is False})
    console.out(f"sick: {', '.join(sick)}" if sick else f"all is well; {test.seconds:.0f} s")
    console.result(report)
    return Exit.NO if sick else Exit.OK


def _line(finding):
    mark = {True: "ok  ", False: "SICK", None: "-   "}[finding.ok]
    line = f"{mark} {finding.part}, {finding.name}: {finding.found}"
    return f"{line}\n     try: {finding.advice}" if finding.advice else line
