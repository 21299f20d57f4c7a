# SPDX-License-Identifier: BSD-2-Clause
"""Layers that IMAGine's array does not take: refused without ``--host-steps``, run by the host with
it, and by the host alone where the user names them."""

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
    """A layer that the array does not take, and a dense layer that it does."""
    b = Builder(kind, (70, 4) if kind == "lstm" else (18, 18, 4) if kind == "large" else (4, 4, 4))
    if kind == "lstm":
        b.lstm(3, last=True)
    else:
        b.conv(4, (3, 3), groups=4 if kind == "groups" else 1)
        b.global_average()
    b.dense(3)
    return b.finish()


@pytest.mark.parametrize(
    "kind, reason",
    [
        ("groups", r"groups = 4: expected 1, .*; the host does it with --host-steps"),
        (
            "large",
            r"324 positions, .*: expected at most 256; .* 16 x 16; the host does it with",
        ),
        (
            "lstm",
            r"70 steps: expected at most 64; .* fits is 64; the host does it with --host-steps",
        ),
    ],
)
def test_layers_for_which_the_host_needs_permission(kind, reason):
    graph = network(kind)
    values = inputs_of(graph, 4)
    with pytest.raises(PartitionError, match=reason):
        compile_graph(graph, target_build(TARGET), values)
    plan = compile_graph(graph, target_build(TARGET), values, Options(host_steps=True))
    assert len(plan.core_steps) == 1  # the dense layer
    inputs = check_inputs(plan.network, plan.inputs, values)
    found = verify_plan(plan, inputs, "model", lambda: open_target(TARGET), "reference", None)
    assert found.equal, found.difference


def test_a_layer_that_the_user_leaves_to_the_host():
    graph = network("none")
    values = inputs_of(graph, 4)
    assert len(compile_graph(graph, target_build(TARGET), values).core_steps) == 2
    options = Options(on_host=(graph.nodes[0].name,))
    assert len(compile_graph(graph, target_build(TARGET), values, options).core_steps) == 1
