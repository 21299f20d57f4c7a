# SPDX-License-Identifier: BSD-2-Clause
"""Activity gating: splits a design's ``eval`` into parts, each evaluated only in cycles in which
one of its inputs has changed.

A part computes values and next states of registers from registers, memories, inputs of the design
and values of earlier parts. While none of these changes, all that it computed stays true, next
states included, so that it can be left out without any difference. A core that waits costs next to
nothing then, and a core that works costs the units that work.

Parts follow the module hierarchy, because the logic of a unit is busy at the same time. Registers
are compared when they are committed, values when they are computed, and inputs of the design before
each evaluation. Each change marks the parts that read the name in a bit set, ``stale``. Measured:
docs/performance/soc.md.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from .quicken import EVAL, LOCAL, eval_body, is_head, join_tests, split_edge
from .registers import unmangle
from .statements import merged_scopes, statements, without_comments

__all__ = ["gate"]

#: Characters of a part: smaller modules are joined with their parents, larger ones are split.
_SMALLEST, _LARGEST = 1_500, 12_000
#: Parts in one word of a bit set.
_WORD = 64
_MEMBER = re.compile(
    r"^\t(?:/\*(?P<port>input|output)\*/ )?(?P<kind>value|wire|memory)<\d+> (?P<name>\w+)\b", re.M
)
_NAME = re.compile(r"\b(?:memory_)?[pi]_\w+")
_EDGE_NAME = re.compile(r"(?:posedge|negedge)_\w+")
#: Names in front of an assignment, from the end of the statement before it.
_ASSIGNED = re.compile(r"(?:^|[;{}])([^;{}]*?) = ")
_UPDATED = re.compile(r"\b(memory_\w+)\.update\(")
#: Lines of ``commit`` that registers and memories have; those of clocks stay.
_COMMITTED = re.compile(r"^\t\tif \(\w+\.commit\(observer\)\) changed = true;\n", re.M)
_COMMIT = "\tbool commit(ObserverT &observer) {\n\t\tbool changed = false;\n"
_RUNTIME = "#include <cxxrtl/cxxrtl.h>\n"


@dataclass
class _Node:
    """A statement of ``eval``, or several that share a scope."""

    text: str
    #: Text before the block that only a clock edge executes (:func:`~.quicken.split_edge`).
    test: str | None
    #: Names of the values that it computes.
    values: set[str] = field(default_factory=set)
    #: Names of the registers and memories that it sets at the edge.
    registers: set[str] = field(default_factory=set)
    memories: set[str] = field(default_factory=set)
    #: Names that it reads.
    reads: set[str] = field(default_factory=set)
    #: Path of the module that its result belongs to.
    module: tuple[str, ...] = ()

    def add(self, other: _Node) -> None:
        """Appends another statement with the same edge."""
        self.text += other.text
        self.values |= other.values
        self.registers |= other.registers
        self.memories |= other.memories
        self.reads |= other.reads


@dataclass
class _Part:
    """Statements that are evaluated together, in order; the clocked ones have one edge."""

    nodes: list[_Node]

    @property
    def test(self) -> str | None:
        """Test of the edge of its clocked statements, if it has any."""
        return next((node.test for node in self.nodes if node.test), None)

    @property
    def clocked(self) -> bool:
        """Whether nothing happens in it but at an edge."""
        return all(node.test for node in self.nodes)

    def names(self, kind: str) -> set[str]:
        """Names of one kind (a field of :class:`_Node`) in all of its statements."""
        return set().union(*(getattr(node, kind) for node in self.nodes))


@dataclass
class _Design:
    """Content of ``eval``, and the members that it uses."""

    nodes: list[_Node]
    #: Name -> declaration of each variable of ``eval``.
    local: dict[str, str]
    #: Declarations of the clock edges.
    edges: list[str]
    #: Names of the input ports, and of all ports.
    inputs: list[str]
    ports: set[str]


def _module(name):
    """Path of the module that a C++ name belongs to, by its hierarchical name."""
    name = unmangle(name.removeprefix("memory_")[2:])
    name = re.sub(r"^\$?flatten(?=\\)|\\", "", name)
    return tuple(name.split(".")[:-1])


def _node(text, kinds):
    """Analyses a statement; ``kinds``: name -> ``value``, ``wire`` or ``memory``."""
    test, body = split_edge(text)
    node = _Node(body, test)
    assigned = [
        name
        for found in _ASSIGNED.finditer(body)
        for name in _NAME.findall(found[1])
        if name in kinds
    ]
    node.registers = {name for name in assigned if kinds[name] == "wire"}
    node.values = {name for name in assigned if kinds[name] == "value"}
    updated = _UPDATED.findall(body)
    node.memories = set(updated)
    node.reads = {name for name in _NAME.findall(body) if name in kinds} - node.values
    # What is only set is not read.
    node.reads -= {name for name in node.registers if f"{name}.curr" not in body}
    node.reads -= {name for name in node.memories if f"{name}[" not in body}
    results = [*assigned, *updated]
    node.module = _module(results[0]) if results else ()
    return node


def _merged(nodes):
    """Joins statements that set the same register or memory, because the order of their writes
    counts.

    ``None`` if they have different edges, or if a statement sets one without an edge.
    """
    first: dict[str, _Node] = {}
    found = []
    for node in nodes:
        state = sorted(node.memories | node.registers)
        if state and node.test is None:
            return None
        earlier = next((first[name] for name in state if name in first), None)
        if earlier is None:
            found.append(node)
            earlier = node
        elif earlier.test != node.test:
            return None
        else:
            earlier.add(node)
        for name in state:
            first[name] = earlier
    return found


def _read_design(source, header):
    """Analyses a design; ``None`` if it cannot be gated."""
    begin, end = eval_body(source)
    members = list(_MEMBER.finditer(header, header.index("struct p_top ")))
    local: dict[str, str] = {}
    edges, rest = [], []
    for statement in statements(without_comments(source[begin:end])):
        if (found := LOCAL.fullmatch(statement)) is not None:
            local[found[1]] = statement
        elif is_head(statement):
            edges.append(statement)
        elif statement.lstrip() != "return converged;":
            rest.append(statement)
    kinds = {name: "value" for name in local} | {found["name"]: found["kind"] for found in members}
    # A print happens in every cycle, whether anything has changed or not.
    if any("on_print" in statement for statement in rest):
        return None
    nodes = _merged([_node(text, kinds) for text in merged_scopes(rest)])
    if nodes is None:
        return None
    return _Design(
        nodes=nodes,
        local=local,
        edges=[edge for edge in edges if "converged" not in edge],
        inputs=[found["name"] for found in members if found["port"] == "input"],
        ports={found["name"] for found in members if found["port"]},
    )


def _length(nodes):
    return sum(len(node.text) for node in nodes)


def _by_module(nodes):
    """Groups statements by modules: lists of about ``_SMALLEST`` to ``_LARGEST`` characters, each
    in the order of ``nodes``."""
    own: dict[tuple[str, ...], list[int]] = defaultdict(list)
    inner: dict[tuple[str, ...], set[tuple[str, ...]]] = defaultdict(set)
    for number, node in enumerate(nodes):
        own[node.module].append(number)
        for depth in range(len(node.module)):
            inner[node.module[:depth]].add(node.module[: depth + 1])
    groups = []

    def gather(module):
        mine = list(own[module])
        for below in sorted(inner[module]):
            theirs = gather(below)
            if _length(nodes[number] for number in theirs) < _SMALLEST:
                mine += theirs
            else:
                groups.append(theirs)
        return mine

    groups.append(gather(()))
    return [
        piece
        for group in groups
        for piece in _split([nodes[number] for number in sorted(group)])
        if piece
    ]


def _split(group):
    """Splits a group of statements into pieces of about the same length."""
    total = _length(group)
    count = -(-total // _LARGEST)
    pieces: list[list[_Node]] = [[] for _ in range(count)]
    done = 0
    for node in group:
        pieces[done * count // total].append(node)
        done += len(node.text)
    return pieces


def _sunk(values, clocked, ports):
    """Moves unclocked statements into the one clocked part that reads their values; returns the
    others, which several parts read."""
    readers: dict[str, set[int]] = defaultdict(set)
    for number, part in enumerate(clocked):
        for name in part.names("reads"):
            readers[name].add(number)
    shared = -1
    moved: dict[int, list[_Node]] = defaultdict(list)
    for node in reversed(values):
        users = set().union(*(readers[name] for name in node.values))
        alone = len(users) == 1 and not node.values & ports
        place = users.pop() if alone else shared
        moved[place].append(node)
        for name in node.reads:
            readers[name].add(place)
    left = moved.pop(shared, [])
    for place, nodes in moved.items():
        clocked[place].nodes[:0] = reversed(nodes)
    return left[::-1]


def _scheduled(nodes):
    """Parts of unclocked statements, in an order in which each part reads values of earlier ones
    only. A module has several parts if others stand between its statements."""
    sources: dict[str, set[int]] = defaultdict(set)
    for number, node in enumerate(nodes):
        for name in node.values:
            sources[name].add(number)
    needs = [
        set().union(*(sources[name] for name in node.reads & sources.keys())) - {number}
        for number, node in enumerate(nodes)
    ]
    place = {id(node): number for number, node in enumerate(nodes)}
    waiting = [[place[id(node)] for node in group] for group in _by_module(nodes)]
    done: set[int] = set()

    def ready(group):
        taken: list[int] = []
        known = set(done)
        for number in group:
            if needs[number] <= known:
                taken.append(number)
                known.add(number)
        return taken

    parts = []
    while waiting:
        batches = [ready(group) for group in waiting]
        best = max(batches, key=lambda batch: _length(nodes[number] for number in batch))
        if not best:
            return None
        done.update(best)
        parts.append(_Part([nodes[number] for number in best]))
        waiting = [left for group in waiting if (left := [k for k in group if k not in done])]
    return parts


def _mark(numbers: Iterable[int], name: str = "stale") -> str:
    """Statements that set the bits of parts."""
    masks: dict[int, int] = defaultdict(int)
    for number in numbers:
        masks[number // _WORD] |= 1 << number % _WORD
    return "".join(f" {name}[{word}] |= {mask:#x}ull;" for word, mask in masks.items())


def _marked(changes: Mapping[str, str], readers: Mapping[str, set[int]]) -> str:
    """Statements that mark the readers of names; ``changes``: an expression for each name that is
    not zero if it has changed. Names with the same readers share a test."""
    groups: dict[tuple[int, ...], list[str]] = defaultdict(list)
    for name, expression in changes.items():
        groups[tuple(sorted(readers.get(name, ())))].append(expression)
    return "".join(
        f"\n\tif ({' | '.join(those)}) {{{_mark(numbers)} }}"
        if numbers
        else "".join(f"\n\t{expression};" for expression in those)
        for numbers, those in groups.items()
    )


class _Writer:
    """Text of a gated design."""

    def __init__(self, design: _Design, parts: Sequence[_Part]) -> None:
        self.design, self.parts = design, parts
        #: Name -> numbers of the parts that read it, and of those that compute it.
        self.readers: dict[str, set[int]] = defaultdict(set)
        self.makers: dict[str, set[int]] = defaultdict(set)
        for number, part in enumerate(parts):
            for name in part.names("reads"):
                self.readers[name].add(number)
            for name in part.names("values"):
                self.makers[name].add(number)
        #: Variables of one part alone, by its number; the others are members.
        self.own: dict[int, list[str]] = defaultdict(list)
        self.shared = []
        for name, declaration in design.local.items():
            users = self.readers[name] | self.makers[name]
            if len(users) == 1:
                self.own[next(iter(users))].append(declaration)
            elif users:
                self.shared.append(declaration)

    @property
    def words(self) -> range:
        """Words of a bit set of all parts."""
        return range(-(-len(self.parts) // _WORD))

    def _called(self, word: int, bits: str, calls: Mapping[int, str], after: str = "") -> str:
        """Calls of parts whose bits are set in a word of ``bits``; ``calls``: by part."""
        lines = [
            f"\n\t\tif ({bits}[{word}] & {1 << number % _WORD:#x}ull{call}"
            for number, call in calls.items()
            if number // _WORD == word
        ]
        return f"\n\tif ({bits}[{word}]) {{{''.join(lines)}{after}\n\t}}" if lines else ""

    def _evaluation(self, number: int, part: _Part) -> str:
        """Function that evaluates a part."""
        test = part.test
        readers = {
            name: self.readers[name] - self.makers[name] for name in sorted(part.names("values"))
        }
        told = [name for name, those in readers.items() if those]
        word, bit = number // _WORD, 1 << number % _WORD
        done = f"stale[{word}] &= ~{bit:#x}ull;"
        if test is not None:
            done = f"{test}{{ {done}{_mark([number], 'ran')} }}"
        edges = [edge for edge in self.design.edges if test and _edge_name(test) in edge]
        return (
            f"void p_top::eval_{number}(performer *performer) {{"
            + "".join([*edges, *self.own[number]])
            + "".join(f"\n\tconst auto was_{name} = {name};" for name in told)
            + join_tests((node.test, node.text) for node in part.nodes)
            + f"\n\t{done}"
            + _marked({name: f"quintet::differ(was_{name}, {name})" for name in told}, readers)
            + "\n}\n"
        )

    def _commitment(self, number: int, part: _Part) -> str:
        """Function that commits the registers and memories of a part."""
        changes = {name: f"quintet::move({name})" for name in sorted(part.names("registers"))}
        for name in sorted(part.names("memories")):
            changes[name] = f"{name}.commit(observer)"
        return (
            f"void p_top::commit_{number}() {{\n\tobserver observer;"
            f"{_marked(changes, self.readers)}\n}}\n"
        )

    def source(self, source: str) -> str:
        """``design.cc``."""
        begin, end = eval_body(source)
        functions = []
        for number, part in enumerate(self.parts):
            functions.append(self._evaluation(number, part))
            if part.test:
                functions.append(self._commitment(number, part))
        calls = {
            number: (
                f" && {_edge_name(part.test)}" if part.test is not None and part.clocked else ""
            )
            + f") eval_{number}(performer);"
            for number, part in enumerate(self.parts)
        }
        inputs = {name: f"quintet::move({name}, was_{name})" for name in self._inputs()}
        return (
            source[: begin - len(EVAL)]
            + "\n".join([*functions, EVAL])
            + "\n\tbool converged = true;"
            + "".join(self.design.edges)
            + _marked(inputs, self.readers)
            + "".join(self._called(word, "stale", calls) for word in self.words)
            + "\n\treturn converged;\n"
            + source[end:]
        )

    def _inputs(self):
        """Input ports that a part reads."""
        return [name for name in self.design.inputs if self.readers[name]]

    def header(self, header: str) -> str:
        """``design.h``."""
        calls = {
            number: f") commit_{number}();" for number, part in enumerate(self.parts) if part.test
        }
        commits = "".join(
            self._called(word, "ran", calls, after=f"\n\t\tran[{word}] = 0;") for word in self.words
        )
        members = [
            *self.shared,
            *(f"\n\tdecltype({name}) was_{name};" for name in self._inputs()),
            *(
                f"\n\tvoid eval_{number}(performer *performer);"
                for number in range(len(self.parts))
            ),
            *(f"\n\tvoid commit_{number}();" for number in calls),
            f"\n\tuint64_t stale[{len(self.words)}] = {{}}, ran[{len(self.words)}] = {{}};",
            f"\n\tvoid touch() {{{_mark(range(len(self.parts)))} }}",
        ]
        place = header.index(_COMMIT) + len(_COMMIT)
        header = header[:place] + commits.lstrip("\n") + "\n" + _COMMITTED.sub("", header[place:])
        place = header.index("\tbool eval(performer *performer", header.index("struct p_top ")) - 1
        header = header[:place] + "".join(members) + header[place:]
        header = header.replace("\tp_top() {", "\tp_top() {\n\t\ttouch();", 1)
        added = '#include "gating.hpp"\n#define QUINTET_GATED 1\n'
        return header.replace(_RUNTIME, _RUNTIME + added, 1)


def _edge_name(test):
    """Name of the edge that a test asks for."""
    return _EDGE_NAME.search(test)[0]


def gate(source: str, header: str) -> tuple[str, str] | None:
    """Splits ``p_top::eval`` of ``design.cc`` into gated parts: ``(source, header)``.

    Only where one pass settles a cycle. ``None`` if the design has statements that cannot be left
    out: prints, or registers and memories that two clocks or no clock set.
    """
    design = _read_design(source, header)
    if design is None:
        return None
    tests = sorted({node.test for node in design.nodes if node.test})
    clocked = [
        _Part(group)
        for test in tests
        for group in _by_module([node for node in design.nodes if node.test == test])
    ]
    values = _sunk([node for node in design.nodes if not node.test], clocked, design.ports)
    parts = _scheduled(values)
    if parts is None:
        return None
    writer = _Writer(design, [*parts, *clocked])
    return writer.source(source), writer.header(header)
