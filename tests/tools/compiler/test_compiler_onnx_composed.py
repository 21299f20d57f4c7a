# SPDX-License-Identifier: BSD-2-Clause
"""Operators that are made of others, against onnxruntime, and on the machines."""

import numpy as np
import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
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
)


def one(operator, shape, constants=(), opset=20, **attributes):
    """Model of one node on an input of ``shape`` (with the inputs' axis) and ``constants``
    (``None``: left out)."""
    names = [f"c{at}" if data is not None else "" for at, data in enumerate(constants)]
    return make_model(
        [node(operator, ["x", *names], ["y"], name="n", **attributes)],
        {"x": shape},
        {"y": None},
        {f"c{at}": data for at, data in enumerate(constants) if data is not None},
        opset,
    )


@pytest.mark.parametrize(
    "operator, attributes",
    [
        ("Elu", {}),
        ("Elu", {"alpha": 0.3}),
        ("Selu", {}),
        ("Selu", {"alpha": 1.5, "gamma": 1.25}),
        ("Celu", {}),
        ("Celu", {"alpha": 0.5}),
        ("Softplus", {}),
        ("Softsign", {}),
        ("Gelu", {"approximate": "tanh"}),
        ("Gelu", {}),
        ("Erf", {}),
    ],
)
@pytest.mark.parametrize("spread", [0.01, 1.0, 30.0])
def test_functions(tmp_path, operator, attributes, spread):
    check(one(operator, (1, 2, 3), **attributes), tmp_path, spread=spread)


@pytest.mark.parametrize("axis", [1, -1])
@pytest.mark.parametrize("exclusive", [0, 1])
@pytest.mark.parametrize("reverse", [0, 1])
def test_running_sums(tmp_path, axis, exclusive, reverse):
    model = one("CumSum", (1, 4, 3), [np.array(axis)], exclusive=exclusive, reverse=reverse)
    check(model, tmp_path)


@pytest.mark.parametrize("size", [1, 3, 4, 9])
def test_local_response_normalization(tmp_path, size):
    """By the text, since onnxruntime has none of an even number of channels."""
    model = one("LRN", (1, 5, 2, 3), size=size, alpha=0.5, beta=0.75, bias=2.0)
    graph = check(model, tmp_path) if size % 2 else import_model(model, tmp_path)
    feeds = feeds_of(graph)
    x = feeds["x"].astype(float)
    sums = np.stack(
        [
            (x[:, max(0, c - (size - 1) // 2) : c + size // 2 + 1] ** 2).sum(axis=1)
            for c in range(5)
        ],
        axis=1,
    )
    compare(run_here(graph, feeds), {"y": x / (2.0 + 0.5 / size * sums) ** 0.75})


@pytest.mark.parametrize("shape", [(1, 3, 5), (1, 4, 3, 5), (1, 1, 2, 2)])
def test_instance_normalization(tmp_path, shape):
    random = np.random.default_rng(1)
    check(
        one(
            "InstanceNormalization",
            shape,
            [random.normal(size=shape[1]), random.normal(size=shape[1])],
            epsilon=1e-3,
        ),
        tmp_path,
    )


NEAREST = {
    "mode": "nearest",
    "coordinate_transformation_mode": "asymmetric",
    "nearest_mode": "floor",
}


@pytest.mark.parametrize(
    "shape, factors",
    [
        ((1, 3, 4, 5), (2, 2)),
        ((1, 2, 3, 3), (3, 1)),
        ((1, 2, 3, 1), (1, 2)),
        ((1, 3, 7), (4,)),
        ((1, 2, 3, 3), (1, 1)),
    ],
)
@pytest.mark.parametrize("attributes", [NEAREST, {}, {"nearest_mode": "round_prefer_ceil"}])
def test_maps_are_enlarged(tmp_path, shape, factors, attributes):
    before = node("LeakyRelu", ["x"], ["a"], alpha=0.5)
    for constants in (
        [None, np.float32((1, 1, *factors))],
        [
            None,
            None,
            np.array((1, shape[1], *(n * k for n, k in zip(shape[2:], factors, strict=True)))),
        ],
    ):
        model = one("Resize", shape, constants, **attributes)
        model.graph.node[0].input[0] = "a"
        model.graph.node.insert(0, before)
        check(model, tmp_path)


@pytest.mark.parametrize(
    "operator, shape, constants, attributes, message",
    [
        (
            "Gelu",
            (1, 4),
            [],
            {"approximate": "other"},
            r"n \(Gelu\): approximate = 'other': expected 'none' or 'tanh'",
        ),
        (
            "Resize",
            (1, 2, 4, 4),
            [None, np.float32([1, 1, 0.1, 1])],
            NEAREST,
            r"n \(Resize\): scales = \[1\.0, 1\.0, 0\.1.*\]: expected positive numbers",
        ),
        (
            "Resize",
            (1, 2, 4, 4),
            [None, np.float32([2, 2])],
            NEAREST,
            "2 scales or sizes for 4 axes",
        ),
        (
            "Resize",
            (1, 2, 4, 4),
            [None, np.float32([1, 1, 2, 2])],
            {**NEAREST, "coordinate_transformation_mode": "tf_crop_and_resize"},
            "coordinate_transformation_mode = 'tf_crop_and_resize': expected asymmetric, half_",
        ),
        ("LRN", (4,), [], {"size": 3}, "expected channels behind the batch"),
        (
            "LRN",
            (1, 3, 4, 4),
            [],
            {"size": 3, "bias": 0.0},
            "bias = 0, alpha = 0.0001: expected bias > 0 and alpha >= 0",
        ),
        (
            "InstanceNormalization",
            (1, 3, 4),
            [np.ones(2), np.ones(3)],
            {},
            r"scale has shape \(2,\): expected 3 numbers",
        ),
        (
            "InstanceNormalization",
            (1, 3),
            [np.ones(3), np.ones(3)],
            {},
            "expected a batch, channels and at least one axis behind them",
        ),
    ],
)
def test_refused(tmp_path, operator, shape, constants, attributes, message):
    model = one(operator, shape, constants, **attributes)
    with pytest.raises(OnnxError, match=message):
        import_model(model, tmp_path)


def decoder():
    """A map halved and enlarged again, as in a U-Net."""
    random = np.random.default_rng(2)
    nodes = [
        node("Conv", ["x", "v"], ["a"], pads=[1, 1, 1, 1]),
        node("Relu", ["a"], ["b"]),
        node("MaxPool", ["b"], ["c"], kernel_shape=[2, 2], strides=[2, 2]),
        node("Resize", ["c", "", "s"], ["d"], **NEAREST),
        node("Concat", ["b", "d"], ["e"], axis=1),
        node("Conv", ["e", "w"], ["y"]),
    ]
    return make_model(
        nodes,
        {"x": (1, 2, 6, 8)},
        {"y": None},
        {
            "v": random.normal(size=(4, 2, 3, 3)) / 4,
            "w": random.normal(size=(3, 8, 1, 1)) / 3,
            "s": np.float32([1, 1, 2, 2]),
        },
        20,
    )


@pytest.mark.parametrize("isa", ["cherry", "opentpu", "opu", "pim"])
@pytest.mark.parametrize("name", ["decoder", "InstanceNormalization", "Elu", "Gelu"])
def test_on_machines(tmp_path, isa, name):
    """Operators that a core lacks go to the host; Cherry has all of them."""
    random = np.random.default_rng(3)
    if name == "decoder":
        model = decoder()
    else:
        between = node(name, ["a", "s", "z"] if name == "InstanceNormalization" else ["a"], ["b"])
        model = make_model(
            [node("Conv", ["x", "v"], ["a"]), between, node("Conv", ["b", "w"], ["y"])],
            {"x": (1, 3, 4, 5)},
            {"y": None},
            {
                "v": random.normal(size=(4, 3, 1, 1)) / 2,
                "w": random.normal(size=(3, 4, 1, 1)) / 2,
                "s": np.ones(4),
                "z": np.zeros(4),
            },
            20,
        )
    graph = simplify(import_model(model, tmp_path))
    plan = compile_graph(
        graph,
        target_build(f"model:{isa}"),
        random_calibration(graph),
        options=Options(host_steps=isa != "cherry"),
    )
    assert isa != "cherry" or len(plan.steps) == 1
    found = verify_plan(
        plan, random_inputs(plan), "model", lambda: open_target(f"model:{isa}"), "reference", None
    )
    assert found.equal, found.difference


@pytest.mark.parametrize("gate", ["flows", "constant", "twice"])
@pytest.mark.parametrize("alpha", [None, 0.5])
def test_swiglu(tmp_path, gate, alpha):
    """The swish of the first operand times the second one."""
    constant = np.linspace(-3, 3, 12).astype(np.float32).reshape(1, 3, 4)
    first = {"flows": "a", "constant": "c", "twice": "b"}[gate]
    attributes = {} if alpha is None else {"alpha": alpha}
    model = make_model(
        [node("Relu", ["x"], ["a"]), node("SwiGLU", [first, "b"], ["y"], name="n", **attributes)],
        {"x": (1, 3, 4), "b": (1, 3, 4)},
        {"y": None, "a": None},
        {"c": constant},
        opset=28,
    )
    graph = import_model(model, tmp_path)
    feeds = feeds_of(graph)
    gates = {"a": np.maximum(feeds["x"], 0), "c": constant, "b": feeds["b"]}
    swish = gates[first] / (1 + np.exp(-(alpha or 1) * gates[first]))
    for made in (graph, simplify(graph)):
        np.testing.assert_allclose(run_here(made, feeds)["y"], swish * feeds["b"], atol=1e-6)


def test_swiglu_of_other_shapes_is_refused(tmp_path):
    model = make_model(
        [node("SwiGLU", ["a", "c"], ["y"], name="n")],
        {"a": (1, 3, 4)},
        {"y": None},
        {"c": np.ones((1, 3, 1))},
        opset=28,
    )
    with pytest.raises(OnnxError, match=r"n \(SwiGLU\)"):
        import_model(model, tmp_path)
