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
    address_bits : int
        Width of main memory's addresses.
    lean : bool
        For chips of few logic cells: one burst at a time, and beats of a word go on as they come.

    Members
    -------
    start : In(1); address, length : In(address_bits), bytes, multiples of 4, length not 0
    stop : In(1), level: no further burst
    room : In, entries that FIFO-in can take, at least
    request : Out(stream of RequestLayout), answer : In(stream of ReadLayout)
    words : Out(stream of WordLayout): the words and, when all that was asked for has come and no more will be, the end
    """
    def __init__(self, *, beat_bytes, depth, address_bits=32, lean=False):
        self.beat_bytes, self.depth, self._bits, self._lean = beat_bytes, depth, address_bits, lean
        super().__init__({
            "start": In(1), "address": In(address_bits), "length": In(address_bits), "stop": In(1), "room": In(range(depth + 1)),
            "request": Out(stream.Signature(RequestLayout())), "answer": In(stream.Signature(ReadLayout(beat_bytes))),
            "words": Out(stream.Signature(WordLayout()))})

    def elaborate(self, platform):
        m = Module()
        size = self.beat_bytes
        burst = min(_BURST, self.depth // 2)             # words
        beats = max(1, burst * 4 // size)
        shift = size.bit_length() - 1
        # Beats to ask for, whole bursts and the rest of one: nothing is compared or subtracted but the number of bursts.
        # Every burst begins a burst behind the last.
        low = beats.bit_length() - 1
        left, at = Signal(self._bits + 1 - min(2, shift)), Signal(self._bits - shift)
        owed = Signal(range(burst + 1 if self._lean else 2 * self.depth + 1))
        asking, fits, running, whole, nothing = Signal(), Signal(), Signal(), Signal(), Signal()
        ask, took = Signal(), Signal()
        count = Signal(range(beats + 1))
        m.d.comb += count.eq(Mux(whole, beats, left[:low]))
        words_of = (count << shift) >> 2 if size < 4 else count << (shift - 2)
        m.d.comb += [
            self.request.valid.eq(asking), self.request.payload.address.eq(Cat(Const(0, shift), at)),
            self.request.payload.beats.eq(count - 1), ask.eq(asking & self.request.ready)]
        # Known a cycle later, when nothing is asked for yet.
        m.d.sync += [whole.eq(left[low:].any()), nothing.eq(left == 0)]
        # What is owed counts in entries of FIFO-in, wide beats whole: some of their words may lie outside the program.
        done = Signal(range(max(2, size // 4 + 1)))
        if self._lean:
            m.d.sync += fits.eq(self.room[burst.bit_length() - 1:].any() & (owed == 0) & ~asking & ~ask)
            with m.If(ask):
                m.d.sync += owed.eq(words_of)
            with m.Elif(done != 0):
                m.d.sync += owed.eq(owed - done)
        else:
            m.d.sync += [fits.eq((owed + burst <= self.room) & ~asking & ~ask), owed.eq(owed + Mux(ask, words_of, 0) - done)]
        with m.If(ask):
            m.d.sync += [asking.eq(0), at[low:].eq(at[low:] + 1), fits.eq(0)]
            with m.If(whole):
                m.d.sync += left[low:].eq(left[low:] - 1)
            with m.Else():
                m.d.sync += left[:low].eq(0)
        with m.Elif(running & fits & ~nothing & ~self.stop & ~asking):
            m.d.sync += asking.eq(1)
        with m.If(self.stop & ~asking):
            m.d.sync += left.eq(0)
        m.d.comb += took.eq(self.answer.valid & self.answer.ready)
        word, there = self.words.payload, Signal()
        finished = Signal()
        m.d.comb += finished.eq(running & nothing & ~asking & (owed == 0) & ~there)
        if size < 4:
            self._assemble(m, there, took, done)
        elif size == 4:
            self._pass(m, there, took, done)
        else:
            self._split(m, there, took, done)
        with m.If(finished):
            m.d.comb += [self.words.valid.eq(1), word.end.eq(1)]
            with m.If(self.words.ready):
                m.d.sync += running.eq(0)
        with m.If(self.start):
            m.d.sync += [running.eq(1), nothing.eq(0), fits.eq(0), at.eq(self.address >> shift)]
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

    def _pass(self, m, there, took, done):
        """A beat is a word."""
        held = Signal(WordLayout(), reset_less=not self._lean)
        m.d.comb += [self.answer.ready.eq(1), done.eq(there)]
        m.d["comb" if self._lean else "sync"] += [there.eq(took), held.word.eq(self.answer.payload.data), held.error.eq(self.answer.payload.error)]
        # FIFO-in has room.
        with m.If(there):
            m.d.comb += [self.words.valid.eq(1), self.words.payload.eq(held)]

    def _split(self, m, there, took, done):
        """A beat of several words, of which those outside the program are dropped."""
        parts = self.beat_bytes // 4
        held, error = Signal(8 * self.beat_bytes, reset_less=True), Signal(reset_less=True)
        place, skip, left = Signal(range(parts + 1)), Signal(range(max(2, parts))), Signal(self._bits - 1)
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
