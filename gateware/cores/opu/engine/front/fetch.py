# SPDX-License-Identifier: BSD-2-Clause
"""Instruction fetch: prefetches the program in blocks of 64 bytes, never past its length or the
window (section 6)."""

from amaranth import Cat, Const, Module, Mux, Signal, unsigned
from amaranth.lib import data, fifo, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from .....memory.port import MemoryPort
from .....parts.datapath import without_reset
from ...isa import UNIT
from ..records import UNIT_BITS

__all__ = ["Fetch", "word_layout_of_fetch"]

_WORDS = UNIT // 4
#: Blocks in the buffer or on their way.
_BLOCKS = 2


def word_layout_of_fetch() -> data.StructLayout:
    """Layout of a fetched word: ``word``, and ``error``, the memory's error flag."""
    return data.StructLayout({"word": unsigned(32), "error": 1})


class Fetch(wiring.Component):
    """Instruction fetch: delivers the instruction words in order.

    A word a cycle once they have come, as far as the memory gives them. The first request goes out
    four cycles after ``start``.

    Parameters
    ----------
    beat_bytes : int, 1, 2, 4, 8 or 16

    Members
    -------
    start : In, one cycle
    stop : In, level: asks for nothing more; ``idle`` once nothing is outstanding
    program, window_base, window_limit : In, in units of 64 bytes; length : In(32), bytes.
        All hold still while running
    words : Out(stream) of :func:`word_layout_of_fetch`.
        The request of a word with an error began at its 64-byte block
    spent : Out, all words were taken; ``outside``: because the window ends (else the program does)
    memory : Out(MemoryPort); answers are taken as they come
    """

    def __init__(self, *, beat_bytes: int) -> None:
        self.beat_bytes = beat_bytes
        super().__init__(
            {
                "start": In(1),
                "stop": In(1),
                "idle": Out(1),
                "program": In(UNIT_BITS),
                "window_base": In(UNIT_BITS),
                "window_limit": In(UNIT_BITS),
                "length": In(32),
                "words": Out(stream.Signature(word_layout_of_fetch())),
                "spent": Out(1),
                "outside": Out(1),
                "memory": Out(MemoryPort(beat_bytes)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        size, port = self.beat_bytes, self.memory
        block_beats = UNIT // size

        # How many words may be fetched: as many as fit below the program's end and below the
        # window's.
        step = Signal(4)
        room = Signal(
            UNIT_BITS + 1, reset_less=True
        )  # blocks from the program's start to the window's end; top bit: none
        below, less = Signal(reset_less=True), Signal(reset_less=True)
        count = Signal(30, reset_less=True)  # words
        m.d.sync += [
            step.eq(Cat(self.start, step)),
            room.eq(self.window_limit - self.program),
            below.eq(self.program < self.window_base),
        ]
        inside = Signal(30)
        with m.If(~room[-1] & ~below):
            m.d.comb += inside.eq(room[:-1] << 4)
        m.d.sync += less.eq(self.length[2:] < inside)
        with m.If(step[1]):
            m.d.sync += [count.eq(Mux(less, self.length[2:], inside)), self.outside.eq(~less)]

        # Requests: one block each, the last one shorter.
        blocks = Signal(UNIT_BITS + 1)  # still to be requested
        unit = Signal(UNIT_BITS, reset_less=True)
        asking, flying, held = Signal(), Signal(range(_BLOCKS + 1)), Signal(range(_BLOCKS + 1))
        beats = Signal(range(block_beats), reset_less=True)
        asked, arrived, freed = Signal(), Signal(), Signal()
        last_beats = Signal(range(block_beats))
        tail = Signal(4)
        m.d.comb += [
            tail.eq(count[:4] - 1),  # words of the last block less one
            last_beats.eq(
                Cat(Const((1 << (2 - size.bit_length() + 1)) - 1, 3 - size.bit_length()), tail)
                if size <= 4
                else tail >> exact_log2(size // 4)
            ),
            port.req.valid.eq(asking),
            asked.eq(asking & port.req.ready),
            port.req.payload.address.eq(unit << 6),
            port.req.payload.beats.eq(beats),
            port.r.ready.eq(1),
            port.ack.ready.eq(1),
            arrived.eq(port.r.valid & port.r.payload.last),
            self.idle.eq(~asking & (flying == 0)),
        ]
        begin = Signal()
        m.d.comb += begin.eq(~asking & (blocks != 0) & (held != _BLOCKS) & ~self.stop)
        with m.If(begin):
            m.d.sync += [
                asking.eq(1),
                blocks.eq(blocks - 1),
                beats.eq(Mux(blocks == 1, last_beats, block_beats - 1)),
            ]
        with m.Elif(asked):
            m.d.sync += [asking.eq(0), unit.eq(unit + 1)]
        with m.If(step[2]):
            m.d.sync += [blocks.eq((count + _WORDS - 1)[4:]), unit.eq(self.program)]
        m.d.sync += [flying.eq(flying + asked - arrived), held.eq(held + begin - freed)]

        m.submodules.buffer = buffer = fifo.SyncFIFOBuffered(
            width=8 * size + 1, depth=_BLOCKS * block_beats
        )
        m.d.comb += [
            buffer.w_data.eq(Cat(port.r.payload.data, port.r.payload.error)),
            buffer.w_en.eq(port.r.valid),
        ]

        # Words out of beats
        due = Signal(30)  # words still to be shown
        out, free = self.words, Signal()
        m.d.comb += free.eq(~out.valid | out.ready)
        show = Signal()
        word, error = Signal(32), Signal()
        beat, bad = buffer.r_data[: 8 * size], buffer.r_data[-1]
        if size >= 8:
            part = Signal(range(size // 4))
            m.d.comb += [
                show.eq(buffer.r_rdy & free & (due != 0)),
                word.eq(beat.word_select(part, 32)),
                error.eq(bad),
                buffer.r_en.eq(show & part.all()),
            ]
            with m.If(show):
                m.d.sync += part.eq(part + 1)
        elif size == 4:
            m.d.comb += [
                show.eq(buffer.r_rdy & free),
                word.eq(beat),
                error.eq(bad),
                buffer.r_en.eq(show),
            ]
        else:
            earlier = Signal(32 - 8 * size, reset_less=True)
            place, spoilt = Signal(range(4 // size)), Signal()
            m.d.comb += [
                show.eq(buffer.r_rdy & free & place.all()),
                word.eq(Cat(earlier, beat)),
                error.eq(bad | spoilt),
                buffer.r_en.eq(free | ~place.all()),
            ]
            with m.If(buffer.r_rdy & buffer.r_en):
                m.d.sync += [
                    place.eq(place + 1),
                    earlier.eq(Cat(earlier, beat)[8 * size :]),
                    spoilt.eq((spoilt | bad) & ~place.all()),
                ]
        place_in_block = Signal(4)
        m.d.comb += freed.eq(show & place_in_block.all())
        payload = without_reset(m, out.payload)
        with m.If(free):
            m.d.sync += [out.valid.eq(show), payload.word.eq(word), payload.error.eq(error)]
        with m.If(show):
            m.d.sync += [due.eq(due - 1), place_in_block.eq(place_in_block + 1)]
        with m.If(step[2]):
            m.d.sync += due.eq(count)
        known = Signal()
        with m.If(step[3]):
            m.d.sync += known.eq(1)
        m.d.sync += self.spent.eq(known & (due == 0) & ~out.valid)
        return m
