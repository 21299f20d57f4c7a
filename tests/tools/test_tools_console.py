# SPDX-License-Identifier: BSD-2-Clause
"""Output of commands: tables, JSON, progress on a terminal and nowhere else."""

import io
import json
import os
import subprocess
import sys
import time

import pytest

from quintet.tools.console import Console, show


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_json_alone(capsys):
    console = Console(as_json=True)
    console.out("for people")
    console.table(("a",), [("b",)])
    console.note("a message")
    console.result({"x": 1})
    out, err = capsys.readouterr()
    assert json.loads(out) == {"x": 1} and err == "a message\n"


def test_table(capsys):
    console = Console()
    console.table(("name", ">value"), [("region_base[0]", 1), ("x" * 300, 23)], title="A table")
    console.result({"x": 1})
    lines = capsys.readouterr().out.splitlines()
    assert "region_base[0]" in "".join(lines) and any(
        "x" * 300 in line and line.rstrip().endswith("23") for line in lines
    )
    assert "{" not in "".join(lines)


def test_progress(monkeypatch, capsys):
    with Console().progress() as report:
        report("write", 1, 2)
    assert capsys.readouterr().err == ""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with Console().progress() as report:
        report("compile [bold]x[/bold]")
        report("write load[0]", 1024, 2048)
        report("write load[0]", 2048, 2048)
        report("run")
    assert "[bold]x" in terminal.getvalue()


@pytest.mark.parametrize(
    "text, shown", [("12 µs ─", "12 \\xb5s \\u2500"), ("x\udcff.bin", "x\\udcff.bin")]
)
def test_signs_that_the_output_has_not_got(text, shown):
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, "ascii", write_through=True)
    show(text, file=file)
    assert raw.getvalue().decode() == shown + "\n"


def test_signs_of_life_end_every_silence(capsys):
    console = Console()
    with console.signs_of_life(lambda: "still at it", silence=0.05):
        time.sleep(0.3)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) >= 2 and set(lines) == {"still at it"}


def test_signs_of_life_keep_quiet_while_notes_come(capsys):
    console = Console()
    with console.signs_of_life(lambda: "still at it", silence=30):
        console.note("a step")
    assert capsys.readouterr().err == "a step\n"


def test_signs_of_life_leave_a_terminal_to_its_spinner(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with Console().signs_of_life(lambda: "still at it", silence=0.01):
        time.sleep(0.05)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    "text, shown",
    [
        ("a\x1b[31mred", "a\\x1b[31mred"),
        ("left\u202eright", "left\\u202eright"),
        ("a\rb\x07", "a\\rb\\x07"),
        ("two\nlines\tand more", "two\nlines\tand more"),
    ],
)
def test_control_characters_of_files_do_not_reach_a_terminal(capsys, text, shown):
    console = Console()
    console.out(text)
    console.note(text)
    out, err = capsys.readouterr()
    assert out == err == shown + "\n"
    console.table(("name",), [(text,)])
    assert not set(capsys.readouterr().out) & set("\x1b\u202e\r\x07")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
@pytest.mark.parametrize(
    "redirection, code, said",
    [
        (">/dev/full", 2, "quintet: cannot write standard output: No space left on device\n"),
        ("2>/dev/full", 0, ""),
        (">&-", 0, ""),
        ("2>&-", 0, ""),
        (">&- 2>&-", 0, ""),
        ("<&-", 0, ""),
    ],
)
@pytest.mark.parametrize("arguments", ["cores", "cores --json", "--help", "--version"])
def test_outputs_that_are_full_or_closed(redirection, code, said, arguments):
    command = f"exec {sys.executable} -m quintet.tools.cli {arguments} {redirection}"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (code, said)
