# SPDX-License-Identifier: BSD-2-Clause
"""Requantisation: bias, rounding shift, ReLU, saturation, and the write to LMem, one lane group at
a time (section 4.2)."""

from amaranth import Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from .....isa.parameters import Params
from ..commands import TAG_BITS, LMemWrite, address_bits, lmem_word_bytes, progress_layout
from ..saturation import above, byte_sources, choose_bytes, gathered, pick, saturate
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

    def __init__(self, *, params: Params, sum_width: int) -> None:
        self.params = params
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
        element, split = self.params["max_biw"], exact_log2(self.group_lanes)

        # The tile that is announced, and which of its groups is next
        announced, going, fresh, ends = Signal(), Signal(), Signal(), Signal()
        coming = Signal(post_layout(self.params), reset_less=True)
        left, group = (
            Signal(10, reset_less=True),
            Signal(self.groups, reset_less=True),
        )  # ``group``: a bit each
        fire, empty, advance = Signal(), Signal(), Signal()
        final = left[split:] == 0  # the command's last group
        at_end = final | group[-1]
        m.d.comb += [
            self.space.eq(~announced),
            self.take.eq(fire),
            fire.eq((self.arrived | going) & self.available & advance & (~fresh | empty)),
        ]
        m.d.sync += going.eq((going | self.arrived) & ~(fire & at_end))
        with m.If(fire):
            m.d.sync += [left.eq(left - lanes), group.eq(group << 1), fresh.eq(0)]
            with m.If(at_end):
                m.d.sync += announced.eq(0)
        with m.If(self.tile):
            m.d.sync += [announced.eq(1), ends.eq(self.last), group.eq(1)]
            with m.If(self.first):
                m.d.sync += [coming.eq(self.command), left.eq(self.command.cols), fresh.eq(1)]

        # The command whose groups are in the pipeline; made ready beforehand.
        shift, shift_next = Signal(6, reset_less=True), Signal(6, reset_less=True)
        mask, mask_next = Signal(SUM_BITS, reset_less=True), Signal(SUM_BITS, reset_less=True)
        bytes_less_one, bytes_next = Signal(2, reset_less=True), Signal(2, reset_less=True)
        advance_by, by_next = (
            Signal(range(2 * lanes + 1), reset_less=True),
            Signal(range(2 * lanes + 1), reset_less=True),
        )
        relu, tag, dst = (
            Signal(reset_less=True),
            Signal(TAG_BITS, reset_less=True),
            Signal(address_bits(self.params), reset_less=True),
        )
        m.d.sync += [
            shift_next.eq(Mux(coming.shift > SHIFT_MOST, SHIFT_MOST, coming.shift)),
            mask_next.eq(above(m, coming.obiw, SUM_BITS, "obiw")),
            bytes_next.eq((coming.obiw - 1)[3:]),
            by_next.eq(
                pick(
                    {1: lanes, 2: 2 * lanes, 3: 3 * lanes // 2, 4: 2 * lanes},
                    (coming.obiw - 1)[3:] + 1,
                )
            ),
        ]
        with m.If(fire & fresh):
            m.d.sync += [
                shift.eq(shift_next),
                mask.eq(mask_next),
                bytes_less_one.eq(bytes_next),
                advance_by.eq(by_next),
                relu.eq(coming.relu),
                tag.eq(coming.tag),
                dst.eq(coming.dst),
            ]

        # Three stages: sum, shifted, result
        valid, last = (
            [Signal(name=f"valid_{k}") for k in range(3)],
            [Signal(name=f"last_{k}") for k in range(3)],
        )
        whole = [Signal(lanes, name=f"lanes_{k}", reset_less=True) for k in range(3)]
        results = []
        with m.If(advance):
            m.d.sync += [
                Cat(*valid).eq(Cat(fire, *valid[:2])),
                Cat(*last).eq(Cat(final & ends, *last[:2])),
            ]
            m.d.sync += [
                whole[0].eq(Cat(~final | (left[:split] >= k) if k else 1 for k in range(lanes))),
                whole[1].eq(whole[0]),
                whole[2].eq(whole[1]),
            ]
        for k in range(lanes):
            choices = [self.sums[g * lanes + k] for g in range(self.groups)]
            total = Signal(signed(SUM_BITS), name=f"total_{k}", reset_less=True)
            shifted = Signal(signed(SUM_BITS), name=f"shifted_{k}", reset_less=True)
            result = Signal(element, name=f"result_{k}", reset_less=True)
            with m.If(advance):
                m.d.sync += [
                    total.eq(gathered(choices, group).as_signed() + self.values[k]),
                    shifted.eq(total >> shift),
                    result.eq(saturate(m, shifted, mask, element, f"lane_{k}", floor=relu)),
                ]
            results.append(result)

        # Bytes: elements of three and four bytes go in two halves, those of the second as if they
        # were the first lanes'.
        half, halves = Signal(), bytes_less_one[1]
        request = self.write.request
        second = half & halves
        ahead = lanes // 2
        values = [
            Mux(second, results[k + ahead], results[k])
            if k + ahead < lanes and k < ahead
            else results[k]
            for k in range(lanes)
        ]
        wholes = [
            Mux(second, whole[2][k + ahead], whole[2][k])
            if k + ahead < lanes and k < ahead
            else whole[2][k]
            for k in range(lanes)
        ]
        sources, masks = {}, {}
        for byw in range(1, element // 8 + 1):
            sources[byw - 1] = byte_sources(word, lanes if byw <= 2 else ahead, byw)
            masks[byw - 1] = Cat(
                Const(0, 1) if s is None else wholes[s[0]] for s in sources[byw - 1]
            )
        accepted, complete = Signal(), Signal()
        m.d.comb += [
            request.valid.eq(valid[2]),
            request.payload.address.eq(dst),
            request.payload.data.eq(choose_bytes(sources, values, bytes_less_one)),
            request.payload.mask.eq(pick(masks, bytes_less_one)),
            accepted.eq(request.valid & request.ready),
            complete.eq(accepted & (half | ~halves)),
            advance.eq(~valid[2] | complete),
            empty.eq(~Cat(*valid).any()),
        ]
        with m.If(accepted):
            m.d.sync += [dst.eq(dst + advance_by), half.eq(halves & ~half)]
        m.d.comb += [self.ends.done.eq(complete & last[2]), self.ends.tag.eq(tag)]
        m.d.sync += self.progress.eq(self.ends)
        m.d.comb += self.busy.eq(announced | ~empty)
        return m
