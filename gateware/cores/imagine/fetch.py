# SPDX-License-Identifier: BSD-2-Clause
"""Main memory -> FIFO-in (specification, sections 7 and 9): the program's words in bursts, asked for when FIFO-in has room."""
from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...memory.port import ReadLayout, RequestLayout
from .decode import WordLayout

__all__ = ["Fetch"]

#: Words of a burst, where FIFO-in holds two of them.
_BURST = 64


class Fetch(wiring.Component):
    """Reads a program once, in order.

    Answers are always taken: a burst is asked for when FIFO-in has room for it and for all that is owed.

    Parameters
    ----------
    beat_bytes : int
    depth : int
        Entries of FIFO-in.

    Members
    -------
    start : In(1); address, length : In(32), bytes, multiples of 4, length not 0
    stop : In(1), level: no further burst
    room : In, entries that FIFO-in can take, at least
    request : Out(stream of RequestLayout), answer : In(stream of ReadLayout)
    words : Out(stream of WordLayout): the words and, when all that was asked for has come and no more will be, the end
    """
    def __init__(self, *, beat_bytes, depth):
        self.beat_bytes, self.depth = beat_bytes, depth
        super().__init__({
            "start": In(1), "address": In(32), "length": In(32), "stop": In(1), "room": In(range(depth + 1)),
            "request": Out(stream.Signature(RequestLayout())), "answer": In(stream.Signature(ReadLayout(beat_bytes))),
            "words": Out(stream.Signature(WordLayout()))})

    def elaborate(self, platform):
        m = Module()
        size = self.beat_bytes
        burst = min(_BURST, self.depth // 2)             # words
        beats = max(1, burst * 4 // size)
        shift = size.bit_length() - 1
        # Beats to ask for; of wide beats, words to skip and words to deliver.
        left, at = Signal(33 - min(2, shift)), Signal(32 - shift)
        owed = Signal(range(2 * self.depth + 1))
        asking, fits, running = Signal(), Signal(), Signal()
        ask, took = Signal(), Signal()
        count = Signal(range(beats + 1))
        m.d.comb += count.eq(Mux(left > beats, beats, left))
        words_of = (count << shift) >> 2 if size < 4 else count << (shift - 2)
        m.d.comb += [
            self.request.valid.eq(asking), self.request.payload.address.eq(Cat(Const(0, shift), at)),
            self.request.payload.beats.eq(count - 1), ask.eq(asking & self.request.ready)]
        # What is owed counts in entries of FIFO-in, wide beats whole: some of their words may lie outside the program.
        done = Signal(range(max(2, size // 4 + 1)))
        m.d.sync += fits.eq((owed + burst <= self.room) & ~asking & ~ask)
        m.d.sync += owed.eq(owed + Mux(ask, words_of, 0) - done)
        with m.If(ask):
            m.d.sync += [asking.eq(0), left.eq(left - count), at.eq(at + count), fits.eq(0)]
        with m.Elif(running & fits & (left != 0) & ~self.stop & ~asking):
            m.d.sync += asking.eq(1)
        with m.If(self.stop & ~asking):
            m.d.sync += left.eq(0)
        m.d.comb += took.eq(self.answer.valid & self.answer.ready)
        word, there = self.words.payload, Signal()
        finished = Signal()
        m.d.comb += finished.eq(running & (left == 0) & ~asking & (owed == 0) & ~there)
        if size < 4:
            self._assemble(m, there, took, done)
        else:
            self._split(m, there, took, done)
        with m.If(finished):
            m.d.comb += [self.words.valid.eq(1), word.end.eq(1)]
            with m.If(self.words.ready):
                m.d.sync += running.eq(0)
        with m.If(self.start):
            m.d.sync += [running.eq(1), at.eq(self.address >> shift)]
            if size <= 4:
                m.d.sync += left.eq(self.length >> shift)
            else:
                m.d.sync += left.eq((self.address[2:shift] + (self.length >> 2) + (size // 4 - 1)) >> (shift - 2))
        return m

    def _assemble(self, m, there, took, done):
        """Narrow beats: a word of several."""
        parts = 4 // self.beat_bytes
        held, number = Signal(WordLayout(), reset_less=True), Signal(range(parts))
        last = Signal()
        m.d.comb += [self.answer.ready.eq(1), last.eq(took & (number == parts - 1)), done.eq(there)]
        m.d.sync += there.eq(last)
        with m.If(took):
            m.d.sync += [held.word.eq(Cat(held.word, self.answer.payload.data)[-32:]), number.eq(number + 1),
                         held.error.eq(self.answer.payload.error | (held.error & (number != 0)))]
        with m.If(self.start):
            m.d.sync += number.eq(0)
        # FIFO-in has room.
        with m.If(there):
            m.d.comb += [self.words.valid.eq(1), self.words.payload.eq(held)]

    def _split(self, m, there, took, done):
        """A beat of one word or several, of which those outside the program are dropped."""
        parts = self.beat_bytes // 4
        held, error = Signal(8 * self.beat_bytes, reset_less=True), Signal(reset_less=True)
        place, skip, left = Signal(range(parts + 1)), Signal(range(max(2, parts))), Signal(31)
        ends = Signal()
        m.d.comb += [ends.eq(there & (place == parts - 1)), self.answer.ready.eq(~there | ends), done.eq(Mux(ends, parts, 0))]
        with m.If(there):
            m.d.sync += [place.eq(place + 1), held.eq(held >> 32)]
            with m.If((skip == 0) & (left != 0)):
                m.d.comb += [self.words.valid.eq(1), self.words.payload.word.eq(held[:32]), self.words.payload.error.eq(error)]
                m.d.sync += left.eq(left - 1)
            with m.Elif(skip != 0):
                m.d.sync += skip.eq(skip - 1)
            with m.If(ends):
                m.d.sync += [there.eq(0), place.eq(0)]
        with m.If(took):
            m.d.sync += [there.eq(1), held.eq(self.answer.payload.data), error.eq(self.answer.payload.error)]
        with m.If(self.start):
            m.d.sync += [skip.eq((self.address >> 2)[:max(1, parts.bit_length() - 1)] if parts > 1 else 0),
                         left.eq(self.length >> 2), place.eq(0)]
