# SPDX-License-Identifier: BSD-2-Clause
"""Build every board and core that fit together, into one table. An interrupted run goes on where it
was."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import Exit, InputError, suggestion
from ..outputs import check_folder

if TYPE_CHECKING:
    from ..console import Console

#: Placements of one cell; a thousand take weeks.
MOST_SEEDS = 1000


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-o",
        dest="folder",
        metavar="DIR",
        default="out/matrix",
        help="folder of the tables (default: out/matrix)",
    )
    parser.add_argument(
        "--board", action="append", default=[], help="only this board; may be repeated"
    )
    parser.add_argument(
        "--isa", action="append", default=[], help="only this core; may be repeated"
    )
    parser.add_argument(
        "--preset", action="append", default=[], help="only this preset; may be repeated"
    )
    parser.add_argument("--seeds", type=int, default=1, help="seeds 1 to N for each (default: 1)")
    parser.add_argument(
        "--link",
        choices=("uart", "uartbone", "usb", "spi"),
        help="only boards with this link, built with it (default: each board's own)",
    )
    parser.add_argument(
        "--mapping",
        action="append",
        metavar="NAME",
        help="map logic in this way, as quintet build does, on the boards whose FPGA has it; may "
        "be repeated (default: the core's)",
    )
    parser.add_argument(
        "--workers", type=int, default=1, help="builds at the same time (default: 1)"
    )
    parser.add_argument(
        "--cluster",
        metavar="ADDRESS",
        help="build on the workers of this Dask cluster, as tcp://HOST:8786",
    )
    parser.add_argument(
        "--limit",
        type=float,
        metavar="MINUTES",
        help="time limit for the tools of a cell (default: none)",
    )
    parser.add_argument(
        "--again", action="store_true", help="also build cells that the table already holds"
    )
    parser.add_argument("--list", action="store_true", help="only list the builds")
    parser.add_argument(
        "--stale",
        action="store_true",
        help="only list the builds, and whether the row of each, in the folder's table or else in "
        "quintet's own, is older than its sources; exit code 1 if one is",
    )


def run(args: argparse.Namespace, console: Console) -> int:
    from functools import partial

    from ... import boards, gateware
    from ...gateware.cores import core_names, open_core
    from ..build.mapping import MAPPINGS
    from ..build.matrix import (
        build_cell,
        cells,
        run_matrix,
        source_commit,
        source_digest,
    )

    check_folder(args.folder)
    if not 1 <= args.seeds <= MOST_SEEDS:
        raise InputError(f"--seeds {args.seeds}: expected 1 to {MOST_SEEDS:,}")
    if args.limit is not None and not args.limit > 0:
        raise InputError(f"--limit {args.limit:g}: expected minutes, more than 0")
    names = {name for family in MAPPINGS.values() for name in family}
    for name in args.mapping or ():
        if name not in names:
            raise InputError(f"--mapping {name}: expected one of {', '.join(sorted(names))}")
    chosen_boards = [boards.open_board(name) for name in args.board or boards.board_names()]
    todo = cells(
        chosen_boards,
        [package for package in map(open_core, args.isa or core_names()) if package.has_core],
        range(1, args.seeds + 1),
        args.link,
        args.mapping or (None,),
    )
    if args.preset:
        presets = list(dict.fromkeys(cell.preset for cell in todo))
        for name in args.preset:
            if name not in presets:
                raise InputError(
                    f"--preset {name}: none of these boards and cores has it"
                    + suggestion(name, presets, "there are")
                )
        todo = [cell for cell in todo if cell.preset in args.preset]
    if not todo:
        raise InputError("the options select no board with a core that fits it")
    if args.list:
        for cell in todo:
            console.out(cell.key)
        console.result({"cells": [cell.key for cell in todo]})
        return Exit.OK
    root = Path(gateware.__file__).parents[1]
    digest = source_digest(root)
    if args.stale:
        return _list_stale(args, console, todo, digest)
    build = partial(build_cell, limit=args.limit)
    if args.cluster:
        from ..build.cluster import cluster_build

        build = cluster_build(args.cluster, limit=args.limit)
    built = 0
    with console.progress() as progress:

        def report(cell, result, left):
            nonlocal built
            built += 1
            console.note(f"{cell.key}: {result['state']}, {left} to go")
            progress("builds", built, built + left)

        try:
            progress("builds", 0, len(todo))
            results = run_matrix(
                todo,
                args.folder,
                digest,
                workers=args.workers,
                again=args.again,
                build=build,
                commit=source_commit(root),
                report=report,
            )
        except KeyboardInterrupt:
            if built:
                console.note(
                    f"{built:,} builds of this run are kept in {args.folder}; the same command "
                    f"goes on"
                )
            raise
    rows = list(results.values())
    console.table(
        ("board", "core", "preset", ">seed", ">asked, MHz", ">reached", ">cells", ""),
        [
            [
                row.get(name, "")
                for name in (
                    "board",
                    "isa",
                    "preset",
                    "seed",
                    "clock_asked_mhz",
                    "clock_reached_mhz",
                    "luts",
                    "state",
                )
            ]
            for row in rows
        ],
    )
    console.result({"cells": rows, "folder": args.folder})
    return Exit.OK if all(row["state"] == "built" for row in rows) else Exit.NO


def _list_stale(args, console, todo, digest):
    """Prints the builds with the state of their rows."""
    from ..build.matrix import load, stale_rows
    from ..build.reached import measured

    results = {**measured(), **load(Path(args.folder) / "matrix.json")}
    rows = [
        {
            "cell": cell.key,
            "state": state,
            "date": results.get(cell.key, {}).get("date"),
            "commit": results.get(cell.key, {}).get("commit"),
        }
        for cell, state in stale_rows(todo, results, digest)
    ]
    console.table(
        ("build", "date", "commit", ""),
        [(row["cell"], row["date"] or "", row["commit"] or "", row["state"]) for row in rows],
    )
    stale = sum(row["state"] == "stale" for row in rows)
    built = sum(row["state"] != "not built" for row in rows)
    console.out(f"{stale:,} of {built:,} rows are older than their sources")
    console.result({"cells": rows, "stale": stale})
    return Exit.NO if stale else Exit.OK
