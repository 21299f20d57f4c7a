# SPDX-License-Identifier: BSD-2-Clause
"""Output files of commands. The files of a job stay below its folder; they are written completely
and together, or not at all."""

import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from ..gateware.isa.files import write_whole
from .errors import InputError
from .examples import is_named_example

__all__ = [
    "OutputPath",
    "check_folder",
    "check_output",
    "place_below",
    "write_output",
    "write_places",
]

#: Whether files can be named relative to an open folder. Elsewhere nothing guards against links
#: that are made during the run.
_AT = {os.open, os.mkdir, os.unlink, os.rename} <= os.supports_dir_fd and hasattr(os, "O_DIRECTORY")


# What the user names


def check_output(path: str | os.PathLike[str], option: str = "-o") -> None:
    """Checks the name of an output file before any work is done: raises `InputError` for an empty
    name or a missing folder."""
    if not str(path):
        raise InputError(f"{option} '': expected the name of a file")
    _check_name(path, option)
    folder = Path(path).parent
    if not folder.is_dir():
        raise InputError(f"{option} {path}: no such folder: {folder}")
    if os.path.isdir(path):
        raise InputError(f"{option} {path}: is a folder; expected the name of a file")
    _check_writable(folder, path, option)


def _check_name(path, option):
    if "\0" in str(path):
        shown = str(path).replace("\0", "\\0")
        raise InputError(f"{option} {shown}: the name holds a NUL")
    if is_named_example(path):
        raise InputError(f"{option} {path}: examples are only read; expected a place of your own")
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        pass  # it is made, or refused by the caller
    except OSError as error:  # a name or a path that is too long, a folder that may not be searched
        raise InputError(f"{option} {path}: {error.strerror}") from None


def check_folder(path: str | os.PathLike[str], option: str = "-o") -> None:
    """Checks the name of a results folder, which need not exist yet, before any work is done:
    raises `InputError` for an empty name or the name of a file."""
    if not str(path):
        raise InputError(f"{option} '': expected a folder")
    _check_name(path, option)
    if os.path.lexists(path) and not os.path.isdir(path):
        raise InputError(f"{option} {path}: is a file; expected a folder")
    for part in Path(path).parents:
        if os.path.lexists(part) and not os.path.isdir(part):
            raise InputError(f"{option} {path}: {part} is no folder")
    there = next(part for part in (Path(path), *Path(path).parents) if part.is_dir())
    _check_writable(there, path, option)


def _check_writable(folder, path, option):
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(f"{option} {path}: the folder {folder.resolve()} cannot be written")


def write_output(path: str | os.PathLike[str], data: bytes) -> None:
    """Writes one file completely or not at all."""
    try:
        write_whole(Path(path), data)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from None


# Files that a job names


@dataclass(frozen=True)
class OutputPath:
    """Path of a file of a job: ``parts`` below the folder ``root``, which contains no link;
    ``shown`` is its name in messages."""

    root: str
    parts: tuple[str, ...]
    shown: str = field(compare=False)


def place_below(root: str | os.PathLike[str], name: str, allow_outside: bool = False) -> OutputPath:
    """The :class:`OutputPath` of file ``name`` below the folder ``root``. A link at the file's own
    place is replaced, not followed.

    Raises
    ------
    ValueError
        It leads out, by its name or by a link, and ``allow_outside`` is not set; or it cannot be a
        file.
    """
    if is_named_example(name):
        raise ValueError("examples are only read; expected a place of your own")
    path = os.path.join(root, name)
    base, folder = os.path.realpath(root), os.path.realpath(os.path.dirname(path) or ".")
    below = Path(folder).is_relative_to(base)
    if (os.path.isabs(name) or not below) and not allow_outside:
        raise ValueError(f"leads to {folder}, expected a place below {base} (or --allow-outside)")
    for part in (Path(folder), *Path(folder).parents):
        if os.path.lexists(part) and not os.path.isdir(part):
            raise ValueError(f"cannot write {path}: {part} is no folder")
    if os.path.isdir(path) and not os.path.islink(path):
        raise ValueError(f"cannot write {path}: it is a folder")
    between = Path(folder).relative_to(base).parts if below else ()
    return OutputPath(base if below else folder, (*between, os.path.basename(path)), str(path))


def write_places(files: Mapping[OutputPath, bytes]) -> None:
    """Writes all of ``files`` or none: each is written to a temporary file in its folder, then all
    are renamed.

    No link below a root is followed: one that was put there since :func:`place_below` fails the
    write.
    """
    written: list[tuple[_Folder, str, OutputPath]] = []
    folders: list[_Folder] = []
    shown = ""
    try:
        for place, data in files.items():
            shown = place.shown
            folder = _Folder(place)
            folders.append(folder)
            written.append((folder, folder.temporary, place))
            folder.create(data)
        while written:
            folder, temporary, place = written[0]
            shown = place.shown
            folder.rename(temporary, place.parts[-1])
            written.pop(0)
    except OSError as error:
        raise InputError(f"cannot write {shown}: {error.strerror or error}") from None
    finally:
        for folder, temporary, _ in written:
            with suppress(OSError):
                folder.unlink(temporary)
        for folder in folders:
            folder.close()


class _Folder:
    """An open folder of an :class:`OutputPath`, created if needed."""

    def __init__(self, place):
        os.makedirs(place.root, exist_ok=True)
        self.temporary = f".{place.parts[-1]}.{secrets.token_hex(8)}"
        self._path, self._handle = os.path.join(place.root, *place.parts[:-1]), None
        if not _AT:
            os.makedirs(self._path, exist_ok=True)
            return
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
        self._handle = os.open(place.root, flags)
        try:
            for part in place.parts[:-1]:
                with suppress(FileExistsError):
                    os.mkdir(part, dir_fd=self._handle)
                inner = os.open(part, flags, dir_fd=self._handle)
                os.close(self._handle)
                self._handle = inner
        except OSError:
            self.close()
            raise

    def _name(self, name):
        return name if self._handle is not None else os.path.join(self._path, name)

    def create(self, data):
        flags = (
            os.O_WRONLY
            | os.O_CREAT
            | os.O_EXCL
            | getattr(os, "O_NOFOLLOW", 0)
            | getattr(os, "O_BINARY", 0)
        )
        with os.fdopen(
            os.open(self._name(self.temporary), flags, 0o666, dir_fd=self._handle), "wb"
        ) as file:
            file.write(data)

    def rename(self, old, new):
        if self._handle is None:
            os.replace(self._name(old), self._name(new))
        else:
            os.rename(old, new, src_dir_fd=self._handle, dst_dir_fd=self._handle)

    def unlink(self, name):
        os.unlink(self._name(name), dir_fd=self._handle)

    def close(self):
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None
