# SPDX-License-Identifier: BSD-2-Clause
"""Instruction prefetch of one processor: reads its code ahead in bursts, and delivers the
instructions in order (sections 3 and 9).

The buffer is a ring of rows of 8 bytes at places given by the bits of their address in memory, so a
burst is one aligned block of 64 bytes (the first and the last may be shorter). Behind it an aligner
puts instructions of one or two words together.
"""

from amaranth import Cat, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for, exact_log2

from .....arguments import check_beat_bytes, check_memory_size
from .....isa.parameters import Params
from .....memory.port import MemoryPort
from .....primitives.bram import BlockRAM
from ...isa import ISA

__all__ = ["BURST_BYTES", "CODE_MODES", "Prefetch", "fetched_layout"]

#: Bytes of a burst.
BURST_BYTES = 64
#: Numbers of the code forms in the image.
CODE_MODES = {"64": 0, "32": 1, "packed": 2}

_ROW = 8
_ROWS = BURST_BYTES // _ROW
#: Bursts requested and not yet there: enough for a beat a cycle through arbiter, guard and memory.
_FLYING = 4
#: Opcode -> lowest bit of its immediate in the 32-bit form.
_SHORT = {ISA.opcodes["sldi"]: 11, ISA.opcodes["saddi"]: 16, ISA.opcodes["smuli"]: 16}


def fetched_layout() -> data.StructLayout:
    """Layout of a fetched instruction in its 64-bit form: ``low``, ``high``.

    ``long``: it takes two words of 32 bits; ``error``: memory reported one for it; ``beyond``: no
    instruction, but the fault CODE_END.
    """
    return data.StructLayout(
        {"low": unsigned(32), "high": unsigned(32), "long": 1, "error": 1, "beyond": 1}
    )


class Prefetch(wiring.Component):
    """Instruction prefetch: delivers ``count`` instructions in order, each once; one per cycle as
    far as the memory supplies them.

    Parameters
    ----------
    params : dict of ``SPACE.resolve``
    beat_bytes : int, 1, 2, 4 or 8
    memory_size : int
        Bytes of main memory, which holds all code: the width of counters.
    family : ``"ecp5"``, ``"ice40"`` or ``None``

    Members
    -------
    start : In, one cycle, after a reset (only while ``idle``);
        the rest of the inputs hold still from here on
    code : In(32), address of the code, a multiple of 8; code_bytes : In(32); count :
        In(32), instructions; mode : In(2)
    stop : In: asks for nothing more, until the next reset
    idle : Out, no burst is outstanding
    words : Out(stream) of :func:`fetched_layout`.
        Packed code that is too short or too long ends with one ``beyond``
    ended : Out, all instructions were taken
    bytes : Out(4), bytes of code that came in this cycle
    memory : Out(MemoryPort); answers are taken as they come
    """

    def __init__(
        self,
        *,
        params: Params,
        beat_bytes: int,
        memory_size: int = 1 << 32,
        family: str | None = None,
    ) -> None:
        check_beat_bytes(beat_bytes)
        check_memory_size(memory_size)
        self.rows = params["prefetch_words"]
        self.beat_bytes, self.family = beat_bytes, family
        super().__init__(
            {
                "start": In(1),
                "code": In(32),
                "code_bytes": In(32),
                "count": In(32),
                "mode": In(2),
                "stop": In(1),
                "idle": Out(1),
                "words": Out(stream.Signature(fetched_layout())),
                "ended": Out(1),
                "bytes": Out(4),
                "memory": Out(MemoryPort(beat_bytes)),
            }
        )
        # State, which the proof looks at: requests, rows in the ring and after it, words and
        # instructions not yet shown.
        row_bits = min(29, bits_for(memory_size // _ROW))
        self._next_row, self._left = Signal(row_bits, reset_less=True), Signal(row_bits + 1)
        self._room, self._flying = (
            Signal(range(self.rows // _ROWS + 1), init=self.rows // _ROWS),
            Signal(range(_FLYING + 1)),
        )
        self._asking, self._length, self._stopped = Signal(), Signal(4, reset_less=True), Signal()
        bits = (
            exact_log2(self.rows) + 1
        )  # one bit more than the ring's rows, so that full is not empty
        self._half = Signal(reset_less=True)  # beats of less than a row: the upper word is due
        self._filled, self._row, self._shown, self._taken, self._freed = (
            Signal(bits),
            Signal(bits),
            Signal(),
            Signal(),
            Signal(),
        )
        self._valid, self._low, self._high = (
            Signal(),
            Signal(33, reset_less=True),
            Signal(33, reset_less=True),
        )
        self._holds, self._held = Signal(), Signal(33, reset_less=True)
        # Of each of these words: an instruction that begins with it takes two words. Known from
        # the cycle in which the word comes, since the address in the ring depends on it.
        self._low_wide, self._high_wide, self._held_wide = (
            Signal(name=f"{word}_wide", reset_less=True) for word in ("low", "high", "held")
        )
        # Code has fewer words than the counter of instructions can count.
        self._words_left, self._due = Signal(row_bits + 2), Signal(row_bits + 3)
        self._begun = Signal()
        self._none, self._one, self._last = Signal(init=1), Signal(), Signal(init=1)
        self._spare, self._spare_valid = Signal(fetched_layout(), reset_less=True), Signal()
        self.banks = [
            BlockRAM(width=33, depth=self.rows, latency=1, family=family) for _ in range(2)
        ]

    def elaborate(self, platform: object) -> Module:
        m = Module()
        filled, beat_word = self._ask(m)
        pair = self._buffer(m, filled, *beat_word)
        self._align(m, *pair)
        return m

    def _ask(self, m):
        """Requests bursts within the code's range; returns the next row that has not arrived, and
        the write port's values."""
        port, size = self.memory, self.beat_bytes
        next_row, left, room, flying = self._next_row, self._left, self._room, self._flying
        asking, asked, arrived = self._asking, Signal(), Signal()
        most, length = Signal(4), self._length
        begin, stopped = Signal(), self._stopped
        with m.If(
            self.stop
        ):  # it falls at the end of the run, and the rest of the code is not to be fetched then
            m.d.sync += stopped.eq(1)
        m.d.comb += [
            most.eq(_ROWS - next_row[:3]),
            begin.eq(
                ~asking & (left != 0) & (room != 0) & (flying != _FLYING) & ~self.stop & ~stopped
            ),
            port.req.valid.eq(asking),
            asked.eq(asking & port.req.ready),
            port.req.payload.address.eq(next_row << 3),
            port.req.payload.beats.eq((length << exact_log2(_ROW // size)) - 1),
            port.r.ready.eq(1),
            port.ack.ready.eq(1),
            arrived.eq(port.r.valid & port.r.payload.last),
            self.idle.eq(~asking & (flying == 0)),
        ]
        m.d.sync += [flying.eq(flying + asked - arrived), self.bytes.eq(Mux(port.r.valid, size, 0))]
        with m.If(begin):
            m.d.sync += [asking.eq(1), length.eq(Mux(left < most, left, most))]
        with m.Elif(asked):
            m.d.sync += [asking.eq(0), next_row.eq(next_row + length), left.eq(left - length)]
        m.d.sync += room.eq(room - begin + self._freed)
        with m.If(self.start):
            m.d.sync += [
                next_row.eq(self.code[3:]),
                left.eq((self.code_bytes[: len(left) + 3] + 7)[3:]),
            ]

        # Beats to words of 32 bits, words to rows
        filled = self._filled
        beat, bad, valid = port.r.payload.data, port.r.payload.error, port.r.valid
        enable, word = Signal(2), Signal(2 * 33)
        if size == 8:
            m.d.comb += [
                enable.eq(valid.replicate(2)),
                word.eq(Cat(beat[:32], bad, beat[32:], bad)),
            ]
        else:
            half = self._half
            whole, wrong = beat, bad
            ends = valid
            if size < 4:
                earlier, spoilt, place = (
                    Signal(32 - 8 * size, reset_less=True),
                    Signal(reset_less=True),
                    Signal(range(4 // size)),
                )
                whole, wrong = Cat(earlier, beat), bad | spoilt
                ends = valid & place.all()
                with m.If(valid):
                    m.d.sync += [
                        place.eq(place + 1),
                        earlier.eq(whole[8 * size :]),
                        spoilt.eq(wrong & ~place.all()),
                    ]
                with m.If(self.start):
                    m.d.sync += [place.eq(0), spoilt.eq(0)]
            m.d.comb += [
                enable.eq(Cat(ends & ~half, ends & half)),
                word.eq(Cat(whole, wrong, whole, wrong)),
            ]
            with m.If(ends):
                m.d.sync += half.eq(~half)
            with m.If(self.start):
                m.d.sync += half.eq(0)
        with m.If(enable[1]):
            m.d.sync += filled.eq(filled + 1)
        with m.If(self.start):
            m.d.sync += filled.eq(self.code[3:])
        return filled, (enable, word)

    def _buffer(self, m, filled, enable, word):
        """Ring buffer with an output register of one row. Returns both words, ``valid``, and their
        acknowledge."""
        row, shown, taken = self._row, self._shown, self._taken
        following, at = Signal.like(row), Signal.like(row)
        m.d.comb += [
            following.eq(row + 1),
            at.eq(Mux(taken, following, row)),
            self._freed.eq(taken & row[:3].all()),
        ]
        # Both comparisons at once: which row it is, is known last.
        m.d.sync += [row.eq(at), shown.eq(Mux(taken, following != filled, row != filled))]
        banks = self.banks
        for k, bank in enumerate(banks):
            m.submodules[f"bank_{k}"] = bank
            m.d.comb += [
                bank.write_en.eq(enable[k]),
                bank.write_addr.eq(filled[:-1]),
                bank.write_data.eq(word[33 * k : 33 * k + 33]),
                bank.read_addr.eq(at[:-1]),
            ]
        valid, low, high = self._valid, self._low, self._high
        free, take = Signal(), Signal()
        m.d.comb += [free.eq(~valid | take), taken.eq(shown & free)]
        with m.If(free):
            m.d.sync += [
                valid.eq(shown),
                low.eq(banks[0].read_data),
                high.eq(banks[1].read_data),
                self._low_wide.eq(self.is_wide(banks[0].read_data)),
                self._high_wide.eq(self.is_wide(banks[1].read_data)),
            ]
        with m.If(self.start):  # rows of the run before may have come here since the reset
            m.d.sync += [row.eq(self.code[3:]), shown.eq(0), valid.eq(0)]
        return valid, low, high, take

    def is_wide(self, word: Value) -> Value:
        """Whether an instruction that begins with ``word`` takes two words of 32 bits."""
        packed = self.mode == CODE_MODES["packed"]
        return packed & word[5] & word[:5].any() | (self.mode == CODE_MODES["64"])

    def _align(self, m, valid, low, high, take):
        """Aligns words to instructions. ``held`` is the upper word of a row whose lower word was
        consumed."""
        out = self.words
        holds, held = self._holds, self._held
        first, second = Signal(33), Signal(33)
        m.d.comb += [first.eq(Mux(holds, held, low)), second.eq(Mux(holds, low, high))]
        left, due, begun = self._words_left, self._due, self._begun
        none, one, last = (
            self._none,
            self._one,
            self._last,
        )  # no word is left, one; no instruction is due
        marked, wide = Signal(), Signal()
        m.d.comb += [
            wide.eq(Mux(holds, self._held_wide, self._low_wide)),
            marked.eq(wide & (self.mode == CODE_MODES["packed"])),
        ]
        beyond, there, show, free = Signal(), Signal(), Signal(), Signal()
        spare, spare_valid, new = self._spare, self._spare_valid, Signal(fetched_layout())
        m.d.comb += [
            free.eq(~spare_valid),
            beyond.eq(Mux(none, ~last, last | wide & one)),
            there.eq(Mux(none, ~last, Mux(wide & ~beyond, valid, valid | holds))),
            show.eq(begun & there & free),
        ]
        # Accepted words: from the held word and one of the row, or from the row.
        with m.If(show & ~beyond):
            with m.If(wide):
                m.d.comb += take.eq(1)
                m.d.sync += [held.eq(high), self._held_wide.eq(self._high_wide)]
            with m.Elif(~holds):
                m.d.comb += take.eq(1)
                m.d.sync += [holds.eq(1), held.eq(high), self._held_wide.eq(self._high_wide)]
            with m.Else():
                m.d.sync += holds.eq(0)
            m.d.sync += [
                due.eq(due - 1),
                last.eq(due == 1),
                left.eq(left - Mux(wide, 2, 1)),
                none.eq(Mux(wide, left == 2, left == 1)),
                one.eq(Mux(wide, left == 3, left == 2)),
            ]
        opcode, masked, short = Signal(6), Signal(32), Signal(32)
        m.d.comb += [
            opcode.eq(Cat(first[:5], first[5] & ~marked)),
            masked.eq(Cat(opcode, first[6:32])),
        ]
        for code, lowest in _SHORT.items():
            with m.If(~wide & (opcode == code)):
                immediate = first[lowest:32]
                m.d.comb += [
                    short.eq(Cat(immediate, immediate[-1].replicate(lowest))),
                    masked.eq(Cat(opcode, first[6:lowest])),
                ]
        m.d.comb += [
            new.low.eq(masked),
            new.high.eq(Mux(wide, second[:32], short)),
            new.long.eq(wide),
            new.error.eq(first[32] | wide & second[32]),
            new.beyond.eq(beyond),
        ]
        # Two places, so that whether the reader takes one does not reach back to the buffer in the
        # same cycle.
        with m.If(~out.valid | out.ready):
            m.d.sync += [
                out.valid.eq(show | spare_valid),
                out.payload.eq(Mux(spare_valid, spare, new)),
                spare_valid.eq(0),
            ]
        with m.Elif(show):
            m.d.sync += [spare_valid.eq(1), spare.eq(new)]
        with m.If(show & beyond):
            m.d.sync += begun.eq(0)
        words = self.code_bytes[2:][: len(left)]
        with m.If(self.start):
            m.d.sync += [
                begun.eq(1),
                holds.eq(0),
                left.eq(words),
                # A greater number is as much too great for its code as the greatest one is.
                due.eq(self.count[: len(due)] | self.count[len(due) :].any().replicate(len(due))),
                last.eq(self.count == 0),
                none.eq(words == 0),
                one.eq(words == 1),
            ]
        m.d.comb += self.ended.eq(last & none & ~out.valid & ~spare_valid)
