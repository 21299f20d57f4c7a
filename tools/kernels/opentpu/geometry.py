# SPDX-License-Identifier: BSD-2-Clause
"""Lines of maps: how long they are in memory, so that steps read and write them in one go, and where zeros must stand between them."""
from dataclasses import replace

from .step import PoolStep

__all__ = ["LONG", "reach", "settle"]

#: Places from which on a product a line costs no more than one over many lines and their gaps.
LONG = 40


def reach(step, source, result):
    """Places that ``step`` reads to the left and to the right of the lines of ``source`` (Planes), for a result of Planes ``result``."""
    places = [t.place for terms in step.terms for t in terms]
    if not places:
        return 0, 0
    return max(0, -min(places)), max(0, max(places) + (result.across - 1) * step.stride[1] - (source.across - 1))


def settle(steps, planes, long=LONG):
    """Gaps and leads of all maps.

    Parameters
    ----------
    steps : list of Step and PoolStep
    planes : dict, tensor name -> Planes without gaps
    long : places from which on lines may be of different lengths

    Returns
    -------
    (dict, tensor name -> Planes, set of the names whose gaps must be zero)
    """
    left, gap, joined = dict.fromkeys(planes, 0), dict.fromkeys(planes, 0), {name: name for name in planes}

    def find(name):
        while joined[name] != name:
            name = joined[name]
        return name

    for step in steps:
        if isinstance(step, PoolStep):
            continue
        target = planes[step.target]
        for index, name in enumerate(step.sources):
            mine = _part(step, index)
            before, behind = reach(mine, planes[name], target)
            left[name], gap[name] = max(left[name], before), max(gap[name], before, behind)
            # Results over many lines are made in one go where both maps have lines of one length; long lines may as well go one by one.
            if step.stride == (1, 1) and target.down > 1 and target.across < long:
                joined[find(name)] = find(step.target)
    pitch = {}
    for name, map_ in planes.items():
        pitch[find(name)] = max(pitch.get(find(name), 0), map_.across + gap[name])
    settled = {name: replace(map_, gap=pitch[find(name)] - map_.across, lead=left[name]) for name, map_ in planes.items()}
    return settled, {name for name in planes if gap[name]}


class _Part:
    """The terms of a step that read one source."""
    def __init__(self, terms, stride):
        self.terms, self.stride = terms, stride


def _part(step, source):
    """The part of a step that reads source ``source``."""
    return _Part([[t for t in terms if t.source == source] for terms in step.terms], step.stride)
