# SPDX-License-Identifier: BSD-2-Clause
"""Bank-conflict analysis: cycles that a tile access takes in the banks of MEM, and pitches that
cause conflicts (specification, section 9). Pure Python."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, Any

from ....isa.asm.assembler import Item
from ....isa.asm.errors import Place
from ....isa.parameters import Params

if TYPE_CHECKING:
    from ..image import Unit


__all__ = ["access_cycles", "better_pitch", "warn_of_banks"]

_SIGN18, _LOW18 = 1 << 17, (1 << 18) - 1
#: Elements of a tile and along it.
_TILE, _SIDE = 16, 4
#: Cycles that are worth a warning: a step takes twice as many besides its work.
_WORTH = 100


def access_cycles(stride_x: int, stride_y: int, len_y: int, len_x: int, banks: int) -> int:
    """Cycles of a tile access: the greatest number of distinct addresses in one bank."""
    addresses = {y * stride_y + x * stride_x & _LOW18 for y in range(len_y) for x in range(len_x)}
    return max(Counter(a % banks for a in addresses).values())


@lru_cache(1024)
def better_pitch(
    stride_x: int, stride_y: int, len_y: int, len_x: int, banks: int
) -> tuple[int, int] | None:
    """Finds the next larger pitch with the fewest access cycles: (pitch, cycles). ``None`` if the
    present pitch already has the minimum of a whole tile, or no pitch is better.

    The pitch is the larger stride; the others keep their values. Multiples of four come first,
    since matrices are of whole tiles.
    """
    now = access_cycles(stride_x, stride_y, len_y, len_x, banks)
    if now <= max(1, _TILE // banks):
        return None
    down = _is_pitch_down(stride_x, stride_y, len_y, len_x)
    pitch = stride_y if down else stride_x
    size, sign = abs(pitch), -1 if pitch < 0 else 1
    whole = range(size - size % _SIDE + _SIDE, size + _SIDE * banks + 1, _SIDE)
    found: dict[int, int] = {}
    for other in (*whole, *range(size + 1, size + banks + 1)):
        x, y = (stride_x, sign * other) if down else (sign * other, stride_y)
        found.setdefault(access_cycles(x, y, len_y, len_x, banks), sign * other)
    best = min(found)
    return (found[best], best) if best < now else None


def _is_pitch_down(stride_x, stride_y, len_y, len_x):
    """Whether the pitch is that of rows, not of columns."""
    return len_y > 1 and (len_x == 1 or abs(stride_y) >= abs(stride_x))


def _runs(access, ordered, independent, unit, counts, contexts):
    """How often the core makes an access; a load that is the same for all contexts of a group is
    made once."""
    runs = prod(counts[loop] for loop in ordered)
    if independent is None:
        return runs
    name, values = access.instruction.mnemonic, access.values
    whole = (
        values["zero"] or (values["len_y"] == _SIDE and values["len_x"] == _SIDE)
        if name == "load"
        else False
    )
    return runs * (
        -(-counts[independent] // contexts)
        if whole and not unit.coefficients.get(independent)
        else counts[independent]
    )


def warn_of_banks(
    accesses: Iterable[tuple[Item, list[int], int | None]],
    units: Mapping[int, tuple[Unit, str, Place]],
    counts: Mapping[int, int],
    params: Params,
    warn: Callable[[Place, str], object],
) -> None:
    """Warns of address units whose pitch causes bank conflicts that cost at least half of a step's
    other time; reports only the first.

    ``accesses``: triples (item, indices of ordered loops around it, of the independent one or
    ``None``); ``units``: index -> (:class:`~..image.Unit`, name, place); ``counts``: index ->
    iterations; ``warn(place, message)``.
    """
    banks = params["banks"]
    found: dict[str, list[Any]] = {}
    for item, ordered, independent in accesses:
        unit, name, _ = units[item.values["apu"]]
        x, y = ((value ^ _SIGN18) - _SIGN18 for value in (unit.stride_x, unit.stride_y))
        len_y, len_x = item.values["len_y"], item.values["len_x"]
        better = better_pitch(x, y, len_y, len_x, banks)
        if better is None or item.instruction is None:
            continue
        now = access_cycles(x, y, len_y, len_x, banks)
        down = _is_pitch_down(x, y, len_y, len_x)
        lost = (now - better[1]) * _runs(
            item, ordered, independent, unit, counts, params["contexts"]
        )
        text = (
            f"this {item.instruction.mnemonic} takes {now} cycles: with the pitch of "
            f"{y if down else x} of address unit {name} "
            f"{'rows' if down else 'columns'} of a tile lie in the same of {banks} banks; a "
            f"pitch of {better[0]} takes {better[1]}"
        )
        first = found.setdefault(name, [item.place, text, 0])
        first[2] += lost
    for place, text, lost in found.values():
        if lost >= _WORTH:
            warn(place, f"{text} (up to {lost} cycles of the program)")
