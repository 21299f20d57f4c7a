# SPDX-License-Identifier: BSD-2-Clause
"""Width converter of DMA writes: words of rows to beats of a memory port."""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from .....arguments import check_beat_bytes
from .....memory.port import WriteLayout

__all__ = ["WordsToBeats"]

#: Of a burst: which word of its first beat it begins with, and how many words it has, less one.
_BURST = {"first": 2, "words": 6}


def _log(beat_bytes):
    check_beat_bytes(beat_bytes, (1, 2, 4, 8, 16))
    return exact_log2(beat_bytes)


class WordsToBeats(wiring.Component):
    """Width converter: words to beats of the requested bursts, at most a word and a beat per cycle.

    Parameters
    ----------
    beat_bytes : int

    Members
    -------
    start : In, forget all
    burst : In(stream of ``first``, ``words``): bursts, taken with their last beat;
        without one no beat is offered
    words : In(stream of 32 bits)
    beats : Out(stream of WriteLayout)
    """

    def __init__(self, *, beat_bytes: int) -> None:
        self._log = _log(beat_bytes)
        super().__init__(
            {
                "start": In(1),
                "burst": In(stream.Signature(data.StructLayout(_BURST))),
                "words": In(stream.Signature(32)),
                "beats": Out(stream.Signature(WriteLayout(beat_bytes))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        beats, words, burst, log = self.beats, self.words, self.burst, self._log
        gone, over = Signal(6), Signal()  # words of the burst that went
        m.d.comb += over.eq(gone == burst.payload.words)
        taken = Signal()
        if log <= 2:
            size, parts = 8 << log, 4 >> log
            place = Signal(range(parts))
            m.d.comb += [
                beats.valid.eq(words.valid & burst.valid),
                beats.payload.mask.eq((1 << (1 << log)) - 1),
                beats.payload.data.eq(words.payload.word_select(place, size)),
                taken.eq(beats.valid & beats.ready & (place == parts - 1)),
            ]
            if parts > 1:
                with m.If(beats.valid & beats.ready):
                    m.d.sync += place.eq(place + 1)
                with m.If(self.start):
                    m.d.sync += place.eq(0)
        else:
            places = log - 2
            inside, place, number = Signal(), Signal(places), Signal(places)
            kept, present = Signal(32 << places), Signal(1 << places)
            room = ~beats.valid | beats.ready
            ends = number.all() | over
            m.d.comb += [
                number.eq(Mux(inside, place, burst.payload.first[:places])),
                taken.eq(words.valid & burst.valid & (~ends | room)),
            ]
            with m.If(beats.ready):
                m.d.sync += beats.valid.eq(0)
            with m.If(taken):
                filled, which = Signal.like(kept), Signal.like(present)
                m.d.comb += [
                    filled.eq(kept),
                    filled.word_select(number, 32).eq(words.payload),
                    which.eq(present | (1 << number)),
                ]
                m.d.sync += [
                    inside.eq(~over),
                    place.eq(number + 1),
                    kept.eq(filled),
                    present.eq(Mux(ends, 0, which)),
                ]
                with m.If(ends):
                    m.d.sync += [
                        beats.valid.eq(1),
                        beats.payload.data.eq(filled),
                        beats.payload.mask.eq(Cat(bit.replicate(4) for bit in which)),
                    ]
            with m.If(self.start):
                m.d.sync += [inside.eq(0), present.eq(0), beats.valid.eq(0)]
        m.d.comb += [words.ready.eq(taken), burst.ready.eq(taken & over)]
        with m.If(taken):
            m.d.sync += gone.eq(gone + 1)
            with m.If(over):
                m.d.sync += gone.eq(0)
        with m.If(self.start):
            m.d.sync += gone.eq(0)
        return m
