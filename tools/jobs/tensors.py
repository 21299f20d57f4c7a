# SPDX-License-Identifier: BSD-2-Clause
"""What a job puts into memory before the run, and what it keeps after it."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ..errors import JobError
from .arrays import MemoryFile, memory_bytes

__all__ = ["FileLoad", "Load", "Save"]


@dataclass(frozen=True)
class Load:
    """Bytes put into main memory before the run. ``data`` may be given as an array; it is kept as
    memory holds it.

    A job that is saved has a file of that ``name`` (``x.npy``, ``x.bin``, or ``x.npz:key``), any
    other name becomes part of the file's.
    """

    at: int
    data: bytes
    name: str = "data"
    what: str = ""
    #: As it was given: an array, or bytes.
    given: object = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self):
        object.__setattr__(self, "given", self.data)
        if not isinstance(self.data, (bytes, bytearray)):
            data, what = memory_bytes(self.data, self.name)
            object.__setattr__(self, "data", data)
            object.__setattr__(self, "what", what)

    @property
    def size(self):
        return len(self.data)


class FileLoad:
    """As :class:`Load`, of a file: its contents are read when they are first asked for, once their
    size is known to fit.

    ``where`` is put in front of messages.
    """

    def __init__(self, at, folder, name, where=""):
        self.at, self.name, self.folder, self._where = at, name, folder, where
        self._file = self._checked(lambda: MemoryFile(folder, name))
        self.size, self.what = self._file.size, self._file.what

    @cached_property
    def data(self):
        return self._checked(self._file.read)

    def _checked(self, read):
        try:
            return read()
        except JobError as error:
            raise JobError(f"{self._where}{error}") from None


@dataclass(frozen=True)
class Save:
    """A tensor kept after the run: ``size`` raw bytes, or an array of ``dtype`` and ``shape``.

    ``recognition`` (:class:`~.recognition.Recognition`) says which images its numbers classify, if
    they do.
    """

    at: int
    name: str
    dtype: str | None = None
    shape: tuple | None = None
    size: int | None = None
    recognition: object = None

    def __post_init__(self):
        if self.dtype is not None:
            object.__setattr__(self, "shape", tuple(self.shape))
            object.__setattr__(
                self, "size", int(np.prod(self.shape, dtype=object)) * np.dtype(self.dtype).itemsize
            )

    def decode(self, data):
        """The tensor that ``data``, the bytes read from memory, stands for."""
        if self.dtype is None:
            return bytes(data)
        return (
            np.frombuffer(data, dtype=np.dtype(self.dtype).newbyteorder("<"))
            .reshape(self.shape)
            .copy()
        )

    def element(self, offset):
        """Text for byte ``offset`` of this tensor: ``y.npy[2, 1]``."""
        if self.dtype is None:
            return f"{self.name} byte {offset}"
        index = np.unravel_index(offset // np.dtype(self.dtype).itemsize, self.shape)
        return f"{self.name}[{', '.join(str(int(i)) for i in index)}]"
