# SPDX-License-Identifier: BSD-2-Clause
"""Examples that ship with the package: networks, arrays, jobs and programs.

A path that begins with ``example:`` names one of them wherever a command or a job reads a file:
``example:digits/cnn.onnx``. They are only read; nothing is written beside them.
"""

from functools import cache
from pathlib import Path

from .errors import InputError, close_names

__all__ = ["FOLDER", "PREFIX", "example_files", "is_example_place", "is_named_example", "user_path"]

PREFIX = "example:"
#: Where they lie, in a checkout and in an installed package.
FOLDER = Path(__file__).resolve().parents[1] / "firmware"
_SUFFIXES = {".a", ".bin", ".c", ".gz", ".md", ".npy", ".npz", ".onnx", ".s", ".toml"}


@cache
def example_files() -> dict[str, Path]:
    """All files of the examples: name without the prefix, such as ``digits/cnn.onnx`` -> path."""
    return {
        path.relative_to(FOLDER).as_posix(): path
        for path in sorted(FOLDER.rglob("*"))
        if path.suffix in _SUFFIXES and path.is_file()
    }


def is_named_example(text: str | Path) -> bool:
    """Whether ``text`` has the prefix ``example:``."""
    return str(text).startswith(PREFIX)


def is_example_place(path: str | Path) -> bool:
    """Whether ``path`` is the folder of the examples, or lies below it."""
    return Path(path).resolve().is_relative_to(FOLDER)


def user_path(text: str | Path) -> str | Path:
    """Resolves a path that the user typed: a name after ``example:`` becomes the path of the
    example, with ``:key`` after an archive if ``text`` has it; any other text is returned
    unchanged.

    Raises
    ------
    InputError
        There is no such example; the message names those that may be meant.
    """
    if not is_named_example(text):
        return text
    archive, colon, key = str(text).removeprefix(PREFIX).partition(".npz:")
    name = archive + (".npz" if colon else "")
    if name in example_files():
        return f"{FOLDER / name}{':' + key if colon else ''}"
    if name.rstrip("/") in _folders():
        return str(FOLDER / name)
    raise InputError(f"no such example: {text}; {_meant(name)}")


def _folders():
    return {
        folder.as_posix()
        for name in example_files()
        for folder in Path(name).parents
        if folder != Path()
    }


def _meant(name):
    known = [*example_files(), *sorted(_folders())]
    base = name.rpartition("/")[2]
    same = [other for other in known if base and other.rpartition("/")[2] == base]
    close = close_names(name, same, 3) or same[:3] or close_names(name, known, 1)
    if not close:
        return "quintet examples lists them"
    return f"did you mean {' or '.join(PREFIX + other for other in close)}?"
