# SPDX-License-Identifier: BSD-2-Clause
"""Digests of the RTLIL of every core preset and of whole SoCs, without source attributes: equal
digests show that a commit is a refactoring.

``python -m tests.support.netlists -o before.json`` before a change, with ``--against before.json``
after it. Exit code 1 names the netlists that differ. Where names or modules change, both times with
``--shape``: digests of the flattened circuits, in which names do not count.
"""

import argparse
import hashlib
import json
import os
import sys
from pathlib import Path

from amaranth.back import rtlil

from quintet.boards import open_board
from quintet.gateware.cores import core_names, open_core
from quintet.gateware.shell.core import CoreShell
from tests.support.netlist_shapes import shape_digest

__all__ = ["core_netlist", "digest_of", "netlists", "soc_netlist"]

#: SoCs with the board's default preset: one of each FPGA family's memory.
SOCS = [("ulx3s-85f", "opentpu"), ("icebreaker", "opu"), ("blackice-ii", "cherry")]


def core_netlist(isa, preset):
    """RTLIL of a core with 1 MiB of memory, with beats of 2 bytes or the first of 4 and 1 that its
    engine supports, and the primitives of the preset's FPGA family."""
    package = open_core(isa)
    family = (
        "ice40"
        if preset.startswith(("up5k", "hx8k"))
        else None
        if preset.startswith("sim")
        else "ecp5"
    )
    for beat_bytes in (2, 4, 1):
        try:
            shell = CoreShell(
                package=package,
                params=package.params.SPACE.resolve(preset),
                beat_bytes=beat_bytes,
                memory_size=1 << 20,
                family=family,
            )
        except ValueError:
            continue
        return rtlil.convert(shell, name="core", emit_src=False)
    raise ValueError(f"Preset {preset} of {isa} takes no beats of 1, 2 or 4 bytes")


def soc_netlist(board, isa):
    """RTLIL of a board's whole SoC with the default preset of a core, without the pads."""
    return rtlil.convert(
        open_board(board).make_soc(package=open_core(isa)), name="soc", emit_src=False
    )


def digest_of(text):
    """Hexadecimal SHA-256 of an RTLIL text."""
    return hashlib.sha256(text.encode()).hexdigest()


def netlists(only=()):
    """All netlists to compare: ``(name, function that returns the RTLIL)``; ``only``: names of
    ISAs."""
    for isa in core_names():
        if only and isa not in only:
            continue
        for preset in open_core(isa).params.SPACE.presets:
            yield f"{isa}/{preset}", lambda isa=isa, preset=preset: core_netlist(isa, preset)
    for board, isa in SOCS:
        if not only or isa in only:
            yield f"{board}/{isa}", lambda board=board, isa=isa: soc_netlist(board, isa)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--out", type=Path, help="file that gets the digests")
    parser.add_argument("--against", type=Path, help="file of digests to compare with")
    parser.add_argument(
        "--isa", action="append", default=[], help="this ISA only (may be repeated)"
    )
    parser.add_argument(
        "--shape",
        action="store_true",
        help="digests of the circuit alone, whatever its parts are called",
    )
    options = parser.parse_args(arguments)
    before = json.loads(options.against.read_text()) if options.against else {}
    found, differ = {}, []
    for name, text in netlists(options.isa):
        found[name] = (shape_digest if options.shape else digest_of)(text())
        same = before.get(name) in (None, found[name])
        differ += [] if same else [name]
        print(f"{name} {found[name][:12]}{'' if same else ' differs'}", flush=True)
    if options.out:
        options.out.write_text(json.dumps(found, indent=1) + "\n")
    return 1 if differ else 0


if __name__ == "__main__":
    if os.environ.get("PYTHONHASHSEED") != "0":
        # Amaranth walks sets of domains and names: with two clocks the order of its text is
        # Python's hash seed's.
        os.execve(
            sys.executable,
            [sys.executable, "-m", "tests.support.netlists", *sys.argv[1:]],
            {**os.environ, "PYTHONHASHSEED": "0"},
        )
    sys.exit(main())
