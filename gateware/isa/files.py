# SPDX-License-Identifier: BSD-2-Clause
"""Safe readers of untrusted files: only regular files, with sizes checked before contents, and
nothing evaluated. Pure Python, except for arrays.

Every program, array, archive and job is read here, so that a file can neither hang its reader nor
take memory that its limit does not allow. Limits are in bytes.
"""

from __future__ import annotations

import ast
import errno
import math
import os
import re
import stat
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np


from ..suggestions import suggestion

__all__ = [
    "LARGEST",
    "MOST_ARRAY",
    "MOST_TEXT",
    "FileError",
    "StoredArray",
    "StoredBytes",
    "gunzip",
    "load_archive",
    "load_array",
    "read_bytes",
    "stored_array",
    "stored_bytes",
    "write_whole",
]

#: Main memory ends below the control block at 0x8000_0000: nothing larger is ever of use.
LARGEST = 0x8000_0000
#: An array that an assembler or a script reads, and a program's text (unpacked, where it is
#: compressed).
MOST_ARRAY = MOST_TEXT = 1 << 29
_MOST_DIMENSIONS = 32
_MOST_HEADER = 10_000
_MOST_DIRECTORY = 4 << 20
_CHUNK = 1 << 16
_KINDS = (
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


class FileError(ValueError):
    """Error in a file; the text names it and says in one line what is wrong.

    ``trouble`` is the text behind the name, ``reason`` its core, ``missing`` whether there is no
    such file, ``keys`` the arrays of an archive that lacks the requested one.
    """

    def __init__(
        self,
        path: Path | str,
        reason: str,
        *,
        unreadable: bool = False,
        missing: bool = False,
        keys: Iterable[str] | None = None,
    ) -> None:
        self.path, self.reason, self.missing, self.keys = path, reason, missing, keys
        self.trouble = f"cannot be read ({reason})" if unreadable else reason
        super().__init__(f"{path} {self.trouble}")


@contextmanager
def _opened(path, most):
    """Opens a regular file of at most ``most`` bytes: ``(file, size)``."""
    if "\0" in str(path):
        raise FileError(str(path).replace("\0", "\\0"), "the name holds a NUL", unreadable=True)
    try:
        _check_kind(path, os.stat(path))  # to open a device may already act on it
        # Should a pipe take the file's place meanwhile, opening it does not wait for a writer.
        flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        file = os.fdopen(os.open(path, flags), "rb")
    except OSError as error:
        raise FileError(
            path,
            error.strerror or str(error),
            unreadable=True,
            missing=isinstance(error, FileNotFoundError),
        ) from None
    with file:
        found = os.fstat(file.fileno())
        _check_kind(path, found)
        if found.st_size > most:
            raise FileError(path, f"has {found.st_size} bytes, expected at most {most}")
        try:
            yield file, found.st_size
        except OSError as error:
            raise FileError(path, error.strerror or str(error), unreadable=True) from None


def _check_kind(path, found):
    if stat.S_ISDIR(found.st_mode):
        raise FileError(path, os.strerror(errno.EISDIR), unreadable=True)
    if not stat.S_ISREG(found.st_mode):
        kind = next((name for test, name in _KINDS if test(found.st_mode)), "of an unknown kind")
        raise FileError(path, f"{kind}, expected a regular file", unreadable=True)


def read_bytes(path: Path | str, most: int = LARGEST) -> bytes:
    """Reads the bytes of a regular file."""
    with _opened(path, most) as (file, size):
        data = file.read(size + 1)
        if len(data) != size:
            raise FileError(path, "changed while it was read")
        return data


@dataclass(frozen=True)
class StoredBytes:
    """A file on disk whose size is known and whose contents have not been read."""

    path: str | Path
    size: int

    def read(self) -> bytes:
        """Reads the bytes. Raises :class:`FileError` if the file has changed since."""
        data = read_bytes(self.path)
        if len(data) != self.size:
            raise FileError(self.path, "changed while it was read")
        return data


def stored_bytes(path: Path | str, most: int = LARGEST) -> StoredBytes:
    """Looks up a regular file and returns its :class:`StoredBytes`."""
    with _opened(path, most) as (_, size):
        return StoredBytes(path, size)


def write_whole(path: str | os.PathLike[str], data: bytes | str) -> None:
    """Writes ``data`` (text or bytes) to ``path``, completely or not at all. Raises ``OSError``."""
    path = Path(path)
    data = data.encode() if isinstance(data, str) else data
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        # mkstemp makes files for their owner alone; give them what open() would have given.
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, path)
    except OSError:
        os.unlink(temporary)
        raise


# gzip


def _inflated(path, data):
    """Decompresses gzip data in chunks."""
    state, begun = None, False
    for at in range(0, len(data), _CHUNK):
        given = bytes(data[at : at + _CHUNK])
        while given:
            if state is None:
                given = given.lstrip(b"\0") if begun else given  # padding after a member
                if not given:
                    break
                state, begun = zlib.decompressobj(wbits=31), True
            try:
                piece = state.decompress(given, _CHUNK * 16)
            except zlib.error:
                raise FileError(path, "is damaged (gzip)") from None
            yield piece
            given = state.unconsumed_tail
            if state.eof:
                given, state = state.unused_data, None
    while state is not None and not state.eof:
        piece = state.decompress(b"", _CHUNK * 16)
        if not piece:
            raise FileError(path, "is damaged (gzip)")
        yield piece


def gunzip(path: str | Path, data: bytes, most: int = MOST_TEXT) -> bytes:
    """Decompresses the gzip file ``path``, whose bytes are ``data``; the size is checked before any
    contents are kept."""
    size = 0
    for piece in _inflated(path, data):
        size += len(piece)
        if size > most:
            raise FileError(path, f"unpacks to more than {most} bytes")
    return b"".join(_inflated(path, data))


# Arrays


@dataclass(frozen=True)
class StoredArray:
    """An array on disk whose header has been read.

    ``path`` of a ``.npy``, or of an archive with ``key``; ``dtype``, ``shape``, ``fortran`` (order
    of its elements), ``size`` in bytes.
    """

    path: str | Path
    key: str | None
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    fortran: bool
    size: int

    def read(self) -> np.ndarray:
        """Reads the array. Raises :class:`FileError` if the file is damaged or has changed
        since."""
        import numpy as np

        with _array_file(self.path, self.key, LARGEST) as (file, size, what):
            if _header(self.path, file, size, what, LARGEST)[:3] != (
                self.dtype,
                self.shape,
                self.fortran,
            ):
                raise FileError(self.path, "changed while it was read")
            values = np.empty(self.size, np.uint8)
            at = 0
            while at < self.size:
                count = file.readinto(memoryview(values.data)[at : at + _CHUNK * 16])
                if not count:
                    raise FileError(self.path, f"{what}is truncated")
                at += count
        return values.view(self.dtype).reshape(self.shape, order="F" if self.fortran else "C")


def stored_array(path: Path | str, key: str | None = None, most: int = LARGEST) -> StoredArray:
    """Reads the header of a ``.npy``, or of the array ``key`` of an archive, and returns its
    :class:`StoredArray`; ``most`` limits the array and the file.

    Raises
    ------
    FileError
        Missing, no regular file, too large, no array, pickled, truncated, of a size that its header
        does not say.
    """
    with _array_file(path, key, most) as (file, size, what):
        return StoredArray(path, key, *_header(path, file, size, what, most))


def load_array(path: str | Path, key: str | None = None, most: int = MOST_ARRAY) -> np.ndarray:
    """Reads an array; arguments as for :func:`stored_array`."""
    return stored_array(path, key, most).read()


def load_archive(path: Path | str, most: int = MOST_ARRAY) -> dict[str, np.ndarray]:
    """Reads all arrays of an archive, name -> array; ``most`` limits their sum."""
    with _opened(path, most) as (file, size), _archive(path, file, size) as archive:
        if sum(entry.file_size for entry in archive.infolist()) > most:
            raise FileError(path, f"unpacks to more than {most} bytes")
        keys = _keys(archive)
    return {key: load_array(path, key, most) for key in keys}


@contextmanager
def _array_file(path, key, most):
    """Opens the file or archive member that contains an array: the file, its size, and a
    description for messages."""
    with _opened(path, most) as (file, size):
        if key is None:
            yield file, size, ""
            return
        what = f"array '{key}' "
        with _archive(path, file, size) as archive:
            keys = _keys(archive)
            if key not in keys:
                raise FileError(path, f"has no array '{key}'{suggestion(key, keys)}", keys=keys)
            entry = archive.getinfo(keys[key])
            # Other methods unpack more at once than they are asked for.
            if (
                entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
                or entry.flag_bits & 1
            ):
                raise FileError(
                    path, f"{what}is encrypted or packed by a method other than deflate"
                )
            try:
                with archive.open(entry) as member:
                    yield member, entry.file_size, what
            except FileError:
                raise
            except (
                zipfile.BadZipFile,
                zlib.error,
                struct.error,
                EOFError,
                RuntimeError,
                OverflowError,
                ValueError,
            ):
                raise FileError(path, f"{what}is truncated or damaged") from None


def _keys(archive):
    return {name.removesuffix(".npy"): name for name in archive.namelist()}


@contextmanager
def _archive(path, file, size):
    """Opens the zip archive in ``file``, after checking the size of its directory, which zipfile
    reads completely."""
    file.seek(max(0, size - 22 - 0xFFFF))
    tail = file.read(22 + 0xFFFF)
    at = tail.rfind(b"PK\5\6")
    if at < 0 or len(tail) - at < 22:
        raise FileError(path, "is no .npz archive (or is truncated)")
    directory = struct.unpack_from("<I", tail, at + 12)[0]
    if directory > min(size, _MOST_DIRECTORY) or tail[max(0, at - 20) : at][:4] == b"PK\6\7":
        raise FileError(
            path, f"is no .npz archive of fewer than 65,535 arrays (directory of {directory} bytes)"
        )
    try:
        archive = zipfile.ZipFile(file)
    except (zipfile.BadZipFile, struct.error, ValueError, NotImplementedError, IndexError):
        raise FileError(path, "is no .npz archive (or is damaged)") from None
    with archive:
        yield archive


def _header(path, file, size, what, most):
    """Parses the ``.npy`` header at the beginning of ``file``, checked against its ``size``:
    ``(dtype, shape, fortran, bytes)``."""
    if file.read(6) != b"\x93NUMPY":
        raise FileError(path, f"{what}is no .npy file (or is truncated)")
    version = file.read(2)
    wide = version[:1] in (b"\2", b"\3")
    if version[:1] not in (b"\1", b"\2", b"\3"):
        raise FileError(
            path,
            f"{what}is truncated"
            if not version
            else f"{what}is a .npy of the unknown version {version[0]}",
        )
    length = file.read(4 if wide else 2)
    count = int.from_bytes(length, "little")
    if count > _MOST_HEADER:
        raise FileError(
            path, f"{what}has a header of {count} bytes, expected at most {_MOST_HEADER}"
        )
    text = file.read(count)
    if len(length) < 2 or len(text) < count:
        raise FileError(path, f"{what}is truncated")
    dtype, shape, fortran = _meaning(
        path, text.decode("utf-8" if version[:1] == b"\3" else "latin-1", "replace"), what
    )
    wanted = math.prod(shape) * dtype.itemsize
    if wanted > most:
        raise FileError(
            path, f"{what}of shape {list(shape)} takes {wanted} bytes, expected at most {most}"
        )
    there = size - 8 - len(length) - count
    if there != wanted:
        raise FileError(
            path,
            f"{what}is truncated ({there} bytes of {wanted})"
            if there < wanted
            else f"{what}has {there - wanted} bytes too many for its shape {list(shape)}",
        )
    return dtype, shape, fortran, wanted


def _meaning(path, text, what):
    import numpy as np

    try:
        values = ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        values = None
    if not isinstance(values, dict) or set(values) != {"descr", "fortran_order", "shape"}:
        raise FileError(path, f"{what}has a header that is no array's")
    descr, shape = values["descr"], values["shape"]
    if isinstance(descr, str) and "O" in descr:
        raise FileError(
            path, f"{what}holds pickled objects instead of numbers; they are never unpickled"
        )
    if (
        not isinstance(descr, str)
        or not re.fullmatch(r"[<>=|]?[biufc?]([1-8]|16)?", descr)
        or not _known(np, descr)
    ):
        raise FileError(
            path,
            f"{what}holds {str(descr)[:40]}; expected integers, floats or booleans of at most "
            f"64 bits",
        )
    if not isinstance(shape, tuple) or not all(type(n) is int and n >= 0 for n in shape):
        raise FileError(path, f"{what}has a shape that is none: {str(shape)[:40]}")
    if len(shape) > _MOST_DIMENSIONS:
        raise FileError(
            path, f"{what}has {len(shape)} dimensions, expected at most {_MOST_DIMENSIONS}"
        )
    return np.dtype(descr), shape, values["fortran_order"] is True


def _known(np, descr):
    try:
        dtype = np.dtype(descr)
    except TypeError:
        return False
    return dtype.itemsize <= (16 if dtype.kind == "c" else 8)
