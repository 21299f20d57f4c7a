# SPDX-License-Identifier: BSD-2-Clause
"""Copy forwarding: reads copied data at their origin, and removes copies that no one reads (for
``densify``)."""

import numpy as np

from .accesses import access_of, crosses

__all__ = ["drop_dead", "forward"]

#: Copies that are remembered.
_MOST = 16


def forward(steps, groups):
    """Redirects sources of ``steps`` to the origin of copied data, as long as neither copy nor
    original is overwritten.

    An instruction whose result lies on either keeps its source: order within one instruction
    matters there.
    """
    copies = []  # (Range of the copy, bytes from there to the original)
    for step in steps:
        access = access_of(step, groups)
        if access is None:
            copies.clear()
            continue
        for source in access.reads:
            place = source.operand
            for copy, way in copies if place is not None else ():
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
            source = access_of(step, groups).reads[0]
            if not crosses(source, written):
                copies = [(written, source.low - written.low), *copies[: _MOST - 1]]


def drop_dead(steps, groups, size):
    """Dead-store elimination: ``steps`` without the ``lmv`` and ``lldi`` whose bytes are all
    overwritten before they are read; ``size``: bytes of local memory, all of which are live at
    the end. Ranges outside it, or a group that does not exist: nothing is left out."""
    accesses = [access_of(step, groups) for step in steps]
    if not all(a is not None and a.inside(size) for a in accesses):
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
