# SPDX-License-Identifier: BSD-2-Clause
"""Operators one by one, over their attributes, against onnxruntime."""

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from quintet.tools.compiler.onnx_import import OnnxError

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
from tests.tools.compiler.onnx_models import (  # noqa: E402
    check,
    feeds_of,
    import_model,
    make_model,
    node,
    run_here,
)

FEW = settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def normal(*shape, seed=0):
    return np.random.default_rng(seed).normal(0, 1, shape)


def one(operator, shape, constants=(), opset=17, outputs=1, seed=0, **attributes):
    """Model of one node on an input of ``shape`` (with the inputs' axis) and ``constants``
    (``None``: left out)."""
    names = [f"c{at}" if data is not None else "" for at, data in enumerate(constants)]
    return make_model(
        [
            node(
                operator, ["x", *names], [f"y{at}" for at in range(outputs)], name="n", **attributes
            )
        ],
        {"x": shape},
        {f"y{at}": None for at in range(outputs)},
        {f"c{at}": data for at, data in enumerate(constants) if data is not None},
        opset,
    )


@FEW
@given(st.data())
def test_conv(tmp_path, data):
    spatial = data.draw(st.integers(1, 2))
    groups, inner, per_group = (data.draw(st.integers(1, 3)) for _ in range(3))
    lengths = [data.draw(st.integers(1, 8)) for _ in range(spatial)]
    size = [data.draw(st.integers(1, 3)) for _ in range(spatial)]
    attributes = {
        "group": groups,
        "strides": [data.draw(st.integers(1, 3)) for _ in range(spatial)],
        "dilations": [data.draw(st.integers(1, 2)) for _ in range(spatial)],
    }
    mode = data.draw(st.sampled_from(["NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"]))
    pads = [0] * (2 * spatial)
    if mode == "NOTSET":
        pads = attributes["pads"] = [data.draw(st.integers(0, 2)) for _ in range(2 * spatial)]
    else:
        attributes["auto_pad"] = mode
        if mode != "VALID":
            # onnxruntime wants no dilation there.
            attributes["dilations"] = [1] * spatial
    assume(
        mode.startswith("SAME")
        or all(
            n + a + b >= (k - 1) * d + 1
            for n, a, b, k, d in zip(
                lengths, pads[:spatial], pads[spatial:], size, attributes["dilations"], strict=True
            )
        )
    )
    weights = normal(groups * per_group, inner, *size)
    bias = [normal(groups * per_group)] if data.draw(st.booleans()) else []
    check(one("Conv", (1, groups * inner, *lengths), [weights, *bias], **attributes), tmp_path)


@FEW
@given(st.data())
@pytest.mark.parametrize("kind", ["MaxPool", "AveragePool"])
def test_pools(tmp_path, kind, data):
    spatial = data.draw(st.integers(1, 2))
    lengths = [data.draw(st.integers(1, 9)) for _ in range(spatial)]
    size = [data.draw(st.integers(1, 3)) for _ in range(spatial)]
    attributes = {
        "kernel_shape": size,
        "strides": [data.draw(st.integers(1, 3)) for _ in range(spatial)],
        "ceil_mode": data.draw(st.integers(0, 1)),
    }
    if kind == "AveragePool":
        attributes["count_include_pad"] = data.draw(st.integers(0, 1))
    mode = data.draw(st.sampled_from(["NOTSET", "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"]))
    pads = [0] * (2 * spatial)
    if mode == "NOTSET":
        pads = attributes["pads"] = [data.draw(st.integers(0, k - 1)) for k in size * 2]
    else:
        attributes.update(auto_pad=mode, ceil_mode=0)
    # onnxruntime has no pool whose windows leave elements out.
    assume(
        mode.startswith("SAME")
        and all(k >= pace for k, pace in zip(size, attributes["strides"], strict=True))
        or mode in ("NOTSET", "VALID")
        and all(
            n + a + b >= k
            for n, a, b, k in zip(lengths, pads[:spatial], pads[spatial:], size, strict=True)
        )
    )
    check(one(kind, (1, 2, *lengths), opset=19, **attributes), tmp_path)


@pytest.mark.parametrize(
    ("mode", "before"),
    [("SAME_LOWER", (1, 2)), ("SAME_UPPER", (0, 1))],
)
def test_dilated_maximum_pools_padded_to_the_same_size(tmp_path, mode, before):
    """Against plain numpy: onnxruntime leaves the dilations out of the padding, and ONNX's
    evaluator pads SAME_LOWER as SAME_UPPER.

    By the operator's text, rows have (7 - 1) * 1 + 2 - 7 = 1 element of padding, and columns
    (3 - 1) * 2 + 5 - 6 = 3, of which the odd one is before (SAME_LOWER) or behind the map.
    """
    attributes = {"kernel_shape": [2, 3], "strides": [1, 2], "dilations": [1, 2], "auto_pad": mode}
    graph = import_model(one("MaxPool", (1, 4, 7, 6), **attributes), tmp_path)
    feeds = feeds_of(graph)
    padded = np.full((4, 7 + 4, 6 + 8), -np.inf, np.float32)
    padded[:, 2:-2, 4:-4] = feeds["x"][0]
    top, left = 2 - before[0], 4 - before[1]
    wanted = [
        [
            padded[:, top + row : top + row + 2, left + 2 * column : left + 2 * column + 5 : 2]
            for column in range(3)
        ]
        for row in range(7)
    ]
    wanted = np.asarray(wanted).max(axis=(3, 4)).transpose(2, 0, 1)[None]
    assert np.array_equal(run_here(graph, feeds)["y0"], wanted)


@pytest.mark.parametrize("operator", ["GlobalAveragePool", "GlobalMaxPool"])
@pytest.mark.parametrize("shape", [(1, 3, 4, 5), (1, 3, 6)])
def test_global_pools(tmp_path, operator, shape):
    check(one(operator, shape), tmp_path)


@FEW
@given(st.data())
def test_pad(tmp_path, data):
    shape = [1, *(data.draw(st.integers(1, 4)) for _ in range(data.draw(st.integers(1, 3))))]
    pads = [0, *(data.draw(st.integers(0, 2)) for _ in shape[1:])] * 2
    assume(any(pads))
    value = (
        [np.array(data.draw(st.sampled_from([0.0, 1.5])), np.float32)]
        if data.draw(st.booleans())
        else []
    )
    check(one("Pad", shape, [np.array(pads), *value]), tmp_path)


@pytest.mark.parametrize(
    "pads",
    [
        (0, 0, -1, 0, 0, 0, 0, -2),  # rows and columns go
        (0, 0, -1, 2, 0, 0, 1, -2),  # some come, others go
    ],
)
def test_negative_pads_take_away(tmp_path, pads):
    check(one("Pad", (1, 2, 4, 5), [np.array(pads), np.array(0.5)]), tmp_path)


@pytest.mark.parametrize("opset", [18, 21])
def test_pad_of_some_axes(tmp_path, opset):
    check(
        one("Pad", (1, 3, 4, 5), [np.array([1, 2, 0, 1]), None, np.array([-1, 2])], opset), tmp_path
    )


@pytest.mark.parametrize("mode", ["edge", "reflect", "wrap"])
@pytest.mark.parametrize("pads", [(0, 0, 1, 2, 0, 0, 2, 1), (0, 0, 0, 11, 0, 0, 0, 3)])
def test_padding_with_copies(tmp_path, mode, pads):
    check(one("Pad", (1, 2, 4, 12), [np.array(pads)], opset=19, mode=mode), tmp_path)


@FEW
@given(st.data())
def test_gemm(tmp_path, data):
    rows, inner, out = (
        data.draw(st.sampled_from([1, 1, 3])),
        data.draw(st.integers(1, 5)),
        data.draw(st.integers(1, 5)),
    )
    flags = {
        "transA": data.draw(st.integers(0, 1)),
        "transB": data.draw(st.integers(0, 1)),
        "alpha": data.draw(st.sampled_from([1.0, 0.5])),
        "beta": data.draw(st.sampled_from([1.0, -2.0, 0.0])),
    }
    first = (inner, rows) if flags["transA"] else (rows, inner)
    second = (out, inner) if flags["transB"] else (inner, out)
    third = data.draw(st.sampled_from([None, (), (out,), (1, out), (rows, 1), (rows, out)]))
    flows = data.draw(st.sampled_from(["A", "B", "AB", "AC", "ABC"]))
    shapes = {"A": first, "B": second, "C": third}
    names = ["A", "B"] + ["C"] * (third is not None)
    inputs = {name: shapes[name] for name in names if name in flows and shapes[name] != ()}
    constants = {
        name: normal(*shapes[name], seed=ord(name)) for name in names if name not in inputs
    }
    check(
        make_model([node("Gemm", names, ["y"], **flags)], inputs, {"y": None}, constants), tmp_path
    )


@pytest.mark.parametrize(
    "first, second",
    [
        ((1, 4), (4, 3)),
        ((1, 5, 4), (4, 3)),
        ((5, 4), (4, 3)),
        ((1, 2, 5, 4), (4, 3)),
        ((1, 2, 3, 5, 4), (4, 3)),
        ((1, 4), (4,)),
        ((1, 5, 4), (1, 4, 3)),
        ((1, 1, 4), (4, 3)),
        ((4,), (4, 3)),
    ],
)
def test_matmul_by_a_constant(tmp_path, first, second):
    check(one("MatMul", first, [normal(*second)]), tmp_path)


@pytest.mark.parametrize(
    "first, second", [((3, 4), (1, 4, 2)), ((3, 4), (4, 2)), ((3, 4), (1, 5, 4, 2)), ((3, 4), (4,))]
)
def test_matmul_of_a_constant(tmp_path, first, second):
    check(
        make_model(
            [node("MatMul", ["c", "x"], ["y"])], {"x": second}, {"y": None}, {"c": normal(*first)}
        ),
        tmp_path,
    )


@pytest.mark.parametrize(
    "first, second",
    [
        ((1, 5, 4), (1, 4, 3)),
        ((1, 4), (4, 3)),
        ((1, 2, 5, 4), (1, 2, 4, 3)),
        ((1, 2, 5, 4), (1, 1, 4, 3)),
        ((4,), (4, 2)),
    ],
)
def test_matmul_of_two_tensors_that_flow(tmp_path, first, second):
    check(
        make_model([node("MatMul", ["x", "z"], ["y"])], {"x": first, "z": second}, {"y": None}),
        tmp_path,
    )


@FEW
@given(st.data())
@pytest.mark.parametrize("operator", ["Add", "Sub", "Mul", "Div"])
def test_arithmetic_is_broadcast(tmp_path, operator, data):
    """Both orders, constants and tensors that flow, in the model's own axes and in those of
    maps."""
    shape = [1, *(data.draw(st.integers(1, 4)) for _ in range(data.draw(st.integers(1, 3))))]

    def thin():
        dims = [n if data.draw(st.booleans()) else 1 for n in shape]
        return dims[data.draw(st.integers(0, len(dims) - 1)) :]

    second, constant = thin(), data.draw(st.booleans())
    values = normal(*second, seed=3)
    values = np.sign(values) * (1 + np.abs(values))
    nodes, name = [], "x"
    if len(shape) == 4 and data.draw(st.booleans()):
        nodes, name = (
            [
                node("GlobalMaxPool" if data.draw(st.booleans()) else "Relu", ["x"], ["pooled"]),
                node("Add", ["x", "pooled"], ["map"]),
            ],
            "map",
        )
        nodes.insert(0, node("MaxPool", ["x"], ["unused"], kernel_shape=[1, 1]))
    first = [name, "c"] if operator == "Div" or data.draw(st.booleans()) else ["c", name]
    inputs = {"x": shape} if constant or operator == "Div" else {"x": shape, "c": second}
    check(
        make_model(
            [*nodes, node(operator, first, ["y"])],
            inputs,
            {"y": None},
            {} if "c" in inputs else {"c": values},
        ),
        tmp_path,
    )


def test_operands_that_are_broadcast_against_each_other(tmp_path):
    check(
        make_model([node("Mul", ["x", "z"], ["y"])], {"x": (1, 4, 1), "z": (1, 1, 5)}, {"y": None}),
        tmp_path,
    )
    check(
        make_model(
            [node("Sub", ["c", "x"], ["y"])], {"x": (1, 4, 1)}, {"y": None}, {"c": normal(3)}
        ),
        tmp_path,
    )


@pytest.mark.parametrize(
    "operator, constants, attributes",
    [
        ("Relu", [], {}),
        ("LeakyRelu", [], {"alpha": 0.2}),
        ("LeakyRelu", [], {}),
        ("Sigmoid", [], {}),
        ("Tanh", [], {}),
        ("HardSigmoid", [], {}),
        ("HardSigmoid", [], {"alpha": 0.3, "beta": 0.4}),
        ("HardSwish", [], {}),
        ("Exp", [], {}),
        ("Neg", [], {}),
        ("Abs", [], {}),
        ("Clip", [np.float32(0), np.float32(6)], {}),
        ("Clip", [np.float32(-0.5)], {}),
        ("Clip", [None, np.float32(0.5)], {}),
        ("Clip", [], {}),
        ("PRelu", [np.float32(0.25)], {}),
        ("Min", [np.float32(0.5)], {}),
        ("Max", [np.float32(0.5)], {}),
        ("Identity", [], {}),
        ("Dropout", [], {}),
        ("Pow", [np.float32(2)], {}),
        ("Pow", [np.float32(3)], {}),
        ("Pow", [np.float32(1)], {}),
        ("Pow", [np.float32(-1)], {}),
        ("Reciprocal", [], {}),
        ("Sum", [np.float32([1, 2, 3]), np.float32(4)], {}),
        ("Sum", [], {}),
    ],
)
def test_operators_element_by_element(tmp_path, operator, constants, attributes):
    model = one(operator, (1, 2, 3), constants, **attributes)
    # A network that gives its input back is none.
    model.graph.node.append(node("LeakyRelu", ["y0"], ["z"], alpha=0.9))
    model.graph.output[0].name = "z"
    check(model, tmp_path, spread=3.0)


@pytest.mark.parametrize(
    "operator, constants", [("Log", []), ("Sqrt", []), ("Pow", [np.float32(0.5)])]
)
def test_operators_of_numbers_above_zero(tmp_path, operator, constants):
    names = [f"c{at}" for at in range(len(constants))]
    check(
        make_model(
            [node("Abs", ["x"], ["a"]), node(operator, ["a", *names], ["y"])],
            {"x": (1, 4)},
            {"y": None},
            dict(zip(names, constants, strict=True)),
        ),
        tmp_path,
    )


@pytest.mark.parametrize("opset", [11, 13])
@pytest.mark.parametrize("operator", ["Softmax", "LogSoftmax"])
@pytest.mark.parametrize(
    "shape, axis",
    [
        ((1, 5), 1),
        ((1, 5), None),
        ((1, 3, 5), -1),
        ((1, 3, 5), 1),
        ((1, 3, 4, 2), 1),
        ((1, 3, 4, 2), 2),
    ],
)
def test_softmax(tmp_path, operator, opset, shape, axis):
    check(one(operator, shape, opset=opset, **({} if axis is None else {"axis": axis})), tmp_path)


@pytest.mark.parametrize("opset", [13, 18])
@pytest.mark.parametrize("operator", ["ReduceMean", "ReduceSum", "ReduceMax"])
@pytest.mark.parametrize("keep", [0, 1])
@pytest.mark.parametrize("axes", [[2, 3], [-1], [1], [1, 2, 3], [0, 3], None])
def test_reductions(tmp_path, opset, operator, keep, axes):
    as_input = opset >= 18 or operator == "ReduceSum"
    constants = [np.array(axes)] if axes and as_input else []
    attributes = {"axes": axes} if axes and not as_input else {}
    check(one(operator, (1, 3, 4, 5), constants, opset, keepdims=keep, **attributes), tmp_path)


@pytest.mark.parametrize("keep", [0, 1])
@pytest.mark.parametrize("axis", [1, -1])
def test_argmax_as_the_last_node(tmp_path, keep, axis):
    check(
        make_model(
            [node("ArgMax", ["x"], ["y"], axis=axis, keepdims=keep)],
            {"x": (1, 4, 5)},
            {"y": (None, np.int64)},
        ),
        tmp_path,
    )


@pytest.mark.parametrize(
    "operator, shape, constants, attributes",
    [
        ("Flatten", (1, 2, 3, 4), [], {}),
        ("Flatten", (1, 2, 3, 4), [], {"axis": 2}),
        ("Flatten", (1, 2, 3, 4), [], {"axis": 0}),
        ("Flatten", (1, 2, 3), [], {"axis": -1}),
        ("Reshape", (1, 2, 3, 4), [np.array([1, -1])], {}),
        ("Reshape", (1, 2, 3, 4), [np.array([0, 4, 6])], {}),
        ("Reshape", (1, 2, 3, 4), [np.array([0, 0, -1])], {}),
        ("Reshape", (1, 24), [np.array([1, 4, 3, 2])], {}),
        ("Reshape", (1, 2, 3), [np.array([-1])], {}),
        ("Reshape", (1, 2, 3), [np.array([3, 2])], {}),
        ("Squeeze", (1, 2, 1, 4), [np.array([2])], {}),
        ("Squeeze", (1, 2, 1, 4), [], {}),
        ("Unsqueeze", (1, 2, 4), [np.array([1, -1])], {}),
        ("Transpose", (1, 2, 3, 4), [], {"perm": [0, 2, 3, 1]}),
        ("Transpose", (1, 2, 3), [], {}),
        ("Transpose", (1, 2, 3), [], {"perm": [1, 0, 2]}),
        ("Expand", (1, 2, 3), [np.array([1, 1, 2, 3])], {}),
        ("Slice", (1, 6, 5), [np.array([1]), np.array([-1]), np.array([1])], {}),
        (
            "Slice",
            (1, 6, 5),
            [np.array([0, 0]), np.array([100, 4]), np.array([1, 2]), np.array([2, 3])],
            {},
        ),
        ("Slice", (1, 6, 5), [np.array([0, 1]), np.array([1, 3])], {}),
        ("Gather", (1, 6, 5), [np.array(-1)], {"axis": 1}),
        ("Gather", (1, 6, 5), [np.array([1, 3, 5])], {"axis": 1}),
        ("Gather", (1, 6, 5), [np.array([2])], {"axis": 2}),
        ("Gather", (1, 6, 5), [np.array(0)], {}),
    ],
)
@pytest.mark.parametrize("map_first", [False, True])
def test_operators_that_move_elements(tmp_path, operator, shape, constants, attributes, map_first):
    """On a tensor in the model's own axes, and on a map that lies as rows, columns, channels."""
    nodes = [
        node(
            "MaxPool" if map_first and len(shape) == 4 else "Relu",
            ["x"],
            ["m"],
            **({"kernel_shape": [1, 1]} if map_first and len(shape) == 4 else {}),
        )
    ]
    names = [f"c{at}" for at in range(len(constants))]
    nodes += [node(operator, ["m", *names], ["t"], **attributes), node("Tanh", ["t"], ["y"])]
    check(
        make_model(
            nodes, {"x": shape}, {"y": None, "t": None}, dict(zip(names, constants, strict=True))
        ),
        tmp_path,
    )


@pytest.mark.parametrize(
    "opset, constants, attributes",
    [
        (11, [], {"split": [1, 3]}),
        (11, [], {}),
        (13, [np.array([3, 1])], {}),
        (18, [], {"num_outputs": 2}),
    ],
)
def test_split(tmp_path, opset, constants, attributes):
    check(one("Split", (1, 4, 3), constants, opset, outputs=2, axis=1, **attributes), tmp_path)


@pytest.mark.parametrize(
    "shapes, axis",
    [
        ([(1, 2, 3), (1, 4, 3)], 1),
        ([(1, 2, 3), (1, 2, 1)], -1),
        ([(1, 2, 4, 4), (1, 3, 4, 4)], 1),
        ([(1, 3), (1, 3)], 0),
    ],
)
@pytest.mark.parametrize("pooled", [False, True])
def test_concat(tmp_path, shapes, axis, pooled):
    nodes, names = [], []
    for at, shape in enumerate(shapes):
        names.append(f"x{at}")
        if pooled and len(shape) == 4 and at == 0:
            nodes.append(node("MaxPool", [names[-1]], ["pooled"], kernel_shape=[1, 1]))
            names[-1] = "pooled"
    nodes.append(node("Concat", [*names, "c"], ["y"], axis=axis))
    inputs = {f"x{at}": shape for at, shape in enumerate(shapes)}
    check(make_model(nodes, inputs, {"y": None}, {"c": normal(*shapes[0])}), tmp_path)


@pytest.mark.parametrize("shape", [(1, 3, 4, 5), (1, 3, 4), (1, 3)])
@pytest.mark.parametrize("opset", [11, 15])
def test_batch_normalization(tmp_path, shape, opset):
    constants = [normal(3), normal(3), normal(3), np.abs(normal(3))]
    check(one("BatchNormalization", shape, constants, opset, epsilon=1e-3), tmp_path)


@pytest.mark.parametrize(
    "shape, axis", [((1, 4, 6), -1), ((1, 4, 6), 1), ((1, 2, 3, 4), -1), ((1, 6), 1)]
)
@pytest.mark.parametrize("bias", [False, True])
def test_layer_normalization(tmp_path, shape, axis, bias):
    constants = [1 + normal(*shape[axis:])] + [normal(*shape[axis:])] * bias
    check(one("LayerNormalization", shape, constants, axis=axis, epsilon=1e-3), tmp_path)


@FEW
@given(st.data())
@pytest.mark.parametrize("operator", ["LSTM", "GRU"])
def test_recurrent_layers(tmp_path, operator, data):
    gates = 4 if operator == "LSTM" else 3
    steps, features, hidden = (data.draw(st.integers(1, 4)) for _ in range(3))
    direction = data.draw(st.sampled_from(["forward", "reverse", "bidirectional"]))
    count = 2 if direction == "bidirectional" else 1
    constants = {
        "w": normal(count, gates * hidden, features),
        "r": normal(count, gates * hidden, hidden, seed=1),
    }
    names = ["x", "w", "r"]
    for name, data_of in (
        ("b", lambda: normal(count, 2 * gates * hidden, seed=2)),
        ("s", lambda: np.array([steps], np.int32)),
        ("h", lambda: normal(count, 1, hidden, seed=3)),
        ("c", lambda: normal(count, 1, hidden, seed=4)),
    )[: 3 + (operator == "LSTM")]:
        given = data.draw(st.booleans())
        names.append(name if given else "")
        if given:
            constants[name] = data_of()
    attributes = {"linear_before_reset": data.draw(st.integers(0, 1))} if operator == "GRU" else {}
    used = data.draw(st.sampled_from([("y", ""), ("", "h_end"), ("y", "h_end")]))
    model = make_model(
        [node(operator, names, list(used), hidden_size=hidden, direction=direction, **attributes)],
        {"x": (steps, 1, features)},
        {name: None for name in used if name},
        constants,
    )
    check(model, tmp_path)


def test_a_network_of_recurrent_layers_as_pytorch_writes_it(tmp_path):
    """Steps first inside, inputs first outside, first states made out of the shape of the input."""
    hidden = 3
    nodes = [
        node("Transpose", ["x"], ["t"], perm=[1, 0, 2]),
        node("Shape", ["t"], ["s"]),
        node("Gather", ["s", "one"], ["batch"], axis=0),
        node("Unsqueeze", ["batch", "axis"], ["batch1"]),
        node("Concat", ["two", "batch1", "hidden"], ["wanted"], axis=0),
        node("ConstantOfShape", ["wanted"], ["zeros"]),
        node(
            "LSTM",
            ["t", "w", "r", "b", "", "zeros", "zeros"],
            ["y", "h", ""],
            hidden_size=hidden,
            direction="bidirectional",
        ),
        node("Transpose", ["y"], ["y1"], perm=[0, 2, 1, 3]),
        node("Reshape", ["y1", "flat"], ["y2"]),
        node("Transpose", ["y2"], ["y3"], perm=[1, 0, 2]),
        node("Gather", ["y3", "last"], ["z"], axis=1),
        node("Gemm", ["z", "g"], ["out"]),
    ]
    constants = {
        "one": np.array(1),
        "axis": np.array([0]),
        "two": np.array([2]),
        "hidden": np.array([hidden]),
        "w": normal(2, 12, 4),
        "r": normal(2, 12, 3, seed=1),
        "b": normal(2, 24, seed=2),
        "flat": np.array([0, 0, -1]),
        "last": np.array(-1),
        "g": normal(6, 5),
    }
    graph = check(
        make_model(nodes, {"x": ("batch", 7, 4)}, {"out": ("batch", 5)}, constants), tmp_path
    )
    assert [n.kind for n in graph.nodes if n.kind in ("lstm", "dense", "transpose")] == [
        "lstm",
        "lstm",
        "dense",
    ]


def test_chains_of_shapes_are_computed_during_import(tmp_path):
    nodes = [
        node("Shape", ["x"], ["s"]),
        node("Slice", ["s", "from", "to"], ["part"]),
        node("ReduceProd", ["part"], ["product"], keepdims=1),
        node("Cast", ["product"], ["f"], to=1),
        node("Div", ["f", "half"], ["g"]),
        node("Cast", ["g"], ["i"], to=7),
        node("Squeeze", ["i"], ["scalar"]),
        node("Unsqueeze", ["scalar", "axis"], ["again"]),
        node("Concat", ["minus", "again"], ["wanted"], axis=0),
        node("Reshape", ["x", "wanted"], ["y"]),
    ]
    constants = {
        "from": np.array([1]),
        "to": np.array([3]),
        "half": np.float32(2),
        "axis": np.array([0]),
        "minus": np.array([-1]),
    }
    graph = check(
        make_model([*nodes, node("Relu", ["y"], ["z"])], {"x": (1, 4, 6)}, {"z": None}, constants),
        tmp_path,
    )
    assert graph.shape(graph.outputs[0].tensor) == (2, 12) or graph.outputs[0].shape == (2, 12)


def learned(operator, inputs, outputs, **attributes):
    return node(operator, inputs, outputs, name=operator, domain="ai.onnx.ml", **attributes)


@pytest.mark.parametrize("transform", ["NONE", "SOFTMAX", "LOGISTIC"])
@pytest.mark.parametrize("label", [False, True])
def test_a_linear_classifier_of_scikit_learns(tmp_path, transform, label):
    nodes = [
        learned("Scaler", ["x"], ["a"], offset=[0.5, -1.0, 2.0], scale=[1.0, 2.0, 0.5]),
        learned(
            "LinearClassifier",
            ["a"],
            ["label", "scores"],
            coefficients=normal(12).tolist(),
            intercepts=normal(4, seed=2).tolist(),
            classlabels_ints=[0, 1, 2, 3],
            post_transform=transform,
        ),
        learned("Normalizer", ["scores"], ["p"], norm="L1"),
    ]
    check(
        make_model(
            nodes, {"x": ("N", 3)}, {"p": None, **({"label": ((None,), np.int64)} if label else {})}
        ),
        tmp_path,
    )


def test_a_linear_regressor_of_scikit_learns(tmp_path):
    check(
        make_model(
            [
                learned(
                    "LinearRegressor",
                    ["x"],
                    ["y"],
                    coefficients=normal(6).tolist(),
                    intercepts=[0.5, 2.0],
                    targets=2,
                )
            ],
            {"x": ("N", 3)},
            {"y": None},
        ),
        tmp_path,
    )


def test_a_perceptron_of_scikit_learns(tmp_path):
    """As its converter writes it: probabilities, and the label by way of ArgMax and a table of
    labels."""
    nodes = [
        node("Cast", ["x"], ["c"], to=1),
        node("MatMul", ["c", "w"], ["m"]),
        node("Add", ["m", "b"], ["a"]),
        node("Relu", ["a"], ["r"]),
        node("MatMul", ["r", "v"], ["n"]),
        node("Softmax", ["n"], ["p"], axis=1),
        node("ArgMax", ["p"], ["k"], axis=1),
        learned("ArrayFeatureExtractor", ["labels", "k"], ["e"]),
        node("Cast", ["e"], ["i"], to=7),
        node("Reshape", ["i", "flat"], ["label"]),
    ]
    constants = {
        "w": normal(5, 4),
        "b": normal(1, 4),
        "v": normal(4, 3),
        "labels": np.arange(3),
        "flat": np.array([-1]),
    }
    graph = check(
        make_model(nodes, {"x": ("N", 5)}, {"label": ((None,), np.int64), "p": None}, constants),
        tmp_path,
    )
    assert [n.kind for n in graph.nodes][-2:] == ["softmax", "reduce"]


@pytest.mark.parametrize(
    "nodes, reason",
    [
        (
            [
                learned(
                    "LinearClassifier",
                    ["x"],
                    ["label", "y"],
                    coefficients=[1.0, 2.0],
                    intercepts=[1.0],
                    classlabels_ints=[0, 1],
                )
            ],
            "1 intercepts: expected one for each of two classes",
        ),
        (
            [
                learned(
                    "LinearClassifier",
                    ["x"],
                    ["y", "z"],
                    coefficients=[1.0] * 8,
                    intercepts=[1.0] * 2,
                    classlabels_ints=[3, 5],
                )
            ],
            r"classlabels = \[3, 5\]: expected numbers from 0 on",
        ),
        (
            [learned("LinearRegressor", ["x"], ["y"], coefficients=[1.0] * 3, targets=2)],
            "3 coefficients and 0 intercepts for 2 results",
        ),
        (
            [learned("Scaler", ["x"], ["y"], offset=[1.0, 2.0], scale=[1.0])],
            "offset has 2 elements for 4 features",
        ),
        (
            [
                node("ArgMax", ["x"], ["k"], axis=1),
                learned("ArrayFeatureExtractor", ["labels", "k"], ["y"]),
            ],
            r"X = \[2, 3\]: expected labels that are numbers from 0 on",
        ),
        (
            [learned("TreeEnsembleRegressor", ["x"], ["y"])],
            r"TreeEnsembleRegressor \(TreeEnsembleRegressor\): this operator is not supported",
        ),
    ],
)
def test_what_is_not_taken_of_scikit_learns(tmp_path, nodes, reason):
    with pytest.raises(OnnxError, match=reason):
        import_model(
            make_model(nodes, {"x": (1, 4)}, {"y": None}, {"labels": np.array([2, 3])}), tmp_path
        )


@pytest.mark.parametrize(
    "nodes, shape, constants, reason",
    [
        (
            [node("ConvTranspose", ["x", "w"], ["y"], name="up", pads=[3, 3, 2, 2])],
            (1, 2, 4, 4),
            {"w": normal(2, 3, 2, 2)},
            r"up \(ConvTranspose\): pads = \[3, 3, 2, 2\]: nothing is left of \[5, 5\]",
        ),
        (
            [node("RNN", ["x", "w", "r"], ["y"], name="n", hidden_size=2)],
            (3, 1, 4),
            {"w": normal(1, 3, 4), "r": normal(1, 2, 2)},
            r"n \(RNN\): W of shape \(1, 3, 4\): expected \(1, 2, features\)",
        ),
        (
            [node("Conv", ["x", "w"], ["y"], name="n", pads=[-1, 0, 0, 0])],
            (1, 2, 4, 4),
            {"w": normal(2, 2, 2, 2)},
            "pads = .*expected two non-negative integers per axis",
        ),
        (
            [node("Conv", ["x", "w"], ["y"], name="n")],
            (1, 3, 4, 4),
            {"w": normal(2, 2, 2, 2)},
            r"shapes do not fit: weights of shape \(2, 2, 2, 2\) in 1 groups on 3 channels",
        ),
        (
            [node("Conv", ["x", "w"], ["y"], name="n")],
            (1, 2, 4, 4, 4),
            {"w": normal(2, 2, 2, 2, 2)},
            "input of 5 axes",
        ),
        (
            [node("Conv", ["x", "w"], ["y"], name="n")],
            (2, 2, 4, 4),
            {"w": normal(2, 2, 2, 2)},
            "2 inputs at once: expected a batch of 1",
        ),
        (
            [node("Relu", ["x"], ["w"]), node("Conv", ["x", "w"], ["y"], name="n")],
            (1, 1, 4, 4),
            {},
            "W depends on the network's inputs: expected a constant",
        ),
        (
            [node("Conv", ["x", "w"], ["y"], name="n", kernel_shape=[3, 3])],
            (1, 2, 4, 4),
            {"w": normal(2, 2, 2, 2)},
            r"kernel_shape = \[3, 3\], W has \[2, 2\]",
        ),
        (
            [
                node("MaxPool", ["x"], ["y", "at"], name="n", kernel_shape=[2, 2]),
                node("Cast", ["at"], ["z"], to=1),
            ],
            (1, 2, 4, 4),
            {},
            "its output Indices is used",
        ),
        (
            [node("MaxPool", ["x"], ["y"], name="n", kernel_shape=[2, 2], pads=[2, 0, 0, 0])],
            (1, 2, 4, 4),
            {},
            "less than the window's",
        ),
        (
            [node("AveragePool", ["x"], ["y"], name="n", kernel_shape=[2, 2], dilations=[2, 1])],
            (1, 2, 4, 4),
            {},
            r"dilations = \[2, 1\]: expected 1",
        ),
        (
            [node("Pad", ["x", "p"], ["y"], name="n", mode="mirror")],
            (1, 4),
            {"p": np.array([0, 1, 0, 1])},
            "mode = 'mirror': expected 'constant' or 'edge' or 'reflect' or 'wrap'",
        ),
        (
            [node("Pad", ["x", "p"], ["y"], name="n", mode="reflect")],
            (1, 4),
            {"p": np.array([0, 4, 0, 1])},
            "pads 4 and 1 of an axis of 4, reflected: expected less than its length",
        ),
        (
            [node("Pad", ["x", "p"], ["y"], name="n")],
            (1, 4),
            {"p": np.array([0, -4, 0, 0])},
            r"n \(Pad\): its pads leave nothing of \(1, 4\)",
        ),
        (
            [node("Pad", ["x", "p"], ["y"], name="n", mode="edge")],
            (1, 4),
            {"p": np.array([0, -1, 0, 0])},
            r"pads = \[0, -1, 0, 0\] of mode 'edge': expected non-negative integers",
        ),
        (
            [node("PRelu", ["x", "s"], ["y"], name="n")],
            (1, 4),
            {"s": normal(3, 4)},
            r"slope of shape \(3, 4\) for an input of \(1, 4\)",
        ),
        (
            [node("Pow", ["x", "p"], ["y"], name="n")],
            (1, 4),
            {"p": np.float32(1.7)},
            "exponent 1.7: expected -1, 0.5, 1, 2, 3 or 4, or a base that is never negative",
        ),
        (
            [node("Min", ["x", "c", "d"], ["y"], name="n")],
            (1, 4),
            {"c": normal(2), "d": normal(3)},
            "cannot be computed from its constants",
        ),
        (
            [node("Clip", ["x", "a", "b"], ["y"], name="n")],
            (1, 4),
            {"a": np.float32(2), "b": np.float32(1)},
            "expected the lower one first",
        ),
        (
            [
                node(
                    "LSTM",
                    ["x", "w", "r"],
                    ["y"],
                    name="n",
                    hidden_size=1,
                    activations=["Elu", "Tanh", "Tanh"],
                )
            ],
            (3, 1, 4),
            {"w": normal(1, 4, 4), "r": normal(1, 4, 1)},
            r"activations = \['elu', 'tanh', 'tanh'\]: expected 3 of relu, tanh",
        ),
        (
            [node("LSTM", ["x", "w", "r", "", "s"], ["y"], name="n", hidden_size=1)],
            (3, 1, 4),
            {"w": normal(1, 4, 4), "r": normal(1, 4, 1), "s": np.array([2], np.int32)},
            r"sequence_lens = \[2\]: expected all 3 steps",
        ),
        (
            [node("LSTM", ["x", "w", "r"], ["y"], name="n", hidden_size=1)],
            (200, 2, 4),
            {"w": normal(1, 4, 4), "r": normal(1, 4, 1)},
            "200 steps: expected at most 128 of this layer",
        ),
        (
            [
                node("Neg", ["x"], ["a"]),
                node("Cast", ["a"], ["i"], name="n", to=7),
                node("Cast", ["i"], ["y"], to=1),
            ],
            (1, 4),
            {},
            "to = 7 of a tensor that flows: expected floats",
        ),
        (
            [node("Gather", ["x", "i"], ["y"], name="n", axis=1)],
            (1, 4),
            {"i": np.array([0, 4, 1])},
            "on an axis of 4: expected one number or more of those inside",
        ),
        (
            [node("Slice", ["x", "a", "b", "c", "d"], ["y"], name="n")],
            (1, 4),
            {"a": np.array([3]), "b": np.array([0]), "c": np.array([1]), "d": np.array([0])},
            r"steps = \[0\]: expected other numbers than 0",
        ),
        (
            [node("Expand", ["x", "s"], ["y"], name="n")],
            (1, 4),
            {"s": np.array([1 << 27, 4])},
            r"shape = \[134217728, 4\]: expected at most 67,108,864 elements",
        ),
        (
            [node("BatchNormalization", ["x", "a", "a", "a", "b"], ["y"], name="n")],
            (1, 2),
            {"a": normal(2), "b": np.float32([-1, 1])},
            r"var \+ epsilon is not positive",
        ),
        (
            [node("Dropout", ["x", "", "t"], ["y"], name="n")],
            (1, 2),
            {"t": np.array(True)},
            "training_mode is set",
        ),
        (
            [node("Add", ["x", "c"], ["y"], name="n")],
            (1, 2),
            {"c": np.float32([1, np.nan])},
            "its constant holds NaN or infinity: expected finite numbers",
        ),
        (
            [node("Gemm", ["x", "c"], ["y"], name="n")],
            (1, 2),
            {"c": np.float32([[1], [np.inf]])},
            "B holds NaN or infinity: expected finite numbers",
        ),
        (
            [node("Add", ["x", "c"], ["y"], name="n")],
            (1, 2),
            {"c": normal(3)},
            r"shapes \(1, 2\) and \(3,\) do not fit",
        ),
        (
            [node("Det", ["x"], ["y"], name="n")],
            (1, 1, 2, 2),
            {},
            r"n \(Det\): this operator is not supported",
        ),
    ],
)
def test_what_is_not_taken_says_what_is(tmp_path, nodes, shape, constants, reason):
    outputs = {name: None for name in nodes[-1].output if name}
    with pytest.raises(OnnxError, match=reason):
        import_model(make_model(nodes, {"x": shape}, outputs, constants, opset=19), tmp_path)


@pytest.mark.parametrize("fmod", [0, 1])
def test_remainders_of_constants(tmp_path, fmod):
    values, by = np.array([-7, 7, -7, 7]), np.array([4, -4, -4, 4])
    nodes = [
        node("Mod", ["values", "by"], ["m"], fmod=fmod),
        node("Cast", ["m"], ["f"], to=1),
        node("Mul", ["x", "f"], ["y"]),
    ]
    check(make_model(nodes, {"x": (1, 4)}, {"y": (1, 4)}, {"values": values, "by": by}), tmp_path)
