# SPDX-License-Identifier: BSD-2-Clause
"""Streaming: networks over time that take some frames a call give what the whole stretch gives."""

import numpy as np
import pytest

from quintet import compile_model
from quintet.tools.cli import main
from quintet.tools.compiler.backends import backend_names
from quintet.tools.compiler.evaluate import run_graph
from quintet.tools.compiler.fidelity import reference_tensors
from quintet.tools.compiler.session import Session
from quintet.tools.compiler.streams import frames_of, streamed
from quintet.tools.compiler.streams.padded import as_padded
from quintet.tools.compiler.streams.states import carried
from quintet.tools.compiler.streams.vectors import as_vectors
from quintet.tools.compiler.values import check_inputs, from_graph, to_graph
from quintet.tools.errors import InputError
from quintet.tools.targets import open_target

pytest.importorskip("onnx")

from quintet.tools.compiler.onnx_import import import_onnx  # noqa: E402
from tests.tools.compiler.state_networks import wake_word  # noqa: E402

#: Rounding of float64, of sums in another order.
CLOSE = 1e-12
#: Sizes of the networks that are compared in floating point.
SMALL = {"features": 6, "channels": 8, "frames": 48}


def imported(**options):
    return import_onnx("net.onnx", wake_word(**options))


def run(graph, arrays):
    """Outputs of a graph in floating point, by name."""
    values = {port.tensor: to_graph(port, arrays[port.name]) for port in graph.inputs}
    found = run_graph(graph, values)
    return {port.name: from_graph(port, found[port.tensor]) for port in graph.outputs}


def called(stream, x, graph=None):
    """Results of all calls for one stretch ``x`` [features, frames], [calls, ...]."""
    graph = graph or stream.graph
    values = carried(graph, stream.states, {"x": frames_of(stream, x[None])[0]}, None)
    return run(graph, values)["y"]


def random(frames, features=6, seed=0):
    return np.random.default_rng(seed).normal(0, 1, (features, frames))


@pytest.mark.parametrize("form", [lambda whole: whole, as_padded, as_vectors])
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_each_call_is_the_network_on_the_last_frames(stride, form):
    graph = imported(**SMALL, stride=stride)
    stream = streamed(graph, "x", 1)
    assert stream.frames == stride
    x = random(80)
    found = called(stream, x, form(stream.graph))
    for call in range(48 // stride - 1, len(found)):
        end = (call + 1) * stride
        whole = run(graph, {"x": x[None, :, end - 48 : end]})["y"][0]
        assert np.abs(found[call] - whole).max() < CLOSE, call


@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("residual", [False, True])
def test_causal_convolutions_are_equal_from_the_first_frame_on(stride, residual):
    options = {**SMALL, "frames": 60, "stride": stride, "padding": "causal", "pooled": False}
    graph = imported(**options, residual=residual)
    x = random(60)
    found = np.concatenate(list(called(streamed(graph, "x", 1), x)), axis=-1)
    whole = run(graph, {"x": x[None]})["y"][0]
    assert found.shape == whole.shape
    assert np.abs(found - whole).max() < CLOSE


@pytest.mark.parametrize("padding", ["valid", "same"])
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_other_padding_gives_the_same_frames_later(stride, padding):
    options = {**SMALL, "frames": 90, "stride": stride, "padding": padding, "pooled": False}
    graph = imported(**options, residual=padding == "same")
    x = random(90)
    found = np.concatenate(list(called(streamed(graph, "x", 1), x)), axis=-1)
    whole = run(graph, {"x": x[None]})["y"][0]
    # Frames whose windows lie within the stretch.
    middle = slice(9, whole.shape[1] - 9)
    late = [
        by
        for by in range(12)
        if middle.stop + by <= found.shape[1]
        and np.abs(found[:, middle.start + by : middle.stop + by] - whole[:, middle]).max() < CLOSE
    ]
    assert len(late) == 1


@pytest.mark.parametrize("frames", [4, 8])
def test_several_frames_a_call(frames):
    graph = imported(**SMALL, stride=2)
    x = random(72)
    one, several = (called(streamed(graph, "x", 1, some), x) for some in (2, frames))
    assert np.abs(several - one[frames // 2 - 1 :: frames // 2]).max() < CLOSE


@pytest.mark.parametrize(
    "name, axis, frames, message",
    [
        ("none", 1, None, "no input 'none'"),
        ("x", 2, None, "axis 2 of 2 behind that of the inputs: expected 0 to 1"),
        ("x", 1, 3, "3 frames a call: expected a multiple of 2"),
        ("x", 1, 50, "a stretch of 48 frames: expected at least 50"),
    ],
)
def test_streams_that_are_refused(name, axis, frames, message):
    with pytest.raises(InputError, match=message):
        streamed(imported(**SMALL, stride=2), name, axis, frames)


def test_too_few_frames_for_a_call():
    stream = streamed(imported(**SMALL), "x", 1, 4)
    with pytest.raises(InputError, match="3 frames: expected at least 4"):
        frames_of(stream, np.zeros((1, 6, 3)))


# Cores


@pytest.mark.parametrize("isa", backend_names())
def test_wake_word_frame_by_frame(isa, tmp_path):
    (tmp_path / "net.onnx").write_bytes(wake_word())
    x = random(140, features=40)
    made = compile_model(
        str(tmp_path / "net.onnx"),
        f"model:{isa}",
        calibration=random(100, features=40, seed=1)[None],
        stream={"x": 2},
    )
    plan = made.plan
    keeps = isa != "imagine"  # whose inputs are words of its program
    assert len(plan.states) == 5
    assert all(plan.on_board(state) == keeps for state in plan.states)
    assert plan.snr > 20
    calls = np.moveaxis(x, 1, 0)[:100, :, None]
    given = check_inputs(plan.network, plan.inputs, {"x": calls})
    values = reference_tensors(plan, given)[1]
    (port,) = plan.outputs
    with Session(plan, open_target(f"model:{isa}")) as session:
        found = session(calls)
        assert np.array_equal(found, from_graph(port, values[port.tensor]))
        if keeps:
            each = plan.core_steps[0].lowered.inputs["x"].layout.item
            assert session.report.input_bytes == 100 * 40 * each
            assert session.report.output_bytes == 100 * 3 * each
    # The core's numbers are near those of the whole stretch in floating point.
    graph = imported()
    exact = [run(graph, {"x": x[None, :, end - 32 : end]})["y"][0] for end in range(32, 101)]
    error = np.square(found[31:] - exact).sum() / np.square(exact).sum()
    assert 10 * np.log10(1 / error) > 15


def test_commands(tmp_path, capsys):
    (tmp_path / "net.onnx").write_bytes(wake_word(**SMALL, blocks=1))
    np.save(tmp_path / "x.npy", np.stack([random(48), random(48, seed=1)]))
    compile_ = ["compile", f"{tmp_path}/net.onnx", "--for", "model:pim", "--stream"]
    options = ["--calibrate", f"{tmp_path}/x.npy", "-o", f"{tmp_path}/plan"]
    assert main([*compile_, "x=2", "--frames", "4", *options]) == 0
    assert "frames that first reaches back to" in capsys.readouterr().err
    calls = np.moveaxis(random(48).reshape(6, 12, 4), 1, 0)
    np.save(tmp_path / "calls.npy", calls)
    infer = ["infer", f"{tmp_path}/plan", "--on", "model:pim"]
    assert main([*infer, "--input", f"{tmp_path}/calls.npy", "--out", f"{tmp_path}/found"]) == 0
    assert np.load(tmp_path / "found" / "y.npy").shape == (12, 3)
    capsys.readouterr()
    for stream, message in [
        ("x", "--stream x: expected X=AXIS"),
        ("x=0", "axis 0 counts the inputs"),
        ("x=5", "axis 4 of 2"),
        ("z=2", "no input 'z'"),
    ]:
        assert main([*compile_, stream, *options]) == 2
        assert message in capsys.readouterr().err
    assert main([*compile_[:-1], "--frames", "2", *options]) == 2
    assert "expected an input to stream as well" in capsys.readouterr().err
