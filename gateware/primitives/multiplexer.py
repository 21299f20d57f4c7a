# SPDX-License-Identifier: BSD-2-Clause
"""Multiplexer of many values in few LUTs."""

from collections.abc import Sequence

from amaranth import Instance, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from ..arguments import check_family, check_integer

__all__ = ["Multiplexer", "selected"]


def _table(function):
    """Truth table of a LUT of four inputs, A the lowest bit of an entry's number."""
    return sum(function(n & 1, n >> 1 & 1, n >> 2 & 1, n >> 3 & 1) << n for n in range(16))


#: The LUTs of a multiplexer of four: ``_FIRST`` of inputs 0 and 1, lower and upper bit of the
#: selection; ``_SECOND`` of the first one's output, inputs 2 and 3, and the upper bit. While that
#: bit is set, the first LUT passes the lower one on, so that the second one can do without it.
_FIRST = _table(lambda a, b, low, high: low if high else (b if low else a))
_SECOND = _table(lambda first, c, d, high: (d if first else c) if high else first)


class Multiplexer(wiring.Component):
    """Combinational multiplexer: ``o`` is the element of ``i`` that ``select`` names.

    Of an ECP5 a multiplexer of four takes two LUTs a bit, one of sixteen ten; yosys makes three and
    thirteen of the same function, and finds the smaller form not even where it is given as logic.
    So the LUTs are instances.

    Parameters
    ----------
    width : int
        Bits of an element.
    inputs : int
        Number of elements, a power of two.
    family : ``"ecp5"``, ``"ice40"`` or ``None``
        An iCE40's are left to synthesis.

    Members
    -------
    i : In, array of elements
    select : In
    o : Out(width)
    """

    def __init__(self, *, width: int, inputs: int, family: str | None = None) -> None:
        check_integer("Width", width, 1)
        check_integer("Inputs", inputs, 2, power_of_two=True)
        check_family(family)
        self._width, self._inputs, self._family = width, inputs, family
        super().__init__(
            {
                "i": In(data.ArrayLayout(width, inputs)),
                "select": In(range(inputs)),
                "o": Out(width),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        values: list[Value] = [self.i[k] for k in range(self._inputs)]
        select = self.select
        while len(values) >= 4:
            level = len(values)
            values = [
                self._of_four(m, f"{level}_{k}", values[k : k + 4], select[0], select[1])
                for k in range(0, level, 4)
            ]
            select = select[2:]
        m.d.comb += self.o.eq(values[0] if len(values) == 1 else Mux(select, values[1], values[0]))
        return m

    def _of_four(self, m, name, values, low, high):
        a, b, c, d = values
        if self._family != "ecp5":
            return Mux(high, Mux(low, d, c), Mux(low, b, a))
        first, second = (
            Signal(self._width, name=f"{stage}_{name}") for stage in ("first", "second")
        )
        for bit in range(self._width):
            for output, table, inputs in (
                (first, _FIRST, (a[bit], b[bit], low, high)),
                (second, _SECOND, (first[bit], c[bit], d[bit], high)),
            ):
                m.submodules[f"{output.name}_{bit}"] = Instance(
                    "LUT4",
                    p_INIT=table,
                    **{f"i_{pin}": value for pin, value in zip("ABCD", inputs, strict=True)},
                    o_Z=output[bit],
                )
        return second


def selected(
    m: Module, name: str, values: Sequence[Value], select: Value, family: str | None = None
) -> Value:
    """Element of ``values`` that ``select`` names, by a :class:`Multiplexer` that becomes submodule
    ``name``; any element if there are fewer.

    Parameters
    ----------
    values : Sequence
        Of one width.
    select : Value
        Of as many bits as their number needs; one bit for a single element.
    """
    inputs = max(2, 1 << ceil_log2(len(values)))
    m.submodules[name] = mux = Multiplexer(width=len(values[0]), inputs=inputs, family=family)
    m.d.comb += [mux.i[k].eq(values[k % len(values)]) for k in range(inputs)]
    m.d.comb += mux.select.eq(select)
    return mux.o
