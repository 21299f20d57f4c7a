# SPDX-License-Identifier: BSD-2-Clause
"""Port comment of generated Verilog: every port, and the bit ranges of the fields in packed
ports."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ...gateware.shell.domains import DomainRequest

__all__ = ["port_comment"]


def port_comment(
    component: Any, name: str, about: Iterable[str] = (), domain: DomainRequest | None = None
) -> str:
    """A Verilog comment that lists the ports of ``component``, with the bits of each field of a
    packed payload.

    Parameters
    ----------
    component : wiring.Component
    name : str, of the module
    about : iterable of str, lines in front (what it is, its parameters)
    domain : DomainRequest or None, a second clock that the design around drives
    """
    from amaranth.hdl import Shape
    from amaranth.lib import data, wiring

    rows = [("input", 1, "clk", "rising edge"), ("input", 1, "rst", "synchronous, high")]
    if domain is not None:
        ratio = domain.ratio
        rows += [
            (
                "input",
                1,
                f"{domain.name}_clk",
                f"rising edge; best at {ratio} times the frequency of clk, correct at any, in "
                f"any phase",
            ),
            (
                "input",
                1,
                f"{domain.name}_rst",
                f"synchronous to {domain.name}_clk, high, for at least 3 cycles of both clocks "
                f"while rst is high",
            ),
        ]
    for path, member, value in component.signature.flatten(component):
        shape = value.shape()
        width = shape.size if isinstance(shape, data.Layout) else Shape.cast(shape).width
        fields = ""
        if isinstance(shape, data.Layout):
            parts = [
                (field.offset, Shape.cast(field.shape).width, str(key)) for key, field in shape
            ]
            fields = ", ".join(
                f"[{at + size - 1}:{at}] {key}" if size > 1 else f"[{at}] {key}"
                for at, size, key in parts
                if size
            )
        rows.append(
            (
                "input" if member.flow == wiring.In else "output",
                width,
                "__".join(map(str, path)),
                fields,
            )
        )
    wide = max(len(row[2]) for row in rows)
    lines = [
        name,
        *(f"  {line}" for line in about),
        "",
        "Ports (streams: a beat passes in a cycle with valid and ready both high):",
    ]
    lines += [
        f"  {way:6} {width:4}  {port:{wide}}  {fields}".rstrip()
        for way, width, port, fields in rows
    ]
    return "".join(f"// {line}".rstrip() + "\n" for line in lines)
