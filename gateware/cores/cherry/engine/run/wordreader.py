# SPDX-License-Identifier: BSD-2-Clause
"""Word reader: reads consecutive words of main memory, each checked against the memory window
before it is requested (specification, section 6)."""

from amaranth import Cat, Const, Module, Mux, Signal, unsigned
from amaranth.lib import data, enum, fifo, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from .....arguments import check_beat_bytes
from .....memory.beatwords import BeatsToWords
from .....memory.port import ReadLayout, RequestLayout
from .....parts.queues import ShiftQueue, StreamBuffer

__all__ = ["Came", "WordReader", "word_layout"]

#: Words of a block: a burst stays inside one, and the window consists of whole ones.
_BLOCK = 16
#: Words that may be on their way or wait.
_DEPTH = 32
#: Bursts under way.
_BURSTS = 4


class Came(enum.Enum, shape=2):
    """Status of a word that was read."""

    WELL = 0
    OUTSIDE = 1  # of the window; it was not requested, and nothing follows
    ERROR = 2  # answered with an error


def word_layout() -> data.StructLayout:
    """Layout of a word that was read: ``word``, its status ``came``, and its byte ``address``."""
    return data.StructLayout({"word": unsigned(32), "came": Came, "address": unsigned(32)})


class WordReader(wiring.Component):
    """Word reader: reads ranges of words in order, with two or more bursts outstanding.

    A command is taken when all words of the one before are, or were cancelled. Words come some
    cycles after the memory's, one a cycle where it gives them.

    Parameters
    ----------
    beat_bytes : int, a power of two from 1 to 64

    Members
    -------
    command : In(stream): ``address`` (bytes, a multiple of 4) and ``words``, at least 1
    words : Out(stream of :func:`word_layout`)
    cancel : In, level: words not yet accepted are dropped; ``idle`` : Out, nothing is on its way
    window_base, window_limit : In, 32 bits, multiples of 64
    request : Out(stream of RequestLayout), answer : In(stream of ReadLayout): of the memory port
    """

    def __init__(self, *, beat_bytes: int) -> None:
        check_beat_bytes(beat_bytes, (1, 2, 4, 8, 16, 32, 64))
        self.beat_bytes = beat_bytes
        super().__init__(
            {
                "command": In(
                    stream.Signature(
                        data.StructLayout({"address": unsigned(32), "words": unsigned(16)})
                    )
                ),
                "words": Out(stream.Signature(word_layout())),
                "cancel": In(1),
                "idle": Out(1),
                "window_base": In(32),
                "window_limit": In(32),
                "request": Out(stream.Signature(RequestLayout())),
                "answer": In(stream.Signature(ReadLayout(beat_bytes))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        size = self.beat_bytes
        shift = exact_log2(size)
        m.submodules.queue = queue = fifo.SyncFIFOBuffered(width=33, depth=_DEPTH)
        m.submodules.gather = gather = BeatsToWords(beat_bytes=size, count_bits=4)
        m.submodules.notes = notes = ShiftQueue(shape=gather.burst.shape(), depth=_BURSTS)

        # The reader decides late whether it takes a word.
        m.submodules.out = last = StreamBuffer(
            shape=data.StructLayout({"word": unsigned(32), "came": Came})
        )

        at, left = Signal(30), Signal(16)  # in words: next to ask for, how many
        head = Signal(30)  # next to hand on
        reserved = Signal(range(_DEPTH + 1))  # words requested and not handed on
        inside, outside = Signal(), Signal()
        burst = Signal(5)
        room = Signal()
        to_end = Signal(5)
        m.d.comb += to_end.eq(_BLOCK - at[:4])
        out = self.request
        took, given = Signal(), Signal()  # a burst is requested; a word leaves
        first = at[: max(0, shift - 2)]  # wide beats: place of the first word
        span = Signal(6)  # words from the first beat's start
        m.d.comb += [
            span.eq(burst + first),
            out.payload.write.eq(0),
            out.payload.address.eq(
                Cat(Const(0, shift), at[shift - 2 :] if shift > 2 else Cat(Const(0, 2 - shift), at))
            ),
            out.payload.beats.eq(
                ((burst << (2 - shift)) if shift <= 2 else (span + (size // 4 - 1)) >> (shift - 2))
                - 1
            ),
            took.eq(out.valid & out.ready),
        ]
        with m.FSM() as fsm:
            with m.State("IDLE"):
                m.d.comb += self.command.ready.eq(
                    (reserved == 0) & ~outside & ~last.o.valid & ~self.cancel
                )
                with m.If(self.command.valid & self.command.ready):
                    m.d.sync += [
                        at.eq(self.command.payload.address[2:]),
                        head.eq(self.command.payload.address[2:]),
                        left.eq(self.command.payload.words),
                    ]
                    m.next = "CHECK"
            with m.State("CHECK"):
                m.d.sync += [
                    inside.eq((at[4:] >= self.window_base[6:]) & (at[4:] < self.window_limit[6:])),
                    burst.eq(Mux(left < to_end, left, to_end)),
                    room.eq(reserved <= _DEPTH - _BLOCK),
                ]
                m.next = "ASK"
            with m.State("ASK"):
                m.d.sync += room.eq(reserved <= _DEPTH - _BLOCK)
                with m.If(self.cancel):
                    m.next = "IDLE"
                with m.Elif(~inside):
                    m.d.sync += outside.eq(1)
                    m.next = "IDLE"
                with m.Elif(room & notes.i.ready):
                    m.next = "REQUEST"
            with m.State("REQUEST"):
                m.d.comb += out.valid.eq(1)
                with m.If(out.ready):
                    m.d.sync += [at.eq(at + burst), left.eq(left - burst)]
                    with m.If((left == burst) | self.cancel):
                        m.next = "IDLE"
                    with m.Else():
                        m.next = "CHECK"
        m.d.comb += [
            notes.i.valid.eq(took),
            notes.i.payload.first.eq(first),
            notes.i.payload.words.eq(burst - 1),
        ]
        m.d.sync += reserved.eq(reserved + Mux(took, burst, 0) - given)

        # There is space for all that was requested.
        answer = self.answer
        m.d.comb += [
            gather.beats.valid.eq(answer.valid),
            answer.ready.eq(gather.beats.ready),
            gather.beats.payload.data.eq(answer.payload.data),
            gather.beats.payload.error.eq(answer.payload.error),
            gather.burst.eq(notes.o.payload),
            gather.words.ready.eq(1),
            notes.o.ready.eq(gather.words.valid & gather.words.payload.last),
            queue.w_en.eq(gather.words.valid),
            queue.w_data.eq(Cat(gather.words.payload.word, gather.words.payload.error)),
        ]

        m.d.comb += [
            last.i.payload.word.eq(queue.r_data[:32]),
            last.i.payload.came.eq(Mux(queue.r_data[32], Came.ERROR, Came.WELL)),
            last.i.valid.eq(queue.r_rdy),
            queue.r_en.eq(last.i.ready),
            given.eq(queue.r_rdy & last.i.ready),
            self.words.payload.word.eq(last.o.payload.word),
            self.words.payload.came.eq(last.o.payload.came),
            self.words.payload.address.eq(head << 2),
            self.words.valid.eq(last.o.valid),
            last.o.ready.eq(self.words.ready | self.cancel),
            self.idle.eq(fsm.ongoing("IDLE") & (reserved == 0) & ~outside & ~last.o.valid),
        ]
        with m.If(last.o.valid & last.o.ready):
            m.d.sync += head.eq(head + 1)
        with m.If(outside & (reserved == 0)):
            m.d.comb += [last.i.valid.eq(1), last.i.payload.came.eq(Came.OUTSIDE)]
            with m.If(last.i.ready):
                m.d.sync += outside.eq(0)
        with m.If(self.cancel & fsm.ongoing("IDLE")):
            m.d.sync += outside.eq(0)
        return m
