# SPDX-License-Identifier: BSD-2-Clause
"""Delay lines of the controller."""
from amaranth import Signal

__all__ = ["Line"]


class Line:
    """``line[n]`` is ``value``, ``n`` cycles later; stages are made as they are asked for and shared. No reset.

    Parameters
    ----------
    m : Module
    value : Value
    name : str
    """
    def __init__(self, m, value, name):
        self._m, self._name, self._taps = m, name, [value]

    def __getitem__(self, delay):
        while len(self._taps) <= delay:
            before = self._taps[-1]
            later = Signal(len(before), name=f"{self._name}_{len(self._taps)}", reset_less=True)
            self._m.d.sync += later.eq(before)
            self._taps.append(later)
        return self._taps[delay]
