# SPDX-License-Identifier: BSD-2-Clause
"""Times of MLPerf Tiny's networks: cycles at the clock that builds have reached, beside what other
systems have published. The networks here are small ones of the benchmark's file names."""

import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from quintet.firmware.mlperf_tiny import NETWORKS, PEERS
from quintet.firmware.mlperf_tiny.__main__ import main
from quintet.tools.build.reached import reached_clock

INPUTS, OUTPUTS = 24, 4


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder like the benchmark's, each network one dense layer."""
    root = tmp_path_factory.mktemp("tiny")
    (root / "data").mkdir()
    rng = np.random.default_rng(5)
    weights = rng.normal(size=(INPUTS, OUTPUTS)).astype(np.float32)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "small",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", INPUTS])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", OUTPUTS])],
        [numpy_helper.from_array(weights, "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    inputs = rng.normal(size=(30, INPUTS)).astype(np.float32)
    for network in NETWORKS.values():
        onnx.save(model, root / network.file)
        np.savez(root / network.data, x=inputs, y=(inputs @ weights).argmax(1))
    return str(root)


def measured(capsys, *arguments):
    """Cells of the command with ``--estimate``, and what it printed without ``--json``."""
    assert main([*arguments, "--estimate", "--limit", "8"]) == 0
    text = capsys.readouterr().out
    assert main([*arguments, "--estimate", "--limit", "8", "--json"]) == 0
    return json.loads(capsys.readouterr().out)["cells"], text


def test_times_stand_at_the_clock_that_was_reached(folder, capsys):
    cells, text = measured(capsys, folder, "--board", "ulx3s-85f", "--isa", "pim")
    reached = reached_clock("ulx3s-85f", "pim", "85f")
    assert [cell["network"] for cell in cells] == list(NETWORKS)
    for cell in cells:
        assert cell["time_hz"] == min(80e6, reached.hz)
        assert cell["milliseconds"] == pytest.approx(cell["cycles"] / cell["time_hz"] * 1e3)
        assert cell["clock_note"] == str(reached)
    words = text.split()
    for peer in PEERS:
        assert all(f"{time:g}" in words for time in peer.milliseconds.values())


def test_a_preset_that_was_never_routed_has_cycles_and_no_time(folder, capsys):
    cells, text = measured(
        capsys,
        folder,
        "--board",
        "ulx3s-45f",
        "--isa",
        "opu",
        "--preset",
        "25f",
        "--network",
        "ds_cnn",
    )
    (cell,) = cells
    assert cell["cycles"] > 0 and cell["time_hz"] is cell["milliseconds"] is None
    assert cell["clock_note"] == "no build of 25f has been routed for ulx3s-45f"
    assert "no build" in text and "51.9" not in text


def test_a_board_measures_the_presets_that_profit(folder, capsys):
    cells, _ = measured(
        capsys, folder, "--board", "ulx3s-85f", "--isa", "opentpu", "--network", "autoencoder"
    )
    assert [cell["preset"] for cell in cells] == [
        "85f-8x8-conv",
        "85f-8x8-fast",
        "85f-16x16-fast",
        "85f-16x16-conv",
    ]


def test_an_unknown_board_is_refused(folder, capsys):
    assert main([folder, "--board", "ulx3s-99f"]) != 0
    assert "ulx3s-99f" in capsys.readouterr().err
