# SPDX-License-Identifier: BSD-2-Clause
"""Fault injection: single faults in a netlist, to measure how many of them a check detects."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from .netlist import RESET_TO_1, STARTS_AT_1, Netlist

if TYPE_CHECKING:
    from .simulation import NetlistSimulation

__all__ = ["KINDS", "Fault", "draw_faults"]

#: Kinds of faults and how many of a hundred are of each.
KINDS = {"table bit": 50, "carry": 20, "memory half": 15, "initial value": 15}
#: Pins of a memory that choose one of its halves when it is read (places in HardCell.pins), by its
#: kind.
_HALVES = {"DP16KD": (58 + 21,), "SB_RAM40_4K": (6 + 7,), "SB_SPRAM256KA": ()}
#: Data pins of a single-port RAM.
_SPRAM_OUT = 40


@dataclass(frozen=True)
class Fault:
    """A fault: ``kind`` of :data:`KINDS`, name of the ``cell``, and ``what``, its description;
    ``table``, ``bits``: a look-up table and the inputs for which it is wrong; ``place``: index of a
    flip-flop or hard cell."""

    kind: str
    cell: str
    what: str
    table: int = -1
    bits: int = 0
    place: int = -1

    def applied(self, netlist: Netlist) -> Netlist:
        """A copy of ``netlist`` with this fault."""
        faulty = netlist.copy()
        if self.table >= 0:
            name, row, table = faulty.luts[self.table]
            faulty.luts[self.table] = name, row, table ^ self.bits
        elif self.kind == "memory half":
            cell = faulty.cells[self.place]
            faulty.cells[self.place] = replace(cell, pins=tuple(_other_half(faulty, cell)))
        elif self.what.startswith("bit "):
            cell = faulty.cells[self.place]
            faulty.cells[self.place] = replace(
                cell, contents=_flipped(cell.contents, self._word, int(self.what.split()[1]))
            )
        else:
            name, row = faulty.flops[self.place]
            faulty.flops[self.place] = name, (*row[:5], row[5] ^ (STARTS_AT_1 | RESET_TO_1))
        return faulty

    def used(self, simulation: NetlistSimulation) -> bool | None:
        """Whether the fault-free ``simulation`` exercised the fault: the inputs for which a table
        is wrong, or the row of a memory before it was written; ``None`` if unknown."""
        if self.table >= 0:
            return bool(int(simulation.seen()[self.table]) & self.bits)
        if not self.what.startswith("bit "):
            return None
        rows, contents = (
            simulation.rows_read(self.place),
            simulation.netlist.cells[self.place].contents,
        )
        return bool(rows[self._word * len(rows) // len(contents)])

    @property
    def _word(self):
        return int(self.what.rpartition(" ")[2])


def _other_half(netlist, cell):
    """Pin permutation of a memory whose halves are exchanged when it is read."""
    pins = list(cell.pins)
    for pin in _HALVES[cell.kind]:
        pins[pin] = netlist.inverted(pins[pin])
    if cell.kind == "SB_SPRAM256KA":
        # With a single port a write would be exchanged too: the bytes of its words are.
        pins[_SPRAM_OUT:] = pins[_SPRAM_OUT + 8 :] + pins[_SPRAM_OUT : _SPRAM_OUT + 8]
    return pins


def _flipped(contents, word, bit):
    text = contents[word]
    at = len(text) - 1 - bit
    changed = text[:at] + ("0" if text[at] == "1" else "1") + text[at + 1 :]
    return (*contents[:word], changed, *contents[word + 1 :])


def draw_faults(netlist: Netlist, count: int, seed: int) -> list[Fault]:
    """Draws ``count`` random faults of ``netlist``, reproducible by the seed. Kinds without cells
    in the netlist are left out."""
    rng = random.Random(seed)
    makers = {
        "table bit": _table_bit,
        "carry": _carry,
        "memory half": _memory_half,
        "initial value": _initial_value,
    }
    faults: list[Fault] = []
    seen: set[Fault] = set()
    for _ in range(100 * count):
        if len(faults) == count:
            break
        (kind,) = rng.choices(list(KINDS), list(KINDS.values()))
        fault = makers[kind](netlist, rng)
        if fault is not None and fault not in seen:
            seen.add(fault)
            faults.append(fault)
    return faults


def _is_carry(name):
    return name.endswith(".carry")


def _table_bit(netlist, rng):
    place = rng.randrange(len(netlist.luts))
    name, row, _ = netlist.luts[place]
    # The other bits of a table with fewer inputs repeat.
    inputs = [k for k in range(4) if row[k] > 1]
    if not inputs or name == "inverter" or _is_carry(name):
        return None
    chosen = {k: rng.getrandbits(1) for k in inputs}
    bits = sum(
        1 << index
        for index in range(16)
        if all(index >> k & 1 == level for k, level in chosen.items())
    )
    return Fault(
        "table bit",
        name,
        "input " + "".join(str(chosen.get(k, "-")) for k in (3, 2, 1, 0)),
        place,
        bits,
    )


def _carry(netlist, rng):
    places = [
        place
        for place, (name, row, _) in enumerate(netlist.luts)
        if _is_carry(name) and any(net > 1 for net in row[:4])
    ]
    if not places:
        return None
    place = rng.choice(places)
    level = rng.getrandbits(1)
    table = netlist.luts[place][2]
    return Fault(
        "carry", netlist.luts[place][0], f"always {level}", place, table ^ (0xFFFF if level else 0)
    )


def _memory_half(netlist, rng):
    places = [place for place, cell in enumerate(netlist.cells) if cell.kind in _HALVES]
    if not places:
        return None
    place = rng.choice(places)
    return Fault("memory half", netlist.cells[place].name, "halves exchanged", place=place)


def _initial_value(netlist, rng):
    """A wrong initial value: of a flip-flop together with its reset level, or of a bit of a block
    RAM that the bitstream sets."""
    memories = [
        place
        for place, cell in enumerate(netlist.cells)
        if any("1" in word for word in cell.contents)
    ]
    if memories and rng.getrandbits(1):
        place = rng.choice(memories)
        cell = netlist.cells[place]
        word = rng.choice([k for k, text in enumerate(cell.contents) if "1" in text])
        return Fault(
            "initial value", cell.name, f"bit {rng.randrange(16)} of word {word}", place=place
        )
    place = rng.randrange(len(netlist.flops))
    return Fault("initial value", netlist.flops[place][0], "starts at the other level", place=place)
