# SPDX-License-Identifier: BSD-2-Clause
"""Options that several commands share."""
from .errors import InputError

__all__ = ["add_sizes", "open_named_room", "sizes"]


def add_sizes(parser):
    parser.add_argument("--preset", metavar="NAME", help="sizes of this preset (quintet cores lists them)")
    parser.add_argument("-P", dest="params", metavar="NAME=VALUE", action="append", default=[],
                        help="a build parameter; may be given several times")


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
