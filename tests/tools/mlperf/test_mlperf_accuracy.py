# SPDX-License-Identifier: BSD-2-Clause
"""Accuracy and performance mode of a test client through ``quintet mlperf`` against ``quintet
infer``: a small network for each of the benchmark's four inputs, by each kind of port."""

import subprocess
import sys
import time

import numpy as np
import onnx
import pytest

from quintet.tools.compiler.api import compile_model
from tests.tools.mlperf.test_mlperf_command import Runner, mlperf
from tests.tools.mlperf.test_mlperf_device import MOST

if sys.platform == "win32":
    pytest.skip("no pseudo-terminals", allow_module_level=True)

BUILD = "sim:ulx3s-85f/opentpu"
#: Tensors go past the link: a picture takes seconds on a simulated wire.
TARGET = f"{BUILD}?load=direct"
COUNT = 4


def picture(chance, size):
    data = chance.integers(0, 256, (COUNT, size, size, 3), "u1")
    return [one.tobytes() for one in data], data.transpose(0, 3, 1, 2).astype("f4")


def image_classification(chance):
    return picture(chance, 32)


def visual_wake_words(chance):
    data, values = picture(chance, 96)
    return data, values / np.float32(255)


def keyword_spotting(chance):
    data = chance.integers(-128, 128, (COUNT, 1, 49, 10)).astype("i1")
    values = (data.astype("f8") - 83) * 0.5847029089927673
    return [one.tobytes() for one in data], values.astype("f4")


def anomaly_detection(chance):
    data = chance.normal(size=(COUNT, 640)).astype("<f4")
    return [one.tobytes() for one in data], data


#: Name -> its data (bytes of the runner, values of the network), shape of an input, stride of the
#: convolution in front (none: dense layers), outputs.
CASES = {
    "ic01": (image_classification, (3, 32, 32), 4, 10),
    "kws01": (keyword_spotting, (1, 49, 10), 4, 12),
    "vww01": (visual_wake_words, (3, 96, 96), 8, 2),
    "ad01": (anomaly_detection, (640,), None, 640),
}


def small_network(path, shape, stride, outputs, chance):
    """A convolution, a relu and the average of each channel before a dense layer; or two dense
    layers with eight values between them."""
    helper, constants, nodes = onnx.helper, [], []

    def constant(name, *lengths):
        values = chance.normal(0, 1 / np.sqrt(np.prod(lengths[1:])), lengths).astype("f4")
        constants.append(onnx.numpy_helper.from_array(values, name))
        return name

    if stride:
        kernel = constant("kernel", 8, shape[0], 3, 3)
        nodes.append(helper.make_node("Conv", ["x", kernel], ["c"], strides=[stride, stride]))
        nodes.append(helper.make_node("Relu", ["c"], ["r"]))
        nodes.append(helper.make_node("GlobalAveragePool", ["r"], ["p"]))
        nodes.append(helper.make_node("Flatten", ["p"], ["f"]))
    else:
        weights = constant("encoder", 8, shape[0])
        nodes.append(helper.make_node("Gemm", ["x", weights], ["e"], transB=1))
        nodes.append(helper.make_node("Relu", ["e"], ["f"]))
    nodes.append(helper.make_node("Gemm", ["f", constant("w", outputs, 8)], ["y"], transB=1))
    value, real = helper.make_tensor_value_info, onnx.TensorProto.FLOAT
    graph = helper.make_graph(
        nodes,
        "small",
        [value("x", real, ["n", *shape])],
        [value("y", real, ["n", outputs])],
        constants,
    )
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), path)
    return path


def inferred(folder, values):
    """Outputs by ``quintet infer``."""
    np.save(folder / "values.npy", values)
    command = [sys.executable, "-m", "quintet.tools.cli", "infer", folder / "plan", "--on", TARGET]
    command += ["--input", folder / "values.npy", "--out", folder / "out", "--no-overlap"]
    subprocess.run(list(map(str, command)), check=True, stdout=subprocess.DEVNULL)
    (found,) = (folder / "out").glob("*.npy")
    return np.load(found)


def results(lines):
    assert lines[-2] == "m-infer-done"
    return [float(text) for text in lines[-1].removeprefix("m-results-[").rstrip("]").split(",")]


class PipeRunner(Runner):
    """The runner at standard input and output of the server."""

    def __init__(self, server):
        self.line = self
        self._server = server
        assert self.readline() == b"m-init-done\r\n" and self.readline() == b"m-ready\r\n"

    def write(self, data):
        self._server.stdin.write(data)
        self._server.stdin.flush()

    def readline(self):
        return self._server.stdout.readline()

    def close(self):
        self._server.stdin.close()


def connect(kind, server, folder):
    """The runner, once the port of ``server`` is there."""
    if kind == "stdio":
        return PipeRunner(server)
    if kind == "socket":
        for line in server.stdout:
            if b" is at socket://" in line:
                return Runner(line.split()[-1].decode())
        raise AssertionError(server.stderr.read().decode())
    while not (folder / "dut").exists() and server.poll() is None:
        time.sleep(0.05)
    return Runner(str(folder / "dut"))


@pytest.mark.parametrize(
    "name, kind",
    [("ic01", "terminal"), ("kws01", "socket"), ("vww01", "stdio"), ("ad01", "terminal")],
)
def test_accuracy_is_that_of_infer(name, kind, tmp_path):
    """Accuracy mode: each input of a data set, one inference, its results. Performance mode: one
    input, several inferences between two time stamps."""
    maker, shape, stride, outputs = CASES[name]
    chance = np.random.default_rng(7)
    data, values = maker(chance)
    model = small_network(tmp_path / "small.onnx", shape, stride, outputs, chance)
    compile_model(model, BUILD, calibration=values).save(tmp_path / "plan")
    expected = inferred(tmp_path, values).reshape(COUNT, -1)
    if name == "ad01":
        expected = np.mean((values.astype("f8") - expected) ** 2, axis=1, keepdims=True)
    arguments = [tmp_path / "plan", "--on", TARGET, "--model", name]
    arguments += {
        "terminal": ["--link", tmp_path / "dut"],
        "socket": ["--socket", "0"],
        "stdio": ["--stdio"],
    }[kind]
    with mlperf(*arguments, stdin=subprocess.PIPE) as server:
        try:
            runner = connect(kind, server, tmp_path)
            assert runner.ask("profile")[1] == f"m-model-[{name}]"
            found = []
            for one in data:
                runner.load(one)
                found.append(results(runner.ask("infer 1 0")))
            assert results(["m-infer-done", *runner.ask("results")]) == found[-1]
            laps = runner.ask("infer 3 1")
            first, last = (int(line[9:]) for line in laps if line.startswith("m-lap-us-"))
            assert laps[:3] == ["m-warmup-start-1", "m-warmup-done", "m-infer-start-3"]
            assert laps[3].startswith("m-lap-us-") and laps[4].startswith("m-lap-us-")
            assert last > first and len(laps) == 7
            # What is refused leaves the input and the conversation as they were.
            size = len(data[0])
            wrong = f"e-[Supplied buffer size {size + 1}: an input of {name} has {size} bytes]"
            assert runner.ask(f"db load {size + 1}") == [wrong]
            assert runner.ask("infer 0") == ["e-[Inference iterations must be >0]"]
            printed = "".join(line[9:].replace("-", "") for line in runner.ask("db print"))
            assert printed == data[-1].hex()
            assert runner.ask(f"db load {size}") == [f"m-[Expecting {size} bytes]"]
            runner.ask(f"db {data[0][:MOST].hex()}")
            assert runner.ask("infer 1 0")[0].startswith(f"e-[An input of {size} bytes is expected")
            assert int(runner.ask("timestamp")[0][9:]) == last
            runner.line.close()
        finally:
            if kind != "stdio":
                server.terminate()
    np.testing.assert_allclose(found, expected, atol=1e-6)
    if name != "ad01":
        np.testing.assert_array_equal(np.argmax(found, axis=1), np.argmax(expected, axis=1))
