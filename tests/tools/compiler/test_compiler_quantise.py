# SPDX-License-Identifier: BSD-2-Clause
"""Quantiser on machines of the tests: constraints of scales, known cases, how near to float it comes, and what it refuses."""
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quintet.tools.compiler import graph as g
from quintet.tools.compiler.evaluate import run_graph, run_node
from quintet.tools.compiler.quantise import quantise
from quintet.tools.compiler.quantise.channels import channel_classes
from quintet.tools.compiler.quantise.groups import Groups
from quintet.tools.compiler.quantise.integers import integer_bias, round_nearest, round_with_feedback
from quintet.tools.compiler.quantise.rows import neighbourhoods, rows_of
from quintet.tools.compiler.quantised import Arithmetic
from quintet.tools.errors import InputError
from tests.tools.compiler.ideal_machines import Exact, Fractions, Saturating, Wide, fused
from tests.tools.compiler.networks import NETWORKS, Builder, graphs, inputs_of

MACHINES = {machine.isa: machine for machine in (Exact, Saturating, Wide)}
KINDS = ("conv", "depthwise", "grouped", "dense", "dense_steps", "affine", "relu", "clip", "maxpool", "averagepool", "reshape", "transpose", "concat",
         "slice", "add", "sigmoid")


def decibels(real, values):
    return 10 * np.log10(np.sum(real ** 2) / np.sum((real - values) ** 2))


def measured(network, machine, count=24, **options):
    """(Quantised, decibels of the first result) on inputs that were not for calibration."""
    quantised = quantise(network, machine, inputs_of(network, count, seed=1), **options)
    inputs = inputs_of(network, 16, seed=2)
    real = run_graph(network, inputs)
    whole = machine.reference(quantised, {name: quantised.scales[name].quantise(array) for name, array in inputs.items()})
    name = network.outputs[0].tensor
    return quantised, decibels(real[name], quantised.scales[name].value(whole[name]))


def small(name):
    """A small network as the passes leave it: no softmax, activations with their layers."""
    network = NETWORKS[name][1]()
    if isinstance(network.nodes[-1], g.Softmax):
        last = network.nodes.pop()
        network.outputs = [g.Port("out", last.inputs[0], (0,), network.shape(last.inputs[0]))]
        del network.tensors[last.output]
    return fused(network)


@pytest.mark.parametrize("machine, least", [("exact", 22), ("saturating", 20), ("wide", 25)])
@pytest.mark.parametrize("name", ["resnet8", "ds_cnn", "mobilenet", "autoencoder"])
def test_networks_come_near_to_float(name, machine, least):
    _, near = measured(small(name), MACHINES[machine]())
    assert near > least


def test_fractions_that_wrap_have_room():
    quantised, near = measured(small("autoencoder"), Fractions())
    assert near > 35
    assert all("room of" in c["why"] for c in quantised.choices if c["what"] == "scale" and c["name"] != "input_0")
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
    first.weights, first.bias, second.weights = first.weights * factors[:, None, None, None], first.bias * factors, second.weights / factors
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
    assert all((old == node.weights).all() for old, node in zip(before, [n for n in network.nodes if hasattr(n, "weights")], strict=True))
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
    b = Builder("clipped", (4, 4, 2))
    b.conv(3, (1, 1))
    b.act("clip", low=0.0, high=6.0)
    b.conv(2, (1, 1))
    assert not channel_classes(fused(b.finish()))


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
        assert ((integer.bias_shift >= numbers.bias_shifts[0]) & (integer.bias_shift <= numbers.bias_shifts[1])).all()
        each = numbers.shift_group or len(integer.shift)
        for at in range(0, len(integer.shift), each):
            assert len(set(integer.shift[at:at + each])) == 1
    values = inputs_of(graph, 2, seed=9)
    machine.reference(quantised, {name: quantised.scales[name].quantise(array) for name, array in values.items()}, keep=True)


def one_layer(weights, bias, **attributes):
    b = Builder("one", (weights.shape[1],))
    b.add(g.Dense, weights=np.asarray(weights, float), bias=bias, **attributes)
    return b.finish()


def test_whole_numbers_come_out_as_they_are():
    weights = np.random.default_rng(0).integers(-128, 128, (6, 5))
    weights[0, 0] = 127
    network = one_layer(weights / 64, np.arange(6) / 64)
    network.tensors["input_0"].scale, network.tensors[network.nodes[0].output].scale = 1.0, 16.0
    quantised = quantise(network, Exact(), {"input_0": np.random.default_rng(1).integers(-128, 128, (50, 5))})
    integer = quantised.layers[network.nodes[0].name]
    assert (integer.weights == weights).all() and set(integer.shift) == {10}
    assert {(c["name"], c["why"]) for c in quantised.choices if c["what"] == "scale"} == {
        ("input_0", "8 bits, the model's own"), (network.nodes[0].output, "8 bits, the model's own")}


@pytest.mark.parametrize("changes, why", [
    ({"zero_point": -128}, "has the zero point -128"), ({"signed": False}, "is unsigned"), ({"bits": 4}, "has 4 bits, the machine 8")])
def test_scales_of_a_model_that_the_machine_has_not_are_chosen_anew(changes, why):
    network = one_layer(np.eye(4), None)
    tensor = network.tensors["input_0"]
    tensor.scale = 0.25
    vars(tensor).update(changes)
    quantised = quantise(network, Exact(), {"input_0": np.random.default_rng(1).normal(0, 3, (50, 4))})
    note, = (c for c in quantised.choices if c["what"] == "requantised")
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
        "the model's scale is not taken over: 2 scales, and this machine wants one"] * 2
    assert len({scale.step for scale in quantised.scales.values()}) == 1


def test_sums_that_saturate_on_their_way_widen_the_range():
    # The first 64 products reach far beyond the result, which the next 64 bring back.
    random = np.random.default_rng(0)
    weights = np.abs(random.normal(0, 1, (4, 64)))
    network = one_layer(np.concatenate([weights, -weights + random.normal(0, 0.05, (4, 64))], axis=1), None)
    values = np.tile(np.abs(random.normal(0, 1, (60, 64))), (1, 2))
    quantised, output = quantise(network, Saturating(), {"input_0": values}), network.nodes[0].output
    plain = quantise(network, Exact(), {"input_0": values})
    assert quantised.scales[output].step > 4 * plain.scales[output].step


def test_the_bias_makes_up_for_what_rounding_down_loses():
    network = one_layer(np.random.default_rng(0).normal(0, 0.1, (8, 40)), None)
    values = {"input_0": np.random.default_rng(1).normal(0, 1, (200, 40))}
    machine = Exact(rounding="floor")
    quantised = quantise(network, machine, values)
    output = network.nodes[0].output
    scale = quantised.scales[output]
    error = scale.value(machine.reference(quantised, {"input_0": quantised.scales["input_0"].quantise(values["input_0"])})[output]) - run_graph(network, values)[output]
    assert abs(error.mean(axis=0)).max() < 0.2 * scale.step


def test_feedback_loses_less_than_the_nearest():
    random = np.random.default_rng(0)
    seen = random.normal(0, 1, (2, 500, 4)) @ random.normal(0, 1, (4, 30)) + random.normal(0, 0.1, (2, 500, 30))
    rows, step = random.normal(0, 1, (2, 6, 30)), np.full((2, 6), 0.25)

    def lost(whole):
        return np.square((whole * step[..., None] - rows) @ seen.transpose(0, 2, 1)).mean()

    fed = round_with_feedback(rows, step, 8, seen)
    assert (fed == np.rint(fed)).all() and np.abs(fed * 0.25 - rows).max() < 1.5
    assert lost(fed) < 0.3 * lost(round_nearest(rows, step, 8))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(-1e4, 1e4), min_size=1, max_size=6), st.integers(0, 20), st.sampled_from([8, 16, 32]), st.sampled_from([(0, 0), (0, 12), (-20, 40)]))
def test_a_bias_is_as_near_as_its_width_lets_it_be(bias, shift, bits, shifts):
    bias, numbers = np.array(bias), Arithmetic(bias_bits=bits, bias_shifts=shifts)
    whole, places = integer_bias(bias, np.full(len(bias), shift), 0.5, numbers)
    unit, limit = 0.5 * 2.0 ** (places - shift), (1 << bits - 1) - 1
    assert len(set(places)) == 1 and shifts[0] <= places[0] <= shifts[1] and abs(whole).max() <= limit + 1
    fits = np.abs(bias) / unit <= limit
    assert (np.abs(whole * unit - bias)[fits] <= unit[fits] / 2 * (1 + 1e-9)).all()
    assert fits.all() or places[0] == shifts[1]


@settings(max_examples=40, deadline=None)
@given(graphs(("conv", "depthwise", "grouped", "dense", "affine"), most=1, shapes=st.tuples(st.integers(1, 6), st.integers(1, 6), st.integers(1, 6))))
def test_neighbourhoods_times_rows_are_the_layer(graph):
    node = graph.nodes[0]
    if not isinstance(node, g.Conv | g.Dense | g.Affine):
        return
    values = inputs_of(graph)["input_0"]
    sums = np.einsum("gpk,gok->pgo", neighbourhoods(node, values, np.random.default_rng(0)), rows_of(node))
    plain = replace(node, shift=np.zeros(len(node.shift))) if isinstance(node, g.Affine) else replace(node, bias=None)
    np.testing.assert_allclose(sums.reshape(-1), run_node(plain, values).reshape(-1), atol=1e-9)


def test_percentile_cuts_the_share_it_says():
    network = one_layer(np.eye(3), None)
    values = np.random.default_rng(1).normal(0, 1, (4000, 3))
    quantised = quantise(network, Exact(), {"input_0": values}, percentile=90)
    assert quantised.scales["input_0"].step * 127 == pytest.approx(np.percentile(abs(values), 90), rel=1e-6)


def test_bits_choose_among_what_the_machine_has():
    network = small("autoencoder")
    wide, narrow = (quantise(network, Wide(), inputs_of(network, 4), bits=bits) for bits in (None, 8))
    assert {scale.bits for scale in wide.scales.values()} == {16} and {scale.bits for scale in narrow.scales.values()} == {8}
    with pytest.raises(InputError, match="bits is 5, no tensor of the network can have this width on this machine; it takes 16"):
        quantise(network, Wide(), inputs_of(network, 4), bits=5)


class Table(Exact):
    """Its sigmoid reads 2^-4 and gives 2^-7; product of tensors by a shift; sums and means with factors."""
    def arithmetic(self, graph, node):
        if isinstance(node, g.Activation) and node.function == "sigmoid":
            return Arithmetic(weight_bits=None, source_step=2.0 ** -4, result_step=2.0 ** -7)
        if isinstance(node, g.Activation) and node.function == "tanh":
            return Arithmetic(weight_bits=None, source_step=2.0 ** -5)
        if isinstance(node, g.Lstm | g.Gru):
            return Arithmetic(source_step=2.0 ** -4)
        if isinstance(node, g.Binary | g.AveragePool):
            return Arithmetic()
        return super().arithmetic(graph, node)

    def node(self, quantised, node, x, *others):
        scale = quantised.scales[node.output]
        real = run_node(node, *(quantised.scales[name].value(value) for name, value in zip(node.inputs, (x, *others), strict=True)))
        return super().node(quantised, node, x, *others) if isinstance(node, g.Dense) else scale.quantise(real)


def test_tables_of_the_machine_say_the_scale():
    b = Builder("gate", (6,))
    b.dense(5)
    b.act("sigmoid")
    network = b.finish()
    quantised = quantise(network, Table(), inputs_of(network, 20))
    assert [quantised.scales[node.output].step for node in network.nodes] == [2.0 ** -4, 2.0 ** -7]
    b = Builder("both", (6,))
    source = b.dense(5)
    b.act("sigmoid", source)
    b.act("tanh", source)
    with pytest.raises(InputError, match=r"tensor dense_0:0: tables of the machine ask for different steps: activation_1 0.0625, activation_2 0.03125"):
        quantise(b.finish(), Table(), inputs_of(b.graph, 20))


def test_products_follow_their_operands_by_a_power_of_two():
    b = Builder("product", (6,))
    one, other = b.dense(5), b.dense(5, "input_0")
    b.add(g.Binary, one, other, function="mul")
    network = b.finish()
    quantised = quantise(network, Table(), inputs_of(network, 30))
    shift = quantised.layers[network.nodes[-1].name].shift
    steps = [quantised.scales[node.output].step for node in network.nodes]
    assert steps[2] == steps[0] * steps[1] * 2.0 ** shift[0]
    assert steps[2] * 128 > 0.4 * abs(run_graph(network, inputs_of(network, 30))[b.here]).max()
    b.act("sigmoid")
    network.outputs = []
    with pytest.raises(InputError, match=r"node binary_2: its result must have the step .* times 2 to the 0 to 31, but binary_2:0 shares the step 0.0625"):
        quantise(b.finish(), Table(), inputs_of(b.graph, 30))


def test_sums_and_means_have_factors_where_the_machine_multiplies():
    b = Builder("sum", (4, 4, 3))
    one, other = b.conv(3, (1, 1)), b.conv(3, (1, 1), "input_0")
    b.add(g.Binary, one, other, function="add")
    b.add(g.AveragePool, window=(2, 2), stride=(2, 2))
    network = b.finish()
    quantised = quantise(network, Table(), inputs_of(network, 20))
    for node, count in zip(network.nodes[2:], (1, 4), strict=True):
        integer, result = quantised.layers[node.name], quantised.scales[node.output].step
        for weight, name in zip(integer.weights, node.inputs, strict=True):
            assert weight / 2.0 ** integer.shift[0] == pytest.approx(quantised.scales[name].step / count / result, rel=0.02)
        assert 64 <= integer.weights.max() <= 127


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_recurrent_layers_have_two_sets_of_weights(kind):
    b = Builder("recurrent", (5, 4), 1)
    getattr(b, kind)(6, last=True)
    network = b.finish()
    node, = network.nodes
    quantised = quantise(network, Table(), inputs_of(network, 20))
    integer, sums = quantised.layers[node.name], quantised.scales[f"{node.name}.sums"]
    assert sums.step == 2.0 ** -4
    for whole, real, shift, source in ((integer.weights, node.weights, integer.shift, "input_0"), (integer.recurrent, node.recurrent, integer.recurrent_shift, node.output)):
        step = sums.step * 2.0 ** -shift[0] / quantised.scales[source].step
        assert len(set(shift)) == 1 and np.abs(whole * step - real).max() <= step / 2 * 1.001 or abs(whole).max() == 128
    unit = sums.step * 2.0 ** (integer.bias_shift - integer.shift)
    assert np.abs((integer.bias if kind == "lstm" else integer.bias[0]) * unit - (node.bias if kind == "lstm" else node.bias[0])).max() <= unit.max()


def test_floating_point_needs_no_scales():
    machine = Exact()
    machine.floating = True
    quantised = quantise(small("autoencoder"), machine, inputs_of(small("autoencoder"), 2))
    assert not quantised.scales and not quantised.layers and quantised.graph.nodes


NAN = np.zeros((3, 4))
NAN[1, 2] = np.nan


@pytest.mark.parametrize("values, message", [
    ({"input_0": NAN}, r"calibration of input_0 has nan at \[1, 2\], expected finite numbers"),
    ({"input_0": np.where(np.isnan(NAN), np.inf, 0)}, r"calibration of input_0 has inf at \[1, 2\], expected finite numbers"),
    ({"input_0": np.zeros((3, 5))}, r"calibration of input_0 has shape \(3, 5\), expected numbers of shape \(N, 4\)"),
    ({"input_0": np.zeros(4)}, r"calibration of input_0 has shape \(4,\), expected numbers of shape \(N, 4\)"),
    ({"input_0": np.zeros((0, 4))}, "calibration of input_0 has 0 inputs, expected at least 1"),
    ({"input_0": np.array([["a"] * 4])}, r"calibration of input_0 has type <U1, expected numbers of shape \(N, 4\)"),
    ({}, r"calibration of input_0 is missing, expected numbers of shape \(N, 4\)"),
    ({"input_0": np.zeros((3, 4)), "input_1": np.zeros((3, 4))}, "calibration of input_1: the network has no such input; did you mean input_0?"),
    (np.zeros((3, 4)), "calibration is ndarray, expected arrays by name: input_0")])
def test_calibration_that_does_not_fit_is_refused(values, message):
    with pytest.raises(InputError, match=message):
        quantise(one_layer(np.eye(4), None), Exact(), values)


def test_a_network_that_overflows_on_its_calibration_is_refused():
    b = Builder("overflow", (4,))
    b.act("exp")
    with pytest.raises(InputError, match="tensor activation_0:0 becomes inf on the calibration inputs, expected finite numbers"):
        quantise(b.finish(), Exact(), {"input_0": np.full((3, 4), 1e4)})


def test_inputs_of_one_network_are_equally_many():
    b = Builder("sum", (4,))
    b.add(g.Binary, b.here, b.input((4,)), function="add")
    with pytest.raises(InputError, match="calibration of input_1 has 2 inputs, expected 3 as the others have"):
        quantise(b.finish(), Exact(), {"input_0": np.zeros((3, 4)), "input_1": np.zeros((2, 4))})


@pytest.mark.parametrize("percentile", [0, 101, -5])
def test_a_percentile_out_of_range_is_refused(percentile):
    with pytest.raises(InputError, match=f"percentile is {percentile}, expected a number above 0, at most 100"):
        quantise(one_layer(np.eye(4), None), Exact(), {"input_0": np.ones((3, 4))}, percentile=percentile)


def test_widths_that_do_not_meet_are_refused():
    class Mixed(Exact):
        def arithmetic(self, graph, node):
            return replace(super().arithmetic(graph, node), reads=(16,))
    b = Builder("two", (4,))
    b.dense(4)
    b.dense(4)
    with pytest.raises(InputError, match="tensor dense_0:0: no width of numbers suits all: dense_0 gives 8, dense_1 takes 16"):
        quantise(b.finish(), Mixed(), {"input_0": np.ones((3, 4))})


def test_zeros_throughout_have_a_scale():
    network = one_layer(np.zeros((3, 4)), np.zeros(3))
    quantised = quantise(network, Exact(), {"input_0": np.zeros((3, 4))})
    assert all(scale.step == 1 / 127 for scale in quantised.scales.values())
