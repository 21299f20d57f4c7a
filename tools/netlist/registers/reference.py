# SPDX-License-Identifier: BSD-2-Clause
"""Reference run of the virtual board with its registers, and the comparison of a netlist with
it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ....boards.virtual.registers import read_registers
from ..conversation import Outcome, converse, patience
from ..netlist import HIGH, LOW
from . import record
from .match import Matched, match

if TYPE_CHECKING:
    from ....boards.virtual.board import BoardSimulation
    from ..check import Subject
    from ..netlist import Netlist
    from ..simulation import NetlistSimulation

__all__ = ["Difference", "Reference", "follow", "make_reference", "words"]

#: Cycles from power-up, within the reset. Only the first level of each register is compared
#: there: an iCE40's I/O cells and double-rate ones start at 0 whatever the gateware says, a memory
#: chip answers to that, and what a table's output holds at first, which is not defined, runs
#: through pipelines that have no reset. Where there is a second clock they count from the reset on:
#: before the PLL is locked it is not in step with the main one.
_FIRST = 64


@dataclass(frozen=True)
class Reference:
    """Reference conversation of the virtual board, with the checksums of its registers in every
    cycle.

    Attributes
    ----------
    outcome : Outcome of the virtual board
    limit : int, cycles after which a netlist counts as stuck
    matched : Matched
    levels : bool [matched], what registers hold at power-up
    sums : Sums, of registers, by cycle
    """

    outcome: Outcome
    limit: int
    matched: Matched
    levels: np.ndarray
    sums: record.Sums

    @property
    def count(self) -> dict[str, int]:
        """Number of register bits of the gateware that are compared, and that are not."""
        return {"compared": len(self.matched), "without a name": len(self.matched.unnamed)}


@dataclass(frozen=True)
class Difference:
    """Registers of a netlist that differ from the virtual board's: ``levels`` bool [matched] after
    ``cycle``; 0: at power-up."""

    cycle: int
    levels: np.ndarray


def make_reference(
    subject: Subject, every: bool = False, progress: Callable[[str], object] | None = None
) -> Reference:
    """Runs the conversation with the virtual board of a
    :class:`~quintet.tools.netlist.check.Subject`; ``every``: with all units of the core."""
    matched: Matched | None = None
    levels: np.ndarray | None = None

    def before(simulation: BoardSimulation) -> None:
        nonlocal matched, levels
        assert simulation.library.registers is not None
        registers = read_registers(simulation.library.registers)
        matched = match(registers, subject.netlist)
        record.watch_virtual(simulation, matched, len(registers))
        record.keep(simulation)
        levels = record.levels(simulation, matched)

    with subject.virtual(progress, before) as board:
        outcome = converse(board, f"sim:{subject.board.name}", every)
        begin = _FIRST if board.soc.domain is None else board.reset_cycles + _FIRST
        assert matched is not None and levels is not None  # by `before`, which the board calls
        return Reference(
            outcome, patience(board.cycle), matched, levels, record.sums(board.simulation, begin)
        )


def follow(
    subject: Subject,
    reference: Reference,
    every: bool = False,
    netlist: Netlist | None = None,
    prepare: Callable[[NetlistSimulation], object] = lambda simulation: None,
    look: Callable[[NetlistSimulation], object] = lambda simulation: None,
) -> tuple[Outcome, Difference | None]:
    """Runs the same conversation with the netlist, or another one; state that the chip does not
    define is initialised as on a virtual board.

    ``prepare(simulation)`` is called before it runs, ``look(simulation)`` afterwards. It ends where
    a register is another one.

    Returns
    -------
    Outcome
    Difference, or ``None`` where registers are always equal
    """
    matched = reference.matched
    with subject.placed(
        netlist,
        seed=None,
        limit=reference.limit,
        before=lambda simulation: record.watch_netlist(simulation, matched),
    ) as board:
        prepare(board.simulation)
        levels = np.where(
            _free(subject, matched), reference.levels, record.levels(board.simulation, matched)
        )
        if (levels != reference.levels).any():
            return Outcome((), 0, "registers start otherwise"), Difference(0, levels)
        record.expect(board.simulation, reference.sums)
        outcome = converse(board, subject.name, every, reference.outcome.heard)
        look(board.simulation)
        cycle = record.differ(board.simulation)
        return outcome, None if cycle is None else Difference(
            cycle, record.copied(board.simulation, matched)[0]
        )


def _free(subject, matched):
    """Register bits, bool [matched], that may have another initial level. These are bits that
    synthesis made constant, since a table output that is constant over all words has no initial
    value, and I/O cells that always start at 0: an iCE40's, and double-rate ones."""
    pads = [subject.board.family == "ice40" and name.startswith("pads__") for name in matched.names]
    halves = subject.netlist.second_halves
    return np.isin(matched.nets, (LOW, HIGH, *halves, *halves.values())) | np.array(pads, bool)


def words(
    subject: Subject, reference: Reference, differences: Sequence[Difference], every: bool = False
) -> Iterator[str]:
    """Describes each of ``differences`` by the first register's name and the number of registers;
    needs one more run of the virtual board."""
    cycles = sorted({one.cycle for one in differences} - {0})
    found = {0: reference.levels}
    if cycles:

        def before(simulation):
            record.watch_virtual(
                simulation, reference.matched, len(read_registers(simulation.library.registers))
            )
            record.copy(simulation, cycles)

        with subject.virtual(before=before) as board:
            converse(board, f"sim:{subject.board.name}", every, until=cycles[-1])
            found |= dict(
                zip(cycles, record.copied(board.simulation, reference.matched), strict=True)
            )
    for one in differences:
        places = np.flatnonzero(one.levels != found[one.cycle])
        first = places[0]
        yield (
            (
                f"register {reference.matched.names[first]} is {int(one.levels[first])} in the "
                f"netlist and {int(found[one.cycle][first])} in the simulation, "
            )
            + (f"cycle {one.cycle:,}" if one.cycle else "at power-up")
            + (f"; {len(places) - 1:,} more differ" if len(places) > 1 else "")
        )
