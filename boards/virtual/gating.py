# SPDX-License-Identifier: BSD-2-Clause
"""Activity gating: splits a design's ``eval`` into parts, each evaluated only in cycles in which
one of its inputs has changed.

A part computes values and next states of registers from registers, memories, inputs of the design
and values of earlier parts. While none of these changes, all that it computed stays true, next
states included, so that it can be left out without any difference. A core that waits costs next to
nothing then, and a core that works costs the units that work.

Parts follow the module hierarchy, whose units are busy together. Registers are compared when they
are committed, values when they are computed, and inputs of the design before each evaluation. All
that changes marks the parts that read it in a bit set, ``stale``.

Only where one pass settles a cycle: statements of ``eval`` are in the order of evaluation then.
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
#: Parts of one word of a bit set.
_WORD = 64
_MEMBER = re.compile(
    r"^\t(?:/\*(?P<port>input|output)\*/ )?(?P<kind>value|wire|memory)<\d+> (?P<name>\w+)\b", re.M
)
_NAME = re.compile(r"\b(?:memory_)?[pi]_\w+")
_ASSIGNED = re.compile(r"(?:^|[;{}])([^;{}]*?) = ")
_UPDATED = re.compile(r"\b(memory_\w+)\.update\(")
_COMMITTED = re.compile(r"^\t\t(?:if \()?(\w+)\.(?:commit\(observer\)|curr = )[^\n]*\n", re.M)
_COMMIT = "\tbool commit(ObserverT &observer) {\n\t\tbool changed = false;\n"


@dataclass
class _Node:
    """A statement of ``eval`` with all that must share its scope."""

    text: str
    #: Test of the clock edge that alone executes it, as ``split_edge`` writes it; else ``None``.
    test: str | None
    #: Values that it computes; registers and memories that it sets at the edge.
    values: set[str] = field(default_factory=set)
    registers: set[str] = field(default_factory=set)
    memories: set[str] = field(default_factory=set)
    #: All names that it reads.
    reads: set[str] = field(default_factory=set)
    #: Path of the module that it belongs to.
    module: tuple[str, ...] = ()


@dataclass
class _Part:
    """Statements that are evaluated together, in order."""

    nodes: list[_Node]

    def all(self, kind: str) -> set[str]:
        """Names of one kind of all its statements."""
        return set().union(*(getattr(node, kind) for node in self.nodes))

    @property
    def test(self) -> str | None:
        """Test of the edge that all of its clocked statements have."""
        return next((node.test for node in self.nodes if node.test), None)

    @property
    def clocked(self) -> bool:
        """Whether it has no statements but clocked ones."""
        return all(node.test for node in self.nodes)


def _module(name):
    """Path of the module that a C++ name belongs to, by its hierarchical name."""
    name = unmangle(name.removeprefix("memory_")[2:])
    name = re.sub(r"^\$?flatten(?=\\)|\\", "", name)
    return tuple(name.split(".")[:-1])


def _node(text, members, local):
    """Analyses a statement."""
    test, body = split_edge(text)
    node = _Node(body, test)
    assigned = []
    for found in _ASSIGNED.finditer(body):
        for name in _NAME.findall(found[1]):
            if members.get(name) == "wire":
                node.registers.add(name)
                assigned.append(name)
            elif name in members or name in local:
                node.values.add(name)
                assigned.append(name)
    for name in _UPDATED.findall(body):
        node.memories.add(name)
        assigned.append(name)
    node.reads = {name for name in _NAME.findall(body) if name in members or name in local}
    # A register or memory that is only set is not read. What a statement does not set remains, so
    # that a register of another statement cannot change it.
    for name in node.registers:
        if f"{name}.curr" not in body:
            node.reads.discard(name)
    for name in node.memories:
        if f"{name}[" not in body:
            node.reads.discard(name)
    node.reads -= node.values
    node.module = _module(assigned[0]) if assigned else ()
    return node


def _by_module(nodes):
    """Groups statements by modules: lists of statements in their order, each of about
    ``_SMALLEST`` to ``_LARGEST`` characters."""
    own = defaultdict(list)
    inner = defaultdict(set)
    for number, node in enumerate(nodes):
        own[node.module].append(number)
        for depth in range(len(node.module)):
            inner[node.module[:depth]].add(node.module[: depth + 1])
    groups = []

    def gather(module):
        mine = own[module]
        for below in sorted(inner[module]):
            theirs = gather(below)
            if sum(len(nodes[number].text) for number in theirs) < _SMALLEST:
                mine = mine + theirs
            else:
                groups.append(theirs)
        return mine

    groups.append(gather(()))
    found = []
    for group in groups:
        total = sum(len(nodes[number].text) for number in group)
        count = -(-total // _LARGEST)
        done = 0
        parts = [[] for _ in range(count)]
        for number in sorted(group):
            parts[done * count // total].append(nodes[number])
            done += len(nodes[number].text)
        found += filter(None, parts)
    return found


def _joined(nodes):
    """Joins statements that set the same memory or register: if one of them is evaluated, all must
    be, since their order counts. ``None``: they have different edges, or none."""
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
        else:
            if earlier.test != node.test:
                return None
            earlier.text += node.text
            for kind in ("values", "registers", "memories", "reads"):
                getattr(earlier, kind).update(getattr(node, kind))
        for name in state:
            first[name] = earlier
    return found


def _scheduled(nodes):
    """Parts of unclocked statements, in an order in which each part needs earlier ones only."""
    sources = defaultdict(set)
    for number, node in enumerate(nodes):
        for name in node.values:
            sources[name].add(number)
    needs = [
        set().union(*(sources[name] for name in node.reads if name in sources)) - {number}
        for number, node in enumerate(nodes)
    ]
    place = {id(node): number for number, node in enumerate(nodes)}
    waiting = [[place[id(node)] for node in group] for group in _by_module(nodes)]
    done: set[int] = set()

    def ready(group):
        taken: list[int] = []
        for number in group:
            if needs[number] <= done.union(taken):
                taken.append(number)
        return taken

    parts = []
    while waiting:
        batches = [ready(group) for group in waiting]
        best = max(batches, key=lambda batch: sum(len(nodes[number].text) for number in batch))
        done.update(best)
        parts.append(_Part([nodes[number] for number in best]))
        waiting = [left for group in waiting if (left := [k for k in group if k not in done])]
    return parts


def _sunk(values, clocked, kept):
    """Moves unclocked statements whose values a single clocked part reads into that part; returns
    the others."""
    readers: dict[str, set[int]] = defaultdict(set)
    for number, part in enumerate(clocked):
        for name in part.all("reads"):
            readers[name].add(number)
    left = []
    moved: dict[int, list[_Node]] = defaultdict(list)
    for node in reversed(values):
        users = set().union(*(readers[name] for name in node.values))
        if len(users) == 1 and None not in users and not node.values & kept:
            place = users.pop()
            moved[place].append(node)
            for name in node.reads:
                readers[name].add(place)
        else:
            left.append(node)
            for name in node.reads:
                readers[name].add(None)
    for place, nodes in moved.items():
        clocked[place].nodes[:0] = reversed(nodes)
    return left[::-1]


def _masks(numbers: Iterable[int]) -> dict[int, int]:
    """Bits of parts: word -> mask."""
    masks: dict[int, int] = defaultdict(int)
    for number in numbers:
        masks[number // _WORD] |= 1 << number % _WORD
    return masks


def _mark(name, numbers):
    """Statements that mark parts in a bit set."""
    return "".join(f" {name}[{word}] |= {mask:#x}ull;" for word, mask in _masks(numbers).items())


def _comparisons(changes: Mapping[str, str], readers: Mapping[str, set[int]]) -> str:
    """Statements that mark the readers of names as stale: ``changes`` has an expression for each
    name, other than zero if it has changed."""
    groups: dict[tuple[int, ...], list[str]] = defaultdict(list)
    for name, expression in changes.items():
        groups[tuple(sorted(readers.get(name, ())))].append(expression)
    return "".join(
        f"\n\tif ({' | '.join(those)}) {{{_mark('stale', numbers)} }}"
        if numbers
        else "".join(f"\n\t{expression};" for expression in those)
        for numbers, those in groups.items()
    )


def gate(source: str, header: str) -> tuple[str, str] | None:
    """Splits ``p_top::eval`` of ``design.cc`` into gated parts: ``(source, header)``; ``None`` if
    the design has statements that cannot be split this way."""
    begin, end = eval_body(source)
    top = header.index("struct p_top ")
    members = {found["name"]: found["kind"] for found in _MEMBER.finditer(header, top)}
    inputs = [
        found["name"] for found in _MEMBER.finditer(header, top) if found["port"] == "input"
    ]
    kept = {found["name"] for found in _MEMBER.finditer(header, top) if found["port"]}
    local: dict[str, str] = {}
    edges: list[str] = []
    rest: list[str] = []
    for statement in statements(without_comments(source[begin:end])):
        if (found := LOCAL.fullmatch(statement)) is not None:
            local[found[1]] = statement
        elif is_head(statement):
            if "converged" not in statement:
                edges.append(statement)
        elif statement.lstrip() != "return converged;":
            rest.append(statement)
    nodes = _joined([_node(text, members, local) for text in merged_scopes(rest)])
    if nodes is None or any("on_print" in node.text for node in nodes):
        return None
    clocked = [
        _Part(group)
        for test in sorted({node.test for node in nodes if node.test})
        for group in _by_module([node for node in nodes if node.test == test])
    ]
    values = _sunk([node for node in nodes if node.test is None], clocked, kept)
    parts = [*_scheduled(values), *clocked]
    return _write(source, header, parts, inputs, local, edges)


def _write(source, header, parts, inputs, local, edges):
    """Text of the gated design: ``(source, header)``."""
    begin, end = eval_body(source)
    readers: dict[str, set[int]] = defaultdict(set)
    makers: dict[str, set[int]] = defaultdict(set)
    for number, part in enumerate(parts):
        for name in part.all("reads"):
            readers[name].add(number)
        for name in part.all("values"):
            makers[name].add(number)
    words = -(-len(parts) // _WORD)
    own: dict[int, set[str]] = defaultdict(set)
    shared = []
    for name in local:
        users = readers[name] | makers[name]
        if len(users) == 1:
            own[next(iter(users))].add(name)
        elif users:
            shared.append(name)
    functions: list[str] = []
    evaluated: list[list[str]] = [[] for _ in range(words)]
    committed: list[list[str]] = [[] for _ in range(words)]
    declared = [local[name] for name in shared]
    for number, part in enumerate(parts):
        bit = f"[{number // _WORD}] & {1 << number % _WORD:#x}ull"
        clear = f"stale[{number // _WORD}] &= ~{1 << number % _WORD:#x}ull;"
        ran = _mark("ran", [number])
        told = sorted(
            name for name in part.all("values") if readers[name] - makers[name]
        )
        test = part.test
        texts = []
        for node in part.nodes:
            texts.append((node.test, node.text))
        functions.append(
            f"void p_top::eval_{number}(performer *performer) {{"
            + "".join(edge for edge in edges if test and re.search(r"\w+", test[3:])[0] in edge)
            + "".join(sorted(local[name] for name in own[number]))
            + "".join(f"\n\tconst auto was_{name} = {name};" for name in told)
            + join_tests(texts)
            + (f"\n\t{test}{{ {clear}{ran} }}" if test else f"\n\t{clear}")
            + _comparisons(
                {name: f"quintet::differ(was_{name}, {name})" for name in told},
                {name: readers[name] - makers[name] for name in told},
            )
            + "\n}\n"
        )
        when = f"stale{bit}"
        if part.clocked and test:
            when = f"{when} && {re.search(r'[a-z]+edge_[A-Za-z0-9_]+', test)[0]}"
        evaluated[number // _WORD].append(f"\n\t\tif ({when}) eval_{number}(performer);")
        declared.append(f"\n\tvoid eval_{number}(performer *performer);")
        registers = sorted(part.all("registers"))
        memories = sorted(part.all("memories"))
        if registers or memories:
            changes = {name: f"quintet::move({name})" for name in registers}
            changes |= {name: f"{name}.commit(observer)" for name in memories}
            functions.append(
                f"void p_top::commit_{number}() {{\n\tobserver observer;"
                + _comparisons(changes, readers)
                + "\n}\n"
            )
            declared.append(f"\n\tvoid commit_{number}();")
            committed[number // _WORD].append(f"\n\t\t\tif (ran{bit}) commit_{number}();")
    compared = [name for name in inputs if readers[name]]
    declared += [f"\n\tdecltype({name}) was_{name};" for name in compared]
    declared += [
        f"\n\tuint64_t stale[{words}], ran[{words}] = {{}};",
        "\n\tvoid touch() { for (uint64_t &word : stale) word = ~uint64_t(0); }",
    ]
    seen = _comparisons(
        {name: f"quintet::move({name}, was_{name})" for name in compared}, readers
    )
    start = begin - len(EVAL)
    source = (
        source[:start]
        + "\n".join([*functions, EVAL])
        + "\n\tbool converged = true;"
        + "".join(edges)
        + seen
        + "".join(
            f"\n\tif (stale[{word}]) {{{''.join(calls)}\n\t}}" for word, calls in enumerate(evaluated)
        )
        + "\n\treturn converged;\n"
        + source[end:]
    )
    place = header.index(_COMMIT) + len(_COMMIT)
    commits = header[place:]
    commits = _COMMITTED.sub("", commits)
    header = header[:place] + "".join(f"\t\tif (ran[{word}]) {{{''.join(calls)}\n\t\t\tran[{word}] = 0;\n\t\t}}\n" for word, calls in enumerate(committed) if calls) + commits
    place = header.rindex(
        "\n", 0, header.index("bool eval(performer *performer", header.index("struct p_top "))
    )
    header = header[:place] + "".join(declared) + header[place:]
    header = header.replace(
        "#include <cxxrtl/cxxrtl.h>\n",
        '#include <cxxrtl/cxxrtl.h>\n#include "gating.hpp"\n#define QUINTET_GATED 1\n',
        1,
    )
    header = header.replace("p_top() {", "p_top() {\n\t\ttouch();", 1)
    return source, header
