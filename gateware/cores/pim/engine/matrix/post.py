# SPDX-License-Identifier: BSD-2-Clause
"""Requantisation: bias, rounding shift, ReLU, saturation, and the write to LMem, one lane group at
a time (section 4.2)."""

from functools import reduce
from operator import or_

from amaranth import Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from .....arguments import check_family
from .....isa.parameters import Params
from .....primitives.adders import FunctionAdder
from ..commands import TAG_BITS, LMemWrite, address_bits, lmem_word_bytes, progress_layout
from ..saturation import above, byte_sources, choose_bytes, clamped, pick
from .bias import SHIFT_MOST, SUM_BITS
from .weights import lane_groups

__all__ = ["MatrixPost", "post_layout"]


def post_layout(params: Params) -> data.StructLayout:
    """Layout of a command's post-processing: ``dst``, columns minus one, ``obiw``, shift, ReLU,
    tag."""
    return data.StructLayout(
        {"dst": address_bits(params), "cols": 10, "obiw": 6, "shift": 6, "relu": 1, "tag": TAG_BITS}
    )


class MatrixPost(wiring.Component):
    """Requantisation: takes a tile's sums group by group, one per cycle, or in two cycles if
    results have more than two bytes.

    Parameters
    ----------
    params : dict of ``SPACE.resolve``
    sum_width : int, bits of a sum
    family : as the primitives'

    Members
    -------
    space : Out: a tile may be announced; tile : In, one cycle: its last step is made; first,
        last : In, with it: of its command
    command : In, with it: see :func:`post_layout`
    arrived : In, one cycle: the sums of the announced tile's first group stand,
        those of the others follow cycle by cycle
    sums : In, array of all lanes
    available, values : In, take : Out: see :class:`~.bias.Addends`
    write : Out(LMemWrite); progress : Out; ends : Out, the same a cycle earlier
    busy : Out
    """

    def __init__(self, *, params: Params, sum_width: int, family: str | None = None) -> None:
        check_family(family)
        self.params, self.family = params, family
        self.groups, self.group_lanes = lane_groups(params)
        super().__init__(
            {
                "space": Out(1),
                "tile": In(1),
                "first": In(1),
                "last": In(1),
                "command": In(post_layout(params)),
                "arrived": In(1),
                "sums": In(signed(sum_width)).array(params["lanes"]),
                "available": In(1),
                "values": In(signed(SUM_BITS)).array(self.group_lanes),
                "take": Out(1),
                "write": Out(LMemWrite(params)),
                "progress": Out(progress_layout()),
                "ends": Out(progress_layout()),
                "busy": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        lanes, word = self.group_lanes, lmem_word_bytes(self.params)
        split = exact_log2(lanes)
        # Lanes that serve elements of more than two bytes; the upper lanes' go through them, too.
        wide = max(1, lanes // 2) if self.params["max_biw"] > 16 else lanes

        # The tile that is announced, and which of its groups is next
        announced, going, fresh, ends = Signal(), Signal(), Signal(), Signal()
        coming = Signal(post_layout(self.params), reset_less=True)
        left, group = (
            Signal(10, reset_less=True),
            Signal(self.groups, reset_less=True),
        )  # ``group``: a bit each
        fire, empty, advance, moves = Signal(), Signal(), Signal(), Signal()
        final = left[split:] == 0  # the command's last group
        at_end = final | group[-1]
        closes = Signal()  # the group in the first stage is its tile's last
        m.d.comb += [
            self.space.eq(~announced),
            self.take.eq(fire),
            fire.eq((self.arrived | going) & self.available & advance & (~fresh | empty)),
        ]
        m.d.sync += going.eq((going | self.arrived) & ~(fire & at_end))
        with m.If(fire):
            m.d.sync += [left.eq(left - lanes), group.eq(group << 1), fresh.eq(0)]
        with m.If(advance):
            m.d.sync += closes.eq(fire & at_end)
            # Not before the first stage can do without the sums.
            with m.If(closes):
                m.d.sync += announced.eq(0)
        with m.If(self.tile):
            m.d.sync += [announced.eq(1), ends.eq(self.last), group.eq(1)]
            with m.If(self.first):
                m.d.sync += [coming.eq(self.command), left.eq(self.command.cols), fresh.eq(1)]

        now = self._command(m, coming, fire & fresh, wide)

        # Three stages: sums and addends of one group, total, shifted. Where elements are wide, the
        # total's upper lanes follow the lower ones.
        valid, last = (
            [Signal(name=f"valid_{k}") for k in range(3)],
            [Signal(name=f"last_{k}") for k in range(3)],
        )
        whole = [Signal(lanes, name=f"lanes_{k}", reset_less=True) for k in range(3)]
        second, splits, accepted = Signal(), Signal(), Signal()
        request = self.write.request
        m.d.comb += [
            splits.eq(valid[1] & now.halves & ~second),
            accepted.eq(request.valid & request.ready),
            moves.eq(~valid[2] | accepted),
            advance.eq(moves & ~splits),
            empty.eq(~Cat(*valid).any()),
        ]
        with m.If(moves):
            m.d.sync += [
                second.eq(splits),
                valid[2].eq(valid[1]),
                last[2].eq(last[1] & ~splits),
                whole[2].eq(whole[1]),
                whole[1].eq(whole[1][wide:]),
            ]
        with m.If(advance):
            m.d.sync += [
                Cat(*valid[:2]).eq(Cat(fire, valid[0])),
                Cat(*last[:2]).eq(Cat(final & ends, last[0])),
                whole[0].eq(Cat(~final | (left[:split] >= k) if k else 1 for k in range(lanes))),
                whole[1].eq(whole[0]),
            ]
        totals = self._totals(m, advance, moves, splits, group, wide)
        results = [
            self._result(m, k, totals[k], now, moves, self._bits(k, wide)) for k in range(lanes)
        ]

        # Bytes
        sources, masks = {}, {}
        for byw in range(1, self.params["max_biw"] // 8 + 1):
            sources[byw - 1] = byte_sources(word, lanes if byw <= 2 else wide, byw)
            masks[byw - 1] = Cat(
                Const(0, 1) if s is None else whole[2][s[0]] for s in sources[byw - 1]
            )
        m.d.comb += [
            request.valid.eq(valid[2]),
            request.payload.address.eq(now.dst),
            request.payload.data.eq(choose_bytes(sources, results, now.bytes_less_one)),
            request.payload.mask.eq(pick(masks, now.bytes_less_one)),
        ]
        with m.If(accepted):
            m.d.sync += now.dst.eq(now.dst + now.advance_by)
        m.d.comb += [self.ends.done.eq(accepted & last[2]), self.ends.tag.eq(now.tag)]
        m.d.sync += self.progress.eq(self.ends)
        m.d.comb += self.busy.eq(announced | ~empty)
        return m

    def _bits(self, lane, wide):
        """Width of a result in ``lane``."""
        element = self.params["max_biw"]
        return element if lane < wide else min(element, 16)

    def _command(self, m, coming, begins, wide):
        """The command whose groups are in the pipeline: registers that are loaded when it
        ``begins``, with values made ready beforehand from that which is ``coming``."""
        lanes, bits = self.group_lanes, address_bits(self.params)
        now = Signal(
            data.StructLayout(
                {
                    "shift": 6,
                    "fits": SUM_BITS,  # bits of a total that are alike if its result is not clamped
                    "upper": self.params["max_biw"],  # bits of a result from its sign on
                    "bytes_less_one": 2,
                    "halves": 1,
                    "advance_by": range(max(2 * lanes, 4 * wide) + 1),
                    "relu": 1,
                    "tag": TAG_BITS,
                    "dst": bits,
                }
            ),
            name="now",
            reset_less=True,
        )
        following = Signal.like(now, name="following", reset_less=True)
        shift, place = Signal(6), Signal(7)
        sign_place = Signal(6, reset_less=True)  # of a result's sign in the total, plus one
        less_one = (coming.obiw - 1)[3:]
        m.d.comb += [
            shift.eq(Mux(coming.shift > SHIFT_MOST, SHIFT_MOST, coming.shift)),
            place.eq(shift + coming.obiw),
        ]
        m.d.sync += [
            sign_place.eq(place[:6] | place[6].replicate(6)),
            following.shift.eq(shift),
            following.fits.eq(above(m, sign_place, SUM_BITS, "sign_place")),
            following.upper.eq(above(m, coming.obiw, self.params["max_biw"], "obiw")),
            following.bytes_less_one.eq(less_one),
            following.halves.eq(less_one[1] if wide < lanes else 0),
            following.advance_by.eq(
                pick({1: lanes, 2: 2 * lanes, 3: 3 * wide, 4: 4 * wide}, less_one + 1)
            ),
            following.relu.eq(coming.relu),
            following.tag.eq(coming.tag),
            following.dst.eq(coming.dst),
        ]
        with m.If(begins):
            m.d.sync += now.eq(following)
        return now

    def _totals(self, m, advance, moves, splits, group, wide):
        """Totals of a group's sums and addends. Sums of the other groups are cleared by the reset
        of their registers, so that the selection is an OR, and half of that is the adder's."""
        lanes = self.group_lanes
        held, chosen = Signal(self.groups, reset_less=True), Signal(self.groups)
        m.d.comb += chosen.eq(Mux(advance, group, held))
        m.d.sync += held.eq(chosen)
        sums = []
        for k in range(lanes):
            addend = Signal(SUM_BITS, name=f"addend_{k}", reset_less=True)
            with m.If(advance):
                m.d.sync += addend.eq(self.values[k])
            alternatives = []
            for g in range(self.groups):
                one = Signal.like(self.sums[0], name=f"chosen_{g}_{k}", reset_less=True)
                m.d.sync += one.eq(Mux(chosen[g], self.sums[g * lanes + k], 0))
                alternatives.append(Cat(one, one[-1].replicate(SUM_BITS - len(one))))
            m.submodules[f"adder_{k}"] = adder = FunctionAdder(
                width=SUM_BITS, function="or", family=self.family
            )
            half = -(-self.groups // 2)
            m.d.comb += [
                adder.a.eq(addend),
                adder.b.eq(reduce(or_, alternatives[:half])),
                adder.c.eq(reduce(or_, alternatives[half:], Const(0, SUM_BITS))),
            ]
            sums.append(adder.total)
        totals = [Signal(SUM_BITS, name=f"total_{k}", reset_less=True) for k in range(lanes)]
        for k in range(lanes):
            if k + wide < lanes:
                with m.If(moves):
                    m.d.sync += totals[k].eq(Mux(splits, totals[k + wide], sums[k]))
            else:
                with m.If(advance):
                    m.d.sync += totals[k].eq(sums[k])
        return totals

    def _result(self, m, lane, total, now, moves, bits):
        """Result of ``lane`` in ``bits`` bits: shifted, clamped and rectified. Whether it is
        clamped is found in the total, beside the shift, which needs no more bits then than the
        result has."""
        shifted, negative = total, total[-1]
        for stage in reversed(range(len(now.shift))):
            step = 1 << stage
            # What is left to be shifted is less than a step.
            length = min(SUM_BITS, bits + step - 1)
            extended = Cat(shifted, negative.replicate(step + length - len(shifted)))
            shifted = Mux(now.shift[stage], extended[step:][:length], extended[:length])
        clamp = (now.fits & total).any() & (now.fits & ~total).any()
        value = Signal(bits, name=f"shifted_{lane}", reset_less=True)
        first, second = (
            Signal(name=f"{name}_{lane}", reset_less=True) for name in ("clamped", "inverted")
        )
        with m.If(moves):
            m.d.sync += [
                value.eq(shifted),
                first.eq(clamp & ~(now.relu & negative)),
                second.eq((clamp | now.relu) & negative),
            ]
        return clamped(value, now.upper, first, second)
