# SPDX-License-Identifier: BSD-2-Clause
"""Program list reader: header and entries, checked word by word (specification, sections 3.4 and
6)."""

from amaranth import Cat, Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...image import ENTRY_WORDS, HEADER_WORDS, LIST_MAGIC, VERSION
from ...isa import ISA
from .imagereader import fault_of_word
from .wordreader import Came, word_layout

__all__ = ["EntryReader"]

_CODE = ISA.fault_codes


class EntryReader(wiring.Component):
    """Reads and checks one entry of a program list, eight words. Aborted by a reset, together with
    the word reader.

    Members
    -------
    start : In, one cycle; from then on ``address`` holds still, and ``header``:
        it is that of a list or of an only image, else an entry's; ``limit``: of a header, the bytes
        that a list may take (0: any)
    command, words : of :class:`~.wordreader.WordReader`; words may be left
    done : Out, one cycle, with ``fault`` (code; 0: well) of the word at hand, which is not taken
    listed : Out: the header is that of a list, of ``steps`` entries and ``size`` bytes;
        if not it was not looked at further
    image, in_list, out_list, prefetch, defer, rebase, mask : Out, of the entry
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "start": In(1),
                "address": In(32),
                "header": In(1),
                "limit": In(32),
                "command": Out(
                    stream.Signature(
                        data.StructLayout({"address": unsigned(32), "words": unsigned(16)})
                    )
                ),
                "words": In(stream.Signature(word_layout())),
                "done": Out(1),
                "fault": Out(8),
                "listed": Out(1),
                "steps": Out(16),
                "size": Out(32),
                "image": Out(32),
                "in_list": Out(32),
                "out_list": Out(32),
                "prefetch": Out(1),
                "defer": Out(1),
                "rebase": Out(18),
                "mask": Out(32),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        word, came, header = self.words.payload.word, self.words.payload.came, self.header
        # What a reset must not forget while a program of the list runs.
        listed, steps, size = (Signal(n, reset_less=True) for n in (1, 16, 32))
        m.d.comb += [self.listed.eq(listed), self.steps.eq(steps), self.size.eq(size)]
        place, wrong, much, other = Signal(3), Signal(), Signal(), Signal()
        # A word is judged in one cycle and dealt with in the next.
        judged, is_wrong, is_much, is_other = (Signal() for _ in range(4))
        m.d.sync += [
            judged.eq(self.words.valid & ~judged),
            is_wrong.eq(wrong),
            is_much.eq(much),
            is_other.eq(other),
        ]
        m.d.comb += other.eq(header & (place == 0) & (word != LIST_MAGIC))
        m.d.comb += [
            self.command.payload.address.eq(self.address),
            self.command.payload.words.eq(HEADER_WORDS),
        ]
        m.d.sync += self.done.eq(0)

        def end(code=0):
            m.d.sync += [self.done.eq(1), self.fault.eq(code)]
            m.next = "IDLE"

        with m.If(header):
            with m.Switch(place):
                with m.Case(1):
                    m.d.comb += wrong.eq((word[:16] != VERSION) | (word[16:] == 0))
                with m.Case(2):
                    m.d.comb += [
                        much.eq((self.limit != 0) & (word > self.limit)),
                        wrong.eq(word < 4 * HEADER_WORDS + 4 * ENTRY_WORDS * steps),
                    ]
                with m.Case(3, 4, 5, 6, 7):
                    m.d.comb += wrong.eq(word != 0)
        with m.Else():
            with m.Switch(place):
                with m.Case(0):
                    m.d.comb += wrong.eq((word[:2] != 0) | (word >= size) | (word == 0))
                with m.Case(1, 2):
                    m.d.comb += wrong.eq((word[:2] != 0) | (word >= size))
                with m.Case(3):
                    m.d.comb += wrong.eq(word[2:] != 0)
                with m.Case(4):
                    m.d.comb += wrong.eq(word[18:] != 0)
                with m.Case(6, 7):
                    m.d.comb += wrong.eq(word != 0)
        with m.FSM():
            with m.State("IDLE"):
                m.d.sync += place.eq(0)
                with m.If(self.start):
                    m.next = "ASK"
            with m.State("ASK"):
                m.d.comb += self.command.valid.eq(1)
                with m.If(self.command.ready):
                    m.next = "WORDS"
            with m.State("WORDS"):
                with m.If(judged & (came != Came.WELL)):
                    end(fault_of_word(came))
                with m.Elif(judged & is_other):
                    m.d.sync += listed.eq(0)
                    end()
                with m.Elif(judged & (is_much | is_wrong)):
                    end(Mux(is_much, _CODE["capacity"], _CODE["image"]))
                with m.Elif(judged):
                    m.d.comb += self.words.ready.eq(1)
                    m.d.sync += place.eq(place + 1)
                    with m.If(header):
                        with m.Switch(place):
                            with m.Case(0):
                                m.d.sync += listed.eq(1)
                            with m.Case(1):
                                m.d.sync += steps.eq(word[16:])
                            with m.Case(2):
                                m.d.sync += size.eq(word)
                    with m.Else():
                        with m.Switch(place):
                            for number, fields in enumerate(
                                (
                                    (self.image,),
                                    (self.in_list,),
                                    (self.out_list,),
                                    (self.prefetch, self.defer),
                                    (self.rebase,),
                                    (self.mask,),
                                )
                            ):
                                with m.Case(number):
                                    m.d.sync += Cat(*fields).eq(word)
                    with m.If(place == 7):
                        end()
        return m
