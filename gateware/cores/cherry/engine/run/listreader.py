# SPDX-License-Identifier: BSD-2-Clause
"""DMA list reader: reads descriptors, checks them and passes them to the mover, one after another
(specification, sections 6 and 7.2)."""

from amaranth import Cat, Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...image import DESCRIPTOR_BYTES, END, FILL, FORMATS
from ...isa import ISA
from ..memory.mover_rows import DescriptorLayout
from .imagereader import fault_of_word
from .wordreader import Came, word_layout

__all__ = ["ListReader"]

_CODE = ISA.fault_codes
_WORDS = DESCRIPTOR_BYTES // 4


class ListReader(wiring.Component):
    """DMA list processor: reads a descriptor when the preceding transfer has finished.

    Members
    -------
    start : In, one cycle: ``address`` of the list
    stop : In, level: ends at the next burst's end of the mover, without fault
    command, words : of :class:`~.wordreader.WordReader`, which is cancelled by whoever stops a list
    descriptor : Out(stream of :class:`~..memory.mover_rows.DescriptorLayout`), mover_stop :
        Out; mover_done : In, one cycle, with ``mover_error`` (fault code; 0: well) and
        ``mover_detail``
    counted : Out, one cycle: a descriptor's 32 bytes count as read
    done : Out, one cycle; with it and until the next start ``fault`` (code; 0:
        the list's end was reached, or it was stopped), ``pc``, ``detail``
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "start": In(1),
                "address": In(32),
                "stop": In(1),
                "command": Out(
                    stream.Signature(
                        data.StructLayout({"address": unsigned(32), "words": unsigned(16)})
                    )
                ),
                "words": In(stream.Signature(word_layout())),
                "descriptor": Out(stream.Signature(DescriptorLayout())),
                "mover_stop": Out(1),
                "mover_done": In(1),
                "mover_error": In(8),
                "mover_detail": In(32),
                "counted": Out(1),
                "done": Out(1),
                "fault": Out(8),
                "pc": Out(32),
                "detail": Out(32),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        word, came, out = self.words.payload.word, self.words.payload.came, self.descriptor.payload
        place = Signal(range(_WORDS))
        bad, ends, fill = Signal(), Signal(), Signal()
        m.d.comb += [
            self.command.payload.address.eq(self.pc),
            self.command.payload.words.eq(_WORDS),
        ]

        m.d.sync += self.done.eq(0)

        def end(code=0, detail=None):
            m.d.sync += [self.done.eq(1), self.fault.eq(code)]
            if detail is not None:
                m.d.sync += self.detail.eq(detail)
            m.next = "IDLE"

        # Words are all read before the first that is wrong counts.
        op, code, wrong = word[:8], word[8:16], Signal()
        with m.Switch(place):
            with m.Case(0):
                m.d.comb += wrong.eq(
                    (word[16:] != 0)
                    | (op > FILL)
                    | ((op != END) & ((code >= len(FORMATS)) | ((op == FILL) & (code != 0))))
                )
            with m.Case(1):
                m.d.comb += wrong.eq(Mux(fill, word[18:] != 0, word[:2] != 0))
            with m.Case(2):
                m.d.comb += wrong.eq(word[18:] != 0)
            with m.Case(3):
                m.d.comb += wrong.eq((word[:16] == 0) | (word[16:] == 0))
            with m.Case(4):
                m.d.comb += wrong.eq(~fill & (word[:2] != 0))
            with m.Case(7):
                m.d.comb += wrong.eq(word != 0)
        with m.FSM():
            with m.State("IDLE"):
                m.d.sync += place.eq(0)
                with m.If(self.start):
                    m.d.sync += [self.pc.eq(self.address), self.detail.eq(self.address)]
                    m.next = "ASK"
            with m.State("ASK"):
                m.d.sync += [bad.eq(0), ends.eq(0)]
                with m.If(self.stop):
                    end()
                with m.Elif(self.pc[:2] != 0):
                    end(_CODE["descriptor"])
                with m.Else():
                    m.d.comb += self.command.valid.eq(1)
                    with m.If(self.command.ready):
                        m.next = "WORDS"
            with m.State("WORDS"):
                m.d.comb += self.words.ready.eq(1)
                with m.If(self.stop):
                    end()
                with m.Elif(self.words.valid & (came != Came.WELL)):
                    end(fault_of_word(came), self.words.payload.address)
                with m.Elif(self.words.valid):
                    m.d.sync += place.eq(place + 1)
                    with m.If(wrong & ~bad & ~ends):
                        m.d.sync += [bad.eq(1), self.detail.eq(word)]
                    with m.Switch(place):
                        with m.Case(0):
                            m.d.sync += [
                                out.op.eq(op),
                                out.format.eq(code),
                                ends.eq((op == END) & ~wrong),
                                fill.eq(op == FILL),
                            ]
                        for number, fields in enumerate(
                            (
                                (out.main,),
                                (out.mem,),
                                (out.cols, out.rows),
                                (out.pitch,),
                                (out.mem_pitch,),
                                (out.mem_step,),
                            ),
                            1,
                        ):
                            with m.Case(number):
                                m.d.sync += Cat(*fields).eq(word)
                        with m.Case(_WORDS - 1):
                            m.next = "READ"
            with m.State("READ"):
                with m.If(bad):
                    end(_CODE["descriptor"])
                with m.Else():
                    m.d.comb += self.counted.eq(1)
                    with m.If(ends):
                        end()
                    with m.Else():
                        m.next = "HAND"
            with m.State("HAND"):
                m.d.comb += self.descriptor.valid.eq(1)
                with m.If(self.descriptor.ready):
                    m.next = "MOVE"
            with m.State("MOVE"):
                m.d.comb += self.mover_stop.eq(self.stop)
                with m.If(self.mover_done):
                    with m.If(self.mover_error != 0):
                        end(self.mover_error, self.mover_detail)
                    with m.Elif(self.stop):
                        end()
                    with m.Else():
                        m.d.sync += self.pc.eq(self.pc + DESCRIPTOR_BYTES)
                        m.next = "ASK"
        return m
