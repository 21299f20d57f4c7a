# SPDX-License-Identifier: BSD-2-Clause
"""States: tensors that stay between inferences, found by their names or asked for, in the golden
model's memory or through the host, equal to the reference at every step."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quintet import compile_model
from quintet.tools.cli import main
from quintet.tools.compiler.backends import backend_names
from quintet.tools.compiler.fidelity import reference_tensors
from quintet.tools.compiler.plan import PlanError, load_plan, save_plan
from quintet.tools.compiler.session import Session, StateInvalid
from quintet.tools.compiler.streams.states import carried, choose_states, found_states
from quintet.tools.compiler.values import check_inputs, from_graph
from quintet.tools.compiler.verification import verify_plan
from quintet.tools.errors import InputError
from quintet.tools.targets import open_target

pytest.importorskip("onnx")

from quintet.tools.compiler.onnx_import import import_onnx  # noqa: E402
from tests.tools.compiler.state_networks import recurrent, relu_cell, tap_pairs  # noqa: E402

#: Steps that each core is compared over.
STEPS = 100
#: Cores whose programs keep states in main memory.
KEEPING = ("cherry", "opentpu", "opu", "pim")


def imported(content):
    return import_onnx("net.onnx", content)


def inputs_of(graph, count=STEPS, seed=1):
    shape = next(port.shape for port in graph.inputs if port.name == "x")
    return np.random.default_rng(seed).normal(0, 1, (count, *shape))


def compiled(folder, content, isa, **options):
    path = folder / "net.onnx"
    path.write_bytes(content)
    options.setdefault("calibration", inputs_of(imported(content), seed=2))
    return compile_model(str(path), f"model:{isa}", host_steps=True, **options)


def reference(plan, x):
    """Outputs of the reference, and the last value of each state, by the names of the ports."""
    values = reference_tensors(plan, check_inputs(plan.network, plan.inputs, {"x": x}))[1]
    outputs = {port.name: from_graph(port, values[port.tensor]) for port in plan.outputs}
    states = {
        state.input.name: from_graph(state.output, values[state.output.tensor][-1:])[0]
        for state in plan.states
    }
    return outputs, states


# Which tensors are states


@pytest.mark.parametrize(
    "source, result",
    [
        ("state_in", "state_out"),
        ("in_state", "out_state"),
        ("hidden_in_1", "hidden_out_1"),
        ("past_key_values.0.key", "present.0.key"),
        ("past_k", "present_k"),
        ("h0", "hn"),
        ("c_0", "c_n"),
        ("prev_state", "next_state"),
        ("old_cache", "new_cache"),
        ("initial_state", "final_state"),
        ("state", "new_state"),
        ("state", "stateN"),
        ("cell", "cell_next"),
    ],
)
def test_pairs_of_names_that_are_states(source, result):
    (pair,) = found_states(imported(tap_pairs([(source, result)])))
    assert (pair.input, pair.output) == (source, result)
    assert pair.why.startswith("names like ")


@pytest.mark.parametrize(
    "source, result",
    [("image_in", "image_out"), ("prev_frame", "next_frame"), ("a", "b"), ("state_in", "y_out")],
)
def test_pairs_of_names_that_are_not(source, result):
    assert not found_states(imported(tap_pairs([(source, result)])))


def test_an_input_with_two_partners_is_no_state():
    names = [("state_in", "state_out"), ("old_state", "new_state"), ("prev_state", "next_state")]
    found = found_states(imported(tap_pairs(names)))
    assert [(pair.input, pair.output) for pair in found] == [("state_in", "state_out")]


@pytest.mark.parametrize("operator", ["LSTM", "GRU", "RNN"])
def test_states_of_recurrent_layers_are_found_whatever_their_names(operator):
    found = found_states(imported(recurrent(operator)))
    expected = {("last_h", "first_h")} | ({("last_c", "first_c")} if operator == "LSTM" else set())
    assert {(pair.output, pair.input) for pair in found} == expected
    assert all("recurrent layer" in pair.why for pair in found)


@pytest.mark.parametrize(
    "given, initial, message",
    [
        ({"y": "none"}, {}, "state y=none: no input 'none'"),
        ({"none": "a"}, {}, "state none=a: no output 'none'"),
        ({"y": "x", "b": "x"}, {}, "the input is in two states"),
        ({"y": "x", "b": "a"}, {}, "every input is a state"),
        ({"b": "a"}, {"a": np.zeros(5)}, r"initial a: has the shape \[5\], expected \[6\]"),
        ({"b": "a"}, {"a": np.full(6, np.nan)}, "initial a: expected finite numbers"),
        ({}, {"a": np.zeros(6)}, "initial a: expected the input of a state"),
    ],
)
def test_states_that_are_refused(given, initial, message):
    graph = imported(tap_pairs([("a", "b")]))
    with pytest.raises(InputError, match=message):
        choose_states(graph, given, initial=initial)


def test_ends_of_different_shapes_are_refused():
    graph = imported(relu_cell())
    with pytest.raises(InputError, match=r"the output has the shape \[4\], the input \[16\]"):
        choose_states(graph, {"y": "state_in"})


def test_calibration_in_floating_point_carries_the_states():
    graph = imported(relu_cell())
    pairs = choose_states(graph, {})
    x = inputs_of(graph, 12)
    both = carried(graph, pairs, {"x": x}, 6)
    assert not both["state_in"][0].any() and not both["state_in"][6].any()
    alone = carried(graph, pairs, {"x": x[6:]}, None)
    assert np.allclose(both["state_in"][6:], alone["state_in"], rtol=1e-12)
    assert both["state_in"][5].any()


def test_calibration_of_a_state_is_refused(tmp_path):
    content = relu_cell()
    given = {"x": np.zeros((4, 8)), "state_in": np.zeros((4, 16))}
    with pytest.raises(InputError, match="state_in is a state, which is carried from step to step"):
        compiled(tmp_path, content, "pim", calibration=given)


# Every step equal


@pytest.mark.parametrize("isa", backend_names())
def test_a_hundred_steps_are_those_of_the_reference(isa, tmp_path):
    made = compiled(tmp_path, relu_cell(), isa)
    save_plan(made.plan, tmp_path / "plan")
    plan = load_plan(tmp_path / "plan")
    x = inputs_of(imported(relu_cell()))
    outputs, states = reference(plan, x)
    (state,) = plan.states
    assert plan.on_board(state) == (isa in KEEPING)
    with Session(plan, open_target(f"model:{isa}")) as session:
        assert np.array_equal(session(x), outputs["y"])
        assert np.array_equal(session.state["state_in"], states["state_in"])
        if isa in KEEPING:
            # Nothing but the input and the output goes over the line.
            (step,) = plan.core_steps
            each = step.lowered.inputs["x"].layout.item
            assert session.report.input_bytes == STEPS * 8 * each
            assert session.report.output_bytes == STEPS * 4 * each
    assert plan.snr > 20


@pytest.mark.parametrize("isa", backend_names())
def test_every_tensor_of_every_layer_is_that_of_the_reference(isa, tmp_path):
    plan = compiled(tmp_path, relu_cell(), isa).plan
    x = inputs_of(imported(relu_cell()), 10)
    found = verify_plan(
        plan,
        check_inputs(plan.network, plan.inputs, {"x": x}),
        "model",
        lambda: open_target(f"model:{isa}"),
        "reference",
        None,
    )
    assert found.equal and len(found.tensors) >= 2


@pytest.mark.parametrize("operator", ["LSTM", "GRU"])
@pytest.mark.parametrize("isa", backend_names())
def test_recurrent_layers_step_by_step(isa, operator, tmp_path):
    content = recurrent(operator)
    plan = compiled(tmp_path, content, isa).plan
    x = inputs_of(imported(content), 25)
    outputs, states = reference(plan, x)
    assert all(plan.on_board(state) for state in plan.states) == (isa == "cherry")
    with Session(plan, open_target(f"model:{isa}")) as session:
        assert np.array_equal(session(x), outputs["y"])
        for name, value in session.state.items():
            assert np.array_equal(value, states[name]), name


def test_onnxruntime_step_by_step(tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    content = recurrent("LSTM")
    x = inputs_of(imported(content), STEPS)
    judge = runtime.InferenceSession(content, providers=["CPUExecutionProvider"])
    now = {name: np.zeros((1, 1, 16), "f4") for name in ("first_h", "first_c")}
    exact = []
    for one in x.astype("f4"):
        y, h, c = judge.run(["y", "last_h", "last_c"], {"x": one[None], **now})
        exact.append(y[0])
        now = {"first_h": h, "first_c": c}
    with compiled(tmp_path, content, "cherry").open() as session:
        found = session(x)
    error = np.square(found - exact).sum() / np.square(exact).sum()
    assert 10 * np.log10(1 / error) > 40


def test_without_states_the_user_carries_them(tmp_path):
    content = relu_cell()
    graph = imported(content)
    calibration = carried(graph, choose_states(graph, {}), {"x": inputs_of(graph)}, None)
    plan = compiled(tmp_path, content, "pim", states=False, calibration=calibration).plan
    assert not plan.states
    assert [port.name for port in plan.inputs] == ["x", "state_in"]
    assert [port.name for port in plan.outputs] == ["y", "state_out"]


def test_an_output_that_is_the_only_one_is_still_read(tmp_path):
    content = relu_cell(classes=16)
    names = {"y": "state_in"}
    plan = compiled(tmp_path, content, "pim", states=names).plan
    assert [port.name for port in plan.outputs] == ["state_out"]
    assert [state.output.name for state in plan.states] == ["y"]


# Sessions


def test_initial_value_reset_save_and_restore(tmp_path):
    first = np.linspace(0, 1, 16)
    plan = compiled(tmp_path, relu_cell(), "pim", initial={"state_in": first}).plan
    x = inputs_of(imported(relu_cell()), 12)
    with Session(plan, open_target("model:pim")) as session:
        assert np.allclose(session.state["state_in"], first, atol=0.01)
        whole = session(x)
        session.reset()
        assert np.array_equal(session(x[:5]), whole[:5])
        saved = session.state
        assert np.array_equal(session(x[5:]), whole[5:])
        session.state = saved
        assert np.array_equal(session(x[5:]), whole[5:])
        session.reset_every = 6
        session.reset()
        halves = session(x)
        session.reset()
        assert np.array_equal(halves[6:], session(x[6:]))
        with pytest.raises(PlanError, match="state_in is a state.*session.state to set it"):
            session(x=x, state_in=first)
        with pytest.raises(InputError, match="no state 'none'"):
            session.state = {"none": first}
        with pytest.raises(InputError, match=r"has the shape \[3\], expected \[16\]"):
            session.state = {"state_in": np.zeros(3)}


@pytest.mark.parametrize("isa", ["pim", "imagine"])
def test_states_behind_a_run_that_failed_are_invalid(isa, tmp_path, monkeypatch):
    plan = compiled(tmp_path, relu_cell(), isa).plan
    x = inputs_of(imported(relu_cell()), 3)
    with Session(plan, open_target(f"model:{isa}")) as session:
        expected = session(x)

        def fail(*_, **__):
            raise RuntimeError("unplugged")

        with monkeypatch.context() as patch:
            patch.setattr(session, "run_on_core", fail)
            with pytest.raises(RuntimeError):
                session(x)
        with pytest.raises(StateInvalid, match=r"states state_in are invalid.*session.reset\(\)"):
            session(x)
        with pytest.raises(StateInvalid):
            session.state  # noqa: B018
        session.reset()
        assert np.array_equal(session(x), expected)


def test_damaged_initial_value_of_a_plan(tmp_path):
    plan = compiled(tmp_path, relu_cell(), "pim").plan
    object.__setattr__(plan.states[0], "initial", np.zeros(3))
    save_plan(plan, tmp_path / "plan")
    with pytest.raises(PlanError, match=r"initial value of state_in: expected finite numbers"):
        load_plan(tmp_path / "plan")


# Commands


def test_commands(tmp_path, capsys):
    content = relu_cell()
    (tmp_path / "net.onnx").write_bytes(content)
    x = inputs_of(imported(content), 24).reshape(4, 6, 8)
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "first.npy", np.zeros(16))
    place = str(tmp_path / "plan")
    options = ["--calibrate", f"{tmp_path}/x.npy", "--initial", f"state_in={tmp_path}/first.npy"]
    compile_ = ["compile", f"{tmp_path}/net.onnx", "--for", "model:pim", *options]
    assert main([*compile_, "-o", place, "--json"]) == 0
    notes = json.loads(capsys.readouterr().out)["notes"]
    assert any(
        note.startswith("state state_out -> state_in") and note.endswith("the board's memory")
        for note in notes
    )
    infer = ["infer", place, "--on", "model:pim", "--input", f"{tmp_path}/x.npy"]
    assert main([*infer, "--out", f"{tmp_path}/found", "--layers"]) == 0
    capsys.readouterr()
    found = np.load(tmp_path / "found" / "y.npy")
    plan = load_plan(place)
    for number, sequence in enumerate(x):
        outputs, _ = reference(plan, sequence)
        assert np.array_equal(found[6 * number : 6 * number + 6], outputs["y"])
    np.save(tmp_path / "row.npy", x.reshape(-1, 8))
    row = ["infer", place, "--on", "model:pim", "--input", f"{tmp_path}/row.npy"]
    assert main([*row, "--out", f"{tmp_path}/row", "--reset-every", "6"]) == 0
    assert np.array_equal(np.load(tmp_path / "row" / "y.npy"), found)
    assert main(["verify", place, "--on", "model:pim", "--against", "reference"]) == 0
    capsys.readouterr()
    for arguments, message in [
        ([*row, "--reset-every", "0"], "--reset-every 0: expected at least 1"),
        ([*infer, "--reset-every", "5"], "sequences of 5 and 6 steps: expected one length"),
        ([*row, "--out", f"{tmp_path}/row", "--resume"], "--resume: the states"),
        ([*compile_, "--dry-run", "--state", "y"], "--state y: expected Y=X"),
        ([*compile_, "--dry-run", "--state", "y=none"], "no input 'none'"),
        (
            [*compile_[:6], "--dry-run", "--no-state"],
            "the network has inputs x, state_in",
        ),
    ]:
        assert main(arguments) == 2, arguments
        assert message in capsys.readouterr().err


# Random recurrent graphs


@st.composite
def cells(draw):
    """Recurrent cells of some layers with one to three states, by seeds and sizes."""
    count = draw(st.integers(1, 3))
    sizes = [draw(st.sampled_from((4, 8, 12, 16, 24))) for _ in range(count)]
    return draw(st.integers(0, 99)), draw(st.sampled_from((4, 8, 10))), sizes


def cell_network(seed, features, sizes):
    """Layers one behind another, each of which sees its own state, and reads the one before."""
    import onnx

    from tests.tools.compiler.state_networks import model

    chance, nodes, constants = np.random.default_rng(seed), [], {}
    inputs, outputs, here, width = {"x": [1, features]}, {}, "x", features
    node = onnx.helper.make_node
    for number, size in enumerate(sizes):
        source, result = f"state_in{number}", f"state_out{number}"
        inputs[source] = outputs[result] = [1, size]
        weights = chance.normal(0, 0.9, (size, width + size)) / np.sqrt(width + size)
        constants[f"w{number}"] = weights.astype("f4")
        constants[f"b{number}"] = chance.normal(0, 0.2, size).astype("f4")
        nodes += [
            node("Concat", [here, source], [f"both{number}"], axis=1),
            node("Gemm", [f"both{number}", f"w{number}", f"b{number}"], [f"s{number}"], transB=1),
            node("Relu", [f"s{number}"], [result]),
        ]
        here, width = result, size
    constants["v"] = chance.normal(0, 0.5, (3, width)).astype("f4")
    nodes.append(node("Gemm", [here, "v"], ["y"], transB=1))
    return model(nodes, inputs, {"y": [1, 3], **outputs}, constants)


@settings(max_examples=6, deadline=None)
@given(cells(), st.sampled_from(KEEPING))
def test_random_recurrent_networks(tmp_path_factory, cell, isa):
    content = cell_network(*cell)
    plan = compiled(tmp_path_factory.mktemp("cell"), content, isa).plan
    assert len(plan.states) == len(cell[2])
    x = inputs_of(imported(content), 15)
    outputs, states = reference(plan, x)
    with Session(plan, open_target(f"model:{isa}")) as session:
        assert np.array_equal(session(x), outputs["y"]), (cell, isa)
        for name, value in session.state.items():
            assert np.array_equal(value, states[name]), (cell, isa, name)


@pytest.mark.long
@pytest.mark.parametrize("isa", KEEPING)
def test_a_hundred_steps_on_a_virtual_board(isa, tmp_path):
    plan = compiled(tmp_path, relu_cell(), isa).plan
    x = inputs_of(imported(relu_cell()))
    expected = reference(plan, x)[0]["y"]
    for option in ("", "?run_list=yes"):
        target = open_target(f"sim:ulx3s-85f/{isa}{option}")
        with Session(plan, target) as session:
            assert np.array_equal(session(x), expected)
            each = plan.core_steps[0].lowered.inputs["x"].layout.item
            assert session.report.input_bytes == STEPS * 8 * each
            assert session.report.output_bytes == STEPS * 4 * each
