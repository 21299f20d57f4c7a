# SPDX-License-Identifier: BSD-2-Clause
"""Partitioning: cuts a network into segments for the core and for the host, and reports all nodes
that neither may run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ...gateware.cores import CoreError, open_core
from ..errors import InputError
from .backends import backend_class, backend_names
from .backends.base import BETWEEN, HOST, NO, Backend, Support
from .graph import (
    INDEX_FUNCTIONS,
    Activation,
    Affine,
    Binary,
    Concat,
    Conv,
    Dense,
    Graph,
    Node,
    Reduce,
    Reshape,
    Slice,
    Softmax,
    Tensor,
    TopK,
    Transpose,
)
from .passes.curves import approximable, substituted

__all__ = [
    "PartitionError",
    "Refusal",
    "Segment",
    "neighbours_of",
    "partition",
    "refusal",
    "separated",
    "check_nodes",
]

_LAYOUT = (Reshape, Transpose)
#: Kinds that only join or choose elements: the host does them with outputs, as those of _LAYOUT.
_JOINS = (Concat, Slice)


@dataclass(frozen=True)
class Refusal:
    """A node that neither the core nor the host may run.

    Attributes
    ----------
    name, kind : of the node; ``origin``: its operators in the model's file
    answer : HOST or NO, as the back end's support check gives it
    reason : str
    others : names of the instruction sets that would run it
    approximable : whether it is one of the functions that ``--approximate`` replaces on this core
    largest : text that names the largest size that fits, if a smaller layer does
    """

    name: str
    kind: str
    origin: str
    answer: str
    reason: str
    others: tuple[str, ...] = ()
    approximable: bool = False
    largest: str = ""

    def __str__(self):
        return self.text(self.reason)

    def text(self, reason: str) -> str:
        """Text of the refusal, with ``reason`` in place of its own."""
        host = "; the host does it with --host-steps" if self.answer == HOST else ""
        if self.approximable:
            host += ", or --approximate N" if host else "; --approximate N replaces it"
        others = f"; {', '.join(self.others)} would run it" if self.others else ""
        largest = f"; {self.largest}" if self.largest else ""
        return f"{self.name} ({self.origin or self.kind}): {reason}{largest}{host}{others}"


#: Characters of a reason from which on a message has it once.
_LONG = 100


def _lines(refusals):
    """Text lines of refusals, one each; a long reason is printed with the first, and others refer
    to it."""
    first: dict[str, str] = {}
    for refusal in refusals:
        name = first.setdefault(refusal.reason, refusal.name)
        again = name != refusal.name and len(refusal.reason) >= _LONG
        yield refusal.text(f"as {name}") if again else str(refusal)


class PartitionError(InputError):
    """Error: the core cannot run the network; ``refusals`` lists every node at fault."""

    #: A line for each of them.
    listing = True

    def __init__(self, isa: str, refusals: Sequence[Refusal]):
        super().__init__("\n  ".join([f"{isa} cannot run this network:", *_lines(refusals)]))
        self.refusals = refusals


@dataclass(frozen=True, eq=False)
class Segment:
    """A subgraph that runs either on the core or on the host.

    Attributes
    ----------
    on_host : bool, by numpy on the host, else on the core
    graph : Graph with these nodes;
        its ports are the tensors that come from other segments and that go to them, and the
        network's own
    """

    on_host: bool
    graph: Graph


def separated(graph: Graph, backend: Backend) -> Graph:
    """Brings a simplified graph into a form of which the core runs most: hard sigmoid and hard
    swish by other nodes if it has those, and the fused activation of every node that it supports
    only without it as a node of its own."""
    graph = substituted(graph, backend)
    result = Graph(graph.name, graph.inputs, graph.outputs, [], dict(graph.tensors))
    for node in graph.nodes:
        if not isinstance(node, Conv | Dense | Binary | Affine):
            result.nodes.append(node)
            continue
        activation = node.activation
        if (
            activation is None
            or backend.check_support(graph, node).runs
            or not backend.check_support(graph, replace(node, activation=None)).runs
        ):
            result.nodes.append(node)
            continue
        before = f"{node.output}:linear"
        result.tensors[before] = Tensor(before, graph.shape(node.output))
        result.nodes += [
            replace(node, output=before, activation=None),
            replace(
                activation,
                name=f"{node.name}:{activation.function}",
                inputs=[before],
                output=node.output,
                origin=node.origin,
            ),
        ]
    return result


def check_nodes(graph: Graph, backend: Backend) -> list[tuple[Node, Support]]:
    """Support check of every node of a graph: pairs (node, Support)."""
    return [
        (
            node,
            Support(HOST, backend.forced_to_host[node.name])
            if node.name in backend.forced_to_host
            else backend.check_support(graph, node),
        )
        for node in graph.nodes
    ]


def partition(
    graph: Graph, backend: Backend, *, host_steps: bool = False, others: bool = True
) -> list[Segment]:
    """Segments of a network in execution order.

    Parameters
    ----------
    graph : Graph, after the passes
    backend : Backend of the core
    host_steps : bool, the host may run any node;
        without it only what stands last (an activation, softmax, argmax), moves elements of an
        input or output, or joins and cuts outputs
    others : bool, ask the other instruction sets about refused nodes

    Raises
    ------
    PartitionError
        The message lists every node that can run nowhere.
    """
    answers = {node.name: support for node, support in check_nodes(graph, backend)}
    while True:
        _refuse(graph, backend, answers, host_steps, others)
        segments = _segments(graph, answers)
        # Cut off from its neighbours a node may be one that the core does not run: a transpose
        # that only the product reading it does.
        late = {
            node.name: support
            for segment in segments
            if not segment.on_host and len(segments) > 1
            for node, support in check_nodes(segment.graph, backend)
            if not support.runs
        }
        if not late:
            return segments
        answers |= late


def _refuse(graph, backend, answers, host_steps, others):
    """Raises PartitionError for the nodes that neither the core nor the host runs; ``answers``:
    name -> Support."""
    at_edge = _edge(graph, {name for name, support in answers.items() if not support.runs})
    refused = [
        node
        for node in graph.nodes
        if not answers[node.name].runs
        and node.name not in at_edge
        and answers[node.name].answer != BETWEEN
        and (answers[node.name].answer == NO or not host_steps)
    ]
    if refused:
        neighbours = neighbours_of(backend.isa) if others else {}
        replaced = approximable(graph, backend)
        refusals = [refusal(graph, node, answers[node.name], neighbours) for node in refused]
        raise PartitionError(
            backend.isa, [replace(one, approximable=one.name in replaced) for one in refusals]
        )


def refusal(
    graph: Graph, node: Node, support: Support, neighbours: Mapping[str, Backend]
) -> Refusal:
    """Builds the :class:`Refusal` of a node; ``neighbours``: name -> back end of the other
    instruction sets (:func:`neighbours_of`)."""
    others = tuple(isa for isa, other in neighbours.items() if _would_run(other, graph, node))
    return Refusal(node.name, node.kind, node.origin, support.answer, support.reason, others)


def _would_run(backend, graph, node):
    """Whether another core runs a node. The result only adds a hint to a refusal, so a support
    check that fails counts as no: its defect must not replace the refusal."""
    try:
        return backend.check_support(graph, node).runs
    except Exception:
        return False


def _segments(graph, answers):
    """Splits a network into segments; ``answers`` says which nodes run on the core."""
    places = {node.name: not answers[node.name].runs for node in graph.nodes}
    # What only the end of the network reads does not go back to the core from the host.
    made, ending = {node.output: node.name for node in graph.nodes}, _ending(graph)
    for node in graph.nodes:
        sources = [made[name] for name in node.inputs if name in made]
        if node.name in ending and any(places[name] and name in ending for name in sources):
            places[node.name] = True
    groups = _grouped(graph, places)
    if len(groups) > 1:
        # A segment that only moves elements does not run on the core between two of the host's.
        places |= {
            node.name: True
            for on_host, nodes in groups
            if not on_host and all(isinstance(node, _LAYOUT) for node in nodes)
            for node in nodes
        }
        groups = _grouped(graph, places)
    return [Segment(on_host, graph.part(nodes)) for on_host, nodes in groups]


def _is_final(node):
    """Whether the host may do a node that stands last."""
    return (
        isinstance(node, (Activation, Softmax, TopK, *_LAYOUT, *_JOINS))
        or isinstance(node, Reduce)
        and node.function in INDEX_FUNCTIONS
    )


def _ending(graph):
    """Names of the nodes behind which there is nothing but nodes that the host may do last, as they
    are themselves."""
    readers: dict[str, list[Node]] = {}
    for node in graph.nodes:
        for name in node.inputs:
            readers.setdefault(name, []).append(node)
    last: set[str] = set()
    for node in reversed(graph.nodes):
        behind = readers.get(node.output, ())
        if _is_final(node) and all(reader.name in last for reader in behind):
            last.add(node.name)
    return last


def _edge(graph, off):
    """Names of the nodes in ``off`` (which the core does not run) that the host runs without
    ``host_steps``: an activation, softmax, argmax or top-k at the end, layout changes of inputs and
    outputs, and outputs that are joined or cut."""
    made = {node.output: node for node in graph.nodes}
    first: set[str] = set()
    for node in graph.nodes:
        if (
            node.name in off
            and isinstance(node, _LAYOUT)
            and all(name not in made or made[name].name in first for name in node.inputs)
        ):
            first.add(node.name)
    return (_ending(graph) & off) | first


def neighbours_of(isa: str) -> dict[str, Backend]:
    """Back ends of all other instruction sets by name, each for its default preset."""
    found = {}
    for name in backend_names():
        if name == isa:
            continue
        try:
            space = open_core(name).params.SPACE
        except CoreError:
            continue
        # A support check does not depend on memory.
        found[name] = backend_class(name)(params=space.resolve(), memory_size=1 << 32)
    return found


def _grouped(graph, on_host):
    """Groups nodes into alternating runs of core and host nodes, as few as their order allows:
    (whether on the host, nodes)."""
    made = {node.output for node in graph.nodes}
    waiting, done, groups = list(graph.nodes), set(), []
    # A network begins where its first node runs.
    turn = on_host[waiting[0].name] if waiting else False
    while waiting:
        group, left = [], []
        for node in waiting:
            if on_host[node.name] == turn and all(
                name in done or name not in made for name in node.inputs
            ):
                group.append(node)
                done.add(node.output)
            else:
                left.append(node)
        if group:
            groups.append((turn, group))
        waiting, turn = left, not turn
    return groups
