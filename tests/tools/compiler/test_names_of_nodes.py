# SPDX-License-Identifier: BSD-2-Clause
"""Names of nodes and tensors are anybody's: converters write brackets, semicolons and paths."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

NAMES = ["a b", "a;b", "<x>[1]", "ü", "n" * 300, "a/b", "", "1", "a\x1b[2J"]


@pytest.mark.parametrize("isa", ["imagine", "pim", "opentpu", "opu", "cherry"])
def test_two_layers_whose_names_differ_in_their_signs_alone(quintet, tmp_path, monkeypatch, isa):
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", np.linspace(-1, 1, 16, dtype=np.float32).reshape(2, 8))
    weights = np.eye(8, dtype=np.float32)
    for number, name in enumerate(NAMES):
        shapes = [helper.make_tensor_value_info(t, TensorProto.FLOAT, ["b", 8]) for t in "xz"]
        nodes = [
            helper.make_node("Gemm", ["x", "w"], [f"{name}?"], name=name, transB=1),
            helper.make_node("Gemm", [f"{name}?", "w"], ["z"], name=f"{name}_", transB=1),
        ]
        graph = helper.make_graph(
            nodes, name or "net", shapes[:1], shapes[1:], [numpy_helper.from_array(weights, "w")]
        )
        onnx.save(
            helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
            "net.onnx",
        )
        on = f"model:{isa}"
        plan = f"plan{number}"
        ran = quintet("compile", "net.onnx", "--for", on, "--calibrate", "x.npy", "-o", plan)
        assert ran.code == 0, (name, ran.err)
        ran = quintet("infer", plan, "--input", "x.npy", "--on", on, "--out", "out")
        assert ran.code == 0, (name, ran.err)
        assert np.abs(np.load("out/z.npy") - np.load("x.npy")).max() < 0.05
