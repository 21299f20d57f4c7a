# SPDX-License-Identifier: BSD-2-Clause
"""Program image loader: copies an image from main memory to the front end's tables, checked word by
word (specification, sections 3.3 and 6)."""

from amaranth import Cat, Module, Mux, Signal, Value, unsigned
from amaranth.hdl import ValueLike
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from .....isa.parameters import Params
from ...image import HEADER_WORDS, IMAGE_MAGIC, VERSION
from ...isa import ISA
from ..front.program_tables import TableKind, TableWrite
from .wordreader import Came, word_layout

__all__ = ["ImageReader", "fault_of_word"]

_CODE = ISA.fault_codes


def fault_of_word(came: ValueLike) -> Value:
    """Fault code of a word whose status :class:`~.wordreader.Came` is ``OUTSIDE`` or ``ERROR``."""
    return Mux(came == Came.OUTSIDE, _CODE["window"], _CODE["bus"])


class ImageReader(wiring.Component):
    """Image loader: reads one program image at a time.

    A word a cycle; an address unit takes as many cycles as it has places in its table. The first
    word that is wrong ends the image. A reset, together with the reader of words, gives it up.

    Parameters
    ----------
    params : dict of ``SPACE.resolve``

    Members
    -------
    start : In, one cycle: ``address`` of the image, ``resident``,
        the number of the program it becomes,, ``limit`` in bytes (0: none) hold still from then on
    command, words : of :class:`~.wordreader.WordReader`
    table : Out(TableWrite)
    done : Out, one cycle; with it and until the next start ``fault`` (code; 0:
        whole) of the word at hand, which is not taken, or, ``misfit``, of the size that the header
        says; ``size`` (words), ``code`` (address of the first instruction), ``instructions``,
        ``loops``, ``units``, ``contexts``
    """

    def __init__(self, *, params: Params) -> None:
        self.params = params
        super().__init__(
            {
                "start": In(1),
                "address": In(32),
                "resident": In(1),
                "limit": In(32),
                "command": Out(
                    stream.Signature(
                        data.StructLayout({"address": unsigned(32), "words": unsigned(16)})
                    )
                ),
                "words": In(stream.Signature(word_layout())),
                "table": Out(TableWrite()),
                "done": Out(1),
                "fault": Out(8),
                "misfit": Out(1),
                "size": Out(16),
                "code": Out(32),
                "instructions": Out(12),
                "loops": Out(8),
                "units": Out(32),
                "contexts": Out(8),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        came, word = self.words.payload.came, self.words.payload.word
        here = self.words.payload.address
        left = Signal(16)  # words of the image that are not taken yet
        count, mask = (
            Signal(12),
            Signal(8),
        )  # instructions to come; loops with a record, or coefficients, to come
        records = Signal(6)  # units to come
        unit, least = Signal(5), Signal(6)  # that is read; lowest index that may follow
        place = Signal(4)
        table = self.table
        m.d.comb += table.resident.eq(self.resident)

        m.d.sync += self.done.eq(0)

        def end(code=0, misfit=0):
            m.d.sync += [self.done.eq(1), self.fault.eq(code), self.misfit.eq(misfit)]
            m.next = "IDLE"

        def refuse(name):
            """Ends the run with the fault ``name`` at the current word."""
            end(_CODE[name])

        given = Signal()  # a word is here, and came well
        m.d.comb += given.eq(self.words.valid & (came == Came.WELL))

        def taking():
            """Condition that the next word of the image is available; refuses the image if it has
            ended or the word is bad."""
            with m.If(left == 0):
                end(_CODE["image"], 1)
            with m.Elif(self.words.valid & ~given):
                end(fault_of_word(came))
            return m.If((left != 0) & given)

        def take():
            m.d.comb += self.words.ready.eq(1)
            m.d.sync += left.eq(left - 1)

        wide = word[18:] != 0
        with m.FSM():
            with m.State("IDLE"):
                m.d.sync += place.eq(0)
                with m.If(self.start):
                    m.next = "ASK"
            with m.State("ASK"):
                m.d.comb += [
                    self.command.valid.eq(1),
                    self.command.payload.address.eq(self.address),
                    self.command.payload.words.eq(HEADER_WORDS),
                ]
                with m.If(self.command.ready):
                    m.next = "HEADER"
            with m.State("HEADER"):
                self._header(m, given, end, refuse, place, left, count, mask, records)
            with m.State("MORE"):
                m.d.comb += [
                    self.command.valid.eq(left != 0),
                    self.command.payload.address.eq(self.address + 4 * HEADER_WORDS),
                    self.command.payload.words.eq(left),
                ]
                m.d.sync += [place.eq(0), unit.eq(0), least.eq(0), self.units.eq(0)]
                with m.If((left == 0) | self.command.ready):
                    m.next = "LOOPS"
            with m.State("LOOPS"):
                with m.If(place[3]):
                    m.next = "UNITS"
                with m.Elif(~mask.bit_select(place[:3], 1)):
                    m.d.sync += place.eq(place + 1)
                with m.Else():
                    m.d.comb += [
                        table.kind.eq(TableKind.LOOP),
                        table.address.eq(Cat(unit[0], place[:3])),
                        table.data.eq(word),
                    ]
                    with taking():
                        with m.If(wide):
                            refuse("image")
                        with m.Else():
                            take()
                            m.d.comb += table.en.eq(1)
                            m.d.sync += [unit.eq(~unit[0]), place.eq(place + unit[0])]
            with m.State("UNITS"):
                m.d.sync += [place.eq(0), self.code.eq(here)]
                with m.If(records == 0):
                    m.next = "CODE"
                with m.Else():
                    with taking():
                        with m.If((word[16:] != 0) | (word[5:8] != 0) | (word[:5] < least)):
                            refuse("image")
                        with m.Else():
                            take()
                            m.d.sync += [
                                unit.eq(word),
                                least.eq(word[:5] + 1),
                                mask.eq(word[8:16]),
                                records.eq(records - 1),
                                self.units.eq(self.units | (1 << word[:5])),
                            ]
                            m.next = "UNIT"
            with m.State("UNIT"):
                m.d.comb += [
                    table.kind.eq(TableKind.UNIT),
                    table.address.eq(Cat(place, unit)),
                    table.data.eq(Mux(place[3] & ~mask[0], 0, word)),
                ]
                absent, step = Signal(), Signal()
                m.d.comb += absent.eq(place[3] & ~mask[0])
                with m.If(absent):
                    m.d.comb += step.eq(1)
                with m.Else():
                    with taking():
                        with m.If(wide):
                            refuse("image")
                        with m.Else():
                            take()
                            m.d.comb += step.eq(1)
                with m.If(step):
                    m.d.comb += table.en.eq(1)
                    m.d.sync += place.eq(Mux(place == 2, 8, place + 1))
                    with m.If(place[3]):
                        m.d.sync += mask.eq(mask >> 1)
                    with m.If(place == 15):
                        m.next = "UNITS"
            with m.State("CODE"):
                index = Signal(12)
                m.d.comb += [
                    index.eq(self.instructions - count),
                    table.kind.eq(TableKind.INSTRUCTION),
                    table.address.eq(index),
                    table.data.eq(word),
                ]
                with m.If(count == 0):
                    with m.If(left == 0):
                        end()
                    with m.Else():
                        end(_CODE["image"], 1)
                with m.Else():
                    with taking():
                        with m.If(wide):
                            refuse("image")
                        with m.Else():
                            take()
                            m.d.comb += table.en.eq(1)
                            m.d.sync += count.eq(count - 1)
        return m

    def _header(self, m, given, end, refuse, place, left, count, mask, records):
        """Checks the eight words of the header; ``place`` counts them."""
        p, word = self.params, self.words.payload.word
        size, flags = word[16:], word
        wrong, much, lacking = Signal(), Signal(), Signal()
        # A word is judged in one cycle and dealt with in the next.
        judged, is_wrong, is_much, is_lacking = (Signal() for _ in range(4))
        m.d.sync += [
            judged.eq(given & ~judged),
            is_wrong.eq(wrong),
            is_much.eq(much),
            is_lacking.eq(lacking),
        ]
        with m.Switch(place[:3]):
            with m.Case(0):
                m.d.comb += wrong.eq(word != IMAGE_MAGIC)
            with m.Case(1):
                m.d.comb += [
                    wrong.eq((word[:16] != VERSION) | (size < HEADER_WORDS)),
                    much.eq((self.limit != 0) & ((size << 2) > self.limit)),
                ]
            with m.Case(2):
                m.d.comb += [
                    wrong.eq(flags[11:] != 0),
                    much.eq(flags[:8] > p["contexts"]),
                    lacking.eq(
                        (flags[8] if not p["sfu_lanes"] else 0)
                        | (flags[9] if not p["reduce_axes"] else 0)
                        | (flags[10] != (p["acc_frac"] == 17))
                    ),
                ]
            with m.Case(3):
                m.d.comb += [
                    wrong.eq((word[22:24] != 0) | (word[16:22] > 32)),
                    much.eq(word[:16] > p["imem"]),
                ]
            with m.Default():
                m.d.comb += wrong.eq(word != 0)
        with m.If(judged):
            with m.If(is_wrong):
                refuse("image")
            with m.Elif(is_much):
                refuse("capacity")
            with m.Elif(is_lacking):
                refuse("feature")
            with m.Else():
                m.d.comb += self.words.ready.eq(1)
                m.d.sync += place.eq(place + 1)
                with m.Switch(place[:3]):
                    with m.Case(1):
                        m.d.sync += [self.size.eq(size), left.eq(size - HEADER_WORDS)]
                    with m.Case(2):
                        m.d.sync += self.contexts.eq(flags[:8])
                    with m.Case(3):
                        m.d.sync += [
                            self.instructions.eq(word),
                            count.eq(word),
                            records.eq(word[16:]),
                            mask.eq(word[24:]),
                            self.loops.eq(word[24:]),
                        ]
                    with m.Case(7):
                        m.next = "MORE"
        with m.Elif(self.words.valid & ~given):
            end(fault_of_word(self.words.payload.came))
