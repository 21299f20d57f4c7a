# SPDX-License-Identifier: BSD-2-Clause
"""What a virtual board does in a conversation, its registers included, and a netlist that is held against it."""
from dataclasses import dataclass

import numpy as np

from ....boards.virtual.registers import read_registers
from ..conversation import Outcome, converse, patience
from . import record
from .match import Matched, match

__all__ = ["Difference", "Reference", "follow", "make_reference", "words"]

#: Cycles behind the reset from which registers are compared: what has no reset and was filled during it has run out by then.
_BEGIN = 64


@dataclass(frozen=True)
class Reference:
    """What :func:`make_reference` finds.

    Attributes
    ----------
    outcome : Outcome of the virtual board
    limit : int, cycles after which a netlist counts as stuck
    matched : Matched, or ``None`` where the netlist has no names
    levels : bool [matched], what registers hold at power-up
    sums : Sums, of registers, by age
    """
    outcome: Outcome
    limit: int
    matched: Matched = None
    levels: np.ndarray = None
    sums: record.Sums = None

    @property
    def count(self):
        """How many bits of the gateware's registers are compared, and how many are not."""
        return {"compared": len(self.matched), "without a name": len(self.matched.unnamed)} if self.matched is not None else {"compared": 0}


@dataclass(frozen=True)
class Difference:
    """Registers of a netlist that are not those of the virtual board: ``levels`` bool [matched], what they are at ``age``; ``None``: at power-up."""
    age: int | None
    levels: np.ndarray


def make_reference(subject, every=False, progress=None):
    """Hold the conversation with the virtual board of a :class:`~quintet.tools.netlist.check.Subject`.

    Its reset lasts as long as the netlist's, so that even what counts without a reset stands at the same place. ``every``: all units of the core.

    Raises
    ------
    SimulationError
        The netlist's reset does not end.
    """
    matched = levels = None

    def before(simulation):
        nonlocal matched, levels
        registers = read_registers(simulation.library.registers)
        matched = match(registers, subject.netlist)
        if matched is None:
            return None
        record.watch_virtual(simulation, matched, len(registers))
        record.keep(simulation)
        levels = record.levels(simulation, matched)
        return subject.reset_cycles
    with subject.virtual(progress, before) as board:
        outcome = converse(board, f"sim:{subject.board.name}", every)
        sums = record.sums(board.simulation, _BEGIN, outcome.age + 1) if matched is not None else None
        return Reference(outcome, patience(board.cycle), matched, levels, sums)


def follow(subject, reference, every=False, netlist=None, prepare=lambda simulation: None, look=lambda simulation: None):
    """Hold the same conversation with the netlist, or another one, in which what the chip does not define is as on a virtual board.

    ``prepare(simulation)`` is called before it runs, ``look(simulation)`` afterwards.

    Returns
    -------
    Outcome
    Difference, or ``None`` where registers are always equal
    """
    matched = reference.matched
    with subject.placed(netlist, seed=None, limit=reference.limit, before=matched and (lambda simulation: record.watch_netlist(simulation, matched))) as board:
        prepare(board.simulation)
        difference = None
        if matched is not None:
            at_first = record.levels(board.simulation, matched)
            if (at_first != reference.levels).any():
                return Outcome((), 0, "registers start otherwise"), Difference(None, at_first)
            record.expect(board.simulation, reference.sums)
        outcome = converse(board, subject.name, every, reference.outcome.heard)
        if matched is not None and (age := record.differ(board.simulation)) is not None:
            difference = Difference(age, record.copied(board.simulation, matched)[0])
        look(board.simulation)
        return outcome, difference


def words(subject, reference, differences, every=False):
    """Each of ``differences`` in words: the first register, by its name, and how many there are; by one more run of the virtual board."""
    ages = sorted({one.age for one in differences} - {None})
    found = {None: reference.levels}
    if ages:
        def before(simulation):
            record.watch_virtual(simulation, reference.matched, len(read_registers(simulation.library.registers)))
            record.copy(simulation, ages)
            return subject.reset_cycles
        with subject.virtual(before=before) as board:
            converse(board, f"sim:{subject.board.name}", every, until=ages[-1])
            found |= dict(zip(ages, record.copied(board.simulation, reference.matched), strict=True))
    for one in differences:
        places = np.flatnonzero(one.levels != found[one.age])
        more = f", and {len(places) - 1:,} more" if len(places) > 1 else ""
        when = "at power-up" if one.age is None else f"in cycle {one.age:,} behind the reset"
        yield (f"register {reference.matched.names[places[0]]} is {int(one.levels[places[0]])} in the netlist and "
               f"{int(found[one.age][places[0]])} in the simulation, {when}{more}")
