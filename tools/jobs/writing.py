# SPDX-License-Identifier: BSD-2-Clause
"""Writer of a job's TOML file and of the programs, arrays and labels that are not files yet."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..errors import JobError
from ..outputs import place_below, write_places
from ..text import visible
from .arrays import encode
from .reading import Table, read_save
from .runs import Source
from .tensors import FileLoad

if TYPE_CHECKING:
    from .job import Job

__all__ = ["write_job"]


def write_job(job: Job, path: Path, comment: str, extra: Mapping[str, np.ndarray]) -> Path:
    """Writes ``job`` as ``path`` (:meth:`.job.Job.save`)."""
    writer = _Writer(path)
    text = writer.text(job, comment)
    for name, array in extra.items():
        writer.member(name, array)
    files = {**writer.files, path.name: text}
    try:
        write_places(
            {place_below(path.parent, name): encode(contents) for name, contents in files.items()}
        )
    except ValueError as error:
        raise JobError(f"{path}: {error}") from None
    return path


class _Writer:
    """Collects the text of a job and the files to be written beside it.

    Attributes
    ----------
    files : name -> contents, as :func:`~.arrays.encode` takes them
    """

    def __init__(self, path):
        self.path, self.files = path, {}
        self._read, self._written = set(), {os.path.realpath(path)}

    def text(self, job, comment):
        lines = [f"# {visible(line)}".rstrip() for line in comment.splitlines()] + [
            f"core = {_toml(job.core)}"
        ]
        runs = []
        for run in job.runs:
            runs += [
                "[[run]]",
                f"program = {_toml(self._program(run.program))}",
                f"program_at = {run.at:#x}",
            ]
            runs += [f"registers = {_toml(_Hex(run.registers))}"] if run.registers else []
        lines += [] if job.several else runs[1:]
        for name, values, shown in (
            ("params", job.params, _toml),
            ("registers", job.registers, hex),
        ):
            lines += [f"[{name}]"] * bool(values) + [
                f"{_key(key)} = {shown(value)}" for key, value in values.items()
            ]
        lines += runs if job.several else []
        for index, load in enumerate(job.loads):
            lines += [
                "[[load]]",
                f"file = {_toml(self._load(f'load[{index}]', load))}",
                f"at = {load.at:#x}",
            ]
        for index, save in enumerate(job.saves):
            lines += ["[[save]]", *self._save(f"save[{index}]", save)]
        lines += [] if job.cycle_limit is None else ["[limits]", f"cycles = {job.cycle_limit}"]
        return "\n".join(lines) + "\n"

    def _error(self, what, name, expected):
        return JobError(f"{self.path}: {what} = {json.dumps(name)}: expected {expected}")

    def _own(self, what, name):
        """Reserves ``name`` for a file that the job or its run writes; no other member of the job
        may read or write it."""
        place = os.path.realpath(self.path.parent / name)
        if place in self._read or place in self._written:
            raise self._error(what, name, "another name: there is a file of this one")
        self._written.add(place)
        return name

    def _add(self, what, name, contents):
        if Path(name).name != name or not name.isprintable() or name in ("", ".."):
            raise self._error(what, name, "the name of a file beside the job")
        self.files[self._own(what, name)] = contents
        return name

    def _free(self, name, suffix):
        """Unique file name made of the job's name and ``name``, numbered if needed."""
        names = (f"{self.path.stem}_{name}{number or ''}{suffix}" for number in count())
        return next(
            found
            for found in names
            if os.path.realpath(self.path.parent / found) not in self._written | self._read
        )

    def _relative(self, what, name):
        """Path of an existing file, relative to the job."""
        place = os.path.realpath(name.split(".npz:")[0])
        if place in self._written:
            raise self._error(what, name, "another file: the job writes this one")
        if not place.isprintable():
            raise self._error(what, name, "a path without control characters")
        self._read.add(place)
        folder, base = (
            os.path.realpath(folder) for folder in (os.path.dirname(name) or ".", self.path.parent)
        )
        return Path(os.path.relpath(os.path.join(folder, os.path.basename(name)), base)).as_posix()

    def _program(self, program):
        if isinstance(program, Source):
            for name, contents in program.files.items():
                # A program may run more than once.
                if self.files.get(name) is not contents:
                    self._add("program", name, contents)
            return program.name
        if isinstance(program, (bytes, bytearray)):
            program = bytes(program)
            same = (
                name
                for name, contents in self.files.items()
                if name.endswith(".bin") and contents == program
            )
            return next(same, None) or self._add("program", self._free("program", ".bin"), program)
        return self._relative("program", str(program))

    def _load(self, what, load):
        if isinstance(load, FileLoad):
            return self._relative(f"{what}.file", os.path.join(load.folder, load.name))
        if not load.size:
            raise self._error(f"{what}.file", load.name, "contents: it is empty")
        raw = isinstance(load.given, (bytes, bytearray))
        if ".npz:" in load.name:
            return self.member(
                load.name, np.frombuffer(load.data, np.uint8) if raw else load.given, f"{what}.file"
            )
        suffix = ".bin" if raw else ".npy"
        name = load.name if load.name.endswith(suffix) else self._free(load.name, suffix)
        return self._add(f"{what}.file", name, load.data if raw else np.asarray(load.given))

    def member(self, name, array, what="extra"):
        """Adds ``array`` to the archive and returns its name, ``"x.npz:key"``."""
        archive, _, key = name.partition(":")
        if not isinstance(self.files.get(archive), dict):
            self._add(what, archive, {})
        if (
            not re.fullmatch(r"\w[\w.+-]*", key)
            or key == "file"
            or key.endswith(".npy")
            or key in self.files[archive]
        ):
            raise self._error(
                what,
                name,
                'an array of letters, digits and _ . + -, other than "file" and those that are '
                "there",
            )
        self.files[archive][key] = np.asarray(array)
        return name

    def _save(self, what, save):
        suffix = ".bin" if save.dtype is None else ".npy"
        name = self._own(
            f"{what}.file",
            save.name if Path(save.name).suffix.lower() == suffix else save.name + suffix,
        )
        values = {
            "file": name,
            "at": save.at,
            **(
                {"size": save.size}
                if save.dtype is None
                else {"dtype": np.dtype(save.dtype).name, "shape": [int(n) for n in save.shape]}
            ),
        }
        read_save(
            Table(self.path, what, values), self.path.parent
        )  # refuses what it would refuse in the file
        lines = [
            f"{key} = {value:#x}" if key == "at" else f"{key} = {_toml(value)}"
            for key, value in values.items()
        ]
        found = save.recognition
        if found is not None:
            labels = (
                self._relative(f"{what}.labels", found.file)
                if found.file
                else self._add(what, self._free("labels", ".npy"), np.asarray(found.labels))
            )
            unpack = {
                key: value
                for key in ("shape", "order", "classes")
                if (value := getattr(found, key)) is not None
            }
            lines += [
                f"labels = {_toml(labels)}",
                *([f"unpack = {_toml(unpack)}"] if unpack else []),
            ]
        return lines


class _Hex(dict):
    """A TOML table whose numbers are written in hexadecimal."""


def _toml(value):
    if isinstance(value, dict):
        shown = hex if isinstance(value, _Hex) else _toml
        return f"{{ {', '.join(f'{_key(key)} = {shown(part)}' for key, part in value.items())} }}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, (str, bool)) else str(value)


def _key(name):
    return name if re.fullmatch(r"[\w-]+", name, re.ASCII) else json.dumps(name)
