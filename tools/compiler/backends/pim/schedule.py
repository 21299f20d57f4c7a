# SPDX-License-Identifier: BSD-2-Clause
"""Static schedule of pipeline stages: what every core does next and when rows are passed on, found
by simulating the cores' clocks.

Rows are passed on by ``send`` and ``recv``, for which both cores must be there. All passes have one
order in time, and every core's program keeps to it: so none waits for another in a circle.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .rings import reads

if TYPE_CHECKING:
    from .stages import Stages

__all__ = ["Plan", "Play", "Step", "plan_stages"]

#: Bytes of a pass in a cycle beside multiplications; cycles that it takes besides, that a row of
#: results takes to stand behind its last multiplication, and a load from main memory beside its
#: bytes.
_CROSSED, _MEET, _SETTLE, _LATENCY = 6, 24, 24, 60
#: Cycles before the end of a multiplication that the next one is taken, and those that it takes to
#: begin.
_AHEAD, _START = 14, 12
_FAR = 1 << 60
#: Share of its cycles below which a plan has to come for the memory of another row.
_GAIN = 0.997


@dataclass(frozen=True)
class Step:
    """One action of a core: ``kind`` is ``load``, ``part`` (the next of a row), ``store``, ``send``
    or ``recv``; ``peer``: the other core of the last two."""

    kind: str
    tensor: str
    row: int
    peer: int = -1


@dataclass
class Plan:
    """A schedule: ``steps`` of every core, core -> list of Step; ``slots``: rows of every ring,
    (core, tensor) -> number; ``cycles``: estimate."""

    steps: dict[int, list[Step]]
    slots: dict[tuple[int, str], int]
    cycles: float


@dataclass
class _Core:
    """A core's clocks: ``issue``, when its next instruction may begin; ``matrix``, ``vector``: when
    the unit ends what it has."""

    issue: int = 0
    matrix: int = 0
    vector: int = 0
    row: tuple | None = None  # (node, row, number of the next part)
    steps: list = field(default_factory=list)


class Play:
    """One simulation with line buffers of given sizes, abandoned as soon as it must take ``limit``
    cycles.

    ``stuck``: rings that were full when nothing went on; ``full``: those that were at any time when
    a row was to come; ``late``: whether it was given up.
    """

    def __init__(
        self, stages: Stages, slots: Mapping[tuple[int, str], int], limit: float = float("inf")
    ):
        self.stages, self.slots, self.limit = stages, slots, limit
        self.late = False
        # Cycles that each core's units have still to do.
        self.owed = {core: list(stages.loads_of_units(core)) for core in stages.cores}
        self.cores = {core: self._core(core) for core in stages.cores}
        self.ready: dict[tuple[int, str, int], float] = {}  # (core, tensor, row) -> when it stands
        self.left = {key: Counter(rows) for key, rows in stages.uses.items()}
        self.at_slot = {key: list(ranks) for key, ranks in stages.ranks.items()}
        self.on = {
            core: [(node, stages.made(node, core)) for node in stages.on(core)]
            for core in stages.cores
        }
        self.next_row = {
            (node.name, core): 0 for core, nodes in self.on.items() for node, _ in nodes
        }
        self.next_load, self.next_pass = (
            dict.fromkeys(stages.loads, 0),
            dict.fromkeys(stages.ways, 0),
        )
        self.order = {node.name: n for n, node in enumerate(stages.nodes)}
        self.sources = {
            (node.name, y): reads(stages.graph, node, y)
            for node in stages.nodes
            for y in stages.rows.get(node.output, ())
        }
        self.stuck: set[tuple[int, str]] = set()
        self.full: set[tuple[int, str]] = set()

    def _core(self, number):
        return _Core()

    def run(self) -> float | None:
        """Cycles until all is done, or ``None``; an abandoned run is marked ``late``."""
        best: dict[int, tuple[Any, ...] | None] = dict.fromkeys(self.cores)
        dirty = set(self.cores)
        while True:
            for core in dirty:
                best[core] = self._best(core)
            dirty = set()
            possible = {c: move for c, move in best.items() if move is not None}
            core = min(possible, key=lambda c: possible[c][0], default=None)
            found = self._pass(best, _FAR if core is None else possible[core][0])
            if found is not None:
                at, _, way = found
                self._meet(way, at)
                dirty = {way[1], way[2]}
            elif core is not None:
                self._work(core, *possible[core])
                if self.late:
                    return None
                dirty = {core}
            else:
                break
        if any(
            self.next_row[node.name, core] < len(rows)
            for core, nodes in self.on.items()
            for node, rows in nodes
        ):
            self._find_stuck()
            return None
        return round(max(max(c.issue, c.matrix, c.vector) for c in self.cores.values()))

    def _room(self, core, name, row):
        """Whether the ring has a place for a row: what lies there has been read by all."""
        before = self.stages.ranks[core, name][row] - self.slots[core, name]
        if before < 0 or not self.left[core, name][self.at_slot[core, name][before]]:
            return True
        self.full.add((core, name))
        return False

    def _best(self, number):
        """(when, order, what) of the first thing that a core can do by itself, or ``None``."""
        core, found = self.cores[number], None
        for (name, home), at in self.next_load.items():
            rows = self.stages.loads[name, home]
            if home == number and at < len(rows) and self._room(number, name, rows[at]):
                return core.issue, 0, ("load", name, home)
        for node, rows in self.on[number]:
            if core.row is not None and core.row[0] is node:
                when = core.issue
                part = self.stages.parts(node)[core.row[2]]
                if not part.matrix and core.row[2]:  # a clip of a row just multiplied
                    when = max(when, core.matrix + _SETTLE)
                if found is None or (when, -self.order[node.name]) < found[:2]:
                    found = when, -self.order[node.name], ("part", node)
                continue
            at = self.next_row[node.name, number]
            if at == len(rows) or core.row is not None and self.stages.parts(node)[0].matrix:
                continue
            stands = [
                self.ready.get((number, *source)) for source in self.sources[node.name, rows[at]]
            ]
            if None in stands or not self._room(number, node.output, rows[at]):
                continue
            when = max([core.issue, *stands])
            if found is None or (when, -self.order[node.name]) < found[:2]:
                found = when, -self.order[node.name], ("part", node)
        return found

    def _pass(self, best, limit):
        """The first pass that may come before what its cores could do by themselves, and when;
        ``limit``: when the first core could. ``None``: none."""
        found = []
        for way, at in self.next_pass.items():
            name, source, target = way
            rows = self.stages.ways[way]
            if at == len(rows):
                continue
            stands = self.ready.get((source, name, rows[at]))
            if stands is not None and self._room(target, name, rows[at]):
                begin = max(stands, self.cores[source].issue, self.cores[target].issue)
                if begin <= limit or self._free(way, begin, best):
                    found.append((begin, -self.order[self.stages.makers[name].name], way))
        return min(found, default=None)

    def _free(self, way, at, best):
        """Whether a pass is to come before what its cores could do first: neither's units would run
        dry meanwhile, or one has nothing to do."""
        ends = at + self._bytes(way) // _CROSSED + _MEET
        idle = [c for c in way[1:] if best[c] is None or best[c][0] >= at]
        slack = [c for c in way[1:] if self.cores[c].matrix >= ends or c in idle]
        return (
            len(slack) == 2
            or len(idle) > 0
            and all(self.cores[c].issue + _MEET >= at for c in way[1:] if c not in idle)
        )

    def _bytes(self, way):
        return self.stages.rings[way[2]].row_bytes(way[0])

    def _meet(self, way, at):
        name, source, target = way
        row = self.stages.ways[way][self.next_pass[way]]
        self.next_pass[way] += 1
        steps = Step("send", name, row, target), Step("recv", name, row, source)
        for core, step in zip((source, target), steps, strict=True):
            self.cores[core].steps.append(step)
        self.left[source, name][row] -= 1
        self.ready[target, name, row] = self._passed(way, at, steps)

    def _passed(self, way, at, steps):
        """When a pass that begins at ``at`` is over; ``steps``: the sender's and the receiver's."""
        ends = at + self._bytes(way) // _CROSSED + _MEET
        self.cores[way[1]].issue = self.cores[way[2]].issue = ends
        return ends

    def _work(self, number, when, _, what):
        core, stages = self.cores[number], self.stages
        if what[0] == "load":
            _, name, home = what
            row = stages.loads[name, home][self.next_load[name, home]]
            self.next_load[name, home] += 1
            core.steps.append(Step("load", name, row))
            self.ready[number, name, row] = self._loaded(core, stages.rings[number].row_bytes(name))
            return
        node = what[1]
        if core.row is not None and core.row[0] is node:
            _, row, at = core.row
        else:
            row, at = stages.made(node, number)[self.next_row[node.name, number]], 0
        parts = stages.parts(node)
        core.steps.append(Step("part", node.output, row))
        ends = self._do(core, parts[at], when)
        if self.limit < _FAR:
            unit = 0 if parts[at].matrix else 1
            self.owed[number][unit] -= parts[at].cycles
            busy = core.matrix if parts[at].matrix else core.vector
            self.late = busy + self.owed[number][unit] >= self.limit
        if at + 1 < len(parts):
            core.row = node, row, at + 1
            return
        if core.row is not None and core.row[0] is node:
            core.row = None
        self.next_row[node.name, number] += 1
        for name, r in self.sources[node.name, row]:
            self.left[number, name][r] -= 1
        self.ready[number, node.output, row] = ends + _SETTLE
        if node.output == stages.last:
            core.steps.append(Step("store", node.output, row))
            self._stored(core)
            self.left[number, node.output][row] -= 1

    def _loaded(self, core, size):
        core.issue += 6
        return core.issue + _LATENCY + size // 2

    def _stored(self, core):
        core.issue += 6

    def _do(self, core, part, when):
        """A part on a core's clocks; returns when its unit ends."""
        if not part.matrix:
            begin = max(when, core.vector)
            core.vector = begin + part.cycles
            core.issue = max(begin + part.issue, core.vector - part.cycles // 2)
            return core.vector
        begin = when
        # Two places for neighbourhoods: what was put together before the last was read when that
        # began.
        begin = max(begin + part.issue, core.matrix - _AHEAD)
        core.matrix = max(core.matrix, begin + _START) + part.cycles
        core.issue = begin
        return core.matrix

    def _find_stuck(self):
        """Rings without a place for what could come next."""

        def look(core, name, rows, at):
            if at < len(rows) and not self._room(core, name, rows[at]):
                self.stuck.add((core, name))

        for (name, core), at in self.next_load.items():
            look(core, name, self.stages.loads[name, core], at)
        for way, at in self.next_pass.items():
            name, source, target = way
            rows = self.stages.ways[way]
            if at < len(rows) and (source, name, rows[at]) in self.ready:
                look(target, name, rows, at)
        for core, nodes in self.on.items():
            for node, rows in nodes:
                look(core, node.output, rows, self.next_row[node.name, core])


def plan_stages(stages: Stages, room: Mapping[int, int], *, spare: bool = True) -> Plan | None:
    """The :class:`Plan` of :class:`~.stages.Stages`, or ``None`` if local memories, with ``room``
    bytes free each, cannot hold the line buffers.

    ``spare``: rings get more rows than they need where that saves cycles.
    """
    slots = stages.least()
    while True:
        if not stages.fits(slots, room):
            return None
        play = Play(stages, slots)
        cycles = play.run()
        if cycles is not None:
            break
        if not play.stuck:
            return None
        slots = {key: n + (key in play.stuck) for key, n in slots.items()}
    # Rows to spare let a core go on while its neighbour is busy.
    for key in sorted(slots) if spare else ():
        more = {**slots, key: slots[key] + 1}
        # A ring that was never full changes nothing by being larger.
        if key in play.full and slots[key] < len(stages.ranks[key]) and stages.fits(more, room):
            tried = Play(stages, more, _GAIN * cycles)
            found = tried.run()
            if found is not None and found < _GAIN * cycles:
                slots, cycles, play = more, found, tried
    return Plan({number: core.steps for number, core in play.cores.items()}, slots, cycles)
