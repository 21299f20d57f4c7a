# SPDX-License-Identifier: BSD-2-Clause
"""Operators that are rewritten into what the cores have, against onnxruntime, and on a core."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

pytest.importorskip("onnxruntime")

from quintet.tools.compiler.evaluate import run_graph  # noqa: E402
from quintet.tools.compiler.onnx_import import OnnxError  # noqa: E402
from quintet.tools.compiler.passes import simplify  # noqa: E402
from quintet.tools.compiler.planning import Options, compile_graph, random_calibration  # noqa: E402
from quintet.tools.compiler.target_build import target_build  # noqa: E402
from quintet.tools.compiler.verification import random_inputs, verify_plan  # noqa: E402
from quintet.tools.targets import open_target  # noqa: E402
from tests.tools.compiler.onnx_models import (  # noqa: E402
    check,
    compare,
    feeds_of,
    import_model,
    make_model,
    node,
    run_here,
    run_there,
)


def normal(*shape, seed=0):
    return np.random.default_rng(seed + sum(shape)).normal(size=shape).astype(np.float32)


def one(operator, shape, constants=(), outputs=("y",), opset=20, **attributes):
    """Model of one node on an input and constants (``None``: left out)."""
    names = [f"c{at}" if data is not None else "" for at, data in enumerate(constants)]
    return make_model(
        [node(operator, ["x", *names], list(outputs), name="n", **attributes)],
        {"x": shape},
        {name: None for name in outputs if name},
        {f"c{at}": data for at, data in enumerate(constants) if data is not None},
        opset,
    )


def on_cores(model, folder, isas, seed=0):
    """A model on golden models, host steps where a core has no other way; equal to the reference,
    every tensor of every layer."""
    graph = check(model, folder, seed)
    build = [target_build(f"ulx3s-85f/{isa}") for isa in isas]
    calibration = random_calibration(graph, 8)
    for isa, target in zip(isas, build, strict=True):
        plan = compile_graph(graph, target, calibration, Options(host_steps=True))
        found = verify_plan(
            plan,
            random_inputs(plan, 1),
            "model",
            lambda isa=isa: open_target(f"model:{isa}"),
            "reference",
            None,
        )
        assert found.equal, (isa, found.difference)
    return graph


# Transposed convolutions


@pytest.mark.parametrize(
    "kernel, attributes",
    [
        ((3, 3), {}),
        ((2, 2), {"strides": [2, 2]}),
        ((3, 3), {"strides": [2, 2], "pads": [1, 1, 1, 1], "output_padding": [1, 1]}),
        ((3, 3), {"strides": [2, 2], "pads": [1, 1, 1, 1]}),
        ((4, 4), {"strides": [2, 2], "pads": [1, 1, 1, 1]}),
        ((3, 2), {"strides": [2, 3], "pads": [0, 1, 1, 0]}),
        ((2, 2), {"strides": [3, 3]}),  # phases without a tap
        ((3, 3), {"strides": [2, 1], "dilations": [2, 2], "pads": [1, 2, 0, 1]}),
        ((3, 3), {"strides": [2, 2], "auto_pad": "SAME_UPPER"}),
        ((3, 3), {"strides": [2, 2], "auto_pad": "SAME_LOWER"}),
        ((3, 3), {"strides": [3, 2], "output_shape": [10, 8]}),
        ((3, 3), {"strides": [2, 2], "group": 2}),
        ((4, 4), {"strides": [2, 2], "group": 4, "pads": [1, 1, 1, 1]}),
    ],
)
def test_transposed_convolution(tmp_path, kernel, attributes):
    groups = attributes.get("group", 1)
    weights = normal(4, 4 // groups if groups == 4 else 3, *kernel)
    out = weights.shape[1] * groups
    check(one("ConvTranspose", (1, 4, 4, 5), [weights, normal(out)], **attributes), tmp_path)


def test_transposed_convolution_of_a_signal(tmp_path):
    model = one("ConvTranspose", (1, 3, 6), [normal(3, 2, 4)], strides=[2], pads=[1, 1])
    check(model, tmp_path)


def test_transposed_convolution_multiplies_no_inserted_zeros(tmp_path):
    """By phases it has the kernel's taps alone: 9 of a 3 x 3 kernel for 4 elements, of which only
    the phases with fewer taps by columns are filled up."""
    attributes = {"strides": [2, 2], "pads": [1, 1, 1, 1], "output_padding": [1, 1]}
    model = one("ConvTranspose", (1, 4, 6, 6), [normal(4, 4, 3, 3)], **attributes)
    graph = simplify(import_model(model, tmp_path))
    macs = sum(graph.macs(each) for each in graph.nodes)
    assert macs == 6 * 6 * 4 * 4 * 12  # 9 would do; 36 with zeros between the elements


# Resize


#: Of nearest elements not those of align_corners: onnxruntime rounds down places that are whole
#: numbers but for an epsilon.
RESIZES = [
    (mode, places)
    for mode in ("nearest", "linear", "cubic")
    for places in ("asymmetric", "half_pixel", "pytorch_half_pixel", "align_corners")
    if (mode, places) != ("nearest", "align_corners")
]


@pytest.mark.parametrize("mode, places", RESIZES)
@pytest.mark.parametrize("scales", [(2, 2), (1, 3), (1.5, 2.25), (0.5, 0.7)])
def test_resize(tmp_path, mode, places, scales):
    more = {"nearest_mode": "floor"} if mode == "nearest" else {}
    scales = np.float32([1, 1, *scales])
    model = one(
        "Resize",
        (1, 3, 6, 8),
        [None, scales],
        mode=mode,
        coordinate_transformation_mode=places,
        opset=18,
        **more,
    )
    check(model, tmp_path, relative=1e-4)


def test_linear_resize_by_a_whole_factor_is_convolutions(tmp_path):
    model = one("Resize", (1, 3, 4, 4), [None, np.float32([1, 1, 2, 2])], mode="linear")
    kinds = [each.kind for each in simplify(import_model(model, tmp_path)).nodes]
    assert kinds.count("depthwise") == 4 and "dense" not in kinds


# Volumes of one slice


@pytest.mark.parametrize(
    "shape, kernel, attributes",
    [
        ((1, 3, 1, 5, 6), (1, 3, 3), {"pads": [0, 1, 1, 0, 1, 1]}),
        ((1, 3, 1, 5, 6), (3, 3, 2), {"pads": [1, 0, 1, 1, 0, 0], "strides": [2, 2, 1]}),
        ((1, 3, 5, 6, 1), (2, 3, 1), {"dilations": [2, 1, 1]}),
        ((1, 4, 5, 1, 6), (2, 1, 2), {"group": 2}),
    ],
)
def test_convolution_of_a_volume_of_one_slice(tmp_path, shape, kernel, attributes):
    weights = normal(4, shape[1] // attributes.get("group", 1), *kernel)
    check(one("Conv", shape, [weights, normal(4)], **attributes), tmp_path)


@pytest.mark.parametrize("operator", ["MaxPool", "AveragePool", "GlobalAveragePool"])
def test_pool_of_a_volume_of_one_slice(tmp_path, operator):
    pool = {"kernel_shape": [1, 2, 2], "strides": [1, 2, 1], "pads": [0, 0, 0, 0, 1, 1]}
    attributes = {} if operator.startswith("Global") else pool
    check(one(operator, (1, 3, 1, 5, 6), **attributes), tmp_path)


# Elements


@pytest.mark.parametrize(
    "operator, shape, constants, attributes",
    [
        ("DepthToSpace", (1, 12, 2, 3), [], {"blocksize": 2}),
        ("DepthToSpace", (1, 12, 2, 3), [], {"blocksize": 2, "mode": "CRD"}),
        ("DepthToSpace", (1, 18, 2, 2), [], {"blocksize": 3, "mode": "CRD"}),
        ("SpaceToDepth", (1, 2, 4, 6), [], {"blocksize": 2}),
        ("Expand", (1, 1, 4), [np.array([1, 3, 4])], {}),
        ("Expand", (1, 4), [np.array([2, 3, 1, 4])], {}),
        ("Tile", (1, 3, 4), [np.array([1, 2, 3])], {}),
        ("Slice", (1, 6), [np.array([5]), np.array([-9]), np.array([1]), np.array([-2])], {}),
        (
            "Slice",
            (1, 3, 6),
            [np.array([2, 4]), np.array([0, 1]), np.array([1, 2]), np.array([-1, -1])],
            {},
        ),
        ("Gather", (1, 7), [np.array([0, 3, 1, 1, 5, 6])], {"axis": 1}),
        ("Gather", (1, 4, 5), [np.array([[2, 0], [1, -1]])], {"axis": 1}),
        ("PRelu", (1, 3, 4, 5), [normal(3, 1, 1)], {}),
        ("PRelu", (1, 3, 4), [normal(3, 4)], {}),
        ("Max", (1, 3, 4), [normal(3, 4)], {}),
        ("Min", (1, 3, 4), [normal(4), normal(3, 1)], {}),
        ("Mean", (1, 3, 4), [normal(4), normal(3, 1)], {}),
        ("Mish", (1, 3, 4), [], {}),
        ("ThresholdedRelu", (1, 3, 4), [], {"alpha": 0.4}),
        ("Shrink", (1, 3, 4), [], {"lambd": 0.4, "bias": 0.1}),
        ("Hardmax", (1, 3, 4), [], {}),
        ("Sin", (1, 4), [], {}),
        ("Atan", (1, 4), [], {}),
        ("Floor", (1, 4), [], {}),
        ("Round", (1, 4), [], {}),
        ("Sign", (1, 4), [], {}),
        ("ReduceMin", (1, 3, 4), [np.array([2])], {}),
        ("ReduceProd", (1, 3, 4), [np.array([1])], {"keepdims": 0}),
        ("ReduceL1", (1, 3, 4), [np.array([2])], {}),
        ("ReduceL2", (1, 3, 4), [np.array([1, 2])], {"keepdims": 0}),
        ("ReduceSumSquare", (1, 3, 4), [np.array([1])], {}),
        ("ReduceLogSumExp", (1, 3, 4), [np.array([1])], {}),
        ("LpNormalization", (1, 3, 4), [], {"p": 1}),
        ("LpNormalization", (1, 3, 4), [], {"p": 2, "axis": 1}),
        ("Where", (1, 3, 4), [normal(3, 4)], {}),
    ],
)
def test_operator(tmp_path, operator, shape, constants, attributes):
    model = one(operator, shape, constants, opset=18, **attributes)
    if operator == "Where":
        condition = numpy_helper.from_array(normal(3, 4) > 0, "condition")
        model.graph.initializer.append(condition)
        model.graph.node[0].input.insert(0, "condition")
    on_cores(model, tmp_path, ["cherry"])


def test_norms_of_groups(tmp_path):
    constants = [normal(6), normal(6, seed=1)]
    check(one("GroupNormalization", (1, 6, 3, 4), constants, opset=21, num_groups=2), tmp_path)


def test_comparisons_choose_between_tensors(tmp_path):
    nodes = [
        node("Greater", ["x", "c"], ["above"]),
        node("LessOrEqual", ["x", "d"], ["below"]),
        node("And", ["above", "below"], ["inside"]),
        node("Not", ["inside"], ["outside"]),
        node("Neg", ["x"], ["n"]),
        node("Where", ["outside", "n", "x"], ["y"]),
        node("Cast", ["inside"], ["z"], to=1),
    ]
    model = make_model(
        nodes,
        {"x": (1, 3, 4)},
        {"y": None, "z": None},
        {"c": np.float32(-0.5), "d": normal(3, 1)},
    )
    on_cores(model, tmp_path, ["cherry"])


def test_greatest_elements_at_the_end_need_no_permission(tmp_path):
    nodes = [
        node("Gemm", ["x", "w"], ["s"]),
        node("TopK", ["s", "k"], ["values", "places"], axis=-1),
        node("ArgMin", ["s"], ["least"], axis=1, keepdims=0),
    ]
    model = make_model(
        nodes,
        {"x": (1, 8)},
        {"values": None, "places": (None, np.int64), "least": (None, np.int64)},
        {"w": normal(8, 6), "k": np.array([3])},
    )
    graph = check(model, tmp_path)
    for isa in ("opu", "pim", "opentpu", "cherry"):
        build = target_build(f"ulx3s-85f/{isa}")
        plan = compile_graph(graph, build, random_calibration(graph, 8), Options())
        found = verify_plan(
            plan,
            random_inputs(plan, 1),
            "model",
            lambda isa=isa: open_target(f"model:{isa}"),
            "reference",
            None,
        )
        assert found.equal, found.difference


def test_rows_of_a_table_by_an_integer_input(tmp_path):
    """An embedding: whole numbers choose rows."""
    model = make_model(
        [node("Gather", ["table", "x"], ["e"]), node("MatMul", ["e", "w"], ["y"])],
        {"x": ((1, 5), np.int64)},
        {"y": None},
        {"table": normal(7, 4), "w": normal(4, 3)},
    )
    graph = import_model(model, tmp_path)
    feeds = {"x": np.array([[0, 6, 3, 3, 1]])}
    expected = run_there(model, feeds)
    for network in (graph, simplify(graph)):
        compare(run_here(network, feeds), expected)


# Recurrent layers


def recurrent(operator, steps=4, batch=1, constants=(), outputs=("y", "h"), **attributes):
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[operator]
    directions = 2 if attributes.get("direction") == "bidirectional" else 1
    hidden, features = 3, 5
    weights = [
        normal(directions, gates * hidden, features),
        normal(directions, gates * hidden, hidden),
        normal(directions, 2 * gates * hidden),
        None,
    ]
    return one(
        operator,
        (steps, batch, features),
        [*weights, *constants],
        outputs,
        hidden_size=hidden,
        **attributes,
    )


@pytest.mark.parametrize(
    "operator, attributes",
    [
        ("RNN", {}),
        ("RNN", {"direction": "reverse", "activations": ["Relu"]}),
        ("RNN", {"direction": "bidirectional", "clip": 0.5}),
        ("LSTM", {"clip": 0.3}),
        ("LSTM", {"activations": ["HardSigmoid", "Relu", "Tanh"]}),
        ("LSTM", {"input_forget": 1}),
        ("LSTM", {"outputs": ("y", "h", "c")}),
        ("LSTM", {"direction": "bidirectional", "outputs": ("y", "h", "c"), "batch": 2}),
        ("LSTM", {"constants": [normal(1, 1, 3), normal(1, 1, 3, seed=1), normal(1, 9)]}),
        ("GRU", {"clip": 0.3}),
        ("GRU", {"linear_before_reset": 1, "batch": 2}),
        ("GRU", {"activations": ["Sigmoid", "Relu"], "constants": [normal(1, 1, 3)]}),
        ("GRU", {"direction": "reverse", "linear_before_reset": 1, "clip": 0.8}),
    ],
)
def test_recurrent_layer_step_by_step(tmp_path, operator, attributes):
    check(recurrent(operator, **attributes), tmp_path)


@pytest.mark.parametrize("operator", ["RNN", "LSTM", "GRU"])
def test_recurrent_layer_on_cores(tmp_path, operator):
    model = recurrent(operator, outputs=("y",), clip=2.0)
    # The first axis counts inputs of the network where it is one.
    model.graph.node[0].input[0] = "turned"
    model.graph.node.insert(0, node("Transpose", ["x"], ["turned"], perm=[1, 0, 2]))
    shape = model.graph.input[0].type.tensor_type.shape
    shape.dim[0].dim_value, shape.dim[1].dim_value = 1, 4
    on_cores(model, tmp_path, ["cherry", "pim"])


def test_states_that_flow(tmp_path):
    nodes = [
        node("GRU", ["x", "w", "r", "", "", "h"], ["", "new"], hidden_size=3),
        node("Identity", ["new"], ["y"]),
    ]
    model = make_model(
        nodes,
        {"x": (2, 1, 5), "h": (1, 1, 3)},
        {"y": None},
        {"w": normal(1, 9, 5), "r": normal(1, 9, 3)},
    )
    check(model, tmp_path)


# Attention


def attention(shapes, opset=23, constants=None, outputs=("y",), **attributes):
    names = ["q", "k", "v", *(constants or {})]
    return make_model(
        [node("Attention", names, list(outputs), name="n", **attributes)],
        dict(zip("qkv", shapes, strict=True)),
        {name: None for name in outputs if name},
        {name: data for name, data in (constants or {}).items() if name},
        opset,
    )


@pytest.mark.parametrize(
    "shapes, constants, attributes",
    [
        ([(1, 2, 4, 8)] * 3, None, {}),
        ([(1, 2, 4, 8)] * 3, None, {"is_causal": 1, "scale": 0.3}),
        ([(1, 4, 16)] * 3, None, {"q_num_heads": 2, "kv_num_heads": 2}),
        ([(1, 4, 16), (1, 6, 8), (1, 6, 8)], None, {"q_num_heads": 4, "kv_num_heads": 2}),
        ([(1, 2, 4, 8)] * 3, {"mask": normal(4, 4) > -0.5}, {"softcap": 2.0}),
        ([(1, 2, 4, 8)] * 3, {"mask": normal(4, 4)}, {}),
    ],
)
def test_attention(tmp_path, shapes, constants, attributes):
    model = attention(shapes, constants=constants, **attributes)
    graph = import_model(model, tmp_path)
    feeds = feeds_of(graph)
    expected = ReferenceEvaluator(model).run(None, feeds)
    for network in (graph, simplify(graph)):
        compare(run_here(network, feeds), {"y": expected[0]}, 1e-4)


def test_attention_on_a_core(tmp_path):
    model = attention([(1, 4, 16)] * 3, q_num_heads=2, kv_num_heads=2, is_causal=1)
    graph = import_model(model, tmp_path)
    build = target_build("ulx3s-85f/cherry")
    plan = compile_graph(graph, build, random_calibration(graph, 4), Options())
    found = verify_plan(
        plan,
        random_inputs(plan, 1),
        "model",
        lambda: open_target("model:cherry"),
        "reference",
        None,
    )
    assert found.equal, found.difference


def test_a_mask_of_minus_infinity_in_front_of_a_softmax(tmp_path):
    """As exporters write causal attention: what is hidden becomes a finite number that a softmax
    takes for it. Anywhere else infinity is refused."""
    mask = np.where(np.tri(4) > 0, 0, -np.inf).astype(np.float32)
    nodes = [node("Add", ["x", "m"], ["a"]), node("Softmax", ["a"], ["y"], axis=-1)]
    check(make_model(nodes, {"x": (1, 4, 4)}, {"y": None}, {"m": mask}), tmp_path)
    with pytest.raises(OnnxError, match="its constant holds NaN or infinity"):
        model = make_model(nodes[:1], {"x": (1, 4, 4)}, {"a": None}, {"m": mask})
        import_model(model, tmp_path)


def test_rotary_embedding(tmp_path):
    angles = np.arange(4)[:, None] / 10 ** np.arange(0, 1, 0.25)
    for interleaved in (0, 1):
        model = one(
            "RotaryEmbedding",
            (1, 2, 4, 8),
            [np.cos(angles), np.sin(angles), np.arange(4)[None]],
            opset=23,
            interleaved=interleaved,
        )
        graph = import_model(model, tmp_path)
        feeds = feeds_of(graph)
        expected = ReferenceEvaluator(model).run(None, feeds)
        compare(run_here(simplify(graph), feeds), {"y": expected[0]})


# Quantised operators


def quantised(nodes, x, result, constants, opset=13):
    """A model of integers: types of input and output, and constants of any type."""
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", *x)],
        [helper.make_tensor_value_info("y", *result)],
        [numpy_helper.from_array(np.asarray(data), name) for name, data in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def whole(*shape, seed=0):
    return np.random.default_rng(seed).integers(-100, 100, shape).astype(np.int8)


def test_convolution_of_integers_is_its_qdq_form(tmp_path):
    scales = {"xs": np.float32(0.02), "ws": np.float32([0.01, 0.02]), "ys": np.float32(0.05)}
    zeros = {"xz": np.int8(3), "wz": np.int8([0, 0]), "yz": np.int8(-5)}
    names = ["x", "xs", "xz", "w", "ws", "wz", "ys", "yz", "b"]
    model = quantised(
        [node("QLinearConv", names, ["y"], pads=[1, 1, 1, 1])],
        (TensorProto.INT8, (1, 3, 4, 4)),
        (TensorProto.INT8, None),
        {**scales, **zeros, "w": whole(2, 3, 3, 3), "b": np.int32([400, -700])},
    )
    graph = import_model(model, tmp_path)
    feeds = {"x": whole(1, 3, 4, 4, seed=1)}
    found, expected = run_here(simplify(graph), feeds), run_there(model, feeds)
    assert np.abs(found["y"].astype(int) - expected["y"].astype(int)).max() <= 1


def test_product_of_integers_is_its_qdq_form(tmp_path):
    names = ["x", "xs", "xz", "w", "ws", "wz", "ys", "yz"]
    model = quantised(
        [node("QLinearMatMul", names, ["y"])],
        (TensorProto.INT8, (1, 6)),
        (TensorProto.INT8, None),
        {
            **{"xs": np.float32(0.02), "ws": np.float32(0.01), "ys": np.float32(0.05)},
            **{"xz": np.int8(3), "wz": np.int8(0), "yz": np.int8(-5), "w": whole(6, 4)},
        },
    )
    graph = import_model(model, tmp_path)
    feeds = {"x": whole(1, 6, seed=1)}
    found, expected = run_here(simplify(graph), feeds), run_there(model, feeds)
    assert np.abs(found["y"].astype(int) - expected["y"].astype(int)).max() <= 1


@pytest.mark.parametrize("operator", ["ConvInteger", "MatMulInteger"])
def test_dynamically_quantised_layers_are_float_layers(tmp_path, operator):
    """The scale of each input by itself goes away; onnxruntime's rounding is what differs."""
    conv = operator == "ConvInteger"
    shape, weights = ((1, 3, 5, 5), whole(2, 3, 3, 3)) if conv else ((1, 6), whole(6, 4))
    nodes = [
        node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]),
        node(operator, ["q", "w", "z", "wz"], ["whole"]),
        node("Cast", ["whole"], ["real"], to=1),
        node("Mul", ["s", "ws"], ["unit"]),
        node("Mul", ["real", "unit"], ["y"]),
    ]
    model = quantised(
        nodes,
        (TensorProto.FLOAT, shape),
        (TensorProto.FLOAT, None),
        {"w": weights.view(np.uint8), "wz": np.uint8(128), "ws": np.float32(0.01)},
    )
    graph = import_model(model, tmp_path)
    feeds = feeds_of(graph)
    found, expected = run_here(simplify(graph), feeds), run_there(model, feeds)
    compare(found, expected, relative=0.03)
    kinds = [each.kind for each in simplify(graph).nodes]
    assert kinds[0] == ("conv" if conv else "dense")


@pytest.mark.parametrize("domain", ["qonnx.custom_op.general", "onnx.brevitas"])
@pytest.mark.parametrize("bits", [2, 4, 8])
def test_trained_grids_of_any_width(tmp_path, domain, bits):
    """Quant of QONNX and Brevitas: weights take their grid, activations end where it ends."""
    scale, unit = np.float32(0.11), np.float32(0.05)
    weights = normal(4, 6)
    nodes = [
        node("Quant", ["w", "ws", "zero", "bits"], ["wq"], domain=domain, narrow=1, signed=1),
        node("Gemm", ["x", "wq"], ["s"], transB=1),
        node("Quant", ["s", "xs", "zero", "bits"], ["y"], domain=domain, signed=1),
    ]
    constants = {"w": weights, "ws": scale, "xs": unit, "zero": np.float32(0)}
    model = make_model(nodes, {"x": (1, 6)}, {"y": None}, {**constants, "bits": np.float32(bits)})
    model.opset_import.append(helper.make_opsetid(domain, 1))
    graph = import_model(model, tmp_path)
    high = 2 ** (bits - 1) - 1
    taken = np.clip(np.rint(weights / scale), -high, high) * scale
    feeds = feeds_of(graph, spread=2.0)
    sums = feeds["x"] @ taken.T
    if bits < 8:
        sums = np.clip(sums, (-high - 1) * unit, high * unit)
    compare(run_here(simplify(graph), feeds), {"y": sums}, 1e-4)
    tensor = graph.tensors[graph.outputs[0].tensor]
    assert tensor.scale == (float(unit) if bits == 8 else None)
    assert run_graph(graph, {"x": feeds["x"].astype(np.float64)})
