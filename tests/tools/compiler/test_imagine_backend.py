# SPDX-License-Identifier: BSD-2-Clause
"""Layers that IMAGine's array does not take, or by long programs: run by the host with
``--host-steps``, refused or run without it, and on the host alone where the user names them."""

import pytest

from quintet.tools.compiler.partition import PartitionError
from quintet.tools.compiler.planning import Options, compile_graph
from quintet.tools.compiler.target_build import target_build
from quintet.tools.compiler.values import check_inputs
from quintet.tools.compiler.verification import verify_plan
from quintet.tools.targets import open_target
from tests.tools.compiler.networks import Builder, inputs_of

TARGET = "model:imagine"


def network(kind):
    """A layer, and a dense layer behind it."""
    b = Builder(kind, (70, 4) if kind == "lstm" else (18, 18, 4) if kind == "large" else (4, 4, 4))
    if kind == "lstm":
        b.lstm(3, last=True)
    else:
        b.conv(4, (3, 3), groups=4 if kind == "groups" else 1)
        b.global_average()
    b.dense(3)
    return b.finish()


def check(kind, core_steps, options=None):
    """The network compiles to so many programs, whose results equal the reference."""
    graph = network(kind)
    values = inputs_of(graph, 2)
    plan = compile_graph(graph, target_build(TARGET), values, options)
    assert len(plan.core_steps) == core_steps
    inputs = check_inputs(plan.network, plan.inputs, values)
    found = verify_plan(plan, inputs, "model", lambda: open_target(TARGET), "reference", None)
    assert found.equal, found.difference


@pytest.mark.parametrize("kind", ("groups", "large", "lstm"))
def test_the_host_runs_these_layers_if_it_may(kind):
    check(kind, 1, Options(host_steps=True))  # the dense layer


@pytest.mark.parametrize("kind, core_steps", [("large", 2), ("lstm", 71)])
def test_large_layers_run_on_the_core_alone(kind, core_steps):
    check(kind, core_steps)


def test_groups_need_permission_for_the_host():
    graph = network("groups")
    reason = r"groups = 4: expected 1, .*; the host does it with --host-steps"
    with pytest.raises(PartitionError, match=reason):
        compile_graph(graph, target_build(TARGET), inputs_of(graph, 4))


def test_a_layer_that_the_user_leaves_to_the_host():
    graph = network("none")
    values = inputs_of(graph, 4)
    assert len(compile_graph(graph, target_build(TARGET), values).core_steps) == 2
    options = Options(on_host=(graph.nodes[0].name,))
    assert len(compile_graph(graph, target_build(TARGET), values, options).core_steps) == 1
