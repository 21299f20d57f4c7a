# SPDX-License-Identifier: BSD-2-Clause
"""Array files that a job loads into memory or saves from it: ``.npy``, ``.npz:key`` and
``.bin``."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import numpy as np

from ...gateware.isa.files import FileError, StoredArray, StoredBytes, stored_array, stored_bytes
from ..errors import JobError

__all__ = ["MemoryFile", "encode", "memory_bytes", "read_array"]


def read_array(name: str, folder: str | Path = "") -> np.ndarray:
    """Reads the array file ``name`` (relative to ``folder``): ``.npy``, or ``.npz:key``. Raises the
    errors of :class:`MemoryFile`."""
    if not re.search(r"\.npy$|\.npz(:.*)?$", name, re.IGNORECASE | re.DOTALL):
        raise JobError(
            f"{Path(folder, name)}: unknown suffix {Path(name).suffix!r}; expected .npy or .npz:key"
        )
    array = MemoryFile(folder, name).array()
    assert isinstance(array, np.ndarray)  # by its suffix
    return array


class MemoryFile:
    """A file ``name`` (relative to ``folder``) whose contents are loaded into memory: C order,
    little-endian.

    The constructor checks kind and size; :meth:`read` reads the contents.

    Attributes
    ----------
    size : int, bytes in memory
    what : str, for messages: ``int8 [3, 4]``, or ``24 bytes``
    dtype, shape : of an array; ``None`` for raw bytes

    Raises
    ------
    JobError
        Missing, unreadable, no regular, truncated or empty file, unknown suffix, pickled or
        unsuitable data, more than main memory ever holds. The message does not name the job; the
        caller puts it in front.
    """

    def __init__(self, folder: str | Path, name: str) -> None:
        member = re.fullmatch(r"(.+\.npz):(.+)", name, re.IGNORECASE | re.DOTALL)
        path = Path(folder, member[1] if member else name)
        suffix = path.suffix.lower()
        if suffix == ".npz" and not member:
            raise JobError('an .npz holds several arrays: name one, as in "data.npz:weights"')
        if suffix not in (".npy", ".npz", ".bin"):
            raise JobError(f"unknown suffix {path.suffix!r}; expected .npy, .npz:key or .bin")
        try:
            self._file: StoredArray | StoredBytes = (
                stored_bytes(path)
                if suffix == ".bin"
                else stored_array(path, member[2] if member else None)
            )
        except FileError as error:
            raise _job_error(error) from None
        self.size: int = self._file.size
        self.dtype: np.dtype | None = None
        self.shape: tuple[int, ...] | None = None
        self.what = f"{self.size} bytes"
        if isinstance(self._file, StoredArray):
            self.dtype, self.shape = np.dtype(self._file.dtype), self._file.shape
            self.what = f"{self.dtype.newbyteorder('=').name} {list(self.shape)}"
        if not self.size:
            raise JobError(f"{path} is empty")

    def array(self) -> np.ndarray | bytes:
        """Contents as stored in the file: an array, or bytes."""
        try:
            return self._file.read()
        except FileError as error:
            raise _job_error(error) from None

    def read(self) -> bytes:
        """Contents as bytes in memory."""
        contents = self.array()
        return contents if isinstance(contents, bytes) else memory_bytes(contents)[0]


def _job_error(error):
    return JobError(f"no such file: {error.path}" if error.missing else str(error))


def memory_bytes(array: np.typing.ArrayLike, path: str | Path = "array") -> tuple[bytes, str]:
    """The bytes of ``array`` in memory (C order, little-endian), and a description such as ``int8
    [3, 4]``."""
    array = np.asarray(array)
    if array.dtype.kind not in "biufc" or array.dtype.itemsize > (
        16 if array.dtype.kind == "c" else 8
    ):
        raise JobError(
            f"{path} holds {array.dtype}; expected integers, floats or booleans of at most 64 bits"
        )
    what = f"{array.dtype.newbyteorder('=').name} {list(array.shape)}"
    return np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")).tobytes(), what


def encode(value: Any) -> bytes:
    """Encodes file contents: ``.npy`` for an array, ``.npz`` for a dict of arrays, UTF-8 for text,
    bytes unchanged."""
    if isinstance(value, (bytes, str)):
        return value.encode() if isinstance(value, str) else value
    buffer = io.BytesIO()
    if isinstance(value, dict):
        np.savez_compressed(buffer, **value)
    else:
        np.save(buffer, value, allow_pickle=False)
    return buffer.getvalue()
