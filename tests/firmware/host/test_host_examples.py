# SPDX-License-Identifier: BSD-2-Clause
"""Examples of the C host: the POSIX program on a served virtual board, the others by a compiler
against declarations of what they use."""

import os
import shutil
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import numpy as np
import pytest

from quintet.tools.cli import main
from quintet.tools.compiler.api import compile_model
from tests.firmware.host.library import HOST, WARNINGS, compilers
from tests.firmware.host.model_board import ModelBoard

EXAMPLES = HOST / "examples"
STAND_INS = HOST.parents[1] / "tests" / "firmware" / "host" / "stand_ins"
DIGITS = HOST.parent / "digits"
IMAGES = np.load(DIGITS / "digits.npz")["images"][:8].astype("<f4")
#: Most bytes of code that the library may take of a Cortex-M.
MOST_CODE = 8192


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    """Folder with ``digits.h``, and the outputs that a session gives for ``IMAGES``."""
    folder = tmp_path_factory.mktemp("digits")
    compiled = compile_model(
        DIGITS / "cnn.onnx", "model:opentpu?preset=sim-ext", calibration=IMAGES
    )
    compiled.save(folder / "plan")
    arguments = ["export", "--c", str(folder / "plan"), "-o", str(folder / "digits.h")]
    assert main([*arguments, "--library"]) == 0
    with compiled.open("model:opentpu?preset=sim-ext") as session:
        return folder, session(IMAGES).astype("<f4")


@contextmanager
def terminal(board):
    """Name of a pseudo-terminal with ``board`` (a device model) behind it."""
    import tty

    ours, theirs = os.openpty()
    tty.setraw(theirs)

    def work():
        while True:
            try:
                answer = board.feed(os.read(ours, 4096))
                while answer:
                    answer = answer[os.write(ours, answer) :]
            except OSError:  # closed: the test is over
                return

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        yield os.ttyname(theirs)
    finally:
        os.close(theirs)
        # Its number may soon be that of another terminal, whose bytes the thread must not take.
        thread.join()
        os.close(ours)


@pytest.fixture(scope="module")
def program(network):
    folder, _ = network
    command = ["cc", *WARNINGS, "-O1", "-I", folder, "-DNETWORK=digits"]
    command += ['-DNETWORK_HEADER="digits.h"', EXAMPLES / "posix" / "main.c", folder / "quintet.c"]
    subprocess.run([*command, "-o", folder / "run"], check=True)
    return folder / "run"


posix = pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")


@posix
def test_posix_program_gives_what_a_session_gives(program, network):
    with terminal(ModelBoard("opentpu", "sim-ext")) as name:
        done = subprocess.run(
            [program, name, "3000000"], input=IMAGES.tobytes(), capture_output=True, timeout=60
        )
    assert done.returncode == 0, done.stderr
    found = np.frombuffer(done.stdout, "<f4").reshape(len(IMAGES), -1)
    np.testing.assert_array_equal(found, network[1])
    lines = done.stderr.decode().splitlines()
    assert lines[0] == "model with OTPU, 50 MHz" and lines[-1] == f"{len(IMAGES)} runs"


@posix
@pytest.mark.parametrize("runs", ["1", "3", "8", "100"])
def test_posix_program_by_lists_of_runs(program, network, runs):
    """Lists shorter than, as long as, and longer than the inputs, which end within the last one."""
    board = ModelBoard("opentpu", "sim-ext", run_list=True)
    with terminal(board) as name:
        done = subprocess.run(
            [program, name, "3000000", runs],
            input=IMAGES.tobytes(),
            capture_output=True,
            timeout=60,
        )
    assert done.returncode == 0, done.stderr
    found = np.frombuffer(done.stdout, "<f4").reshape(len(IMAGES), -1)
    np.testing.assert_array_equal(found, network[1])
    assert done.stderr.decode().splitlines()[1:] == [f"{len(IMAGES)} runs"]
    assert board.starts == -(-len(IMAGES) // int(runs)) * int(runs)


@posix
@pytest.mark.parametrize("compiler", compilers())
def test_sanitizers_find_nothing_in_lists_and_plain_runs(compiler, network, tmp_path):
    folder, expected = network
    flags = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-DQUINTET_CHUNK=64"]
    command = [compiler, *WARNINGS, "-O1", *flags, "-I", folder, "-DNETWORK=digits"]
    command += ['-DNETWORK_HEADER="digits.h"', "-DQUINTET_OVERLAP", EXAMPLES / "posix" / "main.c"]
    subprocess.run([*command, folder / "quintet.c", "-o", tmp_path / "run"], check=True)
    for runs in ([], ["3"]):
        with terminal(ModelBoard("opentpu", "sim-ext", run_list=True)) as name:
            done = subprocess.run(
                [tmp_path / "run", name, "3000000", *runs],
                input=IMAGES.tobytes(),
                capture_output=True,
                env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"},
            )
        assert done.returncode == 0, done.stderr.decode()[-4000:]
        found = np.frombuffer(done.stdout, "<f4").reshape(len(IMAGES), -1)
        np.testing.assert_array_equal(found, expected)


@posix
def test_posix_program_finds_that_the_board_holds_the_network(program, network):
    board = ModelBoard("opentpu", "sim-ext")
    for told in ([], ["the board holds digits"]):
        with terminal(board) as name:
            done = subprocess.run([program, name, "3000000"], input=b"", capture_output=True)
        assert done.returncode == 0, done.stderr
        assert done.stderr.decode().splitlines()[1:] == [*told, "0 runs"]


@posix
def test_posix_program_on_a_served_virtual_board(tmp_path):
    """The whole way: gateware, its UART link, ``quintet serve``, and the library in C."""
    target = "sim:ulx3s-85f/opentpu"
    compiled = compile_model(DIGITS / "cnn.onnx", target, calibration=IMAGES)
    compiled.save(tmp_path / "plan")
    header = tmp_path / "digits.h"
    assert main(["export", "--c", str(tmp_path / "plan"), "-o", str(header), "--library"]) == 0
    command = ["cc", *WARNINGS, "-I", tmp_path, "-DNETWORK=digits", "-DNETWORK_HEADER=<digits.h>"]
    command += [EXAMPLES / "posix" / "main.c", tmp_path / "quintet.c", "-o", tmp_path / "run"]
    subprocess.run(command, check=True)
    line = tmp_path / "board"
    with compiled.open() as session:
        expected = session(IMAGES)
    with subprocess.Popen(
        [sys.executable, "-m", "quintet.tools.cli", "serve", target, "--link", line],
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        try:
            while not line.exists() and server.poll() is None:
                time.sleep(0.05)
            done = subprocess.run(
                [tmp_path / "run", line, "3000000"], input=IMAGES.tobytes(), capture_output=True
            )
        finally:
            server.terminate()
    assert done.returncode == 0, done.stderr
    found = np.frombuffer(done.stdout, "<f4").reshape(expected.shape)
    np.testing.assert_array_equal(found, expected.astype("f4"))
    assert done.stderr.decode().startswith("ulx3s-85f with OTPU, ")


@posix
@pytest.mark.parametrize(
    "arguments, given, code, message",
    [
        ([], b"", 2, "usage:"),
        (["/nowhere", "3000000"], b"", 3, "/nowhere: No such file or directory"),
        (["/dev/null", "1234"], b"", 3, "1234: not a rate that this system has a name for"),
        (["BOARD", "115200"], b"\0" * 10, 2, "the inputs end within run 0"),
        (["BOARD", "115200", "0"], b"", 2, "usage:"),
        (["BOARD", "115200", "2"], b"", 1, "digits: the build walks no lists of runs"),
        (["OTHER", "115200"], b"", 1, "digits: the core was built with other parameters"),
    ],
    ids=["usage", "port", "rate", "inputs", "runs", "lists", "build"],
)
def test_posix_program_refuses(program, arguments, given, code, message):
    presets = {"BOARD": "sim-ext", "OTHER": "sim"}
    board = ModelBoard("opentpu", presets.get(arguments[0] if arguments else "", "sim"))
    with terminal(board) as name:
        arguments = [name if argument in presets else argument for argument in arguments]
        done = subprocess.run(
            [program, *arguments], input=given, capture_output=True, timeout=60, text=False
        )
    assert done.returncode == code and message in done.stderr.decode()


def test_arduino_sketch_compiles(network, tmp_path):
    sketch = EXAMPLES / "arduino" / "quintet_digits" / "quintet_digits.ino"
    # Arduino's builder puts this line in front of a sketch, and compiles it as C++.
    (tmp_path / "sketch.cpp").write_text(f'#include <Arduino.h>\n#include "{sketch}"\n')
    command = ["c++", "-std=gnu++17", "-Wall", "-Wextra", "-Werror", "-c", "sketch.cpp"]
    subprocess.run([*command, "-I", STAND_INS, "-I", network[0]], cwd=tmp_path, check=True)


def test_zephyr_application_compiles(network, tmp_path):
    source = EXAMPLES / "zephyr" / "src" / "main.c"
    flags = [flag for flag in WARNINGS if flag != "-std=c99"]
    command = ["cc", "-std=c11", *flags, "-c", source, "-o", tmp_path / "main.o"]
    subprocess.run([*command, "-I", STAND_INS, "-I", network[0]], check=True)


@pytest.mark.skipif(shutil.which("arm-none-eabi-gcc") is None, reason="needs arm-none-eabi-gcc")
@pytest.mark.parametrize("cpu", ["cortex-m0plus", "cortex-m4", "cortex-m33"])
def test_code_size(cpu, tmp_path):
    command = ["arm-none-eabi-gcc", *WARNINGS, "-Os", "-mthumb", f"-mcpu={cpu}", "-c"]
    subprocess.run([*command, HOST / "quintet.c", "-o", tmp_path / "out.o"], check=True)
    sizes = subprocess.run(
        ["arm-none-eabi-size", tmp_path / "out.o"], capture_output=True, text=True, check=True
    )
    text, data, bss = map(int, sizes.stdout.splitlines()[1].split()[:3])
    assert text <= MOST_CODE and data == bss == 0
