# SPDX-License-Identifier: BSD-2-Clause
"""Messages about a node's operands and attributes, one by one."""

import numpy as np
import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

from quintet.tools.compiler import graph as g  # noqa: E402
from quintet.tools.compiler.onnx_import import OnnxError, translate  # noqa: E402
from quintet.tools.compiler.values import from_graph, to_graph  # noqa: E402
from quintet.tools.errors import InputError  # noqa: E402
from tests.tools.compiler.onnx_models import import_model, make_model, node  # noqa: E402


def ones(*shape):
    return np.ones(shape, np.float32)


def ints(*values):
    return np.array(values, np.int64)


def recurrent(**constants):
    given = {
        "w": ones(1, 8, 4),
        "r": ones(1, 8, 2),
        "b": ones(1, 16),
        "h": ones(1, 1, 2),
        **constants,
    }
    return [node("LSTM", ["x", "w", "r", "b", "", "h"], ["y"], name="n")], (3, 1, 4), given


ML = {"domain": "ai.onnx.ml"}
CASES = [
    # Constants that are computed
    (
        [node("Constant", [], ["c"], name="n", value_string=b"a"), node("Add", ["x", "c"], ["y"])],
        (1, 2),
        {},
        "value_string or sparse_value: expected numbers or a dense array",
    ),
    (
        [node("Cast", ["c"], ["d"], name="n", to=8), node("Add", ["x", "d"], ["y"])],
        (1, 2),
        {"c": ones(2)},
        "to = 8: expected floats of 16 bits and more",
    ),
    (
        [node("Range", ["a", "b", "z"], ["c"], name="n"), node("Add", ["x", "c"], ["y"])],
        (1, 2),
        {"a": ints(0), "b": ints(2), "z": ints(0)},
        "delta is 0",
    ),
    (
        [node("Concat", ["", "c"], ["d"], name="n", axis=0), node("Add", ["x", "d"], ["y"])],
        (1, 2),
        {"c": ones(2)},
        "an operand is left out|marked variadic",
    ),
    (
        [
            node("QuantizeLinear", ["c", "s"], ["q"]),
            node("Neg", ["q"], ["d"], name="n"),
            node("Add", ["x", "d"], ["y"]),
        ],
        (1, 2),
        {"c": ones(2), "s": ones()},
        "computed from quantised constants: expected a DequantizeLinear in front of it",
    ),
    (
        [node("Reshape", ["c", "s"], ["d"], name="n"), node("Add", ["x", "d"], ["y"])],
        (1, 2),
        {"c": ones(2), "s": ints(3)},
        "cannot be computed from its constants",
    ),
    (
        [node("Trilu", ["x"], ["y"], name="n")],
        (1, 2),
        {},
        "an operand depends on the network's inputs: expected constants alone for this operator",
    ),
    # Products
    (
        [node("MatMul", ["x", "w"], ["y"], name="n")],
        (1, 3),
        {"w": ones(2, 4)},
        r"weights for 2 features on a tensor of shape \(1, 3\)",
    ),
    (
        [node("MatMul", ["x", "w"], ["y"], name="n")],
        (1, 2, 3, 2),
        {"w": ones(2, 2, 4)},
        r"B has the shape \(2, 2, 4\): expected a constant of two axes",
    ),
    (
        [node("MatMul", ["x", "x"], ["y"], name="n")],
        (1, 3),
        {},
        r"shapes do not fit: matrices of \(1, 3\) and \(1, 3\)",
    ),
    (
        [node("Gemm", ["x", "w"], ["y"], name="n")],
        (1, 3, 2),
        {"w": ones(2, 4)},
        r"a factor of shape \(1, 3, 2\): expected two axes",
    ),
    (
        [node("Gemm", ["x", "w", "c"], ["y"], name="n")],
        (1, 2),
        {"w": ones(2, 4), "c": ones(3)},
        r"C of shape \(3,\) for 4 features",
    ),
    # Normalisations
    (
        [node("BatchNormalization", ["x", "a", "a", "a", "a"], ["y"], name="n")],
        (2, 2),
        {"a": ones(3)},
        r"scale has shape \(3,\): expected 2 numbers",
    ),
    (
        [node("BatchNormalization", ["x", "a", "b", "a", "a"], ["y"], name="n")],
        (1, 2),
        {"a": ones(2), "b": ones(3)},
        r"B of shape \(3,\) for 2 channels",
    ),
    (
        [node("LayerNormalization", ["x", "a"], ["y"], name="n")],
        (1, 4),
        {"a": ones(3)},
        r"Scale or B does not fit the axes \(4,\)",
    ),
    # Grids
    (
        [
            node("Cast", ["x"], ["z"], to=1),
            node("QuantizeLinear", ["x", "s", "z"], ["y"], name="n"),
        ],
        (1,),
        {"s": ones()},
        "its zero point depends on the network's inputs: expected a constant",
    ),
    (
        [node("QuantizeLinear", ["x", "s", "z"], ["y"], name="n")],
        (1, 2),
        {"s": ones(), "z": ones()},
        "its zero point is no whole number: expected integers",
    ),
    (
        [node("QuantizeLinear", ["x", "s", "z"], ["y"], name="n")],
        (1, 2),
        {"s": ones(), "z": np.array(0, np.int64)},
        "numbers of int64: expected int8, uint8, int16, uint16, int32",
    ),
    (
        [node("QuantizeLinear", ["x", "s"], ["y"], name="n", block_size=2)],
        (1, 2),
        {"s": ones(1, 1)},
        "block_size = 2: expected one scale for all",
    ),
    (
        [node("QuantizeLinear", ["x", "s", "z"], ["y"], name="n")],
        (1, 2),
        {"s": ones(2), "z": np.zeros(3, np.int8)},
        "2 scales and 3 zero points",
    ),
    (
        [node("QuantizeLinear", ["x", "s"], ["y"], name="n")],
        (1, 2),
        {"s": ones(3)},
        "3 scales for an axis of 2",
    ),
    (
        [node("DequantizeLinear", ["c", "s"], ["d"], name="n"), node("Add", ["x", "d"], ["y"])],
        (1, 2),
        {"c": ones(2), "s": ones()},
        "its input is no whole number: expected integers",
    ),
    (
        [
            node("ArgMax", ["x"], ["k"], axis=1),
            node("DequantizeLinear", ["k", "s"], ["y"], name="n"),
        ],
        (1, 2),
        {"s": ones()},
        "its input is made of whole numbers inside the network",
    ),
    (
        [node("QuantizeLinear", ["x", "s"], ["q"]), node("Cast", ["q"], ["y"], name="n", to=1)],
        (1, 2),
        {"s": ones()},
        "its input holds quantised numbers: expected a DequantizeLinear",
    ),
    (
        [node("QuantizeLinear", ["w", "s"], ["q"]), node("MatMul", ["x", "q"], ["y"], name="n")],
        (1, 2),
        {"w": ones(2, 2), "s": ones()},
        "B holds quantised numbers: expected a DequantizeLinear in front of it",
    ),
    # Recurrent layers
    (
        [node("LSTM", ["x", "w", "r"], ["y"], name="n")],
        (3, 4),
        {"w": ones(1, 8, 4), "r": ones(1, 8, 2)},
        r"X of shape \(3, 4\): expected three axes",
    ),
    (*recurrent(r=ones(1, 7, 2)), r"R of shape \(1, 7, 2\): expected \(1, 4 \* hidden, hidden\)"),
    (
        *recurrent(w=ones(1, 8, 5)),
        r"W of shape \(1, 8, 5\) and hidden_size = None with R of \(1, 8, 2\) on 4 features",
    ),
    (*recurrent(b=ones(1, 8)), r"B of shape \(1, 8\): expected \(1, 16\)"),
    (
        *recurrent(h=ones(1, 1, 3)),
        r"initial_h of shape \(1, 1, 3\): expected 1 directions, a batch of 1 and 2 states",
    ),
    # Elements that move
    (
        [node("Transpose", ["x"], ["y"], name="n", perm=[0, 0])],
        (1, 2),
        {},
        r"perm = \[0, 0\] of a tensor of 2 axes",
    ),
    (
        [node("Flatten", ["x"], ["y"], name="n", axis=3)],
        (1, 2),
        {},
        "axis = 3 of a tensor of 2 axes",
    ),
    (
        [node("Reshape", ["x", "s"], ["y"], name="n")],
        (1, 4),
        {"s": ints(-1, -1)},
        r"shape = \[-1, -1\]: expected positive lengths, and -1 at most once",
    ),
    (
        [node("Reshape", ["x", "s"], ["y"], name="n")],
        (1, 4),
        {"s": ints(3)},
        r"\(1, 4\) has 4 elements, \(3,\) has 3",
    ),
    (
        [node("Reshape", ["x", "s"], ["y"], name="n")],
        (1, 4),
        {"s": ints(*[1] * 8, 4)},
        "its result has 9 axes: expected at most 8",
    ),
    (
        [node("Reshape", ["x", "s"], ["y"], name="n")],
        (1, 4),
        {"s": ones(2)},
        "shape is an array of float64 with 1 axes: expected a list of whole numbers",
    ),
    (
        [node("Cast", ["x"], ["s"], to=1), node("Reshape", ["x", "s"], ["y"], name="n")],
        (4,),
        {},
        "shape depends on the network's inputs: expected a constant",
    ),
    (
        [node("Squeeze", ["x", "a"], ["y"], name="n")],
        (1, 4),
        {"a": ints(1)},
        r"axes = \[1\] of \(1, 4\): expected axes of one element",
    ),
    (
        [node("Squeeze", ["x", "a"], ["y"], name="n")],
        (1, 4),
        {"a": ints(2)},
        r"axes \[2\] of a tensor of 2 axes",
    ),
    ([node("Expand", ["x", "s"], ["y"], name="n")], (1, 4), {"s": ints(3)}, "shapes do not fit"),
    (
        [node("Slice", ["x", "a", "b"], ["y"], name="n")],
        (1, 4),
        {"a": ints(0, 0), "b": ints(1)},
        "2 starts, 1 ends, 2 axes and 2 steps: expected equally many of each",
    ),
    (
        [node("Split", ["x", "s"], ["y", "z"], name="n", axis=1)],
        (1, 4),
        {"s": ints(1, 2)},
        r"split = \[1, 2\] into 2 of an axis of 4",
    ),
    (
        [node("Cast", ["x"], ["i"], to=1), node("Gather", ["x", "i"], ["y"], name="n")],
        (4,),
        {},
        "indices depend on the network's inputs: expected a constant, or a table",
    ),
    (
        [node("Gather", ["x", "i"], ["y"], name="n", axis=1)],
        (1, 4),
        {"i": ints(4)},
        r"indices of shape \(1,\) on an axis of 4: expected one number or more of those inside",
    ),
    (
        [node("Concat", ["x", "c"], ["y"], name="n", axis=1)],
        (1, 4),
        {"c": ones(2, 4)},
        r"shapes \(1, 4\), \(2, 4\) along axis 1 do not fit",
    ),
    # Windows
    (
        [node("MaxPool", ["x"], ["y"], name="n", kernel_shape=[2])],
        (1, 1, 4, 4),
        {},
        r"kernel_shape \[2\] on a map of 2 axes",
    ),
    (
        [node("MaxPool", ["x"], ["y"], name="n", kernel_shape=[2, 2], strides=[0, 1])],
        (1, 1, 4, 4),
        {},
        r"strides = \[0, 1\]: expected one positive integer per spatial axis",
    ),
    (
        [node("MaxPool", ["x"], ["y"], name="n", kernel_shape=[2, 2], auto_pad="SAME")],
        (1, 1, 4, 4),
        {},
        "auto_pad = 'SAME': expected 'NOTSET' or 'VALID' or 'SAME_UPPER' or 'SAME_LOWER'",
    ),
    (
        [node("Conv", ["x", "w"], ["y"], name="n")],
        (1, 1, 4, 4),
        {"w": ones(1, 1, 2)},
        r"W of shape \(1, 1, 2\) on a map of 2 axes",
    ),
    (
        [node("Conv", ["x", "w"], ["y"], name="n", group=2)],
        (1, 2, 4, 4),
        {"w": ones(3, 1, 2, 2)},
        "group = 2 for 3 output channels",
    ),
    # scikit-learn's
    (
        [
            node("Cast", ["x"], ["l"], to=1),
            node("ArrayFeatureExtractor", ["l", "x"], ["y"], name="n", **ML),
        ],
        (1, 2),
        {},
        "X depends on the network's inputs: expected constant labels",
    ),
    (
        [node("ArrayFeatureExtractor", ["l", "x"], ["y"], name="n", **ML)],
        (1, 2),
        {"l": ints(0, 1)},
        "Y holds real numbers: expected what ArgMax gives",
    ),
    # Inputs
    (
        [node("Relu", ["x"], ["y"])],
        (1,) * 8 + (2,),
        {},
        r"x \(input\): 9 axes: expected at most 8",
    ),
]


@pytest.mark.parametrize("nodes, shape, constants, reason", CASES)
def test_reasons(tmp_path, nodes, shape, constants, reason):
    outputs = {name: None for name in nodes[-1].output}
    with pytest.raises(OnnxError, match=reason):
        import_model(make_model(nodes, {"x": shape}, outputs, constants, opset=21), tmp_path)


def test_a_scale_a_channel_of_an_integer_input(tmp_path):
    model = make_model(
        [node("DequantizeLinear", ["x", "s"], ["y"], name="n")],
        {"x": ((1, 2), np.int8)},
        {"y": None},
        {"s": ones(2)},
    )
    with pytest.raises(
        OnnxError, match=r"n \(DequantizeLinear\): 2 scales of a tensor that flows: expected one"
    ):
        import_model(model, tmp_path)


def test_constants_that_grow_without_end(tmp_path, monkeypatch):
    monkeypatch.setattr(translate, "MOST_ELEMENTS", 30)
    nodes = [
        node("Add", ["c", "c"], ["d"], name="a"),
        node("Add", ["d", "c"], ["e"], name="b"),
        node("Add", ["x", "e"], ["y"], name="n"),
    ]
    with pytest.raises(
        OnnxError,
        match=r"b \(Add\): the constants computed so far have 40 elements: expected at most 30",
    ):
        import_model(make_model(nodes, {"x": (1, 20)}, {"y": None}, {"c": ones(20)}), tmp_path)


def test_parts_of_a_file_that_are_not_taken(tmp_path):
    model = make_model([node("Relu", ["x"], ["y"], name="n")], {"x": (1, 2)}, {"y": None})
    sparse = helper.make_sparse_tensor(
        numpy_helper.from_array(ones(1), "s"),
        helper.make_tensor("i", TensorProto.INT64, [1], [0]),
        [3],
    )
    model.graph.sparse_initializer.append(sparse)
    with pytest.raises(OnnxError, match="weights kept as sparse tensors: expected dense ones"):
        import_model(model, tmp_path)
    del model.graph.sparse_initializer[:]
    attribute = model.graph.node[0].attribute.add()
    attribute.name, attribute.ref_attr_name = "alpha", "another"
    with pytest.raises(OnnxError, match=r"n \(Relu\): attribute alpha has no value"):
        import_model(model, tmp_path)
    del model.graph.node[0].attribute[:]
    # An attribute that was given nothing, on the way to an order of the input's axes.
    model.graph.node[0].op_type = "Transpose"
    model.graph.node[0].attribute.add().name = "perm"
    model.graph.input[0].type.tensor_type.shape.dim.add().dim_value = 2
    with pytest.raises(OnnxError, match=r"n \(Transpose\): onnx refuses it"):
        import_model(model, tmp_path)
    del model.graph.node[0].attribute[:]
    model.graph.node[0].op_type = "NoSuch"
    model.graph.input[0].type.tensor_type.ClearField("shape")
    with pytest.raises(OnnxError, match=r"x \(input\): has no shape: expected fixed lengths"):
        import_model(model, tmp_path)


@pytest.mark.parametrize(
    "values, reason",
    [
        (np.zeros((2, 4)), r"input x has the shape \(2, 4\), expected \(inputs, 3\)"),
        (np.zeros(3), r"input x has the shape \(3,\), expected \(inputs, 3\)"),
        (np.array([[1, np.nan, 2]]), "input x holds NaN or infinity, expected finite numbers"),
        (np.array([[1, 1e39, 2]]), r"input x holds numbers greater than 3.4e\+38, expected those"),
        (np.array([["a", "b", "c"]]), "input x holds <U1, expected numbers"),
    ],
)
def test_arrays_that_do_not_fit_a_port(values, reason):
    with pytest.raises(InputError, match=reason):
        to_graph(g.Port("x", "t", (0,), (3,)), values)


def test_axes_of_a_port():
    port = g.Port("x", "t", (1, 2, 0), (3, 4, 5))
    values = np.arange(120).reshape(2, 3, 4, 5)
    assert to_graph(port, values).shape == (2, 4, 5, 3)
    np.testing.assert_array_equal(from_graph(port, to_graph(port, values)), values)


@pytest.mark.parametrize(
    "kind, attributes, shapes, reason",
    [
        (
            g.Conv,
            {"weights": np.zeros((2, 1, 1, 3)), "bias": np.zeros(3)},
            [(2, 2, 3)],
            r"bias of shape \(3,\) for 2 channels",
        ),
        (
            g.Conv,
            {"weights": np.zeros((2, 1, 1, 3))},
            [(2, 2, 3), (2, 2, 3)],
            r"residual of shape \(2, 2, 3\), the convolution gives \(2, 2, 2\)",
        ),
        (
            g.Dense,
            {"weights": np.zeros((2, 3)), "bias": np.zeros(3)},
            [(3,)],
            r"bias of shape \(3,\) for 2 features",
        ),
        (g.MatMul, {}, [(), (3,)], "a product of matrices wants operands of one axis at least"),
        (
            g.Gru,
            {
                "weights": np.zeros((6, 3)),
                "recurrent": np.zeros((6, 2)),
                "bias": np.zeros((2, 6)),
                "initial": np.zeros(2),
            },
            [(4, 5)],
            r"weights of \(6, 3\) and \(6, 2\) on a sequence of \(4, 5\)",
        ),
    ],
)
def test_shapes_of_layers_that_do_not_fit(kind, attributes, shapes, reason):
    with pytest.raises(ValueError, match=reason):
        kind(name="n", inputs=[], output="", **attributes).shape_of(*shapes)
