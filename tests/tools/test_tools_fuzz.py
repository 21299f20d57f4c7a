# SPDX-License-Identifier: BSD-2-Clause
"""No command line and no file makes a command end otherwise than it may: exit codes 0 to 5, one
line that says what is wrong, no traceback, no hang, no file half-written or changed by a command
that failed. ``python tests/tools/fuzz_worker.py SEED`` repeats a case."""

import json
import os
import queue
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import pytest

from tests.support.shares import parts
from tests.tools.fuzz_files import LARGE, mutate, random_of

WORKER = Path(__file__).with_name("fuzz_worker.py")
ENDINGS = Path(__file__).with_name("fuzz_endings.py")
#: Seconds without a word after which a command is said to hang.
HANGS = 120
SHORT, LONG, BLOCK = 300, 3000, 500
#: Commands that get a signal.
ENDED, ENDED_LONG = 24, 400


def cases(first, last):
    """Results of the cases of seeds ``first`` to ``last`` - 1, in order; one that hangs or takes
    its process down has it said in ``troubles``."""
    while first < last:
        with subprocess.Popen(
            [sys.executable, str(WORKER), str(first), str(last)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="backslashreplace",
        ) as process:
            said, errors = queue.Queue(), []
            readers = [
                threading.Thread(target=_read, args=(process.stdout, said)),
                threading.Thread(target=lambda p=process, e=errors: e.extend(p.stderr)),
            ]
            for reader in readers:
                reader.start()
            running, trouble = None, ""
            while True:
                try:
                    line = said.get(timeout=HANGS)
                except queue.Empty:
                    trouble = f"it hangs for {HANGS} s"
                    process.kill()
                    break
                if line is None:
                    break
                if line.startswith("start "):
                    running = int(line.split()[1])
                else:
                    yield json.loads(line)
                    first, running = running + 1, None
            process.wait()
            for reader in readers:
                reader.join()
        if first < last:
            assert running is not None, "".join(errors)[-3000:]
            yield {
                "seed": running,
                "args": ["?"],
                "code": None,
                "troubles": [
                    trouble
                    or f"its process ended with {process.returncode}: {''.join(errors)[-2000:]}"
                ],
                "err": "",
            }
            first = running + 1


def _read(stream, said):
    for line in stream:
        said.put(line)
    said.put(None)


def check(first, last):
    """Runs cases and fails with all that went wrong; the number of cases with each exit code."""
    found, codes = [], Counter()
    for result in cases(first, last):
        codes[result["code"]] += 1
        if result["troubles"]:
            found.append(
                (
                    f"python tests/tools/fuzz_worker.py {result['seed']}    # quintet "
                    f"{' '.join(map(repr, result['args']))}\n    "
                )
                + "; ".join(result["troubles"])
            )
    assert not found, f"{len(found)} of {last - first} cases\n" + "\n".join(found)
    return codes


@parts(2)
def test_no_input_is_a_defect(part):
    half = SHORT // 2
    codes = check(part * half, (part + 1) * half)
    # Commands that work and commands that do not, so that the fuzzer itself does not wither.
    assert set(codes) >= {0, 2, 3} and codes[0] >= half // 10 and codes[2] >= half // 10, codes


def check_endings(first, last):
    """Runs commands with closed descriptors and signals; fails with all that went wrong. The
    number of those that a signal ended."""
    done = subprocess.run(
        [sys.executable, str(ENDINGS), str(first), str(last)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
    )
    results = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(results) == last - first, done.stderr[-3000:]
    found = [
        f"python tests/tools/fuzz_endings.py {result['seed']}    # {result['signal']} after "
        f"{result['seconds']} s, quintet {' '.join(map(repr, result['args']))}\n    "
        + "; ".join(result["troubles"])
        for result in results
        if result["troubles"]
    ]
    assert not found, f"{len(found)} of {last - first} cases\n" + "\n".join(found)
    return sum(result["signal"] is not None for result in results)


@pytest.mark.skipif(os.name != "posix", reason="signals and descriptors of POSIX")
def test_signals_and_closed_descriptors_leave_nothing():
    assert check_endings(0, ENDED)


@pytest.mark.long
@pytest.mark.skipif(os.name != "posix", reason="signals and descriptors of POSIX")
def test_signals_and_closed_descriptors_leave_nothing_long():
    first = 1_000_000 * int(os.environ.get("QUINTET_SEED", "1"))
    check_endings(first, first + ENDED_LONG)


def test_a_large_file_of_a_folder_is_not_broken(tmp_path):
    """One that another mutation made, a hole of 3 GiB, took all memory of the fuzzer."""
    for seed in range(20):
        folder = tmp_path / str(seed)
        folder.mkdir()
        with open(folder / "hole.s", "wb") as file:
            file.truncate(LARGE)
        mutate(random_of(seed, "files"), folder)
        # The whole folder may have gone.
        assert not folder.is_dir() or {p.name for p in folder.iterdir()} in ({"hole.s"}, set())
        hole = folder / "hole.s"
        assert not hole.exists() or (hole.stat().st_size, hole.stat().st_blocks) == (LARGE, 0), seed


@pytest.mark.long
@pytest.mark.parametrize("block", range(LONG // BLOCK))
def test_no_input_is_a_defect_long(block):
    """``make test-long``, QUINTET_SEED."""
    first = 1_000_000 * int(os.environ.get("QUINTET_SEED", "1")) + block * BLOCK
    check(first, first + BLOCK)


@pytest.mark.parametrize(
    "args",
    [
        ("verify", "x" * 5000, "--on", "model"),
        ("report", "x" * 5000, "-o", "out.html"),
        (
            "compare",
            "example:digits/cnn.onnx",
            "--board",
            "ulx3s-85f",
            "--input",
            "x" * 5000 + ".npy",
        ),
    ],
    ids=lambda args: args[0],
)
def test_an_input_whose_name_is_too_long_is_refused(quintet, tmp_path, monkeypatch, args):
    """It may be a file or a folder, which is looked at."""
    monkeypatch.chdir(tmp_path)
    ran = quintet(*args)
    assert ran.code == 2 and "name too long" in ran.err.lower(), ran.err[-300:]


@pytest.mark.parametrize("command", ["asm", "disasm"])
def test_a_program_whose_name_is_too_long_is_refused(quintet, tmp_path, command):
    """PIM takes folders of programs, and looks whether it is one."""
    ran = quintet(command, "pim", "x" * 5000 + ".s", "-o", tmp_path / "out.json")
    assert ran.code == 2 and "name too long" in ran.err.lower(), ran.err[-300:]
