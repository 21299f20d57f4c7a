# SPDX-License-Identifier: BSD-2-Clause
"""List what is missing on this machine, and how to install it. Exit code 3 if a requirement of all
commands is missing."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ..errors import Exit

if TYPE_CHECKING:
    from ..console import Console


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--udev",
        action="store_true",
        help="print udev rules that give access to the boards' USB ports",
    )


def run(args: argparse.Namespace, console: Console) -> int:
    from ..doctor import examine, udev_rules

    if args.udev:
        rules = udev_rules()
        console.out(rules.rstrip())
        console.result({"udev": rules})
        return Exit.OK
    findings = examine()
    ok = all(f.ok for f in findings if f.needed)
    console.table(
        ("", "what", "found", "needed for", "how to get it"),
        [
            ("ok" if f.ok else "MISSING" if f.needed else "-", f.name, f.found, f.purpose, f.fix)
            for f in findings
        ],
    )
    console.result({"ok": ok, "findings": [f.as_dict() for f in findings]})
    return Exit.OK if ok else Exit.NO_DEVICE
