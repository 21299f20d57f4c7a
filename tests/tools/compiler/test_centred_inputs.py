# SPDX-License-Identifier: BSD-2-Clause
"""Inputs far from zero: their mean is the host's to subtract, and in the first layers' biases."""

from dataclasses import replace

import numpy as np
import pytest

from quintet.tools.compiler import graph as g
from quintet.tools.compiler.api import Compiled
from quintet.tools.compiler.backends import backend_names
from quintet.tools.compiler.evaluate import run_graph
from quintet.tools.compiler.fidelity import reference_tensors
from quintet.tools.compiler.passes import simplify
from quintet.tools.compiler.passes.centring import centred
from quintet.tools.compiler.plan import PlanError, load_plan, save_plan
from quintet.tools.compiler.planning import compile_graph
from quintet.tools.compiler.target_build import target_build
from quintet.tools.compiler.values import check_inputs, from_graph, to_graph
from quintet.tools.compiler.verification import verify_plan
from quintet.tools.targets import open_target
from tests.tools.compiler.networks import Builder

#: Mean and spread of temperatures in kelvins.
MEAN, SPREAD = 300.0, 5.0
#: Least dB of signal to noise on each core, for what differs between inputs. With the mean left in
#: them IMAGine, OpenTPU, OPU, PIM and Cherry have -11, 15, 13, 39 and 25 dB.
LEAST = {"imagine": 45, "opentpu": 23, "opu": 23, "pim": 38, "cherry": 45}


def kelvins(shape, count=256, seed=1):
    return np.random.default_rng(seed).normal(MEAN, SPREAD, (count, *shape))


def centre(node):
    """Gives a layer the bias that makes zero of its inputs' mean."""
    node.bias = -MEAN * node.weights.reshape(len(node.weights), -1).sum(axis=1)


def vectors():
    b = Builder("vectors", (8,), 2)
    b.dense(16)
    centre(b.graph.nodes[-1])
    b.act("relu")
    b.dense(4)
    b.graph.nodes[-1].bias = None
    return b.finish()


def maps(padding=(0, 0, 0, 0)):
    """A network on maps whose user has channels, rows, columns."""
    b = Builder("maps", (8, 8, 3), 2)
    b.conv(8, (3, 3), padding=padding)
    centre(b.graph.nodes[-1])
    b.act("relu")
    b.dense(4)
    network = b.finish()
    network.inputs = [replace(network.inputs[0], order=(1, 2, 0), shape=(3, 8, 8))]
    return network


def plan_of(network, isa, values):
    calibration = {network.inputs[0].name: values}
    return compile_graph(network, target_build(f"model:{isa}"), calibration)


def ratio(network, plan, values):
    """dB of what differs between inputs, of the plan's first output."""
    given = {port.tensor: to_graph(port, values) for port in plan.inputs}
    found = reference_tensors(plan, given)[1][plan.outputs[0].tensor]
    found = from_graph(plan.outputs[0], found)
    exact = run_graph(network, {p.tensor: to_graph(p, values) for p in network.inputs})
    exact = exact[network.outputs[0].tensor]
    signal = np.square(exact - exact.mean(axis=0)).sum()
    return 10 * np.log10(signal / np.square(exact - found).sum())


@pytest.mark.parametrize("isa", backend_names())
@pytest.mark.parametrize("make", [vectors, maps])
def test_means_far_from_zero_cost_nothing(make, isa):
    network = make()
    shape = network.inputs[0].shape
    plan = plan_of(network, isa, kelvins(shape))
    assert ratio(network, plan, kelvins(shape, seed=2)) > LEAST[isa]
    assert plan.notes == []
    name = network.inputs[0].name
    (chosen,) = (c for c in plan.choices if c["what"] == "offset" and c["name"] == name)
    assert chosen["value"] == pytest.approx([MEAN, MEAN], abs=SPREAD)


@pytest.mark.parametrize("isa", backend_names())
def test_plans_take_the_users_values_wherever_they_run(isa, tmp_path):
    """The same numbers from a folder, in a session on the golden model and in the reference."""
    network = maps()
    save_plan(plan_of(network, isa, kelvins((3, 8, 8))), tmp_path / "net")
    plan = load_plan(tmp_path / "net")
    values = kelvins((3, 8, 8), count=2, seed=3)
    inputs = check_inputs(plan.network, plan.inputs, {plan.inputs[0].name: values})
    wanted = from_graph(plan.outputs[0], reference_tensors(plan, inputs)[1][plan.outputs[0].tensor])
    with Compiled(plan).open(f"model:{isa}") as session:
        assert np.array_equal(session(values), wanted)
    on = f"model:{isa}"
    assert verify_plan(plan, inputs, on, lambda: open_target(on), "reference", None).equal


def test_padding_keeps_the_scale_and_the_warning_says_so():
    plan = plan_of(maps(padding=(1, 1, 1, 1)), "opu", kelvins((3, 8, 8)))
    assert plan.inputs[0].offset is None
    (note,) = plan.notes
    assert note.startswith("low accuracy: ")
    assert note.endswith(
        "; input input_0 lies far from zero, and its mean cannot go into a bias: conv_0 pads with "
        "zeros"
    )


def first_layers():
    """Name -> network of one layer that reads the input."""
    made = {}

    def add(name, shape, build):
        b = Builder(name, shape, 3)
        build(b)
        made[name] = b.finish()

    add("dense", (7,), lambda b: b.dense(3))
    add("without_bias", (7,), lambda b: b.dense(3, bias=False))
    add("flattened", (3, 4, 2), lambda b: b.dense(3))
    add("steps", (5, 4), lambda b: b.dense(3, steps=True))
    add("conv", (6, 6, 3), lambda b: b.conv(4, (3, 3), padding=(0, 0, 0, 0)))
    add("grouped", (6, 6, 4), lambda b: b.conv(6, (3, 3), padding=(0, 0, 0, 0), groups=2))
    add("depthwise", (6, 6, 4), lambda b: b.conv(4, (3, 3), padding=(0, 0, 0, 0), groups=4))
    add("lstm", (5, 4), lambda b: b.lstm(3))
    add("gru", (5, 4), lambda b: b.gru(3))
    add("gru_reset", (5, 4), lambda b: b.gru(3, linear_before_reset=True))

    def behind(kind, *more, **attributes):
        def build(b):
            b.add(kind, **attributes)
            for other, rest in more:
                b.add(other, **rest)
            b.dense(3)

        return build

    window = {"window": (2, 2), "stride": (2, 2)}
    rows = {"start": (1, 0, 1), "stop": (5, 6, 4), "step": (2, 1, 2)}
    scale = {"scale": np.array([1.0, -2.0, 0.5, 3.0]), "shift": np.array([1.0, 2.0, 0.0, -1.0])}
    add("affine", (6, 6, 4), behind(g.Affine, **scale))
    add("max_pool", (6, 6, 4), behind(g.MaxPool, **window, padding=(1, 1, 0, 0)))
    add("average", (6, 6, 4), behind(g.AveragePool, **window))
    uncounted = {"padding": (1, 1, 0, 0), "include_padding": False}
    add("average_padded", (6, 6, 4), behind(g.AveragePool, **window, **uncounted))
    add("slice", (6, 6, 4), behind(g.Slice, **rows))
    moved = (g.Affine, {"scale": np.ones(4), "shift": np.ones(4)})
    add("transpose", (6, 5, 4), behind(g.Transpose, moved, order=(1, 0, 2)))
    one = (g.Affine, {"scale": np.ones(6), "shift": np.ones(6)})
    add("channels_moved", (6, 5, 4), behind(g.Transpose, one, order=(2, 1, 0)))
    flat = (g.Affine, {"scale": np.ones(24), "shift": np.ones(24)})
    add("reshape", (3, 2, 4), behind(g.Reshape, flat, shape=(24,)))
    return made


@pytest.mark.parametrize("name", first_layers())
def test_layers_take_what_the_host_subtracts(name):
    """Channels of different means, so that an offset in the wrong place shows."""
    network = first_layers()[name]
    shape = network.shape("input_0")
    alike = name == "channels_moved"
    means = MEAN + (0 if alike else 50 * np.arange(shape[-1]))
    values = kelvins(shape) - MEAN + means
    given, held = centred(network, {"input_0": values})
    assert not held
    (port,) = given.inputs
    assert port.offset == pytest.approx(np.broadcast_to(means, shape[-1:]), abs=SPREAD)
    assert set(port.offset) <= set(values.ravel())  # what lies on a grid stays there
    real = to_graph(port, values)
    assert np.abs(real).max() < MEAN / 4
    want = run_graph(network, {"input_0": values})
    have = run_graph(given, {"input_0": real})
    for output in network.outputs:
        np.testing.assert_allclose(have[output.tensor], want[output.tensor], rtol=1e-9, atol=1e-7)


def refused():
    """Name -> (network, what stands against an offset)."""
    made = {"padded": (maps(padding=(1, 1, 1, 1)), "conv_0 pads with zeros")}
    b = Builder("pool", (6, 6, 3), 1)
    b.add(g.AveragePool, window=(3, 3), stride=(1, 1), padding=(1, 1, 1, 1))
    b.dense(3)
    made["pool"] = b.finish(), "averagepool_0 pads with zeros"
    b = Builder("relu", (6,), 1)
    b.act("relu")
    b.dense(3)
    made["relu"] = b.finish(), "activation_0 (Activation) has no bias that could take it"
    b = Builder("residual", (6,), 1)
    b.add(g.Binary, "input_0", b.dense(6), function="add")
    b.dense(3)
    made["residual"] = b.finish(), "binary_1 reads it beside another tensor"
    b = Builder("output", (6,), 1)
    b.dense(3)
    made["output"] = b.finish("input_0", b.here), "it is an output as well"
    return made


@pytest.mark.parametrize("name", refused())
def test_readers_that_cannot_take_an_offset(name):
    network, why = refused()[name]
    port = network.inputs[0]
    given, held = centred(network, {port.name: kelvins(port.shape)})
    assert given is network and held.keys() == {port.name}
    assert held[port.name] == why


def test_channels_of_different_means_that_are_mixed_keep_theirs():
    b = Builder("mixed", (6, 5, 4), 1)
    b.add(g.Transpose, order=(2, 1, 0))
    b.add(g.Affine, scale=np.ones(6), shift=np.ones(6))
    values = kelvins((6, 5, 4)) + 1000 * np.arange(4)
    _, held = centred(b.finish(), {"input_0": values})
    assert held == {"input_0": "transpose_0 mixes channels of different means"}


@pytest.mark.parametrize(
    "values",
    [
        np.random.default_rng(1).uniform(0, 255, (100, 7)),
        np.random.default_rng(1).normal(0, 1, (100, 7)),
        np.full((1, 7), MEAN),
        np.zeros((20, 7)),
    ],
    ids=["bytes", "normal", "one input", "zeros"],
)
def test_other_inputs_stay_as_they_are(values):
    """Among them so few that their mean says nothing."""
    network = first_layers()["dense"]
    given, held = centred(network, {"input_0": values})
    assert given is network and not held


def test_scales_of_a_model_are_kept():
    network = first_layers()["dense"]
    network.inputs = [replace(network.inputs[0], scale=0.5, zero_point=0, bits=16)]
    given, held = centred(network, {"input_0": kelvins((7,))})
    assert given is network and not held


def test_transposes_do_not_move_into_a_port_with_an_offset():
    b = Builder("moved", (6, 5, 4), 1)
    b.add(g.Transpose, order=(2, 1, 0))
    b.add(g.Affine, scale=np.ones(6), shift=np.ones(6))
    network = b.finish()
    network.inputs = [replace(network.inputs[0], offset=(1.0, 2.0, 3.0, 4.0))]
    simpler = simplify(network)
    assert simpler.inputs == network.inputs


@pytest.mark.parametrize("offset", [[1.0], ["x"] * 8, [float("inf")] * 8], ids=str)
def test_offsets_of_a_damaged_plan_are_refused(tmp_path, offset):
    plan = plan_of(vectors(), "opu", kelvins((8,)))
    plan.inputs = [replace(plan.inputs[0], offset=tuple(offset))]
    save_plan(plan, tmp_path / "net")
    with pytest.raises(PlanError, match="the plan is damaged: "):
        load_plan(tmp_path / "net")
