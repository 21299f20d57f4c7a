# SPDX-License-Identifier: BSD-2-Clause
"""Generator of the package of a new core or board from its template."""

import importlib.util
import io
import re
import shutil
import sys
from importlib.metadata import entry_points
from pathlib import Path

import numpy as np

from ...boards import board_names
from ...gateware.cores import core_names, open_core
from ..errors import InputError

__all__ = ["KINDS", "files", "write"]

_HERE = Path(__file__).resolve().parent
#: Kind of package -> names in use, and the longest name (a board's stands in the info ROM).
KINDS = {"core": (core_names, 32), "board": (board_names, 16)}

_PYPROJECT = """\
[build-system]
requires = ["setuptools>=68"]
build-backend = "setuptools.build_meta"

[project]
name = "{name}"
version = "0.1.0"
description = "A {kind} for quintet"
requires-python = ">=3.10"
dependencies = ["quintet"]

[project.entry-points."quintet.{kind}s"]
{name} = "{name}"

[tool.setuptools.packages.find]
where = ["src"]

[tool.pytest.ini_options]
testpaths = ["tests"]
pythonpath = ["src"]
"""

_README = {
    "core": """\
# {title}

A core for quintet. `pip install -e .` makes quintet find it; `pytest` (`pip install pytest`)
compares its gateware with its golden model.

    quintet cores {name}
    quintet run programs/polynomial.toml --on model
    quintet verify programs/polynomial.toml --on sim:ulx3s-25f/{name} --against model

What to change first: `src/{name}/isa.py`, the table of instructions, then `model.py`, then
`core.py`.
""",
    "board": """\
# {title}

A board for quintet. `pip install -e .` makes quintet find it; `pytest` (`pip install pytest`)
checks its pins, clock and memory.

    quintet boards {name}
    quintet build {name} opentpu

What to change first: `src/{name}/__init__.py`, the description of the board.
""",
}


def _check(kind, name):
    taken, longest = KINDS[kind][0](), KINDS[kind][1]
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or len(name) > longest:
        raise InputError(
            f"new {kind} {name!r}: expected a name of at most {longest} small letters, digits "
            f"and _, a letter first"
        )
    if name in taken:
        raise InputError(
            f"new {kind} {name}: quintet has a {kind} of that name, {_where(kind, name)}"
        )
    if name in sys.stdlib_module_names or importlib.util.find_spec(name) is not None:
        raise InputError(
            f"new {kind} {name}: there is a Python package of that name, which would hide it"
            f"{_module_file(name)}"
        )


def _where(kind, name):
    """Origin of the core or board with this name: the installed package that brings it and the
    command that removes it, or quintet itself."""
    for entry in entry_points(group=f"quintet.{kind}s"):
        if entry.name == name and entry.dist is not None:
            return (
                f"of the installed package {entry.dist.name}{_module_file(entry.module)}; "
                f"pip uninstall {entry.dist.name} removes it"
            )
    return "one of its own"


def _module_file(name):
    """Suffix `` (FILE)`` with the file of the module; empty for a module without a file."""
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return ""
    return f" ({spec.origin})" if spec is not None and spec.origin not in (None, "built-in") else ""


def _tag(name):
    """Four letters that identify the core in a board's info ROM, different from those of every
    other core."""
    taken = {open_core(other).isa.ISA.tag for other in core_names()}
    wanted = name.replace("_", "").upper()[:4].ljust(4, "X")
    return next(
        tag
        for tag in (
            wanted,
            *(f"{wanted[:3]}{digit}" for digit in range(10)),
            *(f"{wanted[:2]}{number:02}" for number in range(100)),
        )
        if tag not in taken
    )


def files(kind: str, name: str) -> dict[str, bytes]:
    """Files of the package: path within its folder -> contents.

    Raises
    ------
    InputError
        ``name`` cannot be a package's name, or is in use.
    """
    _check(kind, name)
    title = "".join(word.capitalize() for word in name.split("_"))

    def named(text):
        return text.replace("TMPL", _tag(name)).replace("Template", title).replace("template", name)

    found = {
        "pyproject.toml": _PYPROJECT.format(kind=kind, name=name),
        "README.md": _README[kind].format(name=name, title=title),
    }
    for path in sorted((_HERE / kind).iterdir()):
        if path.is_file():
            place = (
                f"tests/test_{name}.py"
                if path.name == "check.py"
                else f"src/{name}/{path.name}"
                if path.suffix == ".py"
                else f"programs/{path.name}"
            )
            found[place] = named(path.read_text(encoding="utf-8"))
    found = {place: text.encode() for place, text in found.items()}
    if kind == "core":
        words = io.BytesIO()
        np.save(words, np.array([12, 3, 5, -7], np.int16))
        found["programs/words.npy"] = words.getvalue()
    return found


def write(kind: str, name: str, folder: str | Path) -> list[str]:
    """Writes the package to ``folder``, which must not exist; writes all of it or nothing.

    Returns
    -------
    list of str
        Its files.
    """
    made = files(kind, name)
    folder = Path(folder)
    try:
        folder.mkdir()
    except FileExistsError:
        raise InputError(
            f"new {kind} {name}: {folder} is there already; remove it, or name another "
            "folder with -o"
        ) from None
    except OSError as error:
        raise InputError(
            f"new {kind} {name}: cannot make {folder}: {error.strerror or error}"
        ) from None
    try:
        for place, data in made.items():
            (folder / place).parent.mkdir(parents=True, exist_ok=True)
            (folder / place).write_bytes(data)
    except BaseException as error:
        shutil.rmtree(folder, ignore_errors=True)
        if isinstance(error, OSError):
            raise InputError(
                f"new {kind} {name}: cannot write {folder}: {error.strerror or error}"
            ) from None
        raise
    return sorted(made)
