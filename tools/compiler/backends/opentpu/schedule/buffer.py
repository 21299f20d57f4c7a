# SPDX-License-Identifier: BSD-2-Clause
"""Allocation of tensors in the unified buffer by their lifetimes in steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from ....common.lifetimes import first_fit

__all__ = ["Item", "allocate"]

#: Orders that are tried before something goes to main memory.
_TRIES = 100


@dataclass(frozen=True)
class Item:
    """A buffer of ``size`` rows that is live from step ``first`` to step ``last``; ``name`` of a
    tensor, or a tuple (step, purpose, ...) for scratch space."""

    name: str | tuple[Any, ...]
    size: int
    first: int
    last: int


def allocate(items: Sequence[Item], begin: int, end: int) -> dict[Any, int] | Item:
    """Assigns rows to all items: largest first, each at the lowest rows that are free during its
    lifetime; if that fails, in other deterministic orders and from both ends.

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


def _too_much(items, rows):
    """Whether at some step all together are too large."""
    return any(
        sum(i.size for i in items if i.first <= step <= i.last) > rows
        for step in {i.first for i in items}
    )


def _place(order, high, begin, end):
    addresses = first_fit(order, begin, end, high)
    if len(addresses) < len(order):
        return order[len(addresses)]
    return {item.name: at for at, item in zip(addresses, order, strict=True)}
