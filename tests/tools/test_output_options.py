# SPDX-License-Identifier: BSD-2-Clause
"""Every option of every command that names an output, with every kind of path: what cannot be
written is refused before anything is done, and names mean what they mean to a shell."""

import argparse
import os
from pathlib import Path

import pytest

from quintet.firmware.opentpu import digits
from quintet.tools import cli, outputs

#: (Command, option) -> arguments that lead to the output, without the option itself. ``JOB`` is a
#: shipped job, ``PROGRAM`` its program.
OUTPUTS = {
    ("asm", "-o"): ["opentpu", "program.s"],
    ("disasm", "-o"): ["opentpu", "program.bin"],
    ("compile", "--out"): ["none.onnx", "--for", "model:opentpu"],
    ("infer", "--trace"): ["plan", "--input", "x.npy", "--on", "sim:ulx3s-85f/opentpu"],
    ("infer", "--out"): ["plan", "--input", "x.npy", "--on", "model:opentpu"],
    ("compare", "--html"): ["none.onnx", "--board", "ulx3s-85f"],
    ("compare", "--out"): ["none.onnx", "--board", "ulx3s-85f"],
    ("measure", "--out"): ["opu/layers"],
    ("report", "-o"): ["result.json"],
    ("run", "--out"): ["JOB", "--on", "model"],
    ("run", "--vcd"): ["JOB", "--on", "sim:ulx3s-85f/opentpu"],
    ("run", "--fst"): ["JOB", "--on", "sim:ulx3s-85f/opentpu"],
    ("run", "--trace"): ["JOB", "--on", "sim:ulx3s-85f/opentpu"],
    ("selftest", "--report"): ["sim:ulx3s-85f/opentpu", "--yes"],
    ("verify", "--out"): ["plan", "--on", "model"],
    ("serve", "--link"): ["sim:ulx3s-85f/opentpu"],
    ("mlperf", "--link"): ["plan", "--on", "sim:ulx3s-85f/opentpu"],
    ("build", "-o"): ["icebreaker", "opentpu"],
    ("examples", "--out"): ["digits/cnn.onnx"],
    ("verilog", "-o"): ["--core", "opentpu", "--preset", "sim"],
    ("export", "-o"): ["plan", "--c"],
    ("csr", "-o"): ["ulx3s-85f", "opentpu"],
    ("image", "-o"): ["plan"],
    ("matrix", "-o"): [],
    ("new", "-o"): ["core", "mine"],
}
#: Options that name what is read.
INPUTS = {
    ("compile", "--calibrate"),
    ("infer", "--input"),
    ("infer", "--labels"),
    ("compare", "--calibrate"),
    ("compare", "--input"),
    ("compare", "--labels"),
    ("studio", "--plan"),
    ("verify", "--input"),
}
#: Endings that an option wants.
ENDINGS = {
    "csr": ".json",
    "export": ".h",
    "infer --trace": ".json",
    "run --trace": ".json",
    "run --vcd": ".vcd",
    "run --fst": ".fst",
}
#: Those that write quickly: (command, option) -> what is found at the place.
QUICK = [
    ("disasm", "-o"),
    ("report", "-o"),
    ("run", "--out"),
    ("examples", "--out"),
    ("verilog", "-o"),
    ("csr", "-o"),
    ("new", "-o"),
]


def test_every_option_that_names_a_file_is_known_here():
    found = set()
    for command in cli.COMMANDS:
        parser = argparse.ArgumentParser()
        cli._arguments(command, parser)
        for action in parser._actions:
            metavar = str(action.metavar or "")
            if action.option_strings and metavar.startswith(("FILE", "DIR", "OUT", "PATH")):
                found.add((command, action.option_strings[-1]))
    assert found == OUTPUTS.keys() | INPUTS


def spelled(command, option, place):
    arguments = OUTPUTS[command, option]
    if arguments[:1] == ["JOB"]:
        arguments = [str(digits.job(8)), *arguments[1:]]
    return [command, *arguments, option, place]


def ending(command, option):
    return ENDINGS.get(command, ENDINGS.get(f"{command} {option}", ""))


@pytest.fixture
def folder(quintet, tmp_path, monkeypatch):
    """The folder that commands run in, with what they read."""
    monkeypatch.chdir(tmp_path)
    job = Path(digits.job(8))
    (tmp_path / "program.bin").write_bytes(bytes(14))
    ran = quintet("run", job, "--on", "model", "--out", tmp_path / "results", "--json")
    (tmp_path / "result.json").write_text(ran.out)
    (tmp_path / "file").touch()
    return tmp_path


@pytest.mark.parametrize("command, option", OUTPUTS, ids=lambda word: word.lstrip("-"))
@pytest.mark.parametrize(
    "place, words",
    [
        ("n" * 300, "name too long"),
        ("d/" * 2100 + "x", "name too long"),
        ("file/x", ""),
        ("denied/x", "cannot be written"),
        ("", ""),
        ("example:x", "examples are only read; expected a place of your own"),
    ],
    ids=["long name", "long path", "below a file", "unwritable", "empty", "example"],
)
def test_places_that_are_refused(quintet, folder, monkeypatch, command, option, place, words):
    (folder / "denied").mkdir()
    real = os.access
    # A superuser may write anywhere.
    monkeypatch.setattr(
        outputs.os,
        "access",
        lambda path, mode: Path(path).name != "denied" and real(path, mode),
    )
    place += ending(command, option) if place else ""
    before = sorted(path.name for path in folder.rglob("*"))
    ran = quintet(*spelled(command, option, place))
    assert ran.code == 2 and ran.out == "", ran.err
    line = ran.err.splitlines()[-1]
    assert (option if option != "--out" else "-o") in line or option in line, line
    assert words in line.lower(), line
    assert sorted(path.name for path in folder.rglob("*")) == before


@pytest.mark.parametrize("command, option", QUICK, ids=lambda word: word.lstrip("-"))
def test_places_that_are_written(quintet, folder, command, option):
    (folder / "real").mkdir()
    (folder / "link").symlink_to("real")
    end = ending(command, option)
    for name in (f"plain{end}", f"real/relative{end}", f"link/linked{end}", f"{folder}/whole{end}"):
        ran = quintet(*spelled(command, option, name))
        assert ran.code == 0, ran.err
        assert (folder / name).exists()
    assert (folder / "real" / f"linked{end}").exists()
