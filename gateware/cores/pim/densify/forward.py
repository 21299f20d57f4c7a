# SPDX-License-Identifier: BSD-2-Clause
"""Copy forwarding: reads copied data at their origin, and removes copies that no one reads (for
``densify``)."""

from collections.abc import Sequence

import numpy as np

from ..image.image import Group
from .accesses import Range, access_of, crosses
from .resolve import Step

__all__ = ["drop_dead", "forward"]

#: Copies that are remembered.
_MOST = 16


def forward(steps: list[Step], groups: Sequence[Group]) -> None:
    """Redirects sources of ``steps`` to the origin of copied data, as long as neither copy nor
    original is overwritten.

    An instruction whose result lies on either keeps its source: order within one instruction
    matters there.
    """
    # (Range of the copy, bytes from there to the original)
    copies: list[tuple[Range, int]] = []
    for step in steps:
        access = access_of(step, groups)
        if access is None:
            copies.clear()
            continue
        for source in access.reads:
            place = source.operand
            if place is None:
                continue
            for copy, way in copies:
                moved = source._replace(low=source.low + way, high=source.high + way)
                if (
                    copy.low <= source.low
                    and source.high <= copy.high
                    and not crosses(source, access.write)
                    and not crosses(moved, access.write)
                ):
                    step.operands[place] = step.operands[place]._replace(value=moved.low)
                    break
        written = access.write
        if written is not None:
            copies = [
                (copy, way)
                for copy, way in copies
                if not crosses(copy, written)
                and not crosses(copy._replace(low=copy.low + way, high=copy.high + way), written)
            ]
        if step.op == 28:
            moved_access = access_of(step, groups)
            assert moved_access is not None and written is not None, "lmv reads and writes"
            source = moved_access.reads[0]
            if not crosses(source, written):
                copies = [(written, source.low - written.low), *copies[: _MOST - 1]]


def drop_dead(steps: list[Step], groups: Sequence[Group], size: int) -> list[Step]:
    """Dead-store elimination: ``steps`` without the ``lmv`` and ``lldi`` whose bytes are all
    overwritten before they are read; ``size``: bytes of local memory, all of which are live at
    the end. Ranges outside it, or a group that does not exist: nothing is left out."""
    found = [access_of(step, groups) for step in steps]
    accesses = [access for access in found if access is not None]
    if len(accesses) < len(found) or not all(access.inside(size) for access in accesses):
        return steps
    wanted, kept = np.ones(size, bool), []
    for step, access in zip(reversed(steps), reversed(accesses), strict=True):
        written = access.write
        if written is not None:
            if step.op in (27, 28) and not wanted[written.low : written.high].any():
                continue
            wanted[written.low : written.high] = False
        for source in access.reads:
            wanted[source.low : source.high] = True
        kept.append(step)
    kept.reverse()
    return kept
