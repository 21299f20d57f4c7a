# SPDX-License-Identifier: BSD-2-Clause
"""Options that several commands share."""

from .errors import InputError

__all__ = ["add_sizes", "add_trace", "open_named_room", "sizes"]


def add_sizes(parser):
    parser.add_argument(
        "--preset", metavar="NAME", help="sizes of this preset (quintet cores lists them)"
    )
    parser.add_argument(
        "-P",
        dest="params",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="a build parameter; may be given several times",
    )


def sizes(args):
    """Parameters given with ``-P``, as a dict of text."""
    given = {}
    for text in args.params:
        name, sign, value = text.partition("=")
        if not sign or not name:
            raise InputError(f"-P {text}: expected name=value")
        if name in given:
            raise InputError(f"-P {text}: {name} is given twice")
        given[name] = value
    return given


def open_named_room(name):
    from ..gateware.cores import open_room

    return open_room(name)


def add_trace(parser):
    """Options of commands that write a timeline."""
    parser.add_argument(
        "--trace",
        metavar="FILE.json",
        help=(
            "of a virtual board: a timeline of the core's units and instructions, which "
            "Perfetto opens"
        ),
    )
    for name, text in (
        ("from", "begin the timeline at this cycle of the first run"),
        ("to", "end the timeline before this cycle"),
    ):
        parser.add_argument(f"--trace-{name}", metavar="CYCLE", help=text)
