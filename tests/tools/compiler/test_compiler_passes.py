# SPDX-License-Identifier: BSD-2-Clause
"""Passes: the same network in fewer nodes."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from quintet.tools.compiler import graph as g
from quintet.tools.compiler.evaluate import run_graph
from quintet.tools.compiler.passes import RULES, apply, simplify
from quintet.tools.compiler.values import from_graph, to_graph
from tests.support.campaigns import Campaign
from tests.tools.compiler.networks import KINDS, NETWORKS, Builder, graphs


def users_values(graph, count=2, seed=0):
    """Random arrays as the user gives them, by the names of the inputs."""
    random = np.random.default_rng(seed)
    return {port.name: random.normal(0, 1, (count, *port.shape)) for port in graph.inputs}


def users_results(graph, values):
    out = run_graph(
        graph, {port.tensor: to_graph(port, values[port.name]) for port in graph.inputs}, keep=True
    )
    return {port.name: from_graph(port, out[port.tensor]) for port in graph.outputs}, out


def check_equal(before, after):
    """The same results, tensors of one name and shape have the same values, and the new graph is
    whole."""
    values = users_values(before)
    expected, expected_all = users_results(before, values)
    result, result_all = users_results(after, values)
    assert result.keys() == expected.keys()
    for name, value in expected.items():
        size = np.abs(value).max(initial=1.0)
        np.testing.assert_allclose(result[name], value, rtol=0, atol=1e-9 * size, err_msg=name)
    for name, value in result_all.items():
        if name in expected_all:
            size = np.abs(expected_all[name]).max(initial=1.0)
            np.testing.assert_allclose(
                value, expected_all[name], rtol=0, atol=1e-9 * size, err_msg=name
            )
    made = {port.tensor for port in after.inputs} | {
        name for name, tensor in after.tensors.items() if tensor.data is not None
    }
    for node in after.nodes:
        assert set(node.inputs) <= made, node.name
        assert node.shape_of(*(after.shape(name) for name in node.inputs)) == tuple(
            after.shape(node.output)
        ), node.name
        made.add(node.output)
    assert len({node.name for node in after.nodes}) == len(after.nodes)


@settings(
    max_examples=250, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
@given(graphs(most=8))
def test_random_graphs_stay_what_they_are(graph):
    check_equal(graph, simplify(graph))


_AFFINE = (
    "conv",
    "depthwise",
    "grouped",
    "dense",
    "affine",
    "add",
    "sub",
    "mul",
    "div",
    "pad",
    "relu",
    "clip",
    "leaky",
    "averagepool",
    "maxpool",
)
_MOVING = (
    "transpose",
    "reshape",
    "dense",
    "add",
    "mul",
    "relu",
    "sigmoid",
    "softmax",
    "conv",
    "slice",
    "concat",
    "reduce",
)


@settings(
    max_examples=150, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
@given(graphs(_AFFINE, most=6))
def test_graphs_of_layers_and_factors_stay_what_they_are(graph):
    check_equal(graph, simplify(graph))


@settings(
    max_examples=150, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
@given(graphs(_MOVING, most=8))
def test_graphs_that_move_elements_stay_what_they_are(graph):
    check_equal(graph, simplify(graph))


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_stay_what_they_are_and_lose_their_activations(name):
    graph = NETWORKS[name][1]()
    simple = simplify(graph)
    check_equal(graph, simple)
    assert not [node for node in simple.nodes if node.kind == "activation"]
    assert simplify(simple).nodes and len(simplify(simple).nodes) == len(simple.nodes)


def kinds(graph):
    return [node.kind for node in graph.nodes]


def test_the_graph_that_goes_in_is_not_changed():
    graph = NETWORKS["resnet8"][1]()
    before = [(node.name, list(node.inputs), node.output) for node in graph.nodes]
    simplify(graph)
    assert before == [(node.name, list(node.inputs), node.output) for node in graph.nodes]


def test_normalisation_and_activation_go_into_the_convolution_in_front():
    b = Builder("n", (5, 5, 3))
    b.conv(4, (3, 3), bias=False)
    b.add(g.Affine, scale=1 + b.normal(4), shift=b.normal(4))
    b.act("relu")
    graph = b.finish()
    simple = simplify(graph)
    check_equal(graph, simple)
    (node,) = simple.nodes
    assert (node.kind, node.activation.function, node.output, node.name) == (
        "conv",
        "relu",
        b.here,
        "conv_0",
    )
    assert node.origin == "Conv+Affine+Activation"


@pytest.mark.parametrize(
    "padding, kinds_left", [((0, 0, 0, 0), ["conv"]), ((1, 1, 1, 1), ["affine", "conv"])]
)
def test_a_shift_before_a_convolution_does_not_reach_its_padding(padding, kinds_left):
    b = Builder("n", (5, 5, 4))
    b.add(g.Affine, scale=1 + b.normal(4), shift=1 + b.normal(4))
    b.conv(6, (3, 3), padding=padding, groups=2)
    graph = b.finish()
    simple = simplify(graph)
    check_equal(graph, simple)
    assert [kind.replace("grouped", "conv") for kind in kinds(simple)] == kinds_left


def test_a_factor_before_padding_goes_in():
    b = Builder("n", (5, 5, 4))
    b.add(g.Affine, scale=1 + b.normal(4), shift=np.zeros(4))
    b.conv(6, (3, 3))
    simple = simplify(b.finish())
    check_equal(b.graph, simple)
    assert kinds(simple) == ["conv"] and simple.nodes[0].bias is not None


@pytest.mark.parametrize(
    "kind, attributes, value, relu, folded",
    [
        (g.Conv, {}, 0.0, False, True),
        (g.Conv, {}, 0.5, False, False),
        (g.MaxPool, {}, 0.0, True, True),
        (g.MaxPool, {}, 0.0, False, False),
        (g.MaxPool, {}, 0.5, True, False),
        (g.AveragePool, {"include_padding": False}, 0.0, False, True),
        (g.AveragePool, {"padding": (1, 0, 0, 0)}, 0.0, False, True),
        (g.AveragePool, {"padding": (1, 0, 0, 0), "include_padding": False}, 0.0, False, False),
    ],
)
def test_borders_go_into_windows_that_make_the_same(kind, attributes, value, relu, folded):
    b = Builder("n", (5, 5, 2))
    b.act("relu" if relu else "tanh")
    b.add(g.Pad, before=(1, 0, 0), after=(1, 1, 0), value=value)
    if kind is g.Conv:
        b.conv(3, (3, 2), padding=(0, 0, 0, 0))
    else:
        b.add(kind, window=(3, 2), stride=(1, 1), **attributes)
    simple = simplify(b.finish())
    check_equal(b.graph, simple)
    assert ("pad" not in kinds(simple)) == folded


def test_products_and_sums_with_constants_are_one_dense_layer():
    b = Builder("n", (6,))
    b.add(g.Binary, b.here, b.constant(np.arange(1.0, 7)), function="div")
    b.dense(4, bias=False)
    b.add(g.Binary, b.constant(b.normal(4)), b.here, function="add")
    b.add(g.Binary, b.here, b.constant(2.0), function="mul")
    b.add(g.Binary, b.constant(1.0), b.here, function="sub")
    simple = simplify(b.finish())
    check_equal(b.graph, simple)
    assert kinds(simple) == ["dense"]


def test_a_result_that_others_read_is_not_fused_away():
    b = Builder("n", (6,))
    first = b.dense(4)
    b.act("relu")
    b.finish(first, b.here)
    simple = simplify(b.graph)
    check_equal(b.graph, simple)
    assert kinds(simple) == ["dense", "activation"]


def test_limits_in_a_row_are_one():
    b = Builder("n", (6,))
    b.dense(4)
    b.act("relu")
    b.act("clip", high=6.0)
    simple = simplify(b.finish())
    check_equal(b.graph, simple)
    (node,) = simple.nodes
    assert (node.activation.function, node.activation.low, node.activation.high) == (
        "clip",
        0.0,
        6.0,
    )


def test_transposes_around_a_sum_go_into_ports_and_dense_weights():
    """A network in the order channels, rows, columns loses all its transposes."""
    b = Builder("n", (4, 6, 5))
    maps = b.add(g.Transpose, order=(1, 2, 0))
    b.conv(4, (3, 3), maps)
    first = b.add(g.Transpose, order=(2, 0, 1))
    b.act("sigmoid")
    shared = b.add(g.Binary, b.here, b.constant(b.normal(4, 1, 1)), function="add")
    b.add(g.Reshape, shape=(120,))
    b.dense(3)
    simple = simplify(b.finish(b.here, shared))
    check_equal(b.graph, simple)
    assert kinds(simple) == ["conv", "activation", "affine", "dense"]
    assert simple.inputs[0].order == (1, 2, 0) and simple.outputs[1].order == (1, 2, 0)
    assert first not in simple.tensors


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("function, kind", [("mean", "averagepool"), ("max", "maxpool")])
def test_reductions_over_a_map_are_pools(keep, function, kind):
    b = Builder("n", (4, 6, 5))
    b.add(g.Reduce, function=function, axes=(0, 1), keep=keep)
    b.dense(3)
    simple = simplify(b.finish())
    check_equal(b.graph, simple)
    assert kinds(simple) == [kind, "dense"]


@pytest.mark.parametrize("reverse", [False, True])
def test_a_recurrent_layer_gives_its_last_state_alone(reverse):
    b = Builder("n", (4, 6))
    b.gru(3, reverse=reverse)
    at = 0 if reverse else 3
    b.add(g.Slice, start=(at, 0), stop=(at + 1, 3), step=(1, 1))
    b.dense(2)
    simple = simplify(b.finish())
    check_equal(b.graph, simple)
    assert kinds(simple) == ["gru", "dense"] and simple.nodes[0].last


def test_a_spelled_normalisation_of_the_layer_is_one_node():
    b = Builder("n", (4, 6))
    x = b.here
    d = b.add(g.Binary, x, b.add(g.Reduce, function="mean", axes=(-1,), keep=True), function="sub")
    variance = b.add(
        g.Reduce, b.add(g.Binary, d, d, function="mul"), function="mean", axes=(-1,), keep=True
    )
    root = b.act("sqrt", b.add(g.Binary, variance, b.constant(1e-3), function="add"))
    b.add(g.Binary, d, root, function="div")
    b.add(g.Binary, b.here, b.constant(b.normal(6)), function="mul")
    b.add(g.Binary, b.here, b.constant(b.normal(6)), function="add")
    simple = simplify(b.finish())
    check_equal(b.graph, simple)
    assert kinds(simple) == ["layernorm"] and simple.nodes[0].epsilon == 1e-3


def test_a_gated_input_is_hard_swish():
    b = Builder("n", (4, 6))
    b.add(g.Binary, b.here, b.act("hard_sigmoid", alpha=0.2, beta=0.5), function="mul")
    simple = simplify(b.finish())
    check_equal(b.graph, simple)
    assert simple.nodes[0].function == "hard_swish" and len(simple.nodes) == 1


def test_scales_of_a_quantised_model_go_with_what_stays():
    b = Builder("n", (5, 5, 3))
    b.conv(4, (3, 3))
    b.graph.nodes[0].weight_scale = np.full(4, 0.01)
    b.add(g.Affine, scale=np.array([2.0, -4, 1, 1]), shift=np.zeros(4))
    b.act("relu")
    b.graph.tensors[b.here].scale = 0.125
    b.add(g.Reshape, shape=(5, 5, 4))
    simple = simplify(b.finish())
    assert simple.tensors["activation_2:0"].scale == 0.125
    np.testing.assert_allclose(simple.nodes[0].weight_scale, [0.02, 0.04, 0.01, 0.01])


@pytest.mark.parametrize("rule", RULES)
def test_every_pass_by_itself_keeps_the_network(rule):
    from hypothesis import seed

    @seed(1)
    @settings(
        max_examples=15, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow]
    )
    @given(graphs(tuple(KINDS), most=6))
    def alone(graph):
        check_equal(graph, apply(graph, [RULES[rule]]))

    alone()


def test_what_depends_on_no_input_is_computed_once_and_what_nobody_reads_is_dropped():
    b = Builder("n", (4, 6))
    x = b.here
    constant = b.add(g.Binary, b.constant(np.ones(6)), b.constant(b.normal(6)), function="mul")
    constant = b.act("exp", constant)
    b.act("tanh", x)
    b.add(g.Binary, x, constant, function="add")
    b.act("sigmoid")
    simple = simplify(b.finish())
    check_equal(b.graph, simple)
    assert kinds(simple) == ["affine", "activation"]
    assert {name for name, tensor in simple.tensors.items() if tensor.data is not None} == set()


def test_one_factor_for_all_elements_goes_through_a_reshape_into_the_layer():
    made = Builder("scaled", (12,))
    made.add(g.Affine, scale=np.full(12, 0.25), shift=np.zeros(12))
    made.add(g.Reshape, shape=(3, 4, 1))
    made.conv(2, (3, 3))
    graph = made.finish()
    after = simplify(graph)
    assert [node.kind for node in after.nodes] == ["reshape", "conv"]
    check_equal(graph, after)


@pytest.mark.long
def test_random_graphs_campaign():
    """Graphs by seed, in turns of all kinds, of layers and factors, and of what moves elements."""
    from hypothesis import seed as seeded

    for number in Campaign("compiler-graphs", 0.25).seeds("passes"):

        @seeded(number)
        @settings(
            max_examples=20, deadline=None, database=None, suppress_health_check=list(HealthCheck)
        )
        @given(graphs((tuple(KINDS), _AFFINE, _MOVING)[number % 3], most=8))
        def play(graph):
            check_equal(graph, simplify(graph))

        try:
            play()
        except Exception as error:
            raise AssertionError(f"graphs of seed {number}") from error


@settings(
    max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
@given(graphs(("conv", "relu", "maxpool", "shuffle", "split", "slice", "rows", "phases"), most=6))
def test_graphs_that_choose_channels_stay_what_they_are(graph):
    check_equal(graph, simplify(graph))


def shuffled(made):
    rows, columns, channels = made.shape()
    made.add(g.Reshape, shape=(rows, columns, 2, channels // 2))
    made.add(g.Transpose, order=(0, 1, 3, 2))
    return made.add(g.Reshape, shape=(rows, columns, channels))


def test_a_channel_shuffle_goes_into_the_convolution_in_front():
    made = Builder("shuffle", (4, 4, 3), 1)
    made.conv(6, (3, 3))
    shuffled(made)
    made.act("relu")
    graph = made.finish()
    after = simplify(graph)
    assert [node.kind for node in after.nodes] == ["conv"]
    check_equal(graph, after)


def test_halves_of_a_shuffled_map_are_convolutions_of_their_own():
    """As ShuffleNet has them behind each Concat."""
    made = Builder("halves", (4, 4, 4), 1)
    beside = made.conv(4, (1, 1), made.graph.inputs[0].tensor)
    made.add(g.Concat, made.conv(4, (3, 3), made.graph.inputs[0].tensor), beside, axis=2)
    whole = shuffled(made)
    halves = [
        made.add(g.Slice, whole, start=(0, 0, at), stop=(4, 4, at + 4), step=(1, 1, 1))
        for at in (0, 4)
    ]
    made.add(g.Concat, halves[0], made.conv(4, (3, 3), halves[1]), axis=2)
    graph = made.finish()
    after = simplify(graph)
    kinds = [node.kind for node in after.nodes]
    # The second half's choice went into its convolution.
    assert kinds == ["conv", "conv", "concat", "conv", "conv", "concat"]
    check_equal(graph, after)


def test_a_convolution_that_others_read_whole_is_not_split():
    made = Builder("whole", (4, 4, 3), 1)
    whole = made.conv(6, (1, 1))
    half = made.add(g.Slice, whole, start=(0, 0, 0), stop=(4, 4, 3), step=(1, 1, 1))
    graph = made.finish(whole, half)
    assert [node.kind for node in simplify(graph).nodes] == ["conv", "slice"]


@pytest.mark.parametrize("padding, kinds", [(4, ["conv"]), (3, ["conv", "slice"])])
def test_zeros_that_are_cut_off_again_are_never_added(padding, kinds):
    """A causal convolution as PyTorch has it: zeros on both sides, and those behind taken away."""
    made = Builder("causal", (1, 9, 3), 1)
    made.conv(4, (1, 3), padding=(0, 4, 0, padding), dilation=(1, 2))
    columns = made.shape()[1]
    made.add(g.Slice, start=(0, 0, 0), stop=(1, columns - 4, 4), step=(1, 1, 1))
    graph = made.finish()
    after = simplify(graph)
    assert [node.kind for node in after.nodes] == kinds
    check_equal(graph, after)


@pytest.mark.parametrize("order", [(1, 2, 0), (1, 0, 2)])
def test_columns_of_a_map_as_steps_are_a_convolution_over_its_rows(order):
    made = Builder("columns", (2, 5, 3), 1)
    made.conv(4, (3, 3))
    made.add(g.Transpose, order=order)
    made.add(g.Reshape, shape=(5, 8))
    made.dense(3, steps=True)
    graph = made.finish()
    after = simplify(graph)
    assert "transpose" not in [node.kind for node in after.nodes]
    check_equal(graph, after)


def test_an_activation_behind_joined_phases_goes_into_their_convolutions():
    made = Builder("phases", (4, 4, 3), 1)
    source = made.here
    maps = [made.conv(8, (2, 2), source) for _ in range(2)]
    made.add(g.Concat, *maps, axis=1)
    made.add(g.Reshape, shape=(8, 8, 4))
    made.act("relu")
    graph = made.finish()
    after = simplify(graph)
    assert [node.kind for node in after.nodes] == ["conv", "conv", "concat", "reshape"]
    assert all(node.activation is not None for node in after.nodes[:2])
    check_equal(graph, after)


def test_a_pad_over_time_goes_into_the_convolution():
    """As a causal convolution is exported: Pad of the sequence, then a convolution of one row."""
    b = Builder("n", (10, 4))
    b.add(g.Affine, scale=b.normal(4), shift=b.normal(4))
    b.act("tanh")
    b.add(g.Pad, before=(2, 0), after=(0, 0), value=0.0)
    b.add(g.Reshape, shape=(1, 12, 4))
    b.conv(6, (1, 3), padding=(0, 0, 0, 0))
    graph = b.finish()
    simple = simplify(graph)
    check_equal(graph, simple)
    assert [node.kind for node in simple.nodes] == ["reshape", "affine", "activation", "conv"]
    assert simple.nodes[-1].padding == (0, 2, 0, 0)


def test_a_slice_over_time_is_one_of_the_map():
    b = Builder("n", (10, 4))
    b.add(g.Slice, start=(1, 0), stop=(9, 4), step=(2, 1))
    b.add(g.Reshape, shape=(1, 4, 4))
    b.conv(6, (1, 3), padding=(0, 0, 0, 0))
    graph = b.finish()
    simple = simplify(graph)
    check_equal(graph, simple)
    assert [node.kind for node in simple.nodes] == ["reshape", "slice", "conv"]


def test_a_reshape_that_makes_other_channels_stays():
    b = Builder("n", (10, 1))
    b.act("tanh")
    b.add(g.Reshape, shape=(10, 1, 1))
    b.conv(2, (3, 1), padding=(0, 0, 0, 0))
    graph = b.finish()
    check_equal(graph, simplify(graph))
    b = Builder("n", (10,))
    b.act("tanh")
    b.add(g.Reshape, shape=(10, 1))
    b.add(g.LayerNorm, scale=np.ones(1), shift=np.zeros(1))
    graph = b.finish()
    check_equal(graph, simplify(graph))
    assert [node.kind for node in simplify(graph).nodes][:2] == ["activation", "reshape"]


def test_heads_of_one_product_are_slices_of_it():
    """Queries, keys and values of one product: Reshape to (steps, 3, heads, width), Transpose and
    Gather, as vision transformers are exported."""
    b = Builder("n", (5, 8))
    b.add(g.Dense, weights=b.normal(24, 8), bias=b.normal(24), steps=True)
    split = b.add(g.Reshape, b.here, shape=(5, 3, 2, 4))
    parts = []
    for at in range(3):
        b.add(g.Slice, split, start=(0, at, 0, 0), stop=(5, at + 1, 2, 4), step=(1, 1, 1, 1))
        b.add(g.Transpose, order=(1, 2, 0, 3))
        parts.append(b.add(g.Reshape, shape=(2, 5, 4)))
    b.add(g.Transpose, parts[1], order=(0, 2, 1))
    b.add(g.MatMul, parts[0], b.here)
    b.add(g.MatMul, b.here, parts[2])
    graph = b.finish()
    simple = simplify(graph)
    check_equal(graph, simple)
    assert max(len(tensor.shape) for tensor in simple.tensors.values()) == 3


@pytest.mark.parametrize(
    "shape, split, start, stop",
    [
        ((6, 8), (2, 3, 8), (0, 1, 0), (2, 2, 8)),
        ((6, 8), (6, 2, 2, 2), (0, 0, 1, 0), (6, 2, 2, 2)),
        ((4, 6), (2, 2, 6), (1, 0, 0), (2, 2, 6)),
        ((4, 6), (2, 12), (0, 3), (2, 9)),
        ((24,), (4, 6), (1, 0), (3, 6)),
    ],
)
def test_slices_behind_a_split_axis(shape, split, start, stop):
    b = Builder("n", shape)
    b.act("tanh")
    b.add(g.Reshape, shape=split)
    b.add(g.Slice, start=start, stop=stop, step=(1,) * len(split))
    b.act("sigmoid")
    graph = b.finish()
    check_equal(graph, simplify(graph))
