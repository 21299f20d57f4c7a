# SPDX-License-Identifier: BSD-2-Clause
"""Request splitter of the SDRAM controller: divides requests into segments within one row."""

from amaranth import Cat, Module, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...parts.queues import ShiftQueue
from ..port import MAX_BEATS, RequestLayout
from .parts import SDRAMPart, find_part

__all__ = ["SegmentLayout", "SegmentSplitter"]


class SegmentLayout(data.StructLayout):
    """Segment: the beats of one request within one row.

    Members
    -------
    row, bank, column : address of the first beat
    left : number of beats less one
    write : direction
    last : the request ends with this segment
    error : the request leaves the memory: no access is made
    """

    def __init__(self, part: SDRAMPart) -> None:
        super().__init__(
            {
                "row": unsigned(part.row_bits),
                "bank": unsigned(part.bank_bits),
                "column": unsigned(part.column_bits),
                "left": unsigned(8),
                "write": 1,
                "last": 1,
                "error": 1,
            }
        )


class SegmentSplitter(wiring.Component):
    """Splits a stream of requests into segments within one row. A row holds at least 256 beats, so
    a request has at most two segments.

    Addresses count columns first, then banks, then rows: a sequential stream changes the bank with
    the row, so that the next row can be opened while this one is still in use. A request that
    leaves the memory becomes one segment with ``error``. Latency: two cycles; one segment a cycle.

    Members
    -------
    i : In(stream of RequestLayout), o : Out(stream of SegmentLayout)
    """

    def __init__(self, *, part: SDRAMPart) -> None:
        self.part = part = find_part(part)
        assert 1 << part.column_bits >= MAX_BEATS
        super().__init__(
            {
                "i": In(stream.Signature(RequestLayout())),
                "o": Out(stream.Signature(SegmentLayout(part))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        part = self.part
        shift = part.beat_bytes.bit_length() - 1
        place_bits = part.bank_bits + part.row_bits

        queue = m.submodules.queue = ShiftQueue(shape=SegmentLayout(part), depth=2)

        asked = self.i.payload
        column = asked.address[shift:][: part.column_bits]
        place = asked.address[shift + part.column_bits :][:place_bits]  # bank and row
        beyond = asked.address[shift + part.column_bits + place_bits :]

        # First stage: everything that takes an adder. `first` is the segment to give next.
        valid, second = Signal(), Signal()
        first = Signal(SegmentLayout(part))
        crosses, outside, at_end = Signal(), Signal(), Signal()
        beats, end = Signal(8), Signal(part.column_bits + 1)
        next_place = Signal(place_bits)
        m.d.comb += end.eq(column + asked.beats)
        remaining = Signal(8)
        m.d.comb += self.i.ready.eq(
            ~valid | (queue.i.ready & (second | ~crosses | outside | at_end))
        )
        with m.If(self.i.ready):
            m.d.sync += [
                valid.eq(self.i.valid),
                second.eq(0),
                crosses.eq(end[-1]),
                outside.eq(beyond.any()),
                at_end.eq(end[-1] & place.all()),
                beats.eq(asked.beats),
                remaining.eq(end[:8]),
                next_place.eq(place + 1),
                Cat(first.bank, first.row).eq(place),
                first.column.eq(column),
                first.write.eq(asked.write),
            ]
        with m.Elif(queue.i.ready):
            m.d.sync += [
                second.eq(1),
                Cat(first.bank, first.row).eq(next_place),
                first.column.eq(0),
            ]

        m.d.comb += [
            queue.i.valid.eq(valid),
            queue.i.payload.eq(first),
            queue.i.payload.error.eq(outside | at_end),
            queue.i.payload.left.eq(beats),
            queue.i.payload.last.eq(second | ~crosses | outside | at_end),
        ]
        with m.If(crosses & ~outside & ~at_end):
            # The row has 2^column_bits - column beats left: its low bits, less one, are the column
            # inverted.
            m.d.comb += queue.i.payload.left.eq((~first.column)[:8])
            with m.If(second):
                m.d.comb += queue.i.payload.left.eq(remaining)
        wiring.connect(m, queue.o, wiring.flipped(self.o))
        return m
