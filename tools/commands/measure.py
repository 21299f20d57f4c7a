# SPDX-License-Identifier: BSD-2-Clause
"""Measure performance figures on compiled gateware, every result compared with the golden
model's."""

from ..errors import Exit, InputError
from ..options import sizes


def arguments(parser):
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
    parser.add_argument(
        "-P",
        dest="params",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="a build parameter, where a table takes them",
    )


def run(args, console):
    from ..measure.catalogue import find, topics
    from ..measure.choice import Choice

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
    tables, missed = {}, False
    for name, measure in found.items():
        tables[name] = rows = []
        console.out(f"{name}: {measure.help}\n")
        for row in measure.rows(chosen[name]):
            if not rows or list(rows[-1]) != list(_object(row)):
                console.out(
                    _line("what", "measured", "unit", "bound", *row.more)
                    + "\n"
                    + "|---" * (4 + len(row.more))
                    + "|"
                )
            rows.append(_object(row))
            missed |= row.missed
            console.out(
                _line(
                    row.what,
                    f"**{_text(row.value)}: missed**" if row.missed else _text(row.value),
                    row.unit,
                    _text(row.bound),
                    *map(_text, row.more.values()),
                )
            )
        console.out()
    console.result({"tables": tables, "missed": missed})
    return Exit.NO if missed else Exit.OK


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
