# SPDX-License-Identifier: BSD-2-Clause
"""Compute unit of the small OPU engine: ifm, ker and ofm in SPRAM or block RAM, and the loops of
weight loads, convolutions and stores."""

from types import SimpleNamespace

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ....isa.parameters import Params
from ....primitives.spram import SPRAM
from ..params import LINE
from .buffer import Buffer
from .dot import DotProduct
from .post import PostUnit
from .round import WIDTH, Rounder, TablePort

__all__ = ["ComputeUnit", "KER_LINE"]

#: Line at which ker begins, after all that ifm may have; a line has 16 bytes.
KER_LINE = 1024


class ComputeUnit(wiring.Component):
    """Convolution of a tap: for each position, its blocks of 16 input channels; for each block, all
    output channels, one per cycle.

    A chunk is gathered two elements a cycle while the one before is used; where a position has one
    chunk and ofm is read and written, a channel takes two cycles. What ``@shape``, ``@stride``,
    ``@shift`` and ``@post`` mean for the loops is configured beforehand, while nothing is under
    way.

    With multipliers in DSPs (an UP5K) ifm and ker share one SPRAM, from which the weights of a tap
    are copied into block RAM. Else each buffer is block RAM, and weights are where they are
    multiplied.

    Parameters
    ----------
    params : dict of ``SPACE.resolve``
    beat_bytes : 2 or 4
    family : as the primitives'

    Members
    -------
    a, operand : In, 32 bits: values beside the strobes
    line_step, row_step (lines from a position's last chunk to the next position, at a row's end),
    columns, rows (less one),
        channels (less one), chunks (log2), words (of a slice of weights, two bytes each, less one),
        shift (places to rotate, bit 5: to the left), mask, post (act, order, residual from bit 0
        on) : In, one cycle each: set from ``operand``
    line : In: pointer = line ``a``
    slice : In, where ``can_slice``: a tap's weights begin at line ``a``
    convolve : In, where ``can_convolve``: convolve from line ``a`` on; kind is ``operand``:
        bit 0 bias, bit 1 accumulate, bit 2 double ofm instead
    run, zeros, begin, argument : In: :class:`PostUnit`'s;
        run from element ``a`` of ofm and line ``operand`` of ifm on
    can_slice, can_convolve, can_run, can_zeros : Out
    convolving : Out, storing : Out: under way; copying : Out: a slice is; work : Out:
        sixteen products are begun
    store, data : In: two bytes to the pointer; step : In: the pointer goes on; place : Out,
        6 bits of the pointer
    tables : In, :class:`~.round.TablePort`
    valid, ready, beat, mask : Out, In, Out, Out: output of stores
    """

    def __init__(self, *, params: Params, beat_bytes: int, family: str | None) -> None:
        self.params, self.beat_bytes, self.family = params, beat_bytes, family
        flags = (
            "line_step",
            "row_step",
            "columns",
            "rows",
            "channels",
            "chunks",
            "words",
            "shift",
            "mask",
            "post",
            "line",
            "slice",
            "convolve",
            "run",
            "zeros",
            "begin",
            "store",
            "step",
            "ready",
        )
        outs = (
            "can_slice",
            "can_convolve",
            "can_run",
            "can_zeros",
            "convolving",
            "storing",
            "copying",
            "work",
            "valid",
        )
        super().__init__(
            {
                **{name: In(1) for name in flags},
                **{name: Out(1) for name in outs},
                "a": In(32),
                "operand": In(32),
                "argument": In(2),
                "data": In(16),
                "place": Out(6),
                "tables": In(TablePort()),
                "beat": Out(8 * beat_bytes),
                "mask_out": Out(beat_bytes),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m, s = Module(), SimpleNamespace()  # `s`: signals that several steps use
        params = self.params
        s.copies = params["multiplier"] == "dsp"  # weights out of an SPRAM
        near_words, far_words, rows = (
            (SPRAM.WORDS, SPRAM.WORDS, 256)
            if s.copies
            else (params["ifm_lines"] * LINE // 2, params["ofm_lines"], params["ker_rows"])
        )
        m.submodules.near = near = Buffer(
            words=near_words, spram=s.copies, family=self.family
        )  # ifm, and ker in an SPRAM
        m.submodules.far = far = Buffer(words=far_words, spram=s.copies, family=self.family)  # ofm
        m.submodules.dot = dot = DotProduct(
            rows=rows, multiplier=params["multiplier"], family=self.family
        )
        m.submodules.rounder = rounder = Rounder(shared=not s.copies, family=self.family)
        m.submodules.post_unit = post = PostUnit(beat_bytes=self.beat_bytes)

        def setting(name, bits):
            return self._setting(m, name, bits)

        s.line_step, s.row_step = setting("line_step", 11), setting("row_step", 11)
        s.columns, s.rows, s.channels = (
            setting("columns", 7),
            setting("rows", 7),
            setting("channels", 6),
        )
        s.chunks, s.shift = setting("chunks", 2), setting("shift", 6)
        s.mask, posts = setting("mask", WIDTH), setting("post", 5)
        s.biased, s.added, s.double = Signal(), Signal(), Signal(name="double")
        s.single = s.chunks == 0

        # The pointer: a line, and one of its eight words.
        line, s.word = Signal(11, reset_less=True), Signal(3, reset_less=True, name="word")
        go_on, s.far_step = Signal(), Signal(11, name="far_step")
        m.d.comb += [s.far_step.eq(1), self.place.eq(Cat(s.word, line))]
        with m.If(go_on):
            m.d.sync += s.word.eq(s.word + 1)
            with m.If(s.word.all()):
                m.d.sync += line.eq(line + s.far_step)
        with m.If(self.line | self.slice | self.convolve):
            m.d.sync += [line.eq(self.a), s.word.eq(0)]
        with m.If(self.run):
            m.d.sync += [line.eq(self.operand), s.word.eq(0)]

        s.line = line
        (self._copy if s.copies else self._take_weights)(m, s, dot, near)
        self._gather(m, s, dot, near)
        self._channels(m, s, dot)
        self._round(m, s, dot, rounder)
        self._partial_sums(m, s, far, rounder, post)

        # Stores
        m.d.comb += [
            post.run.eq(self.run),
            post.write.eq(self.argument[0]),
            post.again.eq(self.argument[1]),
            post.zeros.eq(self.zeros),
            post.begin.eq(self.begin),
            post.last_channel.eq(s.channels),
            post.act.eq(posts[:2]),
            post.order.eq(posts[2:4]),
            post.residual.eq(posts[4]),
            post.ofm.eq(far.read_data),
            post.ifm.eq(near.read_data),
            post.ready_out.eq(self.ready),
            self.valid.eq(post.valid),
            self.beat.eq(post.data),
            self.mask_out.eq(post.mask),
            self.storing.eq(post.busy),
            self.can_run.eq(post.ready),
            self.can_zeros.eq(post.ready_zeros),
            rounder.pooling.eq(post.busy),
        ]

        wiring.connect(m, wiring.flipped(self.tables), rounder.tables)
        wiring.connect(m, post.pool, rounder.pool)

        # ifm and ker
        reads = Signal()
        m.d.comb += [
            reads.eq(s.copying | s.gather | post.read_pair),
            go_on.eq(reads | self.step),
            near.read.eq(reads),
            near.read_address.eq(Cat(s.word, line)),
            near.write.eq(s.store),
            near.write_address.eq(Cat(s.word, line)),
            near.write_data.eq(self.data),
        ]
        busy = Signal()
        m.d.comb += [
            busy.eq(s.running | s.steps.any() | s.tail.any()),
            self.convolving.eq(busy | s.copying | s.copied),
            # Nothing may be under way when the next begins; while a slice is copied it ends.
            self.can_slice.eq(~Mux(s.copies, s.running, busy) & ~s.copying),
            self.can_convolve.eq(~s.copying),
            self.copying.eq(s.copying),
        ]
        return m

    def _setting(self, m, name, bits):
        value = Signal(bits, name=f"set_{name}", reset_less=True)
        with m.If(getattr(self, name)):
            m.d.sync += value.eq(self.operand)
        return value

    def _copy(self, m, s, dot, near):
        """Copies the weights of a tap from the SPRAM, two per cycle."""
        words = self._setting(m, "words", 11)
        s.copying, s.copied, lanes, weight_row, left = (
            Signal(),
            Signal(),
            Signal(3),
            Signal(8),
            Signal(11),
        )
        m.d.sync += [s.copied.eq(s.copying), lanes.eq(s.word)]
        with m.If(s.copying):
            m.d.sync += left.eq(left - 1)
            with m.If(left == 0):
                m.d.sync += s.copying.eq(0)
        with m.If(s.copied & lanes.all()):
            m.d.sync += weight_row.eq(weight_row + 1)
        with m.If(self.slice):
            m.d.sync += [s.copying.eq(1), left.eq(words), weight_row.eq(0)]
        s.store, s.first_row = self.store, 0
        m.d.comb += [
            dot.write.eq(s.copied),
            dot.write_row.eq(weight_row),
            dot.write_lanes.eq(lanes),
            dot.weights.eq(near.read_data),
        ]

    def _take_weights(self, m, s, dot, near):
        """Writes weights directly to where they are used; a slice selects them."""
        s.copying = s.copied = Const(0, 1)
        to_ker = s.line[KER_LINE.bit_length() - 1]
        s.store, s.first_row = Signal(), Signal.like(dot.row, reset_less=True, name="first_row")
        with m.If(self.slice):
            m.d.sync += s.first_row.eq(self.a)
        m.d.comb += [
            s.store.eq(self.store & ~to_ker),
            dot.write.eq(self.store & to_ker),
            dot.write_row.eq(s.line),
            dot.write_lanes.eq(s.word),
            dot.weights.eq(self.data),
        ]

    def _gather(self, m, s, dot, near):
        """Reads input blocks from the pointer on, two elements per cycle; a word may wait at the
        RAM's output."""
        gathering, waiting, s.gather, s.take = Signal(), Signal(), Signal(), Signal()
        s.number = Signal(4)  # words of the chunk that is gathered
        chunk, column, row = Signal(2), Signal(7), Signal(7)
        s.closes, s.ends = (
            Signal(),
            Signal(name="ends"),
        )  # the chunk is its position's last, the last of all
        m.d.comb += [
            dot.data.eq(near.read_data),
            dot.take.eq(s.take),
            dot.shift.eq(waiting & (~s.number[3] | s.take)),
            s.gather.eq(gathering & (~waiting | dot.shift)),
        ]
        m.d.sync += waiting.eq(s.gather | waiting & ~dot.shift)
        with m.If(s.take):
            m.d.sync += s.number.eq(dot.shift)
        with m.Elif(dot.shift):
            m.d.sync += s.number.eq(s.number + 1)
        final = chunk == Cat(s.chunks.any(), s.chunks[1])
        with m.If(s.gather & s.word.all()):
            m.d.sync += [chunk.eq(Mux(final, 0, chunk + 1)), s.closes.eq(final), s.ends.eq(0)]
            with m.If(final):
                m.d.sync += column.eq(column - 1)
                m.d.comb += s.far_step.eq(s.line_step)
                with m.If(column == 0):
                    m.d.sync += [column.eq(s.columns), row.eq(row - 1)]
                    m.d.comb += s.far_step.eq(s.row_step)
                    with m.If(row == 0):
                        m.d.sync += [gathering.eq(0), s.ends.eq(1)]
        with m.If(self.convolve):
            m.d.sync += [
                gathering.eq(1),
                chunk.eq(0),
                column.eq(s.columns),
                row.eq(s.rows),
                s.biased.eq(self.operand[0]),
                s.added.eq(self.operand[1]),
                s.double.eq(self.operand[2]),
            ]

    def _channels(self, m, s, dot):
        """Output channels of a block, one per step, each with its own weights."""
        s.running, active, odd, allowed, s.step = Signal(), Signal(), Signal(), Signal(), Signal()
        s.channel, part = (
            Signal(6),
            Signal(2, name="part"),
        )  # part: the chunk's number within its position
        closing, ending = Signal(), Signal()  # as closes and ends, of the chunk at work
        s.first, s.last = Signal(), Signal(name="last")
        m.d.sync += odd.eq(~odd)
        m.d.comb += [
            allowed.eq(~((s.added & s.single if s.copies else s.biased) & odd)),
            s.take.eq(~active & s.number[3] & allowed),
            s.step.eq(s.take | active & allowed),
            s.first.eq(part == 0),
            s.last.eq(Mux(active, closing, s.closes)),
            self.work.eq(s.step & ~s.double),
        ]
        row = Signal(len(dot.row))
        with m.Switch(s.chunks):
            for chunks in range(3):
                with m.Case(chunks) if chunks < 2 else m.Default():
                    m.d.comb += row.eq(Cat(part[:chunks], s.channel))
        m.d.comb += dot.row.eq(s.first_row + row)
        with m.If(s.take):
            m.d.sync += [active.eq(1), closing.eq(s.closes), ending.eq(s.ends)]
        with m.If(s.step):
            m.d.sync += s.channel.eq(s.channel + 1)
            with m.If(s.channel == s.channels):
                m.d.sync += [s.channel.eq(0), active.eq(0), part.eq(Mux(closing, 0, part + 1))]
                with m.If(ending):
                    m.d.sync += s.running.eq(0)
        with m.If(self.convolve):
            m.d.sync += s.running.eq(1)

    def _round(self, m, s, dot, rounder):
        """Sums and results. The products of a step are valid three cycles later; the rounder is
        informed one cycle earlier."""
        s.steps, firsts, lasts = Signal(2), Signal(2), Signal(2, name="lasts")
        late = [
            s.channel,
            Signal(6, name="late_1", reset_less=True),
            Signal(6, name="late_2", reset_less=True),
        ]
        m.d.sync += [
            s.steps.eq(Cat(s.step, s.steps)),
            firsts.eq(Cat(s.first, firsts)),
            lasts.eq(Cat(s.last, lasts)),
        ]
        m.d.sync += [after.eq(now) for now, after in zip(late, late[1:], strict=False)]
        s.tail = Signal(5)  # the rounder's
        m.d.sync += s.tail.eq(Cat(s.steps[1], s.tail))
        s.begun = Signal(4)  # steps of a position's first chunk, in the rounder
        m.d.sync += s.begun.eq(Cat(s.steps[1] & firsts[1], s.begun))
        m.d.comb += [
            rounder.step.eq(s.steps[1]),
            rounder.channel.eq(late[2]),
            rounder.first.eq(firsts[1]),
            rounder.last.eq(lasts[1]),
            rounder.total.eq(dot.total),
            rounder.biased.eq(s.biased),
            rounder.added.eq(s.added),
            rounder.double.eq(s.double),
            rounder.rotate.eq(s.shift),
            rounder.left.eq(s.shift[5]),
            rounder.mask.eq(s.mask),
        ]

    def _partial_sums(self, m, s, far, rounder, post):
        """Partial sums (ofm). Old ones are read when they are needed. From an SPRAM they are read
        earlier: if a position has several blocks, during the first one, in cycles without a result
        to write."""
        read, write = Signal(14), Signal(14)
        old, fetched, old_channel = Signal(), Signal(), Signal(6)
        m.d.comb += old.eq(
            s.added & (Mux(s.single, s.steps[0], s.begun[3]) if s.copies else rounder.wanted)
        )
        m.d.sync += fetched.eq(old)
        with m.If(fetched):
            m.d.sync += old_channel.eq(Mux(old_channel == s.channels, 0, old_channel + 1))
        with m.If(old | post.read):
            m.d.sync += read.eq(read + 1)
        with m.If(rounder.valid):
            m.d.sync += write.eq(write + 1)
        with m.If(self.convolve):
            m.d.sync += [read.eq(0), write.eq(0), old_channel.eq(0)]
        with m.If(self.run):
            m.d.sync += read.eq(self.a)
        m.d.comb += [
            far.read.eq(old | post.read),
            far.read_address.eq(read),
            far.write.eq(rounder.valid),
            far.write_address.eq(write),
            far.write_data.eq(rounder.result),
            rounder.addend.eq(far.read_data),
            rounder.addend_channel.eq(old_channel),
            rounder.addend_write.eq(fetched),
        ]
