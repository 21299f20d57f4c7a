# SPDX-License-Identifier: BSD-2-Clause
"""The conversation with MLPerf Tiny's runner: every command, and what is refused."""

import threading
import time

import numpy as np
import pytest

from quintet.tools.compiler.graph import Port
from quintet.tools.errors import InputError, TargetError
from quintet.tools.mlperf import BENCHMARKS, Device, serving
from quintet.tools.mlperf.benchmarks import benchmark_of

#: Bytes that the runner puts into a command.
MOST = 31


class Network:
    """Stands for a session: each inference takes 250 cycles and gives the sum of its bytes."""

    def __init__(self):
        self.inputs = []

    def __call__(self, data):
        self.inputs.append(data)
        return [sum(data) / 1000, -1.5], 250


@pytest.fixture
def network():
    return Network()


@pytest.fixture
def device(network):
    return Device(BENCHMARKS["kws01"], network, 50e6, "someone")


def ask(device, command):
    """Lines of the answer, without the ``m-ready`` that ends every one."""
    lines = b"".join(device.feed(command.encode() + b"%")).decode().split("\r\n")
    assert lines[-2:] == ["m-ready", ""]
    return lines[:-2]


def load(device, data):
    assert ask(device, f"db load {len(data)}") == [f"m-[Expecting {len(data)} bytes]"]
    parts = [data[at : at + MOST] for at in range(0, len(data), MOST)]
    for part in parts[:-1]:
        assert ask(device, f"db {part.hex()}") == []
    return ask(device, f"db {parts[-1].hex()}")


def test_greeting(device):
    assert device.greeting() == b"m-init-done\r\nm-ready\r\n"


def test_names(device):
    assert ask(device, "name") == ["m-name-dut-[someone]"]
    assert ask(device, "profile") == [
        "m-profile-[ULPMark for tinyML Firmware V0.0.1]",
        "m-model-[kws01]",
    ]
    assert ask(device, "help")[0] == "ULPMark for tinyML Firmware V0.0.1"


def test_commands_come_in_pieces(device):
    assert list(device.feed(b"\0\r\nna")) == []
    assert b"".join(device.feed(b"me%time")) == b"m-name-dut-[someone]\r\nm-ready\r\n"
    assert b"".join(device.feed(b"stamp%")) == b"m-lap-us-0\r\nm-ready\r\n"


def test_inference(device, network):
    data = bytes(range(245)) * 2
    assert load(device, data) == ["m-load-done"]
    assert ask(device, "infer 3 2") == [
        "m-warmup-start-2",
        "m-warmup-done",
        "m-infer-start-3",
        "m-lap-us-10",
        "m-lap-us-25",
        "m-infer-done",
        "m-results-[59.780000,-1.500000]",
    ]
    assert network.inputs == 5 * [data]
    assert ask(device, "results") == ["m-results-[59.780000,-1.500000]"]
    assert ask(device, "timestamp") == ["m-lap-us-25"]


@pytest.mark.parametrize(
    "command, warmups, number", [("infer", 10, 1), ("infer 2", 10, 2), ("infer 1 0", 0, 1)]
)
def test_numbers_that_are_left_out(device, network, command, warmups, number):
    load(device, bytes(490))
    assert ask(device, command)[0] == f"m-warmup-start-{warmups}"
    assert len(network.inputs) == warmups + number


def test_bytes_are_printed(device):
    load(device, bytes(range(245)) * 2)
    lines = ask(device, "db print")
    assert lines[0] == "m-buffer-00-01-02-03-04-05-06-07"
    assert len(lines) == 62 and lines[-1] == "m-buffer-f3-f4"


def test_digits_behind_the_last_byte_mean_nothing(device):
    ask(device, "db load 490")
    for _ in range(4):
        assert ask(device, "db " + "AB" * 120) == []
    assert ask(device, "db " + "cd" * 10 + "zz" * 5) == ["m-load-done"]
    assert ask(device, "db print")[-1] == "m-buffer-cd-cd"
    assert ask(device, "db 00") == ["e-[No bytes are expected: 'db load' comes first]"]


@pytest.mark.parametrize(
    "command, answer",
    [
        ("", "e-[Unknown command: ]"),
        ("names", "e-[Unknown command: names]"),
        ("\x1b[2J", "e-[Unknown command: \\x1b[2J]"),
        ("db", "e-[Command 'db' requires a subcommand]"),
        ("db load", "e-[Command 'db load' requires the # of bytes]"),
        ("db load x", "e-[Command 'db load' must be >0 bytes]"),
        ("db load 0", "e-[Command 'db load' must be >0 bytes]"),
        ("db load -4", "e-[Command 'db load' must be >0 bytes]"),
        ("db load --4", "e-[Command 'db load' must be >0 bytes]"),
        ("db load -", "e-[Command 'db load' must be >0 bytes]"),
        ("db load 489", "e-[Supplied buffer size 489: an input of kws01 has 490 bytes]"),
        (
            "db load 99999999999999",
            "e-[Supplied buffer size 99999999999999: an input of kws01 has 490 bytes]",
        ),
        ("db load 491", "e-[Supplied buffer size 491: an input of kws01 has 490 bytes]"),
        ("db 00", "e-[No bytes are expected: 'db load' comes first]"),
        ("db 0", "e-[Insufficient number of hex digits]"),
        ("infer 0", "e-[Inference iterations must be >0]"),
        ("infer x", "e-[Inference iterations must be >0]"),
        ("infer --5", "e-[Inference iterations must be >0]"),
        ("infer 1.5", "e-[Inference iterations must be >0]"),
        ("infer 99999999999999", "e-[Inference iterations and warmup must be <=2147483647]"),
        ("infer 1 99999999999999", "e-[Inference iterations and warmup must be <=2147483647]"),
        ("infer 1 x", "e-[Inference warmup must be >=0]"),
        ("db print", None),
        ("infer 1 -1", "e-[Inference warmup must be >=0]"),
        ("infer", "e-[An input of 490 bytes is expected, 0 are loaded]"),
        ("results", "e-[No inference has run]"),
    ],
)
def test_what_is_refused(device, network, command, answer):
    assert ask(device, command) == ([] if answer is None else [answer])
    assert not network.inputs


def test_digits_that_are_none(device):
    ask(device, "db load 490")
    assert ask(device, "db 00g1") == ["e-[Invalid hex digit 'g1']"]
    assert ask(device, "db print") == ["m-buffer-00"]


def test_commands_without_end_take_no_memory(device):
    assert list(device.feed(b"x" * 1_000_000)) == []
    assert ask(device, "")[0].startswith("e-[Unknown command: xxx")


def test_inference_that_fails(device, network, monkeypatch):
    load(device, bytes(490))

    def fails(_):
        raise TargetError("socket://x[1]: gone\nfor good")

    monkeypatch.setattr(device, "_infer", fails)
    assert ask(device, "infer 1 0") == [
        "m-warmup-start-0",
        "m-warmup-done",
        "m-infer-start-1",
        "m-lap-us-0",
        "e-[socket://x(1): gone\\nfor good]",
    ]
    assert ask(device, "results") == ["e-[No inference has run]"]


# Inputs and results


def port(shape, **more):
    return Port("x", "x", tuple(range(len(shape))), shape, **more)


def test_pixels_as_a_network_of_real_numbers_takes_them():
    data = bytes(range(256)) * 12
    pixels = np.frombuffer(data, "u1").reshape(32, 32, 3)
    found = BENCHMARKS["ic01"].array(data, port((32, 32, 3)))
    np.testing.assert_array_equal(found, pixels[None].astype("f8"))
    found = BENCHMARKS["ic01"].array(data, port((3, 32, 32)))
    np.testing.assert_array_equal(found, pixels.transpose(2, 0, 1)[None])
    found = BENCHMARKS["vww01"].array(data * 9, port((96, 96, 3)))
    assert found.max() == 1.0 and found[0, 0, 0, 1] == 1 / 255


def test_pixels_as_a_network_of_whole_numbers_takes_them():
    data = bytes(range(256)) * 12
    whole = {"scale": 0.5, "zero_point": -128, "bits": 8}
    found = BENCHMARKS["ic01"].array(data, port((32, 32, 3), **whole))
    assert (found.min(), found.max()) == (-128, 127) and found.dtype.kind == "i"
    found = BENCHMARKS["ic01"].array(data, port((32, 32, 3), **whole, signed=False))
    assert (found.min(), found.max()) == (0, 255)


def test_features_of_speech():
    data = np.arange(490, dtype="i8").astype("i1").tobytes()
    found = BENCHMARKS["kws01"].array(data, port((49, 10, 1)))
    assert found.shape == (1, 49, 10, 1)
    np.testing.assert_allclose(found.ravel()[:3], (np.arange(3) - 83) * 0.5847029089927673)


def test_error_of_an_anomaly_detector():
    given = np.arange(640, dtype="<f4")
    bench = BENCHMARKS["ad01"]
    array = bench.array(given.tobytes(), port((640,)))
    np.testing.assert_array_equal(array[0], given)
    assert bench.result(array, array + 3) == [9.0]


@pytest.mark.parametrize("name", BENCHMARKS)
def test_benchmarks_are_found_by_shape(name):
    bench = BENCHMARKS[name]
    assert benchmark_of("n", [port(bench.shape)], [port((bench.outputs,))]) is bench


def test_network_of_no_benchmark():
    with pytest.raises(InputError, match=r"n: inputs and outputs are x \[64\], x \[10\]: expected"):
        benchmark_of("n", [port((64,))], [port((10,))])
    with pytest.raises(InputError, match=r"expected those of ic01: \[32, 32, 3\] to \[10\]$"):
        benchmark_of("n", [port((640,))], [port((640,))], "ic01")


# The port


class Endpoint:
    """A port whose other end is a test: ``given`` bytes to receive, ``sent`` ones."""

    def __init__(self, *given):
        self.given, self.sent, self.connected = list(given), bytearray(), True
        self.name = "test"

    @property
    def ended(self):
        return not self.given

    def receive(self, wait):
        return False, self.given.pop(0)

    def send(self, data):
        self.sent += data[:3]  # an end that takes little at a time
        return len(data[:3])

    def wait_to_send(self, seconds):
        pass


def test_greeting_is_said_where_asked(device):
    endpoint = Endpoint(b"", b"name%", b"")
    serving.serve(device, endpoint, greet=True)
    assert endpoint.sent == b"m-init-done\r\nm-ready\r\nm-name-dut-[someone]\r\nm-ready\r\n"
    endpoint = Endpoint(b"", b"name%")
    serving.serve(device, endpoint)
    assert endpoint.sent == b"m-name-dut-[someone]\r\nm-ready\r\n"


def test_silence_is_broken_by_empty_lines(device, monkeypatch):
    """The runner gives up after five seconds without a line."""
    monkeypatch.setattr(serving, "KEEP_ALIVE", 0.02)
    load(device, bytes(490))
    waited = threading.Event()

    def slow(_):
        waited.wait(0.3)
        return [1.0], 1

    monkeypatch.setattr(device, "_infer", slow)
    endpoint, began = Endpoint(b"infer 1 0%"), time.monotonic()
    serving.serve(device, endpoint)
    lines = bytes(endpoint.sent).decode().split("\r\n")
    assert lines.count("") > 2 and time.monotonic() > began
    assert [line for line in lines if line][-3:] == [
        "m-infer-done",
        "m-results-[1.000000]",
        "m-ready",
    ]
