# SPDX-License-Identifier: BSD-2-Clause
"""Check a finished build: simulate its placed netlist at the pins and compare it with the virtual
board.

Both boards hold the same conversation with a host: identify, write, read, sums, a unit of the core,
a fault, an interrupt. All answers, all counters and the cycles of the whole must be equal, and all
registers that the netlist has by name, in every cycle. What the chip does not define is random.
Exit code 1 if anything differs.

With --routed the bitstream itself is read back (an HX8K's, by Project IceStorm) instead of the
netlist that was placed. With --faults N, N faults are then injected into the netlist, one at a
time, to measure how many of them the check detects.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..errors import Exit, InputError
from ..examples import user_path
from .injection import VERDICTS

if TYPE_CHECKING:
    from ..console import Console
    from .check import Check
    from .injection import Injected


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder", metavar="DIR", help="folder of a build with link uart (quintet build -o DIR)"
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=1,
        metavar="N",
        help="seed of what the chip does not define, and of faults (default: 1)",
    )
    parser.add_argument("--every", action="store_true", help="every unit of the core, not only one")
    parser.add_argument(
        "--routed",
        action="store_true",
        help="read the routed bitstream back (HX8K; needs Project IceStorm's icebox_vlog)",
    )
    parser.add_argument(
        "--faults",
        type=int,
        default=0,
        metavar="N",
        help="inject N faults afterwards (default: none)",
    )


def run(args: argparse.Namespace, console: Console) -> int:
    from .check import check_build
    from .injection import inject

    for name, least in (("seed", 0), ("faults", 0)):
        if getattr(args, name) < least:
            raise InputError(f"--{name} {getattr(args, name)}: expected a number from {least}")
    if args.routed and args.faults:
        raise InputError(
            "--routed and --faults: expected one of them; faults go into the netlist that was "
            "placed"
        )
    folder = user_path(args.folder)
    with console.progress() as progress:
        check = check_build(folder, args.seed, args.every, progress=progress, routed=args.routed)
    show(check, console)
    found = check.as_dict()
    if args.faults and check.ok:
        with console.progress() as progress:
            injected = inject(
                folder,
                args.faults,
                args.seed,
                args.every,
                tell=lambda one: progress(f"{one.kind}: {one.verdict}"),
            )
        show_faults(injected, console)
        found["faults"] = [one.as_dict() for one in injected]
    console.result(found)
    return Exit.OK if check.ok else Exit.NO


def show(check: Check, console: Console) -> None:
    """Prints a check's findings and its result."""
    for finding in check.netlist.findings:
        console.out(
            f"{ {True: 'ok  ', False: 'BAD ', None: '-   '}[finding.ok] } {finding.name}: "
            f"{finding.found}"
        )
    for line in check.wrong:
        console.out(f"DIFFERENT: {line}")
    compared = check.registers["compared"]
    if compared:
        unnamed = check.registers["without a name"]
        console.out(
            f"registers: {compared:,} of {compared + unnamed:,} bits compared in every cycle; "
            f"the others have no name in the netlist"
        )
    else:
        console.out("registers: none compared; the netlist has no names")
    cells = ", ".join(f"{count:,} {kind}" for kind, count in check.cells.items() if count)
    console.out(
        f"netlist of {cells}: "
        + (
            f"equal to the virtual board in {check.netlist.cycles:,} cycles"
            if check.ok
            else "NOT what was simulated"
        )
        + f"; {check.seconds:.0f} s"
    )


def show_faults(injected: Sequence[Injected], console: Console) -> None:
    """Prints the number of faults by kind and verdict, and the faults that were not detected."""
    kinds = sorted({one.kind for one in injected})
    count = Counter((one.kind, one.verdict) for one in injected)
    console.table(
        ("fault", *(f">{verdict}" for verdict in VERDICTS)),
        [(kind, *(str(count[kind, verdict]) for verdict in VERDICTS)) for kind in kinds],
    )
    for one in sorted(injected, key=lambda one: VERDICTS.index(one.verdict)):
        if one.verdict != "found":
            console.out(
                f"{one.verdict}: {one.kind}, {one.cell}, {one.what}"
                + (f": {one.found}" if one.found else "")
            )
