# SPDX-License-Identifier: BSD-2-Clause
"""Clips on machines that clip where their numbers end: what goes higher, beside them or in a
layer's own sums, is not cut."""

import numpy as np
import pytest

from quintet.tools.compiler import graph as g
from quintet.tools.compiler.evaluate import run_graph
from quintet.tools.compiler.planning import compile_graph, random_calibration
from quintet.tools.compiler.session import Session
from quintet.tools.compiler.target_build import target_build
from quintet.tools.compiler.verification import verify_plan
from quintet.tools.targets import open_target
from tests.tools.compiler.networks import Builder

HIGH = 1.5


def clip(b, source=None):
    return b.act("clip", source, low=0.0, high=HIGH)


def residual(b):
    """relu6 of a layer, added to the layer that it was made of: the sum goes above the bound."""
    first = b.conv(8, (3, 3))
    b.add(g.Binary, clip(b), first, function="add")


def of_a_sum(b):
    first = b.conv(8, (3, 3))
    b.here = "input_0"
    b.add(g.Binary, first, b.conv(8, (1, 1)), function="add")
    b.graph.nodes[-1].activation = g.Activation(
        name="", inputs=[], output="", function="clip", low=0.0, high=HIGH
    )


def joined(b):
    first = b.conv(8, (3, 3))
    b.add(g.Concat, clip(b), first, axis=2)


def pooled(b):
    first = b.conv(8, (3, 3))
    clip(b)
    b.add(g.MaxPool, window=(2, 2), stride=(1, 1), padding=(0, 0, 1, 1))
    b.add(g.Binary, first, b.here, function="sub")


def behind_large_sums(b):
    """The layer's sums go many times above the bound, tap by tap."""
    b.conv(8, (3, 3))
    b.graph.nodes[-1].weights *= 4
    clip(b)


def vector_of_large_sums(b):
    b.dense(12)
    b.graph.nodes[-1].weights *= 8
    clip(b)
    b.dense(5)


def both_clipped(b):
    first = clip(b, b.conv(4, (3, 3)))
    b.here = "input_0"
    b.add(g.Concat, first, clip(b, b.conv(4, (1, 1))), axis=2)


CASES = {
    residual: 28,
    of_a_sum: 28,
    joined: 28,
    pooled: 28,
    both_clipped: 25,
    behind_large_sums: 26,
    vector_of_large_sums: 24,
}


@pytest.mark.parametrize(
    "make, isa", [(make, isa) for make in CASES for isa in ("opu", "opentpu", "pim")]
)
def test_nothing_else_is_cut(make, isa):
    made = Builder("clips", (7, 7, 4), 1)
    make(made)
    if len(made.shape()) == 3:
        made.conv(6, (1, 1))
    graph = made.finish()
    target = f"model:{isa}?preset={'85f-8x8-conv' if isa == 'opentpu' else '85f'}"
    plan = compile_graph(graph, target_build(target), calibration=random_calibration(graph))
    inputs = random_calibration(graph, count=8, seed=5)
    found = verify_plan(plan, inputs, "model", lambda: open_target(target), "reference", None)
    assert found.equal, found.difference
    (exact,) = run_graph(graph, inputs).values()
    with Session(plan, open_target(target)) as session:
        got = session(inputs["input_0"])
    # Cut at the bound it was 7 to 13 dB on OPU and OpenTPU, with sums cut tap by tap 2 to 16 on the
    # OPU.
    assert 10 * np.log10((exact**2).sum() / ((got - exact) ** 2).sum()) > CASES[make]


@pytest.mark.parametrize("high, layers", [(1.5, 2), (6.0, 1)])
def test_a_clip_is_a_layer_of_its_own_where_sums_go_far_above_it_alone(high, layers):
    made = Builder("clip", (7, 7, 4), 1)
    made.conv(8, (3, 3))
    made.act("clip", low=0.0, high=high)
    graph = made.finish()
    plan = compile_graph(
        graph, target_build("model:opu?preset=85f"), calibration=random_calibration(graph)
    )
    assert len(plan.core_steps[0].part.graph.nodes) == layers
    assert sum(choice["what"] == "clip" for choice in plan.choices) == layers - 1
