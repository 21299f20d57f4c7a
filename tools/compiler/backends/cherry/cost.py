# SPDX-License-Identifier: BSD-2-Clause
"""Cycle estimate of loop nests on a build: in-order units with chaining on each context's registers
(specification, section 9).

Every instruction of a group is followed through its unit, context by context; a loop of many
iterations is followed for a few, the rest take as long as the last of these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .....gateware.cores.cherry.asm.structure import sources
from .....gateware.cores.cherry.isa import SPECIAL
from .codegen.nests import Body, Loop

if TYPE_CHECKING:
    from .codegen.tilework import Costs

__all__ = ["program_cycles"]

LSU, DOT, ALU, SFU = range(4)
INPUT, WEIGHTS, OUTPUT, ACC = range(4)
_DOT = ("matmul", "mulacc", "add", "sub", "mul", "sum")
#: Operations of a unit that are under way at most; iterations that are followed.
_DEPTH, _FOLLOWED = 4, 3
#: Cycles from a slot's start to where its result can be read, beside the passes of a tile; of a
#: special function's.
_LOAD, _SUM, _COMPARE, _FUNCTION = 7, 14, 9, 20
#: Of an address, from the front end to the load/store unit; between a store and a load, a load and
#: a store.
_ADDRESS, _TURN_LOAD, _TURN_STORE = 9, 3, 2
#: Of a program's begin and its end.
_AROUND = 30


def program_cycles(
    bodies: Sequence[Body],
    params: Mapping[str, Any],
    costs: Costs,
    words: int = 1,
) -> int:
    """Estimated cycles of a program made of these bodies of :class:`~.codegen.nests.Nests`.
    ``words``: of a tile in the tile file, which take a cycle each."""
    timing = _Timing(params, costs, words)
    for body in bodies:
        timing.body(body, ())
    return int(timing.clock() + _AROUND)


class _Timing:
    """State of the estimate: completion times of units and registers."""

    def __init__(self, params, costs, words):
        self.costs, self.contexts, self.words = costs, params["contexts"], words
        self.sfu = 16 // max(1, params["sfu_lanes"])
        self.alu = 16 // params["alu_lanes"] if params["alu_lanes"] < 16 else 1
        self.front = self.addresses = 0.0
        self.free = [0.0] * 4
        self.ends = [[0.0] * _DEPTH for _ in range(4)]
        # Of each register: private copies, and the two places of the uniform one; when written,
        # when read last.
        self.written, self.read = np.zeros((4, self.contexts)), np.zeros((4, self.contexts))
        self.uniform = [[[0.0, 0.0], [0.0, 0.0]] for _ in range(4)]
        self.private = [False] * 4
        self.stored = False

    def clock(self):
        return max(
            self.front,
            *self.free,
            self.written.max(),
            *(w for register in self.uniform for w, _ in register),
        )

    def _shift(self, cycles):
        self.front += cycles
        self.addresses += cycles
        self.free = [t + cycles for t in self.free]
        self.ends = [[t + cycles for t in ends] for ends in self.ends]
        self.written += cycles
        self.read += cycles
        self.uniform = [
            [[w + cycles, r + cycles] for w, r in register] for register in self.uniform
        ]

    def body(self, body, loops, beside=None):
        """Adds a body; ``loops``: enclosing sequential loops; ``beside``: the parallel loop whose
        body it is."""
        for item in body:
            if not isinstance(item, Loop):
                self._instruction(item, loops, beside)
            elif item.independent:
                self.front += 2
                self.body(item.body, (*loops, item), item)
                self.front += 1
            else:
                self.front += 2
                self._ordered(item, loops)

    def _ordered(self, loop, loops):
        before = self.clock()
        for iteration in range(min(loop.count, _FOLLOWED)):
            if iteration == _FOLLOWED - 1:
                before = self.clock()
            self.body(loop.body, (*loops, loop))
            self.front += 5
        if loop.count > _FOLLOWED:
            self._shift((self.clock() - before) * (loop.count - _FOLLOWED))
        self.front -= 4

    def _instruction(self, item, loops, beside):
        name, values, access = item.mnemonic, dict(item.values), item.access
        size = beside.count if beside is not None else 1
        if access is not None:
            register = values["reg"]
            walk = dict(access.walk)
            moves = beside in walk and bool(walk[beside])
            passes = self.costs.access(
                access.stride_y, access.stride_x, values["len_y"], values["len_x"]
            )
            passes = max(passes, self.words)
            read, written = ((register,), None) if name == "store" else ((), register)
            alone = name == "load" and not moves
            self.addresses = max(self.addresses, self.front) + 1 + len(walk)
            self._operation(
                LSU,
                read,
                written,
                1 if alone or beside is None else size,
                passes,
                self.addresses + _ADDRESS,
                _LOAD,
                name == "store",
                uniform=alone or beside is None,
            )
            return
        read, written = sources(name, values)
        alone = beside is None or not any(self.private[r] for r in read)
        size = 1 if alone else size
        if name in SPECIAL:
            self._operation(
                SFU,
                read,
                written,
                size,
                self.sfu,
                self.front + 6,
                _FUNCTION + self.sfu,
                uniform=alone,
            )
        elif name in _DOT:
            passes = 1 if name == "sum" and self.costs.macs >= 32 else self.costs.dot(1)
            self._operation(
                DOT, read, written, size, passes, self.front + 6, _SUM + passes, uniform=alone
            )
        else:
            self._operation(
                ALU, read, written, size, self.alu, self.front + 6, _COMPARE, uniform=alone
            )

    def _operation(
        self, unit, read, written, size, passes, ready, latency, store=False, *, uniform
    ):
        """Adds an operation of ``size`` slots that take ``passes`` cycles each; results are
        available ``latency`` cycles after a slot's start."""
        # A result is complete with its last word.
        latency += self.words - 1
        self.front = max(self.front + 1, self.ends[unit][0])
        first = max(ready, self.free[unit])
        if unit == LSU and store != self.stored:
            first += _TURN_STORE if store else _TURN_LOAD
            self.stored = store
        start = np.full(size, first)
        for register in read:
            start = np.maximum(
                start,
                self.written[register, :size]
                if self.private[register]
                else self.uniform[register][0][0],
            )
        if written is not None:
            if uniform:
                start = np.maximum(start, self.uniform[written][1][1])
            else:
                start = np.maximum(
                    start,
                    np.maximum(self.read[written, :size], self.written[written, :size] - latency),
                )
        along = passes * np.arange(size)
        start = along + np.maximum.accumulate(start - along)
        end = start[-1] + passes
        self.free[unit] = end
        for register in read:
            if self.private[register]:
                self.read[register, :size] = start
            else:
                self.uniform[register][0][1] = max(self.uniform[register][0][1], start[-1])
        if written is not None:
            if uniform:
                self.uniform[written] = [[start[-1] + latency, start[-1]], self.uniform[written][0]]
                if self.private[written]:
                    self.uniform[written][0][1] = start[-1]
                self.private[written] = False
            else:
                self.written[written, :size] = start + latency
                self.private[written] = True
        self.ends[unit] = [*self.ends[unit][1:], end + (latency if not store else 4)]
