# SPDX-License-Identifier: BSD-2-Clause
"""Places of tensors in the unified buffer, by the steps during which they are there."""
from dataclasses import dataclass

__all__ = ["Item", "allocate"]


@dataclass(frozen=True)
class Item:
    """Something that takes ``size`` rows from step ``first`` to step ``last``; ``name`` of a tensor, or (step, what) of what a step needs."""
    name: object
    size: int
    first: int
    last: int


def allocate(items, begin, end):
    """Rows for all: the largest first, each at the lowest rows that are free all the time.

    Returns
    -------
    (dict, name -> first row), or the item that found no place
    """
    placed = []
    for item in sorted(items, key=lambda i: (-i.size, i.first, str(i.name))):
        taken = sorted((at, at + other.size) for at, other in placed if other.first <= item.last and item.first <= other.last)
        at = begin
        for low, high in taken:
            if at + item.size <= low:
                break
            at = max(at, high)
        if at + item.size > end:
            return item
        placed.append((at, item))
    return {item.name: at for at, item in placed}
