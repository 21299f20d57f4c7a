# SPDX-License-Identifier: BSD-2-Clause
"""Proof of the instruction supply: every word of the code once and in order, whatever memory and
issue do."""

import pytest
from amaranth.hdl import Assert, Assume, Cat, Const, Cover, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from quintet.gateware.cores.pim.engine.front.prefetch import CODE_MODES, Prefetch
from tests.support.formal import ProofFailed, Property, cover, prove

#: Rows of the ring, and bits of the number of a row in memory: the code lies in the first 256
#: bytes.
ROWS, BITS = 16, 6
_BURST = 8  # rows
_FLYING = 4


class OneRow(wiring.Component):
    """A block RAM of which one row, ``watched``, is kept. What is read of another one, or of one
    that is written in that cycle, the solver chooses (``other``); so what is proved of the watched
    row holds of each."""

    def __init__(self, depth):
        bits = (depth - 1).bit_length()
        super().__init__(
            {
                "write_en": In(1),
                "write_addr": In(bits),
                "write_data": In(33),
                "read_addr": In(bits),
                "read_data": Out(33),
                "watched": In(bits),
                "other": In(33),
            }
        )
        self.kept, self.known, self.shown = Signal(33), Signal(), Signal(33)

    def elaborate(self, platform):
        m = Module()
        here = Signal()
        m.d.comb += [
            here.eq(self.write_en & (self.write_addr == self.watched)),
            self.read_data.eq(Mux(self.known, self.shown, self.other)),
        ]
        with m.If(here):
            m.d.sync += self.kept.eq(self.write_data)
        m.d.sync += [
            self.known.eq((self.read_addr == self.watched) & ~here),
            self.shown.eq(self.kept),
        ]
        return m


class SupplyProperty(Property):
    """Code of any place, length and form, at a memory that answers in order. One of its rows, any,
    is followed from the memory to the instructions that are made of it.

    * An instruction is made of the next word, or of the next two, and of nothing else; with what
      the memory gave for them, as sections 3.1 to 3.3 have it.
    * What was made is shown in that order, once, and stands until it is taken.
    * Bursts lie in the code, one behind the other, and the ring has space for each.
    """

    def __init__(self, beat_bytes):
        super().__init__()
        self.beat_bytes = beat_bytes

    def build(self, m):
        dut = m.submodules.dut = Prefetch(
            params={"prefetch_words": ROWS}, beat_bytes=self.beat_bytes
        )
        dut.banks = [OneRow(ROWS) for _ in range(2)]
        begin, end, words, count = (
            Signal(bits, name=name)
            for name, bits in (
                ("begin", BITS),
                ("end", BITS + 1),
                ("word_count", BITS + 2),
                ("instruction_count", BITS + 2),
            )
        )
        mode, row, low, high = (
            Signal(2, name="mode"),
            Signal(BITS, name="row"),
            Signal(33, name="low"),
            Signal(33, name="high"),
        )
        for signal in (begin, mode, count, words, row, low, high):
            self.constant(m, signal)
        self.free(
            dut.stop,
            dut.words.ready,
            dut.memory.req.ready,
            dut.memory.r.valid,
            dut.memory.r.payload.as_value(),
            *(bank.other for bank in dut.banks),
        )
        started = Signal(name="started")
        m.d.sync += started.eq(1)
        m.d.comb += [
            dut.start.eq(~started),
            dut.code.eq(begin << 3),
            dut.code_bytes.eq(words << 2),
            dut.mode.eq(mode),
            dut.count.eq(count),
            end.eq(begin + ((words + 1) >> 1)),
            *(bank.watched.eq(row) for bank in dut.banks),
            Assume((mode < 3) & (end <= 1 << BITS - 1) & (row >= begin) & (row < end)),
        ]
        # Rows that came; words used up; rows taken out of the ring.
        arrived, used, fetched = (
            Signal(BITS + 1, name="arrived"),
            Signal(BITS + 2, name="used"),
            Signal(BITS + 1, name="fetched"),
        )
        over = Signal(name="over")
        m.d.comb += [
            used.eq(words - dut._words_left),
            Cat(over, fetched).eq((begin << 1) + used + dut._holds + (dut._valid << 1)),
        ]
        self._memory(m, dut, started, begin, end, arrived, row, low, high)
        before = self._before(m, dut, started, used)
        with m.If(started):
            m.d.comb += [Assert(~over), Assert(dut._words_left <= words)]
            self._ring(m, dut, begin, end, arrived, fetched)
            self._row(m, dut, arrived, fetched, row, low, high)
            self._instructions(m, dut, before, begin, words, count, mode, row, low, high, used)
        return m

    def _memory(self, m, dut, started, begin, end, arrived, row, low, high):
        """A memory that answers what it was asked, in order, the last beat of a burst marked as
        such."""
        answer, valid = dut.memory.r.payload, dut.memory.r.valid
        whole = Signal(name="whole")
        upper = dut._half if self.beat_bytes == 4 else Const(0)
        m.d.comb += [
            whole.eq(valid & (upper if self.beat_bytes == 4 else 1)),
            Assume(~valid | started & (arrived < dut._next_row)),
            Assume(
                ~valid
                | (answer.last == (whole & ((arrived[:3] == _BURST - 1) | (arrived + 1 == end))))
            ),
        ]
        with m.If(valid & (arrived == row)):
            if self.beat_bytes == 8:
                m.d.comb += Assume(
                    (Cat(answer.data[:32], answer.error) == low)
                    & (Cat(answer.data[32:], answer.error) == high)
                )
            else:
                m.d.comb += Assume(Cat(answer.data, answer.error) == Mux(upper, high, low))
        m.d.sync += arrived.eq(Mux(started, arrived + whole, begin))

    @staticmethod
    def _before(m, dut, started, used):
        """State in the cycle before: words used up, instructions made and not taken, the two of
        them, and whether one was taken."""
        out = dut.words
        before = {
            "there": Signal(name="before_there"),
            "used": Signal.like(used, name="before_used"),
            "held": Signal(2, name="before_held"),
            "taken": Signal(name="before_taken"),
            "valid": Signal(name="before_valid"),
            "spare_valid": Signal(name="before_spare_valid"),
            "first": Signal(67, name="before_first"),
            "spare": Signal(67, name="before_spare"),
            "begun": Signal(name="before_begun"),
        }
        now = {
            "there": started,
            "used": used,
            "held": out.valid + dut._spare_valid,
            "taken": out.valid & out.ready,
            "valid": out.valid,
            "spare_valid": dut._spare_valid,
            "first": out.payload.as_value(),
            "spare": dut._spare.as_value(),
            "begun": dut._begun,
        }
        m.d.sync += [before[name].eq(now[name]) for name in before]
        return before

    @staticmethod
    def _ring(m, dut, begin, end, arrived, fetched):
        """Places of bursts and rows."""
        asked, length, ahead = dut._next_row, dut._length, Signal(BITS + 1, name="ahead")
        blocks = Signal(BITS, name="blocks")

        def until(place):  # the next end of a block of bursts' size
            return (place + (_BURST - 1)) >> 3

        m.d.comb += [
            ahead.eq(asked + Mux(dut._asking, length, 0)),
            blocks.eq(Mux(ahead > begin, until(ahead) - (fetched >> 3), 0)),
            Assert(
                (begin <= fetched)
                & (fetched <= arrived)
                & (arrived <= asked)
                & (asked <= end)
                & (ahead <= end)
            ),
            Assert(asked[BITS + 1 :] == 0),
            Assert(dut._left == (end - asked)[: BITS + 1]),
            Assert((asked[:3] == 0) | (asked == begin) | (asked == end)),
            Assert(
                ~dut._asking
                | (length != 0)
                & ((ahead[:3] == 0) | (ahead == end))
                & (length <= _BURST - asked[:3])
            ),
            Assert(blocks <= ROWS // _BURST),
            Assert(dut._room == ROWS // _BURST - blocks),
            Assert(dut._flying == Mux(arrived < asked, until(asked) - (arrived >> 3), 0)),
            Assert(dut._flying <= _FLYING),
            Assert(dut._filled == arrived[: len(dut._filled)]),
            Assert(dut._row == fetched[: len(dut._row)]),
            Assert(~dut._shown | (fetched < arrived)),
            Assert(~dut._half | (arrived < asked)),
        ]

    def _row(self, m, dut, arrived, fetched, row, low, high):
        """Where the words of the watched row are."""
        for k, (bank, value) in enumerate(zip(dut.banks, (low, high), strict=True)):
            come = (row < arrived) | (
                (row == arrived) & dut._half if k == 0 and self.beat_bytes == 4 else 0
            )
            with m.If((fetched <= row) & come):
                m.d.comb += Assert(bank.kept == value)
        with m.If(dut._shown & (fetched == row)):
            m.d.comb += [
                Assert(bank.known & (bank.shown == value))
                for bank, value in zip(dut.banks, (low, high), strict=True)
            ]
        for there, word, wide in (
            (dut._valid, dut._low, dut._low_wide),
            (dut._valid, dut._high, dut._high_wide),
            (dut._holds, dut._held, dut._held_wide),
        ):
            m.d.comb += Assert(~there | (wide == dut.is_wide(word)))
        with m.If(dut._valid & (fetched == row + 1)):
            m.d.comb += [Assert(dut._low == low), Assert(dut._high == high)]
        with m.If(dut._holds & (fetched == row + 1 + dut._valid)):
            m.d.comb += Assert(dut._held == high)

    @staticmethod
    def _instructions(m, dut, before, begin, words, count, mode, row, low, high, used):
        """Instructions that the words encode, in the order in which they are shown."""
        out = dut.words
        newest, made, size = (
            Signal(out.payload.shape(), name="newest"),
            Signal(name="made"),
            Signal(2, name="size"),
        )
        held = Signal(2, name="held_now")
        m.d.comb += [
            held.eq(out.valid + dut._spare_valid),
            made.eq(held != before["held"] - before["taken"]),
            size.eq(used - before["used"]),
            newest.eq(Mux(dut._spare_valid, dut._spare, out.payload)),
            Assert(~dut._spare_valid | out.valid),
            Assert(dut._none == (dut._words_left == 0)),
            Assert(dut._one == (dut._words_left == 1)),
            Assert(dut._last == (dut._due == 0)),
            Assert(dut._due <= count),
            Assert(dut.ended == ((dut._due == 0) & (used == words) & (held == 0))),
        ]
        with m.If(before["there"]):
            m.d.comb += [
                Assert(
                    (held == before["held"] - before["taken"])
                    | (held == before["held"] - before["taken"] + 1)
                ),
                Assert((used == before["used"]) | made & (used > before["used"]) & (size <= 2)),
                Assert(~made | before["begun"]),
                Assert(~(made & (size == 0)) | newest.beyond & ~dut._begun),
                Assert(~(made & (size != 0)) | ~newest.beyond),
            ]
            # In order: what is not taken stays, and what is in the second place comes to the first.
            with m.If(before["valid"] & ~before["taken"]):
                m.d.comb += Assert(out.valid & (out.payload.as_value() == before["first"]))
            with m.If(before["spare_valid"] & ~before["taken"]):
                m.d.comb += Assert(dut._spare_valid & (dut._spare.as_value() == before["spare"]))
            with m.If(before["spare_valid"] & before["taken"]):
                m.d.comb += Assert(out.valid & (out.payload.as_value() == before["spare"]))
            first = Signal(BITS + 2, name="first_word")
            m.d.comb += first.eq((begin << 1) + before["used"])
            for upper, word in enumerate((low, high)):
                with m.If(made & (size != 0) & (first == (row << 1) + upper)):
                    SupplyProperty._first_word(m, newest, size, mode, word)
                with m.If(made & (size == 2) & (first + 1 == (row << 1) + upper)):
                    m.d.comb += [Assert(newest.high == word[:32]), Assert(newest.error | ~word[32])]
                m.d.comb += [
                    Cover(
                        made
                        & (size == n + 1)
                        & (first + k == (row << 1) + upper)
                        & (mode == CODE_MODES["packed"])
                        & newest.high.any()
                    )
                    for n in range(2)
                    for k in range(n + 1)
                ]

    @staticmethod
    def _first_word(m, shown, size, mode, word):
        """An instruction whose first word this is."""
        code = word[:6]
        marked = (mode == CODE_MODES["packed"]) & (code > 32)
        m.d.comb += [
            Assert((size == 2) == (marked | (mode == CODE_MODES["64"]))),
            Assert(shown.long == (size == 2)),
            Assert(shown.error | ~word[32]),
            Assert(shown.low[:5] == word[:5]),
            Assert(shown.low[5] == (word[5] & ~marked)),
            Assert(shown.low[6:11] == word[6:11]),
        ]
        with m.If(size == 2):
            m.d.comb += Assert(shown.low[11:] == word[11:32])
        with m.Elif(code == 1):  # sldi
            m.d.comb += [
                Assert(shown.low[11:] == 0),
                Assert(shown.high.as_signed() == word[11:32].as_signed()),
                Assert(shown.error == word[32]),
            ]
        with m.Elif((code == 6) | (code == 7)):  # saddi, smuli
            m.d.comb += [
                Assert(shown.low[11:] == word[11:16]),
                Assert(shown.high.as_signed() == word[16:32].as_signed()),
                Assert(shown.error == word[32]),
            ]
        with m.Else():
            m.d.comb += [
                Assert(shown.low[11:] == word[11:32]),
                Assert(shown.high == 0),
                Assert(shown.error == word[32]),
            ]


@pytest.mark.parametrize("beat_bytes", (4, 8))
def test_each_word_once_and_in_order(beat_bytes, tmp_path):
    prove(SupplyProperty(beat_bytes), tmp_path, depth=3)


def test_both_words_of_a_row_are_reached(tmp_path):
    cover(SupplyProperty(8), tmp_path, depth=14)


class Hasty(SupplyProperty):
    """A wrong claim, that the proof refuses: that nothing is ever held up."""

    def build(self, m):
        super().build(m)
        # Behind the start the ring is never full: it is.
        dut = m.submodules.dut
        m.d.comb += Assert(dut._room != 0)


def test_a_wrong_claim_is_refused(tmp_path):
    with pytest.raises(ProofFailed):
        prove(Hasty(8), tmp_path, depth=3)
