# SPDX-License-Identifier: BSD-2-Clause
"""Instruction fetch: reads the program as one linear stream of beats, and converts it to 14-byte
words (section 7.1)."""

from types import SimpleNamespace

from amaranth import Array, Cat, Module, Mux, Signal
from amaranth.lib import fifo, wiring
from amaranth.lib.wiring import In, Out

from ....memory.port import MemoryPort

__all__ = ["WORD_BYTES", "Fetch"]

WORD_BYTES = 14
_REQUEST_BYTES = 112  # eight words
#: Bytes of a request by beats of 8 bytes, and of wider ones: where a program lies in a slow memory,
#: answers of a fast one to other ports come in between. Fewer would not give a word a cycle.
_WIDE_BYTES, _WIDEST_BYTES = 32, 16
#: Bytes of a beat that is wide: only memory on chip has them. The gearbox takes no more in a cycle:
#: by 16 bytes it would have twice the choices, in the middle of the chip.
_WIDE_BEAT = 8


class Fetch(wiring.Component):
    """Instruction fetch: prefetches the program and delivers the instruction words in order.

    Parameters
    ----------
    beat_bytes : int
    words : int
        Size of the buffer of beats, in words; up to 2 words there is none behind the gearbox, and
        requests are of a word at most.

    Members
    -------
    start : In, one cycle: begin at ``address`` with ``length`` bytes
    stop : In, level: request nothing more, drop received data; ``idle`` once nothing is outstanding
    address, length : In, 32 bits, still while running
    valid, take : Out, In: ``word`` is there; it is taken at the end of the cycle
    word : Out, 112 bits, as section 3.1 numbers them
    error : Out: the memory reported an error for a byte of this word;
        ``error_address`` is the request's, two cycles later
    exhausted : Out: no word is there, and none will come
    """

    def __init__(self, *, beat_bytes: int, words: int) -> None:
        self.beat_bytes, self.words = beat_bytes, words
        # Bytes that the gearbox takes in a cycle.
        self._gear = beat_bytes if words <= 2 or beat_bytes % _WIDE_BEAT else _WIDE_BEAT
        super().__init__(
            {
                "start": In(1),
                "stop": In(1),
                "idle": Out(1),
                "address": In(32),
                "length": In(32),
                "valid": Out(1),
                "take": In(1),
                "word": Out(8 * WORD_BYTES),
                "error": Out(1),
                "error_address": Out(32),
                "exhausted": Out(1),
                "memory": Out(MemoryPort(beat_bytes)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m, s = Module(), SimpleNamespace()  # `s`: signals that several steps use
        size = self.beat_bytes
        unit = 2 if size % 2 == 0 else 1
        gear = self._gear
        word_units, beat_units = WORD_BYTES // unit, gear // unit
        # Beats of a request.
        asked = _REQUEST_BYTES
        if size >= _WIDE_BEAT:
            asked = _WIDE_BYTES if size == _WIDE_BEAT else _WIDEST_BYTES
        burst = max(1, asked // size)
        if self.words <= 2:
            # Without a buffer, only what completes a word in the gearbox: answers must not wait for
            # the issue of a word, since that may wait for an answer after them.
            burst = -(-word_units // beat_units)
        length_bytes = WORD_BYTES - unit + gear
        s.count = Signal(range(length_bytes // unit + 1))  # units in the gearbox

        self._ask(m, s, word_units, beat_units, burst)
        self._beats(m, s, word_units, burst)

        # Gearbox: beats are shifted in at the low end, the oldest bytes are the highest. ``count``
        # are valid.
        window = Signal(8 * max(length_bytes, WORD_BYTES), reset_less=True)
        pad = Signal(range(size // unit + 1))  # units past the program's end in its last beat
        final_pad = Signal.like(pad)
        whole = Signal()
        shift = Signal()
        after = Signal.like(s.count)
        ended = Signal()
        m.d.comb += [
            whole.eq(s.count >= (word_units + pad if size > WORD_BYTES else word_units)),
            self.valid.eq(whole),
            after.eq(s.count - Mux(self.take, word_units, 0)),
            shift.eq(s.beat_valid & ((s.count < word_units) | (self.take & (after < word_units)))),
            s.beat_ready.eq(shift | self.stop),
        ]
        choices = length_bytes // unit - word_units + 1
        if choices == 1:
            m.d.comb += self.word.eq(window[: 8 * WORD_BYTES])
        else:
            above = s.count - word_units
            words = [window[8 * unit * k : 8 * (unit * k + WORD_BYTES)] for k in range(choices)]
            m.d.comb += self.word.eq(Array(words)[above[: (choices - 1).bit_length()]])
        m.d.sync += s.count.eq(after + Mux(shift, beat_units, 0))
        with m.If(shift):
            swapped = Cat(s.beat.word_select(gear - 1 - k, 8) for k in range(gear))
            m.d.sync += [window.eq(Cat(swapped, window)), self.error.eq(self.error | s.beat_error)]
            if size > WORD_BYTES:
                with m.If(s.beat_last & ~s.more & (s.outstanding == 1)):
                    m.d.sync += pad.eq(final_pad)
        if size > WORD_BYTES:
            with m.If(s.offer & s.final):
                m.d.sync += final_pad.eq(((s.final_beats + 1) * size - s.left)[:8] >> (unit - 1))
        # The request a beat belongs to. It is the request of the word's first bad byte.
        origin, answered = Signal(32, reset_less=True), Signal()
        m.d.sync += answered.eq(shift & s.beat_last & ~(self.error | s.beat_error) & ~self.start)
        with m.If(answered):
            m.d.sync += origin.eq(origin + s.asked_goal * size)
        m.d.comb += [
            self.error_address.eq(origin),
            ended.eq(~s.more & (s.outstanding == 0)),
            self.exhausted.eq(ended & ~whole),
            self.idle.eq(s.outstanding == 0),
        ]
        if self.words > 2:
            m.d.comb += self.idle.eq((s.outstanding == 0) & ~s.beat_valid)
        with m.If(self.start):
            m.d.sync += [
                s.address.eq(self.address),
                origin.eq(self.address),
                s.left.eq(self.length),
                s.count.eq(0),
                pad.eq(0),
                self.error.eq(0),
                s.outstanding.eq(0),
            ]
        with m.Elif(self.stop):
            m.d.sync += s.left.eq(0)
        return m

    def _ask(self, m, s, word_units, beat_units, burst):
        """Requests of eight words, or of fewer bytes by wide beats; the last one may be shorter.
        ``left``: bytes not yet requested. The offered request is held in registers of its own and
        counts as outstanding; permission for the next one is computed a cycle earlier."""
        size, port = self.beat_bytes, self.memory
        s.left = Signal(32)
        s.address = Signal(32, reset_less=True)
        s.outstanding = Signal(3 if size >= _WIDE_BEAT else 2)  # four requests at most, or two
        s.room, armed, s.offer, s.last_arrives = Signal(), Signal(), Signal(), Signal()
        goal = Signal(
            range(burst + 1), init=burst
        )  # beats of a request, unless the program ends before
        if self.words <= 2:
            s.asked_goal = Signal.like(goal)  # of the request that is under way
            m.d.comb += goal.eq(
                Array([-(-(word_units - k) // beat_units) for k in range(word_units)])[s.count]
            )
            with m.If(s.offer):
                m.d.sync += s.asked_goal.eq(goal)
        else:
            s.asked_goal = burst
            m.d.comb += goal.eq(burst)
        s.final = s.left <= goal * size
        s.more = s.left != 0
        s.final_beats = (s.left[: (burst * size).bit_length()] - 1)[
            : (burst * size).bit_length()
        ] // size
        m.d.sync += armed.eq(
            s.more & s.room & ~armed & ~s.outstanding[-1] & ~port.req.valid & ~self.start
        )
        m.d.comb += s.offer.eq(armed & ~self.stop)
        with m.If(port.req.ready):
            m.d.sync += port.req.valid.eq(0)
        with m.If(s.offer):
            m.d.sync += [
                port.req.valid.eq(1),
                port.req.payload.address.eq(s.address),
                port.req.payload.beats.eq(Mux(s.final, s.final_beats, goal - 1)),
                s.address.eq(s.address + goal * size),
                s.left.eq(Mux(s.final, 0, s.left - goal * size)),
            ]
        m.d.sync += s.outstanding.eq(s.outstanding + s.offer - s.last_arrives)

    def _beats(self, m, s, word_units, burst):
        """Stream of beats, through a buffer if that was selected. A request is made when there is
        space for all its beats."""
        size, port = self.beat_bytes, self.memory
        capacity = -(-self.words * WORD_BYTES // size)
        s.beat, s.beat_error, s.beat_last, s.beat_valid, s.beat_ready = (
            Signal(8 * self._gear),
            Signal(),
            Signal(),
            Signal(),
            Signal(),
        )
        if self.words > 2:
            depth = max(capacity, 2 * burst)
            m.submodules.buffer = buffer = fifo.SyncFIFOBuffered(width=8 * size + 2, depth=depth)
            held = Signal(range(depth + 1))  # beats in the buffer or on the way into it
            m.d.sync += held.eq(held + Mux(s.offer, burst, 0) - (buffer.r_en & buffer.r_rdy))
            m.d.comb += [
                s.room.eq(held <= depth - burst),
                buffer.w_data.eq(
                    Cat(port.r.payload.data, port.r.payload.error, port.r.payload.last)
                ),
                buffer.w_en.eq(port.r.valid),
                port.r.ready.eq(buffer.w_rdy),
                *self._pieces(m, s, buffer),
            ]
            with m.If(self.start):
                m.d.sync += held.eq(0)  # the last request may have been shorter than it was counted
            m.d.comb += s.last_arrives.eq(buffer.r_en & buffer.r_rdy & s.beat_last)
        else:
            m.d.comb += [
                s.room.eq((s.outstanding == 0) & (s.count < word_units)),
                s.beat.eq(port.r.payload.data),
                s.beat_error.eq(port.r.payload.error),
                s.beat_last.eq(port.r.payload.last),
                s.beat_valid.eq(port.r.valid),
                port.r.ready.eq(s.beat_ready),
                s.last_arrives.eq(port.r.valid & port.r.ready & port.r.payload.last),
            ]

    def _pieces(self, m, s, buffer):
        """Statements that offer the beats of the buffer to the gearbox, in pieces if it takes
        less."""
        if self._gear == self.beat_bytes:
            return [
                Cat(s.beat, s.beat_error, s.beat_last).eq(buffer.r_data),
                s.beat_valid.eq(buffer.r_rdy),
                buffer.r_en.eq(s.beat_ready),
            ]
        beat, error, last = buffer.r_data[:-2], buffer.r_data[-2], buffer.r_data[-1]
        piece = Signal(range(self.beat_bytes // self._gear))
        with m.If(s.beat_valid & s.beat_ready):
            m.d.sync += piece.eq(piece + 1)
        return [
            s.beat.eq(beat.word_select(piece, len(s.beat))),
            s.beat_error.eq(error),
            s.beat_last.eq(last & piece.all()),
            s.beat_valid.eq(buffer.r_rdy),
            buffer.r_en.eq(s.beat_ready & piece.all()),
        ]
