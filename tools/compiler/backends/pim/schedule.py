# SPDX-License-Identifier: BSD-2-Clause
"""Fused nodes, whose intermediate results never lie in main memory, and the static schedule of
their stages: the order of each core's actions and of the rows sent between cores, found by
simulating the cores' clocks.

Rows are passed on by ``send`` and ``recv``, for which both cores must be there. All passes have one
order in time, and every core's program keeps to it: so none waits for another in a circle.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...graph import Activation, Binary, Conv, Graph, MaxPool, Node, Reshape, Slice
from .arrays.channels import is_channel_view
from .rows.functions import is_function
from .stages import Stages

if TYPE_CHECKING:
    from .arrays.matrices import Matrix

__all__ = [
    "IN_PLACE",
    "FusedGroup",
    "Plan",
    "Simulation",
    "Step",
    "can_fuse",
    "plan_stages",
]

#: Nodes that take no instruction: their results share the memory of their source.
IN_PLACE = (Reshape, Slice)
#: Bytes of a pass in a cycle beside multiplications; cycles that it takes besides, that a row of
#: results takes to stand after its last multiplication, and a load from main memory beside its
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
    """A schedule: ``steps`` of every core (core -> list of Step), ``slots`` (rows of each line
    buffer, by (core, tensor)) and estimated ``cycles``."""

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


class _LineBuffer:
    """State of a line buffer during the simulation. ``slots``: its size in rows. ``ranks``: row ->
    index in order of arrival; ``order``: the rows by that index. ``left``: row -> number of
    outstanding readers. ``key``: (core, tensor)."""

    __slots__ = ("key", "left", "order", "ranks", "slots")

    def __init__(self, stages, key, slots):
        self.key, self.slots = key, slots[key]
        self.ranks, self.order = stages.ranks[key], stages.orders[key]
        self.left = dict(stages.uses[key])

    def has_space(self, row: int) -> bool:
        """Whether the line buffer has space for a row: all readers of the row in that slot have
        finished."""
        before = self.ranks[row] - self.slots
        return before < 0 or not self.left[self.order[before]]


class _Load:
    """Rows of a tensor that a core loads from main memory; ``at``: index of the next."""

    __slots__ = ("at", "name", "buffer", "rows")

    def __init__(self, name, rows, buffer):
        self.name, self.rows, self.buffer, self.at = name, rows, buffer, 0


class _Producer:
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
        "buffer",
        "rows",
        "seen",
        "sources",
        "stands",
    )

    def __init__(self, stages, node, rows, buffer, order):
        self.node, self.name, self.rows, self.buffer, self.order = (
            node,
            node.name,
            rows,
            buffer,
            order,
        )
        self.parts = stages.parts(node)
        self.matrix = self.parts[0].matrix
        self.sources = [stages.sources[node.name, y] for y in rows]
        self.at, self.seen, self.latest, self.stands = 0, 0, 0, None

    def next(self) -> None:
        """Advances to the next row."""
        self.at += 1
        self.seen, self.latest, self.stands = 0, 0, None


class _Route:
    """Rows of a tensor that one core sends to another; ``at``: index of the next. ``begin``:
    earliest cycle of the transfer, ``None`` if unknown; ``free``: result of
    :meth:`Simulation._free`, ``None`` before it was called."""

    __slots__ = ("at", "begin", "cycles", "free", "key", "order", "buffer", "rows")

    def __init__(self, key, rows, buffer, order, cycles):
        self.key, self.rows, self.buffer, self.order, self.cycles = key, rows, buffer, order, cycles
        self.at, self.begin, self.free = 0, None, None


class Simulation:
    """One simulation with line buffers of given sizes; it stops once it is bound to exceed
    ``limit`` cycles.

    ``stuck``: line buffers that were full when no core could proceed; ``full``: those that were
    full at any time when a row was to come; ``late``: whether it was given up."""

    def __init__(
        self, stages: Stages, slots: Mapping[tuple[int, str], int], limit: float = float("inf")
    ):
        self.stages, self.slots, self.limit = stages, slots, limit
        self.late = False
        # Cycles that each core's units have still to do.
        self.outstanding = {core: list(stages.loads_of_units(core)) for core in stages.cores}
        self.cores = {core: self._core(core) for core in stages.cores}
        #: Core -> (tensor, row) -> when it stands.
        self.ready: dict[int, dict[Any, Any]] = {core: {} for core in stages.cores}
        self.line_buffers = {key: _LineBuffer(stages, key, slots) for key in stages.uses}
        order = {node.name: n for n, node in enumerate(stages.nodes)}
        self.loads: dict[int, list[_Load]] = {core: [] for core in stages.cores}
        for (name, core), rows in stages.loads.items():
            self.loads[core].append(_Load(name, rows, self.line_buffers[core, name]))
        self.producers = {
            core: [
                _Producer(
                    stages,
                    node,
                    rows,
                    self.line_buffers.get((core, node.output)),
                    -order[node.name],
                )
                for node, rows in stages.producers[core]
            ]
            for core in stages.cores
        }
        self.routes: list[_Route] = []
        self.routes_of: dict[int, list[_Route]] = {core: [] for core in stages.cores}
        for route, rows in stages.routes.items():
            name, source, target = route
            size = stages.line_buffers[target].row_bytes(name)
            maker = -order[stages.makers[name].name]
            made = _Route(
                route, rows, self.line_buffers[target, name], maker, size // _CROSSED + _MEET
            )
            self.routes.append(made)
            for core in (source, target):
                self.routes_of[core].append(made)
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
                for route in self.routes_of[core]:
                    self._look(route)
            first, limit = None, _FAR
            for core, found in best.items():
                if found is not None and (first is None or found[0] < limit):
                    first, limit = core, found[0]
            route = self._pass(best, limit)
            if route is not None:
                self._meet(route)
                dirty = route.key[1:]
            elif first is not None:
                self._work(first, *best[first])
                if self.late:
                    return None
                dirty = (first,)
            else:
                break
        if any(
            producer.at < len(producer.rows)
            for producers in self.producers.values()
            for producer in producers
        ):
            self._find_stuck()
            return None
        return round(max(max(c.issue, c.matrix, c.vector) for c in self.cores.values()))

    def _has_space(self, buffer, row):
        """Whether the line buffer has space for a row; buffers without space are recorded in
        ``full``."""
        if buffer.has_space(row):
            return True
        self.full.add(buffer.key)
        return False

    def _best(self, number):
        """Earliest action that a core can do without another core: (cycle, order, action), or
        ``None``."""
        core = self.cores[number]
        issue = core.issue
        for load in self.loads[number]:
            if load.at < len(load.rows) and self._has_space(load.buffer, load.rows[load.at]):
                return issue, 0, load
        found, least, order = None, 0, 0
        row, ready = core.row, self.ready[number]
        for producer in self.producers[number]:
            if row is not None and row[0] is producer:
                when, part = issue, producer.parts[row[2]]
                if not part.matrix and row[2]:  # a clip of a row just multiplied
                    when = max(when, core.matrix + _SETTLE)
            else:
                if producer.at == len(producer.rows) or row is not None and producer.matrix:
                    continue
                if producer.stands is None and not self._stands(producer, ready):
                    continue
                when = producer.stands if producer.stands > issue else issue
            if found is None or when < least or when == least and producer.order < order:
                found, least, order = producer, when, producer.order
        return None if found is None else (least, order, found)

    def _stands(self, producer, ready):
        """Whether a row can be computed: all operands are ready and its slot is free. Once true,
        this stays true until the row is computed."""
        sources = producer.sources[producer.at]
        while producer.seen < len(sources):
            when = ready.get(sources[producer.seen])
            if when is None:
                return False
            producer.latest = max(producer.latest, when)
            producer.seen += 1
        if not self._has_space(producer.buffer, producer.rows[producer.at]):
            return False
        producer.stands = producer.latest
        return True

    def _look(self, route):
        """Updates the first cycle in which the next row of a route can be sent, after a change on
        one of its cores."""
        route.begin, route.free = None, None
        if route.at == len(route.rows):
            return
        name, source, target = route.key
        row = route.rows[route.at]
        stands = self.ready[source].get((name, row))
        if stands is not None and self._has_space(route.buffer, row):
            route.begin = max(stands, self.cores[source].issue, self.cores[target].issue)

    def _pass(self, best, limit):
        """The first transfer between cores that may precede the local actions of both; ``limit``:
        earliest cycle of any local action. ``None`` if there is none."""
        found = None
        for route in self.routes:
            begin = route.begin
            if begin is None:
                continue
            if found is not None and (begin, route.order, route.key) >= (
                found.begin,
                found.order,
                found.key,
            ):
                continue
            if begin > limit:
                if route.free is None:
                    route.free = self._free(route, best)
                if not route.free:
                    continue
            found = route
        return found

    def _free(self, route, best):
        """Whether a transfer should precede the local actions of its cores: it does not let the
        units of either run dry, or one of the cores is idle."""
        at, slack, some_idle, others_near = route.begin, True, False, True
        for number in route.key[1:]:
            if best[number] is None or best[number][0] >= at:
                some_idle = True
                continue
            core = self.cores[number]
            slack = slack and core.matrix >= at + route.cycles
            others_near = others_near and core.issue + _MEET >= at
        return slack or some_idle and others_near

    def _meet(self, route):
        name, source, target = route.key
        row = route.rows[route.at]
        route.at += 1
        steps = Step("send", name, row, target), Step("recv", name, row, source)
        for core, step in zip((source, target), steps, strict=True):
            self.cores[core].steps.append(step)
        self.line_buffers[source, name].left[row] -= 1
        self.ready[target][name, row] = self._passed(route, steps)

    def _passed(self, route, steps):
        """Schedules a transfer and returns the cycle in which it ends; ``steps``: the sender's and
        the receiver's."""
        _, source, target = route.key
        ends = route.begin + route.cycles
        self.cores[source].issue = self.cores[target].issue = ends
        return ends

    def _work(self, number, when, _, what):
        core, stages = self.cores[number], self.stages
        if isinstance(what, _Load):
            row = what.rows[what.at]
            what.at += 1
            core.steps.append(Step("load", what.name, row))
            size = stages.line_buffers[number].row_bytes(what.name)
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
            self.outstanding[number][unit] -= part.cycles
            busy = core.matrix if part.matrix else core.vector
            self.late = busy + self.outstanding[number][unit] >= self.limit
        if at + 1 < len(parts):
            core.row = what, row, at + 1
            return
        if core.row is not None and core.row[0] is what:
            core.row = None
        for name, r in what.sources[what.at]:
            self.line_buffers[number, name].left[r] -= 1
        what.next()
        self.ready[number][node.output, row] = ends + _SETTLE
        if node.output == stages.last:
            core.steps.append(Step("store", node.output, row))
            self._stored(core)
            what.buffer.left[row] -= 1

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

        def look(buffer, rows, at):
            if at < len(rows) and not self._has_space(buffer, rows[at]):
                self.stuck.add(buffer.key)

        for loads in self.loads.values():
            for load in loads:
                look(load.buffer, load.rows, load.at)
        for route in self.routes:
            name, source, _ = route.key
            if route.at < len(route.rows) and (name, route.rows[route.at]) in self.ready[source]:
                look(route.buffer, route.rows, route.at)
        for producers in self.producers.values():
            for producer in producers:
                look(producer.buffer, producer.rows, producer.at)


def plan_stages(
    stages: Stages, free_bytes: Mapping[int, int], *, spare: bool = True
) -> Plan | None:
    """The :class:`Plan` of :class:`~.stages.Stages`, or ``None`` if the line buffers do not fit
    local memories; ``free_bytes``: core -> bytes.

    ``spare``: line buffers get more rows than they need where that saves cycles.
    """
    slots = stages.least()
    while True:
        if not stages.fits(slots, free_bytes):
            return None
        simulation = Simulation(stages, slots)
        cycles = simulation.run()
        if cycles is not None:
            break
        if not simulation.stuck:
            return None
        slots = {key: n + (key in simulation.stuck) for key, n in slots.items()}
    # Rows to spare let a core go on while its neighbour is busy.
    for key in sorted(slots) if spare else ():
        more = {**slots, key: slots[key] + 1}
        # A buffer that was never full changes nothing by being larger.
        if (
            key in simulation.full
            and slots[key] < len(stages.ranks[key])
            and stages.fits(more, free_bytes)
        ):
            tried = Simulation(stages, more, _GAIN * cycles)
            found = tried.run()
            if found is not None and found < _GAIN * cycles:
                slots, cycles, simulation = more, found, tried
    return Plan({number: core.steps for number, core in simulation.cores.items()}, slots, cycles)


def can_fuse(graph: Graph, nodes: Sequence[Node]) -> bool:
    """Whether consecutive nodes can be fused: all are maps, and no other node reads the values
    between them."""
    inside, kept = {node.name for node in nodes}, graph.kept()
    for node in nodes:
        if not isinstance(node, Conv | MaxPool | Activation) and not (
            isinstance(node, Binary) and node.function != "mul"
        ):
            return False
        if is_function(node):
            return False
        if any(len(graph.shape(name)) != 3 for name in (*node.inputs, node.output)):
            return False
        if any(is_channel_view(graph, name) for name in node.inputs):
            return False
        if isinstance(node, Binary) and len({graph.shape(name) for name in node.inputs}) > 1:
            return False
        readers = {reader.name for reader in graph.readers(node.output)}
        if node is not nodes[-1] and (node.output in kept or not readers or not readers <= inside):
            return False
    return True


@dataclass(eq=False)
class FusedGroup:
    """A fused group of nodes: a chain, in which every core computes rows of its own, or, with
    ``stages`` (:class:`~.stages.Stages`) and their ``plan`` (:class:`Plan`), a pipeline
    with one core per node."""

    nodes: list[Node]
    stages: Stages | None = None
    plan: Plan | None = None
    _bands: dict = field(default_factory=dict)

    def band(
        self,
        graph: Graph,
        size: Callable[[str], int],
        matrices: dict[str, list[Matrix]],
        params: Mapping[str, Any],
        first: int,
        end: int,
        *,
        spare: bool = True,
    ) -> tuple[Stages, Plan | None]:
        """Rows ``first`` to ``end`` - 1 of a chain's result as (:class:`Stages` with core 0, Plan);
        the plan is ``None`` if local memory does not hold them. ``spare``: see
        :func:`plan_stages`."""
        key = first, end, spare
        if key not in self._bands:
            stages = Stages(
                graph,
                self.nodes,
                dict.fromkeys((node.name for node in self.nodes), (0,)),
                size,
                matrices,
                params["lanes"],
                (first, end),
            )
            self._bands[key] = stages, plan_stages(stages, {0: params["lmem_bytes"]}, spare=spare)
        return self._bands[key]
