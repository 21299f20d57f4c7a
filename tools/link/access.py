# SPDX-License-Identifier: BSD-2-Clause
"""Access to memory or registers: a read or a write, of one range or of runs of bytes at equal
distances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .pipe import BytesLike

__all__ = ["Access", "total"]


@dataclass(frozen=True)
class Access:
    """A read of ``size`` bytes from ``address``, or a write of ``data`` there.

    With ``run`` the bytes are those of runs of ``run`` bytes, ``stride`` bytes from start to start;
    no byte between them is read or written.
    """

    address: int
    size: int = 0
    run: int | None = None
    stride: int = 0
    data: BytesLike | None = None

    def __post_init__(self) -> None:
        if self.data is not None:
            object.__setattr__(self, "data", bytes(self.data))
            object.__setattr__(self, "size", len(self.data))

    @property
    def writes(self) -> bool:
        """Whether it is a write."""
        return self.data is not None

    @property
    def runs(self) -> tuple[int, int, int]:
        """Bytes of a run, bytes from start to start, and number of runs.

        Raises
        ------
        ValueError
            There are no such runs.
        """
        if self.run is None:
            return self.size, self.size, 1
        count = self.size // max(self.run, 1)
        for name, value, least in (
            ("run", self.run, 1),
            ("stride", self.stride, self.run),
            ("count", count, 0),
        ):
            if value < least:
                raise ValueError(f"{name} = {value}: expected {least} or more")
        if self.size % self.run:
            raise ValueError(f"size = {self.size}: expected a whole number of runs of {self.run}")
        return self.run, self.stride, count

    @property
    def span(self) -> int:
        """Bytes from the start of the first run to the end of the last; raises as :attr:`runs`."""
        run, stride, count = self.runs
        return (count - 1) * stride + run if count else 0


def total(accesses: Sequence[Access]) -> int:
    """Number of bytes that all of them read or write."""
    return sum(access.size for access in accesses)
