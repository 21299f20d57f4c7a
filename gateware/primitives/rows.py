# SPDX-License-Identifier: BSD-2-Clause
"""Signed 8 x 8 products in an iCE40's logic: rows of conditional adders, one cell per bit.

A cell has a LUT of four inputs, of which two go to the carry chain and one comes from it. The
fourth is a bit of the multiplier: where it is 0, the LUT gives the row before as it was, whatever
the carry. yosys would take a cell more a bit for the product of both bits.
"""

from amaranth import Cat, Const, Instance, Module, Signal, Value

__all__ = ["BITS", "row_product"]

#: Bits of an operand.
BITS = 8


def _table(give):
    """LUT contents from a function of its inputs I0 to I3."""
    return Const(
        sum(int(give(*(place >> k & 1 for k in range(4)))) << place for place in range(16)), 16
    )


_ADD = _table(lambda adds, before, other, carry: before ^ (adds & (other ^ carry)))
_ADD_INVERTED = _table(lambda adds, before, other, carry: 1 ^ before ^ (adds & (other ^ carry)))


def row_product(m: Module, name: str, a: Value, b: Value) -> Value:
    """Signed product ``a * b`` from instances of SB_LUT4 and SB_CARRY.

    The last row subtracts: it inverts its input, adds, and inverts the sum.

    Parameters
    ----------
    m : Module
    name : str, of the product, for its submodules
    a, b : signed(8)

    Returns
    -------
    Value, signed(16)
    """
    before, low = [a[k] & b[0] for k in range(BITS)], []
    for row in range(1, BITS):
        low.append(before[0])
        # One bit wider than an operand; the row before, without its lowest bit, has its sign twice.
        before = [*before[1:], before[-1]]
        before, carry = [*before, before[-1]] if row == 1 else before, Const(0, 1)
        sums = Signal(BITS + 1, name=f"{name}_row_{row}")
        for k in range(BITS + 1):
            other, out = a[min(k, BITS - 1)], Signal(name=f"{name}_carry_{row}_{k}")
            inverted = row == BITS - 1 or row == BITS - 2 and k
            m.submodules[f"{name}_lut_{row}_{k}"] = Instance(
                "SB_LUT4",
                p_LUT_INIT=_ADD_INVERTED if inverted else _ADD,
                i_I0=b[row],
                i_I1=before[k],
                i_I2=other,
                i_I3=carry,
                o_O=sums[k],
            )
            m.submodules[f"{name}_add_{row}_{k}"] = Instance(
                "SB_CARRY", i_I0=before[k], i_I1=other, i_CI=carry, o_CO=out
            )
            carry = out
        before = list(sums)
    return Cat(*low, *before).as_signed()
