# SPDX-License-Identifier: BSD-2-Clause
"""Shared adder of the decoder: one sum or comparison of 32-bit numbers per cycle."""

from functools import reduce
from operator import or_

from amaranth import Const, Module, Mux, Signal, Value
from amaranth.hdl import ValueLike
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

__all__ = ["OperandAdder"]


class OperandAdder(wiring.Component):
    """Pipelined adder and comparator with an accumulator: the operands of a step are selected in
    the next cycle and added in the one after. The accumulator enters only at the addition, so that
    dependent sums can follow each other.

    Parameters
    ----------
    x, y : dict of str to value of 32 bits
        Operands by name. ``y`` names ``"small"`` and ``"shifted"`` too, which are chosen from the
        next two.
    small : dict of str to value
    shifted : dict of int to value of 32 bits
    acc : value of 32 bits
        First operand where a step names ``None``.

    Members
    -------
    total : Out, 32 bits; carry : Out: x + y,
        or after :meth:`less` and :meth:`above` the comparison's carry

    The methods tell what a condition says; conditions exclude one another. Where nothing is said
    anything may be added.
    """

    def __init__(
        self,
        *,
        x: dict[str, Value],
        y: dict[str, Value],
        small: dict[str, Value],
        shifted: dict[int, Value],
        acc: Value,
    ) -> None:
        self._x, self._y, self._small, self._shifted, self._acc = x, y, small, shifted, acc
        self._said: dict[str, list[tuple[Value, ValueLike]]] = {
            name: [] for name in ("x", "y", "small", "shifted", "invert", "carry", "acc")
        }
        super().__init__({"total": Out(32), "carry": Out(1)})

    def index_x(self, name: str) -> int:
        """Selector value of the first operand ``name``."""
        return list(self._x).index(name)

    def index_y(self, name: str) -> int:
        """Selector value of the second operand ``name``."""
        return list(self._y).index(name)

    def choose(self, when: Value, x: Value, y: Value) -> None:
        """Selects operands by selector values, which may be signals."""
        self._said["x"].append((when, x))
        self._said["y"].append((when, y))

    def choose_small(self, when: Value, name: str) -> None:
        """Selects a small operand by name."""
        self._said["small"].append((when, list(self._small).index(name)))

    def choose_shifted(self, when: Value, shift: int) -> None:
        """Selects the shift of the shifted operand."""
        self._said["shifted"].append((when, list(self._shifted).index(shift)))

    def _say(self, when, first, second, invert, carry):
        if first is None:
            self._said["acc"].append((when, 1))
        else:
            self._said["x"].append((when, self.index_x(first)))
        self._said["y"].append((when, self.index_y(second)))
        self._said["invert"].append((when, invert))
        self._said["carry"].append((when, carry))

    def add(self, when: Value, first: str | None, second: str) -> None:
        """Requests ``first`` (``None``: the accumulator) + ``second``."""
        self._say(when, first, second, 0, 0)

    def less(self, when: Value, first: str, second: str) -> None:
        """Carry of the comparison that means not ``first`` < ``second``."""
        self._say(when, first, second, 1, 1)

    def above(self, when: Value, first: str | None, second: str) -> None:
        """Carry of the comparison that means ``first`` (``None``: the accumulator) > ``second``."""
        self._say(when, first, second, 1, 0)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        selected = {}
        for name, choices in (
            ("x", self._x),
            ("y", self._y),
            ("small", self._small),
            ("shifted", self._shifted),
            ("invert", "01"),
            ("carry", "01"),
            ("acc", "01"),
        ):
            selected[name] = Signal(range(len(choices)), name=f"select_{name}", reset_less=True)
            said = [
                Mux(when, value, 0)
                for when, value in self._said[name]
                if not (isinstance(value, int) and value == 0)
            ]
            m.d.sync += selected[name].eq(reduce(or_, said, Const(0)))

        def choice(name, choices, width):
            value = Signal(width, name=f"chosen_{name}")
            with m.Switch(selected[name]):
                for k, each in enumerate(choices):
                    # (the last stands for what is left, for fewer gates)
                    with m.Case(k) if k + 1 < len(choices) else m.Default():
                        m.d.comb += value.eq(each)
            return value

        y = {
            **self._y,
            "small": choice("small", self._small.values(), 16),
            "shifted": choice("shifted", self._shifted.values(), 32),
        }
        first, second = Signal(32, reset_less=True), Signal(32, reset_less=True)
        carry, use_acc = Signal(reset_less=True), Signal(reset_less=True)
        m.d.sync += [
            first.eq(choice("x", self._x.values(), 32)),
            second.eq(choice("y", y.values(), 32) ^ selected["invert"].replicate(32)),
            carry.eq(selected["carry"]),
            use_acc.eq(selected["acc"]),
        ]
        total = Signal(33)
        m.d.comb += [
            total.eq(Mux(use_acc, self._acc, first) + second + carry),
            self.total.eq(total),
            self.carry.eq(total[32]),
        ]
        return m
