# SPDX-License-Identifier: BSD-2-Clause
"""Quantiser: options, what machines ask of single nodes, and what it refuses."""

from dataclasses import replace

import numpy as np
import pytest

from quintet.tools.compiler import graph as g
from quintet.tools.compiler.evaluate import run_graph
from quintet.tools.compiler.quantise import check_bits, quantise
from quintet.tools.compiler.quantised import Arithmetic
from quintet.tools.errors import InputError
from tests.tools.compiler.ideal_machines import Exact, Wide, one_layer, small
from tests.tools.compiler.networks import Builder, inputs_of


def test_percentile_cuts_the_share_it_says():
    network = one_layer(np.eye(3), None)
    values = np.random.default_rng(1).normal(0, 1, (4000, 3))
    quantised = quantise(network, Exact(), {"input_0": values}, percentile=90)
    assert quantised.scales["input_0"].step * 127 == pytest.approx(
        np.percentile(abs(values), 90), rel=1e-6
    )


def test_bits_choose_among_what_the_machine_has():
    network = small("autoencoder")
    wide, narrow = (
        quantise(network, Wide(), inputs_of(network, 4), bits=bits) for bits in (None, 8)
    )
    assert {scale.bits for scale in wide.scales.values()} == {16} and {
        scale.bits for scale in narrow.scales.values()
    } == {8}
    with pytest.raises(
        InputError,
        match=("bits is 5, no tensor of the network can have this width on this core; it takes 16"),
    ):
        check_bits(5, [quantise(network, Wide(), inputs_of(network, 4), bits=5)])
    # One part of a network that has no such tensors is no reason to refuse all.
    check_bits(8, [wide, narrow])


class Table(Exact):
    """Its sigmoid reads 2^-4 and gives 2^-7; product of tensors by a shift; sums and means with
    factors."""

    def arithmetic(self, graph, node):
        if isinstance(node, g.Activation) and node.function == "sigmoid":
            return Arithmetic(weight_bits=None, source_step=2.0**-4, result_step=2.0**-7)
        if isinstance(node, g.Activation) and node.function == "tanh":
            return Arithmetic(weight_bits=None, source_step=2.0**-5)
        if isinstance(node, g.Lstm | g.Gru):
            return Arithmetic(source_step=2.0**-4)
        if isinstance(node, g.Binary | g.AveragePool):
            return Arithmetic()
        return super().arithmetic(graph, node)

    def node(self, quantised, node, x, *others):
        scale = quantised.scales[node.output]
        real = node.run(
            *(
                quantised.scales[name].value(value)
                for name, value in zip(node.inputs, (x, *others), strict=True)
            ),
        )
        return (
            super().node(quantised, node, x, *others)
            if isinstance(node, g.Dense)
            else scale.quantise(real)
        )


def test_tables_of_the_machine_say_the_scale():
    b = Builder("gate", (6,))
    b.dense(5)
    b.act("sigmoid")
    network = b.finish()
    quantised = quantise(network, Table(), inputs_of(network, 20))
    assert [quantised.scales[node.output].step for node in network.nodes] == [2.0**-4, 2.0**-7]
    b = Builder("both", (6,))
    source = b.dense(5)
    b.act("sigmoid", source)
    b.act("tanh", source)
    with pytest.raises(
        InputError,
        match=(
            r"tensor dense_0:0: tables of the core require different scales: activation_1 "
            r"0.0625, activation_2 0.03125"
        ),
    ):
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
    with pytest.raises(
        InputError,
        match=(
            r"binary_2: its result must have the scale .* times 2 to the 0 to 31, but "
            r"binary_2:0 shares the scale 0.0625"
        ),
    ):
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
            assert weight / 2.0 ** integer.shift[0] == pytest.approx(
                quantised.scales[name].step / count / result, rel=0.02
            )
        assert 64 <= integer.weights.max() <= 127


class Averaging(Table):
    """Its averages saturate while they are added up."""

    def arithmetic(self, graph, node):
        numbers = super().arithmetic(graph, node)
        return (
            replace(numbers, partial_bits=16, partial_shifted=8)
            if isinstance(node, g.AveragePool)
            else numbers
        )

    def partial_sums(self, graph, node, values):
        yield from np.cumsum(values.reshape(len(values), -1, values.shape[-1]), axis=1).swapaxes(
            0, 1
        ) / np.prod(node.window)


def test_averages_that_saturate_on_their_way_have_room():
    b = Builder("mean", (4, 2, 3))
    b.global_average()
    network = b.finish()
    values = (
        np.random.default_rng(0).normal(0, 1, (40, 4, 2, 3))
        + np.array([5, 5, -5, -5])[:, None, None]
    )
    steps = [
        quantise(network, machine(), {"input_0": values}).scales[network.nodes[-1].output].step
        for machine in (Table, Averaging)
    ]
    assert steps[1] > 1.5 * steps[0]


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_recurrent_layers_have_two_sets_of_weights(kind):
    b = Builder("recurrent", (5, 4), 1)
    getattr(b, kind)(6, last=True)
    network = b.finish()
    (node,) = network.nodes
    quantised = quantise(network, Table(), inputs_of(network, 20))
    integer, sums = quantised.layers[node.name], quantised.scales[f"{node.name}.sums"]
    assert sums.step == 2.0**-4
    for whole, real, shift, source in (
        (integer.weights, node.weights, integer.shift, "input_0"),
        (integer.recurrent, node.recurrent, integer.recurrent_shift, node.output),
    ):
        step = sums.step * 2.0 ** -shift[0] / quantised.scales[source].step
        assert (
            len(set(shift)) == 1
            and np.abs(whole * step - real).max() <= step / 2 * 1.001
            or abs(whole).max() == 128
        )
    unit = sums.step * 2.0 ** (integer.bias_shift - integer.shift)
    assert (
        np.abs(
            (integer.bias if kind == "lstm" else integer.bias[0]) * unit
            - (node.bias if kind == "lstm" else node.bias[0])
        ).max()
        <= unit.max()
    )


def test_floating_point_needs_no_scales():
    machine = Exact()
    machine.floating = True
    quantised = quantise(small("autoencoder"), machine, inputs_of(small("autoencoder"), 2))
    assert not quantised.scales and not quantised.layers and quantised.graph.nodes


NAN = np.zeros((3, 4))
NAN[1, 2] = np.nan


@pytest.mark.parametrize(
    "values, message",
    [
        ({"input_0": NAN}, r"calibration of input_0 has nan at \[1, 2\], expected finite numbers"),
        (
            {"input_0": np.where(np.isnan(NAN), np.inf, 0)},
            r"calibration of input_0 has inf at \[1, 2\], expected finite numbers",
        ),
        (
            {"input_0": np.zeros((3, 5))},
            r"calibration of input_0 has shape \(3, 5\), expected numbers of shape \(N, 4\)",
        ),
        (
            {"input_0": np.zeros(4)},
            r"calibration of input_0 has shape \(4,\), expected numbers of shape \(N, 4\)",
        ),
        ({"input_0": np.zeros((0, 4))}, "calibration of input_0 has 0 inputs, expected at least 1"),
        (
            {"input_0": np.array([["a"] * 4])},
            r"calibration of input_0 has type <U1, expected numbers of shape \(N, 4\)",
        ),
        ({}, r"calibration of input_0 is missing, expected numbers of shape \(N, 4\)"),
        (
            {"input_0": np.zeros((3, 4)), "input_1": np.zeros((3, 4))},
            "calibration of input_1: the network has no such input; did you mean input_0?",
        ),
        (np.zeros((3, 4)), "calibration is ndarray, expected arrays by name: input_0"),
    ],
)
def test_calibration_that_does_not_fit_is_refused(values, message):
    with pytest.raises(InputError, match=message):
        quantise(one_layer(np.eye(4), None), Exact(), values)


def test_a_network_that_overflows_on_its_calibration_is_refused():
    b = Builder("overflow", (4,))
    b.act("exp")
    with pytest.raises(
        InputError,
        match=(
            "tensor activation_0:0 becomes inf on the calibration inputs, expected finite numbers"
        ),
    ):
        quantise(b.finish(), Exact(), {"input_0": np.full((3, 4), 1e4)})


def test_inputs_of_one_network_are_equally_many():
    b = Builder("sum", (4,))
    b.add(g.Binary, b.here, b.input((4,)), function="add")
    with pytest.raises(
        InputError, match="calibration of input_1 has 2 inputs, expected 3 as the others have"
    ):
        quantise(b.finish(), Exact(), {"input_0": np.zeros((3, 4)), "input_1": np.zeros((2, 4))})


@pytest.mark.parametrize("percentile", [0, 101, -5])
def test_a_percentile_out_of_range_is_refused(percentile):
    with pytest.raises(
        InputError, match=f"percentile is {percentile}, expected a number above 0, at most 100"
    ):
        quantise(
            one_layer(np.eye(4), None), Exact(), {"input_0": np.ones((3, 4))}, percentile=percentile
        )


def test_widths_that_do_not_meet_are_refused():
    class Mixed(Exact):
        def arithmetic(self, graph, node):
            return replace(super().arithmetic(graph, node), reads=(16,))

    b = Builder("two", (4,))
    b.dense(4)
    b.dense(4)
    with pytest.raises(
        InputError,
        match="tensor dense_0:0: no width of numbers suits all: dense_0 gives 8, dense_1 takes 16",
    ):
        quantise(b.finish(), Mixed(), {"input_0": np.ones((3, 4))})


def test_zeros_throughout_have_a_scale():
    network = one_layer(np.zeros((3, 4)), np.zeros(3))
    quantised = quantise(network, Exact(), {"input_0": np.zeros((3, 4))})
    assert all(scale.step == 1 / 127 for scale in quantised.scales.values())
