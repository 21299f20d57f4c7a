# SPDX-License-Identifier: BSD-2-Clause
"""Conflicts between layers that no support check knows of: the node goes to the host if that is
allowed, and is refused by its own name if not."""

import numpy as np
import pytest

pytest.importorskip("onnx")

from hypothesis import given, seed, settings
from onnx import helper

from quintet.tools.compiler import graph as g
from quintet.tools.compiler import planning
from quintet.tools.compiler.backends import backend_names
from quintet.tools.compiler.backends.base import LoweringError
from quintet.tools.compiler.backends.pim.backend import PIMBackend
from quintet.tools.compiler.partition import PartitionError
from quintet.tools.compiler.plan import HostStep
from quintet.tools.compiler.planning import Options, _own_node, compile_graph, outline
from quintet.tools.compiler.quantise import integers, quantiser
from quintet.tools.compiler.target_build import target_build
from quintet.tools.compiler.verification import random_inputs, verify_plan
from quintet.tools.targets import open_target
from tests.tools.compiler.networks import Builder, graphs
from tests.tools.compiler.onnx_models import import_model, make_model
from tests.tools.compiler.test_random_networks import _QUIET, build_of, check


def tcn(folder, channels=4, steps=24, dilations=(1, 2, 4)):
    """Temporal convolutional network: dilated causal convolutions with residuals, on sequences
    [channels, steps], the last state of which is classified."""
    random = np.random.default_rng(0)
    nodes, constants, here = [], {}, "x"
    for number, dilation in enumerate(dilations):
        before = f"pads_{number}", f"padded_{number}", f"weights_{number}", f"conv_{number}"
        pads, padded, weights, made = before
        constants[pads] = np.array([0, 0, 2 * dilation, 0, 0, 0], np.int64)
        constants[weights] = random.normal(size=(channels, channels, 3)) / 4
        nodes += [
            helper.make_node("Pad", [here, pads], [padded], name=f"Pad_{number}"),
            helper.make_node(
                "Conv", [padded, weights], [made], name=f"Conv_{number}", dilations=[dilation]
            ),
            helper.make_node("Relu", [made], [f"relu_{number}"], name=f"Relu_{number}"),
            helper.make_node(
                "Add", [f"relu_{number}", here], [f"y_{number}"], name=f"Add_{number}"
            ),
        ]
        here = f"y_{number}"
    nodes[-1].output[0] = "y"
    shape = ("batch", channels, steps)
    model = make_model(nodes, {"x": shape}, {"y": shape}, constants)
    return import_model(model, folder)


@pytest.mark.parametrize("host_steps", (False, True))
@pytest.mark.parametrize("isa", backend_names())
def test_causal_convolutions_with_residuals_on_every_core(isa, host_steps, tmp_path):
    graph = tcn(tmp_path)
    seen = {}
    if host_steps:
        check(graph, isa, seen)
        assert seen == {"equal": 1}
        return
    try:
        compile_graph(graph, build_of(isa), options=Options())
    except PartitionError as error:
        # By the names that the model has.
        assert all(
            refusal.name.startswith(("Pad_", "Conv_", "Relu_", "Add_", "y_"))
            for refusal in error.refusals
        ), error
        assert "the host does it with --host-steps" in str(error)


@pytest.mark.parametrize("isa", backend_names())
def test_nothing_is_refused_late_where_the_host_may_help(isa):
    @seed(7)
    @settings(max_examples=60, database=None, derandomize=False, **_QUIET)
    @given(graphs(most=6))
    def run(graph):
        try:
            compile_graph(graph, build_of(isa), options=Options(host_steps=True, dry=True))
        except PartitionError as error:
            # What nobody runs is known from the start.
            assert all(refusal.answer == "no" for refusal in error.refusals)

    run()


def test_opu_turns_a_copy_of_what_another_layer_pads():
    made = Builder("padded and turned", (6, 4), 1)
    source = made.here
    padded = made.add(g.Pad, source, before=(2, 0), after=(0, 0), value=0.0)
    turned = made.add(g.Transpose, source, order=(1, 0))
    product = made.add(g.MatMul, source, turned)
    plan = compile_graph(made.finish(padded, product), build_of("opu"))
    assert not [step for step in plan.steps if step not in plan.core_steps]
    found = verify_plan(
        plan, random_inputs(plan), "model", lambda: open_target("model:opu"), "reference", None
    )
    assert found.equal, found.difference


@pytest.fixture
def wide(monkeypatch):
    """A recurrent layer of 40 states, for a core that takes 32 and finds that out when it fills its
    arrays."""

    def check_arrays(backend, graph):
        for node in graph.nodes:
            if isinstance(node, g.Lstm) and node.recurrent.shape[1] > 32:
                raise LoweringError("the arrays do not hold the weights", node.name)

    monkeypatch.setattr(PIMBackend, "check", check_arrays)
    made = Builder("wide", (3, 4), 1)
    made.lstm(40)
    made.dense(4)
    return made.finish()


def test_what_does_not_fit_is_refused_before_anything_is_quantised(wide, monkeypatch):
    monkeypatch.setattr(planning, "quantise", None)
    with pytest.raises(
        PartitionError,
        match=(
            r"lstm_0 \(Lstm\): the arrays do not hold the weights; the largest number of states "
            "that fits is 32; the host does it with --host-steps; "
        ),
    ):
        compile_graph(wide, target_build("model:pim", "sim"))


def test_what_does_not_fit_goes_to_the_host(wide):
    plan = compile_graph(
        wide, target_build("model:pim", "sim"), options=Options(host_steps=True, dry=True)
    )
    assert [
        [node.name for node in step.graph.nodes]
        for step in plan.steps
        if isinstance(step, HostStep)
    ] == [["lstm_0"]]
    assert plan.core_steps


def test_nodes_at_fault_are_named_as_in_the_network():
    """The message names the node of the network, also where the layer is compiled in pieces."""
    network = Builder("pieces", (60,), 1)
    network.dense(300)
    made = outline(network.finish(), target_build("model:pim", "sim"), Options())
    pieces = [node.name for _, part in made.segments for node in part.nodes]
    assert len(pieces) > 2
    assert {_own_node(made, name).name for name in pieces} == {"dense_0"}
    assert _own_node(made, None) is None and _own_node(made, "elsewhere") is None


def test_a_dry_run_searches_no_numbers_and_writes_no_buffered_copy(monkeypatch):
    made = Builder("small", (8, 8, 3), 1)
    made.conv(8, (3, 3), relu=True)
    graph, build = made.finish(), target_build("model:pim")
    whole = compile_graph(graph, build)
    monkeypatch.setattr(integers, "round_with_feedback", None)
    monkeypatch.setattr(quantiser, "mean_error", None)
    dry = compile_graph(graph, build, options=Options(dry=True))
    assert dry.cycles == whole.cycles
    assert [step.buffered_copy for step in dry.core_steps] == [None]
    assert [step.buffered_copy is not None for step in whole.core_steps] == [True]
