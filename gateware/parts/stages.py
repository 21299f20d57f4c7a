# SPDX-License-Identifier: BSD-2-Clause
"""Registers of a pipeline that never stalls."""
from amaranth import Signal, Value

__all__ = ["Stages"]


class Stages:
    """Registers without reset: ``stage(n, value, shape, name)`` holds what stage n computes, ``delay`` keeps a value for later.

    Stages in ``merged`` have no registers: what they compute is there in the stage before; ``carry`` heeds that.
    """
    def __init__(self, m, merged=()):
        self._m, self._merged = m, frozenset(merged)

    def __call__(self, number, value, shape, name):
        if number in self._merged:
            passed = Signal(shape, name=f"s{number}_{name}")
            self._m.d.comb += passed.eq(value)
            return passed
        held = Signal(shape, name=f"s{number}_{name}", reset_less=True)
        self._m.d.sync += held.eq(value)
        return held

    def carry(self, value, first, last):
        """``value`` of stage ``first``, for use beside values of stage ``last``."""
        return self.delay(value, sum(n not in self._merged for n in range(first + 1, last + 1)))

    def delay(self, value, cycles):
        """``value``, ``cycles`` later."""
        for _ in range(cycles):
            held = Signal(Value.cast(value).shape(), reset_less=True)
            self._m.d.sync += held.eq(value)
            value = held
        return value
