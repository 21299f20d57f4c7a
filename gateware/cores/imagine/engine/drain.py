# SPDX-License-Identifier: BSD-2-Clause
"""Output DMA: writes the output FIFO to main memory (specification, sections 4, 6 and 7)."""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out

from ....memory.port import RequestLayout, WriteLayout
from .dispatch import ItemLayout, Kind, place_parts

__all__ = ["Drain"]

#: Words of a burst at most.
_BURST = 64


class _State(enum.Enum):
    LOOK = 0
    ASK = 1
    DATA = 2
    ANSWER = 3


class Drain(wiring.Component):
    """Output DMA: writes the words of shift-outs to consecutive addresses, in bursts of a vector or
    64 words, one burst at a time.

    The array's side never holds back a vector that it has begun but for an abort, so a burst is
    requested with its first word; after an abort the remaining beats are written with mask 0.

    Parameters
    ----------
    rows, width : int
        Words of a vector; bits of a register, extended to 16.
    beat_bytes : int
    address_bits : int
        Width of main memory's addresses.
    parts : int
        Entries that the number of a word takes; else as many as ``address_bits`` need.

    Members
    -------
    start : In(1), level: a run begins, and no item comes yet; address : In(address_bits), of the
        first word, a multiple of 4
    stop : In(1), level: received data are dropped, up to the end
    items : In(stream of ItemLayout)
    request : Out(stream of RequestLayout), beats : Out(stream of WriteLayout), answer : In(stream)
    ended : Out(1), the end has come, and every write was answered
    at : Out(address_bits), address of the next word; where ``failed``, of the burst that failed
    failed : Out(1), the memory answered a write with an error,
        and nothing is written any more; failed_place : Out(address_bits - 2), number of the
        ``vv_parallelEn`` among the program's words; known when ``ended``
    words, vectors : Out(address_bits - 2), in memory; written : Out(1),
        a word was handed to the memory; vector : Out(1), one is in memory
    """

    def __init__(
        self,
        *,
        rows: int,
        width: int,
        beat_bytes: int,
        address_bits: int = 32,
        parts: int | None = None,
    ) -> None:
        self.rows, self.width, self.beat_bytes, self._bits = rows, width, beat_bytes, address_bits
        self._parts = parts or place_parts(address_bits)
        super().__init__(
            {
                "start": In(1),
                "address": In(address_bits),
                "stop": In(1),
                "items": In(stream.Signature(ItemLayout())),
                "request": Out(stream.Signature(RequestLayout())),
                "beats": Out(stream.Signature(WriteLayout(beat_bytes))),
                "answer": In(stream.Signature(data.StructLayout({"error": 1}))),
                "ended": Out(1),
                "at": Out(address_bits),
                "failed": Out(1),
                "failed_place": Out(address_bits - 2),
                "words": Out(address_bits - 2),
                "vectors": Out(address_bits - 2),
                "written": Out(1),
                "vector": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        size, rows, items = self.beat_bytes, self.rows, self.items
        item = items.payload
        state = Signal(_State)
        at, left = self.at, Signal(range(rows + 1))
        drops = Signal()
        burst, count = Signal(range(_BURST + 1)), Signal(range(_BURST + 1))
        most = _BURST if size <= 4 else 1
        whole, ends, placing, half = Signal(), Signal(), Signal(), Signal()
        is_word = items.valid & ((item.kind == Kind.WORD) | (item.kind == Kind.LAST))
        cut = items.valid & (item.kind == Kind.END) | drops & items.valid & (
            item.kind == Kind.PLACE
        )
        shift = max(2, size.bit_length() - 1)
        m.d.comb += [
            drops.eq(self.stop | self.failed),
            self.request.valid.eq(state == _State.ASK),
            self.request.payload.write.eq(1),
            self.request.payload.address.eq(Cat(Const(0, shift), at[shift:])),
            self.answer.ready.eq(1),
            self.request.payload.beats.eq(
                (count << 2 >> (size.bit_length() - 1)) - 1 if size <= 4 else 0
            ),
        ]
        # Beats of a word, low half first
        parts = max(1, 4 // size)
        part = Signal(range(max(2, parts)))
        value = Cat(
            item.value[: self.width],
            item.value[self.width - 1].replicate(16 - self.width),
            Const(0, 8),
            Const(1, 1),
            item.kind == Kind.LAST,
            Const(0, 6),
        )
        last_part = Signal()
        m.d.comb += last_part.eq(part == parts - 1)
        if size < 4:
            m.d.comb += self.beats.payload.data.eq(value.word_select(part, 8 * size))
        else:
            m.d.comb += self.beats.payload.data.eq(Cat(value for _ in range(size // 4)))
        mask = Const(0xF, size) << (at[2:shift] << 2) if size > 4 else Const(-1, size)
        with m.Switch(state):
            with m.Case(_State.LOOK):
                with m.If(items.valid & ((item.kind == Kind.PLACE) | is_word & drops)):
                    m.d.comb += items.ready.eq(1)
                    with m.If(item.kind == Kind.PLACE):
                        # The first failure's own place is the next that comes.
                        if self._parts > 1:
                            m.d.sync += half.eq(~half)
                        with m.If(placing):
                            with m.If(half | (self._parts == 1)):
                                m.d.sync += placing.eq(0)
                            with m.If(half):
                                m.d.sync += self.failed_place[16:].eq(item.value)
                            with m.Else():
                                m.d.sync += self.failed_place[:16].eq(item.value)
                with m.Elif(is_word):
                    m.d.sync += [state.eq(_State.ASK), count.eq(Mux(left > most, most, left))]
            with m.Case(_State.ASK):
                with m.If(self.request.ready):
                    m.d.sync += [
                        state.eq(_State.DATA),
                        burst.eq(count),
                        part.eq(0),
                        whole.eq(1),
                        ends.eq(0),
                    ]
            with m.Case(_State.DATA):
                m.d.comb += [
                    self.beats.valid.eq(is_word | cut),
                    self.beats.payload.mask.eq(Mux(cut, 0, mask)),
                ]
                with m.If(self.beats.valid & self.beats.ready):
                    m.d.sync += [part.eq(Mux(last_part, 0, part + 1)), whole.eq(whole & ~cut)]
                    with m.If(last_part):
                        m.d.comb += [items.ready.eq(is_word), self.written.eq(is_word)]
                        m.d.sync += [burst.eq(burst - 1), ends.eq(item.kind == Kind.LAST)]
                        with m.If(burst == 1):
                            m.d.sync += state.eq(_State.ANSWER)
            with m.Case(_State.ANSWER):
                with m.If(self.answer.valid):
                    m.d.sync += [
                        state.eq(_State.LOOK),
                        left.eq(Mux(left == count, rows, left - count)),
                    ]
                    with m.If(self.answer.payload.error):
                        m.d.sync += [self.failed.eq(1), placing.eq(1)]
                    with m.Else():
                        m.d.sync += at.eq(at + (count << 2))
                    with m.If(~self.answer.payload.error & whole):
                        m.d.sync += [
                            self.words.eq(self.words + count),
                            self.vectors.eq(self.vectors + ends),
                        ]
                        m.d.comb += self.vector.eq(ends)
        m.d.comb += self.ended.eq((state == _State.LOOK) & items.valid & (item.kind == Kind.END))
        with m.If(self.ended):
            m.d.comb += items.ready.eq(1)
        with m.If(self.start):
            m.d.sync += [
                at.eq(self.address),
                left.eq(rows),
                self.failed.eq(0),
                placing.eq(0),
                half.eq(0),
                self.words.eq(0),
                self.vectors.eq(0),
            ]
        return m
