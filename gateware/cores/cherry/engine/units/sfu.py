# SPDX-License-Identifier: BSD-2-Clause
"""Special-function lane: div, pow, exp and log, one element per cycle (specification, section
4.4)."""

from amaranth import Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import enum, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from .....parts.delays import Stages
from .....parts.leading import leading_zeros
from .....primitives.multipliers import PipelinedMultipliers
from ...tables import BIAS, FRAC, INF, L2E, LNC, NAN, ONE, expt, logt, rect

__all__ = ["SpecialLane", "SpecialOp"]


class SpecialOp(enum.Enum, shape=2):
    """Operation codes of a lane, functions of ``x`` and ``y``."""

    DIV = 0
    POW = 1
    EXP = 2
    LOG = 3


class _Kind(enum.Enum, shape=3):
    """Special results that need no arithmetic; each has a sign."""

    NORMAL = 0
    NAN = 1
    INFINITE = 2
    ZERO = 3
    ONE = 4


#: Bits of log2 |x|, of the multiplier's wide operand, of its halves.
_LOG, _WIDE, _HALF = 40, 28, 14
#: Bits of the fixed-point exponent: 24 of them fraction.
_POWER = 32
#: Stage at which the fixed-point exponent stands, and at which a result waits for its rounding.
_EXPONENT, _READY = 17, 30


class SpecialLane(wiring.Component):
    """Special-function lane: ``result`` = ``op`` of ``x`` and ``y``, :attr:`LATENCY` cycles later;
    a new pair every cycle.

    The integer algorithms of the golden model (``special.py``), stage by stage: a logarithm from a
    table, made a number of 20 bits for a power; one product of 10 by 28 bits (quotient, power, or
    exponent times log2 e); a shift to fixed point; two to the power of that from a table and a
    polynomial; one rounding.

    Parameters
    ----------
    family : as the primitives'

    Members
    -------
    op : In(SpecialOp), x, y : In(18), result : Out(18)
    """

    LATENCY = 32

    def __init__(self, *, family: str | None = None) -> None:
        self.family = family
        super().__init__({"op": In(SpecialOp), "x": In(18), "y": In(18), "result": Out(18)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        stage = Stages(m)
        self._stage = stage
        self._op = [self.op]
        for number in range(1, 14):
            self._op.append(stage(number, self._op[-1], SpecialOp, "op"))
        kind, sign = self._specials(m, stage)  # 2
        ex, ey = self.x[9:17], self.y[9:17]

        log = self._rom(m, "log", logt(), 32, self.x[:9])  # 2
        reciprocal = self._rom(m, "reciprocal", rect(), 22, self.y[:9])  # 2
        normal, length, negative = self._logarithm(m, stage, log, ex)  # 6
        q, d = self._power_operand(stage, normal, length)  # 7
        log_result = self._log_result(stage, normal, length, negative)  # 7
        product = self._product(m, stage, q, reciprocal)  # 12
        fixed, overflow, down = self._fixed_point(stage, product, d, ex, ey, negative)  # 16
        value, whole = self._two_to(m, stage, fixed, down)  # 29
        direct = self._direct(stage, product, log_result, ex, ey)  # 13

        self._finish(m, stage, value, whole, direct, kind, sign, overflow, down)
        return m

    def _rom(self, m, name, table, width, address):
        """Table in block RAM with an output register: latency two cycles."""
        memory = m.submodules[name] = Memory(
            shape=width, depth=len(table), init=[int(v) for v in table]
        )
        port = memory.read_port()
        m.d.comb += port.addr.eq(address)
        return self._stage(2, port.data, width, name)

    # Stages 1 and 2: zeros, infinities, NaN, ones

    def _specials(self, m, stage):
        x, y = self.x, self.y
        found = {}
        for name, value in (("x", x), ("y", y)):
            exponent, fraction = value[9:17], value[:9]
            found |= {
                f"{name}_zero": exponent == 0,
                f"{name}_nan": exponent.all() & fraction.any(),
                f"{name}_infinite": exponent.all() & ~fraction.any(),
                f"{name}_negative": value[17],
                f"{name}_unit": value[:17] == ONE,
            }
        found |= {"x_above": x[:17] > ONE, "x_large": x[9:17] >= BIAS + 7}
        # The bit of y's significand that stands for one is bit 136 - e; below it all must be zero.
        significand, exponent, last = Cat(y[:9], 1), y[9:17], BIAS + FRAC
        whole = Cat(
            (exponent == last - k) & ~significand[:k].any() if k else exponent >= last
            for k in range(10)
        ).any()
        odd = Cat(
            (exponent == last - k) & significand[k] & ~(significand[:k].any() if k else Const(0, 1))
            for k in range(10)
        ).any()
        found |= {"whole": whole, "odd": odd}
        f = {name: stage(1, value, 1, name) for name, value in found.items()}

        kind, sign = Signal(_Kind), Signal()
        invalid = f["x_nan"] | f["y_nan"]
        quotient = f["x_negative"] ^ f["y_negative"]
        power = f["x_negative"] & f["odd"] & ~f["y_infinite"]
        with m.Switch(self._op[1]):
            with m.Case(SpecialOp.EXP):
                with m.If(f["x_nan"]):
                    m.d.comb += kind.eq(_Kind.NAN)
                with m.Elif(f["x_zero"]):
                    m.d.comb += kind.eq(_Kind.ONE)
                with m.Elif(f["x_large"]):
                    m.d.comb += kind.eq(Mux(f["x_negative"], _Kind.ZERO, _Kind.INFINITE))
            with m.Case(SpecialOp.LOG):
                with m.If(f["x_nan"]):
                    m.d.comb += kind.eq(_Kind.NAN)
                with m.Elif(f["x_zero"]):
                    m.d.comb += [kind.eq(_Kind.INFINITE), sign.eq(1)]
                with m.Elif(f["x_negative"]):
                    m.d.comb += kind.eq(_Kind.NAN)
                with m.Elif(f["x_infinite"]):
                    m.d.comb += kind.eq(_Kind.INFINITE)
                with m.Elif(f["x_unit"]):
                    m.d.comb += kind.eq(_Kind.ZERO)
            with m.Case(SpecialOp.DIV):
                m.d.comb += sign.eq(quotient)
                with m.If(
                    invalid | (f["x_zero"] & f["y_zero"]) | (f["x_infinite"] & f["y_infinite"])
                ):
                    m.d.comb += kind.eq(_Kind.NAN)
                with m.Elif(f["y_zero"] | f["x_infinite"]):
                    m.d.comb += kind.eq(_Kind.INFINITE)
                with m.Elif(f["x_zero"] | f["y_infinite"]):
                    m.d.comb += kind.eq(_Kind.ZERO)
            with m.Default():
                self._specials_of_power(m, f, invalid, power, kind, sign)
        return stage(2, kind, _Kind, "kind"), stage(2, sign, 1, "sign")

    @staticmethod
    def _specials_of_power(m, f, invalid, power, kind, sign):
        with m.If(f["y_zero"] | (f["x_unit"] & ~f["x_negative"])):
            m.d.comb += kind.eq(_Kind.ONE)
        with m.Elif(invalid):
            m.d.comb += kind.eq(_Kind.NAN)
        with m.Elif(f["y_infinite"]):
            grows = (f["x_above"] & ~f["x_zero"]) ^ f["y_negative"]
            m.d.comb += kind.eq(Mux(f["x_unit"], _Kind.ONE, Mux(grows, _Kind.INFINITE, _Kind.ZERO)))
        with m.Else():
            m.d.comb += sign.eq(power)
            with m.If(f["x_zero"]):
                m.d.comb += kind.eq(Mux(f["y_negative"], _Kind.INFINITE, _Kind.ZERO))
            with m.Elif(f["x_infinite"]):
                m.d.comb += kind.eq(Mux(f["y_negative"], _Kind.ZERO, _Kind.INFINITE))
            with m.Elif(f["x_negative"] & ~f["whole"]):
                m.d.comb += kind.eq(_Kind.NAN)
            with m.Elif(f["x_unit"]):
                m.d.comb += kind.eq(_Kind.ONE)

    # Stages 3 to 7: log2 |x|

    def _logarithm(self, m, stage, log, ex):
        """Logarithm |log2 |x|| with its leading one at bit 39, its length in bits, and whether it
        is negative."""
        whole = stage.delay(ex, 2) - BIAS
        value = Signal(signed(_LOG))
        m.d.comb += value.eq(Cat(log, whole[:8]))
        size = stage(3, Mux(value[-1], -value, value), _LOG, "log_size")
        negative = stage(3, value[-1], 1, "log_negative")
        lzc = stage(4, leading_zeros(size), 6, "log_zeros")
        held = stage.delay(size, 1)
        coarse = lzc[3:]
        moved = held
        for k in range(1, 5):
            moved = Mux(coarse == k, held << 8 * k, moved)
        coarse = stage(5, moved[:_LOG], _LOG, "log_coarse")
        normal = stage(6, (coarse << stage.delay(lzc[:3], 1))[:_LOG], _LOG, "log_normal")
        length = stage.delay(stage(5, _LOG - lzc, 6, "log_length"), 1)
        return normal, length, stage.delay(negative, 3)

    def _power_operand(self, stage, normal, length):
        """Operand of the power: the logarithm as q * 2^d, with q of 20 bits."""
        kept, guard, sticky = normal[20:], normal[19], normal[:19].any()
        q = stage(7, kept + (guard & (sticky | kept[0])), 21, "q")
        d = stage(7, length - 20, signed(7), "d")
        # A carry leaves a power of two, of which the upper bits are enough.
        return Cat(q[:19], q[19] | q[20]), d + q[20]

    def _log_result(self, stage, normal, length, negative):
        """Result of a logarithm: ten bits, the rounding bit, whether any bit remains; exponent;
        sign."""
        return (
            stage(7, Cat(normal[:29].any(), normal[29], normal[30:]), 12, "log_bits"),
            stage(7, length - 33, signed(11), "log_exponent"),
            stage.delay(negative, 1),
        )

    # Stages 8 to 12: the product

    def _product(self, m, stage, q, reciprocal):
        multipliers = m.submodules.product = PipelinedMultipliers(
            lanes=2, a_width=15, b_width=11, family=self.family
        )
        op = self._op[7]
        x, y = (stage.delay(Cat(v[:9], 1), 7) for v in (self.x, self.y))
        reciprocal = stage.delay(reciprocal, 5)
        narrow = stage(8, Mux(op == SpecialOp.POW, y, x), 10, "narrow")
        wide = stage(
            8, Mux(op == SpecialOp.POW, q, Mux(op == SpecialOp.EXP, L2E, reciprocal)), _WIDE, "wide"
        )
        m.d.comb += [multipliers.a[0].eq(wide[:_HALF]), multipliers.a[1].eq(wide[_HALF:])]
        for lane in range(2):
            m.d.comb += multipliers.b[lane].eq(narrow)
        low, high = (multipliers.p[k][:24] for k in range(2))  # 11
        return stage(12, low + (high << _HALF), 38, "product")

    def _direct(self, stage, product, log_result, ex, ey):
        """Quotient or logarithm, ready for rounding: (bits, exponent, sign of the logarithm)."""
        bits, exponent, negative = (stage.delay(v, 5) for v in log_result)  # 12
        upper = product[30]
        quotient = Mux(
            upper,
            Cat(product[:20].any(), product[20], product[21:31]),
            Cat(product[:19].any(), product[19], product[20:30]),
        )
        apart = stage(1, ex - ey, signed(11), "apart")
        power = stage.delay(apart, 11) - ~upper
        log = self._op[12] == SpecialOp.LOG
        return (
            stage(13, Mux(log, bits, quotient), 12, "direct"),
            stage(13, Mux(log, exponent, power), signed(11), "direct_exponent"),
            stage(13, log & negative, 1, "direct_negative"),
        )

    # Stages 12 to 16: fixed point

    def _fixed_point(self, stage, product, d, ex, ey, negative):
        """Power-of-two exponent with 24 fraction bits, whether it is too large, and whether it is
        negative."""
        power = self._op[7] == SpecialOp.POW
        # Shift to the right of what was shifted left by 12 before.
        of_exp = stage.delay(12 + 12 + BIAS - ex, 7)
        of_power = (17 + 12 + BIAS) - stage.delay(ey, 7) - d
        right = stage(8, Mux(power, of_power, of_exp), signed(11), "right")
        over = stage.delay(stage(9, right < 0, 1, "over"), 3)
        right = stage.delay(stage(9, Mux(right > 63, 63, right), 6, "clamped"), 3)  # 12
        value = Cat(Const(0, 13), product)  # one bit below the last, for rounding
        moved = value
        for k in range(1, 4):
            moved = Mux(right[4:] == k, value >> 16 * k, moved)
        value = stage(13, moved, 51, "fixed_coarse")
        right = stage.delay(right[:4], 1)
        moved = value
        for k in range(1, 4):
            moved = Mux(right[2:] == k, value >> 4 * k, moved)
        value = stage(14, moved, 51, "fixed_middle")
        value = stage(15, value >> stage.delay(right[:2], 1), 51, "fixed_fine")
        rounded = value[1:] + value[0]
        fixed = stage(16, rounded, 51, "fixed")
        down = stage.delay(
            stage(
                7,
                Mux(
                    self._op[6] == SpecialOp.POW,
                    negative ^ stage.delay(self.y[17], 6),
                    stage.delay(self.x[17], 6),
                ),
                1,
                "down",
            ),
            9,
        )  # 16
        overflow = stage(17, (fixed[_POWER:].any() | stage.delay(over, 4)), 1, "overflow")
        return fixed[:_POWER], overflow, down

    # Stages 17 to 29: two to that power

    def _two_to(self, m, stage, fixed, down):
        """Power of two: the significand with its leading one at bit 51 or 50, and the integer part
        of the exponent."""
        power = stage(_EXPONENT, Mux(down, -fixed, fixed), signed(_POWER + 1), "power")
        memory = m.submodules.exponential = Memory(
            shape=27, depth=512, init=[int(v) for v in expt()]
        )
        port = memory.read_port()
        m.d.comb += port.addr.eq(power[15:24])
        table = stage(_EXPONENT + 2, port.data, 27, "exponential")  # 19

        first = m.submodules.linear = PipelinedMultipliers(
            lanes=1, a_width=16, b_width=17, family=self.family
        )
        m.d.comb += [first.a[0].eq(power[:15]), first.b[0].eq(LNC)]
        linear = first.p[0][16:31]  # 20
        second = m.submodules.square = PipelinedMultipliers(
            lanes=1, a_width=16, b_width=16, family=self.family
        )
        m.d.comb += [second.a[0].eq(linear), second.b[0].eq(linear)]
        c = stage(24, stage.delay(linear, 3) + second.p[0][25:], 16, "c")

        third = m.submodules.correction = PipelinedMultipliers(
            lanes=2, a_width=15, b_width=17, family=self.family
        )
        table = stage.delay(table, 5)  # 24
        m.d.comb += [
            third.a[0].eq(table[:_HALF]),
            third.a[1].eq(table[_HALF:]),
            third.b[0].eq(c),
            third.b[1].eq(c),
        ]
        low, high = (third.p[k][:30] for k in range(2))  # 27
        correction = stage(28, low + (high << _HALF), 44, "correction_sum")
        value = stage(29, Cat(Const(0, 24), stage.delay(table, 4)) + correction, 52, "value")
        return value, stage.delay(power[24:], 29 - _EXPONENT)

    # Stages 30 to 32: one rounding

    def _finish(self, m, stage, value, whole, direct, kind, sign, overflow, down):
        upper = value[51]
        bits = Mux(
            upper,
            Cat(value[:41].any(), value[41], value[42:52]),
            Cat(value[:40].any(), value[40], value[41:51]),
        )
        exponent = whole.as_signed() + upper
        direct_bits, direct_exponent, direct_negative = (stage.delay(v, 16) for v in direct)  # 29
        uses_direct = stage.delay(
            (self._op[13] == SpecialOp.DIV) | (self._op[13] == SpecialOp.LOG), 16
        )
        bits = stage(_READY, Mux(uses_direct, direct_bits, bits), 12, "bits")
        exponent = stage(
            _READY, Mux(uses_direct, direct_exponent, exponent) + BIAS, signed(12), "biased"
        )
        negative = stage(_READY, uses_direct & direct_negative, 1, "negative")

        sticky, guard, kept = bits[0], bits[1], bits[2:]
        rounded = stage(31, kept[:FRAC] + (guard & (sticky | kept[0])), FRAC + 1, "rounded")
        plain, further = (
            stage(31, exponent, signed(12), "plain"),
            stage(31, exponent + 1, signed(12), "further"),
        )
        carry = rounded[FRAC]
        chosen = Mux(carry, further, plain)
        over, under = Mux(carry, further > 254, plain > 254), Mux(carry, further < 1, plain < 1)

        # A power's exponent that is too large; those of the other instructions never are.
        power = stage.delay(self._op[13] == SpecialOp.POW, 18)  # 31
        too_large = stage.delay(overflow, 14) & power
        down = stage.delay(down, 15)
        kind, sign = stage.delay(kind, 29), stage.delay(sign, 29)
        normal_sign = sign ^ stage.delay(negative, 1)
        result = Signal(18)
        infinite, nothing = Cat(Const(INF, 17), sign), Cat(Const(0, 17), sign)
        with m.Switch(kind):
            with m.Case(_Kind.NAN):
                m.d.comb += result.eq(NAN)
            with m.Case(_Kind.INFINITE):
                m.d.comb += result.eq(infinite)
            with m.Case(_Kind.ZERO):
                m.d.comb += result.eq(nothing)
            with m.Case(_Kind.ONE):
                m.d.comb += result.eq(Cat(Const(ONE, 17), sign))
            with m.Default():
                with m.If(too_large):
                    m.d.comb += result.eq(Mux(down, nothing, infinite))
                with m.Elif(over):
                    m.d.comb += result.eq(infinite)
                with m.Elif(under):
                    m.d.comb += result.eq(nothing)
                with m.Else():
                    m.d.comb += result.eq(Cat(rounded[:FRAC], chosen[:8], normal_sign))
        m.d.comb += self.result.eq(stage(32, result, 18, "packed"))
