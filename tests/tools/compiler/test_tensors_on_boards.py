# SPDX-License-Identifier: BSD-2-Clause
"""Networks that multiply tensors that flow, and recurrent ones, on virtual boards: every tensor of
every layer equal to the reference."""

import pytest

from quintet.tools.compiler import graph as g
from quintet.tools.compiler.planning import Options, compile_graph, random_calibration
from quintet.tools.compiler.session import Session
from quintet.tools.compiler.target_build import target_build
from quintet.tools.compiler.verification import verify_plan
from quintet.tools.targets import open_target
from tests.tools.compiler.networks import Builder
from tests.tools.compiler.test_products_of_tensors import head

pytestmark = pytest.mark.long


def verified(graph, target):
    plan = compile_graph(
        graph,
        target_build(target),
        calibration=random_calibration(graph),
        options=Options(host_steps=True),
    )
    found = verify_plan(
        plan,
        random_calibration(graph, count=2, seed=5),
        target,
        lambda: open_target(target),
        "reference",
        None,
    )
    assert found.equal, found.difference


@pytest.mark.parametrize("isa", ["opu", "opentpu", "pim"])
def test_attention(isa):
    verified(head(20, 12, 16), f"sim:ulx3s-85f/{isa}")


def test_layers_larger_than_the_arrays_of_pim():
    made = Builder("large", (12, 5, 131), 1)
    made.conv(4, (3, 3), relu=True)
    made.add(g.MaxPool, window=(3, 2), stride=(1, 1), dilation=(2, 3))
    made.add(g.Transpose, order=(1, 0, 2))
    made.conv(3, (1, 1))
    verified(made.finish(), "sim:ulx3s-25f/pim")


def test_rows_and_kernels_larger_than_the_memories_of_pim():
    made = Builder("large", (2, 600), 1)
    made.add(g.Softmax)
    rows = made.add(g.LayerNorm, scale=made.normal(600) + 1, shift=made.normal(600))
    product = made.add(g.MatMul, made.input((2, 2100)), made.input((2100, 2)))
    made.here = made.input((25, 24, 1))
    kernel = made.conv(2, (25, 24), padding=(1, 0, 0, 1))
    verified(made.finish(rows, product, kernel), "sim:ulx3s-25f/pim")


def test_windows_larger_than_the_scratchpad_of_cherry():
    made = Builder("large", (24, 23, 3), 1)
    made.conv(3, (24, 23), groups=3, padding=(0, 0, 0, 1))
    made.act("relu")
    verified(made.finish(), "sim:icebreaker/cherry")


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_recurrent_layers_on_pim(kind):
    made = Builder("cell", (6, 10), 1)
    made.lstm(20) if kind == "lstm" else made.gru(20, linear_before_reset=True)
    made.dense(4)
    verified(made.finish(), "sim:ulx3s-85f/pim")


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_recurrent_layers_on_several_cores_of_pim(kind):
    made = Builder("cell", (4, 100), 1)
    made.lstm(100) if kind == "lstm" else made.gru(100)
    made.dense(4)
    verified(made.finish(), "sim:ulx3s-85f/pim")


@pytest.mark.parametrize("kind", ["lstm", "gru"])
@pytest.mark.parametrize(("target", "states"), [("ulx3s-25f", 100), ("ulx3s-85f", 300)])
def test_recurrent_layers_streamed_on_pim(kind, target, states):
    """Every tensor, and the estimate of a run whose arrays are filled already."""
    made = Builder("cell", (2, 20), 1)
    getattr(made, kind)(states)
    graph, name = made.finish(), f"sim:{target}/pim"
    verified(graph, name)
    plan = compile_graph(graph, target_build(name), random_calibration(graph))
    (step,) = plan.core_steps
    inputs = random_calibration(graph, count=2, seed=5)["input_0"]
    with Session(plan, open_target(name)) as session:
        session(inputs[:1])
        first = session.report.counters["cycles"]
        session(inputs[1:])
        measured = session.report.counters["cycles"] - first
    estimate = sum(layer.cycles for layer in step.lowered.layers)
    assert abs(estimate / measured - 1) < 0.08, (estimate, measured)
