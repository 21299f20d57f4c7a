# SPDX-License-Identifier: BSD-2-Clause
"""Whole networks through ONNX files, as exporters of different habits write them."""

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
import onnx  # noqa: E402

from quintet.tools.compiler.evaluate import run_graph  # noqa: E402
from quintet.tools.compiler.onnx_import import OnnxError, import_onnx  # noqa: E402
from quintet.tools.compiler.passes import simplify  # noqa: E402
from quintet.tools.compiler.passes.cutting import without_idle_cuts  # noqa: E402
from tests.tools.compiler.networks import KINDS, NETWORKS, graphs  # noqa: E402
from tests.tools.compiler.onnx_models import (
    check,
    compare,
    feeds_of,
    import_model,
    make_model,
    run_here,
    run_there,
)  # noqa: E402
from tests.tools.compiler.onnx_writer import write  # noqa: E402

#: A folder of MLPerf Tiny's networks; what they prove is proved on networks of our own as well.
MODELS = (
    sorted(Path(os.environ["QUINTET_MODELS"]).glob("*.onnx"))
    if "QUINTET_MODELS" in os.environ
    else []
)
#: Layers that are left of each small network, whichever way it was written.
LEFT = {
    "resnet8": ["conv"] * 9 + ["binary"] * 3 + ["averagepool", "dense", "softmax"],
    "ds_cnn": ["conv"] + ["depthwise", "conv"] * 2 + ["averagepool", "dense", "softmax"],
    "mobilenet": ["conv"] + ["depthwise", "conv"] * 3 + ["averagepool", "dense", "softmax"],
    "autoencoder": ["dense"] * 6,
    "lstm_classifier": ["lstm", "dense", "softmax"],
}


@pytest.mark.parametrize("channels_first", [True, False])
@pytest.mark.parametrize("name", NETWORKS)
def test_networks_come_in_with_nothing_but_their_layers(tmp_path, name, channels_first):
    model = write(NETWORKS[name][1](), channels_first=channels_first)
    graph = check(model, tmp_path)
    simple = simplify(graph)
    assert sorted(node.kind for node in simple.nodes) == sorted(LEFT[name])
    assert all(port.batched for port in (*graph.inputs, *graph.outputs))
    if channels_first and name not in ("autoencoder", "lstm_classifier"):
        assert graph.inputs[0].order == (1, 2, 0)


@pytest.mark.parametrize("opset", range(11, onnx.defs.onnx_opset_version() + 1))
def test_every_opset_is_taken(tmp_path, opset):
    whole = NETWORKS["resnet8"][1]()
    back = import_model(write(whole, opset=opset), tmp_path)
    feeds = feeds_of(back)
    (expected,) = run_graph(whole, {"input_0": feeds["input_0"].transpose(0, 2, 3, 1)}).values()
    (found,) = run_here(back, feeds).values()
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_tensors_keep_the_names_of_the_file(tmp_path):
    whole = NETWORKS["resnet8"][1]()
    graph = import_model(write(whole), tmp_path)
    assert {node.output for node in whole.nodes} <= set(graph.tensors)


def test_names_of_pieces_do_not_take_the_files(tmp_path):
    """TensorFlow's way of names: the result of the node `dense` is `dense:0`."""
    model = make_model(
        [
            onnx.helper.make_node("Gemm", ["x", "w", "c"], ["dense:0"], name="dense"),
            onnx.helper.make_node("Relu", ["dense:0"], ["relu:0"], name="relu"),
        ],
        {"x": (3, 4)},
        {"relu:0": None},
        {"w": np.ones((4, 5)), "c": np.ones((3, 5))},
    )
    graph = check(model, tmp_path)
    assert [(n.kind, n.name) for n in graph.nodes] == [
        ("dense", "dense"),
        ("binary", "dense_add"),
        ("activation", "relu"),
    ]
    assert [n.output for n in graph.nodes][1:] == ["dense:0", "relu:0"]


@pytest.mark.parametrize("name", ["resnet8", "ds_cnn", "mobilenet", "autoencoder"])
@pytest.mark.parametrize("channels_first", [True, False])
def test_quantised_networks_bring_their_scales(tmp_path, name, channels_first):
    """On their grids they give what onnxruntime gives, but for single units where a sum falls
    between two of them."""
    whole = NETWORKS[name][1]()
    model = write(whole, quantised=True, channels_first=channels_first)
    graph = import_model(model, tmp_path)
    feeds = feeds_of(graph)
    expected = run_there(model, feeds)
    compare(run_here(graph, feeds, grids=True), expected, relative=0.02)
    graph = without_idle_cuts(graph, None)
    for node in graph.nodes:
        if node.kind in ("conv", "depthwise", "dense"):
            assert node.weight_scale.shape == (len(node.weights),)
            numbers = node.weights / node.weight_scale.reshape(-1, *(1,) * (node.weights.ndim - 1))
            np.testing.assert_allclose(numbers, np.rint(numbers), atol=1e-4)
        assert graph.tensors[node.output].scale > 0
    simple = simplify(graph)
    assert [simple.tensors[node.output].scale is not None for node in simple.nodes] == [True] * len(
        simple.nodes
    )


@settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(graph=graphs(most=7), channels_first=st.booleans())
def test_random_graphs_survive_a_file(tmp_path, graph, channels_first):
    """Written in double precision: what comes in is the graph that was written, whatever order its
    tensors lie in."""
    model = write(graph, channels_first=channels_first, dtype=np.float64)
    try:
        back = import_model(model, tmp_path)
    except OnnxError as error:
        # Nothing but other views of the input.
        assume("computes nothing" not in str(error))
        raise
    feeds = feeds_of(back)
    # The graph that was written takes maps as rows, columns, channels.
    turned = {
        port.tensor: feeds[port.tensor].transpose(0, 2, 3, 1)
        if channels_first and len(port.shape) == 3
        else feeds[port.tensor]
        for port in graph.inputs
    }
    expected = {}
    for name, value in run_graph(graph, turned).items():
        expected[f"{name}_out"] = (
            value.transpose(0, 3, 1, 2) if channels_first and value.ndim == 4 else value
        )
    compare(run_here(back, feeds), expected, relative=1e-6)
    compare(run_here(simplify(back), feeds), expected, relative=1e-6)


@settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(
    graph=graphs(tuple(kind for kind in KINDS if kind != "div"), most=7),
    channels_first=st.booleans(),
)
def test_random_graphs_are_onnxruntimes(tmp_path, graph, channels_first):
    """In single precision, in which onnxruntime has every operator; a division would make its
    rounding large."""
    try:
        check(write(graph, channels_first=channels_first), tmp_path, relative=1e-4)
    except OnnxError as error:
        assume("computes nothing" not in str(error))
        raise


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_shared_models_are_onnxruntimes(path):
    """Without the rounding of tensors that flow, which onnxruntime does and we do not."""
    graph, model = import_onnx(path), unrounded(onnx.load(path))
    feeds = feeds_of(graph)
    expected = run_there(model, feeds)
    compare(run_here(graph, feeds), expected)
    compare(run_here(simplify(graph), feeds), expected)


def unrounded(model):
    """The model with a Clip for each QuantizeLinear and DequantizeLinear of a tensor that flows."""
    makers = {name: node for node in model.graph.node for name in node.output}
    constants = {one.name: onnx.numpy_helper.to_array(one) for one in model.graph.initializer}
    nodes = []
    for node in model.graph.node:
        maker = makers.get(node.input[0]) if node.op_type == "DequantizeLinear" else None
        if maker is not None and maker.op_type == "QuantizeLinear":
            scale, zero = (constants[name] for name in maker.input[1:])
            kind, ends = ("Clip", ("min", "max")) if scale.size == 1 else ("Identity", ())
            names = [f"{node.output[0]}_{end}" for end in ends]
            for name, end in zip(names, ends, strict=True):
                number = getattr(np.iinfo(zero.dtype), end) - int(zero.item())
                value = np.float32(number * scale.item())
                model.graph.initializer.append(onnx.numpy_helper.from_array(value, name))
            node = onnx.helper.make_node(kind, [maker.input[0], *names], node.output)
        if node.op_type != "QuantizeLinear":
            nodes.append(node)
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    return model
