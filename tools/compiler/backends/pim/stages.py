# SPDX-License-Identifier: BSD-2-Clause
"""Pipeline stages: every node of a stretch runs on an assigned core; rows are sent from core to
core as soon as they are computed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...graph import Binary, Conv, Graph, MaxPool, Node
from .line_buffers import LineBuffers, Stores, reads
from .maps import Products

if TYPE_CHECKING:
    from .arrays.matrices import Matrix
    from .codegen import CoreBuilder
    from .program import ProgramWriter
    from .schedule import Plan, Step

__all__ = ["StepEmitter", "Part", "Stages", "emit_stages", "needed_rows"]

#: Cycles of an instruction of the vector unit and of a move beside those for their bytes, and of
#: what the matrix unit does beside its rows.
_VECTOR, _MOVE, _MATRIX = 12, 4, 1


def needed_rows(graph: Graph, nodes: Sequence[Node], band: tuple[int, int]) -> dict[str, list[int]]:
    """Rows of each tensor on which rows ``band`` (first, end) of the last node's result depend:
    tensor name -> rows in order."""
    needed = {nodes[-1].output: set(range(*band))}
    for node in reversed(nodes):
        for y in needed.get(node.output, ()):
            for name, r in reads(graph, node, y):
                needed.setdefault(name, set()).add(r)
    return {name: sorted(rows) for name, rows in needed.items()}


@dataclass(frozen=True)
class Part:
    """One operation of the computation of a row: ``issue`` cycles before its command, ``cycles`` of
    the unit, ``matrix``: whether that is the matrix unit, else the vector unit; ``gathers``: it
    uses one of the two window buffers."""

    issue: int
    cycles: int
    matrix: bool
    gathers: bool = False


@dataclass
class Stages:
    """A pipeline: its nodes, their placement on cores, and the rows sent between cores.

    Attributes
    ----------
    graph : Graph
    nodes : list, in order; the last one's result is stored
    placement : node name -> tuple of cores, which make its rows in turn
    size : function, tensor name -> bytes of an element
    matrices : node name -> list of Matrix
    lanes : products of a core in a cycle
    band : rows of the result that are made (first, behind last), ``None``: all
    rows : tensor name -> rows of it that somebody needs, in order
    uses : (core, tensor name) -> row -> how often the core reads it, passes it on or stores it
    ranks : (core, tensor name) -> row -> its number among those of ``uses``
    routes : (tensor name, core, core) -> rows that go from core to core
    loads : (tensor name, core) -> rows that come from main memory
    orders : (core, tensor name) -> rows of ``ranks``, in order
    sources : (node name, row of its result) -> (tensor, row) pairs that it takes
    producers : core -> (node, rows of its result that the core makes) pairs
    """

    graph: Graph
    nodes: list[Node]
    placement: dict[str, tuple[int, ...]]
    size: Callable[[str], int]
    matrices: dict[str, list[Matrix]]
    lanes: int
    band: tuple[int, int] | None = None
    rows: dict[str, list[int]] = field(default_factory=dict)
    uses: dict[tuple[int, str], dict[int, int]] = field(default_factory=dict)
    ranks: dict[tuple[int, str], dict[int, int]] = field(default_factory=dict)
    routes: dict[tuple[str, int, int], list[int]] = field(default_factory=dict)
    loads: dict[tuple[str, int], list[int]] = field(default_factory=dict)

    def __post_init__(self):
        self.makers = {node.output: node for node in self.nodes}
        self.last = self.nodes[-1].output
        self.cores = sorted({core for cores in self.placement.values() for core in cores})
        self.rows = needed_rows(
            self.graph, self.nodes, self.band or (0, self.graph.shape(self.last)[0])
        )
        uses = self.uses
        for node in self.nodes:
            for y in self.rows.get(node.output, ()):
                for name, r in reads(self.graph, node, y):
                    uses.setdefault((self.core_of(node, y), name), Counter())[r] += 1
        for core, name in list(uses):
            for y in sorted(uses[core, name]):
                if name not in self.makers:
                    self.loads.setdefault((name, core), []).append(y)
                elif (source := self.core_of(self.makers[name], y)) != core:
                    self.routes.setdefault((name, source, core), []).append(y)
        for (name, source, _), rows in self.routes.items():
            for y in rows:
                uses.setdefault((source, name), Counter())[y] += 1
        for y in self.rows[self.last]:
            uses.setdefault((self.core_of(self.nodes[-1], y), self.last), Counter())[y] += 1
        self.ranks = {key: {y: n for n, y in enumerate(sorted(rows))} for key, rows in uses.items()}
        self.line_buffers = {
            core: LineBuffers(self.graph, self.size, self.on(core)) for core in self.cores
        }
        self._parts = {node.name: self._parts_of(node) for node in self.nodes}
        self.orders = {key: list(ranks) for key, ranks in self.ranks.items()}
        self.sources = {
            (node.name, y): reads(self.graph, node, y)
            for node in self.nodes
            for y in self.rows.get(node.output, ())
        }
        self.producers = {
            core: [(node, self.made(node, core)) for node in self.on(core)] for core in self.cores
        }
        self._units = {core: self._loads_of_units(core) for core in self.cores}

    def core_of(self, node: Node, y: int) -> int:
        """The core that computes row ``y`` of a node's result."""
        cores = self.placement[node.name]
        return cores[y % len(cores)]

    def on(self, core: int) -> list[Node]:
        """Nodes that run on a core."""
        return [node for node in self.nodes if core in self.placement[node.name]]

    def made(self, node: Node, core: int) -> list[int]:
        """Rows of a node's result that a core computes, in order."""
        return [y for y in self.rows.get(node.output, ()) if self.core_of(node, y) == core]

    def parts(self, node: Node) -> list[Part]:
        """Operations (:class:`Part`) of a row of a node's result, in the order of
        :meth:`.line_buffers.LineBuffers.make`."""
        return self._parts[node.name]

    def _parts_of(self, node):
        name, (_, width, channels) = node.inputs[0], self.graph.shape(node.output)
        size, words = self.size(name), -(-width * channels * self.size(node.output) // 6)
        if isinstance(node, Conv):
            found = []
            for moves, matrix in Products.parts(node, self.matrices[node.name], width, size):
                rows, cols = matrix.shape
                found.append(
                    Part(
                        sum(max(_MOVE, -(-n // (8 - size)) + 1) for n in moves) + 2 * _MOVE,
                        rows * -(-cols // self.lanes) + _MATRIX,
                        True,
                        bool(moves),
                    )
                )
            bounded = node.activation is not None and node.activation.function == "clip"
            return found + [Part(2 * _MOVE, 2 * (words + _VECTOR), False)] * bounded
        if isinstance(node, MaxPool):
            each = 2 * -(-channels * size // 8) + _VECTOR
            tall = (node.window[0] - 1) * (
                2 * -(-self.graph.shape(name)[1] * channels * size // 8) + _VECTOR
            )
            return [Part(width * _MOVE, tall + width * (node.window[1] - 1) * each, False)]
        return [
            Part(
                2 * _MOVE,
                3 * words + 2 * _VECTOR if isinstance(node, Binary) else 2 * words + _VECTOR,
                False,
            )
        ]

    def loads_of_units(self, core: int) -> list[int]:
        """Busy cycles of a core's matrix unit and vector unit."""
        return self._units[core]

    def _loads_of_units(self, core):
        found = [0, 0]
        for node, rows in self.producers[core]:
            for part in self.parts(node):
                found[0 if part.matrix else 1] += len(rows) * part.cycles
        return found

    def busiest(self) -> float:
        """Busy cycles of the busiest unit: a lower bound of any schedule."""
        return max(max(self.loads_of_units(core)) for core in self.cores)

    def least(self) -> dict[tuple[int, str], int]:
        """Least rows of each line buffer with which every row can be computed: (core, tensor name)
        -> number."""
        found = {key: 1 for key in self.uses}
        for node in self.nodes:
            for y in self.rows.get(node.output, ()):
                for name, count in Counter(name for name, _ in reads(self.graph, node, y)).items():
                    key = self.core_of(node, y), name
                    found[key] = max(found[key], count)
        return found

    def fits(self, slots: Mapping[tuple[int, str], int], free_bytes: Mapping[int, int]) -> bool:
        """Whether local memories can hold line buffers with so many rows; ``free_bytes``: core ->
        bytes."""
        return all(self.bytes(core, slots) <= free_bytes[core] for core in self.cores)

    def bytes(self, core: int, slots: Mapping[tuple[int, str], int]) -> int:
        """Bytes of local memory that a core's line buffers occupy."""
        return self.line_buffers[core].bytes(
            {name: n for (c, name), n in slots.items() if c == core}, self.matrices
        )


class StepEmitter:
    """Emitter of one core's steps of a :class:`~.schedule.Plan`.

    Parameters
    ----------
    writer : ProgramWriter, whose activations and places are meant
    stages : Stages; ``number``: of the core among theirs
    core : CoreBuilder; ``pointer``: its pair with global address 0
    slots : rows of every line buffer, (core of the stages, tensor name) -> number
    groups : node name -> list of (Matrix, group)
    cores : of every core of the stages, its number
    """

    def __init__(
        self,
        writer: ProgramWriter,
        stages: Stages,
        number: int,
        core: CoreBuilder,
        pointer: int,
        slots: Mapping[tuple[int, str], int],
        groups: Mapping[str, Any],
        cores: Sequence[int],
    ):
        self.writer, self.stages, self.core, self.pointer, self.cores = (
            writer,
            stages,
            core,
            pointer,
            cores,
        )
        self.line_buffers = stages.line_buffers[number]
        self._emitting: dict[Any, Any] = {}
        self._stores = Stores(core, pointer)
        self._single = slots.get((number, stages.last)) == 1
        self.line_buffers.open(
            writer,
            core,
            *(
                {name: what for (c, name), what in each.items() if c == number}
                for each in (slots, stages.ranks)
            ),
            groups,
            stages.nodes[-1].name,
        )

    def do(self, step: Step) -> None:
        """Emits the instructions of a :class:`~.schedule.Step`."""
        name, y, core, emitting = step.tensor, step.row, self.core, self._emitting
        at, count = self.line_buffers.row(name, y), self.line_buffers.row_bytes(name)
        target = self.writer.places.get(name, 0) + y * count
        if step.kind == "part":
            if (name, y) not in emitting:
                emitting[name, y] = self.line_buffers.make(self.stages.makers[name], y)
                if name == self.stages.last and self._single:
                    self._stores.flush()
            next(emitting[name, y])
            self._stores.step()
        elif step.kind == "load":
            core.load(at, self.pointer, count, target)
        elif step.kind == "store":
            self._stores.put(at, count, target)
        elif step.kind == "send":
            core.send(at, self.cores[step.peer], count)
        else:
            core.recv(at, self.cores[step.peer], count)

    def end(self) -> None:
        """Emits the outstanding stores."""
        self._stores.flush()


def emit_stages(
    writer: ProgramWriter,
    stages: Stages,
    plan: Plan,
    groups: Mapping[tuple[str, int], Any],
    cores: Sequence[int],
) -> None:
    """Emits every core's steps of a :class:`~.schedule.Plan`. ``groups``: (node name, core) -> list
    of (Matrix, group); ``cores``: hardware number of each core of the stages."""
    for number in stages.cores:
        core = writer.cores[cores[number]]
        own = {
            node.name: groups[node.name, core.number]
            for node in stages.on(number)
            if isinstance(node, Conv)
        }
        emitter = StepEmitter(
            writer, stages, number, core, writer.pointers[core.number], plan.slots, own, cores
        )
        for step in plan.steps[number]:
            emitter.do(step)
        emitter.end()
