# SPDX-License-Identifier: BSD-2-Clause
"""Arrays that a job loads into memory and saves from it: ``.npy``, ``.npz:key`` and ``.bin``."""

import io
import re
from pathlib import Path

import numpy as np

from ...gateware.isa.files import FileError, stored_array, stored_bytes
from ..errors import JobError

__all__ = ["MemoryFile", "encode", "memory_bytes", "read_array"]


def read_array(name, folder=""):
    """The array of file ``name`` (relative to ``folder``): ``.npy``, or ``.npz:key``. Errors as
    :class:`MemoryFile`."""
    if not re.search(r"\.npy$|\.npz(:.*)?$", name, re.IGNORECASE | re.DOTALL):
        raise JobError(
            f"{Path(folder, name)}: unknown suffix {Path(name).suffix!r}; expected .npy or .npz:key"
        )
    return MemoryFile(folder, name).array()


class MemoryFile:
    """File ``name`` (relative to ``folder``) whose contents are to lie in memory: C order,
    little-endian.

    Kind and size of the file are looked at here, its contents by :meth:`read`.

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

    def __init__(self, folder, name):
        member = re.fullmatch(r"(.+\.npz):(.+)", name, re.IGNORECASE | re.DOTALL)
        path = Path(folder, member[1] if member else name)
        suffix = path.suffix.lower()
        if suffix == ".npz" and not member:
            raise JobError('an .npz holds several arrays: name one, as in "data.npz:weights"')
        if suffix not in (".npy", ".npz", ".bin"):
            raise JobError(f"unknown suffix {path.suffix!r}; expected .npy, .npz:key or .bin")
        try:
            self._file = (
                stored_bytes(path)
                if suffix == ".bin"
                else stored_array(path, member[2] if member else None)
            )
        except FileError as error:
            raise _job_error(error) from None
        self.size = self._file.size
        self.dtype, self.shape = (
            (None, None) if suffix == ".bin" else (self._file.dtype, self._file.shape)
        )
        self.what = f"{self.size} bytes"
        if suffix != ".bin":
            self.what = f"{self.dtype.newbyteorder('=').name} {list(self.shape)}"
        if not self.size:
            raise JobError(f"{path} is empty")

    def array(self):
        """The contents as they are stored: an array, or bytes."""
        try:
            return self._file.read()
        except FileError as error:
            raise _job_error(error) from None

    def read(self):
        """The bytes."""
        contents = self.array()
        return contents if isinstance(contents, bytes) else memory_bytes(contents)[0]


def _job_error(error):
    return JobError(f"no such file: {error.path}" if error.missing else str(error))


def memory_bytes(array, path="array"):
    """``array`` as memory holds it (C order, little-endian), and a description of it."""
    array = np.asarray(array)
    if array.dtype.kind not in "biufc" or array.dtype.itemsize > (
        16 if array.dtype.kind == "c" else 8
    ):
        raise JobError(
            f"{path} holds {array.dtype}; expected integers, floats or booleans of at most 64 bits"
        )
    what = f"{array.dtype.newbyteorder('=').name} {list(array.shape)}"
    return np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")).tobytes(), what


def encode(value):
    """File contents: ``.npy`` for an array, ``.npz`` for several by name, UTF-8 for text, raw for
    bytes."""
    if isinstance(value, (bytes, str)):
        return value.encode() if isinstance(value, str) else value
    buffer = io.BytesIO()
    if isinstance(value, dict):
        np.savez_compressed(buffer, **value)
    else:
        np.save(buffer, value, allow_pickle=False)
    return buffer.getvalue()
