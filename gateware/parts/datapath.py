# SPDX-License-Identifier: BSD-2-Clause
"""Datapath helpers: output registers without reset, small products, width changes, counters with a
registered last flag."""

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.hdl import ValueLike

__all__ = ["Countdown", "narrowest", "small_product", "without_reset"]


def without_reset(m: Module, member: ValueLike) -> Signal:
    """Register without reset that drives the output ``member``, for values that are not used before
    they are written."""
    held = Signal.like(
        member,
        name=f"{member.name}_held" if isinstance(member, Signal) else "held",
        reset_less=True,
    )
    m.d.comb += member.eq(held)
    return held


def small_product(a: Value, b: Value) -> Value:
    """Unsigned multiplier ``a * b`` in logic, as a sum of shifted rows, since yosys would use a DSP
    for any ``*``."""
    rows = [Mux(b[k], a << k, 0) for k in range(len(b))]
    while len(rows) > 1:
        rows = [sum(rows[k : k + 2]) for k in range(0, len(rows), 2)]
    return rows[0][: len(a) + len(b)]


def narrowest(value: Value, bits: int) -> Value:
    """Resizes ``value`` to exactly ``bits`` bits: zero-extends or truncates it."""
    return Cat(value, *[0] * max(0, bits - len(value)))[:bits]


class Countdown:
    """Down counter from ``start`` to 0; :attr:`last` is a register that says that the count is 0.

    Parameters
    ----------
    m : Module
    bits : int
    name : str
    """

    def __init__(self, m: Module, bits: int, name: str) -> None:
        self._m = m
        self.left = Signal(bits, name=f"{name}_left", reset_less=True)
        self.last = Signal(name=f"{name}_last", reset_less=True)

    @property
    def next_last(self) -> Value:
        """Whether :attr:`last` is high after the next step."""
        return self.left == 1

    def load(self, start: ValueLike, zero: ValueLike) -> None:
        """Statements that load ``start``; ``zero`` says whether it is 0."""
        self._m.d.sync += [self.left.eq(start), self.last.eq(zero)]

    def step(self) -> None:
        """Statements that decrement the counter."""
        self._m.d.sync += [self.left.eq(self.left - 1), self.last.eq(self.next_last)]
