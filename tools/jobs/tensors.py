# SPDX-License-Identifier: BSD-2-Clause
"""Data that a job writes to memory before the run, and tensors that it saves after the run."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..errors import JobError
from .arrays import MemoryFile, memory_bytes

if TYPE_CHECKING:
    from .recognition import Recognition

__all__ = ["FileLoad", "Load", "Save"]


@dataclass(frozen=True)
class Load:
    """Bytes that are written to main memory before the run. An array given as ``data`` is converted
    to its bytes in memory.

    A job that is saved has a file of that ``name`` (``x.npy``, ``x.bin``, or ``x.npz:key``), any
    other name becomes part of the file's.
    """

    at: int
    data: bytes | np.ndarray
    name: str = "data"
    what: str = ""
    #: As it was given: an array, or bytes.
    given: np.ndarray | bytes | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self):
        object.__setattr__(self, "given", self.data)
        if not isinstance(self.data, (bytes, bytearray)):
            data, what = memory_bytes(self.data, self.name)
            object.__setattr__(self, "data", data)
            object.__setattr__(self, "what", what)

    @property
    def size(self) -> int:
        """Size in bytes."""
        return len(self.data)


class FileLoad:
    """A :class:`Load` from a file; the file is read on first use, after its size was checked.

    ``where`` is put in front of messages.
    """

    def __init__(self, at: int, folder: str | Path, name: str, where: str = "") -> None:
        self.at, self.name, self.folder, self._where = at, name, folder, where
        self._file = self._checked(lambda: MemoryFile(folder, name))
        self.size, self.what = self._file.size, self._file.what

    @cached_property
    def data(self) -> bytes:
        """The file's contents as bytes in memory."""
        return self._checked(self._file.read)

    def _checked(self, read):
        try:
            return read()
        except JobError as error:
            raise JobError(f"{self._where}{error}") from None


@dataclass(frozen=True)
class Save:
    """A tensor saved after the run: ``size`` raw bytes, or an array of ``dtype`` and ``shape``.

    ``recognition`` (:class:`~.recognition.Recognition`) says which images its numbers classify, if
    they do.
    """

    at: int
    name: str
    dtype: str | None = None
    shape: tuple[int, ...] = ()
    size: int = 0
    recognition: Recognition | None = None

    def __post_init__(self):
        if self.dtype is not None:
            object.__setattr__(self, "shape", tuple(self.shape))
            object.__setattr__(
                self, "size", int(np.prod(self.shape, dtype=object)) * np.dtype(self.dtype).itemsize
            )

    def decode(self, data: bytes) -> np.ndarray | bytes:
        """Decodes the tensor from ``data``, the bytes read from memory."""
        if self.dtype is None:
            return bytes(data)
        return (
            np.frombuffer(data, dtype=np.dtype(self.dtype).newbyteorder("<"))
            .reshape(self.shape)
            .copy()
        )

    def element(self, offset: int) -> str:
        """Name of the element at byte ``offset`` of this tensor: ``y.npy[2, 1]``."""
        if self.dtype is None:
            return f"{self.name} byte {offset}"
        index = np.unravel_index(offset // np.dtype(self.dtype).itemsize, self.shape)
        return f"{self.name}[{', '.join(str(int(i)) for i in index)}]"
