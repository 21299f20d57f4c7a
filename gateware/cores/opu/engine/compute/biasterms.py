# SPDX-License-Identifier: BSD-2-Clause
"""Bias terms: base and addend of ``conv.bias`` for a group of output channels, one lane per
cycle ahead of the group."""

from amaranth import Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from .....isa.parameters import Params
from .....parts.datapath import narrowest
from .....parts.delays import delay
from .rounding import RoundingBits

__all__ = ["BiasTerms"]


def _saturate(value, bits):
    """``value`` clamped to ``bits`` signed bits, as unsigned bits."""
    sign = value[-1]
    over = (value[bits - 1 : -1] ^ sign.replicate(len(value) - bits)).any()
    return Mux(over, Cat((~sign).replicate(bits - 1), sign), value[:bits])


class BiasTerms(wiring.Component):
    """Bias term generator: processes the groups of one ``conv.bias`` at a time, and holds the terms
    of the next group until they are taken.

    Parameters
    ----------
    params : dict of ``SPACE.resolve``
    swap_stage : int
        Cycles from a group's first step to the cycle in which the lanes take ``base`` over; they
        take ``addend`` over later.

    Members
    -------
    clear : In
    command : In(stream): shifts, ``copy`` and log2 of the number of groups
    address : Out, data : In, two cycles later: an element of the bias memory
    ready : Out: the group after the one last taken may make its first step in this cycle
    take : In: it does
    swapped : In: the lanes have taken over everything in this cycle
    base, addend : Out, one for each lane

    A lane takes :attr:`LATENCY` cycles from ``address``; ``ready`` comes as early as the lanes'
    ``swap_stage`` allows.
    """

    LATENCY = 11

    def __init__(self, *, params: Params, swap_stage: int) -> None:
        self.lanes = params["po"]
        self.bits = RoundingBits.of(params)
        self.swap_stage = swap_stage
        self.command_shape = data.StructLayout(
            {"ifm_shift": signed(8), "bias_shift": signed(8), "copy": 1, "groups": 3}
        )
        super().__init__(
            {
                "clear": In(1),
                "command": In(stream.Signature(self.command_shape)),
                "address": Out(7),
                "data": In(signed(self.bits.bias)),
                "ready": Out(1),
                "take": In(1),
                "swapped": In(1),
                "base": Out(signed(self.bits.accumulator)).array(self.lanes),
                "addend": Out(signed(self.bits.ofm)).array(self.lanes),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        lanes = self.lanes
        lane_bits = exact_log2(lanes)

        # A command, its groups, and the lanes of a group.
        active, issuing, filled, taken = Signal(), Signal(), Signal(), Signal()
        group, last_group = Signal(6), Signal(6)
        lane = Signal(max(lane_bits, 1))
        copy = Signal()
        shifts = Signal(data.StructLayout({"f": signed(8), "b": signed(8)}), reset_less=True)
        m.d.comb += [
            self.command.ready.eq(~active),
            self.address.eq(Cat((narrowest(lane, lane_bits) + (group << lane_bits))[:6], copy)),
        ]
        with m.If(self.command.valid & ~active):
            m.d.sync += [
                active.eq(1),
                issuing.eq(1),
                group.eq(0),
                lane.eq(0),
                copy.eq(self.command.payload.copy),
                last_group.eq((1 << self.command.payload.groups) - 1),
                shifts.f.eq(self.command.payload.ifm_shift),
                shifts.b.eq(self.command.payload.bias_shift),
            ]
        with m.If(issuing):
            m.d.sync += lane.eq(lane + 1)
            with m.If(lane == lanes - 1):
                m.d.sync += [lane.eq(0), issuing.eq(0)]
        # The last lane's terms stand LATENCY cycles after its address, and are needed swap_stage
        # cycles after `ready`.
        early = delay(
            m,
            issuing & (lane == lanes - 1),
            max(0, self.LATENCY - 1 - self.swap_stage),
            "early",
            clear=self.clear,
        )
        # ``ready``: filled and not taken.
        with m.If(early):
            m.d.sync += [filled.eq(1), self.ready.eq(1)]
        with m.If(self.take):
            m.d.sync += [taken.eq(1), self.ready.eq(0)]
        with m.If(taken & self.swapped):
            m.d.sync += [filled.eq(0), taken.eq(0), group.eq(group + 1)]
            with m.If(group == last_group):
                m.d.sync += active.eq(0)
            with m.Else():
                m.d.sync += issuing.eq(1)
        with m.If(self.clear):
            m.d.sync += [active.eq(0), issuing.eq(0), filled.eq(0), taken.eq(0), self.ready.eq(0)]

        base, addend = self._lane(m, shifts)
        target = delay(
            m,
            Mux(issuing, Const(1, lanes) << lane, 0)[:lanes],
            self.LATENCY - 1,
            "target",
            clear=self.clear,
        )
        for k in range(lanes):
            kept, kept_addend = (
                Signal.like(base, name=f"base_{k}", reset_less=True),
                Signal.like(addend, name=f"addend_{k}", reset_less=True),
            )
            with m.If(target[k]):
                m.d.sync += [kept.eq(base), kept_addend.eq(addend)]
            m.d.comb += [self.base[k].eq(kept), self.addend[k].eq(kept_addend)]
        return m

    def _plan(self, m, shifts):
        """Shift amounts and selections for a command, in registers that are valid three cycles
        after ``shifts``."""
        bits = self.bits
        f, b = shifts.f, shifts.b
        most, k_bits = bits.bias + 1, bits.right.bit_length()
        plan = Signal(
            data.StructLayout(
                {
                    "right": most.bit_length(),
                    "round": 1,
                    "one": 1,
                    "flip": 1,
                    "left": bits.base.bit_length(),
                    "below": k_bits,
                    "half": bits.right,
                    "upper_base": 1,
                    "below_base": 1,
                    "upper_addend": 1,
                    "below_addend": 1,
                }
            ),
            reset_less=True,
        )

        def register(value, name, shape=None):
            held = Signal(shape or value.shape(), name=name, reset_less=True)
            m.d.sync += held.eq(value)
            return held

        def clip(value, top):
            return Mux(value > top, top, value)[: top.bit_length()]

        # First what each shift is alone.
        minus_f, minus_b = Signal(9), Signal(9)
        m.d.comb += [minus_f.eq(-f), minus_b.eq(-b)]
        plus, small, far = (
            register(value, name)
            for value, name in (
                (f >= 0, "plus"),
                (b < 0, "small"),
                ((f < -bits.right) & (b < 0), "far"),
            )
        )
        k = register(Mux(f >= 0, 0, clip(minus_f, bits.right)), "k", k_bits)
        tie = register(clip(minus_b, most), "tie")
        addend_shift = register(clip(b.as_unsigned(), bits.ofm), "addend_shift")
        f, b, minus_f, minus_b = (
            register(value, name)
            for value, name in (
                (f, "f"),
                (b, "b"),
                (minus_f, "minus_f"),
                (minus_b.as_signed(), "minus_b"),
            )
        )
        # Then their differences.
        left = register(Mux(plus, b, k) - Mux(plus, f, minus_b), "left", signed(10))
        right = register(Mux(plus, f, minus_b) - Mux(plus, b, k), "right", signed(10))
        distance = register(minus_f - tie, "distance", signed(10))
        half = register(Mux(plus | far, 0, (1 << k) >> 1), "half", bits.right)
        plus, small, far, tie, addend_shift = (
            register(value, f"{value.name}_late") for value in (plus, small, far, tie, addend_shift)
        )
        # Then the choice.
        m.d.sync += [
            plan.half.eq(half),
            plan.left.eq(0),
            plan.right.eq(0),
            plan.round.eq(plus),
            plan.one.eq(0),
            plan.flip.eq(0),
            plan.below.eq(addend_shift),
            plan.upper_base.eq(1),
            plan.below_base.eq(0),
            plan.upper_addend.eq(0),
            plan.below_addend.eq(0),
        ]
        with m.If(plus & small):
            m.d.sync += [plan.right.eq(tie), plan.upper_base.eq(0), plan.upper_addend.eq(1)]
        with m.Elif(far):
            m.d.sync += [
                plan.right.eq(tie),
                plan.one.eq(1),
                plan.flip.eq(1),
                plan.left.eq(bits.right),
                plan.below_base.eq(1),
                plan.below.eq(clip(distance.as_unsigned(), bits.right)),
            ]
        with m.Elif(left < 0):
            m.d.sync += [plan.right.eq(clip(right.as_unsigned(), most)), plan.below_addend.eq(plus)]
        with m.Else():
            m.d.sync += [plan.left.eq(clip(left.as_unsigned(), bits.base)), plan.round.eq(0)]
        return plan

    def _lane(self, m, shifts):
        """Computes base and addend from an element of the bias memory, eight stages after ``data``;
        see ``bias_terms``."""
        bits = self.bits
        plan = self._plan(m, shifts)
        wide = bits.bias + 1

        def register(value, name, shape=None):
            held = Signal(shape or value.shape(), name=name, reset_less=True)
            m.d.sync += held.eq(value)
            return held

        x = register(self.data, "x", signed(wide))
        # Right shift, with one place below for the rounding; what is shifted out, sign-extended,
        # its top bit inverted on demand.
        top = Cat(plan.right == k + 1 for k in range(wide))
        inside = Cat(plan.right > k for k in range(wide))
        half_way = register(
            Cat(Const(0, 1), x).as_signed() >> Cat(Const(0, 2), plan.right[2:]),
            "half_way",
            signed(wide + 1),
        )
        sign = register((x & top).any() ^ (plan.flip & top.any()), "sign")
        low = register((x ^ Mux(plan.flip, top, 0)) & inside, "low", wide)
        shifted = register(half_way >> plan.right[:2], "shifted", signed(wide + 1))
        below = register(low | Mux(sign, ~inside, 0), "below", signed(wide))
        carry = plan.one | plan.round & shifted[0]
        upper = register(shifted[1:].as_signed() + carry, "upper", signed(wide + 1))
        below = register(below, "below_1")
        # Left shifts, upper bits first.
        limit = 1 << len(plan.left)
        coarse = register(upper << Cat(Const(0, 3), plan.left[3:]), "coarse", signed(wide + limit))
        below_coarse = register(
            below << Cat(Const(0, 3), plan.below[3:]),
            "below_coarse",
            signed(wide + (1 << len(plan.below))),
        )
        upper = register(upper, "upper_1")
        fine = register(coarse << plan.left[:3], "fine", signed(wide + limit))
        below_fine = register(
            below_coarse << plan.below[:3], "below_fine", signed(wide + (1 << len(plan.below)))
        )
        upper = register(upper, "upper_2")

        # Clamps, then their sum.
        large = register(Mux(plan.upper_base, _saturate(fine, bits.base), 0), "large").as_signed()
        distance = register(_saturate(below_fine, bits.right), "distance").as_signed()
        addend = register(
            Mux(plan.upper_addend, upper[: bits.ofm], 0)
            | Mux(plan.below_addend, _saturate(below_fine, bits.ofm), 0),
            "addend_chosen",
            signed(bits.ofm),
        )
        base = register(
            large + Mux(plan.below_base, distance, plan.half), "base", signed(bits.accumulator)
        )
        addend = register(addend, "addend")
        return base, addend
