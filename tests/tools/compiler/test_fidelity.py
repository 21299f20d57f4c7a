# SPDX-License-Identifier: BSD-2-Clause
"""Signal to noise of a plan on its calibration inputs, and the warning of one that is low."""

import json

import numpy as np
import pytest

from quintet.tools.cli import main
from quintet.tools.compiler import graph as g
from quintet.tools.compiler.backends import backend_names
from quintet.tools.compiler.evaluate import run_graph
from quintet.tools.compiler.fidelity import LEAST, measure
from quintet.tools.compiler.plan import PlanError, load_plan, save_plan
from quintet.tools.compiler.planning import Options, compile_graph
from quintet.tools.compiler.target_build import target_build
from tests.tools.compiler.networks import Builder
from tests.tools.compiler.onnx_models import make_model, node

INPUTS = 64


def plan_of(network, isa, calibration, **options):
    values = {network.inputs[0].name: calibration}
    return compile_graph(network, target_build(f"model:{isa}"), values, Options(**options))


def normal(shape, mean=0.0, spread=1.0, count=INPUTS):
    return np.random.default_rng(5).normal(mean, spread, (count, *shape))


def dense(seed=1):
    """Two fully connected layers."""
    b = Builder("dense", (12,), seed)
    b.dense(16, relu=True)
    b.dense(5)
    return b.finish()


def noisy():
    """A network whose second layer takes the difference of nearly equal channels, which no scale of
    8 bits holds."""
    b = Builder("noisy", (8,), 2)
    b.dense(8)
    first = b.graph.nodes[-1]
    first.weights[:] = first.weights[:1] + 1e-3 * b.normal(8, 8)
    first.bias = None
    b.dense(4)
    last = b.graph.nodes[-1]
    last.weights -= last.weights.mean(axis=1, keepdims=True)
    last.bias = None
    return b.finish()


@pytest.mark.parametrize("isa", backend_names())
def test_plans_know_their_signal_to_noise(isa):
    plan = plan_of(dense(), isa, normal((12,)))
    assert LEAST < plan.snr < 120 and plan.notes == []


@pytest.mark.parametrize("isa", ["opu", "opentpu"])
def test_low_accuracy_is_a_warning_that_names_the_layer(isa):
    network = noisy()
    plan = plan_of(network, isa, normal((8,)))
    assert plan.snr < LEAST
    (note,) = plan.notes
    assert note.startswith(f"low accuracy: {plan.snr:.1f} dB signal to noise on 16 calibration")
    assert f"expected at least 20; layer {network.nodes[-1].name} loses most, from " in note
    found = measure(plan, network, {network.inputs[0].name: normal((8,))})
    assert found.place == f"layer {network.nodes[-1].name}" and found.after < LEAST < found.before


def test_inputs_may_lose_most():
    """Their unit spans a mean that an activation holds there, and nothing else loses much."""
    b = Builder("far", (8,), 1)
    b.act("relu")
    plan = plan_of(b.finish(), "opu", normal((8,), mean=300))
    (note,) = plan.notes
    assert "; input input_0 loses most, from inf to " in note
    assert note.endswith(
        "; input input_0 lies far from zero, and its mean cannot go into a bias: activation_0 "
        "(Activation) has no bias that could take it"
    )


def test_random_inputs_are_called_random():
    network = noisy()
    plan = compile_graph(network, target_build("model:opu"))
    assert any("dB signal to noise on 16 random inputs" in note for note in plan.notes)


def test_dry_runs_measure_nothing():
    plan = plan_of(noisy(), "opu", normal((8,)), dry=True)
    assert plan.snr is None and plan.notes == []


def test_constants_are_no_signal():
    """Results that differ little between inputs, beside a large constant that a relu holds."""
    b = Builder("constant", (12,), 1)
    b.dense(16, relu=True)
    b.dense(5, relu=True)
    network = b.finish()
    network.nodes[-2].bias = network.nodes[-2].bias + 1e3
    plan = plan_of(network, "opu", normal((12,)))
    assert plan.snr < LEAST
    constant = dense()
    constant.nodes[-1].weights[:] = 0
    assert plan_of(constant, "opu", normal((12,))).snr is None


def test_results_that_overflow_are_warned_of():
    """Cherry's elements end at 2^128, as float32 does."""
    network = dense()
    for layer in network.nodes[0], network.nodes[-1]:
        layer.weights *= 1e25
    plan = plan_of(network, "cherry", normal((12,)))
    assert plan.snr == -np.inf and "low accuracy: -inf dB" in plan.notes[0]


def test_one_input_is_measured_by_its_values():
    plan = plan_of(dense(), "opu", normal((12,), count=1))
    assert LEAST < plan.snr < 120


def test_of_several_outputs_the_worst_counts():
    b = Builder("two", (12,), 1)
    b.dense(16, relu=True)
    good = b.dense(5)
    b.graph.nodes[-1].bias = None
    poor = b.dense(5, good, relu=True)
    b.graph.nodes[-2].bias += 1e3  # the relu holds it
    both = plan_of(b.finish(good, poor), "opu", normal((12,)))
    assert both.snr < LEAST


def test_classes_are_judged_by_their_scores():
    """Numbers of classes have no signal: the scores that they are chosen from have."""
    b = Builder("classes", (12,), 1)
    b.dense(16, relu=True)
    b.dense(5)
    b.add(g.Reduce, function="argmax", axes=(0,))
    classes, scores = b.finish(), dense()
    # Scores whose mean is zero: an output's own would be the host's to add.
    mean = run_graph(scores, {"input_0": normal((12,))})[scores.outputs[0].tensor].mean(axis=0)
    for network in classes, scores:
        layer = [node for node in network.nodes if isinstance(node, g.Dense)][-1]
        layer.bias = layer.bias - mean
    plan = plan_of(classes, "opu", normal((12,)))
    scores = plan_of(scores, "opu", normal((12,)))
    assert plan.snr == pytest.approx(scores.snr)


def test_exact_plans_are_infinite_and_are_kept_so(tmp_path):
    b = Builder("exact", (4,), 1)
    b.dense(4)
    b.graph.nodes[-1].weights[:], b.graph.nodes[-1].bias = np.eye(4), None
    values = np.random.default_rng(1).integers(-127, 128, (32, 4))
    plan = plan_of(b.finish(), "cherry", values)
    assert plan.snr == np.inf
    save_plan(plan, tmp_path / "net")
    assert load_plan(tmp_path / "net").snr == np.inf


def test_plans_in_folders_keep_it(tmp_path):
    plan = plan_of(dense(), "opu", normal((12,)))
    save_plan(plan, tmp_path / "net")
    assert load_plan(tmp_path / "net").snr == plan.snr
    path = tmp_path / "net" / "plan.toml"
    text = path.read_text()
    path.write_text(text.replace(f"snr = {plan.snr}", "snr = nan"))
    with pytest.raises(PlanError, match=r"snr = nan: expected a ratio in dB"):
        load_plan(tmp_path / "net")


def test_compile_prints_it(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    weights = {"w": rng.normal(size=(12, 6))}
    model = make_model([node("MatMul", ["x", "w"], ["y"])], {"x": ("n", 12)}, {"y": None}, weights)
    (tmp_path / "net.onnx").write_bytes(model.SerializeToString())
    np.save("x.npy", normal((12,)))
    words = ["compile", "net.onnx", "--for", "model:opu", "--calibrate", "x.npy"]
    assert main([*words, "-o", "net"]) == 0
    printed = capsys.readouterr().out
    snr = load_plan("net").snr
    assert f"signal to noise against floating point: {snr:.1f} dB\n" in printed
    assert main([*words, "-o", "net", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["snr"] == snr
    assert main([*words, "--dry-run"]) == 0
    assert "signal to noise" not in capsys.readouterr().out
