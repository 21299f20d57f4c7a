# SPDX-License-Identifier: BSD-2-Clause
"""Delay lines of the controller."""
from amaranth import Signal
from amaranth.lib import memory

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

    def since(self, delay):
        """The line of what is ``self[delay]`` here; of stages that are there."""
        line = Line(self._m, None, self._name)
        line._taps = self._taps[delay:]
        return line

    @classmethod
    def stored(cls, m, value, name, delay):
        """A line of which nothing before ``delay`` (2 to 8) is wanted: a block RAM, for chips that have those left, and no logic."""
        if not 2 <= delay <= 8:
            raise ValueError(f"Delay of a stored line must be 2 to 8, not {delay!r}")
        ram = memory.Memory(shape=len(value), depth=8, init=[], attrs={"ram_style": "block"})
        m.submodules[f"{name}_disjoint"] = ram
        put, get, at = ram.write_port(), ram.read_port(), Signal(3, name=f"{name}_at", reset_less=True)
        # Written at the end of this cycle, read delay - 1 cycles later.
        m.d.sync += at.eq(at + 1)
        m.d.comb += [put.addr.eq(at), put.data.eq(value), put.en.eq(1), get.addr.eq(at - (delay - 1)), get.en.eq(1)]
        line = cls(m, value, name)
        line._taps += [None] * (delay - 1) + [get.data]
        return line
