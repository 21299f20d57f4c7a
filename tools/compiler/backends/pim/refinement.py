# SPDX-License-Identifier: BSD-2-Clause
"""Scheduler refinement: simulates the generated instructions cycle by cycle and fixes each decision
at the cycle it falls due."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...graph import Conv
from .codegen import CoreBuilder
from .cost import Clock, Memory
from .schedule import Plan, Simulation
from .stages import Stages, StepEmitter

if TYPE_CHECKING:
    from .program import ProgramWriter

__all__ = ["refined"]


class _Scratch:
    """A core whose program is written during its simulation; has the interface of the plain clocks
    of :mod:`.schedule`."""

    def __init__(self, writer, stages, number, slots, memory):
        self.row, self.steps = None, []
        params = writer.params
        core = CoreBuilder(params, number)
        groups = {
            node.name: [
                (m, core.group(*m.group(), m.shift, node.name)) for m in stages.matrices[node.name]
            ]
            for node in stages.on(number)
            if isinstance(node, Conv)
        }
        self.builder = core
        self.emitter = StepEmitter(
            writer, stages, number, core, core.pointer(0), slots, groups, range(params["cores"])
        )
        self.clock = Clock(number, core.words, core.groups, (), params, memory, 0)
        self.clock.advance(None)

    @property
    def issue(self):
        return max(self.clock.now, self.clock.taken + 1)

    @property
    def matrix(self):
        return self.clock.matrix_end

    @property
    def vector(self):
        return max([self.clock.now, *(flying[4] for flying in self.clock.flight)])

    def do(self, last=1):
        """Emits the latest steps and advances the clock over them; returns the event that the clock
        waits for."""
        for step in self.steps[-last:]:
            self.emitter.do(step)
        return self.clock.advance(None)


class _Refinement(Simulation):
    def __init__(self, stages, slots, writer):
        self._writer, self._memory = writer, Memory(writer.timing)
        super().__init__(stages, slots)

    def _core(self, number):
        return _Scratch(self._writer, self.stages, number, self.slots, self._memory)

    def _passed(self, route, steps):
        source, target = (self.cores[number] for number in route.key[1:])
        waits = source.do(), target.do()
        while waits[0] is not None:
            begin = max(source.clock.now, target.clock.now)
            ends = begin + source.clock.transfer_cycles(begin, waits[0][2])
            for one in (source, target):
                one.clock.met(ends)
            waits = source.clock.advance(None), target.clock.advance(None)
        return target.issue

    def _loaded(self, core, size):
        core.do()
        return core.clock.flight[-1][4]

    def _stored(self, core):
        core.do()

    def _do(self, core, part, when):
        core.clock.now = max(core.clock.now, when)
        core.do()
        return max(
            [
                core.clock.now,
                *(
                    flying[4]
                    for flying in core.clock.flight
                    if flying[0] == ("matrix" if part.matrix else "vector")
                ),
            ]
        )


def refined(stages: Stages, plan: Plan, writer: ProgramWriter) -> Plan:
    """Refines a :class:`~.schedule.Plan`: same line buffers, but ordered by the timing of the
    generated instructions; ``writer``: ProgramWriter with placed tensors."""
    simulation = _Refinement(stages, plan.slots, writer)
    cycles = simulation.run()
    return (
        plan
        if cycles is None
        else Plan(
            {number: core.steps for number, core in simulation.cores.items()}, plan.slots, cycles
        )
    )
