# SPDX-License-Identifier: BSD-2-Clause
"""Quantiser on machines of the tests: constraints of scales, known cases, how near to float it
comes, and what it refuses."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quintet.gateware.cores import open_core
from quintet.tools.compiler import graph as g
from quintet.tools.compiler.backends import backend_class
from quintet.tools.compiler.evaluate import run_graph
from quintet.tools.compiler.graph import Port
from quintet.tools.compiler.quantise import quantise
from quintet.tools.compiler.quantise.groups import Groups, channel_classes
from quintet.tools.compiler.quantise.integers import (
    integer_bias,
    neighbourhoods,
    round_nearest,
    round_with_feedback,
    rows_of,
)
from quintet.tools.compiler.quantised import Arithmetic, Scale
from quintet.tools.compiler.target_build import target_build
from quintet.tools.compiler.values import from_graph
from tests.tools.compiler.ideal_machines import (
    Exact,
    Fractions,
    Saturating,
    Wide,
    fused,
    one_layer,
    small,
)
from tests.tools.compiler.networks import Builder, graphs, inputs_of

MACHINES = {machine.isa: machine for machine in (Exact, Saturating, Wide)}
KINDS = (
    "conv",
    "depthwise",
    "grouped",
    "dense",
    "dense_steps",
    "affine",
    "relu",
    "clip",
    "maxpool",
    "averagepool",
    "reshape",
    "transpose",
    "concat",
    "slice",
    "add",
    "sigmoid",
)


def decibels(real, values):
    return 10 * np.log10(np.sum(real**2) / np.sum((real - values) ** 2))


def measured(network, machine, count=24, **options):
    """(Quantised, decibels of the first result) on inputs that were not for calibration."""
    quantised = quantise(network, machine, inputs_of(network, count, seed=1), **options)
    inputs = inputs_of(network, 16, seed=2)
    real = run_graph(network, inputs)
    whole = machine.reference(
        quantised, {name: quantised.scales[name].quantise(array) for name, array in inputs.items()}
    )
    name = network.outputs[0].tensor
    return quantised, decibels(real[name], quantised.scales[name].value(whole[name]))


@pytest.mark.parametrize("machine, least", [("exact", 22), ("saturating", 20), ("wide", 25)])
@pytest.mark.parametrize("name", ["resnet8", "ds_cnn", "mobilenet", "autoencoder"])
def test_networks_come_near_to_float(name, machine, least):
    _, near = measured(small(name), MACHINES[machine]())
    assert near > least


def test_fractions_that_wrap_have_room():
    quantised, near = measured(small("autoencoder"), Fractions())
    assert near > 35
    assert all(
        "headroom of" in c["why"]
        for c in quantised.choices
        if c["what"] == "scale" and c["name"] != "input_0"
    )
    for integer in quantised.layers.values():
        assert (integer.bias_shift == integer.shift).all()


def uneven():
    """Two layers between which channels differ a thousandfold."""
    b = Builder("uneven", (6, 6, 4), 3)
    b.conv(8, (3, 3), relu=True)
    b.conv(4, (3, 3))
    network = fused(b.finish())
    factors = 10.0 ** np.linspace(-1.5, 1.5, 8)
    first, second = network.nodes
    first.weights, first.bias, second.weights = (
        first.weights * factors[:, None, None, None],
        first.bias * factors,
        second.weights / factors,
    )
    return network


def test_equalisation_makes_channels_alike():
    network = uneven()
    quantised, near = measured(network, Exact())
    _, without = measured(network, Exact(), equalise=False)
    assert near > without + 6
    assert any(choice["what"] == "equalised" for choice in quantised.choices)


@pytest.mark.parametrize("name", ["resnet8", "ds_cnn", "autoencoder"])
def test_equalisation_leaves_the_function_and_the_callers_graph(name):
    network = small(name)
    before = [node.weights.copy() for node in network.nodes if hasattr(node, "weights")]
    quantised = quantise(network, Exact(), inputs_of(network, 8))
    assert all(
        (old == node.weights).all()
        for old, node in zip(
            before, [n for n in network.nodes if hasattr(n, "weights")], strict=True
        )
    )
    inputs = inputs_of(network, 4, seed=5)
    for tensor, value in run_graph(quantised.graph, inputs).items():
        np.testing.assert_allclose(value, run_graph(network, inputs)[tensor], rtol=1e-9, atol=1e-9)


def test_channels_go_through_additions_and_pools_but_not_to_the_outside():
    network = small("resnet8")
    classes = channel_classes(network)
    inside = {name for found in classes for name in found.tensors}
    assert not inside & {port.tensor for port in [*network.inputs, *network.outputs]}
    joined = max(classes, key=lambda found: len(found.writers))
    assert len(joined.writers) == 2 and len(joined.readers) >= 1


@pytest.mark.parametrize(
    "low, bounds",
    [
        pytest.param(0.0, [{"activation_1:0": 6.0}, {"activation_3:0": 6.0}], id="relu6"),
        pytest.param(-1.0, [], id="a clip of negative numbers too holds its channels"),
    ],
)
def test_channels_go_through_clips_that_begin_at_zero(low, bounds):
    assert [one.clipped for one in channel_classes(clipped(low))] == bounds


def clipped(low=0.0):
    """A depthwise layer between two relu6: of eight channels the first four reach the bound, the
    others stay far below it, and the last layer weighs them more."""
    b = Builder("clipped", (6, 6, 4), 3)
    b.conv(8, (1, 1))
    b.act("clip", low=low, high=6.0)
    b.conv(8, (3, 3), groups=8)
    b.act("clip", low=low, high=6.0)
    b.conv(4, (1, 1))
    network = fused(b.finish())
    first, depthwise, last = network.nodes
    factors = np.repeat([8.0, 0.05], 4)
    first.weights, first.bias = first.weights * factors[:, None, None, None], first.bias * factors
    depthwise.bias, last.weights = depthwise.bias * factors, last.weights / factors
    return network


def opentpu():
    build = target_build("ulx3s-85f/opentpu")
    return backend_class("opentpu")(params=build.params, memory_size=build.memory_size)


def test_equalisation_behind_clips_gains_accuracy():
    _, near = measured(clipped(), opentpu())
    _, without = measured(clipped(), opentpu(), equalise=False)
    assert near > without + 2


def test_equalisation_leaves_what_clips_cut():
    network = clipped()
    inputs = inputs_of(network, 24, seed=1)
    quantised = quantise(network, opentpu(), inputs)
    before, after = (run_graph(one, inputs, keep=True) for one in (network, quantised.graph))
    tensor, result = network.nodes[0].output, network.outputs[0].tensor
    # Channels that reach the bound do so as before, others have been stretched, below it.
    np.testing.assert_allclose(after[tensor][..., :4], before[tensor][..., :4])
    assert before[tensor][..., :4].max() == 6
    greatest = [values[tensor][..., 4:].max() for values in (before, after)]
    assert 2 * greatest[0] < greatest[1] < 6
    np.testing.assert_allclose(after[result], before[result], rtol=1e-9, atol=1e-9)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(graphs(KINDS, most=5, elements=200), st.sampled_from(sorted(MACHINES)), st.booleans())
def test_scales_keep_the_machines_rules(graph, isa, equalise):
    machine, graph = MACHINES[isa](), fused(graph)
    quantised = quantise(graph, machine, inputs_of(graph, 4), equalise=equalise)
    made = quantised.graph
    arithmetic = {node.name: machine.arithmetic(made, node) for node in made.nodes}
    for members in Groups(made, arithmetic).members.values():
        steps = {quantised.scales[name].step for name in members if name in quantised.scales}
        assert len(steps) <= 1 and all(step > 0 and np.isfinite(step) for step in steps)
    for node in made.nodes:
        numbers, scale = arithmetic[node.name], quantised.scales[node.output]
        assert scale.bits in numbers.out_bits
        if isinstance(node, g.Activation) and node.function == "clip":
            assert scale.step * scale.high <= node.high * (1 + 1e-9)
        if node.name not in quantised.layers:
            continue
        integer = quantised.layers[node.name]
        assert abs(integer.weights).max(initial=0) <= 1 << numbers.weight_bits - 1
        assert ((integer.shift >= numbers.shifts[0]) & (integer.shift <= numbers.shifts[1])).all()
        assert abs(integer.bias).max(initial=0) <= 1 << numbers.bias_bits - 1
        assert (
            (integer.bias_shift >= numbers.bias_shifts[0])
            & (integer.bias_shift <= numbers.bias_shifts[1])
        ).all()
        each = numbers.shift_group or len(integer.shift)
        for at in range(0, len(integer.shift), each):
            assert len(set(integer.shift[at : at + each])) == 1
    values = inputs_of(graph, 2, seed=9)
    machine.reference(
        quantised,
        {name: quantised.scales[name].quantise(array) for name, array in values.items()},
        keep=True,
    )


def test_whole_numbers_come_out_as_they_are():
    weights = np.random.default_rng(0).integers(-128, 128, (6, 5))
    weights[0, 0] = 127
    network = one_layer(weights / 64, np.arange(6) / 64)
    network.tensors["input_0"].scale, network.tensors[network.nodes[0].output].scale = 1.0, 16.0
    quantised = quantise(
        network, Exact(), {"input_0": np.random.default_rng(1).integers(-128, 128, (50, 5))}
    )
    integer = quantised.layers[network.nodes[0].name]
    assert (integer.weights == weights).all() and set(integer.shift) == {10}
    assert {(c["name"], c["why"]) for c in quantised.choices if c["what"] == "scale"} == {
        ("input_0", "8 bits, the model's own"),
        (network.nodes[0].output, "8 bits, the model's own"),
    }


@pytest.mark.parametrize(
    "changes, why",
    [
        ({"zero_point": -128}, "has the zero point -128"),
        ({"signed": False}, "is unsigned"),
        ({"bits": 4}, "has 4 bits, the core 8"),
    ],
)
def test_scales_of_a_model_that_the_machine_has_not_are_chosen_anew(changes, why):
    network = one_layer(np.eye(4), None)
    tensor = network.tensors["input_0"]
    tensor.scale = 0.25
    vars(tensor).update(changes)
    quantised = quantise(
        network, Exact(), {"input_0": np.random.default_rng(1).normal(0, 3, (50, 4))}
    )
    (note,) = (c for c in quantised.choices if c["what"] == "requantised")
    assert note["name"] == "input_0" and note["value"] == 0.25 and why in note["why"]
    assert quantised.scales["input_0"].step != 0.25


def test_two_scales_of_a_model_where_the_machine_wants_one_are_chosen_anew():
    b = Builder("sum", (4,))
    first = b.here
    b.add(g.Binary, first, b.input((4,)), function="add")
    network = b.finish()
    network.tensors["input_0"].scale, network.tensors["input_1"].scale = 0.5, 0.25
    quantised = quantise(network, Exact(), inputs_of(network, 8))
    assert [c["why"] for c in quantised.choices if c["what"] == "requantised"] == [
        "the model's scale is not taken over: 2 scales, and this core wants one"
    ] * 2
    assert len({scale.step for scale in quantised.scales.values()}) == 1


def test_sums_that_saturate_on_their_way_widen_the_range():
    # The first 64 products reach far beyond the result, which the next 64 bring back.
    random = np.random.default_rng(0)
    weights = np.abs(random.normal(0, 1, (4, 64)))
    network = one_layer(
        np.concatenate([weights, -weights + random.normal(0, 0.05, (4, 64))], axis=1), None
    )
    values = np.tile(np.abs(random.normal(0, 1, (60, 64))), (1, 2))
    quantised, output = (
        quantise(network, Saturating(), {"input_0": values}),
        network.nodes[0].output,
    )
    plain = quantise(network, Exact(), {"input_0": values})
    assert quantised.scales[output].step > 4 * plain.scales[output].step


def test_the_bias_makes_up_for_what_rounding_down_loses():
    network = one_layer(np.random.default_rng(0).normal(0, 0.1, (8, 40)), None)
    values = {"input_0": np.random.default_rng(1).normal(0, 1, (200, 40))}
    machine = Exact(rounding="floor")
    quantised = quantise(network, machine, values)
    output = network.nodes[0].output
    scale = quantised.scales[output]
    error = (
        scale.value(
            machine.reference(
                quantised, {"input_0": quantised.scales["input_0"].quantise(values["input_0"])}
            )[output]
        )
        - run_graph(network, values)[output]
    )
    assert abs(error.mean(axis=0)).max() < 0.2 * scale.step


def test_feedback_loses_less_than_the_nearest():
    random = np.random.default_rng(0)
    seen = random.normal(0, 1, (2, 500, 4)) @ random.normal(0, 1, (4, 30)) + random.normal(
        0, 0.1, (2, 500, 30)
    )
    rows, step = random.normal(0, 1, (2, 6, 30)), np.full((2, 6), 0.25)

    def lost(whole):
        return np.square((whole * step[..., None] - rows) @ seen.transpose(0, 2, 1)).mean()

    fed = round_with_feedback(rows, step, 8, seen)
    assert (fed == np.rint(fed)).all() and np.abs(fed * 0.25 - rows).max() < 1.5
    assert lost(fed) < 0.3 * lost(round_nearest(rows, step, 8))


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.floats(-1e4, 1e4), min_size=1, max_size=6),
    st.integers(0, 20),
    st.sampled_from([8, 16, 32]),
    st.sampled_from([(0, 0), (0, 12), (-20, 40)]),
)
def test_a_bias_is_as_near_as_its_width_lets_it_be(bias, shift, bits, shifts):
    bias, numbers = np.array(bias), Arithmetic(bias_bits=bits, bias_shifts=shifts)
    whole, places = integer_bias(bias, np.full(len(bias), shift), 0.5, numbers)
    unit, limit = 0.5 * 2.0 ** (places - shift), (1 << bits - 1) - 1
    assert (
        len(set(places)) == 1
        and shifts[0] <= places[0] <= shifts[1]
        and abs(whole).max() <= limit + 1
    )
    fits = np.abs(bias) / unit <= limit
    assert (np.abs(whole * unit - bias)[fits] <= unit[fits] / 2 * (1 + 1e-9)).all()
    assert fits.all() or places[0] == shifts[1]


@settings(max_examples=40, deadline=None)
@given(
    graphs(
        ("conv", "depthwise", "grouped", "dense", "affine"),
        most=1,
        shapes=st.tuples(st.integers(1, 6), st.integers(1, 6), st.integers(1, 6)),
    )
)
def test_neighbourhoods_times_rows_are_the_layer(graph):
    node = graph.nodes[0]
    if not isinstance(node, g.Conv | g.Dense | g.Affine):
        return
    values = inputs_of(graph)["input_0"]
    sums = np.einsum(
        "gpk,gok->pgo", neighbourhoods(node, values, np.random.default_rng(0)), rows_of(node)
    )
    plain = (
        replace(node, shift=np.zeros(len(node.shift)))
        if isinstance(node, g.Affine)
        else replace(node, bias=None)
    )
    np.testing.assert_allclose(sums.reshape(-1), plain.run(values).reshape(-1), atol=1e-9)


@pytest.mark.parametrize("others", [True, False])
def test_a_clip_cuts_nothing_else_that_shares_its_scale(others):
    """A machine that clips by itself: a tensor joined to a clipped one, and the source that is
    clipped, keep what lies above the bound."""
    b = Builder("joined", (6, 6, 3), 4)
    source = b.conv(4, (3, 3))
    clipped = b.act("clip", source, low=0.0, high=0.5)
    if others:
        b.add(g.Concat, clipped, source, axis=2)
    pim = backend_class("pim")(params=open_core("pim").params.SPACE.resolve(), memory_size=1 << 20)
    quantised, snr = measured(b.finish(), pim)
    assert snr > 35
    top = quantised.scales[source].value(quantised.scales[source].high)
    assert top > 2 and len({quantised.scales[name].step for name in (source, clipped)}) == 1


def test_a_value_that_is_not_a_number_becomes_zero():
    """On every processor: their conversions of it to integers differ."""
    values = np.array([[np.nan, np.inf, -np.inf, 1.0]])
    assert Scale(0.5, 8).quantise(values).tolist() == [[0, 127, -128, 2]]
    port = Port("y", "y", (0,), (4,), scale=0.5, zero_point=3, signed=False)
    assert from_graph(port, values).tolist() == [[3, 255, 0, 5]]
