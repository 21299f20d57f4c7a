# SPDX-License-Identifier: BSD-2-Clause
"""Networks in float64 against loops written from the definitions, and recurrent layers against
onnxruntime."""

from itertools import product

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from quintet.tools.compiler import graph as g
from quintet.tools.compiler.evaluate import run_graph
from quintet.tools.errors import InputError
from tests.tools.compiler.networks import KINDS, NETWORKS, Builder, graphs, inputs_of


def windows(node, shape, size, dilation):
    """For each place of a window: (row, column) of the result, and (tap, row, column) of what it
    meets inside the map."""
    rows, columns, _ = node.shape_of(shape)
    for row, column in product(range(rows), range(columns)):
        taps = []
        for i, j in product(range(size[0]), range(size[1])):
            y = row * node.stride[0] + i * dilation[0] - node.padding[0]
            x = column * node.stride[1] + j * dilation[1] - node.padding[1]
            if 0 <= y < shape[0] and 0 <= x < shape[1]:
                taps.append(((i, j), y, x))
        yield (row, column), taps


def loop_conv(node, values):
    out = np.zeros(node.shape_of(values.shape))
    inner, per_group = node.weights.shape[3], node.weights.shape[0] // node.groups
    for place, taps in windows(node, values.shape, node.weights.shape[1:3], node.dilation):
        for o in range(node.weights.shape[0]):
            first = o // per_group * inner
            out[(*place, o)] = sum(
                node.weights[o, i, j, c] * values[y, x, first + c]
                for (i, j), y, x in taps
                for c in range(inner)
            )
    return out + (0 if node.bias is None else node.bias)


def loop_pool(node, values):
    out = np.zeros(node.shape_of(values.shape))
    for place, taps in windows(node, values.shape, node.window, getattr(node, "dilation", (1, 1))):
        met = [values[y, x] for _, y, x in taps]
        if isinstance(node, g.MaxPool):
            out[place] = np.max(met, axis=0)
        else:
            out[place] = np.sum(met, axis=0) / (
                np.prod(node.window) if node.include_padding else len(met)
            )
    return out


@settings(max_examples=60, deadline=None)
@given(
    graphs(
        ("conv", "depthwise", "grouped", "maxpool", "averagepool", "globalaverage"),
        most=1,
        shapes=st.tuples(st.integers(1, 6), st.integers(1, 6), st.integers(1, 6)),
    )
)
def test_windows_are_those_of_the_loops(graph):
    values = inputs_of(graph)
    result = run_graph(graph, values)[graph.outputs[0].tensor]
    node = graph.nodes[0]
    if isinstance(node, g.Conv | g.MaxPool | g.AveragePool):
        loop = loop_conv if isinstance(node, g.Conv) else loop_pool
        for one, single in zip(result, values["input_0"], strict=True):
            np.testing.assert_allclose(one, loop(node, single), rtol=1e-12, atol=1e-12)


def runtime(operator, feeds, **attributes):
    """First result of one ONNX node with float64 inputs, by onnxruntime (None: input left out)."""
    onnx = pytest.importorskip("onnx")
    onnxruntime = pytest.importorskip("onnxruntime")
    names = [name if value is not None else "" for name, value in feeds.items()]
    node = onnx.helper.make_node(operator, names, ["Y"], **attributes)
    given = {
        name: np.asarray(value, np.float32) for name, value in feeds.items() if value is not None
    }
    model = onnx.helper.make_model(
        onnx.helper.make_graph(
            [node],
            "one",
            [
                onnx.helper.make_tensor_value_info(name, 1, value.shape)
                for name, value in given.items()
            ],
            [onnx.helper.make_tensor_value_info("Y", 1, None)],
        ),
        opset_imports=[onnx.helper.make_opsetid("", 14)],
        ir_version=8,
    )
    return onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    ).run(None, given)[0]


@pytest.mark.parametrize(
    "kind, flags",
    [("lstm", {}), ("gru", {"linear_before_reset": False}), ("gru", {"linear_before_reset": True})],
)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("last", [False, True])
def test_recurrent_layers_are_onnxruntimes(kind, flags, reverse, last):
    b = Builder("recurrent", (5, 3), 1)
    getattr(b, kind)(4, reverse=reverse, last=last, **flags)
    node, values = b.graph.nodes[0], inputs_of(b.finish())["input_0"]
    bias = (
        np.concatenate([node.bias, np.zeros_like(node.bias)])
        if kind == "lstm"
        else node.bias.ravel()
    )
    feeds = {
        "X": values.transpose(1, 0, 2),
        "W": node.weights[None],
        "R": node.recurrent[None],
        "B": bias[None],
        "sequence_lens": None,
        "initial_h": np.tile(node.initial, (1, 2, 1)),
    }
    if kind == "lstm":
        feeds["initial_c"] = np.tile(node.cell, (1, 2, 1))
    steps = runtime(
        kind.upper(),
        feeds,
        hidden_size=4,
        direction="reverse" if reverse else "forward",
        **{name: int(flag) for name, flag in flags.items()},
    )[:, 0].transpose(1, 0, 2)
    expected = (steps[:, 0] if reverse else steps[:, -1]) if last else steps
    np.testing.assert_allclose(node.run(values), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "function, attributes, expected",
    [
        ("relu", {}, [0, 0, 0.5, 8]),
        ("leaky", {"alpha": 0.25}, [-1, -0.25, 0.5, 8]),
        ("clip", {"low": -2.0, "high": 6.0}, [-2, -1, 0.5, 6]),
        (
            "sigmoid",
            {},
            [1 / (1 + np.exp(4)), 1 / (1 + np.e), 1 / (1 + np.exp(-0.5)), 1 / (1 + np.exp(-8))],
        ),
        ("tanh", {}, np.tanh([-4, -1, 0.5, 8])),
        ("hard_sigmoid", {"alpha": 0.2, "beta": 0.5}, [0, 0.3, 0.6, 1]),
        ("hard_swish", {"alpha": 0.25, "beta": 0.5}, [0, -0.25, 0.3125, 8]),
        ("exp", {}, np.exp([-4, -1, 0.5, 8])),
        ("neg", {}, [4, 1, -0.5, -8]),
        ("abs", {}, [4, 1, 0.5, 8]),
    ],
)
def test_activations_are_their_definitions(function, attributes, expected):
    node = g.Activation(name="a", inputs=["x"], output="y", function=function, **attributes)
    np.testing.assert_allclose(node.run(np.array([[-4, -1, 0.5, 8]])), [expected], rtol=1e-12)


def test_layer_norm_and_softmax_are_their_definitions():
    x = np.array([[[1.0, 2, 4], [0, 0, 3]]])
    norm = g.LayerNorm(
        name="n",
        inputs=["x"],
        output="y",
        scale=np.array([1.0, 2, 3]),
        shift=np.array([0.0, 1, 0]),
        epsilon=0.5,
    )
    expected = [
        (row - row.mean()) / np.sqrt(row.var() + 0.5) * norm.scale + norm.shift for row in x[0]
    ]
    np.testing.assert_allclose(norm.run(x)[0], expected, rtol=1e-12)
    soft = g.Softmax(name="s", inputs=["x"], output="y", axis=0)
    expected = np.exp(x[0]) / np.exp(x[0]).sum(axis=0)
    np.testing.assert_allclose(soft.run(x)[0], expected, rtol=1e-12)
    np.testing.assert_allclose(
        g.Softmax(name="s", inputs=["x"], output="y", axis=0, log=True).run(x)[0],
        np.log(expected),
        rtol=1e-12,
    )


def test_operands_of_fewer_axes_belong_to_their_own_input():
    """A vector that flows is broadcast over a map's channels, never over the inputs."""
    b = Builder("broadcast", (2, 3, 4))
    b.input((4,))
    b.add(g.Binary, "input_0", "input_1", function="mul")
    values = inputs_of(b.finish(), count=3)
    expected = [m * v for m, v in zip(values["input_0"], values["input_1"], strict=True)]
    np.testing.assert_array_equal(run_graph(b.graph, values)[b.here], expected)


@pytest.mark.parametrize(
    "first, second",
    [((2, 3), (3, 4)), ((3,), (3, 4)), ((2, 3), (3,)), ((3,), (3,)), ((5, 2, 3), (3, 4))],
)
def test_products_of_matrices_are_numpys(first, second):
    b = Builder("product", first)
    b.input(second)
    b.add(g.MatMul, "input_0", "input_1")
    values = inputs_of(b.finish(), count=3)
    expected = [x @ y for x, y in zip(values["input_0"], values["input_1"], strict=True)]
    np.testing.assert_allclose(run_graph(b.graph, values)[b.here], expected, rtol=1e-12)
    assert b.shape() == np.shape(expected[0])


@settings(max_examples=150, deadline=None)
@given(graphs())
def test_random_graphs_have_the_shapes_that_are_foretold(graph):
    """Every tensor, one input at a time as all at once, and without the tensors that nobody asked
    for."""
    values = inputs_of(graph, 3)
    kept = run_graph(graph, values, keep=True)
    for name, value in kept.items():
        assert value.shape == (3, *graph.shape(name)), name
    flowing = {name for name, tensor in graph.tensors.items() if tensor.data is None}
    assert kept.keys() == flowing
    one = run_graph(graph, {name: value[1:2] for name, value in values.items()})
    assert one.keys() == graph.kept()
    for name, value in one.items():
        np.testing.assert_allclose(value, kept[name][1:2], rtol=1e-9, atol=1e-9)


def test_every_kind_of_node_is_drawn():
    seen = set()

    @settings(max_examples=400, deadline=None, derandomize=True, phases=[Phase.generate])
    @given(graphs(most=8))
    def collect(graph):
        seen.update(getattr(node, "function", node.kind) for node in graph.nodes)

    collect()
    several = {"dense_steps", "globalaverage", "reduce", "phases", "split", "rows", "prelu"}
    names = set(KINDS) - several | {"mean", "sum", "max"}
    assert names - seen == set()


@pytest.mark.parametrize("name", NETWORKS)
def test_small_networks_run(name):
    graph = NETWORKS[name][1]()
    result = run_graph(graph, inputs_of(graph))[graph.outputs[0].tensor]
    assert result.shape[0] == 2 and np.isfinite(result).all() and np.ptp(result) > 0


@pytest.mark.parametrize(
    "name, macs",
    [
        ("resnet8", 12_501_632),
        ("ds_cnn", 2_656_768),
        ("mobilenet", 7_489_664),
        ("autoencoder", 264_192),
    ],
)
def test_whole_networks_have_the_size_of_those_they_are_named_after(name, macs):
    graph = NETWORKS[name][0]()
    assert sum(graph.macs(node) for node in graph.nodes) == macs


def test_inputs_that_do_not_fit_are_refused():
    graph = NETWORKS["autoencoder"][1]()
    with pytest.raises(
        InputError, match=r"no values for the input input_0; the network has input_0"
    ):
        run_graph(graph, {})
    with pytest.raises(InputError, match=r"input input_0 has shape \(2, 5\), expected \(2, 24\)"):
        run_graph(graph, {"input_0": np.zeros((2, 5))})


@pytest.mark.parametrize(
    "node, shapes, message",
    [
        (
            g.Conv(name="n", inputs=[], output="", weights=np.zeros((4, 3, 3, 2))),
            [(8, 8, 3)],
            r"weights of shape \(4, 3, 3, 2\) in 1 groups on 3 channels",
        ),
        (
            g.Conv(name="n", inputs=[], output="", weights=np.zeros((4, 3, 3, 2))),
            [(2, 8, 2)],
            "a window of 3 x 3 on a map of 2 x 8",
        ),
        (
            g.Conv(name="n", inputs=[], output="", weights=np.zeros((4, 3, 3, 2))),
            [(8, 2)],
            "a map has rows, columns and channels",
        ),
        (
            g.Dense(name="n", inputs=[], output="", weights=np.zeros((4, 3))),
            [(2, 2)],
            "weights for 3 features, the tensor has 4",
        ),
        (
            g.MatMul(name="n", inputs=[], output=""),
            [(2, 2), (3, 3)],
            r"matrices of \(2, 2\) and \(3, 3\)",
        ),
        (
            g.Reshape(name="n", inputs=[], output="", shape=(5,)),
            [(2, 2)],
            r"\(2, 2\) has 4 elements, \(5,\) has 5",
        ),
        (
            g.Transpose(name="n", inputs=[], output="", order=(0, 0)),
            [(2, 2)],
            r"order \(0, 0\) for 2 axes",
        ),
        (g.Concat(name="n", inputs=[], output="", axis=0), [(2, 2), (2, 3)], "along axis 0"),
        (
            g.Slice(name="n", inputs=[], output="", start=(2,), stop=(1,), step=(1,)),
            [(3,)],
            "nothing is left",
        ),
        (
            g.LayerNorm(name="n", inputs=[], output="", scale=np.zeros(2), shift=np.zeros(3)),
            [(3,)],
            r"scale of shape \(2,\) for 3 channels",
        ),
        (g.Softmax(name="n", inputs=[], output="", axis=2), [(3,)], "axis 2 of a tensor of 1 axes"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(node, shapes, message):
    with pytest.raises(ValueError, match=message):
        node.shape_of(*shapes)
