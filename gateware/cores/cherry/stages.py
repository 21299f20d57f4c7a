# SPDX-License-Identifier: BSD-2-Clause
"""Registers of a pipeline that never stalls."""
from amaranth import Signal, Value

__all__ = ["Stages"]


class Stages:
    """Registers without reset: ``stage(n, value, shape, name)`` holds what stage n computes, ``delay`` keeps a value for later."""
    def __init__(self, m):
        self._m = m

    def __call__(self, number, value, shape, name):
        held = Signal(shape, name=f"s{number}_{name}", reset_less=True)
        self._m.d.sync += held.eq(value)
        return held

    def delay(self, value, cycles):
        """``value``, ``cycles`` later."""
        for _ in range(cycles):
            held = Signal(Value.cast(value).shape(), reset_less=True)
            self._m.d.sync += held.eq(value)
            value = held
        return value
