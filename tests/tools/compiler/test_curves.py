# SPDX-License-Identifier: BSD-2-Clause
"""Elementwise functions that a core lacks: exactly by others, or approximated if that is asked
for."""

import numpy as np
import pytest

from quintet.tools.compiler import graph as g
from quintet.tools.compiler.backends import backend_class
from quintet.tools.compiler.evaluate import run_graph
from quintet.tools.compiler.partition import PartitionError, check_nodes, separated
from quintet.tools.compiler.passes import simplify
from quintet.tools.compiler.passes.curves import MOST, approximated, fit
from quintet.tools.compiler.planning import Options, compile_graph
from quintet.tools.compiler.target_build import target_build
from quintet.tools.compiler.values import check_inputs
from quintet.tools.compiler.verification import verify_plan
from quintet.tools.errors import InputError
from quintet.tools.targets import open_target
from tests.tools.compiler.networks import Builder

WHOLE = ("opu", "opentpu", "pim")
RANDOM = np.random.default_rng(4)
VALUES = RANDOM.normal(0, 2, 4096)
FUNCTIONS = {
    "hard_swish": lambda x: x * np.clip(x / 6 + 0.5, 0, 1),
    "silu": lambda x: x / (1 + np.exp(-x)),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "tanh": np.tanh,
}


def backend_of(isa):
    build = target_build(f"ulx3s-85f/{isa}")
    return backend_class(isa)(
        params=build.params, memory_size=build.memory_size, memory=build.memory
    )


def network(add, shape=(6, 6, 3)):
    """``add`` (called with the builder) between two layers."""
    b = Builder("curves", shape)
    b.conv(8, (3, 3))
    add(b)
    b.conv(4, (1, 1))
    return b.finish()


def calibration(graph, count=24):
    shape = graph.shape(graph.inputs[0].tensor)
    return {graph.inputs[0].name: np.random.default_rng(5).normal(0, 1, (count, *shape))}


def on_core(graph, isa, options):
    """Compiles a network, runs its golden model against the reference, and returns the plan."""
    given = calibration(graph)
    plan = compile_graph(graph, target_build(f"ulx3s-85f/{isa}"), given, options)
    inputs = check_inputs(plan.network, plan.inputs, {k: v[:1] for k, v in given.items()})
    found = verify_plan(
        plan, inputs, "model", lambda: open_target(f"model:{isa}"), "reference", None
    )
    assert found.equal, found.difference
    return plan


def silu(b):
    b.add(g.Binary, b.here, b.act("sigmoid"), function="mul")


def hard_sigmoid(b):
    b.act("hard_sigmoid", alpha=1 / 6, beta=0.5)


def hard_swish(b):
    b.act("hard_swish", alpha=1 / 6, beta=0.5)


def in_parts(b, behind=True):
    """Hard swish as exporters without the operator write it: x * clip(x + 3, 0, 6) / 6."""
    source = b.here
    b.add(g.Binary, source, b.constant(3.0), function="add")
    gate = b.act("clip", low=0.0, high=6.0)
    if not behind:
        gate = b.add(g.Binary, gate, b.constant(6.0), function="div")
    b.add(g.Binary, source, gate, function="mul")
    if behind:
        b.add(g.Binary, b.here, b.constant(6.0), function="div")


@pytest.mark.parametrize("behind", [False, True])
def test_hard_swish_in_parts_is_recognised(behind):
    simple = simplify(network(lambda b: in_parts(b, behind)))
    functions = [getattr(node, "function", node.kind) for node in simple.nodes]
    assert functions == ["conv", "hard_swish", "conv"]
    (swish,) = (node for node in simple.nodes if isinstance(node, g.Activation))
    assert (swish.alpha, swish.beta) == pytest.approx((1 / 6, 0.5))


def test_a_gate_of_another_tensor_is_no_hard_swish():
    def add(b):
        source = b.here
        b.conv(8, (1, 1), relu=False)
        hard_sigmoid(b)
        b.add(g.Binary, source, b.here, function="mul")

    simple = simplify(network(add))
    assert "hard_swish" not in {getattr(node, "function", "") for node in simple.nodes}


@pytest.mark.parametrize("isa", WHOLE)
def test_hard_sigmoid_is_folded_into_the_layer_before_it(isa):
    graph = network(hard_sigmoid)
    form = separated(simplify(graph), backend_of(isa))
    assert [node.kind for node in form.nodes] == ["conv", "conv"]
    values = {graph.inputs[0].tensor: calibration(graph)["input_0"]}
    for before, after in zip(
        run_graph(graph, values).values(), run_graph(form, values).values(), strict=True
    ):
        assert np.allclose(before, after)
    assert on_core(graph, isa, Options()).snr > 25


def test_hard_swish_is_a_product_where_the_core_has_one():
    graph = network(hard_swish)
    backend = backend_of("pim")
    form = separated(simplify(graph), backend)
    assert all(support.runs for _, support in check_nodes(form, backend))
    plan = on_core(graph, "pim", Options())
    assert len(plan.steps) == 1 and plan.snr > 30


def test_a_node_asked_for_on_the_host_stays_whole():
    graph = network(hard_swish)
    name = simplify(graph).nodes[1].name
    plan = on_core(graph, "pim", Options(on_host=(name,)))
    assert len(plan.steps) == 3


@pytest.mark.parametrize("function", FUNCTIONS)
def test_more_relus_fit_better(function):
    exact = FUNCTIONS[function](VALUES)
    lost = []
    for relus in (4, 8, 16):
        made = fit(VALUES, FUNCTIONS[function], relus)
        assert len(made.weights) == relus
        lost.append(np.mean(np.square(made(VALUES) - exact)))
        assert np.abs(made(VALUES) - exact).max() <= made.error * 1.05
    assert lost[0] > 3 * lost[1] > 9 * lost[2]
    # Eight are finer than 8 bits, whose error is some 40 dB below the signal at best.
    assert 10 * np.log10(np.var(exact) / lost[1]) > 35


def test_a_sum_of_relus_is_found_again():
    made = fit(VALUES, lambda x: np.maximum(x, 0) - 0.5 * np.minimum(x, 0) + 1, 3)
    # The knot is at most a cell of the range away.
    assert made.error < 1.5 * np.ptp(VALUES) / 256


def test_a_function_without_finite_numbers_is_not_fitted():
    with pytest.raises(ValueError, match="no finite numbers"):
        fit(VALUES, lambda x: np.log(np.maximum(x, 0)), 8)


@pytest.mark.parametrize("isa", ["opu", "opentpu"])
@pytest.mark.parametrize("add", [hard_swish, silu], ids=["hard swish", "silu"])
def test_an_approximated_network_runs_on_the_core_alone(add, isa):
    graph = network(add)
    with pytest.raises(PartitionError):
        compile_graph(graph, target_build(f"ulx3s-85f/{isa}"), calibration(graph))
    plan = on_core(graph, isa, Options(approximate=8))
    assert len(plan.steps) == 1
    (entry,) = (one for one in plan.choices if one["what"] == "approximated")
    assert 0 < entry["value"] < 0.2 and "8 relus" in entry["why"]
    host = compile_graph(
        graph, target_build(f"ulx3s-85f/{isa}"), calibration(graph), Options(host_steps=True)
    )
    assert plan.snr > 25 and plan.snr > host.snr - 3


@pytest.mark.parametrize("shape", [(8,), (5, 8)])
def test_vectors_and_sequences_are_approximated_as_maps(shape):
    b = Builder("curves", shape)
    b.add(g.Dense, weights=b.normal(8, 8), bias=b.normal(8), steps=len(shape) == 2)
    b.act("tanh")
    b.add(g.Dense, weights=b.normal(4, 8), bias=b.normal(4), steps=len(shape) == 2)
    graph = b.finish()
    plan = on_core(graph, "opu", Options(approximate=10))
    assert len(plan.steps) == 1 and plan.snr > 20


def test_what_stands_last_stays_exact():
    b = Builder("curves", (4, 4, 3))
    b.conv(8, (1, 1))
    hard_swish(b)
    b.conv(2, (1, 1))
    b.act("sigmoid")
    graph = simplify(b.finish())
    values = {graph.inputs[0].tensor: calibration(graph)["input_0"]}
    after, made = approximated(graph, backend_of("opu"), values, 8)
    assert len(made) == 1 and "sigmoid" in {getattr(n, "function", "") for n in after.nodes}
    exact, near = (next(iter(run_graph(one, values).values())) for one in (graph, after))
    assert 0 < np.abs(exact - near).max() < 0.02


def test_jumps_are_not_approximated():
    graph = simplify(network(lambda b: b.act("floor")))
    values = {graph.inputs[0].tensor: calibration(graph)["input_0"]}
    assert approximated(graph, backend_of("opu"), values, 8) == (graph, [])


@pytest.mark.parametrize("isa", ["cherry", "imagine"])
def test_cores_that_need_none_approximate_nothing(isa):
    graph = simplify(network(hard_swish))
    values = {graph.inputs[0].tensor: calibration(graph)["input_0"]}
    assert approximated(graph, backend_of(isa), values, 8) == (graph, [])


@pytest.mark.parametrize("relus", [1, MOST + 1])
def test_the_number_of_relus_has_limits(relus):
    graph = network(hard_swish)
    with pytest.raises(InputError, match=f"approximate is {relus}, expected 2 to {MOST} relus"):
        compile_graph(graph, target_build("ulx3s-85f/opu"), None, Options(approximate=relus))


@pytest.mark.parametrize("isa", ["opu", "opentpu"])
def test_refusals_name_approximations_where_there_are_some(isa):
    def refused(add):
        graph = network(add)
        with pytest.raises(PartitionError) as caught:
            compile_graph(graph, target_build(f"ulx3s-85f/{isa}"), calibration(graph))
        return [(one.kind, str(one)) for one in caught.value.refusals]

    assert all("--host-steps, or --approximate N" in text for _, text in refused(silu))
    assert not any("--approximate" in text for _, text in refused(lambda b: b.act("floor")))

    def normalised(b):
        b.act("tanh")
        b.add(g.LayerNorm, scale=np.ones(8), shift=np.zeros(8))

    found = dict(refused(normalised))
    assert "or --approximate N" in found["activation"]
    assert "--approximate" not in found["layernorm"]
