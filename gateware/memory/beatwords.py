# SPDX-License-Identifier: BSD-2-Clause
"""Width converter of reads: beats of a memory port to words of 32 bits."""

from amaranth import Cat, Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ..arguments import check_beat_bytes

__all__ = ["BeatsToWords"]


class BeatsToWords(wiring.Component):
    """Width converter: a stream of read beats to a stream of the requested 32-bit words, in order.

    A word a cycle where beats are as wide or wider, else a beat a cycle; no latency: a word is
    offered while its last beat is. Of wide beats the first may begin with words that nobody asked
    for, and the last may end with such: they are left out, and cost no cycle.

    Parameters
    ----------
    beat_bytes : int, a power of two from 1 to 64
    count_bits : int
        Width of a burst's number of words.

    Members
    -------
    start : In, forget all
    burst : In: ``first``, the word's place in its first beat, and ``words``, how many less one,
        of the burst to which the beat offered belongs; they hold from its first beat to its last
        word
    beats : In(stream): ``data``, ``error``
    words : Out(stream): ``word``, ``error`` (of any of its beats), ``last`` of its burst
    """

    def __init__(self, *, beat_bytes: int, count_bits: int = 6) -> None:
        check_beat_bytes(beat_bytes, (1, 2, 4, 8, 16, 32, 64))
        self._log = exact_log2(beat_bytes)
        self._gone = Signal(count_bits)  # words of the burst that went
        super().__init__(
            {
                "start": In(1),
                "burst": In(data.StructLayout({"first": 4, "words": count_bits})),
                "beats": In(
                    stream.Signature(data.StructLayout({"data": 8 * beat_bytes, "error": 1}))
                ),
                "words": Out(
                    stream.Signature(
                        data.StructLayout({"word": unsigned(32), "error": 1, "last": 1})
                    )
                ),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        words, gone = self.words, self._gone
        m.d.comb += words.payload.last.eq(gone == self.burst.words)
        (self._assemble if self._log < 2 else self._split)(m)
        with m.If(words.valid & words.ready):
            m.d.sync += gone.eq(Mux(words.payload.last, 0, gone + 1))
        with m.If(self.start):
            m.d.sync += gone.eq(0)
        return m

    def _assemble(self, m):
        beats, words, size = self.beats, self.words, 8 << self._log
        place, ends = Signal(2 - self._log), Signal()
        early, spoilt = Signal(32 - size, reset_less=True), Signal()
        m.d.comb += [
            ends.eq(place.all()),
            words.valid.eq(beats.valid & ends),
            words.payload.word.eq(Cat(early, beats.payload.data)),
            words.payload.error.eq(beats.payload.error | spoilt),
            beats.ready.eq(words.ready | ~ends),
        ]
        with m.If(beats.valid & beats.ready):
            m.d.sync += [
                place.eq(place + 1),
                early.eq(Cat(early, beats.payload.data)[size:]),
                spoilt.eq(words.payload.error & ~ends),
            ]
        with m.If(self.start):
            m.d.sync += [place.eq(0), spoilt.eq(0)]

    def _split(self, m):
        beats, words, places = self.beats, self.words, self._log - 2
        number = Signal(max(1, places))
        m.d.comb += [
            number.eq((self.burst.first[:places] + self._gone[:places])[:places] if places else 1),
            words.valid.eq(beats.valid),
            words.payload.word.eq(beats.payload.data.word_select(number if places else 0, 32)),
            words.payload.error.eq(beats.payload.error),
            beats.ready.eq(words.ready & (number.all() | words.payload.last)),
        ]
