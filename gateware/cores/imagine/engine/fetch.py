# SPDX-License-Identifier: BSD-2-Clause
"""Program fetch: reads main memory into the input FIFO, in bursts for which the FIFO has space
(specification, sections 7 and 9)."""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ....memory.beatwords import BeatsToWords
from ....memory.port import ReadLayout, RequestLayout
from .decode import WordLayout

__all__ = ["Fetch"]

#: Words of a burst, where FIFO-in holds two of them.
_BURST = 64


class Fetch(wiring.Component):
    """Program fetch: reads a program once, in order.

    Answers are always taken: a burst is requested when FIFO-in has space for it and for all
    outstanding beats.

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
    space : In, entries that FIFO-in can take, at least
    request : Out(stream of RequestLayout), answer : In(stream of ReadLayout)
    words : Out(stream of WordLayout): the words and,
        when all that was requested has come and no more will be, the end
    """

    def __init__(
        self, *, beat_bytes: int, depth: int, address_bits: int = 32, lean: bool = False
    ) -> None:
        self.beat_bytes, self.depth, self._bits, self._lean = beat_bytes, depth, address_bits, lean
        super().__init__(
            {
                "start": In(1),
                "address": In(address_bits),
                "length": In(address_bits),
                "stop": In(1),
                "space": In(range(depth + 1)),
                "request": Out(stream.Signature(RequestLayout())),
                "answer": In(stream.Signature(ReadLayout(beat_bytes))),
                "words": Out(stream.Signature(WordLayout())),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        size = self.beat_bytes
        burst = min(_BURST, self.depth // 2)  # words
        beats = max(1, burst * 4 // size)
        shift = size.bit_length() - 1
        # Beats to ask for, whole bursts and the rest of one: nothing is compared or subtracted but
        # the number of bursts. Every burst begins a burst after the last.
        low = beats.bit_length() - 1
        left, at = Signal(self._bits + 1 - min(2, shift)), Signal(self._bits - shift)
        owed = Signal(range(burst + 1 if self._lean else 2 * self.depth + 1))
        asking, fits, running, whole, nothing = Signal(), Signal(), Signal(), Signal(), Signal()
        ask, took = Signal(), Signal()
        count = Signal(range(beats + 1))
        m.d.comb += count.eq(Mux(whole, beats, left[:low]))
        words_of = (count << shift) >> 2 if size < 4 else count << (shift - 2)
        m.d.comb += [
            self.request.valid.eq(asking),
            self.request.payload.address.eq(Cat(Const(0, shift), at)),
            self.request.payload.beats.eq(count - 1),
            ask.eq(asking & self.request.ready),
        ]
        # Known a cycle later, when nothing is requested yet.
        m.d.sync += [whole.eq(left[low:].any()), nothing.eq(left == 0)]
        # Outstanding beats count in entries of FIFO-in, wide beats whole: some of their words may
        # lie
        # outside the program.
        done = Signal(range(max(2, size // 4 + 1)))
        if self._lean:
            m.d.sync += fits.eq(
                self.space[burst.bit_length() - 1 :].any() & (owed == 0) & ~asking & ~ask
            )
            with m.If(ask):
                m.d.sync += owed.eq(words_of)
            with m.Elif(done != 0):
                m.d.sync += owed.eq(owed - done)
        else:
            m.d.sync += [
                fits.eq((owed + burst <= self.space) & ~asking & ~ask),
                owed.eq(owed + Mux(ask, words_of, 0) - done),
            ]
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
        held = Signal(WordLayout(), reset_less=not self._lean)
        m.submodules.gather = gather = BeatsToWords(beat_bytes=size, count_bits=self._bits - 2)
        finished = Signal()
        m.d.comb += finished.eq(running & nothing & ~asking & (owed == 0) & ~there)
        # FIFO-in has space for all that was requested, so that words come and go.
        m.d.comb += [
            gather.start.eq(self.start),
            gather.beats.valid.eq(self.answer.valid),
            self.answer.ready.eq(gather.beats.ready),
            gather.beats.payload.data.eq(self.answer.payload.data),
            gather.beats.payload.error.eq(self.answer.payload.error),
            gather.words.ready.eq(1),
        ]
        came = gather.words
        m.d["comb" if self._lean else "sync"] += [
            there.eq(came.valid),
            held.word.eq(came.payload.word),
            held.error.eq(came.payload.error),
            done.eq(came.valid if size <= 4 else Mux(took, size // 4, 0)),
        ]
        with m.If(there):
            m.d.comb += [self.words.valid.eq(1), self.words.payload.eq(held)]
        with m.If(finished):
            m.d.comb += [self.words.valid.eq(1), word.end.eq(1)]
            with m.If(self.words.ready):
                m.d.sync += running.eq(0)
        with m.If(self.start):
            m.d.sync += [running.eq(1), nothing.eq(0), fits.eq(0), at.eq(self.address >> shift)]
            if size <= 4:
                m.d.sync += left.eq(self.length >> shift)
            else:
                # With wide beats the program is one burst of many requests.
                m.d.sync += [
                    gather.burst.first.eq(self.address[2:shift]),
                    gather.burst.words.eq((self.length >> 2) - 1),
                ]
                m.d.sync += left.eq(
                    (self.address[2:shift] + (self.length >> 2) + (size // 4 - 1)) >> (shift - 2)
                )
        return m
