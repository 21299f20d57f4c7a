# SPDX-License-Identifier: BSD-2-Clause
"""LSTM and GRU whole on PIM: every state equal to the reference on the golden model, and close to
the float network."""

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quintet.gateware.cores import open_core
from quintet.tools.compiler import graph as g
from quintet.tools.compiler.backends.base import HOST, NATIVE, LoweringError
from quintet.tools.compiler.backends.pim.backend import PIMBackend
from quintet.tools.compiler.backends.pim.recurrent import spread_of
from quintet.tools.compiler.evaluate import run_graph
from quintet.tools.compiler.planning import Options, compile_graph, random_calibration
from quintet.tools.compiler.session import Session
from quintet.tools.compiler.target_build import target_build
from quintet.tools.compiler.verification import random_inputs, verify_plan
from quintet.tools.targets import open_target
from tests.tools.compiler.networks import Builder
from tests.tools.compiler.test_random_networks import check

BUILD = "model:pim?preset=85f"


def layer(b, kind, hidden, **options):
    if kind == "lstm":
        return b.lstm(hidden, **options)
    return b.gru(hidden, linear_before_reset=kind == "gru, linear", **options)


def compiled(b, build=BUILD):
    graph = b.finish()
    return graph, compile_graph(graph, target_build(build), calibration=random_calibration(graph))


@pytest.mark.parametrize("kind", ["lstm", "gru", "gru, linear"])
@settings(max_examples=20, deadline=None)
@given(
    st.integers(1, 9),
    st.integers(1, 20),
    st.one_of(st.integers(1, 20), st.sampled_from((21, 43, 61))),
    st.booleans(),
    st.booleans(),
    st.integers(0, 1 << 20),
)
def test_shapes_and_values(kind, steps, features, hidden, last, reverse, seed):
    made = Builder("cell", (steps, features), seed)
    layer(made, kind, hidden, last=last, reverse=reverse)
    node = made.graph.nodes[-1]
    node.initial = np.random.default_rng(seed).uniform(-1, 1, hidden)
    if kind == "lstm":
        node.cell = np.random.default_rng(seed).normal(0, 2, hidden)
    _, plan = compiled(made)
    found = verify_plan(
        plan, random_inputs(plan, seed=seed), "model", lambda: open_target(BUILD), "reference", None
    )
    assert found.equal, found.difference


@pytest.mark.parametrize("kind", ["lstm", "gru", "gru, linear"])
def test_two_layers_with_others_are_close_to_float(kind):
    made = Builder("cells", (25, 12), 1)
    layer(made, kind, 24)
    states = made.here
    made.act("relu")
    made.add(g.Binary, made.here, states, function="add")
    layer(made, kind, 16, last=True)
    made.dense(5)
    graph, plan = compiled(made)
    assert [step.part.graph.nodes[0].kind for step in plan.core_steps] and len(
        plan.core_steps
    ) == len(plan.steps) == 1
    inputs = random_calibration(graph, count=8, seed=5)
    (exact,) = run_graph(graph, inputs).values()
    with Session(plan, open_target(BUILD)) as session:
        found = session(inputs["input_0"])
        assert np.array_equal(
            session(inputs["input_0"]), found
        )  # states begin anew with each input
    assert 10 * np.log10((exact**2).sum() / ((found - exact) ** 2).sum()) > 25


#: Kind, preset, features, states: more weights than one core's arrays hold, or more biases.
SPREAD = [
    ("lstm", "85f", 64, 128),
    ("lstm", "85f", 30, 97),
    ("gru", "85f", 64, 87),
    ("gru, linear", "85f", 64, 130),
    ("lstm", "sim", 9, 21),
    ("lstm", "hx8k", 9, 16),
    ("gru", "hx8k", 9, 15),
    ("gru, linear", "hx8k", 9, 16),
]


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize(("kind", "preset", "features", "hidden"), SPREAD)
def test_states_of_several_cores_and_biases_added_to_sums(kind, preset, features, hidden, last):
    build = f"model:pim?preset={preset}"
    made = Builder("cell", (4, features), 3)
    layer(made, kind, hidden, last=last, reverse=last)
    node = made.graph.nodes[-1]
    spread = spread_of(node, open_core("pim").params.SPACE.resolve(preset))
    assert spread.cores > 1 or not spread.biased
    graph, plan = compiled(made, build)
    assert len(plan.core_steps) == len(plan.steps) == 1
    found = verify_plan(
        plan, random_inputs(plan), "model", lambda: open_target(build), "reference", None
    )
    assert found.equal, found.difference
    assert plan.snr > 25


@pytest.mark.parametrize(
    ("kind", "preset", "features", "hidden"),
    [
        ("lstm", "25f", 1100, 16),
        ("gru", "25f", 377, 9),
        ("lstm", "25f", 128, 64),
        ("gru, linear", "sim", 200, 20),
        ("lstm", "hx8k", 100, 12),
    ],
)
def test_many_features_are_summed_by_a_dense_layer(kind, preset, features, hidden):
    build = f"model:pim?preset={preset}"
    made = Builder("cell", (3, features), 3)
    layer(made, kind, hidden)
    _, plan = compiled(made, build)
    assert len(plan.core_steps) == len(plan.steps) > 1
    found = verify_plan(
        plan, random_inputs(plan), "model", lambda: open_target(build), "reference", None
    )
    assert found.equal, found.difference
    assert plan.snr > 40


def params_of(build):
    return target_build(build).params


def assert_equal(plan, build):
    """Every tensor is that of the reference on the golden model."""
    found = verify_plan(
        plan, random_inputs(plan), "model", lambda: open_target(build), "reference", None
    )
    assert found.equal, found.difference


def test_two_layers_take_different_cores():
    made = Builder("cells", (3, 64), 1)
    layer(made, "lstm", 128)
    layer(made, "lstm", 128, last=True)
    graph, plan = compiled(made)
    assert [spread_of(node, params_of(BUILD)).cores for node in graph.nodes] == [2, 2]
    assert len(plan.core_steps) == 1
    assert_equal(plan, BUILD)


#: Kind, preset, steps, features, states: more weights than the arrays of all cores hold, or more
#: numbers than local memory.
STREAMED = {
    "lstm of two cores": ("lstm", "sim", 3, 9, 40),
    "gru of two cores": ("gru", "sim", 4, 70, 50),
    "linear gru of two cores": ("gru, linear", "sim", 3, 7, 60),
    "uneven blocks": ("gru, linear", "25f", 2, 20, 100),
    "more cores than states": ("gru", "sim", 2, 200, 1),
    "sums in two splits": ("lstm", "sim", 2, 600, 40),
    "little local memory": ("lstm", "hx8k-mini", 3, 5, 20),
    "hardly any local memory": ("gru", "hx8k-mini", 2, 33, 37),
    "one step": ("lstm", "25f", 1, 20, 90),
}


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("name", STREAMED)
def test_weights_of_any_number_come_from_main_memory(name, last):
    kind, preset, steps, features, hidden = STREAMED[name]
    build = f"model:pim?preset={preset}"
    made = Builder("cell", (steps, features), 3)
    layer(made, kind, hidden, last=last, reverse=last)
    node = made.graph.nodes[-1]
    node.initial = np.random.default_rng(1).uniform(-1, 1, hidden)
    if kind == "lstm":
        node.cell = np.random.default_rng(2).normal(0, 2, hidden)
    assert spread_of(node, params_of(build)).tiling is not None
    _, plan = compiled(made, build)
    assert len(plan.core_steps) == len(plan.steps) == 1
    assert_equal(plan, build)
    assert plan.snr > 25


@pytest.mark.parametrize("sign", [-1, 1])
def test_the_greatest_sums_of_a_streamed_layer_keep_32_bits(sign):
    """508 products of the greatest weights and inputs, with the half that rounds them."""
    made = Builder("cell", (1, 508), 3)
    layer(made, "lstm", 40)
    made.graph.nodes[-1].weights = np.full((160, 508), sign * 0.5)
    build = "model:pim?preset=sim"
    _, plan = compiled(made, build)
    inputs = {"input_0": np.full((2, 1, 508), [[[-1e3]], [[1e3]]])}
    found = verify_plan(plan, inputs, "model", lambda: open_target(build), "reference", None)
    assert found.equal, found.difference


def test_a_second_run_of_a_streamed_layer_begins_anew():
    made = Builder("cell", (3, 9), 3)
    layer(made, "lstm", 40, last=True)
    build = "model:pim?preset=sim"
    graph, plan = compiled(made, build)
    inputs = random_calibration(graph, count=4, seed=5)["input_0"]
    with Session(plan, open_target(build)) as session:
        assert np.array_equal(session(inputs), session(inputs))


def test_eight_bits_of_input_of_a_streamed_layer():
    made = Builder("cell", (3, 30), 3)
    layer(made, "lstm", 40)
    graph = made.finish()
    build = "model:pim?preset=sim"
    plan = compile_graph(graph, target_build(build), random_calibration(graph), Options(bits=8))
    assert plan.core_steps[0].part.scales["input_0"].bits == 8
    assert_equal(plan, build)


def test_a_streamed_layer_does_with_the_arrays_that_others_leave():
    made = Builder("cells", (3, 20), 1)
    layer(made, "lstm", 100, last=True)
    made.dense(70, relu=True)
    made.dense(5)
    build = "model:pim?preset=25f"
    graph, plan = compiled(made, build)
    assert spread_of(graph.nodes[0], params_of(build)).tiling is not None
    assert len(plan.core_steps) == 1
    assert_equal(plan, build)


def test_states_whose_scale_others_share():
    made = Builder("cells", (2, 5), 1)
    layer(made, "gru", 260)
    states = made.here
    made.add(g.Binary, made.act("relu"), states, function="add")
    build = "model:pim?preset=25f"
    _, plan = compiled(made, build)
    assert len(plan.core_steps) == len(plan.steps)
    assert_equal(plan, build)


def test_main_memory_alone_limits_the_states():
    made = Builder("cell", (3, 4), 1)
    made.lstm(200)
    graph, build = made.finish(), target_build("model:pim?preset=25f")
    with pytest.raises(LoweringError) as caught:
        compile_graph(
            graph,
            replace(build, memory_size=1 << 16),
            random_calibration(graph, 1),
            Options(dry=True),
        )
    assert re.search(
        r"the network takes [\d,]+ bytes of main memory, there are 65,536; program and weights "
        r"take [\d,]+, .*; lstm_0 does not fit by itself, the largest number of states that fits "
        r"is \d+$",
        str(caught.value),
    )


def test_one_core_with_few_arrays():
    made = Builder("cell", (4, 3), 1)
    made.lstm(4)
    seen = {}
    check(made.finish(), "pim", seen)
    assert seen == {"equal": 1}


@pytest.mark.parametrize(
    "build, features, hidden, reason",
    [
        ({}, 4, 4, None),
        ({"act_unit": 0}, 4, 4, "act_unit = 1, this build has 0"),
        ({"max_biw": 16}, 4, 4, "max_biw = 32, this build has 16"),
        ({"x_bits": 8}, 4, 4, "x_bits = 16, this build has 8"),
        ({}, 4, 1025, None),
        ({}, 1025, 4, None),
    ],
)
def test_verdicts(build, features, hidden, reason):
    made = Builder("cell", (2, features), 1)
    made.lstm(hidden)
    found = PIMBackend(
        params=open_core("pim").params.SPACE.resolve("85f", build), memory_size=1 << 25
    ).check_support(made.finish(), made.graph.nodes[-1])
    assert (
        (found.answer, found.reason) == (NATIVE, "")
        if reason is None
        else (found.answer == HOST and reason in found.reason)
    )
