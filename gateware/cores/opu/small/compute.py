# SPDX-License-Identifier: BSD-2-Clause
"""The small engine's buffers and loops: one SPRAM for ifm and ker, one for ofm; slices of weights, convolutions, stores."""
from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ....primitives.spram import SPRAM
from .dot import DotProduct
from .post import PostUnit
from .round import WIDTH, Rounder

__all__ = ["ComputeUnit", "KER_LINE"]

#: Line of the first SPRAM at which ker begins; a line has 16 bytes.
KER_LINE = 1024


class ComputeUnit(wiring.Component):
    """Convolves a tap: for each position, its chunks of 16 channels; for each chunk, all output channels, one a cycle.

    A chunk is gathered two elements a cycle while the one before is used; where a position has one chunk and ofm is read and
    written, a channel takes two cycles. What ``@shape``, ``@stride``, ``@shift`` and ``@post`` mean for the loops is configured
    beforehand, while nothing is under way.

    Parameters
    ----------
    family : as the primitives'

    Members
    -------
    a, operand : In, 32 bits: values beside the strobes
    line_step, row_step (lines from a position's last chunk to the next position, at a row's end), columns, rows (less one),
        channels (less one), chunks (log2), words (of a slice of weights, two bytes each, less one), shift (places to rotate,
        bit 5: to the left), mask, post (act, order, residual from bit 0 on) : In, one cycle each: set from ``operand``
    line : In: pointer = line ``a``
    slice : In, where ``can_slice``: copy a tap's weights from line ``a`` on
    convolve : In, where ``can_convolve``: convolve from line ``a`` on; kind is ``operand``: bit 0 bias, bit 1 accumulate,
        bit 2 double ofm instead
    run, zeros, begin, argument : In: :class:`PostUnit`'s; run from element ``a`` of ofm and line ``operand`` of ifm on
    can_slice, can_convolve, can_run, can_zeros : Out
    convolving : Out, storing : Out: under way; copying : Out: a slice is; work : Out: sixteen products are begun
    store, data : In: two bytes to the pointer; step : In: the pointer goes on; place : Out, 6 bits of the pointer
    table_u, table_b, table_address, table_data : In: the rounder's
    valid, ready, beat, mask : Out, In, Out, Out: what stores write
    """
    def __init__(self, *, family):
        self.family = family
        flags = ("line_step", "row_step", "columns", "rows", "channels", "chunks", "words", "shift", "mask", "post", "line",
                 "slice", "convolve", "run", "zeros", "begin", "store", "step", "table_u", "table_b", "ready")
        outs = ("can_slice", "can_convolve", "can_run", "can_zeros", "convolving", "storing", "copying", "work", "valid")
        super().__init__({
            **{name: In(1) for name in flags}, **{name: Out(1) for name in outs},
            "a": In(32), "operand": In(32), "argument": In(2), "data": In(16), "place": Out(6),
            "table_address": In(8), "table_data": In(WIDTH), "beat": Out(32), "mask_out": Out(4),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.near = near = SPRAM(family=self.family)        # ifm, ker
        m.submodules.far = far = SPRAM(family=self.family)          # ofm
        m.submodules.dot = dot = DotProduct(family=self.family)
        m.submodules.rounder = rounder = Rounder(family=self.family)
        m.submodules.post_unit = post = PostUnit()

        def setting(name, bits):
            value = Signal(bits, name=f"set_{name}", reset_less=True)
            with m.If(getattr(self, name)):
                m.d.sync += value.eq(self.operand)
            return value

        line_step, row_step = setting("line_step", 11), setting("row_step", 11)
        columns, rows, channels = setting("columns", 7), setting("rows", 7), setting("channels", 6)
        chunks, words, shift = setting("chunks", 2), setting("words", 11), setting("shift", 6)
        mask, posts = setting("mask", WIDTH), setting("post", 5)
        biased, added, double = Signal(), Signal(), Signal()
        single = chunks == 0

        # The pointer: a line, and one of its eight words.
        line, word = Signal(11, reset_less=True), Signal(3, reset_less=True)
        go_on, far_step = Signal(), Signal(11)
        m.d.comb += [far_step.eq(1), self.place.eq(Cat(word, line))]
        with m.If(go_on):
            m.d.sync += word.eq(word + 1)
            with m.If(word.all()):
                m.d.sync += line.eq(line + far_step)
        with m.If(self.line | self.slice | self.convolve):
            m.d.sync += [line.eq(self.a), word.eq(0)]
        with m.If(self.run):
            m.d.sync += [line.eq(self.operand), word.eq(0)]

        # A slice of weights
        copying, copied, lanes, weight_row, left = Signal(), Signal(), Signal(3), Signal(8), Signal(11)
        m.d.sync += [copied.eq(copying), lanes.eq(word)]
        with m.If(copying):
            m.d.sync += left.eq(left - 1)
            with m.If(left == 0):
                m.d.sync += copying.eq(0)
        with m.If(copied & lanes.all()):
            m.d.sync += weight_row.eq(weight_row + 1)
        with m.If(self.slice):
            m.d.sync += [copying.eq(1), left.eq(words), weight_row.eq(0)]
        m.d.comb += [
            self.copying.eq(copying), dot.write.eq(copied), dot.write_row.eq(weight_row), dot.write_lanes.eq(lanes),
            dot.data.eq(near.read_data),
        ]

        # Gathering chunks: a word may wait at the RAM's output.
        gathering, waiting, gather, take = Signal(), Signal(), Signal(), Signal()
        number = Signal(4)                              # words of the chunk that is gathered
        chunk, column, row = Signal(2), Signal(7), Signal(7)
        closes, ends = Signal(), Signal()               # the chunk is its position's last, the last of all
        m.d.comb += [
            dot.shift.eq(waiting & (~number[3] | take)), gather.eq(gathering & (~waiting | dot.shift)), dot.take.eq(take),
        ]
        m.d.sync += waiting.eq(gather | waiting & ~dot.shift)
        with m.If(take):
            m.d.sync += number.eq(dot.shift)
        with m.Elif(dot.shift):
            m.d.sync += number.eq(number + 1)
        final = chunk == Cat(chunks.any(), chunks[1])
        with m.If(gather & word.all()):
            m.d.sync += [chunk.eq(Mux(final, 0, chunk + 1)), closes.eq(final), ends.eq(0)]
            with m.If(final):
                m.d.sync += column.eq(column - 1)
                m.d.comb += far_step.eq(line_step)
                with m.If(column == 0):
                    m.d.sync += [column.eq(columns), row.eq(row - 1)]
                    m.d.comb += far_step.eq(row_step)
                    with m.If(row == 0):
                        m.d.sync += [gathering.eq(0), ends.eq(1)]
        with m.If(self.convolve):
            m.d.sync += [gathering.eq(1), chunk.eq(0), column.eq(columns), row.eq(rows),
                         biased.eq(self.operand[0]), added.eq(self.operand[1]), double.eq(self.operand[2])]

        # Channels of a chunk
        running, active, odd, allowed, step = Signal(), Signal(), Signal(), Signal(), Signal()
        channel, part = Signal(6), Signal(2)            # part: the chunk's number within its position
        closing, ending = Signal(), Signal()            # as closes and ends, of the chunk at work
        first, last = Signal(), Signal()
        m.d.sync += odd.eq(~odd)
        m.d.comb += [
            allowed.eq(~(added & single & odd)), take.eq(~active & number[3] & allowed), step.eq(take | active & allowed),
            first.eq(part == 0), last.eq(Mux(active, closing, closes)), self.work.eq(step & ~double),
        ]
        with m.Switch(chunks):
            with m.Case(0):
                m.d.comb += dot.row.eq(channel)
            with m.Case(1):
                m.d.comb += dot.row.eq(Cat(part[0], channel))
            with m.Default():
                m.d.comb += dot.row.eq(Cat(part, channel))
        with m.If(take):
            m.d.sync += [active.eq(1), closing.eq(closes), ending.eq(ends)]
        with m.If(step):
            m.d.sync += channel.eq(channel + 1)
            with m.If(channel == channels):
                m.d.sync += [channel.eq(0), active.eq(0), part.eq(Mux(closing, 0, part + 1))]
                with m.If(ending):
                    m.d.sync += running.eq(0)
        with m.If(self.convolve):
            m.d.sync += running.eq(1)

        # Sums and results. A step's products are there three cycles later; the rounder needs to know one cycle before.
        steps, firsts, lasts = Signal(2), Signal(2), Signal(2)
        late = [channel, Signal(6, name="late_1", reset_less=True), Signal(6, name="late_2", reset_less=True)]
        m.d.sync += [steps.eq(Cat(step, steps)), firsts.eq(Cat(first, firsts)), lasts.eq(Cat(last, lasts))]
        m.d.sync += [after.eq(now) for now, after in zip(late, late[1:], strict=False)]
        tail = Signal(5)                                # the rounder's
        m.d.sync += tail.eq(Cat(steps[1], tail))
        begun = Signal(4)                               # steps of a position's first chunk, in the rounder
        m.d.sync += begun.eq(Cat(steps[1] & firsts[1], begun))
        m.d.comb += [
            rounder.step.eq(steps[1]), rounder.channel.eq(late[2]), rounder.first.eq(firsts[1]), rounder.last.eq(lasts[1]),
            rounder.total.eq(dot.total), rounder.biased.eq(biased), rounder.added.eq(added), rounder.double.eq(double),
            rounder.rotate.eq(shift), rounder.left.eq(shift[5]), rounder.mask.eq(mask),
            rounder.table_u.eq(self.table_u), rounder.table_b.eq(self.table_b), rounder.table_address.eq(self.table_address),
            rounder.table_data.eq(self.table_data),
        ]

        # ofm: old partial sums are fetched in time; where a position has several chunks, in the time of the first, in the
        # cycles in which no result is written.
        read, write = Signal(14), Signal(14)
        old, fetched, old_channel = Signal(), Signal(), Signal(6)
        m.d.comb += old.eq(added & Mux(single, steps[0], begun[3]))
        m.d.sync += fetched.eq(old)
        with m.If(fetched):
            m.d.sync += old_channel.eq(Mux(old_channel == channels, 0, old_channel + 1))
        with m.If(old | post.read):
            m.d.sync += read.eq(read + 1)
        with m.If(rounder.valid):
            m.d.sync += write.eq(write + 1)
        with m.If(self.convolve):
            m.d.sync += [read.eq(0), write.eq(0), old_channel.eq(0)]
        with m.If(self.run):
            m.d.sync += read.eq(self.a)
        m.d.comb += [
            far.enable.eq(old | post.read | rounder.valid), far.write.eq(rounder.valid), far.mask.eq(0xF),
            far.address.eq(Mux(rounder.valid, write, read)), far.write_data.eq(rounder.result),
            rounder.addend.eq(far.read_data), rounder.addend_channel.eq(old_channel), rounder.addend_write.eq(fetched),
        ]

        # Stores
        m.d.comb += [
            post.run.eq(self.run), post.write.eq(self.argument[0]), post.again.eq(self.argument[1]), post.zeros.eq(self.zeros),
            post.begin.eq(self.begin), post.last_channel.eq(channels), post.act.eq(posts[:2]), post.order.eq(posts[2:4]),
            post.residual.eq(posts[4]), post.ofm.eq(far.read_data), post.ifm.eq(near.read_data), post.ready_out.eq(self.ready),
            self.valid.eq(post.valid), self.beat.eq(post.data), self.mask_out.eq(post.mask), self.storing.eq(post.busy),
            self.can_run.eq(post.ready), self.can_zeros.eq(post.ready_zeros),
        ]

        # ifm and ker
        reads = Signal()
        m.d.comb += [
            reads.eq(copying | gather | post.read_pair), go_on.eq(reads | self.step),
            near.enable.eq(reads | self.store), near.write.eq(self.store), near.mask.eq(0xF),
            near.address.eq(Cat(word, line)), near.write_data.eq(self.data),
        ]
        busy = Signal()
        m.d.comb += [
            busy.eq(running | steps.any() | tail.any()), self.convolving.eq(busy | copying | copied),
            self.can_slice.eq(~running & ~copying), self.can_convolve.eq(~copying),
        ]
        return m
