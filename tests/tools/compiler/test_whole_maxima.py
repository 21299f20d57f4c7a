# SPDX-License-Identifier: BSD-2-Clause
"""Maxima of whole maps on cores whose windows are smaller: windows first, then their results."""

import pytest

from quintet.tools.compiler import graph as g
from quintet.tools.compiler.backends.rewriting import maxima_in_steps
from quintet.tools.compiler.planning import compile_graph, random_calibration
from quintet.tools.compiler.target_build import target_build
from quintet.tools.compiler.verification import random_inputs, verify_plan
from quintet.tools.targets import open_target
from tests.tools.compiler.networks import Builder


def maximum(rows, columns, channels):
    b = Builder("maximum", (rows, columns, channels), 3)
    b.add(g.MaxPool, window=(rows, columns), stride=(1, 1))
    return b.finish()


@pytest.mark.parametrize("sides", [(16, 15), (3, 97), (200, 1), (40, 33), (113, 1)])
@pytest.mark.parametrize("isa, preset", [("opu", "sim"), ("opentpu", "sim-ext")])
def test_maxima_of_large_maps(isa, preset, sides):
    graph = maximum(*sides, 5)
    plan = compile_graph(graph, target_build(f"model:{isa}", preset), random_calibration(graph))
    assert len(plan.core_steps) == len(plan.steps)
    target = f"model:{isa}?preset={preset}"
    found = verify_plan(
        plan, random_inputs(plan), "model", lambda: open_target(target), "reference", None
    )
    assert found.equal, found.difference


@pytest.mark.parametrize("side", [15, 16, 17, 22, 100, 1023])
def test_windows_end_with_the_map(side):
    made = maxima_in_steps(maximum(side, 4, 2), 15)
    length = side
    for node in made.nodes:
        assert max(node.window) <= 15 and max(node.stride) <= 7
        assert node.window[0] >= node.stride[0]
        assert (length - node.window[0]) % node.stride[0] == 0
        length = made.shape(node.output)[0]
    assert length == 1 and made.nodes[-1].output == "maxpool_0:0"
    assert maxima_in_steps(made, 15).nodes == made.nodes
