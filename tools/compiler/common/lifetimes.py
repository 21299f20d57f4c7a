# SPDX-License-Identifier: BSD-2-Clause
"""Memory allocation by lifetimes: buffers that are live at the same step do not overlap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

__all__ = ["Lifetime", "first_fit"]


class Lifetime(Protocol):
    """A buffer of ``size`` units that is live from step ``first`` to step ``last``."""

    @property
    def size(self) -> int: ...
    @property
    def first(self) -> int: ...
    @property
    def last(self) -> int: ...


def first_fit(
    items: Sequence[Lifetime], begin: int, end: int, from_top: Sequence[bool] | None = None
) -> list[int]:
    """First-fit allocation of items in order: each gets the lowest address from ``begin`` to
    ``end`` that is free during its lifetime. Returns fewer addresses than items if the next item
    fits nowhere.

    ``from_top``: of each item whether it takes the end of the highest free place instead.
    """
    placed: dict[int, list[tuple[int, int]]] = {}  # step -> (address, end) of what is there
    addresses: list[int] = []
    for number, item in enumerate(items):
        steps = range(item.first, item.last + 1)
        beside = sorted({span for step in steps for span in placed.get(step, ())})
        upward = from_top is None or not from_top[number]
        found, at = None, begin
        for low, high in beside:
            if at + item.size <= low:
                found = at if upward else low - item.size
                if upward:
                    break
            at = max(at, high)
        else:
            if at + item.size <= end:
                found = at if upward else end - item.size
        if found is None:
            return addresses
        addresses.append(found)
        for step in steps:
            placed.setdefault(step, []).append((found, found + item.size))
    return addresses
