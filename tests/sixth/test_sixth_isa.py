# SPDX-License-Identifier: BSD-2-Clause
"""A sixth instruction set and a board of one's own: what ``quintet new`` writes passes its tests at
once, and the whole house serves it."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from quintet.tools.cli import main
from quintet.tools.new import package

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def installed(folder, name, where="site"):
    """Environment in which the package of ``quintet new`` is installed: its modules, and its entry
    point."""
    info = folder.parent / f"{name}-{where}" / f"{name}-0.1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1.0\n")
    ((group, entries),) = tomllib.loads((folder / "pyproject.toml").read_text())["project"][
        "entry-points"
    ].items()
    (info / "entry_points.txt").write_text(
        f"[{group}]\n" + "".join(f"{key} = {value}\n" for key, value in entries.items())
    )
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder / "src"), str(info.parent)])}


def made(kind, name, folder):
    assert main(["new", kind, name, "-o", str(folder / name)]) == 0
    return folder / name


def python(environment, *arguments, cwd=None):
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        env=environment,
        capture_output=True,
        text=True,
        cwd=cwd,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def quintet(environment, *arguments):
    return python(environment, "-m", "quintet.tools.cli", *arguments)


@pytest.mark.parametrize(
    ("kind", "name", "tests"), [("core", "mycore", 2), ("board", "myboard", 3)]
)
def test_its_tests_pass_at_once(kind, name, tests, tmp_path):
    folder = made(kind, name, tmp_path)
    assert f"{tests} passed" in python(
        os.environ, "-m", "pytest", "-q", "-p", "no:cacheprovider", folder, cwd=folder
    )
    subprocess.run(
        [
            sys.executable,
            "-m",
            "ruff",
            "check",
            "--isolated",
            "--select",
            "E,F",
            "--line-length",
            "200",
            folder,
        ],
        check=True,
    )


def test_job_on_the_model_and_the_virtual_board(tmp_path):
    folder = made("core", "sixth_core", tmp_path)
    environment, programs = installed(folder, "sixth_core"), folder / "programs"
    assert "SixthCore" in quintet(environment, "cores") and "sixth_core" in quintet(
        environment, "boards"
    )
    quintet(environment, "run", programs / "polynomial.toml", "--on", "model")
    assert np.load(programs / "y.npy").tolist() == [3 * 12**2 + 5 * 12 - 7]
    assert "equal" in quintet(
        environment,
        "verify",
        programs / "polynomial.toml",
        "--on",
        "sim:ulx3s-25f/sixth_core",
        "--against",
        "model",
    )
    quintet(environment, "asm", "sixth_core", programs / "polynomial.s", "-o", tmp_path / "p.bin")
    assert quintet(environment, "disasm", "sixth_core", tmp_path / "p.bin").split()[:4] == [
        "ld",
        "1",
        "mul",
        "0",
    ]


def test_board_is_found(tmp_path):
    environment = installed(made("board", "myboard", tmp_path), "myboard")
    (board,) = json.loads(quintet(environment, "boards", "myboard", "--json"))["boards"]
    assert board["title"] == "Myboard" and {"opentpu", "imagine"} <= {
        core["core"] for core in board["cores"]
    }


def test_what_is_written(tmp_path, capsys):
    made("core", "mycore", tmp_path)
    names = {
        path.relative_to(tmp_path / "mycore").as_posix()
        for path in (tmp_path / "mycore").rglob("*")
        if path.is_file()
    }
    assert names == {
        "pyproject.toml",
        "README.md",
        "programs/polynomial.s",
        "programs/polynomial.toml",
        "programs/words.npy",
        "tests/test_mycore.py",
        *(
            f"src/mycore/{part}.py"
            for part in ("__init__", "isa", "software", "params", "model", "core")
        ),
    }
    assert not [
        path
        for path in (tmp_path / "mycore").rglob("*")
        if path.is_file() and b"emplate" in path.read_bytes()
    ]
    shown = capsys.readouterr().out
    assert (
        all(str(tmp_path / "mycore" / name) in shown for name in names)
        and "makes quintet find it" in shown
    )


@pytest.mark.parametrize(
    ("kind", "name", "message"),
    [
        (
            "core",
            "My",
            "new core 'My': expected a name of at most 32 small letters, digits and _, a "
            "letter first",
        ),
        (
            "board",
            "a_name_of_17_chars",
            "new board 'a_name_of_17_chars': expected a name of at most 16",
        ),
        ("core", "opu", "new core opu: quintet has a core of that name, one of its own"),
        ("board", "icebreaker", "new board icebreaker: quintet has a board of that name"),
        ("core", "json", "new core json: there is a Python package of that name"),
        ("core", "numpy", f"package of that name, which would hide it ({np.__file__})"),
    ],
)
def test_names_that_are_refused(kind, name, message, tmp_path, capsys):
    assert main(["new", kind, name, "-o", str(tmp_path / "x")]) == 2
    assert message in capsys.readouterr().err and not (tmp_path / "x").exists()


def test_places_that_are_refused(tmp_path, capsys, monkeypatch):
    assert main(["new", "core", "mycore", "-o", str(tmp_path)]) == 2
    assert (
        f"new core mycore: {tmp_path} is there already; remove it, or name"
        in capsys.readouterr().err
    )
    assert main(["new", "core", "mycore", "-o", str(tmp_path / "a" / "b")]) == 2
    assert (
        f"new core mycore: cannot make {tmp_path / 'a' / 'b'}: No such file or directory"
        in capsys.readouterr().err
    )

    def full(path, data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    assert main(["new", "core", "mycore", "-o", str(tmp_path / "c")]) == 2
    assert (
        f"cannot write {tmp_path / 'c'}: No space left on device" in capsys.readouterr().err
        and not (tmp_path / "c").exists()
    )


def test_tags_differ():
    """A core whose name begins like another's gets letters of its own."""
    assert b'tag="TPU_' not in package.files("core", "tpu_next")["src/tpu_next/isa.py"]
    tags = {package._tag(name) for name in ("cherry_two", "opentpu_two", "imagine_two")}
    from quintet.gateware.cores import core_names, open_core

    assert len(tags) == 3 and not tags & {open_core(name).isa.ISA.tag for name in core_names()}


@pytest.mark.parametrize(
    ("kind", "file", "change", "words"),
    [
        (
            "board",
            "__init__.py",
            lambda text: re.sub(r'fpga="[^"]*"', 'fpga="hx1k"', text),
            "/__init__.py:10: ValueError: board broken: fpga = 'hx1k': expected one of 85f, ",
        ),
        (
            "board",
            "__init__.py",
            lambda text: text + "def f(:\n",
            "/__init__.py:{last}: SyntaxError",
        ),
        (
            "board",
            "__init__.py",
            lambda text: text + "1 / 0\n",
            "/__init__.py:{last}: ZeroDivision",
        ),
        (
            "board",
            "__init__.py",
            lambda text: "",
            "AttributeError: module 'broken' has no attribute",
        ),
        ("core", "isa.py", lambda text: text + "def f(:\n", "/isa.py:{last}: SyntaxError"),
        ("core", "params.py", lambda text: text + "int('x')\n", "/params.py:{last}: ValueError"),
    ],
    ids=["fpga", "board-syntax", "board-raises", "board-empty", "core-syntax", "core-raises"],
)
def test_a_broken_package_is_named_and_skipped(tmp_path, kind, file, change, words):
    folder = made(kind, "broken", tmp_path)
    path = folder / "src" / "broken" / file
    path.write_text(change(path.read_text()))
    last = len(path.read_text().splitlines())
    for command in ("boards", "cores"):
        done = subprocess.run(
            [sys.executable, "-m", "quintet.tools.cli", command],
            env=installed(folder, "broken", command),
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        assert "opentpu" in done.stdout and "broken" not in done.stdout
        if command == f"{kind}s":
            (line,) = done.stderr.splitlines()
            assert line.startswith(f"quintet: {kind} plug-in broken is skipped: ")
            assert words.format(last=last) in line


@pytest.mark.parametrize("kind", ["core", "board"])
def test_a_name_that_is_taken_says_what_has_it_and_where(tmp_path, kind):
    folder = made(kind, "mine", tmp_path)
    done = subprocess.run(
        [sys.executable, "-m", "quintet.tools.cli", "new", kind, "mine", "-o", tmp_path / "again"],
        env=installed(folder, "mine"),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2 and not (tmp_path / "again").exists()
    assert done.stderr == (
        f"quintet: new {kind} mine: quintet has a {kind} of that name, of the installed package "
        f"mine ({folder / 'src' / 'mine' / '__init__.py'}); pip uninstall mine removes it\n"
    )
