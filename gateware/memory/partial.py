# SPDX-License-Identifier: BSD-2-Clause
"""Read-modify-write of partial beats, for memories without byte masks (docs/how/contracts.md,
section 2)."""

from types import SimpleNamespace

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..arguments import check_beat_bytes, check_integer
from .port import MemoryPort, RequestLayout

__all__ = ["PartialWrites"]


class PartialWrites(wiring.Component):
    """Read-modify-write stage between the arbiter and a memory that writes whole beats only.

    Reads pass, one register behind. A write is collected in segments of ``chunk`` beats at most; a
    segment in which every beat is whole is written as it is, otherwise the beats from the first to
    the last partial one are read, merged and the whole segment is written. Since the stage has the
    memory for itself, no other port's bytes are lost in between. A beat whose mask is empty counts
    as partial: it is written back as it was.

    Throughput of whole beats: a segment costs its beats, collected while the segment before is
    written; a segment with partial beats also costs the way to the memory and back.

    An error of the read or of the write of any segment makes the acknowledgement's; a segment whose
    read failed is not written.

    Parameters
    ----------
    beat_bytes : int
        2, 4, 8 or 16.
    chunk : int
        Beats of a segment: a power of two from 2 to 256.

    Members
    -------
    port : In(MemoryPort), memory : Out(MemoryPort), whose ``mask`` is all ones
    """

    def __init__(self, *, beat_bytes: int, chunk: int = 32) -> None:
        check_beat_bytes(beat_bytes, (2, 4, 8, 16))
        check_integer("Chunk", chunk, 2, 256, power_of_two=True, unit="beats")
        self.beat_bytes, self.chunk = beat_bytes, chunk
        super().__init__(
            {"port": In(MemoryPort(beat_bytes)), "memory": Out(MemoryPort(beat_bytes))}
        )

    def elaborate(self, platform: object) -> Module:
        m, s = Module(), SimpleNamespace()  # `s`: signals that several steps use
        port, memory = self.port, self.memory
        beat, chunk = self.beat_bytes, self.chunk
        shift = beat.bit_length() - 1
        index_bits = chunk.bit_length() - 1

        # Two segments of beats and masks: one is collected while the other is written.
        store = m.submodules.store = Memory(shape=9 * beat, depth=2 * chunk, init=[])
        writer, reader = store.write_port(), store.read_port(domain="comb")

        # -- Requests: reads pass while no write is under way, and the other way round, so that
        # order is kept.
        s.reading = Signal(range(16))  # reads of the port under way
        read_ends = Signal()
        s.collecting = Signal()  # a write of the port is under way
        s.left = Signal(8)  # beats to collect, less one
        s.address = Signal(32 - shift)  # of the next segment to collect
        s.held, s.request = Signal(), Signal(RequestLayout(), name="request")

        self._collect(m, s, index_bits)

        # -- Second stage: reads the missing bytes, merges, writes.
        s.at, s.end = Signal(index_bits), Signal(index_bits, name="end")
        s.failed, s.any_error = Signal(), Signal(name="any_error")
        s.merging = Signal()
        entry = reader.data
        s.data, s.mask = entry[: 8 * beat], entry[8 * beat :]
        m.d.comb += [
            reader.addr.eq(Cat(s.at, s.ready_half)),
            memory.w.payload.data.eq(s.data),
            memory.w.payload.mask.eq(~0),
            writer.addr.eq(Cat(s.fill, s.half)),
            writer.data.eq(Cat(port.w.payload.data, port.w.payload.mask)),
            writer.en.eq(s.taken),
            memory.req.payload.eq(s.request),
            memory.req.valid.eq(s.held),
        ]
        start = Signal()  # a read of the port is passed on
        m.d.comb += [
            start.eq(
                port.req.valid
                & ~port.req.payload.write
                & ~s.held
                & ~s.collecting
                & ~s.ready_piece
                & ~s.full
                & (s.reading != 15)
            ),
        ]
        accept_write = Signal()
        m.d.comb += [
            accept_write.eq(
                port.req.valid
                & port.req.payload.write
                & ~s.collecting
                & ~s.full
                & ~s.held
                & (s.reading == 0)
                & ~s.ready_piece
            ),
            port.req.ready.eq(start | accept_write),
            read_ends.eq(memory.r.valid & memory.r.ready & memory.r.payload.last & ~s.merging),
        ]
        m.d.sync += s.reading.eq(s.reading + start - read_ends)
        with m.If(s.held & memory.req.ready):
            m.d.sync += s.held.eq(0)
        with m.If(start):
            m.d.sync += [s.held.eq(1), s.request.eq(port.req.payload)]
        with m.If(accept_write):
            m.d.sync += [
                s.collecting.eq(1),
                s.left.eq(port.req.payload.beats),
                s.address.eq(port.req.payload.address[shift:]),
                s.any_error.eq(0),
            ]

        # Answers to reads pass.
        m.d.comb += [
            port.r.payload.eq(memory.r.payload),
            port.r.valid.eq(memory.r.valid & ~s.merging),
            memory.r.ready.eq(port.r.ready | s.merging),
            port.ack.payload.error.eq(s.any_error),
        ]

        self._write_back(m, s, shift, writer)
        return m

    def _collect(self, m, s, index_bits):
        """Collector: fills one half of the store with a segment of the write, then hands it
        over."""
        port, chunk = self.port, self.chunk
        s.fill, s.half = Signal(index_bits), Signal(name="half")
        partial, first, last = Signal(), Signal(index_bits), Signal(index_bits)
        s.ready_piece, s.ready_half = (
            Signal(),
            Signal(name="ready_half"),
        )  # a collected segment waits for the second stage, or is in it
        s.piece_address = Signal.like(s.address)
        s.piece_count, s.piece_first, s.piece_last = (
            Signal(index_bits),
            Signal(index_bits),
            Signal(index_bits, name="piece_last"),
        )
        s.piece_partial, s.piece_final = Signal(), Signal(name="piece_final")
        s.handed = Signal()  # the second stage takes the segment in this cycle
        s.full = Signal()  # the half is complete and waits to be handed over
        whole = port.w.payload.mask.all()
        s.taken = Signal()
        final = Signal()
        m.d.comb += [
            port.w.ready.eq(s.collecting & ~s.full),
            s.taken.eq(port.w.valid & port.w.ready),
        ]
        with m.If(s.taken):
            m.d.sync += [s.fill.eq(s.fill + 1), s.left.eq(s.left - 1)]
            with m.If(~whole):
                m.d.sync += [partial.eq(1), last.eq(s.fill)]
                with m.If(~partial):
                    m.d.sync += first.eq(s.fill)
            with m.If((s.left == 0) | s.fill.all()):
                m.d.sync += [s.full.eq(1), final.eq(s.left == 0)]
        pass_on = Signal()
        m.d.comb += pass_on.eq(s.full & (~s.ready_piece | s.handed))
        with m.If(s.handed):
            m.d.sync += s.ready_piece.eq(0)
        with m.If(pass_on):
            m.d.sync += [
                s.ready_piece.eq(1),
                s.ready_half.eq(s.half),
                s.half.eq(~s.half),
                s.full.eq(0),
                s.fill.eq(0),
                partial.eq(0),
                s.piece_address.eq(s.address),
                s.piece_count.eq(s.fill - 1),
                s.piece_first.eq(first),
                s.piece_last.eq(last),
                s.piece_partial.eq(partial),
                s.piece_final.eq(final),
                s.address.eq(s.address + chunk),
            ]
            with m.If(final):
                m.d.sync += s.collecting.eq(0)

    def _write_back(self, m, s, shift, writer):
        """Second stage: reads the missing bytes of a segment, merges and writes it, and
        acknowledges after the last segment."""
        port, memory, beat = self.port, self.memory, self.beat_bytes
        with m.FSM():
            with m.State("IDLE"):
                with m.If(s.ready_piece & ~s.held & (s.reading == 0)):
                    m.d.sync += [
                        s.held.eq(1),
                        s.request.write.eq(~s.piece_partial),
                        s.at.eq(0),
                        s.end.eq(s.piece_count),
                        s.failed.eq(0),
                    ]
                    with m.If(s.piece_partial):
                        m.d.sync += [
                            s.request.address.eq((s.piece_address + s.piece_first) << shift),
                            s.merging.eq(1),
                            s.request.beats.eq(s.piece_last - s.piece_first),
                            s.at.eq(s.piece_first),
                        ]
                        m.next = "MERGE"
                    with m.Else():
                        m.d.sync += [
                            s.request.address.eq(s.piece_address << shift),
                            s.request.beats.eq(s.piece_count),
                        ]
                        m.next = "WRITE"
            with m.State("MERGE"):
                # The collector waits: both write ports of the store are one.
                m.d.comb += port.w.ready.eq(0)
                merged = Cat(
                    Mux(
                        s.mask[i], s.data.word_select(i, 8), memory.r.payload.data.word_select(i, 8)
                    )
                    for i in range(beat)
                )
                m.d.comb += [
                    writer.addr.eq(Cat(s.at, s.ready_half)),
                    writer.data.eq(Cat(merged, s.mask)),
                    writer.en.eq(memory.r.valid),
                ]
                with m.If(memory.r.valid):
                    m.d.sync += [s.at.eq(s.at + 1), s.failed.eq(s.failed | memory.r.payload.error)]
                    with m.If(memory.r.payload.last):
                        m.d.sync += [s.merging.eq(0), s.at.eq(0)]
                        with m.If(s.failed | memory.r.payload.error):
                            m.d.sync += s.any_error.eq(1)
                            m.next = "ANSWER"
                        with m.Else():
                            m.d.sync += [
                                s.held.eq(1),
                                s.request.write.eq(1),
                                s.request.beats.eq(s.piece_count),
                                s.request.address.eq(s.piece_address << shift),
                            ]
                            m.next = "WRITE"
            with m.State("WRITE"):
                m.d.comb += memory.w.valid.eq(1)
                with m.If(memory.w.ready):
                    m.d.sync += s.at.eq(s.at + 1)
                    with m.If(s.at == s.end):
                        m.next = "WAIT"
            with m.State("WAIT"):
                m.d.comb += memory.ack.ready.eq(1)
                with m.If(memory.ack.valid):
                    m.d.sync += s.any_error.eq(s.any_error | memory.ack.payload.error)
                    m.next = "ANSWER"
            with m.State("ANSWER"):
                m.d.comb += port.ack.valid.eq(s.piece_final)
                with m.If(port.ack.ready | ~s.piece_final):
                    m.d.comb += s.handed.eq(1)
                    m.next = "IDLE"
