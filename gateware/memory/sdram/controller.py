# SPDX-License-Identifier: BSD-2-Clause
"""SDR SDRAM controller: open rows, one command a cycle."""
from amaranth import Array, Cat, Module, Mux, Signal, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ...parts.queues import ShiftQueue, StreamBuffer
from ..port import MemoryPort
from .answers import AnswerQueue
from .parts import find_part
from .phy import SDRAMPins
from .refresh import RefreshSequencer, RefreshTimer
from .splitter import SegmentLayout, SegmentSplitter

__all__ = ["SDRAMController"]

# Levels of we_n, cas_n, ras_n (low bit first).
NOP, ACTIVATE, READ, WRITE, PRECHARGE = 0b111, 0b011, 0b101, 0b100, 0b010


class SDRAMController(wiring.Component):
    """Memory port in front of an SDR SDRAM of 16 or 32 bits; a beat is as wide as the chip.

    Every beat is a command of its own (the chip's burst length is 1), so that bursts of any length and any write masks
    run at one beat a cycle, and a port may stall at any beat. Rows stay open. While one segment (the part of a request
    in one row) is read or written, the rows of the next two are opened, in whatever cycles it takes: each costs the
    stream one cycle for PRECHARGE and one for ACTIVATE, and nothing else. Refreshes wait for a change of row (four at a
    time), for a pause of the port, or at most until eight are due, when they interrupt a burst.

    Read data wait in a queue of 16 beats; no access is made whose answer would not fit. A write whose data are not there
    waits, and lets nothing pass but refreshes. Requests are answered strictly in order; a write is acknowledged when its
    last beat is on its way to the chip. Latency of a read in an open row: 10 cycles, the CAS latency and ``capture``,
    from the cycle that the request is taken in to that of the first beat.

    Clock of the chip: the board drives it, with the frequency of ``sync``. Commands and data leave the I/O registers of
    :class:`~.phy.SDRAMPhy` at a rising edge of ``sync``; docs/memory.md says which phase the chip's clock takes, and which
    ``capture`` belongs to it.

    Parameters
    ----------
    part : SDRAMPart or str
    clock_hz : float
        Frequency of ``sync``.
    capture : int
        Cycles (0 to 3) by which read data reach the input registers later than in a chip and board without delay and with
        the clock inverted.
    powerup_ns : float
        Wait before the first command; shorten it in simulation only.

    Members
    -------
    port : In(MemoryPort)
    pins : Out(SDRAMPins), before the registers of the I/O cells
    ready : Out(1), initialisation is over

    Attributes
    ----------
    beat_bytes, size : int
    masks : bool, the chip's byte masks are connected; where they are not, only whole beats may be written (``PartialWrites``)
    """
    kind = "SDRAM"

    def __init__(self, *, part, clock_hz, capture=1, powerup_ns=200_000):
        self.part = find_part(part)
        if self.part.data_bits not in (16, 32):
            raise ValueError(f"SDRAM part must be 16 or 32 bits wide, not {self.part.data_bits}")
        self.timing = self.part.timing(clock_hz)
        if capture not in range(4) or isinstance(capture, bool):
            raise ValueError(f"Capture delay must be an integer from 0 to 3 cycles, not {capture!r}")
        if not isinstance(powerup_ns, (int, float)) or isinstance(powerup_ns, bool) or powerup_ns < 0:
            raise ValueError(f"Power-up time must be a number of nanoseconds, not {powerup_ns!r}")
        self.clock_hz = clock_hz
        self.capture = capture
        self.powerup_ns = powerup_ns
        self.beat_bytes = self.part.beat_bytes
        self.size = self.part.size
        self.masks = self.part.masks
        super().__init__({
            "port": In(MemoryPort(self.beat_bytes)), "pins": Out(SDRAMPins(self.part)), "ready": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        part, timing, pins = self.part, self.timing, self.pins
        banks = range(1 << part.bank_bits)

        split = m.submodules.split = SegmentSplitter(part=part)
        writes = m.submodules.writes = StreamBuffer(shape=self.port.w.payload.shape())
        answers = m.submodules.answers = AnswerQueue(
            beat_bytes=self.beat_bytes, latency=timing.cas + self.capture + 1)
        refresh = m.submodules.refresh = RefreshTimer(interval=timing.t_refi)
        sequencer = m.submodules.sequencer = RefreshSequencer(
            part=part, timing=timing, powerup=int(self.powerup_ns * self.clock_hz / 1e9) + 1)
        connect(m, flipped(self.port.req), split.i)
        connect(m, flipped(self.port.w), writes.i)
        connect(m, answers.r, flipped(self.port.r))
        connect(m, answers.ack, flipped(self.port.ack))
        m.d.comb += [answers.dq.eq(pins.dq.i), self.ready.eq(sequencer.ready)]

        run = sequencer.run   # nothing but the sequencer's own commands while low

        # -- State of the banks, as it is when all commands so far have been given.
        opened = Signal(len(banks))
        rows = Array(Signal(part.row_bits, name=f"row_{b}") for b in banks)

        # Waits, as bits that shift down: a command sets as many as it forbids further cycles to another.
        def wait(name, cycles):
            timer = Signal(max(1, cycles), name=name)
            m.d.sync += timer.eq(timer >> 1)
            return timer

        def arm(timer, cycles):
            return [] if cycles < 2 else [timer.eq((timer >> 1) | ((1 << (cycles - 1)) - 1))]

        t_open = max(timing.t_ras, timing.t_rc - timing.t_rp)
        no_precharge = [wait(f"no_precharge_{b}", max(t_open, timing.t_wr)) for b in banks]
        no_access = [wait(f"no_access_{b}", timing.t_rcd) for b in banks]
        no_activate = wait("no_activate", max(timing.t_rp, timing.t_rrd))
        no_write = wait("no_write", timing.cas + 2)

        # -- The segment in preparation. Its row is compared while it is loaded.
        coming = split.o
        prepared = Signal(SegmentLayout(part))
        prepared_valid, hit, conflict = Signal(), Signal(), Signal()
        # Prepared segments, the next to be served first.
        place = data.StructLayout({"bank": unsigned(part.bank_bits), "column": unsigned(part.column_bits),
                                   "left": unsigned(8), "write": 1, "last": 1, "error": 1})
        ahead = m.submodules.ahead = ShiftQueue(shape=place, depth=2)
        current = Signal(place)
        current_valid, final = Signal(), Signal()   # final: nothing is left but this beat

        hand_over = Signal()
        m.d.comb += [
            ahead.i.valid.eq(prepared_valid & hit & run), hand_over.eq(ahead.i.valid & ahead.i.ready),
            coming.ready.eq(run & (~prepared_valid | hand_over)),
        ]
        m.d.comb += [getattr(ahead.i.payload, name).eq(getattr(prepared, name)) for name in place.members]
        same_row, is_open = Signal(), Signal()
        m.d.comb += [
            same_row.eq(rows[coming.payload.bank] == coming.payload.row),
            is_open.eq(opened.bit_select(coming.payload.bank, 1)),
        ]
        with m.If(coming.ready):
            m.d.sync += [
                prepared_valid.eq(coming.valid), prepared.eq(coming.payload),
                hit.eq((same_row & is_open) | coming.payload.error), conflict.eq(is_open & ~same_row),
            ]

        # A row may be closed only when no segment before needs it.
        used = Signal(len(banks))
        entries = [(current_valid, current), *ahead.contents]
        for b in banks:
            m.d.comb += used[b].eq(Cat(valid & ~segment.error & (segment.bank == b) for valid, segment in entries).any())
        m.d.comb += sequencer.used.eq(used)
        with m.If(sequencer.closes):
            # Of the rows, those that a segment waits for will be opened again, and only those.
            again = used.bit_select(prepared.bank, 1)
            m.d.sync += [opened.eq(0), hit.eq((hit & again) | prepared.error), conflict.eq(~hit & again)]

        precharge, activate = Signal(), Signal()
        changes = Signal()  # this segment needs a command before it can be served
        # Decided one cycle ahead, to keep it out of the path of the accesses: what allows either command stays true until
        # it is given. Of the waits, the second bit says whether they last for another cycle.
        may_precharge, may_activate = Signal(), Signal()
        m.d.comb += [
            changes.eq(prepared_valid & ~hit), precharge.eq(may_precharge & run), activate.eq(may_activate & run),
        ]
        m.d.sync += [
            may_precharge.eq(changes & run & ~refresh.hold & conflict & ~precharge & ~used.bit_select(prepared.bank, 1)
                             & ~Array(timer[1:2].any() for timer in no_precharge)[prepared.bank]),
            may_activate.eq(changes & run & ~refresh.hold & ~conflict & ~activate & ~no_activate[1:2].any()),
        ]
        with m.If(precharge):
            m.d.sync += [conflict.eq(0), opened.bit_select(prepared.bank, 1).eq(0), *arm(no_activate, timing.t_rp)]
        with m.If(activate):
            m.d.sync += [hit.eq(1), rows[prepared.bank].eq(prepared.row), opened.bit_select(prepared.bank, 1).eq(1),
                         *arm(no_activate, timing.t_rrd)]

        # -- The segment that is served: one beat a cycle.
        access, write, ends = Signal(), Signal(), Signal()
        m.d.comb += [
            write.eq(current.write),
            access.eq(current_valid & run & ~precharge & ~activate & answers.room
                      & (current.error | ~Array(timer[0] for timer in no_access)[current.bank])
                      & (~write | (writes.o.valid & (~no_write[0] | current.error)))),
            writes.o.ready.eq(access & write),
            ends.eq(access & final),
            ahead.o.ready.eq(ends | ~current_valid),
            answers.token.valid.eq(access & (~write | (ends & current.last))),
            answers.token.last.eq(final & current.last),
            answers.token.ack.eq(write), answers.token.error.eq(current.error),
        ]
        with m.If(access):
            m.d.sync += [current.column.eq(current.column + 1), current.left.eq(current.left - 1),
                         final.eq(current.left == 1)]
            with m.If(~write & ~current.error):
                m.d.sync += arm(no_write, timing.cas + 2)
        with m.If(ahead.o.ready):
            m.d.sync += [current.eq(ahead.o.payload), current_valid.eq(ahead.o.valid),
                         final.eq(ahead.o.payload.left == 0)]

        for b in banks:
            with m.If(access & write & ~current.error & (current.bank == b)):
                m.d.sync += arm(no_precharge[b], timing.t_wr)
            with m.If((activate & (prepared.bank == b)) | (sequencer.activate & (sequencer.bank == b))):
                m.d.sync += [*arm(no_precharge[b], t_open), *arm(no_access[b], timing.t_rcd)]
        with m.If(sequencer.activate):
            # The rows of segments that a refresh has interrupted open again.
            m.d.sync += [opened.bit_select(sequencer.bank, 1).eq(1), *arm(no_activate, timing.t_rrd)]

        # -- Refreshes.
        idle = Signal()
        m.d.comb += [
            idle.eq(~current_valid & ~ahead.o.valid & ~prepared_valid & ~coming.valid),
            refresh.idle.eq(idle), refresh.change.eq(changes & ~current_valid & ~ahead.o.valid),
            refresh.done.eq(sequencer.refreshes),
            sequencer.request.eq(refresh.request), sequencer.more.eq(refresh.more),
            sequencer.hold.eq(Cat(timer[0] for timer in no_precharge).any()),
        ]

        # -- The command, into registers; those of the I/O cells come after.
        command = Cat(pins.we_n, pins.cas_n, pins.ras_n)
        m.d.sync += [command.eq(NOP), pins.cs_n.eq(0), pins.cke.eq(1), pins.dq.oe.eq(0),
                     pins.dq.o.eq(writes.o.payload.data),
                     pins.dqm.eq(Mux(access & write & ~current.error, ~writes.o.payload.mask, 0))]
        with m.If(~sequencer.ready):
            m.d.sync += pins.dqm.eq(~0)
        with m.If(~run):
            m.d.sync += [command.eq(sequencer.command), pins.ba.eq(sequencer.bank), pins.a.eq(sequencer.a)]
            with m.If(sequencer.activate):
                m.d.sync += pins.a.eq(rows[sequencer.bank])
        with m.Elif(precharge | activate):
            m.d.sync += [command.eq(Mux(conflict, PRECHARGE, ACTIVATE)), pins.ba.eq(prepared.bank),
                         pins.a.eq(Mux(conflict, 0, prepared.row))]
        with m.Else():
            m.d.sync += [pins.ba.eq(current.bank), pins.a.eq(current.column)]
            with m.If(access & ~current.error):
                m.d.sync += [command.eq(Mux(write, WRITE, READ)), pins.dq.oe.eq(write)]
        return m
