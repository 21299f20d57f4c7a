# SPDX-License-Identifier: BSD-2-Clause
"""Concats of branches whose ranges lie far apart: channels are scaled across them."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from quintet.tools.compiler import graph as g
from quintet.tools.compiler.backends import backend_names
from quintet.tools.compiler.evaluate import run_graph
from quintet.tools.compiler.planning import compile_graph
from quintet.tools.compiler.quantise import quantise
from quintet.tools.compiler.quantise.calibration import collect
from quintet.tools.compiler.quantise.equalise import sensitivities
from quintet.tools.compiler.quantise.groups import channel_classes
from quintet.tools.compiler.target_build import target_build
from tests.tools.compiler.ideal_machines import Exact, fused
from tests.tools.compiler.networks import Builder, graphs, inputs_of

#: How far the ranges of the branches lie apart.
APART = 100.0
#: Least dB of signal to noise on each core. With one factor for all channels OpenTPU and OPU have 6
#: and PIM 17.
LEAST = {"imagine": 40, "opentpu": 30, "opu": 30, "pim": 38, "cherry": 50}


def branches(between=None, behind=None, relu=False):
    """Two convolutions, the second :data:`APART` times the first, joined; a third takes both
    alike.

    ``between``: called with the builder and a branch, gives what is joined of it; ``behind``: the
    same with what was joined.
    """
    b = Builder("branches", (6, 6, 4), 7)
    parts = []
    for factor in (1, APART):
        branch = b.conv(4, (1, 1), "input_0", bias=False, relu=relu)
        conv = next(node for node in reversed(b.graph.nodes) if isinstance(node, g.Conv))
        conv.weights *= factor
        parts.append(between(b, branch) if between else branch)
    joined = b.add(g.Concat, *parts, axis=2)
    b.conv(4, (1, 1), behind(b, joined) if behind else joined, bias=False)
    if b.graph.nodes[-1].weights.shape[3] == 8:
        b.graph.nodes[-1].weights[..., 4:] /= APART
    return b.finish()


def decibels(network, machine=None, **options):
    """dB of the first result on inputs that were not for calibration."""
    machine = machine or Exact()
    quantised = quantise(network, machine, inputs_of(network, 32, seed=1), **options)
    inputs = inputs_of(network, 16, seed=2)
    numbers = {name: quantised.scales[name].quantise(array) for name, array in inputs.items()}
    name = network.outputs[0].tensor
    real = run_graph(network, inputs)[name]
    found = quantised.scales[name].value(machine.reference(quantised, numbers)[name])
    return 10 * np.log10(np.square(real).sum() / np.square(real - found).sum())


@pytest.mark.parametrize("isa", backend_names())
def test_branches_far_apart_keep_their_accuracy(isa):
    network = branches()
    calibration = inputs_of(network, 64, seed=1)
    plan = compile_graph(network, target_build(f"model:{isa}"), calibration)
    assert plan.snr > LEAST[isa] and plan.notes == []


def pool(b, source):
    return b.add(g.AveragePool, source, window=(2, 2), stride=(2, 2))


def relu(b, source):
    return b.act("relu", source)


def twice(b, source):
    return b.add(g.Binary, source, source, function="add")


@pytest.mark.parametrize("between", [None, relu, pool, twice])
@pytest.mark.parametrize("behind", [None, relu, pool])
def test_scales_go_through_what_stands_between(between, behind):
    network = branches(between, behind)
    assert decibels(network) > decibels(network, equalise=False) + 10


def test_layers_behind_that_are_fully_connected_or_depthwise():
    b = Builder("flat", (4, 4, 3), 2)
    small = b.conv(4, (1, 1), "input_0", bias=False)
    large = b.conv(4, (1, 1), "input_0", bias=False)
    b.graph.nodes[-1].weights *= APART
    joined = b.add(g.Concat, small, large, axis=2)
    b.add(g.Reshape, joined, shape=(128,))
    b.dense(5, bias=False)
    b.graph.nodes[-1].weights.reshape(5, 16, 8)[..., 4:] /= APART
    flat = b.finish()
    assert decibels(flat) > decibels(flat, equalise=False) + 10

    deep = branches(behind=lambda b, joined: b.conv(8, (3, 3), joined, groups=8, bias=False))
    assert decibels(deep) > decibels(deep, equalise=False) + 10


def test_the_function_stays():
    """What the quantiser calls equal in real numbers is: factors of the wrong channels show."""
    network = branches(relu, pool)
    inputs = inputs_of(network, 16, seed=2)
    quantised = quantise(network, Exact(), inputs_of(network, 32, seed=1))
    name = network.outputs[0].tensor
    want, have = run_graph(network, inputs)[name], run_graph(quantised.graph, inputs)[name]
    np.testing.assert_allclose(have, want, rtol=1e-9, atol=1e-9)
    equalised = [c["name"] for c in quantised.choices if c["what"] == "equalised"]
    assert {"conv_0:0", "concat_4:0"} <= set(equalised)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    graphs(
        ("conv", "depthwise", "dense", "relu", "averagepool", "maxpool", "concat", "slice", "add"),
        most=8,
        elements=200,
    )
)
def test_the_function_of_random_networks_stays(network):
    network = fused(network)
    quantised = quantise(network, Exact(), inputs_of(network, 4))
    inputs = inputs_of(network, 3, seed=2)
    want, have = run_graph(network, inputs), run_graph(quantised.graph, inputs)
    for name, values in want.items():
        np.testing.assert_allclose(have[name], values, rtol=1e-8, atol=1e-8)


def test_channels_of_an_input_beside_a_branch_are_held():
    """The input's own channels keep the factor 1; the branch comes to their range."""
    b = Builder("beside", (6, 6, 4), 7)
    branch = b.conv(4, (1, 1), bias=False)
    b.graph.nodes[-1].weights *= APART
    joined = b.add(g.Concat, "input_0", branch, axis=2)
    b.conv(4, (1, 1), joined, bias=False)
    b.graph.nodes[-1].weights[..., 4:] /= APART
    network = b.finish()
    (found,) = channel_classes(network)
    assert found.channels == 8 and found.writers == ["conv_0"] and found.readers[-1][0] == "conv_2"
    assert found.held[found.tensors["input_0"]].all()
    assert not found.held[found.tensors[branch]].any()
    assert decibels(network) > decibels(network, equalise=False) + 10
    inputs = inputs_of(network, 16, seed=2)
    quantised = quantise(network, Exact(), inputs_of(network, 32, seed=1))
    want, have = run_graph(network, inputs), run_graph(quantised.graph, inputs)
    np.testing.assert_allclose(have[b.here], want[b.here], rtol=1e-9, atol=1e-9)


def test_operands_that_come_twice_have_one_factor():
    b = Builder("again", (6, 6, 4), 7)
    branch = b.conv(4, (1, 1))
    b.add(g.Concat, branch, branch, axis=2)
    b.conv(4, (1, 1))
    (found,) = channel_classes(b.finish())
    assert found.channels == 4
    joined = found.tensors["concat_1:0"]
    assert joined[:4].tolist() == joined[4:].tolist() == found.tensors[branch].tolist()


def test_rows_that_are_joined_have_the_same_channels():
    b = Builder("rows", (6, 6, 4), 7)
    first, second = b.conv(3, (1, 1), "input_0"), b.conv(3, (1, 1), "input_0")
    b.add(g.Concat, first, second, axis=0)
    b.conv(4, (1, 1))
    (found,) = channel_classes(b.finish())
    assert found.channels == 3 and found.writers == ["conv_0", "conv_1"]


def test_constants_that_are_joined_hold_all():
    b = Builder("constant", (6, 6, 4), 7)
    branch = b.conv(4, (1, 1))
    b.add(g.Concat, branch, b.constant(np.ones((6, 6, 2))), axis=2)
    b.conv(4, (1, 1))
    assert channel_classes(b.finish()) == []


def test_errors_of_an_operand_weigh_as_its_own_channels_do():
    """The first branch is read by large weights, the second by none."""
    network = branches()
    network.nodes[-1].weights[..., 4:] = 0
    seen = collect(network, inputs_of(network, 8, seed=1))
    for together in (False, True):
        found = sensitivities(network, seen, together)
        assert (found["conv_0:0"] > 0).all() and (found["conv_1:0"] == 0).all()
        assert (found["conv_0:0"] == found["concat_2:0"][:4]).all()
