# SPDX-License-Identifier: BSD-2-Clause
"""Children end with the command that began them, by whatever signal; locks name their holder."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from quintet.gateware.processes import Locked, child, file_lock, run_child

#: A command whose child has a child; each writes its process number into a file of its own.
COMMAND = """
import sys, tempfile
from quintet.gateware.processes import ended_by_signals, run_child
from quintet.tools.errors import Exit
inner = "import os, time; open('inner', 'w').write(str(os.getpid())); time.sleep(60)"
script = f'{sys.executable} -c "{inner}" & echo $! > outer; wait'
try:
    with ended_by_signals(), tempfile.TemporaryDirectory(dir=".") as folder:
        run_child(["sh", "-c", script])
except KeyboardInterrupt as error:
    sys.exit(error.code)
"""


def numbers(folder, seconds=20):
    """The process numbers that the files ``outer`` and ``inner`` come to hold."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        found = [
            (folder / name).read_text().strip() if (folder / name).exists() else ""
            for name in ("outer", "inner")
        ]
        if all(found):
            return [int(number) for number in found]
        time.sleep(0.02)
    raise AssertionError("no children began")


def gone(number, seconds=10):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        state = Path(f"/proc/{number}/stat")
        if not state.exists() or state.read_text().rpartition(")")[2].split()[0] == "Z":
            return True
        time.sleep(0.02)
    return False


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize(
    "number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_children_and_temporary_folders_end_with_a_signal(tmp_path, number, code):
    process = subprocess.Popen(
        [sys.executable, "-c", COMMAND],
        cwd=tmp_path,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    children = numbers(tmp_path)
    process.send_signal(number)
    assert process.wait(20) == code
    assert all(map(gone, children))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["inner", "outer"]


def test_what_is_given_up_ends_with_all_that_it_began(tmp_path):
    inner = "import os, time; open('inner', 'w').write(str(os.getpid())); time.sleep(60)"
    script = f'{sys.executable} -c "{inner}" & echo $! > outer; wait'
    with pytest.raises(subprocess.TimeoutExpired):
        run_child(["sh", "-c", script], cwd=tmp_path, timeout=2)
    assert all(map(gone, numbers(tmp_path)))


def test_a_child_that_ignores_its_end_is_killed(tmp_path):
    script = "trap '' TERM; echo $$ > outer; echo $$ > inner; sleep 60 & wait; sleep 60"
    with pytest.raises(ZeroDivisionError), child(["sh", "-c", script], cwd=tmp_path):
        number = numbers(tmp_path)[0]
        raise ZeroDivisionError
    assert gone(number)


def test_what_a_child_says():
    done = run_child(["cat"], input="x", capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "x")
    assert run_child(["sh", "-c", "cat; exit 3"]).returncode == 3


def test_a_lock_names_its_holder(tmp_path):
    path = tmp_path / "lock"
    with file_lock(path, wait=False):
        with (
            pytest.raises(Locked, match=f"process {os.getpid()}, since 2[0-9]{{3}}-"),
            file_lock(path, wait=False),
        ):
            pass
    with file_lock(path, wait=True):
        pass
