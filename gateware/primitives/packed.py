# SPDX-License-Identifier: BSD-2-Clause
"""Two int8 products with a common factor from one MULT18X18D, separated after accumulation instead
of after each product.

P = a * (b * 2**10 + c + 128) needs 18 bits for the second factor whatever b and c are, and no adder
in front of it. Its parts add up on their own, so that a dot product of many pairs is taken apart
once:

* ``upper`` = P >> 10 is a*b and what a*(c + 128) carries into it,
* ``lower`` = P mod 2**10 is the rest of a*(c + 128),
* ``carry`` = (a*(c + 128)) >> 10 follows from six bits of ``upper`` and the lowest six of a*b,
  which are made of logic.
"""

from typing import Any

from amaranth import Cat, Const, Module, Mux, Shape, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..arguments import check_family, check_integer
from .dsp import array_product, check_limit, mult18
from .kept import KeptRegister

__all__ = ["UNPACK_LATENCY", "PackedProducts", "part_shapes", "unpack", "unpack_sums"]

#: Cycles of :func:`unpack_sums`.
UNPACK_LATENCY = 2


def part_shapes(count: int) -> tuple[Shape, Shape, Shape, Shape]:
    """Shapes of the sums of ``upper``, ``lower``, ``carry`` and a, over ``count`` products."""
    more = (count - 1).bit_length()
    return signed(16 + more), Shape(10 + more), signed(6 + more), signed(8 + more)


def unpack(upper: Any, lower: Any, carry: Any, a: Any) -> tuple[Any, Any]:
    """Separates ``(sum of a*b, sum of a*c)`` from the packed sums, on Python integers or numpy
    arrays."""
    return upper - carry, carry * 1024 + lower - 128 * a


def unpack_sums(
    m: Module, name: str, upper: Value, lower: Value, carry: Value, a: Value, width: int
) -> tuple[Signal, Signal]:
    """Gateware version of :func:`unpack` with a latency of :data:`UNPACK_LATENCY` cycles, results
    of ``signed(width)``; ``name``: prefix of the registers' names."""

    def register(value, suffix, bits):
        held = Signal(signed(bits), name=f"{name}_{suffix}", reset_less=True)
        m.d.sync += held.eq(value)
        return held

    first = register(upper - carry, "first_early", width)
    rest = register(lower - (a << 7), "rest", width)
    carried = register(carry, "carried", len(carry))
    return register(first, "first", width), register((carried << 10) + rest, "second", width)


class PackedProducts(wiring.Component):
    """Array of ``pairs`` packed multipliers: a*b and a*c per cycle in packed form (see the module),
    :attr:`LATENCY` cycles after the operands.

    Parameters
    ----------
    pairs : int
    dsp_limit : int or None
        Most DSPs to be used; the pairs beyond it are built of logic.
    family : ``"ecp5"`` or ``None``
    direct : bool
        ``upper`` and ``lower`` leave the multipliers' own registers, a cycle before ``carry``. This
        saves a fifth of the registers and wires beside the DSPs, and the path to the adders is
        longer.

    Members
    -------
    a, b, c : In, arrays of ``signed(8)``
    upper : Out, array of ``signed(16)``; lower : Out, array of ``unsigned(10)``; carry :
        Out, array of ``signed(6)``
    """

    LATENCY = 3

    def __init__(
        self,
        *,
        pairs: int,
        dsp_limit: int | None = None,
        family: str | None = None,
        direct: bool = False,
    ) -> None:
        check_integer("Number of pairs", pairs, 1)
        check_limit(dsp_limit)
        check_family(family)
        if family == "ice40":
            raise ValueError(
                "Packed products need the 18-bit operands of family 'ecp5'; SB_MAC16 has 16"
            )
        self.pairs, self.family, self.direct = pairs, family, direct
        self.dsps = pairs if dsp_limit is None else min(pairs, dsp_limit)
        upper, lower, carry, _ = part_shapes(1)
        super().__init__(
            {
                **{name: In(signed(8)).array(pairs) for name in "abc"},
                "upper": Out(upper).array(pairs),
                "lower": Out(lower).array(pairs),
                "carry": Out(carry).array(pairs),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for k in range(self.pairs):
            product, low = (self._packed if k < self.dsps else self._logic)(m, k)
            for name, part in (
                ("upper", product[10:26].as_signed()),
                ("lower", product[:10]),
                ("carry", (product[10:16] - low)[:6].as_signed()),
            ):
                member = getattr(self, name)[k]
                if self.direct and name != "carry":
                    m.d.comb += member.eq(part)
                    continue
                held = Signal.like(member, name=f"{name}_held_{k}", reset_less=True)
                m.d.sync += held.eq(part)
                m.d.comb += member.eq(held)
        return m

    def _packed(self, m, k):
        """Packed product from a DSP: ``(P, a*b mod 2**6)``, two cycles after the operands."""
        a, b, c = self.a[k], self.b[k], self.c[k]
        operand = Signal(signed(18), name=f"operand_{k}")
        product = Signal(signed(36), name=f"product_{k}", reset_less=True)
        # c + 128 is c with its sign bit inverted, and has no sign.
        m.d.comb += operand.eq(Cat(c[:7], ~c[7], Const(0, 2), b))
        if self.family == "ecp5":
            mult18(m, f"dsp_{k}", a, operand, product)
        else:
            a_in = Signal(signed(8), name=f"a_in_{k}", reset_less=True)
            operand_in = Signal(signed(18), name=f"operand_in_{k}", reset_less=True)
            m.d.sync += [a_in.eq(a), operand_in.eq(operand), product.eq(a_in * operand_in)]
        a_low, b_low, low = (
            Signal(6, name=f"{name}_{k}", reset_less=True) for name in ("a_low", "b_low", "low")
        )
        if self.direct:
            # By instance: synthesis would merge it with the register that passes the activation on
            # to the next multiplier, which may be far away.
            copy = m.submodules[f"a_low_{k}"] = KeptRegister(width=6, family=self.family)
            m.d.comb += copy.d.eq(a[:6])
            a_low = copy.q
        else:
            m.d.sync += a_low.eq(a[:6])
        rows = [Mux(b_low[i], a_low[: 6 - i] << i, 0)[:6] for i in range(6)]
        m.d.sync += [
            b_low.eq(b[:6]),
            low.eq((rows[0] + rows[1]) + (rows[2] + rows[3]) + (rows[4] + rows[5])),
        ]
        return product, low

    def _logic(self, m, k):
        """Packed product in logic, without a DSP."""
        a, b, c = (
            Signal(signed(8), name=f"{name}_{k}", reset_less=True)
            for name in ("a_in", "b_in", "c_in")
        )
        first, second = (
            Signal(signed(17), name=f"{name}_{k}", reset_less=True) for name in ("first", "second")
        )
        m.d.sync += [
            a.eq(self.a[k]),
            b.eq(self.b[k]),
            c.eq(self.c[k]),
            first.eq(array_product(m, f"{k}_b", a, b)),
            second.eq(array_product(m, f"{k}_c", a, c) + (a << 7)),
        ]
        return ((first << 10) + second)[:26], first[:6]
