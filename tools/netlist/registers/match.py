# SPDX-License-Identifier: BSD-2-Clause
"""Matches bits of the gateware's registers with nets of a netlist by name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ....boards.virtual.registers import Register
    from ..netlist import Netlist

__all__ = ["Matched", "match"]

#: Number that Amaranth gives a submodule whose name a signal beside it has. It counts the names of
#: that module, and a virtual board has others.
_NUMBERED = re.compile(r"\$\d+(?=\.)")


@dataclass(frozen=True)
class Matched:
    """Registers of a virtual board that also exist in a netlist, bit by bit.

    Attributes
    ----------
    names : list of str
    numbers, bits : uint32 [matched], number of the register in the virtual board's library,
        and of the bit in it
    nets : uint32 [matched], of the netlist
    weights : uint64 [matched], of sums of what is 1
    unnamed : list of str, bits of the gateware's registers without a name in the netlist
    """

    names: list[str]
    numbers: np.ndarray
    bits: np.ndarray
    nets: np.ndarray
    weights: np.ndarray
    unnamed: list[str]

    def __len__(self):
        return len(self.names)


def match(registers: Sequence[Register], netlist: Netlist) -> Matched:
    """Matches the registers of a virtual board with a netlist.

    Parameters
    ----------
    registers : list of :class:`~quintet.boards.virtual.registers.Register`
    netlist : Netlist

    Returns
    -------
    Matched
    """
    found, rows, unnamed = [], [], []
    known, widths = _unnumbered(netlist)
    for register in registers:
        for bit, aliases in enumerate(register.aliases):
            name = (
                register.name
                if register.width == 1 and not register.low
                else f"{register.name}[{register.low + bit}]"
            )
            # A signal of another width is another one: on an iCE40 registers of addresses are as
            # wide as its memory asks. And one that has several nets by its names is not known for
            # sure.
            nets = set[int]().union(
                *(
                    known.get((alias, index), ())
                    for alias, index, width in _plain(aliases)
                    if widths.get(alias, width) == width
                )
            )
            if len(nets) == 1:
                found.append(name)
                rows.append((register.number, bit, nets.pop()))
            else:
                unnamed.append(name)
    numbers, bits, nets = np.array(rows, np.uint32).reshape(-1, 3).T.copy()
    weights = np.random.default_rng(1).integers(1, 1 << 64, len(rows), np.uint64)
    return Matched(found, numbers, bits, nets, weights, unnamed)


def _plain(aliases):
    return ((_NUMBERED.sub("$", alias), index, width) for alias, index, width in aliases)


def _unnumbered(netlist: Netlist) -> tuple[Mapping[tuple[str, int], set[int]], Mapping[str, int]]:
    """Nets and widths of a netlist's names, by the names without submodule numbers. A name with
    several widths is ambiguous: width -1."""
    known: dict[tuple[str, int], set[int]] = {}
    for (name, index), net in netlist.names.items():
        known.setdefault((_NUMBERED.sub("$", name), index), set()).add(net)
    widths: dict[str, int] = {}
    for name, width in netlist.widths.items():
        plain = _NUMBERED.sub("$", name)
        widths[plain] = width if widths.get(plain, width) == width else -1
    return known, widths
