# SPDX-License-Identifier: BSD-2-Clause
"""Emission of steps that read their sources in portions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..chunks import front_rows, term_lines
from ..form import InterleaveStep, KernelStep, PoolStep, Step
from ..portions import Group, Portion, divide, groups

__all__ = ["Portioned"]


@dataclass(frozen=True)
class _Part:
    """A portion of a group, in the ``area`` of the unified buffer; ``loads``: whether it is not
    there yet; ``first``, ``last``: whether it is that of its group."""

    group: Group
    portion: Portion
    area: int
    loads: bool
    first: bool
    last: bool


class Portioned:
    """Mixin of :class:`~.emit.Emitter` for steps with an entry in
    :attr:`~..schedule.Plan.portions`."""

    def _portioned(self, number, step):
        """Emits a step: the loads of each portion go under the products of the one before it, if
        there are two areas."""
        two = self.plan.portions[number].areas == 2
        begin, read, end = self._PORTIONED[type(step)]
        parts = self._parts(number, step)
        part = next(parts, None)
        self._request_portion(number, step, part)
        while part is not None:
            self._ask(1)
            following = next(parts, None)
            if two:
                self._request_portion(number, step, following)
            group, reads = part.group, part.portion.reads
            at = self.plan.scratch[number, "portion", part.area]
            if part.first:
                getattr(self, begin)(number, step, group)
            self._left = len(reads)
            if reads:
                getattr(self, read)(number, step, group, [(one, at + row) for one, row in reads])
            if not two:
                self._request_portion(number, step, following)
            if part.last:
                getattr(self, end)(number, step, group)
            part = following
        if isinstance(step, KernelStep):
            # A reader of a tile may request it from here on.
            self._written[step.target] = len(self.program.words) - 1

    def _parts(self, number, step):
        """All portions of a step, in order; one with the vectors of the one before it stays where
        it is."""
        plan = self.plan
        sizes, area, before = plan.portions[number], 0, None
        for chunk in plan.parts[number]:
            for group in groups(step, chunk, plan.planes, self.params, sizes.slot):
                portions = list(divide(group.reads, sizes.size)) or [Portion([], [])]
                for k, portion in enumerate(portions):
                    loads = portion.runs != before
                    area, before = (area + loads) % sizes.areas, portion.runs
                    yield _Part(group, portion, area, loads, k == 0, k == len(portions) - 1)

    def _request_portion(self, number, step, part):
        """Queues the loads of a portion, if there is another one."""
        if part is None or not part.loads:
            return
        row = self.plan.scratch[number, "portion", part.area]
        for source, begin, end in part.portion.runs:
            self._rhm(self.plan.home[step.sources[source]] + begin, row, end - begin)
            row += end - begin

    def _ask_next(self):
        """Emits the loads that are due after one of the portion's reads."""
        self._ask(max(1, self._left))
        self._left -= 1

    # Sums

    def _begin_sums(self, number, step, group):
        """Emits the biases of a group's blocks."""
        target = self.plan.planes[step.target]
        rows = front_rows(target, self._rows) + group.chunk.rows
        half = self.params["acc_rows"] // 2
        self._slot ^= 1
        self._sums_at = {
            block: (self._slot & 1) * half + index * rows + self._front(step, group.chunk, block)
            for index, block in enumerate(group.blocks)
        }
        nothing = [np.zeros((target.n, target.n), np.int8)]
        for block, acc in self._sums_at.items():
            self._bias(self._biases[block] or nothing, acc, group.chunk, target)

    def _read_sums(self, number, step, group, reads):
        """Emits the products of a portion."""
        chunk, planes = group.chunk, self.plan.planes
        real = chunk.real(planes[step.target])
        for read, row in reads:
            block, index = read.what
            term = step.terms[block][index]
            source, away = planes[step.sources[term.source]], row - read.begin
            self._product(
                step,
                term,
                term_lines(step, term, chunk, planes),
                chunk,
                real,
                self._sums_at[block],
                lambda block, line, place, source=source, away=away: (
                    away + source.vector(block, line, place)
                ),
                overwrite=False,
            )
            self._ask_next()

    def _end_sums(self, number, step, group):
        """Emits the results of a group's blocks."""
        for block, acc in self._sums_at.items():
            self._zero_gaps(step, group.chunk, block, acc)
            self._leave(number, step, group.chunk, [block], acc)

    #: Kind of a step -> methods for the begin of a group, for reads of a portion, and for its end.
    _PORTIONED = {
        Step: ("_begin_sums", "_read_sums", "_end_sums"),
        PoolStep: ("_begin_maxima", "_read_maxima", "_end_maxima"),
        InterleaveStep: ("_begin_phases", "_read_phases", "_end_phases"),
        KernelStep: ("_begin_tiles", "_read_tiles", "_end_tiles"),
    }
