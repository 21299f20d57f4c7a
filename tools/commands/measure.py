# SPDX-License-Identifier: BSD-2-Clause
"""Measure performance figures on compiled gateware, every result compared with the golden
model's."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from ..errors import Exit, InputError
from ..options import add_kept, check_kept, sizes

if TYPE_CHECKING:
    from ..console import Console

#: Keys of every row, in :func:`_object`; others are columns of their table's own.
_FIXED = ("what", "value", "unit", "bound", "missed")


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "what",
        nargs="*",
        metavar="WHAT",
        help="a topic, or one table of it: TOPIC/TABLE (--list shows them)",
    )
    parser.add_argument(
        "--list", action="store_true", help="list the tables and what each can be measured with"
    )
    for option, help in (
        ("--preset", "on this build"),
        ("--memory", "on this memory"),
        ("--only", "this row"),
    ):
        parser.add_argument(
            option,
            metavar="NAME",
            action="append",
            default=[],
            help=f"measure {help} alone; may be given several times",
        )
    parser.add_argument(
        "--set",
        dest="settings",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="change a setting of the table",
    )
    add_kept(parser, "measure.json", "tables")
    parser.add_argument(
        "-P",
        dest="params",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="a build parameter, where a table takes them",
    )


def run(args: argparse.Namespace, console: Console) -> int:
    from ..measure.catalogue import find, topics
    from ..measure.choice import Choice

    check_kept(args)
    if not args.what and not args.list:
        raise InputError("WHAT is missing (quintet measure --list shows what there is)")
    found = find(args.what or topics())
    if args.list:
        return _list(found, console)
    chosen = {
        name: Choice.of(
            name, measure, args.preset, args.memory, args.only, args.settings, sizes(args)
        )
        for name, measure in found.items()
    }
    from ..compiler.results.kept import KeptResults, digest_of, interruption_note

    kept = None
    if args.out is not None:
        options = (args.preset, args.memory, args.only, args.settings, args.params)
        kept = KeptResults(
            args.out, "measure.json", digest_of(list(found), options), resume=args.resume
        )
    # Only a run that keeps its results is worth the second start of a table's simulations.
    parts = {
        name: {"": chosen[name]} if kept is None else chosen[name].split(measure.names)
        for name, measure in found.items()
    }
    tables: dict[str, list[dict[str, Any]]] = {}
    count = sum(map(len, parts.values()))
    ended = 0
    with (
        interruption_note(console, kept, count, "parts of tables"),
        console.progress() as progress,
    ):
        for name, measure in found.items():
            console.out(f"{name}: {measure.help}\n")
            tables[name] = []
            for label, choice in parts[name].items():
                progress("parts of tables", ended, count)
                key = f"{name} {label}"
                if kept is not None and key in kept.results:
                    _show(kept.results[key], tables[name], console)
                else:
                    rows = _show(map(_object, measure.rows(choice)), tables[name], console)
                    if kept is not None:
                        kept.add(key, rows)
                ended += 1
            console.out()
    values = {
        "tables": tables,
        "missed": any(row["missed"] for rows in tables.values() for row in rows),
    }
    if kept is not None:
        kept.finish(values)
    console.result(values)
    return Exit.NO if values["missed"] else Exit.OK


def _show(found, rows, console):
    """Prints rows as they are measured and adds them to ``rows``, the table so far; returns them as
    a list."""
    before = len(rows)
    for row in found:
        more = {name: value for name, value in row.items() if name not in _FIXED}
        if not rows or list(rows[-1]) != list(row):
            console.out(
                _line("what", "measured", "unit", "bound", *more)
                + "\n"
                + "|---" * (4 + len(more))
                + "|"
            )
        rows.append(row)
        value = _text(row["value"])
        console.out(
            _line(
                row["what"],
                f"**{value}: missed**" if row["missed"] else value,
                row["unit"],
                _text(row["bound"]),
                *map(_text, more.values()),
            )
        )
    return rows[before:]


def _list(found, console):
    console.result(
        {
            "measures": {
                name: {
                    "help": m.help,
                    "presets": m.presets,
                    "memories": m.memories,
                    "only": m.names,
                    "settings": m.settings,
                    "sizes": m.sizes,
                }
                for name, m in found.items()
            }
        }
    )
    console.table(
        ("measure", "what", "with"),
        [
            (
                name,
                m.help,
                "\n".join(
                    f"{option} {', '.join(values)}"
                    for option, values in (
                        ("--preset", m.presets),
                        ("--memory", m.memories),
                        ("--set", [f"{k}={v}" for k, v in m.settings.items()]),
                    )
                    if values
                ),
            )
            for name, m in found.items()
        ],
    )
    return Exit.OK


def _object(row):
    return {
        "what": row.what,
        "value": row.value,
        "unit": row.unit,
        "bound": row.bound,
        "missed": row.missed,
        **row.more,
    }


def _line(*cells):
    return "| " + " | ".join(cells) + " |"


def _text(value):
    if value is None:
        return "-"
    if isinstance(value, str):
        return value
    return f"{value:,.0f}" if value == int(value) or abs(value) >= 1000 else f"{value:,.2f}"
