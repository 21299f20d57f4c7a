# SPDX-License-Identifier: BSD-2-Clause
"""Nodes that PIM does as convolutions: no host steps, and the golden model equals the reference."""

import numpy as np
import pytest
from hypothesis import given, seed, settings

from quintet.tools.compiler import graph as g
from quintet.tools.compiler.backends import backend_class
from quintet.tools.compiler.planning import Options, compile_graph
from tests.support.shares import fewer
from tests.tools.compiler.networks import Builder, graphs
from tests.tools.compiler.test_random_networks import _QUIET, build_of, check


def _slice(shape, start, stop, step):
    return g.Slice, shape, {"start": start, "stop": stop, "step": step}


CASES = {
    "scale of a map": (g.Affine, (3, 4, 5), {"scale": np.arange(5.0), "shift": np.ones(5)}),
    "scale of a sequence": (g.Affine, (4, 5), {"scale": np.arange(5.0), "shift": np.ones(5)}),
    "scale of a vector": (g.Affine, (5,), {"scale": np.arange(5.0), "shift": np.ones(5)}),
    "rows": _slice((5, 4, 3), (1, 0, 0), (5, 4, 3), (2, 1, 1)),
    "channels": _slice((5, 4, 6), (0, 0, 1), (5, 4, 6), (1, 1, 2)),
    "last step": _slice((9, 4), (8, 0), (9, 4), (1, 1)),
    "leaky": (g.Activation, (3, 4, 5), {"function": "leaky", "alpha": 0.1}),
    "leaky, steep and falling": (g.Activation, (4, 5), {"function": "leaky", "alpha": -1.5}),
    "neg": (g.Activation, (3, 4, 5), {"function": "neg"}),
    "abs": (g.Activation, (6,), {"function": "abs"}),
}


@pytest.mark.parametrize("name", CASES)
def test_runs_on_the_core_alone(name):
    kind, shape, attributes = CASES[name]
    made = Builder("rewritten", shape, 1)
    if len(shape) == 3:
        made.conv(shape[2], (1, 1))
    else:
        made.dense(shape[-1], steps=len(shape) == 2)
    made.add(kind, **attributes)
    made.dense(3)
    graph = made.finish()
    plan = compile_graph(graph, build_of("pim"), options=Options())
    assert len(plan.core_steps) == len(plan.steps)
    seen = {}
    check(graph, "pim", seen)
    assert seen == {"equal": 1}


def test_long_slices_go_to_the_host_with_the_reason():
    made = Builder("slice", (100, 4), 1)
    made.dense(4, steps=True)
    made.add(g.Slice, start=(99, 0), stop=(100, 4), step=(1, 1))
    made.dense(3)
    graph = made.finish()
    build = build_of("pim")
    backend = backend_class("pim")(params=build.params, memory_size=1 << 20)
    support = backend.check_support(graph, graph.nodes[1])
    assert not support.runs
    assert "slice that leaves out 0 rows and 99 columns at its ends" in support.reason


def test_random_networks_of_rewritten_nodes():
    kinds = ("conv", "dense", "relu", "affine", "slice", "leaky", "neg", "abs", "prelu", "concat")
    seen = {}

    @seed(1)
    @settings(max_examples=40, database=None, **_QUIET)
    @given(graphs(kinds, most=5))
    def run(graph):
        check(graph, "pim", seen)

    run()
    assert seen.get("equal", 0) >= fewer(20)
