# SPDX-License-Identifier: BSD-2-Clause
"""DMA between main memory and MEM: executes one descriptor after another (specification, section
7.2)."""

from amaranth import Cat, Module, Mux, ResetInserter, Signal
from amaranth.lib import memory, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import exact_log2

from .....isa.parameters import Params
from .....memory.beatwords import BeatsToWords
from .....memory.port import MemoryPort
from .....parts.queues import StreamBuffer
from .convert import Packer, Unpacker
from .mover_beats import WordsToBeats
from .mover_rows import FAULTS, DescriptorLayout, RecordLayout, Rows
from .mover_walk import Walk
from .scratchpad import DmaInterface

__all__ = ["Mover", "dma_lanes"]

#: Requests under way, at most.
_OUTSTANDING = 8
#: Cycles after the last event until everything has arrived in MEM.
_SETTLE = 3


def dma_lanes(beat_bytes: int) -> int:
    """Number of DMA lanes that match a port's bandwidth: a beat of one word carries two bf16
    elements."""
    return 2 if beat_bytes >= 4 else 1


class Mover(wiring.Component):
    """DMA engine: executes descriptors, which move rows between main memory and MEM with
    conversion, or fill.

    Elements go at the port's speed: a word of main memory a cycle, an element of a fill. Where
    elements of a pair share a bank (``mem_step`` a multiple of ``banks``), an element a cycle. A
    row faults before anything of it moves; then no later row moves, and earlier ones are whole.

    Parameters
    ----------
    params : dict
    beat_bytes : 1, 2, 4, 8 or 16
    family : accepted like everywhere; nothing depends on it
    memory_size : int, bytes of main memory: a row that leaves it raises BUS, whatever the window

    Members
    -------
    port : Out(MemoryPort)
    scratch : Out, array of :func:`dma_lanes` :class:`~.scratchpad.DmaInterface`
    descriptor : In(stream of :class:`~.mover_rows.DescriptorLayout`), checked ones;
        taken one at a time
    window_base, window_limit : In, of main memory: first byte, first byte past it
    stop : In, level: no further burst; ``done`` follows, with whatever is then known
    done : Out, one cycle for each descriptor: nothing of it is under way,
        writes are acknowledged, MEM is written
    error : Out, with ``done``: 0 or the fault's code (window 5, bus 6,
        dma_range 21); ``error_detail`` : Out, the address. Held
    bytes_read, bytes_written : Out, increments of this cycle: words of rows
    busy : Out, a descriptor is under way
    """

    def __init__(
        self,
        *,
        params: Params,
        beat_bytes: int,
        family: str | None = None,
        memory_size: int = 1 << 32,
    ) -> None:
        self.lanes = dma_lanes(beat_bytes)
        self._params, self._beat_bytes = params, beat_bytes
        self._beats = WordsToBeats(beat_bytes=beat_bytes), BeatsToWords(beat_bytes=beat_bytes)
        self._rows = Rows(log_mem=params["log_mem"], beat_bytes=beat_bytes, memory_size=memory_size)
        super().__init__(
            {
                "port": Out(MemoryPort(beat_bytes)),
                "scratch": Out(DmaInterface(params["log_mem"])).array(self.lanes),
                "descriptor": In(stream.Signature(DescriptorLayout())),
                "window_base": In(32),
                "window_limit": In(32),
                "stop": In(1),
                "done": Out(1),
                "error": Out(5),
                "error_detail": Out(32),
                "bytes_read": Out(3),
                "bytes_written": Out(3),
                "busy": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        log = exact_log2(self._beat_bytes)
        rows = m.submodules.rows = self._rows
        walk = m.submodules.walk = Walk(params=self._params, lanes=self.lanes)
        spread, gather = self._beats
        m.submodules.gather, m.submodules.spread = gather, spread
        # No path leads from what takes the words to the port.
        m.submodules.gathered = gathered = ResetInserter(gather.start)(StreamBuffer(shape=32))
        unpacker = m.submodules.unpacker = Unpacker(lanes=self.lanes)
        packer = m.submodules.packer = Packer(lanes=self.lanes)
        port = self.port

        d = Signal(DescriptorLayout(), reset_less=True)
        start = Signal()
        m.d.comb += [
            self.descriptor.ready.eq(~self.busy),
            start.eq(self.descriptor.valid & ~self.busy),
        ]
        # A cycle later, so that `d` stands: it begins, and what was left of a stopped one is
        # forgotten.
        begin, begun = Signal(), Signal()
        m.d.sync += [begin.eq(start), begun.eq(begin)]
        with m.If(start):
            m.d.sync += [d.eq(self.descriptor.payload), self.busy.eq(1)]
        for part in (rows, walk, gather, spread, unpacker, packer):
            m.d.comb += part.start.eq(begin)
        failed, halted = Signal(), Signal()
        halt = failed | halted
        m.d.sync += halted.eq((self.stop | halt) & ~begin)
        m.d.comb += [
            rows.descriptor.eq(d),
            walk.descriptor.eq(d),
            rows.window_base.eq(self.window_base),
            rows.window_limit.eq(self.window_limit),
            unpacker.format.eq(d.format),
            unpacker.cols.eq(d.cols),
            packer.format.eq(d.format),
            rows.halt.eq(halt),
            walk.freeze.eq(halted),
            rows.ahead.eq(walk.ahead),
            walk.approve.eq(rows.approve),
        ]
        for mine, its in zip(self.scratch, walk.scratch, strict=True):
            connect(m, its, flipped(mine))

        # Requests, and of each what was asked for: until it is answered, and of writes until its
        # beats are gone.
        m.submodules.records = records = memory.Memory(
            shape=RecordLayout(), depth=_OUTSTANDING, init=[]
        )
        put, oldest, going = (
            records.write_port(),
            records.read_port(domain="comb"),
            records.read_port(domain="comb"),
        )
        owed, unsent = Signal(range(_OUTSTANDING + 1)), Signal(range(_OUTSTANDING + 1))
        asked, answered, sent = Signal(), Signal(), Signal()
        free, offered = Signal(init=1), Signal()
        may_ask = free | offered  # what is offered stays
        m.d.sync += offered.eq(port.req.valid & ~port.req.ready)
        m.d.comb += [
            port.req.valid.eq(rows.request.valid & may_ask),
            port.req.payload.eq(rows.request.payload),
            rows.request.ready.eq(port.req.ready & may_ask),
            asked.eq(port.req.valid & port.req.ready),
            put.en.eq(asked),
            put.data.eq(rows.record),
        ]
        # One less than there is space for: one may be asked for, or offered, in this cycle.
        m.d.sync += [
            owed.eq(owed + asked - answered),
            free.eq(owed < _OUTSTANDING - 1),
            unsent.eq(unsent + (asked & rows.request.payload.write) - sent),
        ]
        for event, pointer in ((asked, put.addr), (answered, oldest.addr), (sent, going.addr)):
            with m.If(event):
                m.d.sync += pointer.eq(pointer + 1)
        # With nothing under way all pointers meet, since each burst of a descriptor that reads
        # counts as sent.
        with m.If(begin):
            m.d.sync += [oldest.addr.eq(put.addr), going.addr.eq(put.addr)]

        def burst(record):
            return {"first": record.address[:2], "words": record.words}

        # Inward: after an error or a stop beats are taken and dropped.
        beat, failing = port.r, Signal()
        m.d.comb += [
            gather.beats.valid.eq(beat.valid & ~halted & ~beat.payload.error),
            gather.beats.payload.data.eq(beat.payload.data),
            beat.ready.eq(gather.beats.ready | halted | beat.payload.error),
            gathered.i.valid.eq(gather.words.valid),
            gathered.i.payload.eq(gather.words.payload.word),
            gather.words.ready.eq(gathered.i.ready),
            *(getattr(gather.burst, name).eq(value) for name, value in burst(oldest.data).items()),
        ]
        connect(m, gathered.o, unpacker.words)
        connect(m, unpacker.units, walk.inward)
        # Outward.
        m.submodules.outward = outward = ResetInserter(begin)(
            StreamBuffer(shape=walk.outward.payload.shape())
        )
        connect(m, walk.outward, outward.i)
        connect(m, outward.o, packer.units)
        m.submodules.filled = filled = ResetInserter(begin)(StreamBuffer(shape=32))
        connect(m, packer.words, filled.i)
        connect(m, filled.o, spread.words)
        connect(m, spread.beats, flipped(port.w))
        m.d.comb += [
            spread.burst.valid.eq(unsent != 0),
            sent.eq(spread.burst.valid & spread.burst.ready),
            port.ack.ready.eq(1),
            *(
                getattr(spread.burst.payload, name).eq(value)
                for name, value in burst(going.data).items()
            ),
        ]

        taken = Signal()
        m.d.comb += [
            taken.eq(beat.valid & beat.ready),
            answered.eq((taken & beat.payload.last) | port.ack.valid),
            failing.eq((taken & beat.payload.error) | (port.ack.valid & port.ack.payload.error)),
        ]
        m.d.sync += [
            self.bytes_read.eq((gathered.o.valid & gathered.o.ready) << 2),
            self.bytes_written.eq((filled.o.valid & filled.o.ready) << 2),
        ]

        # Where the port failed: the burst of a write, the beat of a read.
        beats, at = Signal(8), Signal(32)
        with m.If(taken):
            m.d.sync += beats.eq(Mux(beat.payload.last, 0, beats + 1))
        address = Cat(0, 0, oldest.data.address)
        m.d.comb += at.eq(Mux(beats == 0, address, ((address >> log) + beats) << log))
        with m.If(failing & ~failed):
            m.d.sync += [failed.eq(1), self.error_detail.eq(at)]
        with m.If(begin):
            m.d.sync += [failed.eq(0), beats.eq(0)]

        # The end.
        settled = Signal(range(_SETTLE + 1))
        quiet = Signal()
        m.d.comb += quiet.eq(
            self.busy
            & ~begin
            & ~begun
            & rows.done
            & ~rows.request.valid
            & (owed == 0)
            & (walk.idle | halt)
        )
        m.d.sync += [settled.eq(Mux(quiet, settled + 1, 0)), self.done.eq(0)]
        with m.If(quiet & (settled == _SETTLE)):
            m.d.sync += [self.done.eq(1), self.busy.eq(0), settled.eq(0)]
            with m.If(failed):
                m.d.sync += self.error.eq(FAULTS["bus"])
            with m.Else():
                m.d.sync += self.error.eq(rows.error)
                with m.If(rows.error != 0):
                    m.d.sync += self.error_detail.eq(rows.detail)
        return m
