# SPDX-License-Identifier: BSD-2-Clause
"""Cycles and error of each layer: programs that end early, their counters, signal to noise, and
how reports show them."""

import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quintet.firmware import digits
from quintet.tools.cli import main
from quintet.tools.compiler.api import Compiled, compile_model
from quintet.tools.compiler.backends import backend_names
from quintet.tools.compiler.backends.base import LoweringError
from quintet.tools.compiler.fidelity import reference_tensors
from quintet.tools.compiler.partition import PartitionError
from quintet.tools.compiler.plan import load_plan
from quintet.tools.compiler.planning import Options, compile_graph
from quintet.tools.compiler.results.comparison import Cell, NetworkComparison
from quintet.tools.compiler.results.layers import layer_counters, layer_snr
from quintet.tools.compiler.results.report import plan_rows
from quintet.tools.compiler.verification import random_inputs
from quintet.tools.report.networks import compare_page
from tests.tools.compiler.networks import graphs
from tests.tools.compiler.test_random_networks import build_of

MODEL = str(digits.FOLDER / "cnn.onnx")
ISAS = backend_names()


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """ISA -> folder of the digits' plan."""
    root = tmp_path_factory.mktemp("layers")
    for isa in ISAS:
        compile_model(MODEL, f"ulx3s-85f/{isa}", calibration=digits.images(40)).save(root / isa)
    return root


def counted(plan, inputs):
    """Counters of the layers, of whole runs, and the outputs of a run after all that, on the golden
    model."""
    with Compiled(plan).open(f"model:{plan.isa}") as session:
        layers = layer_counters(session, inputs)
        assert session.report.counters == {}
        count = max(step.lowered.images for step in plan.core_steps)
        # Twice: PIM's first run loads weights, which is none of the layers'.
        for _ in range(2):
            before = dict(session.report.counters)
            outputs = session.run_steps({name: array[:count] for name, array in inputs.items()})
        runs = len(next(iter(inputs.values()))[:count])
        return (
            layers,
            {
                name: (value - before.get(name, 0)) / runs
                for name, value in session.report.counters.items()
            },
            outputs,
        )


def check_sums(layers, whole):
    for name, value in whole.items():
        assert sum(found[name] for found in layers.values()) == pytest.approx(value), name
    # A layer may load for the next, never undo.
    assert all(found["instructions"] >= 0 for found in layers.values() if "instructions" in found)


@pytest.mark.parametrize("isa", ISAS)
def test_layers_add_up_to_the_whole_and_leave_the_program_as_it_was(folders, isa):
    plan, x = load_plan(folders / isa), digits.images(2)
    inputs = {plan.inputs[0].tensor: np.asarray(x, np.float64)}
    layers, whole, outputs = counted(plan, inputs)
    check_sums(layers, whole)
    places = [
        (number, place)
        for number, step in enumerate(plan.steps)
        if step in plan.core_steps
        for place, _ in enumerate(step.lowered.layers)
    ]
    assert set(layers) <= set(places) and places[-1] in layers and len(layers) >= 3
    expected = reference_tensors(plan, {name: array[:1] for name, array in inputs.items()})[1]
    for name, value in outputs.items():
        np.testing.assert_array_equal(value[:1], expected[name])


def test_a_layers_multiplications_are_counted_with_it(folders):
    """PIM counts its multiplications, padding left out: each layer's are its own."""
    plan = load_plan(folders / "pim")
    layers, _, _ = counted(plan, {plan.inputs[0].tensor: np.asarray(digits.images(1), np.float64)})
    (step,) = plan.core_steps
    own = {
        span.name: layers[plan.steps.index(step), place]["operations"]
        for place, span in enumerate(step.lowered.layers)
    }
    assert own["dense1"] == 64 * 128 and own["dense2"] == 10 * 64


@pytest.mark.parametrize("isa", ISAS)
@settings(
    max_examples=25,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.filter_too_much,
    ],
)
@given(graph=graphs(most=5), seed=st.integers(0, 99))
def test_random_networks_end_behind_any_layer(isa, graph, seed):
    try:
        plan = compile_graph(graph, build_of(isa), options=Options(host_steps=True))
    except (PartitionError, LoweringError):
        return
    if plan.core_steps:
        layers, whole, _ = counted(plan, random_inputs(plan, 1, seed))
        if layers:  # a reshape alone takes no layer
            check_sums(layers, whole)


def test_signal_to_noise_is_each_layers_own(folders):
    plan, x = load_plan(folders / "opu"), digits.images(8)
    inputs = {plan.inputs[0].tensor: np.asarray(x, np.float64)}
    numbers, _ = reference_tensors(plan, inputs)
    found = layer_snr(plan, inputs, numbers)
    rows = plan_rows(plan, snr=found)
    assert [row["layer"] for row in rows if row["where"] == "opu"] == [
        "conv1.pool",
        "conv2.pool",
        "dense1",
        "dense2",
    ]
    assert all(25 < row["snr"] < 60 for row in rows if row["where"] == "opu")
    # Noise in one layer's numbers is that layer's alone, here; one of no noise has no ratio.
    (step,) = plan.core_steps
    name = next(node.output for node in step.part.graph.nodes if node.name == "dense1")
    noisy = layer_snr(
        plan,
        inputs,
        {
            **numbers,
            name: numbers[name]
            + 5 * (-1) ** np.arange(numbers[name].size).reshape(numbers[name].shape),
        },
    )
    assert [place for place in found if noisy[place] < found[place] - 3] == [
        (plan.steps.index(step), 2)
    ]
    assert all(noisy[place] == found[place] for place in found if place[1] != 2)
    assert set(layer_snr(plan, inputs, {name: np.zeros_like(numbers[name])}).values()) == {0.0}


def test_a_plans_folder_keeps_where_layers_end(folders):
    plan = load_plan(folders / "opentpu")
    spans = [span for _, span in plan.layers]
    assert (
        all(span.cut == ((span.end, "07" + "00" * 13),) for span in spans[:-1])
        and spans[-1].cut is None
    )


def test_infer_shows_layers(folders, capsys):
    options = [
        "infer",
        str(folders / "cherry"),
        "--input",
        f"{digits.FOLDER / 'digits.npz'}:images",
        "--limit",
        "3",
        "--layers",
    ]
    assert main([*options, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    layers = {row["layer"]: row for row in found["layers"]}
    # A golden model counts no cycles.
    assert (
        layers["dense2"]["snr"] > 40 and "measured" not in layers["dense2"] and found["inputs"] == 3
    )
    assert main(options) == 0
    assert "SNR dB" in capsys.readouterr().out


def test_page_shows_what_was_measured():
    rows = [
        {
            "layer": "a",
            "kind": "conv",
            "where": "opu",
            "macs": 900,
            "cycles": 100,
            "bytes": 5,
            "measured": None,
            "counters": None,
            "snr": 33.25,
        },
        {
            "layer": "b",
            "kind": "dense",
            "where": "opu",
            "macs": 100,
            "cycles": 50,
            "bytes": 6,
            "measured": 1234,
            "counters": {"cycles": 1234.0},
            "snr": None,
        },
    ]
    cell = Cell(
        "opu",
        preset="85f",
        cycles=1234,
        measured=True,
        estimated=150,
        clock_hz=1_000_000,
        snr=30.0,
        memory=1024,
        layers=rows,
    )

    def page():
        return "".join(
            part
            for _, parts in compare_page(
                NetworkComparison("net", "board", 1, None, [cell], []).as_dict()
            ).sections
            for part in parts
        )

    text = page()
    assert (
        ">measured</th>" in text
        and ">1,234</td>" in text
        and ">33.2</td>" in text
        and "measured together with a later one" in text
    )
    cell.layers = [
        {key: value for key, value in row.items() if key not in ("measured", "counters")}
        for row in rows
    ]
    assert ">measured</th>" not in page()


@pytest.mark.long
@pytest.mark.parametrize("isa", ["cherry", "opentpu", "opu"])
def test_layers_of_the_virtual_board_are_as_estimated(folders, isa):
    plan = load_plan(folders / isa)
    with Compiled(plan).open(f"sim:ulx3s-85f/{isa}?load=direct") as session:
        rows = plan_rows(
            plan,
            layer_counters(
                session, {plan.inputs[0].tensor: np.asarray(digits.images(1), np.float64)}
            ),
        )
    mine = [row for row in rows if row["where"] != "host" and row["measured"] is not None]
    assert len(mine) >= 4 and sum(row["measured"] for row in mine) == pytest.approx(
        plan.cycles, rel=0.1
    )
    # What a program does for the next layer, or leaves to it, counts for little.
    assert all(abs(row["measured"] - row["cycles"]) < 0.3 * row["cycles"] + 400 for row in mine)
