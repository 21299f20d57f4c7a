# SPDX-License-Identifier: BSD-2-Clause
"""Which cores hold a layer's weights: every layer in at least one, more where arrays are left and it gains most."""
from dataclasses import dataclass, field

from ..base import LoweringError

__all__ = ["Need", "assign"]


@dataclass
class Need:
    """A layer's demand: ``arrays``, ``biases`` and ``groups`` of a core that holds it, ``cycles`` of all its work on one core, ``most`` cores that can
    share it; ``cores``: who holds it, filled by :func:`assign`."""
    name: str
    arrays: int
    biases: int
    groups: int
    cycles: int
    most: int
    cores: list = field(default_factory=list)


class _Room:
    def __init__(self, params):
        self.left = [[params["arrays"], params["bias_words"], params["groups"]] for _ in range(params["cores"])]
        self.load = [0] * params["cores"]

    def fits(self, core, need):
        return all(have >= wanted for have, wanted in zip(self.left[core], (need.arrays, need.biases, need.groups), strict=True))

    def take(self, core, need):
        self.left[core] = [have - wanted for have, wanted in zip(self.left[core], (need.arrays, need.biases, need.groups), strict=True)]
        need.cores.append(core)


def assign(needs, params):
    """Fill ``cores`` of every :class:`Need`.

    Raises
    ------
    LoweringError
        The arrays do not hold all; ``error.index`` is the first layer, in order, that found no room.
    """
    room = _Room(params)
    # The largest first, each where most is left: small ones fill what remains.
    for need in sorted(needs, key=lambda n: -n.arrays):
        cores = [c for c in range(params["cores"]) if room.fits(c, need)]
        if not cores:
            taken = sum(n.arrays for n in needs)
            raise LoweringError(f"{need.name}: takes {need.arrays} arrays, {need.biases} biases and {need.groups} groups of a core; the network takes "
                                f"{taken} arrays, there are {params['cores']} x {params['arrays']} of {params['xb_rows']} x {params['xb_cols']}, "
                                f"{params['bias_words']} biases and {params['groups']} groups a core")
        room.take(max(cores, key=lambda c: room.left[c]), need)
    while True:
        options = [(need.cycles / len(need.cores) - need.cycles / (len(need.cores) + 1), -need.arrays, n, c) for n, need in enumerate(needs)
                   if len(need.cores) < need.most for c in range(params["cores"]) if c not in need.cores and room.fits(c, need)]
        if not options:
            break
        gain, arrays, n, c = max(options, key=lambda o: o[0] / max(-o[1], 1))
        if gain <= 0:
            break
        room.take(c, needs[n])
    for need in needs:
        need.cores.sort()
    return needs
