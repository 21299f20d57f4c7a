# SPDX-License-Identifier: BSD-2-Clause
"""Assignment of layers to cores: one copy of each layer's weights, then further copies where they
gain most."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...base import LoweringError

__all__ = ["Need", "assign"]


@dataclass
class Need:
    """A layer's demand. ``arrays``, ``biases``, ``groups``: resources of a core that holds it.
    ``cycles``: time of all its work on one core. ``floor``: least time on any number of cores.
    ``most``: greatest number of cores that can share it. ``extra``: further cycles of each if
    several share it. ``placement``: the cores that must hold it (``None``: any). ``cores``: the
    cores that hold it, filled by :func:`assign`."""

    name: str
    arrays: int
    biases: int
    groups: int
    cycles: int
    floor: int
    most: int
    extra: int = 0
    placement: tuple[int, ...] | None = None
    cores: list[int] = field(default_factory=list)

    def time(self, cores: int) -> float:
        """Estimated cycles of the layer on a number of cores."""
        return max(self.cycles / cores + (self.extra if cores > 1 else 0), self.floor)


class _Packing:
    """Packing of weight copies into cores; cached, since the search asks for the same numbers of
    copies again and again."""

    def __init__(self, needs, params):
        self.needs, self._found = needs, {}
        self._cores = range(params["cores"])
        self._most = [params["arrays"], params["bias_words"], params["groups"]]
        self._order = sorted(
            range(len(needs)), key=lambda n: (needs[n].placement is None, -needs[n].arrays, n)
        )

    def packed(self, copies):
        """Packs the given number of copies of each need, largest first, each into the core with
        most free arrays; returns the cores of each need, or the need that does not fit."""
        key = tuple(copies)
        if key not in self._found:
            self._found[key] = self._pack(key)
        return self._found[key]

    def _pack(self, copies):
        left = [self._most[:] for _ in self._cores]
        found = [[] for _ in self.needs]
        for n in self._order:
            need, own = self.needs[n], found[n]
            arrays, biases, groups = need.arrays, need.biases, need.groups
            cores = self._cores if need.placement is None else need.placement
            for _ in range(copies[n]):
                best = None
                for c in cores:
                    have = left[c]
                    if (
                        have[0] >= arrays
                        and have[1] >= biases
                        and have[2] >= groups
                        and (best is None or (have, -c) > (left[best], -best))
                        and c not in own
                    ):
                        best = c
                if best is None:
                    return need
                have = left[best]
                left[best] = [have[0] - arrays, have[1] - biases, have[2] - groups]
                own.append(best)
        return found


def _total(needs, copies):
    return sum(need.time(count) for need, count in zip(needs, copies, strict=True))


def _grown(packing, copies, found):
    """Adds copies where they gain most per array, until no more fit: ``(copies, cores of
    each)``."""
    needs = packing.needs
    options = {n for n, need in enumerate(needs) if need.placement is None}
    while options:
        best = max(
            options,
            key=lambda n: (
                (needs[n].time(copies[n]) - needs[n].time(copies[n] + 1)) / max(needs[n].arrays, 1),
                -n,
            ),
        )
        more = [count + (n == best) for n, count in enumerate(copies)]
        if more[best] > needs[best].most or needs[best].time(copies[best]) <= needs[best].time(
            more[best]
        ):
            options.discard(best)
            continue
        tried = packing.packed(more)
        if isinstance(tried, Need):
            options.discard(best)
        else:
            copies, found = more, tried
    return copies, found


def assign(needs: list[Need], params: Mapping[str, Any]) -> list[Need]:
    """Fills ``cores`` of every :class:`Need`: one copy each, then further copies where they gain
    most per array.

    Raises
    ------
    LoweringError
        The arrays do not hold all.
    """
    copies = [len(need.placement or (0,)) for need in needs]
    packing = _Packing(needs, params)
    found = packing.packed(copies)
    if isinstance(found, Need):
        raise LoweringError(
            f"takes {found.arrays} arrays, {found.biases} biases and "
            f"{found.groups} groups of a core; the network takes "
            f"{sum(n.arrays for n in needs)} arrays, there are {params['cores']} x "
            f"{params['arrays']} of {params['xb_rows']} x "
            f"{params['xb_cols']}, {params['bias_words']} biases and {params['groups']} groups "
            f"a core",
            found.name,
        )
    copies, found = _grown(packing, copies, found)
    # The greatest gain per array need not be the best choice: take copies away where others then
    # gain more.
    better = True
    while better:
        better = False
        for n in sorted(
            (n for n in range(len(needs)) if copies[n] > 1 and needs[n].placement is None),
            key=lambda n: -needs[n].arrays,
        ):
            for m in (
                m
                for m in range(len(needs))
                if m != n and copies[m] < needs[m].most and needs[m].placement is None
            ):
                tried = [count - (k == n) + (k == m) for k, count in enumerate(copies)]
                packed = packing.packed(tried)
                if isinstance(packed, Need):
                    continue
                tried, packed = _grown(packing, tried, packed)
                if _total(needs, tried) < _total(needs, copies):
                    copies, found, better = tried, packed, True
                    break
            if better:
                break
    for need, cores in zip(needs, found, strict=True):
        need.cores = sorted(cores)
    return needs
