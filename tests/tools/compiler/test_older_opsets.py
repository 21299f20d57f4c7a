# SPDX-License-Identifier: BSD-2-Clause
"""Models of opsets 7 to 10, whose operators have attributes where later ones have operands."""

import numpy as np
import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from quintet.tools.compiler.onnx_import.errors import OnnxError  # noqa: E402
from tests.tools.compiler.onnx_models import (  # noqa: E402
    check,
    import_model,
    make_model,
    node,
)

RANDOM = np.random.default_rng(8)
MAP = (1, 4, 6, 8)
#: Between two convolutions: opset, node without its operand, constants that it reads.
CASES = {
    "clip": (7, "Clip", {"min": 0.0, "max": 1.0}, {}),
    "clip, one end": (9, "Clip", {"max": 0.5}, {}),
    "clip, no end": (10, "Clip", {}, {}),
    "pad": (9, "Pad", {"pads": [0, 0, 1, 2, 0, 0, 0, 1]}, {}),
    "pad, value": (10, "Pad", {"pads": [0, 0, 1, 1, 0, 0, 1, 1], "value": 0.5}, {}),
    "pad, reflect": (7, "Pad", {"pads": [0, 0, 1, 1, 0, 0, 1, 1], "mode": "reflect"}, {}),
    "slice": (9, "Slice", {"starts": [1, 0], "ends": [5, -2], "axes": [2, 3]}, {}),
    "slice of all axes": (8, "Slice", {"starts": [0, 0, 1, 1], "ends": [1, 4, 5, 9]}, {}),
    "slice by operands": (
        10,
        "Slice",
        {},
        {"starts": np.array([1]), "ends": np.array([5]), "axes": np.array([3])},
    ),
    "upsample": (7, "Upsample", {"scales": [1.0, 1.0, 2.0, 2.0], "mode": "nearest"}, {}),
    "upsample by an operand": (9, "Upsample", {}, {"scales": np.float32([1, 1, 2, 3])}),
    "upsample, linear": (9, "Upsample", {"mode": "linear"}, {"scales": np.float32([1, 1, 2, 2])}),
    "resize": (10, "Resize", {}, {"scales": np.float32([1, 1, 2, 2])}),
    "resize, linear": (10, "Resize", {"mode": "linear"}, {"scales": np.float32([1, 1, 2, 2])}),
    "dropout": (7, "Dropout", {"ratio": 0.4}, {}),
    "average pool": (7, "AveragePool", {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}, {}),
}


def network(opset, operator, attributes, constants):
    """A node between two convolutions."""
    weights = {name: RANDOM.normal(0, 0.5, (4, 4, 1, 1)) for name in ("before", "behind")}
    nodes = [
        node("Conv", ["x", "before"], ["a"]),
        node(operator, ["a", *constants], ["b"], name="middle", **attributes),
        node("Conv", ["b", "behind"], ["y"]),
    ]
    return make_model(nodes, {"x": MAP}, {"y": None}, {**weights, **constants}, opset)


@pytest.mark.parametrize("case", CASES)
def test_operators_of_old_opsets_are_what_onnxruntime_computes(case, tmp_path):
    check(network(*CASES[case]), tmp_path)


@pytest.mark.parametrize("opset", [7, 10])
def test_the_greatest_elements(opset, tmp_path):
    """In opset 10 their number became an operand."""
    constants = {"w": RANDOM.normal(0, 1, (8, 6))}
    more = {"k": 3} if opset < 10 else {}
    if opset >= 10:
        constants["count"] = np.array([3])
    nodes = [
        node("MatMul", ["x", "w"], ["a"]),
        node("TopK", ["a", "count"][: 1 + (opset >= 10)], ["y", "places"], axis=1, **more),
    ]
    check(make_model(nodes, {"x": (1, 8)}, {"y": None}, constants, opset), tmp_path)


def test_a_whole_network_of_an_old_opset(tmp_path):
    nodes = [
        node("Conv", ["x", "w"], ["a"], pads=[1, 1, 1, 1]),
        node("BatchNormalization", ["a", "s", "t", "m", "v"], ["b"], epsilon=1e-5),
        node("Clip", ["b"], ["c"], min=0.0, max=6.0),
        node("MaxPool", ["c"], ["d"], kernel_shape=[2, 2], strides=[2, 2]),
        node("Upsample", ["d", "scales"], ["e"], mode="nearest"),
        node("Concat", ["e", "c"], ["f"], axis=1),
        node("Pad", ["f"], ["g"], pads=[0, 0, 0, 0, 0, 0, 1, 1]),
        node("Conv", ["g", "u"], ["h"], strides=[2, 2]),
        node("Reshape", ["h", "flat"], ["i"]),
        node("Gemm", ["i", "fc", "zero"], ["y"]),
    ]
    constants = {
        "w": RANDOM.normal(0, 0.4, (8, 3, 3, 3)),
        **{name: RANDOM.uniform(0.5, 1.5, 8) for name in "stmv"},
        "scales": np.float32([1, 1, 2, 2]),
        "u": RANDOM.normal(0, 0.2, (4, 16, 3, 3)),
        "flat": np.array([-1, 4 * 4 * 4]),
        "fc": RANDOM.normal(0, 0.2, (64, 5)),
        "zero": np.zeros(5),
    }
    model = make_model(nodes, {"x": ("N", 3, 8, 8)}, {"y": None}, constants, 9)
    check(model, tmp_path)


def test_an_earlier_opset_is_refused(tmp_path):
    model = network(*CASES["dropout"])
    model.opset_import[0].version = 6
    with pytest.raises(OnnxError, match="opset 6: expected 7 to"):
        import_model(model, tmp_path)
