# SPDX-License-Identifier: BSD-2-Clause
"""Networks cut between machine and host, and what is refused."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quintet.tools.compiler import graph as g
from quintet.tools.compiler import partition as partition_module
from quintet.tools.compiler.backends.base import DECOMPOSED, HOST, NATIVE, NO, Backend, Support
from quintet.tools.compiler.evaluate import run_graph
from quintet.tools.compiler.partition import PartitionError, check_nodes, partition, separated
from tests.tools.compiler.networks import NETWORKS, Builder, graphs, inputs_of


class Machine(Backend):
    """Runs what ``answers`` says of a node's kind; nothing else."""

    isa = "machine"

    def __init__(self, answers):
        super().__init__(params={}, memory_size=1 << 16)
        self.answers = answers

    def check_support(self, graph, node):
        return self.answers.get(node.kind, Support(NO, f"no {node.kind}: expected conv"))

    def reference(self, quantised, inputs, keep=False):
        raise AssertionError("expected questions about support only")

    lower = reference


YES = Support(NATIVE)


def run_segments(segments, values):
    """All segments one after the other, each on what those before it gave."""
    known = dict(values)
    for segment in segments:
        graph = segment.graph
        known.update(run_graph(graph, {port.tensor: known[port.tensor] for port in graph.inputs}))
    return known


def test_a_last_softmax_is_the_hosts():
    graph = NETWORKS["resnet8"][1]()
    machine = Machine(
        {kind: YES for kind in ("conv", "activation", "binary", "averagepool")}
        | {"dense": Support(DECOMPOSED, "as a convolution")}
    )
    segments = partition(graph, machine)
    assert [(s.on_host, len(s.graph.nodes)) for s in segments] == [
        (False, len(graph.nodes) - 1),
        (True, 1),
    ]
    assert [port.tensor for port in segments[0].graph.outputs] == segments[1].graph.nodes[0].inputs
    assert segments[1].graph.outputs == graph.outputs and segments[0].graph.inputs == graph.inputs


def test_a_softmax_that_the_machine_runs_stays_there():
    graph = NETWORKS["autoencoder"][1]()
    assert [s.on_host for s in partition(graph, Machine({"dense": YES, "activation": YES}))] == [
        False
    ]


def test_orders_of_inputs_and_outputs_are_the_hosts_and_those_in_between_are_refused():
    b = Builder("n", (4, 4, 4))
    b.add(g.Transpose, order=(1, 2, 0))
    b.conv(4, (1, 1))
    b.add(g.Transpose, order=(2, 0, 1))
    outer = b.here
    b.add(g.Softmax)
    graph = b.finish()
    machine = Machine({"conv": YES})
    assert [s.on_host for s in partition(graph, machine)] == [True, False, True]
    b.graph.outputs.clear()
    b.conv(3, (1, 1), outer)
    with pytest.raises(PartitionError) as caught:
        partition(b.finish(), machine)
    assert [refusal.name for refusal in caught.value.refusals] == ["transpose_2"]


def test_every_refused_node_is_listed_with_who_would_run_it(monkeypatch):
    b = Builder("n", (4, 4, 2))
    b.conv(2, (1, 1))
    b.act("tanh")
    b.add(g.Pad, before=(1, 1, 0), after=(0, 0, 0), value=1.0)
    b.conv(2, (1, 1))
    graph = b.finish()
    monkeypatch.setattr(
        partition_module,
        "neighbours_of",
        lambda isa: {
            "other": Machine({"activation": YES}),
            "third": Machine({"activation": YES, "pad": YES}),
        },
    )
    machine = Machine({"conv": YES, "activation": Support(HOST, "tanh by a table is too coarse")})
    with pytest.raises(PartitionError) as caught:
        partition(graph, machine)
    assert str(caught.value).splitlines() == [
        "machine cannot run this network:",
        "  activation_1 (Activation): tanh by a table is too coarse; the host does it with "
        "--host-steps, or --approximate N; other, third would run it",
        "  pad_2 (Pad): no pad: expected conv; third would run it",
    ]
    with pytest.raises(PartitionError) as caught:
        partition(graph, machine, host_steps=True)
    assert [refusal.name for refusal in caught.value.refusals] == ["pad_2"]


def test_moves_between_nodes_of_the_host_are_the_hosts():
    b = Builder("n", (4, 4, 2))
    b.conv(2, (1, 1))
    b.act("tanh")
    b.add(g.Reshape, shape=(8, 4))
    b.act("tanh")
    machine = Machine({"conv": YES, "reshape": YES, "activation": Support(HOST, "no table")})
    assert [
        (s.on_host, len(s.graph.nodes)) for s in partition(b.finish(), machine, host_steps=True)
    ] == [(False, 1), (True, 3)]
    b.graph.outputs.clear()
    b.add(g.Reshape, shape=(32,))
    b.add(g.Dense, weights=np.ones((3, 32)))
    machine.answers["dense"] = YES
    assert [
        (s.on_host, len(s.graph.nodes)) for s in partition(b.finish(), machine, host_steps=True)
    ] == [(False, 1), (True, 3), (False, 2)]


def test_the_others_are_asked_with_their_default_builds():
    from quintet.tools.compiler.backends import backend_names

    found = partition_module.neighbours_of("machine")
    assert list(found) == backend_names()
    assert all(backend.params for backend in found.values())


def test_verdicts_are_one_a_node():
    graph = NETWORKS["lstm_classifier"][1]()
    assert [
        (node.kind, support.runs) for node, support in check_nodes(graph, Machine({"dense": YES}))
    ] == [("lstm", False), ("dense", True), ("softmax", False)]


@settings(max_examples=80, deadline=None, derandomize=True)
@given(graphs(most=8), st.integers(0, 2**32 - 1))
def test_segments_together_are_the_network(graph, seed):
    """Whatever runs where: each segment reads only what is there, and the results are the
    network's."""
    random = np.random.default_rng(seed)
    here = {
        kind: YES if random.random() < 0.5 else Support(HOST, "by the host")
        for kind in {node.kind for node in graph.nodes}
    }
    segments = partition(graph, Machine(here), host_steps=True)
    assert all(a.on_host != b.on_host for a, b in zip(segments, segments[1:], strict=False))
    assert sorted(node.name for s in segments for node in s.graph.nodes) == sorted(
        node.name for node in graph.nodes
    )
    values = inputs_of(graph)
    known = run_segments(segments, values)
    for name, value in run_graph(graph, values).items():
        np.testing.assert_array_equal(known[name], value)


def test_a_part_has_the_networks_ports_at_the_networks_border():
    b = Builder("n", (4, 4, 2))
    first = b.conv(2, (1, 1))
    b.conv(2, (1, 1))
    b.add(g.Binary, first, b.here, function="add")
    graph = b.finish(first, b.here)
    graph.inputs[0] = g.Port("pixels", graph.inputs[0].tensor, (1, 2, 0), (2, 4, 4), scale=0.5)
    parts = [graph.part([node]) for node in graph.nodes]
    assert [[port.name for port in part.inputs] for part in parts] == [
        ["pixels"],
        [first],
        [first, graph.nodes[1].output],
    ]
    assert (
        parts[0].inputs == graph.inputs
        and [port for part in parts for port in part.outputs if port in graph.outputs]
        == graph.outputs
    )
    assert [len(part.outputs) for part in parts] == [1, 1, 1] and all(
        set(part.tensors) == {*part.nodes[0].inputs, part.nodes[0].output} for part in parts
    )


def test_an_activation_that_stands_in_the_way_goes_behind_its_node():
    class Linear(Machine):
        """Takes a convolution without an activation, or with a relu."""

        def check_support(self, graph, node):
            found = getattr(node, "activation", None)
            return (
                super().check_support(graph, node)
                if found is None or found.function == "relu"
                else Support(NO, f"{found.function} behind it")
            )

    b = Builder("n", (4, 4, 2))
    for function in ("leaky", "relu"):
        b.conv(2, (1, 1))
        b.graph.nodes[-1].activation = g.Activation(
            name="", inputs=[], output="", function=function, alpha=0.1
        )
    graph = b.finish()
    before = run_graph(graph, inputs_of(graph), keep=True)
    found = separated(graph, Linear({"conv": YES}))
    assert [(node.name, node.kind) for node in found.nodes] == [
        ("conv_0", "conv"),
        ("conv_0:leaky", "activation"),
        ("conv_1", "conv"),
    ]
    assert found.nodes[2] is graph.nodes[1] and len(graph.nodes) == 2
    after = run_graph(found, inputs_of(graph), keep=True)
    for name, value in before.items():
        np.testing.assert_array_equal(after[name], value)
    assert separated(graph, Linear({})).nodes == graph.nodes


def test_a_last_activation_is_the_hosts_and_one_between_layers_is_not():
    b = Builder("n", (4, 4, 2))
    b.conv(2, (1, 1))
    b.act("sigmoid")
    machine = Machine({"conv": YES, "activation": Support(HOST, "sigmoid")})
    assert [s.on_host for s in partition(b.finish(), machine)] == [False, True]
    b.conv(2, (1, 1))
    with pytest.raises(PartitionError, match="sigmoid; the host does it with --host-steps"):
        partition(b.finish(), machine)


def heads(b):
    """Two maps that become rows of one output, as detectors have them."""
    source, found = b.here, []
    for _ in range(2):
        b.conv(6, (1, 1), source)
        rows = b.shape()[0] * b.shape()[1]
        b.add(g.Reshape, shape=(rows, 2, 3))
        b.add(g.Transpose, order=(1, 0, 2))
        found.append(b.add(g.Reshape, shape=(2 * rows, 3)))
    b.add(g.Concat, *found, axis=0)


@pytest.mark.parametrize("more", [(), ("concat",), ("concat", "activation", "reshape")])
def test_joined_outputs_are_the_hosts_with_all_that_stands_behind(more):
    b = Builder("n", (4, 4, 4))
    heads(b)
    b.act("sigmoid")
    graph = b.finish()
    machine = Machine(
        {kind: Support(HOST, "no movement") for kind in ("reshape", "transpose", "concat")}
        | {"activation": Support(HOST, "no sigmoid")}
        | {kind: YES for kind in ("conv", *more)}
    )
    segments = partition(graph, machine)
    assert [segment.on_host for segment in segments] == [False, True]
    assert {node.kind for node in segments[0].graph.nodes} <= {"conv", "reshape"}


def test_a_join_that_a_layer_reads_is_refused():
    b = Builder("n", (4, 4, 4))
    heads(b)
    b.add(g.Dense, weights=b.normal(2, 3), steps=True)
    with pytest.raises(PartitionError, match="no joins"):
        partition(
            b.finish(),
            Machine(
                {kind: YES for kind in ("conv", "reshape", "transpose", "dense")}
                | {"concat": Support(HOST, "no joins")}
            ),
        )
