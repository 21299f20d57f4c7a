# SPDX-License-Identifier: BSD-2-Clause
"""The small language model: its training, its ONNX model, and the same text on every core."""

import numpy as np
import pytest

from quintet.firmware.text import FOLDER, one_hot, training
from quintet.firmware.text.__main__ import BOARD, compiled, reference_text, text_on
from quintet.firmware.text.network import Sizes, backward, forward, initial_weights, loss_of
from quintet.gateware.isa.files import load_archive
from quintet.tools.cli import main
from quintet.tools.compiler.backends import backend_names
from quintet.tools.errors import Exit

onnx = pytest.importorskip("onnx")

from quintet.firmware.text.model import text_bytes  # noqa: E402

#: Tokens that each core writes: more than three times what a window holds.
TOKENS = 200
SMALL = Sizes(11, width=8, layers=2, heads=2, head=4, window=5, hidden=12)
#: Cores whose golden model takes more than a tenth of a second for a token.
SLOW = ("cherry", "imagine")
TEXT = "The core reads a row of weights, and adds its products. " * 40


@pytest.fixture(scope="module")
def plan_of():
    """Function that compiles the shipped model for a core, once."""
    made = {}

    def plan(isa):
        if isa not in made:
            made[isa] = compiled(isa)
        return made[isa]

    return plan


def test_gradients_are_those_of_small_differences():
    rng = np.random.default_rng(0)
    weights = {
        name: array + rng.normal(0, 0.1, array.shape)
        for name, array in initial_weights(SMALL, rng).items()
    }
    numbers = rng.integers(0, 11, (3, 10))

    def loss():
        return loss_of(forward(SMALL, weights, numbers[:, :-1])["scores"], numbers[:, 1:])

    found = forward(SMALL, weights, numbers[:, :-1])
    slopes = backward(SMALL, weights, found, loss()[1])
    assert slopes.keys() == weights.keys()
    for name, array in weights.items():
        place = tuple(rng.integers(0, length) for length in array.shape)
        value = array[place]
        losses = []
        for step in (1e-5, -1e-5):
            array[place] = value + step
            losses.append(loss()[0])
        array[place] = value
        expected = (losses[0] - losses[1]) / 2e-5
        assert slopes[name][place] == pytest.approx(expected, rel=1e-3, abs=1e-5), name


def test_the_model_step_by_step_is_the_network_at_once():
    runtime = pytest.importorskip("onnxruntime")
    rng = np.random.default_rng(1)
    weights = {
        name: array.astype(np.float16).astype(np.float32)
        for name, array in initial_weights(SMALL, rng).items()
    }
    numbers = rng.integers(0, 11, 20)
    wanted = forward(SMALL, weights, numbers[None])["scores"][0]
    content = text_bytes(SMALL, weights, "abcdefghijk")
    session = runtime.InferenceSession(content, providers=["CPUExecutionProvider"])
    names = [port.name for port in session.get_outputs()]
    states = {
        port.name: np.zeros(port.shape, np.float32)
        for port in session.get_inputs()
        if port.name != "token"
    }
    for number, scores in zip(numbers, wanted, strict=True):
        values = session.run(names, {"token": one_hot([number], 11), **states})
        found = dict(zip(names, values, strict=True))
        assert np.allclose(found["scores"][0], scores, atol=1e-4)
        states = {name: found[name.replace("past", "present")] for name in states}


def test_prose_of_markdown():
    text = (
        "# Title\n\nOne [link](a.md)\nand more.\n\n| a | b |\n|---|---|\n\n```\ncode\n```\n\n"
        "* first\n  line\n* second\n\n<!-- no -->\n"
    )
    assert training.prose(text) == "# Title\nOne link and more.\n* first line\n* second\n"


def test_characters_that_are_not_in_the_vocabulary_are_left_out():
    characters = training.vocabulary("abcab\n")
    assert characters == "\nabc"
    assert training.numbered("a?b\n", characters).tolist() == [1, 2, 0]


def test_training_learns_and_writes_a_model_that_generates(tmp_path, capsys):
    (tmp_path / "text.txt").write_text(TEXT * 8)
    training.main([str(tmp_path / "text.txt"), "--out", str(tmp_path), "--steps", "12"])
    said = capsys.readouterr().out
    # Of equally likely characters the loss is the logarithm of their number, 2.9.
    assert float(said.split("step 12: ")[1].split()[0]) < 12
    assert onnx.load(tmp_path / "text.onnx").metadata_props[0].key == "vocabulary"
    assert main(["generate", str(tmp_path / "text.onnx"), "--tokens", "2"]) == Exit.OK
    with pytest.raises(SystemExit):
        (tmp_path / "short.txt").write_text("short")
        training.main([str(tmp_path / "short.txt"), "--out", str(tmp_path)])
    assert "characters of text: expected some hundred thousand" in capsys.readouterr().err


def test_the_shipped_model():
    proto = onnx.load(FOLDER / "text.onnx")
    constants = [onnx.numpy_helper.to_array(one) for one in proto.graph.initializer]
    weights = sum(one.size for one in constants if one.dtype == np.float16)
    assert 200_000 <= weights <= 300_000
    assert (FOLDER / "text.onnx").stat().st_size < 500_000
    calibration = load_archive(FOLDER / "text.npz")["calibration"]
    assert (calibration.sum(axis=1) == 1).all()


@pytest.mark.parametrize(
    "isa",
    [pytest.param(isa, marks=[pytest.mark.long] * (isa in SLOW)) for isa in backend_names()],
)
def test_golden_models_write_the_text_of_the_reference(isa, plan_of):
    plan = plan_of(isa)
    found = text_on(plan, f"model:{isa}", TOKENS)
    assert len(found.numbers) == TOKENS
    assert reference_text(plan, found.numbers) == found.numbers
    assert plan.snr > 15 and found.rate > 50
    # All of the network is on the core, but for what IMAGine's array cannot do.
    assert (found.hosted == 0) == (isa != "imagine")


@pytest.mark.long
@pytest.mark.parametrize("isa", backend_names())
def test_virtual_boards_write_the_text_of_the_reference(isa, plan_of):
    plan = plan_of(isa)
    found = text_on(plan, f"sim:{BOARD}/{isa}", TOKENS)
    assert reference_text(plan, found.numbers) == found.numbers
    assert found.counted and found.cycles == pytest.approx(plan.cycles, rel=0.1)
