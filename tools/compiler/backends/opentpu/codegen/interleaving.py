# SPDX-License-Identifier: BSD-2-Clause
"""Emission of interleaved maps: phases side by side in the accumulators, read in turns by ACT.P."""

from __future__ import annotations

from ..form import INT8
from ..schedule import slot_rows

__all__ = ["Interleaving"]

#: CFG pool's window of one accumulator row, and CFG poolrow's step of one row from line to line.
_ONE_ROW, _NEXT_ROW = 0x11, 1 << 16
#: Greatest distance of two accumulator rows that CFG pool's STEP holds.
_MOST_STEP = 255


class Interleaving:
    """Mixin of :class:`~.emit.Emitter` for :class:`~..form.InterleaveStep`."""

    def _interleave_step(self, number, step):
        plan = self.plan
        target = plan.planes[step.target]
        zeroed = step.target in plan.zeroed
        # Zeros for gaps lie behind the slots of chunks.
        zeros = self.params["acc_rows"] - max(target.gap, target.lead)
        slots = max(1, zeros // slot_rows(self.params))
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
                    self._interleave_line(step, views, block, line, here, slots)
                    if zeroed:
                        if line == chunk.first:
                            self._zero(zeros, max(target.gap, target.lead))
                        self._zeros(zeros, here + target.across, target.gap)
                self._zeros(zeros, ub - front, front)
                self._store(step, ub - front, vector - front, front + chunk.rows)

    def _interleave_line(self, step, views, block, line, ub, slots):
        """Emits one line of a block of the result to rows ``ub`` of the unified buffer."""
        down, across = step.factors
        row, phase = divmod(line, down)
        places = self.plan.planes[step.target].across // across
        most = min(places, _MOST_STEP, slot_rows(self.params) // across)
        for at in range(0, places, most):
            count = min(most, places - at)
            self._slot = (self._slot + 1) % slots
            acc = self._slot * slot_rows(self.params)
            for column, terms in enumerate(step.terms[phase]):
                for index, term in enumerate(terms[block]):
                    source = views[term.source](term.block, row, at)
                    tile = self.tiles.number(term.tile)
                    if self.params["ext_pool"]:
                        self._mmc(source, acc + column * count, count, tile, index == 0)
                        continue
                    for place in reversed(range(count)):
                        to = acc + place * across + column
                        self._mmc(source + place, to, 1, tile, index == 0)
            self._cfg("norm", INT8)
            if self.params["ext_pool"]:
                self._cfg("pool", _ONE_ROW | across << 8 | count << 16)
                self._cfg("poolrow", _NEXT_ROW)
            self.program.act(acc, ub + at * across, count * across, pool=self.params["ext_pool"])
