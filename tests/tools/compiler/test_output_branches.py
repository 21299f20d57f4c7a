# SPDX-License-Identifier: BSD-2-Clause
"""Outputs that join branches of ranges far apart: each fills the machine's numbers, the host
multiplies."""

from dataclasses import replace

import numpy as np
import pytest

from quintet.tools.compiler import graph as g
from quintet.tools.compiler.api import Compiled
from quintet.tools.compiler.evaluate import run_graph
from quintet.tools.compiler.fidelity import reference_tensors
from quintet.tools.compiler.passes.centring import branches_scaled
from quintet.tools.compiler.plan import PlanError, load_plan, save_plan
from quintet.tools.compiler.planning import compile_graph
from quintet.tools.compiler.target_build import target_build
from quintet.tools.compiler.values import check_inputs, from_graph, to_graph
from tests.tools.compiler.networks import Builder

#: How far the ranges of the branches lie apart.
APART = 100.0
SHAPE = (6, 6, 4)


def normal(count=64, seed=1):
    return np.random.default_rng(seed).normal(size=(count, *SHAPE))


def branches(factors=(1, APART), behind=None, joined=None, axis=2):
    """A convolution for each of ``factors``, so many times as loud, joined to the output.

    ``behind``: called with the builder and a branch, gives what is joined of it; ``joined``: the
    same with what was joined.
    """
    b = Builder("branches", SHAPE, 7)
    parts = []
    for number, factor in enumerate(factors):
        branch = b.conv(2 + number, (1, 1), "input_0", bias=False)
        b.graph.nodes[-1].weights *= factor
        parts.append(behind(b, branch) if behind else branch)
    b.add(g.Concat, *parts, axis=axis)
    if joined:
        joined(b)
    return b.finish()


def relu(b, source):
    return b.act("relu", source)


def leaky(b, source):
    return b.act("leaky", source, alpha=0.1)


def pool(b, source):
    return b.add(g.AveragePool, source, window=(2, 2), stride=(2, 2))


def largest(b, source):
    return b.add(g.MaxPool, source, window=(2, 2), stride=(2, 2))


def turned(b, source):
    return b.add(g.Transpose, source, order=(1, 0, 2))


def nested(b, source):
    return b.add(g.Concat, source, b.conv(3, (1, 1), "input_0", bias=False), axis=2)


def scaled(b, source):
    channels = b.shape(source)[-1]
    return b.add(g.Affine, source, scale=np.full(channels, 0.5), shift=np.ones(channels))


FREE = {
    "alone": branches(),
    "three": branches((1, 0.01, APART)),
    "relu": branches(behind=relu),
    "leaky": branches(behind=leaky),
    "pool": branches(behind=pool),
    "largest": branches(behind=largest),
    "turned": branches(behind=turned),
    "nested": branches(behind=nested),
    "affine": branches(behind=scaled),
    "reshaped": branches(joined=lambda b: b.add(g.Reshape, shape=(36, 5))),
}


@pytest.mark.parametrize("name", FREE)
def test_branches_fill_the_same_range(name):
    network = FREE[name]
    made = branches_scaled(network, {"input_0": normal()})
    (port,) = made.outputs
    assert min(port.factor) < 0.02 < max(port.factor) == 1
    values = {"input_0": normal(seed=2)}
    have, want = run_graph(made, values)[port.tensor], run_graph(network, values)[port.tensor]
    np.testing.assert_allclose(from_graph(port, have), want, rtol=1e-9, atol=1e-9)
    ranges = np.abs(have).reshape(-1, have.shape[-1]).max(axis=0)
    assert ranges.max() < 6 * ranges.min()


def shared(b):
    """One layer on both sides of the Concat."""
    first = b.conv(2, (1, 1), "input_0", bias=False)
    second = b.act("neg", first)
    b.add(g.Concat, first, second, axis=2)


def read_too(b):
    first = b.conv(2, (1, 1), "input_0", bias=False)
    second = b.conv(2, (1, 1), "input_0", bias=False)
    b.graph.nodes[-1].weights *= APART
    joined = b.add(g.Concat, first, second, axis=2)
    return joined, b.dense(3, joined)


def branch_is_output(b):
    first = b.conv(2, (1, 1), "input_0", bias=False)
    second = b.conv(2, (1, 1), "input_0", bias=False)
    b.graph.nodes[-1].weights *= APART
    return b.add(g.Concat, first, second, axis=2), second


def of_an_input(b):
    first = b.conv(2, (1, 1), "input_0", bias=False)
    b.graph.nodes[-1].weights *= APART
    b.add(g.Concat, first, "input_0", axis=2)


def built(build):
    b = Builder("held", SHAPE, 7)
    outputs = build(b)
    return b.finish(*(outputs if isinstance(outputs, tuple) else ()))


HELD = {
    "alike": branches((1.5, 1)),
    "sigmoid": branches(behind=lambda b, source: b.act("sigmoid", source)),
    "clip": branches(behind=lambda b, source: b.act("clip", source, low=0.0, high=6.0)),
    "softmax": branches(joined=lambda b: b.add(g.Softmax, axis=-1)),
    "channels moved": branches(joined=lambda b: b.add(g.Transpose, order=(2, 1, 0))),
    "flattened": branches(joined=lambda b: b.add(g.Reshape, shape=(180,))),
    "one layer": branches((APART,)),
    "silent": branches((0, APART)),
    "shared": built(shared),
    "read too": built(read_too),
    "branch is an output": built(branch_is_output),
    "an input": built(of_an_input),
}


@pytest.mark.parametrize("name", HELD)
def test_outputs_that_stay_as_they_are(name):
    network = HELD[name]
    made = branches_scaled(network, {"input_0": normal()})
    assert all(port.factor is None for port in made.outputs)
    assert made.nodes == network.nodes


def test_branches_along_another_axis_stay():
    b = Builder("rows", SHAPE, 7)
    parts = []
    for factor in (1, APART):
        parts.append(b.conv(4, (1, 1), "input_0", bias=False))
        b.graph.nodes[-1].weights *= factor
    b.add(g.Concat, *parts, axis=0)
    network = b.finish()
    assert branches_scaled(network, {"input_0": normal()}) is network


def test_outputs_with_whole_numbers_of_their_own_stay():
    network = branches()
    network.outputs = [replace(network.outputs[0], scale=0.5)]
    assert branches_scaled(network, {"input_0": normal()}) is network


def decibels(plan, network, channels):
    """Signal to noise of some channels of the output alone."""
    values = normal(seed=2)
    given = {port.tensor: to_graph(port, values) for port in plan.inputs}
    (port,) = plan.outputs
    found = from_graph(port, reference_tensors(plan, given)[1][port.tensor])[..., channels]
    exact = run_graph(network, {"input_0": values})[network.outputs[0].tensor][..., channels]
    return 10 * np.log10(np.square(exact).sum() / np.square(exact - found).sum())


@pytest.mark.parametrize("isa", ["opu", "opentpu"])
def test_the_quiet_branch_keeps_its_accuracy(isa, tmp_path):
    """With one scale for both it has less than 0 dB. A session and a folder know the factor."""
    network = branches()
    target = f"model:{isa}"
    plan = compile_graph(network, target_build(target), {"input_0": normal()})
    (chosen,) = (c for c in plan.choices if c["what"] == "factor")
    assert chosen["value"] == [min(plan.outputs[0].factor), 1.0]
    assert decibels(plan, network, slice(0, 2)) > 30
    assert decibels(plan, network, slice(2, 5)) > 30
    save_plan(plan, tmp_path / "net")
    plan = load_plan(tmp_path / "net")
    values = normal(count=2, seed=3)
    inputs = check_inputs(plan.network, plan.inputs, {"input_0": values})
    (port,) = plan.outputs
    wanted = from_graph(port, reference_tensors(plan, inputs)[1][port.tensor])
    with Compiled(plan).open(target) as session:
        assert np.array_equal(session(values), wanted)


@pytest.mark.parametrize("factor", [[1.0], ["x"] * 5, [float("nan")] * 5], ids=str)
def test_factors_of_a_damaged_plan_are_refused(tmp_path, factor):
    plan = compile_graph(branches(), target_build("model:opu"), {"input_0": normal()})
    plan.outputs = [replace(plan.outputs[0], factor=tuple(factor))]
    save_plan(plan, tmp_path / "net")
    with pytest.raises(PlanError, match="the plan is damaged: "):
        load_plan(tmp_path / "net")
