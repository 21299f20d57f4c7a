# SPDX-License-Identifier: BSD-2-Clause
"""Deadlock detector (specification, section 6, fault DEADLOCK)."""

from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ....arguments import check_integer

__all__ = ["PATIENCE", "DeadlockDetector"]

#: Cycles for which nothing may be able to move: more than a rendezvous, or the check of a wait,
#: ever takes.
PATIENCE = 24


class DeadlockDetector(wiring.Component):
    """Deadlock detector: every unfinished core is blocked, and none of them can proceed.

    A core that is blocked asks for nothing but its rendezvous or its wait. Two that can meet do so
    in the cycle after both are there (``moving``), and a wait that holds is granted within 5 cycles
    when nobody syncs. So a state without ``moving`` in which all are blocked for :data:`PATIENCE`
    cycles stays as it is.

    Parameters
    ----------
    cores : int

    Members
    -------
    running : In, level: RUN, no fault, no abort
    finished, blocked : In(cores), levels; moving : In, level (of :class:`~.crossbar.Crossbar`)
    found : Out, level while it is so,
        at most PATIENCE + 1 cycles after the last core became blocked
    """

    def __init__(self, *, cores: int) -> None:
        check_integer("Number of cores", cores, 1, 32)
        super().__init__(
            {
                "running": In(1),
                "finished": In(cores),
                "blocked": In(cores),
                "moving": In(1),
                "found": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        still, cycles = Signal(), Signal(range(PATIENCE + 1))
        m.d.comb += still.eq(
            self.running
            & ~self.moving
            & (self.finished | self.blocked).all()
            & ~self.finished.all()
        )
        with m.If(~still):
            m.d.sync += [cycles.eq(0), self.found.eq(0)]
        with m.Elif(cycles != PATIENCE):
            m.d.sync += [cycles.eq(cycles + 1), self.found.eq(cycles == PATIENCE - 1)]
        return m
