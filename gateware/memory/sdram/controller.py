# SPDX-License-Identifier: BSD-2-Clause
"""SDR SDRAM controller: keeps rows open, one command per cycle of its clock."""

from types import SimpleNamespace

from amaranth import Array, C, Cat, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ...arguments import check_integer
from ...parts.queues import ShiftQueue, StreamBuffer
from ..port import MemoryPort
from .answers import AnswerQueue
from .parts import SDRAMPart, find_part
from .phy import SDRAMPins
from .refresh import RefreshSequencer, RefreshTimer
from .splitter import SegmentLayout, SegmentSplitter

__all__ = ["SDRAMController"]

# Levels of we_n, cas_n, ras_n (low bit first).
NOP, ACTIVATE, READ, WRITE, PRECHARGE = 0b111, 0b011, 0b101, 0b100, 0b010


def _wait(m, name, cycles):
    """Timer as a shift register: a command sets as many bits as the cycles for which another
    command is forbidden."""
    timer = Signal(max(1, cycles), name=name)
    m.d.sync += timer.eq(timer >> 1)
    return timer


def _arm(timer, cycles):
    return [] if cycles < 2 else [timer.eq((timer >> 1) | ((1 << (cycles - 1)) - 1))]


class SDRAMController(wiring.Component):
    """SDR SDRAM controller: a memory port for a chip of 16 or 32 bits; a beat is ``rate`` times as
    wide as the chip.

    Every beat is a command of its own (the chip's burst length is ``rate``), so that bursts of any
    length and any write masks run at one beat a cycle, and a port may stall at any beat. Rows stay
    open.
    While one segment (the part of a request in one row) is read or written, the rows of the next
    two are opened, in whatever cycles it takes: each costs the stream one cycle for PRECHARGE and
    one for ACTIVATE, and nothing else. Refreshes wait for a change of row (four at a time), for a
    pause of the port, or at most until eight are due, when they interrupt a burst.

    Read data wait in a queue of 16 beats; no access is made whose answer would not fit. A write
    whose data are not there waits, and lets nothing pass but refreshes. Requests are answered
    strictly in order; a write is acknowledged when its last beat is on its way to the chip. Latency
    of a read in an open row: 10 cycles, the CAS latency and ``capture``, from the cycle that the
    request is taken in to that of the first beat. With a ``rate`` of 2 these two are in cycles of
    the chip, and it is 13 cycles and half of their sum, rounded up.

    Clock of the chip: the board drives it, with ``rate`` times the frequency of ``sync``. Commands
    and data leave the I/O registers of
    :class:`~.phy.SDRAMPhy` at a rising edge of ``sync`` (with a ``rate`` of 2, the second word at a
    falling edge); docs/how/memory.md says which phase the chip's clock takes, and which
    ``capture`` belongs to it.

    Parameters
    ----------
    part : SDRAMPart or str
    clock_hz : float
        Frequency of ``sync``.
    capture : int
        Cycles of the chip (0 to 3) by which read data reach the input registers later than in a
        chip and board without delay and with the clock inverted.
    powerup_ns : float
        Wait before the first command; shorten it in simulation only.
    rate : int
        The chip's clock is that many times as fast as ``sync``: 1 or 2.

    Members
    -------
    port : In(MemoryPort)
    pins : Out(SDRAMPins), before the registers of the I/O cells
    ready : Out(1), initialisation is over

    Attributes
    ----------
    beat_bytes, size : int
    masks : bool, the chip's byte masks are connected; where they are not,
        only whole beats may be written (``PartialWrites``)
    """

    kind = "SDRAM"

    def __init__(
        self,
        *,
        part: SDRAMPart | str,
        clock_hz: float,
        capture: int = 1,
        powerup_ns: int = 200_000,
        rate: int = 1,
    ) -> None:
        self.part = find_part(part)
        if self.part.data_bits not in (16, 32):
            raise ValueError(f"SDRAM part must be 16 or 32 bits wide, not {self.part.data_bits}")
        self._seen = self.part.at_rate(rate)
        self.timing = self.part.timing(clock_hz, rate)
        check_integer("Capture delay", capture, 0, 3, unit="cycles")
        if (
            not isinstance(powerup_ns, (int, float))
            or isinstance(powerup_ns, bool)
            or powerup_ns < 0
        ):
            raise ValueError(f"Power-up time must be a number of nanoseconds, not {powerup_ns!r}")
        self.clock_hz = clock_hz
        self.capture = capture
        self.powerup_ns = powerup_ns
        self.rate = rate
        self.beat_bytes = self._seen.beat_bytes
        self.size = self.part.size
        self.masks = self.part.masks
        super().__init__(
            {
                "port": In(MemoryPort(self.beat_bytes)),
                "pins": Out(SDRAMPins(self.part, rate)),
                "ready": Out(1),
            }
        )

    @property
    def _latency(self) -> int:
        """Cycles from an access to its data at the answer queue, less one."""
        delay = self.timing.cas + self.capture
        if self.rate == 1:
            return delay + 1
        # Five cycles of registers, four of them in double-rate cells, and half a cycle if the first
        # word comes at a falling edge.
        return (delay + 9) // 2

    @property
    def _turn(self) -> int:
        """Cycles from a READ to a WRITE: the last word, and a cycle of the chip in which neither
        side drives DQ."""
        return -(-(self.timing.cas + 1 + self.rate) // self.rate)

    def _read_data(self, m: Module) -> Value:
        """A beat as the chip gave it. Of two words the first may be the second of a cycle."""
        words = self.pins.dq.i
        if self.rate == 1 or (self.timing.cas + self.capture) % 2 == 0:
            return words
        before = Signal(self.part.data_bits)
        m.d.sync += before.eq(words[self.part.data_bits :])
        return Cat(before, words[: self.part.data_bits])

    def elaborate(self, platform: object) -> Module:
        m, s = Module(), SimpleNamespace()  # `s`: signals that several steps use
        part, timing = self._seen, self.timing
        s.banks = range(1 << part.bank_bits)

        split = m.submodules.split = SegmentSplitter(part=part)
        writes = m.submodules.writes = StreamBuffer(shape=self.port.w.payload.shape())
        answers = m.submodules.answers = AnswerQueue(
            beat_bytes=self.beat_bytes, latency=self._latency
        )
        refresh = m.submodules.refresh = RefreshTimer(interval=timing.t_refi)
        sequencer = m.submodules.sequencer = RefreshSequencer(
            part=part,
            timing=timing,
            powerup=int(self.powerup_ns * self.clock_hz / 1e9) + 1,
            burst=self.rate,
        )
        connect(m, flipped(self.port.req), split.i)
        connect(m, flipped(self.port.w), writes.i)
        connect(m, answers.r, flipped(self.port.r))
        connect(m, answers.ack, flipped(self.port.ack))
        m.d.comb += [answers.dq.eq(self._read_data(m)), self.ready.eq(sequencer.ready)]

        s.run = sequencer.run  # nothing but the sequencer's own commands while low

        # -- State of the banks, as it is when all commands so far have been given.
        s.opened = Signal(len(s.banks))
        s.rows = Array(Signal(part.row_bits, name=f"row_{b}") for b in s.banks)

        s.t_open = max(timing.t_ras, timing.t_rc - timing.t_rp)
        s.no_precharge = [
            _wait(m, f"no_precharge_{b}", max(s.t_open, timing.t_wr)) for b in s.banks
        ]
        s.no_access = [_wait(m, f"no_access_{b}", timing.t_rcd) for b in s.banks]
        s.no_activate = _wait(m, "no_activate", max(timing.t_rp, timing.t_rrd))
        s.no_write = _wait(m, "no_write", self._turn)

        self._prepare(m, s, split, refresh, sequencer)
        self._serve(m, s, writes, answers, sequencer)

        # -- Refreshes.
        idle = Signal()
        m.d.comb += [
            idle.eq(~s.current_valid & ~s.ahead.o.valid & ~s.prepared_valid & ~s.coming.valid),
            refresh.idle.eq(idle),
            refresh.change.eq(s.changes & ~s.current_valid & ~s.ahead.o.valid),
            refresh.done.eq(sequencer.refreshes),
            sequencer.request.eq(refresh.request),
            sequencer.more.eq(refresh.more),
            sequencer.hold.eq(Cat(timer[0] for timer in s.no_precharge).any()),
        ]

        self._drive(m, s, writes, sequencer)
        return m

    def _prepare(self, m, s, split, refresh, sequencer):
        """Prepares the next segments: compares the row of the next one while it is loaded, and
        closes and opens rows."""
        part, timing = self._seen, self.timing
        s.coming = split.o
        s.prepared = Signal(SegmentLayout(part))
        s.prepared_valid, hit, s.conflict = Signal(), Signal(), Signal(name="conflict")
        # Prepared segments, the next to be served first.
        place = data.StructLayout(
            {
                "bank": unsigned(part.bank_bits),
                "column": unsigned(part.column_bits),
                "left": unsigned(8),
                "write": 1,
                "last": 1,
                "error": 1,
            }
        )
        s.ahead = m.submodules.ahead = ShiftQueue(shape=place, depth=2)
        s.current = Signal(place)
        s.current_valid, s.final = (
            Signal(),
            Signal(name="final"),
        )  # final: nothing is left but this beat

        hand_over = Signal()
        m.d.comb += [
            s.ahead.i.valid.eq(s.prepared_valid & hit & s.run),
            hand_over.eq(s.ahead.i.valid & s.ahead.i.ready),
            s.coming.ready.eq(s.run & (~s.prepared_valid | hand_over)),
        ]
        m.d.comb += [
            getattr(s.ahead.i.payload, name).eq(getattr(s.prepared, name)) for name in place.members
        ]
        same_row, is_open = Signal(), Signal()
        m.d.comb += [
            same_row.eq(s.rows[s.coming.payload.bank] == s.coming.payload.row),
            is_open.eq(s.opened.bit_select(s.coming.payload.bank, 1)),
        ]
        with m.If(s.coming.ready):
            m.d.sync += [
                s.prepared_valid.eq(s.coming.valid),
                s.prepared.eq(s.coming.payload),
                hit.eq((same_row & is_open) | s.coming.payload.error),
                s.conflict.eq(is_open & ~same_row),
            ]

        # A row may be closed only when no segment before needs it.
        used = Signal(len(s.banks))
        entries = [(s.current_valid, s.current), *s.ahead.contents]
        for b in s.banks:
            m.d.comb += used[b].eq(
                Cat(
                    valid & ~segment.error & (segment.bank == b) for valid, segment in entries
                ).any()
            )
        m.d.comb += sequencer.used.eq(used)
        with m.If(sequencer.closes):
            # Only the rows that a segment waits for will be opened again.
            again = used.bit_select(s.prepared.bank, 1)
            m.d.sync += [
                s.opened.eq(0),
                hit.eq((hit & again) | s.prepared.error),
                s.conflict.eq(~hit & again),
            ]

        s.precharge, s.activate = Signal(), Signal(name="activate")
        s.changes = Signal()  # this segment needs a command before it can be served
        # Decided one cycle ahead, to keep it out of the path of the accesses: the conditions of
        # either command stay true until it is given. Of the waits, the second bit says whether they
        # last
        # for another cycle.
        may_precharge, may_activate = Signal(), Signal()
        m.d.comb += [
            s.changes.eq(s.prepared_valid & ~hit),
            s.precharge.eq(may_precharge & s.run),
            s.activate.eq(may_activate & s.run),
        ]
        m.d.sync += [
            may_precharge.eq(
                s.changes
                & s.run
                & ~refresh.hold
                & s.conflict
                & ~s.precharge
                & ~used.bit_select(s.prepared.bank, 1)
                & ~Array(timer[1:2].any() for timer in s.no_precharge)[s.prepared.bank]
            ),
            may_activate.eq(
                s.changes
                & s.run
                & ~refresh.hold
                & ~s.conflict
                & ~s.activate
                & ~s.no_activate[1:2].any()
            ),
        ]
        with m.If(s.precharge):
            m.d.sync += [
                s.conflict.eq(0),
                s.opened.bit_select(s.prepared.bank, 1).eq(0),
                *_arm(s.no_activate, timing.t_rp),
            ]
        with m.If(s.activate):
            m.d.sync += [
                hit.eq(1),
                s.rows[s.prepared.bank].eq(s.prepared.row),
                s.opened.bit_select(s.prepared.bank, 1).eq(1),
                *_arm(s.no_activate, timing.t_rrd),
            ]

    def _serve(self, m, s, writes, answers, sequencer):
        """Executes the current segment, one beat per cycle, and starts the timers of each
        command."""
        timing = self.timing
        s.access, s.write, ends = Signal(), Signal(), Signal(name="ends")
        m.d.comb += [
            s.write.eq(s.current.write),
            s.access.eq(
                s.current_valid
                & s.run
                & ~s.precharge
                & ~s.activate
                & answers.space
                & (s.current.error | ~Array(timer[0] for timer in s.no_access)[s.current.bank])
                & (~s.write | (writes.o.valid & (~s.no_write[0] | s.current.error)))
            ),
            writes.o.ready.eq(s.access & s.write),
            ends.eq(s.access & s.final),
            s.ahead.o.ready.eq(ends | ~s.current_valid),
            answers.token.valid.eq(s.access & (~s.write | (ends & s.current.last))),
            answers.token.last.eq(s.final & s.current.last),
            answers.token.ack.eq(s.write),
            answers.token.error.eq(s.current.error),
        ]
        with m.If(s.access):
            m.d.sync += [
                s.current.column.eq(s.current.column + 1),
                s.current.left.eq(s.current.left - 1),
                s.final.eq(s.current.left == 1),
            ]
            with m.If(~s.write & ~s.current.error):
                m.d.sync += _arm(s.no_write, self._turn)
        with m.If(s.ahead.o.ready):
            m.d.sync += [
                s.current.eq(s.ahead.o.payload),
                s.current_valid.eq(s.ahead.o.valid),
                s.final.eq(s.ahead.o.payload.left == 0),
            ]

        for b in s.banks:
            with m.If(s.access & s.write & ~s.current.error & (s.current.bank == b)):
                m.d.sync += _arm(s.no_precharge[b], timing.t_wr)
            with m.If(
                (s.activate & (s.prepared.bank == b)) | (sequencer.activate & (sequencer.bank == b))
            ):
                m.d.sync += [
                    *_arm(s.no_precharge[b], s.t_open),
                    *_arm(s.no_access[b], timing.t_rcd),
                ]
        with m.If(sequencer.activate):
            # The rows of segments that a refresh has interrupted open again.
            m.d.sync += [
                s.opened.bit_select(sequencer.bank, 1).eq(1),
                *_arm(s.no_activate, timing.t_rrd),
            ]

    def _drive(self, m, s, writes, sequencer):
        """Drives the command through registers, which the registers of the I/O cells follow."""
        pins = self.pins
        command = Cat(pins.we_n, pins.cas_n, pins.ras_n)
        m.d.sync += [
            command.eq(NOP),
            pins.cs_n.eq(0),
            pins.cke.eq(1),
            pins.dq.oe.eq(0),
            pins.dq.o.eq(writes.o.payload.data),
            pins.dqm.eq(Mux(s.access & s.write & ~s.current.error, ~writes.o.payload.mask, 0)),
        ]
        with m.If(~sequencer.ready):
            m.d.sync += pins.dqm.eq(~0)
        with m.If(~s.run):
            m.d.sync += [
                command.eq(sequencer.command),
                pins.ba.eq(sequencer.bank),
                pins.a.eq(sequencer.a),
            ]
            with m.If(sequencer.activate):
                m.d.sync += pins.a.eq(s.rows[sequencer.bank])
        with m.Elif(s.precharge | s.activate):
            m.d.sync += [
                command.eq(Mux(s.conflict, PRECHARGE, ACTIVATE)),
                pins.ba.eq(s.prepared.bank),
                pins.a.eq(Mux(s.conflict, 0, s.prepared.row)),
            ]
        with m.Else():
            column = s.current.column
            # A beat begins at every second column if the chip moves two words for it.
            m.d.sync += [
                pins.ba.eq(s.current.bank),
                pins.a.eq(column if self.rate == 1 else Cat(C(0, 1), column)),
            ]
            with m.If(s.access & ~s.current.error):
                m.d.sync += [command.eq(Mux(s.write, WRITE, READ)), pins.dq.oe.eq(s.write)]
