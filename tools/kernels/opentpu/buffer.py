# SPDX-License-Identifier: BSD-2-Clause
"""Places of tensors in the unified buffer, by the steps during which they are there."""

from dataclasses import dataclass
from random import Random

__all__ = ["Item", "allocate"]

#: Orders that are tried before something goes to main memory.
_TRIES = 100


@dataclass(frozen=True)
class Item:
    """Something that takes ``size`` rows from step ``first`` to step ``last``; ``name`` of a
    tensor, or (step, what) of what a step needs."""

    name: object
    size: int
    first: int
    last: int


def allocate(items, begin, end):
    """Rows for all: the largest first, each at the lowest rows that are free all the time; where
    that leaves too little, in other orders and from both ends (always the same ones).

    Returns
    -------
    (dict, name -> first row), or the item that found no place
    """
    order = sorted(items, key=lambda i: (-i.size, i.first, str(i.name)))
    failed = _place(order, [False] * len(order), begin, end)
    if isinstance(failed, dict) or _too_much(items, end - begin):
        return failed
    born = sorted(items, key=lambda i: (i.first, -i.size, str(i.name)))
    result = _place(born, [k % 2 == 1 for k in range(len(born))], begin, end)
    random = Random(0)
    for _ in range(_TRIES):
        if isinstance(result, dict):
            return result
        random.shuffle(born)
        result = _place(born, [random.random() < 0.5 for _ in born], begin, end)
    return failed


def _too_much(items, room):
    """Whether at some step all together are too large."""
    return any(
        sum(i.size for i in items if i.first <= step <= i.last) > room
        for step in {i.first for i in items}
    )


def _place(order, high, begin, end):
    placed = []
    for item, above in zip(order, high, strict=True):
        taken = sorted(
            (at, at + other.size)
            for at, other in placed
            if other.first <= item.last and item.first <= other.last
        )
        free, at = [], begin
        for low, top in taken:
            if at + item.size <= low:
                free.append((at, low))
            at = max(at, top)
        if at + item.size <= end:
            free.append((at, end))
        if not free:
            return item
        placed.append((free[-1][1] - item.size if above else free[0][0], item))
    return {item.name: at for at, item in placed}
