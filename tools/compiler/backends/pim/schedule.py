# SPDX-License-Identifier: BSD-2-Clause
"""Static schedule of pipeline stages: the order of each core's actions and of the rows sent between
cores, found by simulating the cores' clocks.

Rows are passed on by ``send`` and ``recv``, for which both cores must be there. All passes have one
order in time, and every core's program keeps to it: so none waits for another in a circle.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

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
    """One action of a core: ``kind`` is ``load``, ``part`` (the next operation of a row),
    ``store``, ``send`` or ``recv``; ``peer``: the other core of a send or recv."""

    kind: str
    tensor: str
    row: int
    peer: int = -1


@dataclass
class Plan:
    """A schedule: ``steps`` of every core (core -> list of Step), ``slots`` (ring size in rows by
    (core, tensor)) and estimated ``cycles``."""

    steps: dict[int, list[Step]]
    slots: dict[tuple[int, str], int]
    cycles: float


@dataclass
class _Core:
    """Clocks of one core: ``issue`` is the earliest cycle of its next instruction; ``matrix`` and
    ``vector`` are the cycles in which the units finish."""

    issue: int = 0
    matrix: int = 0
    vector: int = 0
    row: tuple | None = None  # (_Making, row, number of the next part)
    steps: list = field(default_factory=list)


class _Ring:
    """State of a ring buffer during the simulation. ``slots``: its size in rows. ``ranks``: row ->
    index in order of arrival; ``order``: the rows by that index. ``left``: row -> number of
    outstanding readers. ``key``: (core, tensor)."""

    __slots__ = ("key", "left", "order", "ranks", "slots")

    def __init__(self, stages, key, slots):
        self.key, self.slots = key, slots[key]
        self.ranks, self.order = stages.ranks[key], stages.orders[key]
        self.left = dict(stages.uses[key])

    def has_room(self, row: int) -> bool:
        """Whether the line buffer has space for a row: all readers of the row in that slot have
        finished."""
        before = self.ranks[row] - self.slots
        return before < 0 or not self.left[self.order[before]]


class _Load:
    """Rows of a tensor that a core loads from main memory; ``at``: index of the next."""

    __slots__ = ("at", "name", "ring", "rows")

    def __init__(self, name, rows, ring):
        self.name, self.rows, self.ring, self.at = name, rows, ring, 0


class _Making:
    """Rows of a node's result that a core computes; ``at``: index of the next. ``stands``: cycle at
    which its operands are ready, ``None`` while an operand or a free slot is missing. ``seen``:
    number of operands found ready, ``latest``: arrival of the last of them."""

    __slots__ = (
        "at",
        "latest",
        "matrix",
        "name",
        "node",
        "order",
        "parts",
        "ring",
        "rows",
        "seen",
        "sources",
        "stands",
    )

    def __init__(self, stages, node, rows, ring, order):
        self.node, self.name, self.rows, self.ring, self.order = node, node.name, rows, ring, order
        self.parts = stages.parts(node)
        self.matrix = self.parts[0].matrix
        self.sources = [stages.sources[node.name, y] for y in rows]
        self.at, self.seen, self.latest, self.stands = 0, 0, 0, None

    def next(self) -> None:
        """Advances to the next row."""
        self.at += 1
        self.seen, self.latest, self.stands = 0, 0, None


class _Way:
    """Rows of a tensor that one core sends to another; ``at``: index of the next. ``begin``:
    earliest cycle of the transfer, ``None`` if unknown; ``free``: result of :meth:`Play._free`,
    ``None`` before it was called."""

    __slots__ = ("at", "begin", "cycles", "free", "key", "order", "ring", "rows")

    def __init__(self, key, rows, ring, order, cycles):
        self.key, self.rows, self.ring, self.order, self.cycles = key, rows, ring, order, cycles
        self.at, self.begin, self.free = 0, None, None


class Play:
    """One simulation with line buffers of given sizes; it stops once it is bound to exceed
    ``limit`` cycles.

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
        #: Core -> (tensor, row) -> when it stands.
        self.ready: dict[int, dict[Any, Any]] = {core: {} for core in stages.cores}
        self.rings = {key: _Ring(stages, key, slots) for key in stages.uses}
        order = {node.name: n for n, node in enumerate(stages.nodes)}
        self.loads: dict[int, list[_Load]] = {core: [] for core in stages.cores}
        for (name, core), rows in stages.loads.items():
            self.loads[core].append(_Load(name, rows, self.rings[core, name]))
        self.makings = {
            core: [
                _Making(stages, node, rows, self.rings.get((core, node.output)), -order[node.name])
                for node, rows in stages.makings[core]
            ]
            for core in stages.cores
        }
        self.ways: list[_Way] = []
        self.ways_of: dict[int, list[_Way]] = {core: [] for core in stages.cores}
        for way, rows in stages.ways.items():
            name, source, target = way
            size = stages.rings[target].row_bytes(name)
            maker = -order[stages.makers[name].name]
            made = _Way(way, rows, self.rings[target, name], maker, size // _CROSSED + _MEET)
            self.ways.append(made)
            for core in (source, target):
                self.ways_of[core].append(made)
        self.stuck: set[Any] = set()
        self.full: set[Any] = set()

    def _core(self, number):
        return _Core()

    def run(self) -> int | None:
        """Simulates all rows and returns the cycles, or ``None`` if the limit is exceeded."""
        best: dict[int, Any] = dict.fromkeys(self.cores)
        dirty = tuple(self.cores)
        while True:
            for core in dirty:
                best[core] = self._best(core)
            for core in dirty:
                for way in self.ways_of[core]:
                    self._look(way)
            first, limit = None, _FAR
            for core, found in best.items():
                if found is not None and (first is None or found[0] < limit):
                    first, limit = core, found[0]
            way = self._pass(best, limit)
            if way is not None:
                self._meet(way)
                dirty = way.key[1:]
            elif first is not None:
                self._work(first, *best[first])
                if self.late:
                    return None
                dirty = (first,)
            else:
                break
        if any(
            making.at < len(making.rows) for makings in self.makings.values() for making in makings
        ):
            self._find_stuck()
            return None
        return round(max(max(c.issue, c.matrix, c.vector) for c in self.cores.values()))

    def _room(self, ring, row):
        """Whether the ring has space for a row; rings without space are recorded in ``full``."""
        if ring.has_room(row):
            return True
        self.full.add(ring.key)
        return False

    def _best(self, number):
        """Earliest action that a core can do without another core: (cycle, order, action), or
        ``None``."""
        core = self.cores[number]
        issue = core.issue
        for load in self.loads[number]:
            if load.at < len(load.rows) and self._room(load.ring, load.rows[load.at]):
                return issue, 0, load
        found, least, order = None, 0, 0
        row, ready = core.row, self.ready[number]
        for making in self.makings[number]:
            if row is not None and row[0] is making:
                when, part = issue, making.parts[row[2]]
                if not part.matrix and row[2]:  # a clip of a row just multiplied
                    when = max(when, core.matrix + _SETTLE)
            else:
                if making.at == len(making.rows) or row is not None and making.matrix:
                    continue
                if making.stands is None and not self._stands(making, ready):
                    continue
                when = making.stands if making.stands > issue else issue
            if found is None or when < least or when == least and making.order < order:
                found, least, order = making, when, making.order
        return None if found is None else (least, order, found)

    def _stands(self, making, ready):
        """Whether a row can be computed: all operands are ready and its slot is free. Once true,
        this stays true until the row is computed."""
        sources = making.sources[making.at]
        while making.seen < len(sources):
            when = ready.get(sources[making.seen])
            if when is None:
                return False
            making.latest = max(making.latest, when)
            making.seen += 1
        if not self._room(making.ring, making.rows[making.at]):
            return False
        making.stands = making.latest
        return True

    def _look(self, way):
        """Updates the first cycle in which the next row of a route can be sent, after a change on
        one of its cores."""
        way.begin, way.free = None, None
        if way.at == len(way.rows):
            return
        name, source, target = way.key
        row = way.rows[way.at]
        stands = self.ready[source].get((name, row))
        if stands is not None and self._room(way.ring, row):
            way.begin = max(stands, self.cores[source].issue, self.cores[target].issue)

    def _pass(self, best, limit):
        """The first transfer between cores that may precede the local actions of both; ``limit``:
        earliest cycle of any local action. ``None`` if there is none."""
        found = None
        for way in self.ways:
            begin = way.begin
            if begin is None:
                continue
            if found is not None and (begin, way.order, way.key) >= (
                found.begin,
                found.order,
                found.key,
            ):
                continue
            if begin > limit:
                if way.free is None:
                    way.free = self._free(way, best)
                if not way.free:
                    continue
            found = way
        return found

    def _free(self, way, best):
        """Whether a transfer should precede the local actions of its cores: it does not let the
        units of either run dry, or one of the cores is idle."""
        at, slack, some_idle, others_near = way.begin, True, False, True
        for number in way.key[1:]:
            if best[number] is None or best[number][0] >= at:
                some_idle = True
                continue
            core = self.cores[number]
            slack = slack and core.matrix >= at + way.cycles
            others_near = others_near and core.issue + _MEET >= at
        return slack or some_idle and others_near

    def _meet(self, way):
        name, source, target = way.key
        row = way.rows[way.at]
        way.at += 1
        steps = Step("send", name, row, target), Step("recv", name, row, source)
        for core, step in zip((source, target), steps, strict=True):
            self.cores[core].steps.append(step)
        self.rings[source, name].left[row] -= 1
        self.ready[target][name, row] = self._passed(way, steps)

    def _passed(self, way, steps):
        """Schedules a transfer and returns the cycle in which it ends; ``steps``: the sender's and
        the receiver's."""
        _, source, target = way.key
        ends = way.begin + way.cycles
        self.cores[source].issue = self.cores[target].issue = ends
        return ends

    def _work(self, number, when, _, what):
        core, stages = self.cores[number], self.stages
        if isinstance(what, _Load):
            row = what.rows[what.at]
            what.at += 1
            core.steps.append(Step("load", what.name, row))
            size = stages.rings[number].row_bytes(what.name)
            self.ready[number][what.name, row] = self._loaded(core, size)
            return
        node, parts = what.node, what.parts
        if core.row is not None and core.row[0] is what:
            _, row, at = core.row
        else:
            row, at = what.rows[what.at], 0
        core.steps.append(Step("part", node.output, row))
        part = parts[at]
        ends = self._do(core, part, when)
        if self.limit < _FAR:
            unit = 0 if part.matrix else 1
            self.owed[number][unit] -= part.cycles
            busy = core.matrix if part.matrix else core.vector
            self.late = busy + self.owed[number][unit] >= self.limit
        if at + 1 < len(parts):
            core.row = what, row, at + 1
            return
        if core.row is not None and core.row[0] is what:
            core.row = None
        for name, r in what.sources[what.at]:
            self.rings[number, name].left[r] -= 1
        what.next()
        self.ready[number][node.output, row] = ends + _SETTLE
        if node.output == stages.last:
            core.steps.append(Step("store", node.output, row))
            self._stored(core)
            what.ring.left[row] -= 1

    def _loaded(self, core, size):
        core.issue += 6
        return core.issue + _LATENCY + size // 2

    def _stored(self, core):
        core.issue += 6

    def _do(self, core, part, when):
        """Advances a core's clocks over one operation of a row; returns the cycle in which its unit
        finishes."""
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
        """Finds the line buffers without space for their next row, when no core can proceed."""

        def look(ring, rows, at):
            if at < len(rows) and not self._room(ring, rows[at]):
                self.stuck.add(ring.key)

        for loads in self.loads.values():
            for load in loads:
                look(load.ring, load.rows, load.at)
        for way in self.ways:
            name, source, _ = way.key
            if way.at < len(way.rows) and (name, way.rows[way.at]) in self.ready[source]:
                look(way.ring, way.rows, way.at)
        for makings in self.makings.values():
            for making in makings:
                look(making.ring, making.rows, making.at)


def plan_stages(stages: Stages, room: Mapping[int, int], *, spare: bool = True) -> Plan | None:
    """The :class:`Plan` of :class:`~.stages.Stages`, or ``None`` if the line buffers do not fit
    local memories with ``room`` free bytes each.

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
