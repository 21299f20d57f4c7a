# SPDX-License-Identifier: BSD-2-Clause
"""Files that are no models, models that cannot be taken: one clear error each, and all nodes at
fault at once."""

import sys

import numpy as np
import pytest

pytest.importorskip("onnx")
import onnx  # noqa: E402
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

from quintet.tools.compiler.onnx_import import OnnxError, import_onnx  # noqa: E402
from quintet.tools.compiler.passes.cutting import without_idle_cuts  # noqa: E402
from quintet.tools.errors import Exit, NoDeviceError, exit_code  # noqa: E402

pytest.importorskip("onnxruntime")
from tests.tools.compiler.onnx_models import import_model, make_model, node  # noqa: E402


def network(*nodes, shape=(1, 4), constants=None, outputs=("y",), opset=17):
    return make_model(nodes, {"x": shape}, {name: None for name in outputs}, constants, opset)


def refused(model, folder, match):
    with pytest.raises(OnnxError, match=match) as caught:
        import_model(model, folder)
    assert exit_code(caught.value) == Exit.BAD_INPUT
    return caught.value


@pytest.mark.parametrize(
    "content", [b"", b"\x00" * 40, b"no model at all", bytes(range(256)), b"\x08\x08"]
)
def test_a_file_that_is_no_model(tmp_path, content):
    path = tmp_path / "a.onnx"
    path.write_bytes(content)
    with pytest.raises(OnnxError, match=r"a\.onnx: no ONNX model, or a truncated one"):
        import_onnx(path)


@pytest.mark.parametrize(
    "name, content, words",
    [
        ("net.pt", b"PK\x03\x04", "a PyTorch file; expected ONNX: .*torch.onnx.export"),
        ("net.PTH", b"", "a PyTorch file"),
        (
            "net.safetensors",
            b"",
            "a safetensors file, which holds weights alone; .*torch.onnx.export",
        ),
        ("net.keras", b"PK\x03\x04", "a Keras file; .*tf2onnx.convert.from_function"),
        ("net.h5", b"", "an HDF5 file, as Keras writes it"),
        ("net.onnx", b"\x89HDF\r\n\x1a\n", "an HDF5 file"),
        ("net.tflite", b"", "a TensorFlow Lite file; .*--tflite"),
        ("net", b"\x1c\0\0\0TFL3", "a TensorFlow Lite file"),
        ("net.pb", b"", "a TensorFlow graph; .*--saved-model"),
        ("net.pkl", b"\x80\x04", "a Python pickle, .*skl2onnx"),
        ("net.bin", b"\x80\x04", "a Python pickle"),
    ],
)
def test_other_formats_are_named_with_their_exporters(tmp_path, name, content, words):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(OnnxError, match=rf"{name}: {words}"):
        import_onnx(tmp_path / name)


@pytest.mark.parametrize(
    "given, name", [("main_graph", "mine"), ("torch_jit", "mine"), ("cnn", "cnn")]
)
def test_the_file_names_a_network_whose_exporter_names_all_alike(tmp_path, given, name):
    model = network(node("Gemm", ["x", "w"], ["y"]), constants={"w": np.ones((4, 3), np.float32)})
    model.graph.name = given
    (tmp_path / "mine.onnx").write_bytes(model.SerializeToString())
    assert import_onnx(tmp_path / "mine.onnx").name == name


def test_a_truncated_model(tmp_path):
    path = tmp_path / "a.onnx"
    content = network(
        node("Gemm", ["x", "w"], ["y"]), constants={"w": np.ones((4, 30))}
    ).SerializeToString()
    for length in range(len(content) - 1, 0, -7):
        path.write_bytes(content[:length])
        with pytest.raises(OnnxError, match=r"a\.onnx: "):
            import_onnx(path)


def test_a_file_that_is_not_there_and_a_folder(tmp_path):
    with pytest.raises(OnnxError, match=r"none\.onnx: No such file or directory"):
        import_onnx(tmp_path / "none.onnx")
    with pytest.raises(OnnxError, match="Is a directory"):
        import_onnx(tmp_path)


def test_opsets_that_are_too_old_too_new_or_not_named(tmp_path):
    newest = onnx.defs.onnx_opset_version()
    model = network(node("Relu", ["x"], ["y"]))
    for version in (6, newest + 1):
        model.opset_import[0].version = version
        refused(model, tmp_path, f"opset {version}: expected 7 to {newest}")
    del model.opset_import[:]
    refused(model, tmp_path, f"names no opset: expected 7 to {newest}")


def test_an_empty_graph_and_one_that_computes_nothing(tmp_path):
    model = network(node("Relu", ["x"], ["y"]))
    del model.graph.node[:]
    refused(model, tmp_path, "the graph is empty")
    refused(
        network(node("Identity", ["x"], ["y"])),
        tmp_path,
        "the network computes nothing: its outputs are its inputs or constants",
    )
    model = network(
        node("Relu", ["x"], ["z"]), node("Identity", ["c"], ["y"]), constants={"c": np.ones(3)}
    )
    refused(model, tmp_path, r"y \(output\): is a constant")


def test_a_model_that_is_too_large(tmp_path, monkeypatch):
    from quintet.tools.compiler.onnx_import import reading

    model = network(
        node("Relu", ["x"], ["z"]),
        node("Gemm", ["z", "w"], ["y"]),
        constants={"w": np.ones((4, 3))},
    )
    monkeypatch.setattr(reading, "_MOST_ELEMENTS", 11)
    refused(model, tmp_path, "12 weights: expected at most 11")
    monkeypatch.setattr(reading, "_MOST_NODES", 1)
    refused(model, tmp_path, "2 nodes: expected at most 1")
    monkeypatch.setattr(reading, "_MOST_BYTES", 20)
    refused(model, tmp_path, "bytes, a model has 20 at most")
    monkeypatch.undo()
    # Shapes alone take no space in a file.
    refused(
        network(node("Relu", ["x"], ["y"]), shape=(1, 1 << 20, 1 << 20)),
        tmp_path,
        r"x \(input\): 1,099,511,627,776 elements: expected at most",
    )
    refused(
        network(
            node("Pad", ["x", "p"], ["y"], name="p"), constants={"p": np.array([0, 1 << 40, 0, 0])}
        ),
        tmp_path,
        r"p \(Pad\): its result has 1,099,511,627,780 elements",
    )
    filled = network(
        node("ConstantOfShape", ["s"], ["c"], name="c"),
        node("Add", ["x", "c"], ["y"]),
        constants={"s": np.array([1 << 40])},
    )
    refused(filled, tmp_path, r"c \(ConstantOfShape\): a constant of shape \(1099511627776,\)")


def test_a_cycle_and_what_stands_behind_it(tmp_path):
    model = network(
        node("Add", ["x", "b"], ["a"], name="first"),
        node("Relu", ["a"], ["b"], name="second"),
        node("Relu", ["b"], ["y"], name="third"),
    )
    refused(model, tmp_path, "the nodes first, second, third stand in a cycle or behind one")


def test_nodes_may_stand_in_any_order(tmp_path):
    graph = import_model(network(node("Tanh", ["a"], ["y"]), node("Relu", ["x"], ["a"])), tmp_path)
    assert [n.function for n in graph.nodes] == ["relu", "tanh"]


def test_nodes_may_share_a_name(tmp_path):
    nodes = [
        node("Relu", ["x"], ["a"], name="n"),
        node("Tanh", ["a"], ["b"], name="n_1"),
        node("Relu", ["b"], ["c"], name="n"),
        node("Tanh", ["c"], ["y"]),
    ]
    graph = import_model(network(*nodes), tmp_path)
    assert [n.function for n in graph.nodes] == ["relu", "tanh", "relu", "tanh"]
    assert [n.name for n in graph.nodes] == ["n", "n_1", "n_2", "Tanh_3"]
    graph = import_model(
        network(
            *nodes[:1], node("Tanh", ["a"], ["y"], name="n"), node("Relu", ["y"], ["z"], name="n_1")
        ),
        tmp_path,
    )
    assert graph.nodes[1].name == "n_1_"


def test_names_used_twice(tmp_path):
    refused(
        network(node("Relu", ["x"], ["y"]), node("Tanh", ["x"], ["y"])),
        tmp_path,
        "more than one node, input or constant makes y",
    )
    refused(
        network(node("Relu", ["x"], ["y"]), node("Tanh", ["x"], ["x"])),
        tmp_path,
        "more than one node, input or constant makes x",
    )


def test_names_that_are_no_text(tmp_path):
    content = (
        network(node("Relu", ["x"], ["y"], name="abcdef"))
        .SerializeToString()
        .replace(b"abcdef", b"ab\xff\xfeef")
    )
    path = tmp_path / "a.onnx"
    path.write_bytes(content)
    with pytest.raises(OnnxError, match=r"the name b'ab\\xff\\xfeef' is no UTF-8|no ONNX model"):
        import_onnx(path)


def test_nodes_without_names_get_some_of_their_own(tmp_path):
    graph = import_model(
        network(node("Relu", ["x"], ["a"], name="Tanh_1"), node("Tanh", ["a"], ["y"])), tmp_path
    )
    assert [n.name for n in graph.nodes] == ["Tanh_1", "Tanh_1_"]


def test_operators_on_constants_alone_that_are_not_computed(tmp_path):
    constants = {"a": np.ones((1, 4, 1)), "b": np.ones((4, 4, 1))}
    refused(
        network(
            node("Conv", ["a", "b"], ["c"], name="c"),
            node("Add", ["x", "c"], ["y"]),
            constants=constants,
        ),
        tmp_path,
        r"c \(Conv\): its input is a constant",
    )


def test_operands_that_are_left_out(tmp_path):
    refused(network(node("Add", ["x", ""], ["y"], name="n")), tmp_path, r"n \(Add\): ")
    refused(
        network(node("Conv", ["x", ""], ["y"], name="n"), shape=(1, 1, 4, 4)),
        tmp_path,
        r"n \(Conv\): ",
    )


def test_what_nothing_makes(tmp_path):
    refused(
        network(node("Add", ["x", "who"], ["y"], name="n")),
        tmp_path,
        r"n \(Add\) reads who, which nothing makes",
    )
    refused(
        network(node("Relu", ["x"], ["result"]), outputs=("results",)),
        tmp_path,
        r"nothing makes the output results; did you mean result\?",
    )


def test_dynamic_shapes(tmp_path):
    refused(
        network(node("Relu", ["x"], ["y"]), shape=("batch", 3, "height", None)),
        tmp_path,
        r"x \(input\): axis 2 has the length height, axis 3 has no length: expected fixed "
        r"lengths; the first axis \(the inputs'\) alone may vary",
    )
    refused(
        network(node("Relu", ["x"], ["y"]), shape=(1, 0)),
        tmp_path,
        r"x \(input\): axis 1 has the length 0",
    )
    model = network(node("Relu", ["x"], ["y"]))
    model.graph.input[0].type.tensor_type.ClearField("shape")
    refused(model, tmp_path, r"x \(input\): has no shape: expected fixed lengths")
    for shape in (("batch", 4), (None, 4), (1, 4)):
        graph = import_model(network(node("Relu", ["x"], ["y"]), shape=shape), tmp_path)
        assert graph.inputs[0].batched and graph.inputs[0].shape == (4,)
    assert (
        not import_model(network(node("Relu", ["x"], ["y"]), shape=(4,)), tmp_path)
        .inputs[0]
        .batched
    )


def test_an_output_of_another_shape_than_the_model_says(tmp_path):
    model = make_model([node("Relu", ["x"], ["y"])], {"x": (1, 4)}, {"y": (1, 5)})
    refused(
        model, tmp_path, r"y \(output\): should have the shape \(1, 5\), the nodes give \(1, 4\)"
    )


def test_inputs_that_are_no_numbers(tmp_path):
    model = network(node("Relu", ["x"], ["y"]))
    model.graph.input[0].type.tensor_type.elem_type = TensorProto.STRING
    refused(model, tmp_path, "input x holds .*: expected floats or integers")
    model.graph.input[0].type.tensor_type.elem_type = TensorProto.UNDEFINED
    refused(model, tmp_path, "input x has no type of elements")
    model.graph.input[0].type.CopyFrom(
        helper.make_sequence_type_proto(helper.make_tensor_type_proto(1, None))
    )
    refused(model, tmp_path, "input x is no tensor")


def test_weights_that_are_no_numbers(tmp_path):
    model = network(node("Gemm", ["x", "w"], ["y"], name="g"), constants={"w": np.ones((4, 3))})
    for value in (np.nan, np.inf):
        data = np.ones((4, 3), np.float32)
        data[1, 1] = value
        model.graph.initializer[0].CopyFrom(numpy_helper.from_array(data, "w"))
        refused(model, tmp_path, r"g \(Gemm\): B holds NaN or infinity: expected finite numbers")
    model.graph.initializer[0].CopyFrom(helper.make_tensor("w", TensorProto.STRING, [1], [b"a"]))
    refused(model, tmp_path, "constant w holds text: expected numbers")
    model.graph.initializer[0].CopyFrom(numpy_helper.from_array(np.ones((4, 3), np.complex64), "w"))
    refused(model, tmp_path, "constant w holds complex numbers: expected real ones")
    model.graph.initializer[0].CopyFrom(numpy_helper.from_array(np.ones((4, 3), np.float32), "w"))
    model.graph.initializer[0].dims[0] = 5
    refused(model, tmp_path, "constant w cannot be read")
    model.graph.initializer[0].dims[0] = -1
    refused(model, tmp_path, r"constant w has the shape \[-1, 3\]")


def test_every_node_at_fault_is_listed(tmp_path):
    """What no operator is, what has a wrong attribute, what is not taken, and what stands behind
    those."""
    nodes = [
        node("MaxUnpool", ["x", "at"], ["a"], name="up", kernel_shape=[2, 2]),
        node("Conv", ["a", "v"], ["b"], name="conv", auto_pad="SAME"),
        node("Frobnicate", ["b"], ["c"], name="frob"),
        node("Relu", ["x"], ["d"], name="own", domain="my.ops"),
        node("Det", ["d"], ["e"], name="big"),
        node("Relu", ["x"], ["f"], name="relu", alpha=1.0),
        node("Add", ["e", "f"], ["y"], name="sum"),
        node("MaxPool", ["x"], ["z"], name="pool", kernel_shape=[2, 2], pads=[2, 0, 0, 0]),
    ]
    constants = {"at": np.zeros((1, 2, 4, 4), np.int64), "v": np.ones((3, 2, 1, 1))}
    error = refused(
        network(*nodes, shape=(1, 2, 4, 4), constants=constants, outputs=("y", "z")),
        tmp_path,
        "cannot be taken",
    )
    assert {name for name, *_ in error.refusals} == {
        "up",
        "own",
        "relu",
        "pool",
        "conv",
        "big",
        "frob",
    }
    reasons = {name: reason for name, _, reason in error.refusals}
    assert (
        "of the domain my.ops" in reasons["own"]
        and "No Op registered for Frobnicate" in reasons["frob"]
    )
    assert "auto_pad = 'SAME'" in reasons["conv"] and all(
        f"  {name} (" in str(error) for name in reasons
    )


def test_a_graph_inside_a_node(tmp_path):
    inner = helper.make_graph(
        [node("Relu", ["x"], ["r"])],
        "inner",
        [helper.make_tensor_value_info("x", 1, None)],
        [helper.make_tensor_value_info("r", 1, None)],
    )
    model = network(node("Scan", ["x"], ["y"], name="scan", body=inner, num_scan_inputs=1))
    refused(
        model,
        tmp_path,
        r"scan \(Scan\): holds a graph of its own: expected no control flow but If and Loop",
    )


def test_results_that_a_refused_operator_would_have_made_are_looked_at(tmp_path):
    """The shape behind a refused node is onnx's; only what stands behind an unknown one stays
    unseen."""
    nodes = [
        node("Bernoulli", ["x"], ["a"], name="chance"),
        node("MaxPool", ["a"], ["y"], name="pool", kernel_shape=[2, 2], pads=[2, 0, 0, 0]),
    ]
    error = refused(network(*nodes, shape=(1, 2, 4, 4)), tmp_path, "cannot be taken")
    assert [name for name, *_ in error.refusals] == ["chance", "pool"]


def external(model, folder, location, **entries):
    """The model with its first weights in a file of their own."""
    tensor = model.graph.initializer[0]
    content = tensor.raw_data
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in {"location": location, **entries}.items():
        entry = tensor.external_data.add()
        entry.key, entry.value = key, str(value)
    folder.mkdir(exist_ok=True)
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path, content


def dense():
    return network(node("Gemm", ["x", "w"], ["y"]), constants={"w": np.arange(12.0).reshape(4, 3)})


def test_weights_in_a_file_of_their_own(tmp_path):
    path, content = external(dense(), tmp_path / "net", "sub/weights.bin", offset=5, length=48)
    (tmp_path / "net/sub").mkdir()
    (tmp_path / "net/sub/weights.bin").write_bytes(b"12345" + content)
    np.testing.assert_array_equal(import_onnx(path).nodes[0].weights, np.arange(12).reshape(4, 3).T)


@pytest.mark.parametrize(
    "location, entries, reason",
    [
        ("../secret.bin", {}, "is not inside the model's folder"),
        ("/etc/hostname", {}, "is not inside the model's folder"),
        ("sub/../../secret.bin", {}, "is not inside the model's folder"),
        ("..\\secret.bin", {}, "is not inside the model's folder"),
        ("C:secret.bin", {}, "is not inside the model's folder"),
        ("", {}, "is not inside the model's folder"),
        ("link.bin", {}, "goes through the symbolic link link.bin"),
        ("folder/secret.bin", {}, "goes through the symbolic link folder"),
        ("none.bin", {}, "is no file"),
        ("here.bin", {"length": 40}, "has 40 bytes from byte 0 of 48, the constant takes 48"),
        ("here.bin", {"offset": 8}, "has 40 bytes from byte 8 of 48, the constant takes 48"),
        ("here.bin", {"offset": -8, "length": 48}, "from byte -8"),
        ("here.bin", {"offset": "a"}, "offset 'a' and length None; numbers are expected"),
    ],
)
def test_weights_in_a_file_that_is_not_the_models(tmp_path, location, entries, reason):
    path, content = external(dense(), tmp_path / "net", location, **entries)
    (tmp_path / "secret.bin").write_bytes(content)
    (tmp_path / "net/here.bin").write_bytes(content)
    (tmp_path / "net/link.bin").symlink_to(tmp_path / "secret.bin")
    (tmp_path / "net/folder").symlink_to(tmp_path)
    with pytest.raises(OnnxError) as caught:
        import_onnx(path)
    assert reason in str(caught.value)


def test_weights_of_no_type_in_a_file_of_their_own(tmp_path):
    model = dense()
    model.graph.initializer[0].data_type = TensorProto.UNDEFINED
    path, content = external(model, tmp_path / "net", "w.bin")
    (tmp_path / "net/w.bin").write_bytes(content)
    with pytest.raises(OnnxError, match="constant w cannot be read"):
        import_onnx(path)


def test_without_the_package_the_error_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(NoDeviceError, match=r"pip install 'onnx>=1.16'"):
        import_onnx(tmp_path / "a.onnx")


# Quantised models


def pair(name, scale, zero, scale_again=None):
    yield node("QuantizeLinear", [name, scale, zero], [f"{name}_q"], name=f"{name}_quantize")
    yield node(
        "DequantizeLinear",
        [f"{name}_q", scale_again or scale, zero],
        [f"{name}_d"],
        name=f"{name}_dequantize",
    )


GRID = {
    "s": np.float32(0.5),
    "t": np.float32(0.25),
    "z": np.int8(-128),
    "many": np.ones(4, np.float32),
    "zeros": np.zeros(4, np.int8),
    "none": np.float32(0),
}


def test_a_lowest_number_that_stands_for_zero_is_a_relu(tmp_path):
    """Quantisers leave Relus out in front of such a tensor."""
    graph = import_model(
        network(
            node("Neg", ["x"], ["a"]),
            *pair("a", "s", "z"),
            node("Neg", ["a_d"], ["y"]),
            constants=GRID,
        ),
        tmp_path,
    )
    clip = graph.nodes[1]
    assert (clip.function, clip.low, clip.high) == ("clip", 0, 127.5)
    graph = without_idle_cuts(graph, None)
    assert [n.function for n in graph.nodes] == ["neg", "relu", "neg"]
    graph = import_model(
        network(
            node("Relu", ["x"], ["a"]),
            *pair("a", "s", "z"),
            node("Neg", ["a_d"], ["y"]),
            constants=GRID,
        ),
        tmp_path,
    )
    assert [n.function for n in without_idle_cuts(graph, None).nodes] == ["relu", "neg"]


@pytest.mark.parametrize(
    "nodes, reason",
    [
        (
            [*pair("x", "s", "z", "t"), node("Neg", ["x_d"], ["y"])],
            "its input was quantised with 0.5 and -128: expected the same",
        ),
        (
            [*pair("x", "many", "zeros"), node("Neg", ["x_d"], ["y"])],
            "4 scales of a tensor that flows: expected one",
        ),
        ([*pair("x", "none", "z"), node("Neg", ["x_d"], ["y"])], "its scale is not positive"),
        (
            [list(pair("x", "s", "z"))[0], node("Neg", ["x_q"], ["y"])],
            "holds quantised numbers: expected a DequantizeLinear in front of it",
        ),
        ([node("DequantizeLinear", ["x", "s"], ["y"])], "its input holds real numbers"),
    ],
)
def test_quantisation_that_is_not_taken(tmp_path, nodes, reason):
    refused(network(*nodes, constants=GRID, opset=19), tmp_path, reason)


@pytest.mark.parametrize("scales", [1, 3])
def test_steps_of_weights_go_with_their_elements(tmp_path, scales):
    """Rows, columns, in, out, as Keras keeps a kernel, reshaped and transposed behind their
    scale."""
    random = np.random.default_rng(0)
    numbers = random.integers(-127, 128, (2, 2, 6)).astype(np.int8)
    steps = np.linspace(0.1, 0.3, scales).astype(np.float32) if scales > 1 else np.float32(0.1)
    nodes = [
        node("Reshape", ["q", "shape"], ["r"]),
        node("DequantizeLinear", ["r", "steps"], ["d"], axis=3),
        node("Transpose", ["d"], ["t"], perm=[3, 2, 0, 1]),
        node("Unsqueeze", ["t", "first"], ["u"]),
        node("Squeeze", ["u", "first"], ["w"]),
        node("Conv", ["x", "w"], ["y"], name="conv"),
    ]
    constants = {
        "q": numbers,
        "shape": np.array([2, 2, 2, 3]),
        "steps": steps,
        "first": np.array([0]),
    }
    (conv,) = import_model(network(*nodes, shape=(1, 2, 4, 4), constants=constants), tmp_path).nodes
    np.testing.assert_allclose(conv.weight_scale, np.broadcast_to(steps, 3))
    np.testing.assert_allclose(
        conv.weights, (numbers.reshape(2, 2, 2, 3) * steps).transpose(3, 0, 1, 2), rtol=1e-6
    )


def test_whole_numbers_as_inputs_and_outputs(tmp_path):
    from quintet.tools.compiler.values import from_graph, to_graph

    model = make_model(
        [
            node("DequantizeLinear", ["x", "s", "z"], ["r"]),
            node("Neg", ["r"], ["a"]),
            node("QuantizeLinear", ["a", "t", "zero"], ["y"]),
        ],
        {"x": ((1, 2), np.int8)},
        {"y": ((1, 2), np.uint8)},
        {**GRID, "zero": np.uint8(250)},
    )
    graph = import_model(model, tmp_path)
    assert [n.function for n in without_idle_cuts(graph, None).nodes] == ["neg"]
    np.testing.assert_array_equal(
        to_graph(graph.inputs[0], np.array([[-128, -126]], np.int8)), [[0, 1]]
    )
    out = from_graph(graph.outputs[0], np.array([[-1.0, 2.0]]))
    np.testing.assert_array_equal(out, [[246, 255]])
    assert out.dtype == np.uint8
    twice = [
        node("DequantizeLinear", ["x", "s", "z"], ["r"]),
        node("DequantizeLinear", ["x", "t", "z"], ["v"]),
        node("Add", ["r", "v"], ["y"]),
    ]
    refused(
        make_model(twice, {"x": ((1, 2), np.int8)}, {"y": None}, GRID),
        tmp_path,
        "the same input is taken in two ways",
    )
    refused(
        make_model([node("Neg", ["x"], ["y"])], {"x": ((1, 2), np.int8)}, {"y": None}),
        tmp_path,
        "is computed from whole numbers: expected a Cast to float in front of the arithmetic",
    )
    graph = import_model(
        make_model(
            [node("Cast", ["x"], ["a"], to=1), node("Neg", ["a"], ["y"])],
            {"x": ((1, 2), np.uint8)},
            {"y": None},
        ),
        tmp_path,
    )
    np.testing.assert_array_equal(
        to_graph(graph.inputs[0], np.array([[200, 3]], np.uint8)), [[200, 3]]
    )
