# SPDX-License-Identifier: BSD-2-Clause
"""Operand checks of an instruction: addresses, ranges, and their legality (sections 4.2 to 4.4 and
6).

Two lanes work side by side, of the destination and of the first source; the second source follows
one step behind in the lane of the destination, a global address in that of the source. A step is a
cycle:

====== =============================================================================================
step   what is made in it
====== =============================================================================================
0      start of destination and of source 1: a register and an offset scaled by the elements' bytes
1      their last bytes; start of source 2, or the value of rs2; the global address
2      their faults and overlap; last byte of source 2; main-memory address, the global range's ends
3      fault and overlap of source 2, fault of the global range (not for instructions without them)
====== =============================================================================================

After step 2, or 3, all flags stand. Between 1 and 2 an instruction with a stride makes (len-1) *
stride * bytes, a bit of the factor a cycle, as long as there are any.
"""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .....arguments import check_family, check_memory_size
from .....isa.parameters import Params
from .....primitives.adders import FunctionAdder
from ..commands import address_bits
from .decode import operation_layout
from .scoreboard import at_most, ranges_layout

__all__ = ["Operands"]

#: Bits of a stride beyond which no second element fits into LMem.
_STRIDE_BITS = 18
_MOST_BYTES = 2048


def _scaled(code, once, thrice, fill=0):
    """Product of ``once`` and 1 to 4, by ``code`` 0 to 3; ``fill`` is shifted in. ``thrice`` is
    three times ``once``, or that minus one."""
    return Mux(code[1], *_multiples(code[0], once, thrice, fill))


def _multiples(odd, once, thrice, fill=0):
    """Products of :func:`_scaled` if the upper bit of the code is 1, and if it is 0; ``odd`` is the
    lower bit."""
    bits = len(thrice) + 1
    sign = once[-1] if once.shape().signed else 0
    one = Cat(once, *[sign] * (bits - len(once)))
    two = Cat(fill, once, *[sign] * (bits - len(once) - 1))
    four = Cat(fill, fill, once, *[sign] * (bits - len(once) - 2))
    three = Cat(thrice, thrice[-1] if thrice.shape().signed else 0)
    return Mux(odd, four[:bits], three), Mux(odd, two, one)


class Operands(wiring.Component):
    """Operand checks: addresses, ranges and faults of the current instruction.

    Parameters
    ----------
    params : dict of ``SPACE.resolve``
    memory_size : int
        Bytes of main memory: a transfer that might leave it may meet a bus error.
    family : as the primitives'

    Members
    -------
    operation : In, :func:`~.decode.operation_layout`, still from step 0 to the last step;
        the outputs stand until the next step 0
    step : In(4), a bit a step, one cycle each; ``a``, ``b`` : In(32).
        With step 0 ``a`` is R[rs1] (send: its source), ``b`` R[rd]; with step 1 ``a`` is the lower
        half of rs1's pair, ``b`` R[rs2] or the lower half of rd's
    in_code, out_code : In(2), bytes of an element of ibiw and of obiw bits, less one
    count : In, with step 0: ``rows``, ``cols`` : In(10) (less one) are the elements
    stride : In, one cycle, after step 1 of an instruction with a stride; stride_done : Out,
        one cycle: go on with step 2
    gmem_base, gmem_low, gmem_high : In, of :class:`~..links.StartPort`
    dst, src, third : Out(32), starts of the operands;
        ``third`` is R[rs2] where that is no address. global_address, main : Out(32)
    ranges : Out, for the scoreboard
    wrong_d, wrong_s, wrong_t : Out, LMEM_RANGE of each; wrong_g : GMEM_RANGE; overlap : Out
    risky : Out, the global range might not be in memory
    """

    def __init__(self, *, params: Params, memory_size: int, family: str | None = None) -> None:
        check_memory_size(memory_size)
        check_family(family)
        self.params, self.memory_size, self.family = params, memory_size, family
        super().__init__(
            {
                "operation": In(operation_layout()),
                "step": In(4),
                "a": In(32),
                "b": In(32),
                "in_code": In(2),
                "out_code": In(2),
                "count": In(1),
                "rows": In(10),
                "cols": In(10),
                "stride": In(1),
                "stride_done": Out(1),
                "gmem_base": In(32),
                "gmem_low": In(32),
                "gmem_high": In(32),
                "dst": Out(32),
                "src": Out(32),
                "third": Out(32),
                "global_address": Out(32),
                "main": Out(32),
                "ranges": Out(ranges_layout(params)),
                "wrong_d": Out(1),
                "wrong_s": Out(1),
                "wrong_t": Out(1),
                "wrong_g": Out(1),
                "overlap": Out(1),
                "risky": Out(1),
            }
        )
        # These registers need no reset: each is written before it is looked at.
        self.dst, self.src, self.third = (
            Signal(32, name=name, reset_less=True) for name in ("dst", "src", "third")
        )
        self.global_address, self.main = (
            Signal(32, name=name, reset_less=True) for name in ("global_address", "main")
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        op, step = self.operation, self.step
        bits = address_bits(self.params)
        offset, offset_3 = op.high[3:].as_signed(), op.offset_3.as_signed()

        # Starts
        d_code, s_code, d_held, s_held = (
            Signal(2),
            Signal(2),
            Signal(2, reset_less=True),
            Signal(2, reset_less=True),
        )
        m.d.comb += [
            d_code.eq(Mux(op.d_in, self.in_code, Mux(op.d_out, self.out_code, 0))),
            s_code.eq(Mux(op.s_in, self.in_code, 0)),
        ]
        # The results for this instruction are kept while the next one waits, until that begins.
        has_d, has_s, has_t, single = (
            Signal(name=name, reset_less=True) for name in ("has_d", "has_s", "has_t", "single")
        )
        self._has_g = Signal(name="has_g", reset_less=True)
        with m.If(step[0]):
            m.d.sync += [
                d_held.eq(d_code),
                s_held.eq(s_code),
                has_d.eq(op.has_d),
                has_s.eq(op.has_s),
                has_t.eq(op.has_t),
                single.eq(op.single),
                self._has_g.eq(op.has_g),
            ]
        d_sum, s_sum = Signal(32), Signal(33)
        far = Mux(op.st, self.b, self.a)  # of a pair: upper half with step 0, lower with step 1
        for total, name, base, code, moves in (
            (
                d_sum,
                "d_adder",
                self.b,
                Mux(step[1], self.in_code, d_code),
                Mux(step[1], op.offset_t, op.offset_d),
            ),
            (
                s_sum,
                "s_adder",
                Mux(step[1], far, self.a),
                s_code,
                Mux(step[1], op.offset_g, op.offset_s),
            ),
        ):
            m.submodules[name] = adder = FunctionAdder(
                width=len(total), function="mux", family=self.family
            )
            upper, lower = _multiples(code[0], offset, offset_3)
            m.d.comb += [
                adder.a.eq(base),
                adder.b.eq(code[1].replicate(len(total))),
                adder.c.eq(upper & moves.replicate(32)),
                adder.d.eq(lower & moves.replicate(32)),
                total.eq(adder.total),
            ]
        with m.If(step[0]):
            m.d.sync += [self.dst.eq(d_sum), self.src.eq(s_sum)]
        with m.If(step[1]):
            m.d.sync += [self.third.eq(d_sum), self.global_address.eq(s_sum)]

        # Last bytes, less the start: elements times bytes, less one
        d_count, d_count_3 = Signal(11, reset_less=True), Signal(13, reset_less=True)
        s_count, s_count_3 = Signal(11, reset_less=True), Signal(13, reset_less=True)
        with m.If(step[0]):
            m.d.sync += [
                d_count.eq(op.count),
                d_count_3.eq(op.count_3),
                s_count.eq(op.count),
                s_count_3.eq(op.count_3),
            ]
        with m.If(self.count):
            m.d.sync += [
                d_count.eq(self.cols),
                d_count_3.eq(self.cols + (self.cols << 1) + 2),
                s_count.eq(self.rows),
                s_count_3.eq(self.rows + (self.rows << 1) + 2),
            ]
        d_bytes, s_bytes = Signal(13), Signal(13)
        m.d.comb += [
            d_bytes.eq(Mux(op.single, d_held, _scaled(d_held, d_count, d_count_3, fill=1))),
            s_bytes.eq(_scaled(s_held, s_count, s_count_3, fill=1)),
        ]
        reach = max(bits, 13) + 1
        d_last, s_last, t_last = (
            Signal(reach, name=name, reset_less=True) for name in ("d_last", "s_last", "t_last")
        )
        s_first, t_first = Signal(bits, reset_less=True), self.third[:bits]
        with m.If(step[1]):
            m.d.sync += [
                d_last.eq(self.dst[:bits] + d_bytes),
                s_last.eq(self.src[:bits] + s_bytes),
                s_first.eq(self.src[:bits]),
            ]
        with m.If(step[2]):
            m.d.sync += t_last.eq(t_first + s_bytes)
        s_far = self._stride(m, s_first, s_last, s_bytes, s_held)

        # Faults of ranges, and overlap
        in_place, crosses_s, crosses_t, below_s, below_t = (
            Signal(name=name, reset_less=True)
            for name in ("in_place", "crosses_s", "crosses_t", "below_s", "below_t")
        )
        d_first = self.dst[:bits]
        d_low, s_low, t_low = Signal(bits), Signal(bits), Signal(bits)
        m.d.comb += [d_low.eq(~d_first), s_low.eq(~s_first), t_low.eq(~t_first)]
        with m.If(step[2]):
            m.d.sync += [
                self.wrong_d.eq(op.has_d & (self.dst[bits:].any() | d_last[bits:].any())),
                self.wrong_s.eq(op.has_s & (self.src[bits:].any() | s_last[bits:].any() | s_far)),
                crosses_s.eq(
                    op.has_d
                    & op.has_s
                    & at_most(d_low, s_last[:bits])
                    & at_most(s_low, d_last[:bits])
                ),
                below_s.eq(at_most(d_low, s_first)),
                in_place.eq(op.in_place & (d_held <= s_held)),
            ]
        with m.If(step[2]):
            m.d.sync += [self.wrong_t.eq(0), crosses_t.eq(0)]
        with m.If(step[3]):
            m.d.sync += [
                self.wrong_t.eq(op.has_t & (self.third[bits:].any() | t_last[bits:].any())),
                crosses_t.eq(
                    op.has_t & at_most(d_low, t_last[:bits]) & at_most(t_low, d_last[:bits])
                ),
                below_t.eq(at_most(d_low, t_first)),
            ]
        m.d.comb += self.overlap.eq(
            ~single & (crosses_s & ~(in_place & below_s) | crosses_t & ~(in_place & below_t))
        )
        written, read_1, read_2 = self.ranges.written, self.ranges.read_1, self.ranges.read_2
        m.d.comb += [
            written.used.eq(has_d),
            written.first.eq(d_first),
            written.last.eq(d_last),
            read_1.used.eq(has_s),
            read_1.first.eq(s_first),
            read_1.last.eq(s_last),
            read_2.used.eq(has_t),
            read_2.first.eq(t_first),
            read_2.last.eq(t_last),
        ]
        self._global(m, far, s_sum, offset)
        return m

    def _stride(self, m, s_first, s_last, s_bytes, s_held):
        """Range of a strided source; returns whether it exceeds LMem in a way that its last byte
        does not show."""
        op, bits = self.operation, len(s_first)
        far = Signal(reset_less=True)
        factor, step_by, sum_ = (
            Signal(13, reset_less=True),
            Signal(32, reset_less=True),
            Signal(32, reset_less=True),
        )
        back, busy, ready = Signal(reset_less=True), Signal(), Signal()
        stride = self.third[:_STRIDE_BITS].as_signed()
        too_far = Signal()
        m.d.comb += too_far.eq(
            self.third[_STRIDE_BITS - 1 :].any() & ~self.third[_STRIDE_BITS - 1 :].all()
        )
        last = Signal(bits)
        m.submodules.stride_adder = adder = FunctionAdder(
            width=32, function="and", family=self.family
        )
        m.d.comb += [
            adder.a.eq(sum_),
            adder.b.eq(step_by),
            adder.c.eq(factor[0].replicate(32)),
            ready.eq(busy & ~factor.any()),
            self.stride_done.eq(ready),
            last.eq(Mux(back, self.src, sum_)),
        ]
        with m.If(self.step[1]):
            m.d.sync += far.eq(0)
        with m.If(self.stride):
            m.d.sync += [
                factor.eq(s_bytes - s_held),
                step_by.eq(stride),
                sum_.eq(self.src[:bits]),
                busy.eq(1),
                back.eq(self.third[31]),
                far.eq(too_far & op.count.any()),
            ]
        with m.Elif(ready):
            # ``sum_`` is the start of the last element, no multiple of 2^32 away: 2^17 * 2^13 is
            # the most.
            m.d.sync += [
                busy.eq(0),
                far.eq(far | sum_[bits:].any()),
                s_first.eq(Mux(back, sum_, self.src)),
                s_last.eq(last + s_held),
            ]
        with m.Elif(busy):
            m.d.sync += [
                factor.eq(factor >> 1),
                step_by.eq(step_by << 1),
                sum_.eq(adder.total),
            ]
        return far

    def _global(self, m, far, total, offset):
        """Range of an access in global memory."""
        op, step = self.operation, self.step
        zero, one, ones, carry = (
            Signal(name=name, reset_less=True) for name in ("zero", "one", "ones", "carry")
        )
        end = Signal(33, reset_less=True)
        upper, below, above = (
            Signal(reset_less=True),
            Signal(reset_less=True),
            Signal(reset_less=True),
        )
        back = op.offset_g & offset[-1]
        safe = max(0, self.memory_size - _MOST_BYTES)
        with m.If(step[0]):
            m.d.sync += [zero.eq(far == 0), one.eq(far == 1), ones.eq(far.all())]
        with m.If(step[1]):
            m.d.sync += carry.eq(total[32])
        with m.If(step[2]):
            m.d.sync += [
                end.eq(self.global_address + op.count),
                self.main.eq(self.global_address + self.gmem_base),
                below.eq(self.global_address < self.gmem_low),
                # Upper half, plus -1 for an offset below zero, plus the carry of the lower half,
                # must be 0.
                upper.eq(~Mux(back, Mux(carry, zero, one), Mux(carry, ones, zero))),
            ]
        with m.If(step[3]):
            m.d.sync += [above.eq(end >= self.gmem_high), self.risky.eq(self.main >= safe)]
        m.d.comb += self.wrong_g.eq(self._has_g & (upper | below | above))
