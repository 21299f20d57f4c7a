# SPDX-License-Identifier: BSD-2-Clause
"""Reader of a job's TOML file: checks keys and types. :class:`~.job.Job` checks the values."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ...gateware.isa.files import FileError
from ..errors import InputError, JobError, suggestion
from ..examples import FOLDER, is_named_example, user_path
from ..text import visible
from ..toml_files import TomlError, read_toml
from .recognition import read_recognition
from .runs import Run
from .tensors import FileLoad, Save

__all__ = ["Table", "read_job", "read_save"]

_MOST_DIMENSIONS = 32
_TOP = ("core", "program", "program_at", "params", "registers", "run", "load", "save", "limits")
_KINDS = {str: "a string", int: "an integer", dict: "a table", list: "an array"}


def _typed(value, kind):
    return type(value) is kind


class Table:
    """A TOML table with its position in the file, for messages."""

    def __init__(self, origin: object, name: str, values: dict[str, Any]) -> None:
        self.origin = origin
        self.name = name
        self.values = values

    def key(self, key: str) -> str:
        """Full name of a key, with the table's name."""
        return f"{self.name}.{key}" if self.name else key

    def error(self, key: str, expected: str) -> JobError:
        """Builds the error of a wrong value: file, key, value, and what was expected."""
        value = self.values[key]
        shown = (
            f'"{visible(value)}"'
            if isinstance(value, str)
            else str(value).lower()
            if isinstance(value, bool)
            else value
        )
        if isinstance(value, (dict, list)) and len(str(value)) > 60:
            shown = "..."
        return JobError(f"{self.origin}: {self.key(key)} = {shown}: expected {expected}")

    def only(self, keys: Collection[str]) -> None:
        """Raises :class:`JobError` for a key that is not among ``keys``."""
        for key in self.values:
            if key not in keys:
                raise JobError(
                    f"{self.origin}: {self.key(key)}: unknown key{suggestion(key, keys)}"
                )

    def get(self, key: str, kind: type, default: Any = None, required: bool = False) -> Any:
        """The value of ``key``, of type ``kind``, or ``default``."""
        if key not in self.values:
            if required:
                raise JobError(
                    f"{self.origin}: {self.key(key)} is missing; expected {_KINDS[kind]}"
                )
            return default
        if not _typed(self.values[key], kind):
            raise self.error(key, _KINDS[kind])
        return self.values[key]

    def path(self, key: str, what: str = "a file") -> str:
        """Path under ``key``, which names ``what``."""
        name = self.get(key, str, required=True)
        if not name or not visible(name) == name:
            raise self.error(key, f"the path of {what}, without control characters")
        return name

    def place(self, key: str, folder: str | Path, what: str = "a file") -> tuple[str | Path, str]:
        """Folder and name of a file ``what`` to read: below ``folder``, or an example."""
        name = self.path(key, what)
        if not is_named_example(name):
            return folder, name
        try:
            return FOLDER, Path(user_path(name)).relative_to(FOLDER).as_posix()
        except InputError as error:
            raise JobError(f'{self.origin}: {self.key(key)} = "{name}": {error}') from None

    def table(self, key: str) -> Table:
        """The table under ``key``; an empty one if there is none."""
        return Table(self.origin, self.key(key), self.get(key, dict, {}))

    def tables(self, key: str) -> Iterator[Table]:
        """The entries of the array of tables under ``key``."""
        for i, entry in enumerate(self.get(key, list, [])):
            if not isinstance(entry, dict):
                raise JobError(
                    f"{self.origin}: {key}[{i}] = {entry!r}: expected a table ([[{key}]])"
                )
            yield Table(self.origin, f"{key}[{i}]", entry)


def read_job(path: str | Path) -> dict[str, Any]:
    """Reads the TOML file ``path`` and returns the arguments of :class:`~.job.Job`.

    Raises
    ------
    JobError
        One line: file, key, value, and what was expected.
    InputError
        There is no such example.
    """
    path = Path(user_path(path))
    try:
        values = read_toml(path)
    except FileError as error:
        raise JobError(
            f"{error.path}: {'no such job file' if error.missing else error.trouble}"
        ) from None
    except TomlError as error:
        raise JobError(str(error)) from None
    top = Table(path, "", values)
    top.only(_TOP)
    folder = path.parent
    core = top.get("core", str, required=True)
    runs = (
        [_run(folder, table) for table in top.tables("run")]
        if "run" in top.values
        else [_run(folder, top)]
    )
    several = (
        {"runs": runs}
        if "run" in top.values
        else {"program": runs[0].program, "program_at": runs[0].at}
    )
    for key in ("program", "program_at"):
        if key in top.values and "run" in top.values:
            raise top.error(key, "no such key beside [[run]], which names each program")
    limits = top.table("limits")
    limits.only(("cycles",))
    return {
        "origin": path,
        "core": core,
        **several,
        "params": top.get("params", dict, {}),
        "registers": top.get("registers", dict, {}),
        "loads": [_load(folder, table) for table in top.tables("load")],
        "saves": _saves(top, folder, runs),
        "cycle_limit": limits.get("cycles", int),
    }


def _run(folder, table):
    """Reads the program of a ``[[run]]`` table, or of a job with a single program."""
    registers = {}
    if table.name:
        table.only(("program", "program_at", "registers"))
        registers = table.get("registers", dict, {})
    return Run(
        Path(*table.place("program", folder, "a program")),
        table.get("program_at", int, required=True),
        registers,
    )


def _load(folder, table):
    table.only(("file", "at"))
    folder, name = table.place("file", folder)
    return FileLoad(
        table.get("at", int, required=True),
        folder,
        name,
        f'{table.origin}: {table.key("file")} = "{table.values["file"]}": ',
    )


def _saves(top, folder, runs):
    inputs = {
        os.path.realpath(run.program): "the program" if len(runs) == 1 else "a program"
        for run in runs
    }
    for table in top.tables("load"):
        inputs[_place(folder, table.values["file"].split(".npz:")[0])] = "a load"
    saves, names = [], {}
    for table in top.tables("save"):
        save = read_save(table, folder)
        place = _place(folder, save.name)
        if place in inputs:
            raise table.error("file", f"another name: this is the file of {inputs[place]}")
        if place in names:
            raise table.error("file", f"another name: {names[place]} saves to the same file")
        names[place] = table.name
        saves.append(save)
    return saves


def _place(folder, name):
    return os.path.realpath(folder / name)


def read_save(table: Table, folder: str | Path) -> Save:
    """Reads the :class:`~.tensors.Save` of a ``[[save]]`` table."""
    name = table.path("file")
    suffix = Path(name).suffix.lower()
    if suffix == ".npy":
        table.only(("file", "at", "dtype", "shape", "labels", "unpack"))
        at, dtype, shape = table.get("at", int, required=True), _dtype(table), _shape(table)
        return Save(
            at,
            name,
            dtype=dtype,
            shape=shape,
            recognition=read_recognition(table, folder, dtype, shape),
        )
    if suffix == ".bin":
        table.only(("file", "at", "size"))
        size = table.get("size", int, required=True)
        if size < 1:
            raise table.error("size", "a number of bytes, at least 1")
        return Save(table.get("at", int, required=True), name, size=size)
    raise table.error("file", "a name ending in .npy (with dtype and shape) or .bin (with size)")


def _dtype(table):
    name = table.get("dtype", str, required=True)
    try:
        dtype = np.dtype(name)
    except (TypeError, ValueError, SyntaxError):
        dtype = None
    if (
        dtype is None
        or dtype.kind not in "biufc"
        or dtype.byteorder == ">"
        or dtype.subdtype
        or dtype.itemsize > (16 if dtype.kind == "c" else 8)
    ):
        raise table.error(
            "dtype", "a little-endian number type such as int8, uint8, int16, int32 or float32"
        )
    return dtype.name


def _shape(table):
    shape = table.get("shape", list, required=True)
    if not all(type(size) is int and size >= 1 for size in shape):
        raise table.error("shape", "an array of integers of at least 1")
    if len(shape) > _MOST_DIMENSIONS:
        raise table.error("shape", f"at most {_MOST_DIMENSIONS} dimensions, not {len(shape)}")
    return tuple(shape)
