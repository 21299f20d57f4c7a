# SPDX-License-Identifier: BSD-2-Clause
"""Interface of byte pipes to a board."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Pipe"]


#: Binary data that is read but not kept.
BytesLike: TypeAlias = bytes | bytearray | memoryview


class BytePipe(Protocol):
    """Interface of a byte pipe, as ``LinkClient`` uses it (members as for :class:`Pipe`)."""

    @property
    def name(self) -> str: ...

    @property
    def bytes_per_second(self) -> float | None: ...

    @property
    def served(self) -> bool: ...

    def write(self, data: BytesLike) -> None: ...

    def read(self, limit: int, timeout: float) -> bytes: ...

    def close(self) -> None: ...

    def now(self) -> float: ...

    def sleep(self, seconds: float) -> None: ...


class Pipe:
    """Base class of byte pipes, as ``LinkClient`` uses them.

    Attributes
    ----------
    name : str
        For messages.
    bytes_per_second : float or None
        What the line carries each way; ``None`` if it has no rate of its own.
    served : bool
        A server tells the time of the board behind it: :meth:`now` counts that time.
    """

    name: str = "pipe"
    bytes_per_second: float | None = None

    @property
    def served(self) -> bool:
        return False

    def write(self, data: BytesLike) -> None:
        """Sends all of ``data``. Raises :class:`~.errors.LinkError` if that is not possible."""
        raise TypeError(f"{type(self).__name__} does not say how to write")

    def read(self, limit: int, timeout: float) -> bytes:
        """Reads at most ``limit`` bytes; waits for the first, at most ``timeout`` seconds of
        :meth:`now`. Returns nothing at timeout."""
        raise TypeError(f"{type(self).__name__} does not say how to read")

    def close(self) -> None:
        """Closes the pipe; may be called again."""

    def now(self) -> float:
        """Time in seconds, with an arbitrary origin. A virtual board counts simulated time."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Waits for ``seconds`` of :meth:`now`."""
        time.sleep(seconds)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
