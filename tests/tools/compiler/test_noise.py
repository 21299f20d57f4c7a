# SPDX-License-Identifier: BSD-2-Clause
"""Noise of each layer at the outputs, the advice that it gives, and nodes sent to the host."""

import json

import numpy as np
import onnx
import pytest

from quintet.tools.cli import main
from quintet.tools.compiler import graph as g
from quintet.tools.compiler.backends import backend_names
from quintet.tools.compiler.evaluate import run_graph
from quintet.tools.compiler.fidelity import reference_tensors
from quintet.tools.compiler.planning import Options, compile_graph
from quintet.tools.compiler.results.noise import measure_noise
from quintet.tools.compiler.target_build import target_build
from quintet.tools.errors import InputError
from tests.tools.compiler.networks import Builder
from tests.tools.compiler.onnx_models import make_model, node


def normal(shape, count=64, spread=1.0):
    return np.random.default_rng(5).normal(0, spread, (count, *shape))


def network():
    """A convolution, a pool and two dense layers."""
    b = Builder("net", (6, 6, 3), 3)
    b.conv(8, (3, 3), relu=True)
    b.add(g.MaxPool, window=(2, 2), stride=(2, 2))
    b.dense(10, relu=True)
    b.dense(4)
    return b.finish()


def noise_of(graph, isa, calibration, **options):
    values = {graph.inputs[0].name: calibration}
    chosen = Options(**options)
    plan = compile_graph(graph, target_build(f"model:{isa}"), values, chosen)
    return plan, measure_noise(plan, graph, values, chosen)


@pytest.mark.parametrize("isa", backend_names())
def test_every_core_and_layer(isa):
    graph = network()
    plan, report = noise_of(graph, isa, normal((6, 6, 3), 128), host_steps=True)
    assert sum(row.share for row in report.layers) == pytest.approx(1)
    assert report.layers == sorted(report.layers, key=lambda row: -row.share)
    made = [node.name for step in plan.core_steps for node in step.part.graph.nodes]
    names = [row.layer for row in report.layers]
    assert sorted(name for name in names if not name.startswith("input ")) == sorted(made)
    # IMAGine reads the rows that the host makes of a map for a convolution.
    assert ("input input_0" in names) == (isa != "imagine")
    assert any(name.startswith("input ") for name in names)
    own = {node.name for node in graph.nodes}
    assert {row.node for row in report.layers if row.kind != "input"} <= own
    json.dumps(report.as_dict(), allow_nan=False)


def test_one_layer():
    """By hand: the layer and floating point on the same rounded operands; nothing is behind it."""
    b = Builder("one", (12,), 1)
    b.dense(5)
    values = normal((12,), 16)
    plan, report = noise_of(b.finish(), "opu", values)
    part = plan.core_steps[0].part
    (node,) = part.graph.nodes
    exact = node.run(values)
    scale = part.scales[node.inputs[0]]
    rounded = node.run(scale.value(scale.quantise(values)))
    found = reference_tensors(plan, {plan.inputs[0].tensor: values})[1][plan.outputs[0].tensor]
    signal = np.square(exact - exact.mean(axis=0)).sum() * 16 / 15
    rows = {row.layer: row for row in report.layers}
    expected = 10 * np.log10(signal / np.square(found - rounded).sum())
    assert rows[node.name].snr == pytest.approx(expected)
    expected = 10 * np.log10(signal / np.square(rounded - exact).sum())
    assert rows["input input_0"].snr == pytest.approx(expected)
    assert rows["input input_0"].rounding == 1 and 0 < rows[node.name].rounding < 1


def test_noise_of_the_first_layer_reaches_the_output_in_floating_point():
    values = normal((6, 6, 3), 16)
    plan, report = noise_of(network(), "opu", values)
    part = plan.core_steps[0].part
    source = plan.inputs[0].tensor
    exact = run_graph(part.graph, {source: values}, keep=True)
    numbers, _ = reference_tensors(plan, {source: values})
    first = part.graph.nodes[0]
    scale = part.scales[source]
    own = part.scales[first.output].value(numbers[first.output]) - first.run(
        scale.value(scale.quantise(values))
    )
    changed = {**exact, first.output: exact[first.output] + own}
    for after in part.graph.nodes[1:]:
        changed[after.output] = after.run(*(changed[name] for name in after.inputs))
    output = plan.outputs[0].tensor
    signal = np.square(exact[output] - exact[output].mean(axis=0)).sum() * 16 / 15
    noise = np.square(changed[output] - exact[output]).sum()
    row = next(row for row in report.layers if row.layer == first.name)
    assert row.snr == pytest.approx(10 * np.log10(signal / noise))


def test_a_layer_on_the_host_adds_rounding_alone():
    graph = network()
    graph.nodes[0].weights[:, 0, 0, 0] *= 30  # leaves few steps of 8 bits to the others
    values = normal((6, 6, 3), 128)
    values[..., 0] /= 30
    plan, report = noise_of(graph, "opu", values, equalise=False)
    worst = report.layers[0]
    assert worst.node == "conv_0" and worst.rounding < 0.5
    assert any(text.startswith("--on-host conv_0: some ") for text in report.advice)
    better, rest = noise_of(graph, "opu", values, equalise=False, on_host=("conv_0",))
    assert worst.layer not in [row.layer for row in rest.layers]
    assert any(row.kind == "input" and row.share > 0 for row in rest.layers)
    assert better.snr > plan.snr + 1


def test_nodes_on_the_host_have_a_name():
    with pytest.raises(InputError, match=r"net has no node 'conv'; did you mean conv_1\?"):
        graph = network()
        graph.nodes[0].name = "conv_1"
        compile_graph(graph, target_build("model:opu"), options=Options(on_host=("conv",)))


def test_clips_and_widths_have_advice():
    values = normal((6, 6, 3), 128)
    values[0, 0, 0, 0] = 40.0  # far beyond all others
    report = noise_of(network(), "pim", values, bits=8, percentile=99.9)[1]
    assert any(text.startswith("--bits 16: layers of 8 bits make ") for text in report.advice)
    assert any(text.startswith("--percentile 100: ") for text in report.advice)


def test_rounding_of_a_core_without_wider_numbers():
    report = noise_of(network(), "opu", normal((6, 6, 3), 128))[1]
    assert report.advice[0].startswith("rounding makes most of the noise: quintet compare")
    report = noise_of(network(), "cherry", normal((6, 6, 3), 128))[1]
    assert not any("rounding" in text for text in report.advice)


def test_calibration_is_judged():
    graph, values = network(), normal((6, 6, 3), 20)
    plan, report = noise_of(graph, "opu", values)
    assert "20 calibration inputs: some 100 give ranges that hold for others" in report.advice
    random = measure_noise(plan, graph, None, Options())
    assert random.advice[0].startswith("calibration inputs are random: --calibrate")


def test_a_network_without_noise():
    """Whole numbers that every core holds: 1 + 1."""
    b = Builder("whole", (4,), 1)
    b.dense(2)
    layer = b.graph.nodes[-1]
    layer.weights[:], layer.bias = np.eye(2, 4), None
    values = np.random.default_rng(1).choice([-1.0, 0.0, 1.0], (128, 4))
    _, report = noise_of(b.finish(), "cherry", values)
    assert report.advice == [] and all(row.share == 0 for row in report.layers)
    assert report.as_dict()["layers"][0]["snr"] is None


def test_class_numbers_are_judged_by_what_the_argmax_reads():
    b = Builder("classes", (12,), 1)
    b.dense(5)
    b.add(g.Reduce, function="argmax", axes=(0,))
    report = noise_of(b.finish(), "opu", normal((12,), 128))[1]
    assert sum(row.share for row in report.layers) == pytest.approx(1)


@pytest.fixture
def model(tmp_path):
    rng = np.random.default_rng(1)
    path = tmp_path / "two.onnx"
    onnx.save(
        make_model(
            [
                node("Gemm", ["x", "a"], ["m"], name="first"),
                node("Relu", ["m"], ["r"]),
                node("Gemm", ["r", "b"], ["y"], name="second"),
            ],
            {"x": (1, 12)},
            {"y": (1, 5)},
            {"a": rng.normal(size=(12, 16)), "b": rng.normal(size=(16, 5))},
        ),
        path,
    )
    np.save(tmp_path / "x.npy", rng.normal(size=(120, 12)).astype(np.float32))
    return path


def test_command(model, tmp_path, capsys):
    args = ["compile", str(model), "--for", "model:opu", "--calibrate", str(tmp_path / "x.npy")]
    assert main([*args, "-o", str(tmp_path / "a"), "--report"]) == 0
    text = capsys.readouterr().out
    assert "noise of each layer alone at the outputs, on 16 inputs:" in text
    assert "second" in text and "advice: --on-host " in text
    more = ["--on-host", "second", "--report", "--json"]
    assert main([*args, "-o", str(tmp_path / "b"), *more]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [row["where"] for row in found["layers"]] == ["opu", "host"]
    assert found["noise"]["inputs"] == 16
    assert [row["node"] for row in found["noise"]["layers"] if row["node"]] == ["first"]
    assert main([*args, "--dry-run", "--report"]) == 2
    assert "--report: expected -o instead of --dry-run" in capsys.readouterr().err
    assert main([*args, "-o", str(tmp_path / "c"), "--on-host", "third"]) == 2
    assert "has no node 'third'" in capsys.readouterr().err
    assert not (tmp_path / "c").exists()
