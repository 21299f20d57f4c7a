# SPDX-License-Identifier: BSD-2-Clause
"""The command generate: text of a small language model with random weights on every core, and what
is no language model."""

import json

import numpy as np
import pytest

from quintet.firmware.text.__main__ import reference_text
from quintet.firmware.text.network import Sizes, initial_weights
from quintet.tools.cli import main
from quintet.tools.compiler.backends import backend_names
from quintet.tools.compiler.plan import load_plan
from quintet.tools.compiler.session import Session
from quintet.tools.compiler.streams.states import choose_states
from quintet.tools.errors import Exit, InputError
from quintet.tools.language.model import Choice, language_model, own_text, plan_model, written
from quintet.tools.targets import open_target

onnx = pytest.importorskip("onnx")

from quintet.firmware.text.model import text_bytes  # noqa: E402
from quintet.tools.compiler.onnx_import import import_onnx  # noqa: E402
from tests.tools.compiler.state_networks import model, relu_cell  # noqa: E402

SIZES = Sizes(10, width=16, layers=1, heads=2, head=8, window=8, hidden=24)
VOCABULARY = "abcdefghi\n"
#: More than the window has places.
TOKENS = 20


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    """Path of the small language model."""
    weights = initial_weights(SIZES, np.random.default_rng(3))
    # Scores far enough apart that the text is no mere noise.
    weights["scores"] *= 4
    path = tmp_path_factory.mktemp("text") / "small.onnx"
    path.write_bytes(text_bytes(SIZES, weights, VOCABULARY))
    return path


@pytest.fixture(scope="module")
def calibration(network, tmp_path_factory):
    """Path of text that the network writes itself, as inputs."""
    graph = import_onnx(str(network))
    path = tmp_path_factory.mktemp("text") / "own.npy"
    np.save(path, own_text(graph, choose_states(graph, {}), texts=2, steps=32))
    return path


@pytest.fixture(scope="module")
def plan_of(network, calibration, tmp_path_factory):
    """Function that makes the plan for a core, once, and returns its folder."""
    made = {}

    def compiled(isa):
        if isa not in made:
            folder = tmp_path_factory.mktemp(isa) / "plan"
            arguments = ["--for", f"ulx3s-85f/{isa}", "--calibrate", str(calibration)]
            done = main(["compile", str(network), *arguments, "-o", str(folder)])
            assert done == Exit.OK
            made[isa] = folder
        return made[isa]

    return compiled


def changed(content, vocabulary):
    """Bytes of a model with other metadata."""
    proto = onnx.load_from_string(content)
    onnx.helper.set_model_props(proto, {"vocabulary": vocabulary})
    return proto.SerializeToString()


@pytest.mark.parametrize("isa", backend_names())
def test_every_core_writes_the_text_of_the_reference(isa, plan_of):
    plan = load_plan(plan_of(isa))
    # Without host steps, and but for IMAGine without states on the line.
    assert all(plan.on_board(state) for state in plan.states) == (isa != "imagine")
    assert len(plan.core_steps) == 1 or isa == "imagine"
    with Session(plan, open_target(f"model:{isa}")) as session:
        numbers = list(written(session, plan_model(plan), [0], TOKENS, Choice(0.7, 0)))
    assert reference_text(plan, numbers) == tuple(numbers)
    assert len(set(numbers)) > 2


def test_text_cycles_and_speed_of_a_plan(plan_of, capsys):
    arguments = ["generate", str(plan_of("opu")), "--prompt", "ab", "--tokens", "12"]
    assert main(arguments) == Exit.OK
    out, err = capsys.readouterr()
    assert out.startswith("ab") and len(out) == len("ab") + 12 + len("\n")
    assert "12 tokens, " in err and " cycles a token (estimated), " in err
    assert " tokens a second by the core at " in err
    assert main([*arguments, "--json"]) == Exit.OK
    found = json.loads(capsys.readouterr().out)
    assert found["text"] + "\n" == out
    assert found["prompt"] == "ab" and found["tokens"] == 12 and found["host_nodes"] == 0
    assert found["cycles_per_token"] > 0 and not found["cycles_counted"]
    core = found["tokens_per_second"]["core"]
    assert core == pytest.approx(found["time_hz"] / found["cycles_per_token"])


def test_a_model_is_compiled_for_the_target(network, capsys):
    assert main(["generate", str(network), "--tokens", "4", "--json"]) == Exit.OK
    found = json.loads(capsys.readouterr().out)
    assert found["isa"] == "opu" and found["prompt"] == "a" and len(found["text"]) == 5
    arguments = ["--on", "model:imagine", "--tokens", "2", "--json"]
    assert main(["generate", str(network), *arguments]) == Exit.OK
    assert json.loads(capsys.readouterr().out)["host_nodes"] > 0


def test_seeds_and_temperatures_decide(plan_of, capsys):
    def text(*options):
        assert main(["generate", str(plan_of("opu")), "--json", *options]) == Exit.OK
        return json.loads(capsys.readouterr().out)["text"]

    drawn = text("--seed", "1")
    assert len(drawn) == 201 and text("--seed", "1") == drawn != text("--seed", "2")
    likeliest = text("--temperature", "0", "--seed", "1")
    assert text("--temperature", "0", "--seed", "2") == likeliest != drawn


@pytest.mark.long
@pytest.mark.parametrize("isa", backend_names())
def test_virtual_boards_write_the_text_of_the_reference(isa, plan_of, capsys):
    folder = plan_of(isa)
    target = f"sim:ulx3s-85f/{isa}"
    done = main(["generate", str(folder), "--on", target, "--tokens", str(TOKENS), "--json"])
    assert done == Exit.OK
    found = json.loads(capsys.readouterr().out)
    numbers = [VOCABULARY.index(character) for character in found["text"][1:]]
    assert reference_text(load_plan(folder), numbers) == tuple(numbers)
    assert found["cycles_counted"] and found["cycles_per_token"] > 0
    if isa != "imagine":
        # Only the token and the scores go over the line, at most two bytes a value.
        assert found["input_bytes"] <= 2 * len(VOCABULARY) * TOKENS * 2
        assert found["output_bytes"] <= 2 * len(VOCABULARY) * TOKENS * 2


# Vocabularies


def small(vocabulary=VOCABULARY):
    weights = initial_weights(SIZES, np.random.default_rng(3))
    return text_bytes(SIZES, weights, vocabulary)


def of_graph(content):
    graph = import_onnx("net.onnx", content)
    states = choose_states(graph, {})
    inputs, outputs = ({getattr(pair, end) for pair in states} for end in ("input", "output"))
    return language_model(
        graph.name,
        graph.vocabulary,
        [port for port in graph.inputs if port.name not in inputs],
        [port for port in graph.outputs if port.name not in outputs],
    )


def test_the_longest_token_is_taken():
    words = ["a", "ab", "abc", "c", "d", "e", "f", "g", "h", "i"]
    found = of_graph(small(words))
    assert found.encode("abcabac") == [2, 1, 0, 3]
    with pytest.raises(InputError, match="prompt: 'x' is not in the vocabulary of text, which"):
        found.encode("abx")


def test_a_single_value_is_the_number_of_a_token():
    found = of_graph(
        changed(
            model(
                [onnx.helper.make_node("MatMul", ["x", "w"], ["y"])],
                {"x": [1, 1]},
                {"y": [1, 3]},
                {"w": np.ones((1, 3), "f4")},
            ),
            '["a", "b", "c"]',
        )
    )
    assert found.inputs([2, 0]).tolist() == [[2.0], [0.0]]


@pytest.mark.parametrize(
    "content, message",
    [
        (relu_cell(), "no vocabulary: expected the metadata vocabulary in the ONNX file"),
        (changed(small(), "no list"), "no vocabulary: expected the metadata vocabulary"),
        (changed(small(), '{"a": 0}'), "no vocabulary: expected the metadata vocabulary"),
        (changed(small(), "[" * 5000), "no vocabulary: expected the metadata vocabulary"),
        (small("abc"), "the output scores has 10 values: expected 3, a score for each token"),
        (small("aabcdefghi"), "the vocabulary: expected different texts, none of them empty"),
        (small(["", *"abcdefghi"]), "the vocabulary: expected different texts, none of them"),
        (changed(relu_cell(), '["a", "b", "c", "d"]'), "the input x has 8 values: expected 4"),
        (
            changed(relu_cell(names=("first", "second")), '["a", "b", "c", "d"]'),
            "inputs x, first: expected one beside the states",
        ),
    ],
)
def test_what_is_no_language_model(content, message, tmp_path, capsys):
    path = tmp_path / "net.onnx"
    path.write_bytes(content)
    assert main(["generate", str(path), "--on", "model:opu"]) == Exit.BAD_INPUT
    out, err = capsys.readouterr()
    assert message in err and err.count("\n") == 1 and not out


@pytest.mark.parametrize(
    "options, message",
    [
        (["--tokens", "0"], "--tokens 0: expected at least 1"),
        (["--temperature", "-1"], "--temperature -1: expected a number from 0 on"),
        (["--temperature", "nan"], "--temperature nan: expected a number from 0 on"),
        (["--seed", "-1"], "--seed -1: expected a number from 0 on"),
        (["--prompt", "xyz"], "prompt: 'x' is not in the vocabulary of text, which has 10 tokens"),
        (["--prompt", ""], "--prompt: expected at least one token"),
        (["--on", "nowhere:opu"], "nowhere:opu"),
    ],
)
def test_options_that_are_refused(options, message, plan_of, capsys):
    plan = str(plan_of("opu"))
    # What its compilation says, if this is the first test that asks for it.
    capsys.readouterr()
    assert main(["generate", plan, *options]) != Exit.OK
    out, err = capsys.readouterr()
    assert message in err and not out


def test_the_plan_of_another_network_is_refused(tmp_path, capsys):
    (tmp_path / "net.onnx").write_bytes(relu_cell())
    folder = tmp_path / "plan"
    done = main(["compile", str(tmp_path / "net.onnx"), "--for", "model:pim", "-o", str(folder)])
    assert done == Exit.OK
    assert main(["generate", str(folder)]) == Exit.BAD_INPUT
    assert "net: no vocabulary" in capsys.readouterr().err
