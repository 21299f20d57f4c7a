# SPDX-License-Identifier: BSD-2-Clause
"""Between main memory and rows: the reader behind RHM and RW, the writer behind WHM."""
from amaranth import Cat, Module, Mux, ResetInserter, Signal
from amaranth.lib import fifo, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from ...memory.port import MAX_BEATS, MemoryPort

__all__ = ["RowReader", "RowWriter", "burst_rows"]


def burst_rows(row_bytes, beat_bytes, goal):
    """Rows of one burst: a power of two, about ``goal`` bytes, and no more beats than a request may have."""
    rows = max(1, min(goal // row_bytes, MAX_BEATS * beat_bytes // row_bytes))
    return 1 << (rows.bit_length() - 1)


class RowReader(wiring.Component):
    """Reads consecutive rows of ``row_bytes`` bytes in requests of up to 256 bytes, ``flight`` of them outstanding.

    Parameters
    ----------
    row_bytes, beat_bytes : int; the first a multiple of the second
    most_rows : int, rows of the longest transfer
    tag_bits : int, width of what is kept with every transfer
    flight : 1 or 2

    Members
    -------
    start : In, one cycle, not while ``asking``: ``address`` (beat-aligned), ``rows`` (number less one), ``tag``
    asking : Out, requests of the last start are still to be made
    answering : Out, answers are still to come
    stop : In, level: no further requests
    valid, data, ready : Out, Out, In: a row has come
    error : Out, with a row: the memory reported an error for one of its beats; ``error_address`` is the request's
    answer_tag : Out, tag of the transfer the row belongs to
    """
    def __init__(self, *, row_bytes, beat_bytes, most_rows, tag_bits, flight):
        self.row_bytes, self.beat_bytes, self.most_rows, self.flight = row_bytes, beat_bytes, most_rows, flight
        super().__init__({
            "start": In(1), "address": In(32), "rows": In(ceil_log2(most_rows)), "tag": In(tag_bits),
            "asking": Out(1), "answering": Out(1), "stop": In(1),
            "valid": Out(1), "data": Out(8 * row_bytes), "ready": In(1), "error": Out(1),
            "error_address": Out(32), "answer_tag": Out(tag_bits), "memory": Out(MemoryPort(beat_bytes)),
        })

    def elaborate(self, platform):
        m = Module()
        port = self.memory
        per_row = self.row_bytes // self.beat_bytes
        burst = burst_rows(self.row_bytes, self.beat_bytes, 256)
        rows_left = Signal(ceil_log2(self.most_rows) + 1)
        address = Signal(32, reset_less=True)
        tag = Signal.like(self.tag, reset_less=True)
        outstanding = Signal(range(self.flight + 1))
        asked, closes, offering = Signal(), Signal(), Signal()
        beats = Signal(8, reset_less=True)
        final = rows_left <= burst
        short = rows_left[:ceil_log2(burst) + 1]
        m.d.comb += [
            self.asking.eq(rows_left != 0),
            self.answering.eq((outstanding != 0) | self.valid),
            port.req.valid.eq(offering),
            port.req.payload.address.eq(address),
            port.req.payload.beats.eq(beats),
            asked.eq(offering & port.req.ready),
        ]
        with m.If(~offering):
            m.d.sync += beats.eq(Mux(final, short * per_row, burst * per_row) - 1)
        with m.If(offering):
            m.d.sync += offering.eq(~port.req.ready)
        with m.Elif(self.asking & ~self.stop & (outstanding != self.flight)):
            m.d.sync += offering.eq(1)
        with m.If(asked):
            m.d.sync += rows_left.eq(Mux(final, 0, rows_left - burst))
        with m.Elif(self.stop & ~offering):
            m.d.sync += rows_left.eq(0)
        with m.If(self.start):
            m.d.sync += [rows_left.eq(self.rows + 1), tag.eq(self.tag)]
        m.d.sync += outstanding.eq(outstanding + asked - closes)

        # Address and tag of the request that is being answered.
        origin = Signal(32 + len(tag))
        if self.flight == 1:
            with m.If(closes):
                m.d.sync += address.eq(address + burst * self.row_bytes)
            m.d.comb += origin.eq(Cat(address, tag))
        else:
            with m.If(asked):
                m.d.sync += address.eq(address + burst * self.row_bytes)
            first = Signal(32 + len(tag), reset_less=True)
            second = Signal.like(first)
            with m.If(asked):
                m.d.sync += second.eq(Cat(address, tag))
            with m.If(asked & (outstanding == closes)):
                m.d.sync += first.eq(Cat(address, tag))
            with m.Elif(closes):
                m.d.sync += first.eq(second)
            m.d.comb += origin.eq(first)
        with m.If(self.start):
            m.d.sync += address.eq(self.address)

        # Rows of beats. Nobody waits for a row that was stopped: the user takes everything.
        m.d.comb += closes.eq(port.r.valid & port.r.ready & port.r.payload.last)
        if per_row == 1:
            m.d.comb += [
                self.valid.eq(port.r.valid), port.r.ready.eq(self.ready), self.data.eq(port.r.payload.data),
                self.error.eq(port.r.payload.error), Cat(self.error_address, self.answer_tag).eq(origin),
            ]
        else:
            # Beats are collected, and a whole row put into a register: whether a beat is taken depends on registers alone.
            held = Signal(8 * (self.row_bytes - self.beat_bytes), reset_less=True)
            row, full, wrong = Signal(8 * self.row_bytes, reset_less=True), Signal(), Signal()
            source = Signal(len(self.error_address) + len(tag), reset_less=True)
            bad = Signal()
            beat = Signal(range(per_row))
            complete = Signal()
            m.d.comb += [
                self.valid.eq(full), self.data.eq(row), self.error.eq(wrong),
                port.r.ready.eq(~(complete & full)),
                Cat(self.error_address, self.answer_tag).eq(source),
            ]
            with m.If(self.ready):
                m.d.sync += full.eq(0)
            with m.If(port.r.valid & port.r.ready):
                whole = Cat(held, port.r.payload.data)
                m.d.sync += [
                    held.eq(whole[8 * self.beat_bytes:]), beat.eq(beat + 1), complete.eq(beat == per_row - 2),
                    bad.eq(bad | port.r.payload.error),
                ]
                with m.If(complete):
                    m.d.sync += [
                        row.eq(whole), full.eq(1), wrong.eq(bad | port.r.payload.error), source.eq(origin),
                        beat.eq(0), bad.eq(0),
                    ]
        return m


class RowWriter(wiring.Component):
    """Writes consecutive rows in bursts of about 128 bytes; a burst is asked for when all its rows are there.

    Parameters
    ----------
    row_bytes, beat_bytes : int; the first a multiple of the second
    flight : int, write requests that may be unacknowledged

    Members
    -------
    start : In, one cycle, while ``ready``: ``address`` (beat-aligned), ``rows`` (number less one, 8 bits)
    ready : Out, every burst of the last start was asked for, and those of the start before are acknowledged
    permit : In, level: writes may be asked for
    kill : In, level: rows not yet asked for are dropped
    room : Out, a row may be reserved; ``reserve`` : In, a row will be pushed
    push, data : In
    clear : In, one cycle, while not ``busy``: forget rows that were pushed and killed
    busy : Out, until every write was acknowledged; ``earlier``: writes of the start before the last are not
    row_done : Out, one cycle for every row handed to the memory
    error : Out, a write failed; ``error_address`` is the request's. ``error_ready`` : In: it was noted
    """
    def __init__(self, *, row_bytes, beat_bytes, flight):
        self.row_bytes, self.beat_bytes, self.flight = row_bytes, beat_bytes, flight
        self.burst = burst_rows(row_bytes, beat_bytes, 128)
        super().__init__({
            "start": In(1), "address": In(32), "rows": In(8), "permit": In(1), "kill": In(1),
            "clear": In(1), "ready": Out(1), "earlier": Out(1), "room": Out(1), "reserve": In(1), "push": In(1), "data": In(8 * row_bytes),
            "busy": Out(1), "row_done": Out(1), "error": Out(1), "error_ready": In(1), "error_address": Out(32),
            "memory": Out(MemoryPort(beat_bytes)),
        })

    def elaborate(self, platform):
        m = Module()
        port, burst = self.memory, self.burst
        per_row = self.row_bytes // self.beat_bytes
        depth = max(2 * burst, 8)
        m.submodules.rows = rows = ResetInserter(self.clear)(fifo.SyncFIFOBuffered(width=8 * self.row_bytes, depth=depth))
        held = Signal(range(depth + 1))                 # reserved or in the buffer
        taken = Signal()
        m.d.comb += [self.room.eq(held != depth), rows.w_en.eq(self.push), rows.w_data.eq(self.data)]
        m.d.sync += held.eq(held + self.reserve - taken)

        # Requests
        rows_left = Signal(9)                           # not yet asked for
        waiting = Signal(range(depth + 1))              # in the buffer, not yet asked for
        owed = Signal(range(2 * depth + 1))             # asked for, not yet handed over
        unanswered = Signal(range(self.flight + 1))
        address = Signal(32, reset_less=True)
        offering, asked = Signal(), Signal()
        final = rows_left <= burst
        number = Signal(range(burst + 1))
        beats = Signal(8, reset_less=True)
        with m.If(~offering):
            m.d.sync += beats.eq(number * per_row - 1)
        m.d.comb += [
            number.eq(Mux(final, rows_left, burst)),
            port.req.valid.eq(offering), port.req.payload.write.eq(1), port.req.payload.address.eq(address),
            port.req.payload.beats.eq(beats),
            asked.eq(offering & port.req.ready),
            self.busy.eq((rows_left != 0) | (owed != 0) | (unanswered != 0)),
        ]
        with m.If(offering):
            m.d.sync += offering.eq(~port.req.ready)
        with m.Elif((rows_left != 0) & (waiting >= number) & self.permit & ~self.kill & (unanswered != self.flight)):
            m.d.sync += offering.eq(1)
        m.d.sync += waiting.eq(waiting + self.push - Mux(asked, number, 0))
        m.d.sync += owed.eq(owed + Mux(asked, number, 0) - self.row_done)
        with m.If(asked):
            m.d.sync += rows_left.eq(Mux(final, 0, rows_left - burst))
        with m.Elif(self.kill & ~offering):
            m.d.sync += rows_left.eq(0)
        acked = Signal()
        m.d.comb += [
            port.ack.ready.eq(~port.ack.payload.error | self.error_ready), acked.eq(port.ack.valid & port.ack.ready),
            self.error.eq(port.ack.valid & port.ack.payload.error),
        ]
        m.d.sync += unanswered.eq(unanswered + asked - acked)
        m.d.comb += self.ready.eq((rows_left == 0) & ~offering & ~self.earlier)
        if self.flight == 1:
            m.d.comb += self.error_address.eq(address)
            with m.If(acked):
                m.d.sync += address.eq(address + burst * self.row_bytes)
        else:
            origin, first = Signal(32, reset_less=True), Signal(32, reset_less=True)
            older = Signal.like(unanswered)
            m.d.comb += [self.error_address.eq(origin), self.earlier.eq(older != 0)]
            with m.If(acked):
                m.d.sync += [origin.eq(Mux(older == 1, first, origin + burst * self.row_bytes)), older.eq(older - self.earlier)]
            with m.If(asked):
                m.d.sync += address.eq(address + burst * self.row_bytes)
            with m.If(self.start):
                m.d.sync += [first.eq(self.address), older.eq(unanswered - acked)]
                with m.If(unanswered == acked):
                    m.d.sync += origin.eq(self.address)
        with m.If(self.start):
            m.d.sync += [address.eq(self.address), rows_left.eq(self.rows + 1)]
        with m.If(self.clear):
            m.d.sync += [held.eq(0), waiting.eq(0)]

        # Beats
        m.d.comb += port.w.payload.mask.eq((1 << self.beat_bytes) - 1)
        sent = port.w.valid & port.w.ready
        if per_row == 1:
            m.d.comb += [
                port.w.valid.eq(rows.r_rdy & (owed != 0)), port.w.payload.data.eq(rows.r_data), rows.r_en.eq(sent),
                taken.eq(sent), self.row_done.eq(sent),
            ]
        else:
            shifter = Signal(8 * self.row_bytes, reset_less=True)
            beats_left = Signal(range(per_row + 1))     # in the shifter
            m.d.comb += [
                port.w.valid.eq(beats_left != 0), port.w.payload.data.eq(shifter[:8 * self.beat_bytes]),
                self.row_done.eq(sent & (beats_left == 1)),
                # The row in the shifter is still owed when the next one is looked at.
                taken.eq(rows.r_rdy & ((beats_left == 0) & (owed != 0) | self.row_done & (owed > 1))),
                rows.r_en.eq(taken),
            ]
            with m.If(sent):
                m.d.sync += [shifter.eq(shifter >> 8 * self.beat_bytes), beats_left.eq(beats_left - 1)]
            with m.If(taken):
                m.d.sync += [shifter.eq(rows.r_data), beats_left.eq(per_row)]
        return m
