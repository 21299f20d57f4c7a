# SPDX-License-Identifier: BSD-2-Clause
"""Padding of map lines in memory: number of zero vectors between lines, chosen so that a step can
process many lines at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ..form import InterleaveStep, KernelStep, PoolStep, Step

if TYPE_CHECKING:
    from ..planes import Planes

__all__ = ["MERGES", "overhang", "settle"]

#: Ways to choose whether a result gets lines of its source's length, so that one product goes over
#: many of them; if not, a product a line does it: by the places of a line, and what the source and
#: the result want between their lines.
MERGES = {
    "all": lambda places, source, target: True,
    "no longer ones": lambda places, source, target: places < 12 or source <= target,
    "short ones": lambda places, source, target: places < 24,
}


def overhang(step: Step, index: int, source: Planes, result: Planes) -> tuple[int, int]:
    """Positions that ``step`` reads beyond the left and right ends of a line. ``index``: number of
    the source, ``source``: its layout, ``result``: layout of the result."""
    places = [t.place for terms in step.terms for t in terms if t.source == index]
    if not places:
        return 0, 0
    return max(0, -min(places)), max(
        0, max(places) + (result.across - 1) * step.stride[1] - (source.across - 1)
    )


def settle(
    steps: Sequence[Step | PoolStep | KernelStep | InterleaveStep],
    planes: Mapping[str, Planes],
    merge: str = "all",
) -> tuple[dict[str, Planes], set[str]]:
    """Chooses the gap and lead of every map.

    Parameters
    ----------
    steps : list of Step, PoolStep, KernelStep and InterleaveStep
    planes : dict, tensor name -> Planes without gaps
    merge : name out of JOINS

    Returns
    -------
    (dict, tensor name -> Planes, set of the names whose gaps must be zero)
    """
    left, gap, merged = (
        dict.fromkeys(planes, 0),
        dict.fromkeys(planes, 0),
        {name: name for name in planes},
    )

    def find(name):
        while merged[name] != name:
            name = merged[name]
        return name

    for step in steps:
        if not isinstance(step, Step):
            continue
        target = planes[step.target]
        for index, name in enumerate(step.sources):
            before, behind = overhang(step, index, planes[name], target)
            left[name], gap[name] = max(left[name], before), max(gap[name], before, behind)
    for step in steps:
        target = planes[step.target]
        if isinstance(step, Step) and step.stride == (1, 1) and target.down > 1:
            for name in step.sources:
                if MERGES[merge](
                    target.across, planes[name].across + gap[name], target.across + gap[step.target]
                ):
                    merged[find(name)] = find(step.target)
    pitch: dict[str, int] = {}
    for name, map_ in planes.items():
        pitch[find(name)] = max(pitch.get(find(name), 0), map_.across + gap[name])
    settled = {
        name: replace(map_, gap=pitch[find(name)] - map_.across, lead=left[name])
        for name, map_ in planes.items()
    }
    return settled, {name for name in planes if gap[name]}
