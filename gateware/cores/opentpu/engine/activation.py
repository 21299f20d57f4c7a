# SPDX-License-Identifier: BSD-2-Clause
"""Activation pipeline: turns one accumulator row into one row of bytes per cycle (sections 4.6 and
4.9)."""

from types import SimpleNamespace

from amaranth import Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["SIGMOID", "Activation"]

#: Sigmoid of 0..7 as published: ceil(255 / (1 + exp(-v))); 255 from 8 on, and 255 - S(-v) below 0.
SIGMOID = (128, 187, 225, 243, 251, 254, 255, 255)


class Activation(wiring.Component):
    """Activation pipeline of N lanes: running maximum, shift and round, clamp, function.

    Only eight bits of the shifted value are ever needed, with the bit below them (it rounds), and
    whether the bits above all equal the sign: a lane shifts those alone, and adds one after the
    shift instead of a half before it.

    Parameters
    ----------
    n : int
    norm : int or None
        Normalisation wired in (a legal value of ``norm``), or ``None``: :attr:`norm` decides.
    pool : bool, with a running maximum
    lean : bool, one register instead of three for the function itself

    Members
    -------
    row : In, N x signed(32); valid, first, last : In: of a window (without ``pool``:
        first and last are not looked at)
    func : In: 0, 3 none, 1 ReLU, 2 sigmoid. norm : In, bits as CFG norm. compat : In:
        sigmoid of negative values is 255. All three stand still from the cycle before the first row
        until the last result.
    result : Out, 8N bits; result_valid : Out, :attr:`latency` cycles after the last row of a window
    """

    def __init__(self, *, n: int, norm: int | None, pool: bool, lean: bool) -> None:
        self.n, self.fixed, self.pool, self.lean = n, norm, pool, lean
        self.stages = [] if norm == 0 else ["shift_bytes", "shift_pairs", "shift_bit", "round"]
        self.latency = int(pool) + len(self.stages) + (1 if lean else 2 if self.stages else 3)
        super().__init__(
            {
                "row": In(signed(32)).array(n),
                "valid": In(1),
                "first": In(1),
                "last": In(1),
                "func": In(2),
                "norm": In(18),
                "compat": In(1),
                "result": Out(8 * n),
                "result_valid": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        norm = self.norm if self.fixed is None else Const(self.fixed, 18)
        # What all lanes are told: decoded once, in registers.
        told = {
            "relu": self.func == 1,
            "sigmoid": self.func == 2,
            "compat": self.compat,
            "to_int8": (self.func != 2) & (norm[16:18] == 1),
            "to_uint8": (self.func != 2) & (norm[16:18] == 2),
        }
        rules = {name: Signal(name=name, reset_less=True) for name in told}
        m.d.sync += [rules[name].eq(value) for name, value in told.items()]
        for j in range(self.n):
            m.d.comb += self.result.word_select(j, 8).eq(
                self._lane(m, j, norm[0:5], norm[8], SimpleNamespace(**rules))
            )
        valid = self.valid & self.last if self.pool else self.valid
        for k in range(self.latency):
            later = Signal(name=f"valid_{k}")
            m.d.sync += later.eq(valid)
            valid = later
        m.d.comb += self.result_valid.eq(valid)
        return m

    def _lane(self, m, j, shift, rounds, rules):
        def register(value, name):
            held = Signal(len(value), name=f"{name}_{j}", reset_less=True)
            m.d.sync += held.eq(value)
            return held

        value = self.row[j]
        if self.pool:
            most = Signal(signed(32), name=f"most_{j}", reset_less=True)
            with m.If(self.valid & (self.first | (value > most))):
                m.d.sync += most.eq(value)
            value = most
        if self.stages:
            low, carry, far, sign = self._shifted(register, value, shift, rounds)
        else:
            value = value if self.lean else register(value, "value")
            sign = value[31]
            low, carry, far = value[:8], Const(0), _differ(value[8:31], sign)

        # Where the value lies: its sign, and whether it is outside -256..255.
        zero = carry & ~far  # -1 was rounded to 0
        negative, outside = sign & ~zero, far | carry & ~sign
        over, under = ~negative & (outside | low[7]), negative & (outside | ~low[7])
        large, small = ~negative & (outside | low[3:].any()), negative & ~outside & low[3:].all()
        table = Signal(8, name=f"sigmoid_{j}")
        with m.Switch(Cat(low[:3], negative)):
            for v in range(8):
                with m.Case(v):
                    m.d.comb += table.eq(SIGMOID[v])
            for v in range(1, 8):
                with m.Case(16 - v):
                    m.d.comb += table.eq(255 - SIGMOID[v])
        # The result is these eight bits, or a constant of two different bits.
        byte = Mux(rules.sigmoid, table, low)
        constant = (
            rules.relu & negative
            | rules.to_int8 & (over | under)
            | rules.to_uint8 & (outside | negative)
            | rules.sigmoid & (large | negative & (rules.compat | ~small))
        )
        high = (
            rules.to_int8 & under & ~rules.relu
            | rules.to_uint8 & ~negative
            | rules.sigmoid & (~negative | rules.compat)
        )
        others = (rules.to_int8 | rules.to_uint8) & ~negative | rules.sigmoid & (
            ~negative | rules.compat
        )
        if not self.lean:
            byte, constant, high, others = (
                register(bits, name)
                for bits, name in (
                    (byte, "byte"),
                    (constant, "constant"),
                    (high, "high"),
                    (others, "others"),
                )
            )
        return register(Mux(constant, Cat(others.replicate(7), high), byte), "result")

    @staticmethod
    def _shifted(register, value, shift, rounds):
        """Shifts ``value`` and rounds it, in four cycles. Returns the low byte, its carry, whether
        bits from 8 on differ from the sign before rounding, and the sign."""
        # Bit 0 of each window is the one below the byte.
        bits, sign = Cat(Const(0, 1), value), value[31]
        extended = Cat(bits, sign.replicate(7))
        low_group, high_group = _differ(bits[16:24], sign), _differ(bits[24:32], sign)
        by = shift[3:5]
        window = Mux(
            by[1],
            Mux(by[0], extended[24:40], extended[16:32]),
            Mux(by[0], extended[8:24], extended[0:16]),
        )
        window, sign, far = (
            register(what, name)
            for what, name in (
                (window, "coarse"),
                (sign, "coarse_sign"),
                (~by[1] & (high_group | ~by[0] & low_group), "coarse_far"),
            )
        )
        by = shift[1:3]
        # (four to one and two to one are cheaper than eight to one)
        far = (
            far
            | ~by[1]
            & (
                _differ(window[14:], sign)
                | ~by[0] & _differ(window[10:14], sign)
                | by[0] & _differ(window[12:14], sign)
            )
            | by[1] & ~by[0] & _differ(window[14:], sign)
        )
        window = Mux(
            by[1], Mux(by[0], window[6:16], window[4:14]), Mux(by[0], window[2:12], window[0:10])
        )
        window, sign, far = (
            register(what, name)
            for what, name in ((window, "fine"), (sign, "fine_sign"), (far, "fine_far"))
        )
        far = far | ~shift[0] & (window[9] ^ sign)
        window, sign, far = (
            register(what, name)
            for what, name in (
                (Mux(shift[0], window[1:10], window[0:9]), "shifted"),
                (sign, "shifted_sign"),
                (far, "shifted_far"),
            )
        )
        total = register((window[1:] + (window[0] & rounds))[:9], "rounded")
        return total[:8], total[8], register(far, "rounded_far"), register(sign, "rounded_sign")


def _differ(bits, sign):
    """Whether any of ``bits`` differs from ``sign``."""
    return (bits ^ sign.replicate(len(bits))).any()
