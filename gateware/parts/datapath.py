# SPDX-License-Identifier: BSD-2-Clause
"""Datapath helpers: output registers without reset, small products, widths, counters that know
their last value."""

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.hdl import ValueLike

__all__ = ["Countdown", "narrowest", "small_product", "without_reset"]


def without_reset(m: Module, member: ValueLike) -> Signal:
    """A register without reset that drives the output ``member``: for values that nobody looks at
    before they are made."""
    held = Signal.like(
        member,
        name=f"{member.name}_held" if isinstance(member, Signal) else "held",
        reset_less=True,
    )
    m.d.comb += member.eq(held)
    return held


def small_product(a: Value, b: Value) -> Value:
    """Unsigned multiplier ``a * b`` in logic, as a sum of shifted rows: yosys would spend a DSP on
    any ``*``."""
    rows = [Mux(b[k], a << k, 0) for k in range(len(b))]
    while len(rows) > 1:
        rows = [sum(rows[k : k + 2]) for k in range(0, len(rows), 2)]
    return rows[0][: len(a) + len(b)]


def narrowest(value: Value, bits: int) -> Value:
    """``value`` in exactly ``bits`` bits, zero-extended or cut."""
    return Cat(value, *[0] * max(0, bits - len(value)))[:bits]


class Countdown:
    """Down counter from ``start`` to 0; :attr:`last` is a register that says that it is there.

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
        """After a step :attr:`last` will be high."""
        return self.left == 1

    def load(self, start: ValueLike, zero: ValueLike) -> None:
        """Statements: begin at ``start``, of which ``zero`` says whether it is 0."""
        self._m.d.sync += [self.left.eq(start), self.last.eq(zero)]

    def step(self) -> None:
        """Statements: one down."""
        self._m.d.sync += [self.left.eq(self.left - 1), self.last.eq(self.next_last)]
