# SPDX-License-Identifier: BSD-2-Clause
"""Emission of interleaved maps: phases side by side in the accumulators, read in turns by ACT.P."""

from __future__ import annotations

from ..chunks import MOST_STEP, idle_rows, slot_rows
from ..form import INT8

__all__ = ["Interleaving"]

#: CFG pool's window of one accumulator row, and CFG poolrow's step of one row from line to line.
_ONE_ROW, _NEXT_ROW = 0x11, 1 << 16


class Interleaving:
    """Mixin of :class:`~.emit.Emitter` for :class:`~..form.InterleaveStep`."""

    def _interleave_step(self, number, step):
        plan = self.plan
        target = plan.planes[step.target]
        zeroed = step.target in plan.zeroed
        # Zeros for gaps lie behind the slots of chunks.
        idle = idle_rows(target, self.params)
        zeros = self.params["acc_rows"] - idle
        for part, chunk in enumerate(plan.parts[number]):
            self._fetch(number, step, part)
            self._ask(1)
            views = [self._view(number, step, part, name) for name in step.sources]
            for block in range(target.blocks):
                front = self._front(step, chunk, block)
                vector = target.vector(block, chunk.first, 0)
                ub = self._out_rows(number, step, vector - front) + front
                for line in range(chunk.first, chunk.end):
                    here = ub + (line - chunk.first) * target.pitch
                    self._interleave_line(step, views, block, line, here)
                    if zeroed:
                        if line == chunk.first:
                            self._zero(zeros, idle)
                        self._zeros(zeros, here + target.across, target.gap)
                self._zeros(zeros, ub - front, front)
                self._store(step, ub - front, vector - front, front + chunk.rows)

    def _interleave_line(self, step, views, block, line, ub):
        """Emits one line of a block of the result to rows ``ub`` of the unified buffer."""
        down, across = step.factors
        row, phase = divmod(line, down)
        places = self.plan.planes[step.target].across // across
        most = min(places, MOST_STEP, slot_rows(self.params) // across)
        for at in range(0, places, most):
            count = min(most, places - at)
            acc = self._next_acc(step)
            for column, terms in enumerate(step.terms[phase]):
                for index, term in enumerate(terms[block]):
                    source = views[term.source](term.block, row, at)
                    self._phase(term, source, acc, column, count, across, index == 0)
            self._in_turns(acc, ub + at * across, count, across)

    def _next_acc(self, step):
        """First accumulator row of the next slot, in front of the zeros for gaps."""
        free = self.params["acc_rows"] - idle_rows(self.plan.planes[step.target], self.params)
        self._slot = (self._slot + 1) % max(1, free // slot_rows(self.params))
        return self._slot * slot_rows(self.params)

    def _phase(self, term, source, acc, column, count, across, overwrite):
        """Emits the products of ``count`` positions of a phase, from row ``source`` on."""
        tile = self.tiles.number(term.tile)
        if self.params["ext_pool"]:
            self._mmc(source, acc + column * count, count, tile, overwrite)
            return
        for place in reversed(range(count)):
            self._mmc(source + place, acc + place * across + column, 1, tile, overwrite)

    def _in_turns(self, acc, ub, count, across):
        """Emits the results of ``count`` positions of all phases of a line."""
        self._cfg("norm", INT8)
        if self.params["ext_pool"]:
            self._cfg("pool", _ONE_ROW | across << 8 | count << 16)
            self._cfg("poolrow", _NEXT_ROW)
        self.program.act(acc, ub, count * across, pool=self.params["ext_pool"])

    # In portions

    def _begin_phases(self, number, step, group):
        self._phases_at = self._next_acc(step)

    def _read_phases(self, number, step, group, reads):
        """Emits the products of positions of a line's phases."""
        (down, across), (block,) = step.factors, group.blocks
        for read, row in reads:
            column, index = read.what
            term = step.terms[group.chunk.first % down][column][block][index]
            count = read.end - read.begin
            self._phase(term, row, self._phases_at, column, count, across, index == 0)
            self._ask_next()

    def _end_phases(self, number, step, group):
        """Emits the results of a block of a chunk, and the zeros around them."""
        target, chunk, (block,) = self.plan.planes[step.target], group.chunk, group.blocks
        across, real = step.factors[1], max(0, chunk.real(target))
        front = self._front(step, chunk, block)
        vector = target.vector(block, chunk.first, chunk.begin) - front
        ub = self._out_rows(number, step, vector)
        if real:
            self._in_turns(self._phases_at, ub + front, real // across, across)
        if step.target in self.plan.zeroed:
            idle = idle_rows(target, self.params)
            zeros = self.params["acc_rows"] - idle
            self._zero(zeros, idle)
            self._zeros(zeros, ub, front)
            self._zeros(zeros, ub + front + real, chunk.width - real)
        self._store(step, ub, vector, front + chunk.rows)
