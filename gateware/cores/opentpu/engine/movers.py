# SPDX-License-Identifier: BSD-2-Clause
"""Row DMA: the reader for RHM and RW, and the writer for WHM."""

from amaranth import Cat, Module, Mux, ResetInserter, Signal
from amaranth.lib import fifo, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from ....memory.port import MAX_BEATS, MemoryPort

__all__ = ["RowReader", "RowWriter", "burst_rows"]


def burst_rows(row_bytes: int, beat_bytes: int, goal: int) -> int:
    """Number of rows in one burst: a power of two of about ``goal`` bytes, with no more beats than
    a request may have."""
    rows = max(1, min(goal // row_bytes, MAX_BEATS * beat_bytes // row_bytes))
    return 1 << (rows.bit_length() - 1)


class RowReader(wiring.Component):
    """Row reader: reads consecutive rows of ``row_bytes`` bytes in requests of up to 256 bytes,
    with ``flight`` requests outstanding.

    Parameters
    ----------
    row_bytes, beat_bytes : int; the first a multiple of the second
    most_rows : int, rows of the longest transfer
    tag_bits : int, width of what is kept with every transfer
    flight : 1 or 2

    Members
    -------
    start : In, one cycle, not while ``asking``: ``address`` (beat-aligned),
        ``rows`` (number less one), ``tag``
    asking : Out, requests of the last start are still to be offered
    answering : Out, answers are still to come
    stop : In, level: no further requests
    valid, data, ready : Out, Out, In: a row has come
    error : Out, with a row: the memory reported an error for one of its beats;
        ``error_address`` is the request's
    answer_tag : Out, tag of the transfer the row belongs to
    """

    def __init__(
        self, *, row_bytes: int, beat_bytes: int, most_rows: int, tag_bits: int, flight: int
    ) -> None:
        self.row_bytes, self.beat_bytes, self.most_rows, self.flight = (
            row_bytes,
            beat_bytes,
            most_rows,
            flight,
        )
        super().__init__(
            {
                "start": In(1),
                "address": In(32),
                "rows": In(ceil_log2(most_rows)),
                "tag": In(tag_bits),
                "asking": Out(1),
                "answering": Out(1),
                "stop": In(1),
                "valid": Out(1),
                "data": Out(8 * row_bytes),
                "ready": In(1),
                "error": Out(1),
                "error_address": Out(32),
                "answer_tag": Out(tag_bits),
                "memory": Out(MemoryPort(beat_bytes)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        port = self.memory
        per_row = self.row_bytes // self.beat_bytes
        burst = burst_rows(self.row_bytes, self.beat_bytes, 256)
        rows_left = Signal(ceil_log2(self.most_rows) + 1)
        address, tag = Signal(32, reset_less=True), Signal.like(self.tag, reset_less=True)
        # Requests of the last start that were not yet answered in full, the one on offer among
        # them.
        outstanding = Signal(range(self.flight + 1))
        closes, armed, offer = Signal(), Signal(), Signal()
        final = rows_left <= burst
        short = rows_left[: ceil_log2(burst) + 1]

        # The request on offer stands in registers of its own: whether it is taken reaches no
        # further than their valid bit. That the next one may be made is said a cycle before.
        offered_tag = Signal.like(tag, reset_less=True)
        m.d.comb += [
            self.asking.eq(rows_left != 0),
            self.answering.eq((outstanding != 0) | self.valid),
            offer.eq(armed & ~self.stop),
        ]
        m.d.sync += armed.eq(self.asking & ~armed & ~port.req.valid & (outstanding != self.flight))
        with m.If(port.req.ready):
            m.d.sync += port.req.valid.eq(0)
        with m.If(offer):
            m.d.sync += [
                port.req.valid.eq(1),
                port.req.payload.address.eq(address),
                offered_tag.eq(tag),
                port.req.payload.beats.eq(Mux(final, short * per_row, burst * per_row) - 1),
                address.eq(address + burst * self.row_bytes),
                rows_left.eq(Mux(final, 0, rows_left - burst)),
            ]
        with m.If(self.stop):
            m.d.sync += rows_left.eq(0)
        with m.If(self.start):
            m.d.sync += [rows_left.eq(self.rows + 1), address.eq(self.address), tag.eq(self.tag)]
        m.d.sync += outstanding.eq(outstanding + offer - closes)

        # Address and tag of the request that is being answered: the last one offered, or of two the
        # first.
        latest = Cat(port.req.payload.address, offered_tag)
        origin = Signal(32 + len(tag))
        if self.flight == 1:
            m.d.comb += origin.eq(latest)
        else:
            first = Signal(32 + len(tag), reset_less=True)
            with m.If(offer & (outstanding == closes)):
                m.d.sync += first.eq(Cat(address, tag))
            with m.Elif(closes):
                m.d.sync += first.eq(latest)
            m.d.comb += origin.eq(first)

        # Rows of beats. Nobody waits for a row that was stopped: the user takes everything.
        ends = port.r.valid & port.r.ready & port.r.payload.last
        if per_row == 1:
            m.d.comb += [
                closes.eq(ends),
                self.valid.eq(port.r.valid),
                port.r.ready.eq(self.ready),
                self.data.eq(port.r.payload.data),
                self.error.eq(port.r.payload.error),
                Cat(self.error_address, self.answer_tag).eq(origin),
            ]
        else:
            # Beats are collected, and a whole row put into a register: whether a beat is taken
            # depends on registers alone.
            held = Signal(8 * (self.row_bytes - self.beat_bytes), reset_less=True)
            row, full, wrong = Signal(8 * self.row_bytes, reset_less=True), Signal(), Signal()
            source = Signal(len(self.error_address) + len(tag), reset_less=True)
            bad = Signal()
            beat = Signal(range(per_row))
            complete = Signal()
            # (a cycle late: no row of the next request is complete by then)
            m.d.sync += closes.eq(ends)
            m.d.comb += [
                self.valid.eq(full),
                self.data.eq(row),
                self.error.eq(wrong),
                port.r.ready.eq(~(complete & full)),
                Cat(self.error_address, self.answer_tag).eq(source),
            ]
            with m.If(self.ready):
                m.d.sync += full.eq(0)
            with m.If(~full):
                # (with every beat: whether it is the row's last one is known late, and meant by
                # ``full``)
                m.d.sync += [
                    row.eq(Cat(held, port.r.payload.data)),
                    wrong.eq(bad | port.r.payload.error),
                    source.eq(origin),
                ]
            with m.If(port.r.valid & port.r.ready):
                whole = Cat(held, port.r.payload.data)
                m.d.sync += [
                    held.eq(whole[8 * self.beat_bytes :]),
                    beat.eq(beat + 1),
                    complete.eq(beat == per_row - 2),
                    bad.eq(bad | port.r.payload.error),
                ]
                with m.If(complete):
                    m.d.sync += [full.eq(1), beat.eq(0), bad.eq(0)]
        return m


class RowWriter(wiring.Component):
    """Row writer: writes consecutive rows in bursts of about 128 bytes; a burst is requested once
    all its rows are buffered.

    Parameters
    ----------
    row_bytes, beat_bytes : int; the first a multiple of the second
    flight : int, write requests that may be unacknowledged

    Members
    -------
    start : In, one cycle, while ``ready``: ``address`` (beat-aligned),
        ``rows`` (number less one, 8 bits)
    ready : Out, every burst of the last start was asked for,
        and those of the start before are acknowledged
    permit : In, level: writes may be asked for
    kill : In, level: rows not yet asked for are dropped
    space : Out, a row may be reserved; ``reserve`` : In, a row will be pushed
    push, data : In
    clear : In, one cycle, while not ``busy``: forget rows that were pushed and killed
    busy : Out, until every write was acknowledged; ``earlier``:
        writes of the start before the last are not
    row_done : Out, one cycle for every row handed to the memory
    error : Out, a write failed; ``error_address`` is the request's. ``error_ready`` : In:
        it was noted
    """

    def __init__(self, *, row_bytes: int, beat_bytes: int, flight: int) -> None:
        self.row_bytes, self.beat_bytes, self.flight = row_bytes, beat_bytes, flight
        self.burst = burst_rows(row_bytes, beat_bytes, 128)
        super().__init__(
            {
                "start": In(1),
                "address": In(32),
                "rows": In(8),
                "permit": In(1),
                "kill": In(1),
                "clear": In(1),
                "ready": Out(1),
                "earlier": Out(1),
                "space": Out(1),
                "reserve": In(1),
                "push": In(1),
                "data": In(8 * row_bytes),
                "busy": Out(1),
                "row_done": Out(1),
                "error": Out(1),
                "error_ready": In(1),
                "error_address": Out(32),
                "memory": Out(MemoryPort(beat_bytes)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        port, burst = self.memory, self.burst
        per_row = self.row_bytes // self.beat_bytes
        depth = max(2 * burst, 8)
        m.submodules.rows = rows = ResetInserter(self.clear)(
            fifo.SyncFIFOBuffered(width=8 * self.row_bytes, depth=depth)
        )
        # (reserved a cycle ago, for the sake of the one who grants it; hence one place less)
        held = Signal(range(depth + 1))  # reserved or in the buffer
        reserved, taken, left = Signal(), Signal(), Signal()
        m.d.comb += [
            self.space.eq(held < depth - 1),
            rows.w_en.eq(self.push),
            rows.w_data.eq(self.data),
        ]
        m.d.sync += [reserved.eq(self.reserve), left.eq(taken), held.eq(held + reserved - left)]

        # Requests: the one on offer in registers of its own. How many rows the next one has, and
        # whether they are there, is looked at in two cycles; nothing is offered until that holds
        # again.
        rows_left = Signal(9)  # not yet asked for
        waiting = Signal(range(depth + 1))  # in the buffer, not yet asked for
        owed = Signal(range(2 * depth + 1))  # asked for, not yet on their way out
        unanswered = Signal(range(self.flight + 1))
        address = Signal(32, reset_less=True)
        offer, leaving, enough = Signal(), Signal(), Signal()
        number = Signal(range(burst + 1))
        changed, settling = Signal(), Signal()
        m.d.comb += changed.eq(offer | self.start | self.clear)
        m.d.sync += [
            settling.eq(changed),
            number.eq(Mux(rows_left <= burst, rows_left, burst)),
            enough.eq(
                (number != 0)
                & (waiting >= number)
                & (unanswered != self.flight)
                & ~settling
                & ~changed
            ),
        ]
        m.d.comb += [
            port.req.payload.write.eq(1),
            offer.eq(enough & self.permit & ~self.kill & ~port.req.valid),
            self.busy.eq((rows_left != 0) | (owed != 0) | (unanswered != 0)),
        ]
        with m.If(port.req.ready):
            m.d.sync += port.req.valid.eq(0)
        with m.If(offer):
            m.d.sync += [
                port.req.valid.eq(1),
                port.req.payload.address.eq(address),
                port.req.payload.beats.eq(number * per_row - 1),
                address.eq(address + burst * self.row_bytes),
                rows_left.eq(rows_left - number),
            ]
        with m.If(self.kill):
            m.d.sync += rows_left.eq(0)
        m.d.sync += [
            waiting.eq(waiting + self.push - Mux(offer, number, 0)),
            owed.eq(owed + Mux(offer, number, 0) - leaving),
        ]
        acked = Signal()
        m.d.comb += [
            port.ack.ready.eq(~port.ack.payload.error | self.error_ready),
            acked.eq(port.ack.valid & port.ack.ready),
            self.error.eq(port.ack.valid & port.ack.payload.error),
        ]
        m.d.sync += unanswered.eq(unanswered + offer - acked)
        m.d.comb += self.ready.eq((rows_left == 0) & ~self.earlier)
        if self.flight == 1:
            m.d.comb += self.error_address.eq(port.req.payload.address)
        else:
            origin, first = Signal(32, reset_less=True), Signal(32, reset_less=True)
            older = Signal.like(unanswered)
            m.d.comb += [self.error_address.eq(origin), self.earlier.eq(older != 0)]
            with m.If(acked):
                m.d.sync += [
                    origin.eq(Mux(older == 1, first, origin + burst * self.row_bytes)),
                    older.eq(older - self.earlier),
                ]
            with m.If(self.start):
                m.d.sync += [first.eq(self.address), older.eq(unanswered - acked)]
                with m.If(unanswered == acked):
                    m.d.sync += origin.eq(self.address)
        with m.If(self.start):
            m.d.sync += [address.eq(self.address), rows_left.eq(self.rows + 1)]
        with m.If(self.clear):
            m.d.sync += [held.eq(0), reserved.eq(0), left.eq(0), waiting.eq(0)]

        # Beats
        m.d.comb += port.w.payload.mask.eq((1 << self.beat_bytes) - 1)
        sent = port.w.valid & port.w.ready
        if per_row == 1:
            m.d.comb += [
                port.w.valid.eq(rows.r_rdy & (owed != 0)),
                port.w.payload.data.eq(rows.r_data),
                rows.r_en.eq(sent),
                taken.eq(sent),
                leaving.eq(sent),
                self.row_done.eq(sent),
            ]
        else:
            # A row waits behind the shifter, so that what the memory takes does not reach the
            # buffer.
            following, ready = Signal(8 * self.row_bytes, reset_less=True), Signal()
            shifter = Signal(8 * self.row_bytes, reset_less=True)
            beats_left = Signal(range(per_row + 1))  # in the shifter
            m.d.comb += [
                port.w.valid.eq(beats_left != 0),
                port.w.payload.data.eq(shifter[: 8 * self.beat_bytes]),
                self.row_done.eq(sent & (beats_left == 1)),
                taken.eq(rows.r_rdy & ~ready),
                rows.r_en.eq(taken),
                leaving.eq(ready & (owed != 0) & ((beats_left == 0) | self.row_done)),
            ]
            with m.If(sent):
                m.d.sync += [
                    shifter.eq(shifter >> 8 * self.beat_bytes),
                    beats_left.eq(beats_left - 1),
                ]
            with m.If(leaving):
                m.d.sync += [shifter.eq(following), beats_left.eq(per_row), ready.eq(0)]
            with m.If(taken):
                m.d.sync += [following.eq(rows.r_data), ready.eq(1)]
            with m.If(self.clear):
                m.d.sync += ready.eq(0)
        return m
