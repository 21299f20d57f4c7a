# SPDX-License-Identifier: BSD-2-Clause
"""Models that were trained with quantisation: QONNX's operators by their documents, and Brevitas'
QuantizeLinear, Clip, DequantizeLinear."""

import numpy as np
import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from onnx import helper, numpy_helper  # noqa: E402

from quintet.tools.compiler.evaluate import run_graph  # noqa: E402
from quintet.tools.compiler.onnx_import.errors import OnnxError  # noqa: E402
from quintet.tools.compiler.passes import simplify  # noqa: E402
from quintet.tools.compiler.planning import Options, compile_graph  # noqa: E402
from quintet.tools.compiler.target_build import target_build  # noqa: E402
from tests.tools.compiler.onnx_models import (  # noqa: E402
    import_model,
    make_model,
    node,
    run_here,
    run_there,
)

DOMAIN = "qonnx.custom_op.general"
#: Rounding mode -> its function, as the operators' documents have it.
ROUNDING = {
    "ROUND": np.round,
    "HALF_EVEN": np.round,
    "CEIL": np.ceil,
    "FLOOR": np.floor,
    "UP": lambda x: np.sign(x) * np.ceil(np.abs(x)),
    "DOWN": np.fix,
    "HALF_UP": lambda x: np.sign(x) * np.floor(np.abs(x) + 0.5),
    "HALF_DOWN": lambda x: np.sign(x) * np.ceil(np.abs(x) - 0.5),
}
#: Steps of a half, which the modes round to either side.
VALUES = np.arange(-24, 25).reshape(7, 7) * 0.25


def limits(bits, signed, narrow):
    """Least and greatest integer of a width."""
    if signed:
        return -(2 ** (bits - 1)) + narrow, 2 ** (bits - 1) - 1
    return 0, 2**bits - 1 - narrow


def quant(x, scale, zero, bits, signed, narrow, mode):
    """Quant of constants and of tensors."""
    low, high = limits(bits, signed, narrow)
    return (ROUNDING[mode](np.clip(x / scale + zero, low, high)) - zero) * scale


def trained(tmp_path, nodes, constants, source="x"):
    constants = {name: np.asarray(value, np.float32) for name, value in constants.items()}
    model = make_model(nodes, {source: (1, 7)}, {"y": None}, constants)
    model.opset_import.append(helper.make_opsetid(DOMAIN, 1))
    return import_model(model, tmp_path)


def weights_of(graph):
    (layer,) = (one for one in simplify(graph).nodes if one.kind == "dense")
    return layer.weights


@pytest.mark.parametrize("mode", [*ROUNDING, "floor"])
@pytest.mark.parametrize("signed, narrow", [(1, 0), (1, 1), (0, 0), (0, 1)])
@pytest.mark.parametrize("bits, zero", [(2, 0), (3, 1), (4, 0), (6, 2), (8, 0), (12, 0)])
def test_quantised_weights_follow_the_document(tmp_path, mode, signed, narrow, bits, zero):
    nodes = [
        node(
            "Quant",
            ["w", "s", "z", "b"],
            ["q"],
            domain=DOMAIN,
            signed=signed,
            narrow=narrow,
            rounding_mode=mode,
        ),
        node("Gemm", ["x", "q"], ["y"], transB=1),
    ]
    graph = trained(tmp_path, nodes, {"w": VALUES, "s": 0.5, "z": zero, "b": bits})
    expected = quant(VALUES, 0.5, zero, bits, signed, narrow, mode.upper())
    assert np.array_equal(weights_of(graph), expected)


@pytest.mark.parametrize("operator, operands", [("BipolarQuant", 2), ("IntQuant", 4)])
def test_weights_of_two_values(tmp_path, operator, operands):
    """IntQuant of one bit is BipolarQuant; zero is plus one."""
    nodes = [
        node(operator, ["w", "s", "z", "b"][:operands], ["q"], domain=DOMAIN),
        node("Gemm", ["x", "q"], ["y"], transB=1),
    ]
    scale = np.linspace(0.1, 0.7, 7).reshape(7, 1)
    graph = trained(tmp_path, nodes, {"w": VALUES, "s": scale, "z": 0, "b": 1})
    assert np.allclose(weights_of(graph), np.where(VALUES >= 0, 1, -1) * scale)


def test_tensor_of_two_values(tmp_path):
    graph = trained(tmp_path, [node("BipolarQuant", ["x", "s"], ["y"], domain=DOMAIN)], {"s": 0.25})
    found = run_here(simplify(graph), {"x": np.float32(VALUES)})["y"]
    assert np.array_equal(found, np.where(VALUES >= 0, 0.25, -0.25))


def trunc_first(x, scale, zero, before, after, mode):
    """Trunc of version 1: the result keeps the scale."""
    numbers = np.round(x / scale + zero) / 2.0 ** (before - after)
    return (ROUNDING[mode](numbers) - zero) * scale


def trunc_second(x, scale, zero, unit, after, mode, signed=1, narrow=0):
    """Trunc of version 2: the result has a scale and a width."""
    power = 2.0 ** np.round(np.log2(unit / scale))
    numbers = np.clip(np.round(x / scale + zero) / power, *limits(after, signed, narrow))
    return (ROUNDING[mode](numbers) - zero / power) * unit


@pytest.mark.parametrize("mode", ["FLOOR", "CEIL", "ROUND"])
@pytest.mark.parametrize("zero", [0, 4])
def test_truncated_weights_follow_the_document(tmp_path, mode, zero):
    constants = {"w": VALUES, "s": 0.25, "z": zero, "i": 6, "o": 4, "u": 1.0}
    for operands, expected in (
        (["w", "s", "z", "i", "o"], trunc_first(VALUES, 0.25, zero, 6, 4, mode)),
        (["w", "s", "z", "i", "u", "o"], trunc_second(VALUES, 0.25, zero, 1.0, 4, mode)),
    ):
        nodes = [
            node("Trunc", operands, ["q"], domain=DOMAIN, rounding_mode=mode),
            node("Gemm", ["x", "q"], ["y"], transB=1),
        ]
        assert np.array_equal(weights_of(trained(tmp_path, nodes, constants)), expected)


@pytest.mark.parametrize("mode", ["FLOOR", "CEIL", "ROUND"])
@pytest.mark.parametrize("second", [False, True])
def test_truncated_tensor_lies_within_a_step(tmp_path, mode, second):
    """The graph holds real numbers, on a grid: rounded to the nearest they are what Trunc gives."""
    operands = ["x", "s", "z", "i", "u", "o"] if second else ["x", "s", "z", "i", "o"]
    nodes = [
        node("Neg", ["v"], ["x"]),
        node("Trunc", operands, ["y"], domain=DOMAIN, rounding_mode=mode),
    ]
    constants = {"s": 0.25, "z": 0, "i": 10, "o": 8, "u": 1.0}
    graph = trained(tmp_path, nodes, constants, source="v")
    (tensor,) = (graph.tensors[port.tensor] for port in graph.outputs)
    assert (tensor.bits, tensor.scale) == (8, 1.0 if second else 0.25)
    found = run_graph(graph, {"v": -VALUES}, grids=True)[tensor.name]
    # Halves of ROUND are rounded to even as they are here.
    expected = (
        trunc_second(VALUES, 0.25, 0, 1.0, 8, mode)
        if second
        else trunc_first(VALUES, 0.25, 0, 10, 8, mode)
    )
    assert np.array_equal(found, expected)


@pytest.mark.parametrize("mode", ["FLOOR", "CEIL"])
def test_quantised_tensor_is_moved_by_half_a_step(tmp_path, mode):
    nodes = [
        node("Quant", ["x", "s", "z", "b"], ["y"], domain=DOMAIN, signed=1, rounding_mode=mode)
    ]
    graph = trained(tmp_path, nodes, {"s": 0.5, "z": 0, "b": 8})
    values = VALUES + 0.01
    found = run_graph(graph, {"x": values}, grids=True)[graph.outputs[0].tensor]
    assert np.array_equal(found, quant(values, 0.5, 0, 8, 1, 0, mode))


@pytest.mark.parametrize(
    "operator, attributes, constants, message",
    [
        ("Quant", {"rounding_mode": "DOWN"}, {}, "rounding_mode = 'DOWN' of a tensor that depends"),
        ("Quant", {"rounding_mode": "STOCHASTIC"}, {}, "rounding_mode = 'STOCHASTIC': expected"),
        ("Quant", {"signed": 0}, {"b": 1}, "bitwidth = 1: expected signed = 1 and zeropt 0"),
        ("Quant", {}, {"b": 2.5}, "bitwidth = 2.5: expected a whole number from 1 to 32"),
        ("Quant", {}, {"s": [0.1] * 7}, "7 scales of a tensor that flows: expected one"),
        ("Trunc", {}, {"b": 4, "o": 6}, "out_bitwidth = 6 for in_bitwidth = 4: expected fewer"),
        ("Trunc", {}, {"s": 0.0}, "scale is not positive"),
    ],
)
def test_refused(tmp_path, operator, attributes, constants, message):
    operands = ["x", "s", "z", "b"] + ["o"] * (operator == "Trunc")
    nodes = [node(operator, operands, ["y"], domain=DOMAIN, **attributes)]
    with pytest.raises(OnnxError, match=message):
        trained(tmp_path, nodes, {"s": 0.5, "z": 0, "b": 8, "o": 4, **constants})


def brevitas_model(bits):
    """A convolution as Brevitas' QCDQ export writes it: integers of 8 bits, clipped to fewer."""
    rng = np.random.default_rng(1)
    high = 2 ** (bits - 1) - 1
    nodes = [
        node("QuantizeLinear", ["x", "xs", "z"], ["xq"]),
        node("Clip", ["xq", "low", "high"], ["xc"]),
        node("DequantizeLinear", ["xc", "xs", "z"], ["xd"]),
        node("Clip", ["w", "narrow", "high"], ["wc"]),
        node("DequantizeLinear", ["wc", "ws", "wz"], ["wd"], axis=0),
        node("Conv", ["xd", "wd"], ["y"], pads=[1, 1, 1, 1]),
    ]
    constants = {
        "xs": np.float32(0.25),
        "z": np.int8(0),
        "low": np.int8(-high - 1),
        "narrow": np.int8(-high),
        "high": np.int8(high),
        "w": rng.integers(-high, high + 1, (4, 3, 3, 3)).astype(np.int8),
        "ws": rng.uniform(0.05, 0.2, 4).astype(np.float32),
        "wz": np.zeros(4, np.int8),
    }
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", 1, (1, 3, 6, 6))],
        [helper.make_tensor_value_info("y", 1, None)],
        [numpy_helper.from_array(np.asarray(data), name) for name, data in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


@pytest.mark.parametrize("bits", [2, 4, 8])
def test_clipped_quantised_numbers(tmp_path, bits):
    model = brevitas_model(bits)
    graph = import_model(model, tmp_path)
    given = np.random.default_rng(2).normal(0, 1.5, (1, 3, 6, 6)).astype(np.float32)
    found = run_graph(graph, {"x": given[0].transpose(1, 2, 0)[None]}, grids=True)
    expected = run_there(model, {"x": given})["y"]
    got = found[graph.outputs[0].tensor].transpose(0, 3, 1, 2)
    assert np.allclose(got, expected, atol=1e-4)


@pytest.mark.parametrize("isa", ["imagine", "opentpu", "opu", "pim"])
def test_clipped_quantised_numbers_on_cores(tmp_path, isa):
    graph = import_model(brevitas_model(4), tmp_path)
    inputs = np.random.default_rng(2).normal(0, 1.5, (8, 3, 6, 6)).astype(np.float32)
    plan = compile_graph(
        graph, target_build(f"ulx3s-85f/{isa}"), {"x": inputs}, Options(host_steps=True)
    )
    assert plan.snr > 25
