# SPDX-License-Identifier: BSD-2-Clause
"""Random networks on every core: refused with every reason, or equal to the reference, every tensor
of every layer."""

import os
from collections import Counter

import numpy as np
import pytest
from hypothesis import HealthCheck, given, seed, settings

from quintet.gateware.cores import open_core
from quintet.tools.compiler import graph as g
from quintet.tools.compiler.backends import backend_names
from quintet.tools.compiler.backends.base import LoweringError
from quintet.tools.compiler.partition import PartitionError
from quintet.tools.compiler.planning import Options, compile_graph
from quintet.tools.compiler.target_build import TargetBuild
from quintet.tools.compiler.verification import random_inputs, verify_plan
from quintet.tools.errors import InputError
from quintet.tools.targets import open_target
from tests.support.shares import fewer
from tests.tools.compiler.networks import HOST_KINDS, KINDS, Builder, graphs

#: Small builds, so that what does not fit is met as well.
PRESETS = {"cherry": "25f", "imagine": "sim", "opentpu": "sim-ext", "opu": "sim", "pim": "25f"}
_QUIET = {
    "deadline": None,
    "suppress_health_check": [
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.filter_too_much,
    ],
}


def build_of(isa):
    space = open_core(isa).params.SPACE
    preset = PRESETS[isa] if PRESETS[isa] in space.presets else space.default_preset
    return TargetBuild(isa, preset, space.resolve(preset), 1 << 20, None, None, f"model:{isa}")


def check(graph, isa, seen):
    """One network on one core; ``seen`` counts what became of it."""
    try:
        plan = compile_graph(graph, build_of(isa), options=Options(host_steps=True))
    except PartitionError as error:
        assert error.refusals and all(
            refusal.name in str(error) and refusal.reason for refusal in error.refusals
        )
        seen["refused"] = seen.get("refused", 0) + 1
        return
    except LoweringError as error:
        # Networks that only move elements are no work for a machine.
        assert any(character.isdigit() for character in str(error)) or "no node" in str(error), (
            error
        )
        seen["too large"] = seen.get("too large", 0) + 1
        return
    if not plan.core_steps:
        seen["host alone"] = seen.get("host alone", 0) + 1
        return
    found = verify_plan(
        plan, random_inputs(plan), "model", lambda: open_target(f"model:{isa}"), "reference", None
    )
    assert found.equal, found.difference
    assert np.isfinite(plan.cycles) and plan.cycles >= 0
    seen["equal"] = seen.get("equal", 0) + 1


def campaign(isa, count, first=0):
    seen = {}

    @seed(first)
    @settings(max_examples=count, database=None, derandomize=False, **_QUIET)
    @given(graphs((*KINDS, *HOST_KINDS), most=5))
    def run(graph):
        check(graph, isa, seen)

    run()
    return seen


@pytest.mark.parametrize("isa", backend_names())
def test_random_networks(isa):
    assert campaign(isa, 100).get("equal", 0) >= fewer(10)


@pytest.mark.long
@pytest.mark.parametrize("isa", backend_names())
def test_many_random_networks(isa):
    begin, seen = int(os.environ.get("QUINTET_SEED", 1)), Counter()
    for piece in range(16):
        seen.update(campaign(isa, 250, 100 * begin + piece))
    print(isa, dict(seen))


def test_first_state_of_a_recurrent_layer_is_every_inputs():
    made = Builder("gru", (2, 3), 1)
    made.gru(2, linear_before_reset=True)
    seen = {}
    check(made.finish(), "cherry", seen)
    assert seen == {"equal": 1}


def test_a_program_does_not_stay_where_another_writes_its_results():
    """Of two programs that share the memory, the shorter one lies among the other one's tensors."""
    made = Builder("two programs", (7, 5), 1)
    made.add(g.Concat, made.here, made.here, axis=0)
    whole = made.add(g.Reduce, function="argmax", axes=(0,), keep=True)
    made.add(g.Binary, whole, whole, function="add")
    seen = {}
    check(made.finish(), "cherry", seen)
    assert seen == {"equal": 1}


@pytest.mark.parametrize("isa", backend_names())
def test_average_as_large_as_the_map_but_with_padding(isa):
    made = Builder("average", (2, 1, 3), 1)
    made.add(g.AveragePool, window=(2, 1), stride=(1, 1), padding=(0, 0, 1, 0))
    made.conv(2, (1, 1))
    seen = {}
    check(made.finish(), isa, seen)
    assert seen == {"equal": 1}


@pytest.mark.parametrize("isa", backend_names())
def test_constants_are_joined_to_what_flows(isa):
    """The class token of a transformer."""
    made = Builder("token", (4, 8), 1)
    made.dense(8, steps=True)
    made.add(g.Concat, made.constant(np.ones((1, 8))), made.here, axis=0)
    made.dense(3)
    seen = {}
    check(made.finish(), isa, seen)
    assert seen == {"equal": 1}


@pytest.mark.parametrize("isa", backend_names())
def test_leaky_relus_of_any_slope_behind_a_layer(isa):
    made = Builder("leaky", (5, 5, 3), 1)
    made.conv(4, (3, 3))
    made.graph.nodes[-1].activation = g.Activation(
        name="", inputs=[], output="", function="leaky", alpha=0.1
    )
    made.dense(6)
    made.graph.nodes[-1].activation = g.Activation(
        name="", inputs=[], output="", function="leaky", alpha=0.3
    )
    made.dense(3)
    seen = {}
    check(made.finish(), isa, seen)
    assert seen == {"equal": 1}


def test_a_product_that_shares_its_scale_goes_to_the_host():
    """x * x + x: the product's scale is that of x twice, and the sum wants that of x. Without host
    steps the message says so."""
    graph = g.Graph("square and itself")
    graph.tensors["x"] = g.Tensor("x", (8,))
    graph.inputs.append(g.Port("x", "x", (0,), (8,)))
    for name, inputs, function in (("square", ["x", "x"], "mul"), ("y", ["square", "x"], "add")):
        graph.nodes.append(
            g.Binary(
                name=f"node {name}", inputs=inputs, output=name, origin="Binary", function=function
            )
        )
        graph.tensors[name] = g.Tensor(name, (8,))
    graph.outputs.append(g.Port("y", "y", (0,), (8,)))
    check(graph, "pim", seen := Counter())
    assert seen["equal"] == 1
    with pytest.raises(
        InputError,
        match=(
            r"node square \(Binary\): its result must have the scale .* but square shares the "
            "scale .* with other tensors; the host does it with --host-steps"
        ),
    ):
        compile_graph(graph, build_of("pim"))


@pytest.mark.parametrize("isa", backend_names())
def test_a_transpose_goes_to_the_host_with_the_product_that_reads_it(isa):
    """The product's scale is another than that of what it is joined to; a machine that turns a
    matrix only within a product has none then."""
    graph = g.Graph("turned")
    graph.tensors["x"] = g.Tensor("x", (2, 2))
    graph.inputs.append(g.Port("x", "x", (0, 1), (2, 2)))
    double = g.Binary(name="double", inputs=["x", "x"], output="b", origin="Binary", function="add")
    turned = g.Transpose(name="turn", inputs=["b"], output="t", origin="Transpose", order=(1, 0))
    product = g.MatMul(name="product", inputs=["b", "t"], output="m", origin="MatMul")
    joined = g.Concat(name="join", inputs=["m", "x"], output="y", origin="Concat", axis=1)
    for node, shape in ((double, (2, 2)), (turned, (2, 2)), (product, (2, 2)), (joined, (2, 4))):
        graph.nodes.append(node)
        graph.tensors[node.output] = g.Tensor(node.output, shape)
    graph.outputs.append(g.Port("y", "y", (0, 1), (2, 4)))
    check(graph, isa, seen := {})
    assert seen in ({"host alone": 1}, {"equal": 1})


@pytest.mark.parametrize("isa", ("opu", "pim"))
def test_what_is_no_number_comes_back_from_the_host_as_zero(isa):
    """The inverse hyperbolic cosine of a number that quantisation has moved beyond one."""
    made = Builder("acosh", (65,), 1)
    size = made.act("abs")
    made.add(g.Binary, size, made.constant(1.0), function="add")
    made.add(g.Binary, made.act("acosh"), size, function="add")
    check(made.finish(), isa, seen := {})
    assert seen == {"equal": 1}
