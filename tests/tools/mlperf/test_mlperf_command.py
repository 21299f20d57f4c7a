# SPDX-License-Identifier: BSD-2-Clause
"""``quintet mlperf`` as the runner sees it: a serial port with a virtual board behind it."""

import json
import subprocess
import sys
import time

import numpy as np
import onnx
import pytest
import serial

from quintet.firmware.digits import FOLDER as DIGITS
from quintet.tools.compiler.api import compile_model
from tests.tools.mlperf.test_mlperf_device import MOST

if sys.platform == "win32":
    pytest.skip("no pseudo-terminals", allow_module_level=True)

TARGET = "sim:ulx3s-85f/opentpu"


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    """Two dense layers with inputs and outputs of the anomaly detector's, compiled: plan, and a
    session's outputs. Few weights lie between them, as each server loads them over the link."""
    folder = tmp_path_factory.mktemp("ad")
    chance = np.random.default_rng(1)
    weights = [
        onnx.numpy_helper.from_array(scale * chance.normal(size=shape).astype("f4"), name)
        for name, shape, scale in (("v", (640, 32), 0.05), ("w", (32, 640), 0.2))
    ]
    value = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        [
            onnx.helper.make_node("MatMul", ["x", "v"], ["between"]),
            onnx.helper.make_node("MatMul", ["between", "w"], ["y"]),
        ],
        "ad",
        [value("x", onnx.TensorProto.FLOAT, ["n", 640])],
        [value("y", onnx.TensorProto.FLOAT, ["n", 640])],
        weights,
    )
    opsets = [onnx.helper.make_opsetid("", 17)]
    onnx.save(onnx.helper.make_model(graph, opset_imports=opsets, ir_version=9), folder / "ad.onnx")
    inputs = chance.normal(size=(3, 640)).astype("f4")
    compiled = compile_model(folder / "ad.onnx", TARGET, calibration=inputs)
    compiled.save(folder / "plan")
    with compiled.open() as session:
        return folder / "plan", inputs, session(inputs)


class Runner:
    """The conversation as the runner holds it: an answer ends with the line ``m-ready``; five
    seconds without a line are an error."""

    def __init__(self, name):
        self.line = serial.serial_for_url(name, 115200, timeout=5)

    def ask(self, command):
        self.line.write(command.encode() + b"%")
        lines = []
        while not lines or lines[-1] != "m-ready":
            line = self.line.readline()
            assert line.endswith(b"\r\n"), (command, lines, line)
            if line.strip():
                lines.append(line.decode().strip())
        return lines[:-1]

    def load(self, data):
        self.ask(f"db load {len(data)}")
        for at in range(0, len(data), MOST):
            found = self.ask(f"db {data[at : at + MOST].hex()}")
        assert found == ["m-load-done"]


def mlperf(*arguments, **more):
    command = [sys.executable, "-m", "quintet.tools.cli", "mlperf", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)


def test_runner(network, tmp_path):
    """Results are those of a session; times are counted cycles over the clock."""
    plan, inputs, outputs = network
    with mlperf(plan, "--on", TARGET, "--link", tmp_path / "dut") as server:
        try:
            while not (tmp_path / "dut").exists() and server.poll() is None:
                time.sleep(0.05)
            runner = Runner(str(tmp_path / "dut"))
            assert runner.ask("name") == ["m-name-dut-[quintet ulx3s-85f opentpu]"]
            assert runner.ask("profile")[1] == "m-model-[ad01]"
            laps = []
            for given, expected in zip(inputs, outputs, strict=True):
                runner.load(given.astype("<f4").tobytes())
                found = runner.ask("infer 3 1")
                shown = float(found[-1].removeprefix("m-results-[").rstrip("]"))
                assert shown == pytest.approx(np.mean((given - expected) ** 2), abs=1e-6)
                laps.append([int(line[9:]) for line in found if line.startswith("m-lap-us-")])
            runner.line.close()
        finally:
            server.terminate()
        told = server.stdout.read().decode()
    assert (
        "VIRTUAL BOARD: ALL TIMES ARE SIMULATED CYCLES AT 80 MHZ. NO HARDWARE WAS MEASURED" in told
    )
    spent = [end - start for start, end in laps]
    assert min(spent) > 0 and max(spent) - min(spent) <= 0.02 * max(spent)
    assert laps[0][1] < laps[1][0] < laps[1][1]


def test_standard_pipes(network):
    plan, *_ = network
    with mlperf(plan, "--on", TARGET, "--stdio", stdin=subprocess.PIPE) as server:
        out, err = server.communicate(b"profile%timestamp%", timeout=120)
    assert out.decode().split("\r\n") == [
        "m-init-done",
        "m-ready",
        "m-profile-[ULPMark for tinyML Firmware V0.0.1]",
        "m-model-[ad01]",
        "m-ready",
        "m-lap-us-0",
        "m-ready",
        "",
    ]
    assert server.returncode == 0 and "no inference has run" in err.decode()


@pytest.mark.parametrize(
    "arguments, code, message",
    [
        (["--on", "model:opentpu"], 2, "model:opentpu: has no clock: expected a board"),
        (["--on", TARGET, "--socket", "0.0.0.0:0"], 2, "this conversation knows no tokens"),
        (["--on", TARGET, "--socket", "x:y"], 2, "--socket x:y: expected a port"),
        (["--on", TARGET, "--model", "ic01"], 2, "expected those of ic01"),
    ],
)
def test_refusals(quintet, network, arguments, code, message):
    ran = quintet("mlperf", network[0], *arguments)
    assert ran.code == code and message in ran.err


def test_standard_output_is_one_conversation(quintet, network):
    ran = quintet("mlperf", network[0], "--on", TARGET, "--stdio", "--json")
    assert ran.code == 2 and "--json: standard output is the conversation's" in ran.err
    assert json.loads(ran.out)["exit"] == 2


def test_networks_of_no_benchmark_and_runs_of_several_inputs(quintet, network, tmp_path):
    compile_model(DIGITS / "mlp.onnx", TARGET).save(tmp_path / "digits")
    ran = quintet("mlperf", tmp_path / "digits", "--on", TARGET)
    assert (
        ran.code == 2 and "digits_mlp: inputs and outputs are pixels [64], scores [10]" in ran.err
    )
    model = network[0].parent / "ad.onnx"
    compile_model(model, TARGET, images=2).save(tmp_path / "two")
    ran = quintet("mlperf", tmp_path / "two", "--on", TARGET)
    assert ran.code == 2 and "a run of this plan works on 2 inputs: expected one" in ran.err
