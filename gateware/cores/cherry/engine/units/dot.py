# SPDX-License-Identifier: BSD-2-Clause
"""The dot unit that fits a build."""
from ...small.dot import SerialDot
from .dotpath import DotPath

__all__ = ["DOT_LATENCY", "Dot"]

#: Cycles in a dot unit: a sum of products that waits for the one before takes three more, and its passes.
DOT_LATENCY = 11


def Dot(*, params, notice, family=None):          # noqa: N802
    """A dot unit of macs/4 units of four multipliers, or a serial one; its multipliers are DSPs, or logic where there is only one on an
    iCE40 (the larger of which have none). ``notice`` as :class:`~.dotpath.DotPath`."""
    if params["macs"] == 1:
        return SerialDot(params=params, multiplier="lut" if family == "ice40" else "dsp", family=family)
    return DotPath(params=params, latency=DOT_LATENCY, notice=notice, family=family)
