# SPDX-License-Identifier: BSD-2-Clause
"""Adders whose second operand is a function of two or three bits, at no cost on an ECP5.

A carry cell of an ECP5 has a LUT of four inputs for each bit. Its sum looks at all four, its carry
at the first operand alone wherever the two operands differ::

    propagate = a ^ f(b, c, d)      sum   = propagate ^ carry in
    generate  = a                   carry = propagate ? carry in : generate

The generate bit is a table of A and B that the cell shares with the entries C = D = 0 of the sum's
table. So ``f`` may be any function of two bits if D is 1, and one of three if it is 0 for
C = D = 0, as a multiplexer is that B controls. yosys maps ``f`` to LUTs in front of the adder.
"""

from collections.abc import Callable
from typing import Literal

from amaranth import Const, Instance, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..arguments import check_family, check_integer

__all__ = ["FunctionAdder"]

#: By name: the function of the second operand, of values as wide as the adder.
_FUNCTIONS: dict[str, Callable[[Value, Value, Value], Value]] = {
    "and": lambda b, c, d: b & c,
    "or": lambda b, c, d: b | c,
    "xor": lambda b, c, d: b ^ c,
    "mux": lambda b, c, d: (b & c) | (~b & d),
}
#: Truth table of the half cell that makes the carry in of A: with D = 1 it propagates nothing.
_CARRY_TABLE = 0x000A


def _table(function: str) -> int:
    """Truth table of a half cell, A the lowest bit of an entry's number. Entries of D = 0 are not
    used where the function has two operands; those of C = D = 0 are the generate bit."""
    table = 0
    for entry in range(16):
        a, b, c, d = (entry >> pin & 1 for pin in range(4))
        if function == "mux":
            second = c if b else d
        elif d:
            second = {"and": b & c, "or": b | c, "xor": b ^ c}[function]
        else:
            second = 0
        table |= (a ^ second) << entry
    return table


class FunctionAdder(wiring.Component):
    """Combinational adder: ``total`` is ``a`` + f(``b``, ``c``, ``d``) + ``carry``, modulo
    2**width.

    On an ECP5 it takes ``width`` + 1 half cells, a LUT each, and no LUT for the function. Other
    families leave it to synthesis.

    Parameters
    ----------
    width : int
        Bits of operands and sum, at least 2.
    function : str
        ``"and"``, ``"or"``, ``"xor"``: of ``b`` and ``c``; ``"mux"``: ``c`` where a bit of ``b``
        is 1, else ``d``.
    family : ``"ecp5"``, ``"ice40"`` or ``None``

    Members
    -------
    a, b, c : In(width); d : In(width), of ``"mux"`` alone; carry : In(1)
    total : Out(width)
    """

    def __init__(
        self,
        *,
        width: int,
        function: Literal["and", "or", "xor", "mux"],
        family: str | None = None,
    ) -> None:
        check_integer("Width", width, 2)
        check_family(family)
        if function not in _FUNCTIONS:
            raise ValueError(
                f"Function of an adder must be one of {', '.join(_FUNCTIONS)}, not {function!r}"
            )
        self._width, self._function, self._family = width, function, family
        operands = "abcd" if function == "mux" else "abc"
        super().__init__(
            {
                **{name: In(width) for name in operands},
                "carry": In(1),
                "total": Out(width),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        if self._family == "ecp5":
            self._cells(m)
        else:
            d = self.d if self._function == "mux" else Const(0)
            second = Signal(self._width)
            m.d.comb += [
                second.eq(_FUNCTIONS[self._function](self.b, self.c, d)),
                self.total.eq(self.a + second + self.carry),
            ]
        return m

    def _cells(self, m):
        """Carry chain of half cells: the carry in, then a bit each. The attributes say where the
        build leaves CIN and COUT unconnected (tools/build/ecp5/carry.v)."""
        table, one, zero = _table(self._function), Const(1), Const(0)
        halves = [(_CARRY_TABLE, (self.carry, zero, zero, one), Signal(name="unused_first"))]
        for bit in range(self._width):
            fourth = self.d[bit] if self._function == "mux" else one
            pins = (self.a[bit], self.b[bit], self.c[bit], fourth)
            halves.append((table, pins, self.total[bit]))
        if len(halves) % 2:
            halves.append((0, (zero, zero, zero, zero), Signal(name="unused_last")))
        carry: Value = Const(0)
        for number, pair in enumerate(zip(halves[::2], halves[1::2], strict=True)):
            carry_out = Signal(name=f"carry_{number}")
            pins = {}
            for half, (half_table, inputs, output) in enumerate(pair):
                pins |= {f"i_{pin}{half}": v for pin, v in zip("ABCD", inputs, strict=True)}
                pins |= {f"p_INIT{half}": Const(half_table, 16), f"p_INJECT1_{half}": "NO"}
                pins[f"o_S{half}"] = output
            if number == 0:
                pins["a_quintet_first"] = 1
            elif number == len(halves) // 2 - 1:
                pins["a_quintet_last"] = 1
            m.submodules[f"cell_{number}"] = Instance(
                "CCU2C", i_CIN=carry, o_COUT=carry_out, **pins
            )
            carry = carry_out
