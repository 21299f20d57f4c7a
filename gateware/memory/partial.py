# SPDX-License-Identifier: BSD-2-Clause
"""Partial writes for memories without byte masks (docs/contracts.md, section 2)."""
from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..arguments import check_beat_bytes
from .port import MemoryPort, RequestLayout

__all__ = ["PartialWrites"]


class PartialWrites(wiring.Component):
    """Read-modify-write stage, behind the arbiter and in front of a memory that writes whole beats only.

    Reads pass, one register behind. A write is collected in pieces of ``chunk`` beats at most; a piece in which every
    beat is whole is written as it is, otherwise the beats from the first to the last partial one are read, merged and
    the whole piece is written. Since the stage has the memory for itself, no other port's bytes are lost in between.
    A beat whose mask is empty counts as partial: it is written back as it was.

    Throughput of whole beats: a piece costs its beats, collected while the piece before is written; a piece with
    partial beats also costs the way to the memory and back.

    An error of the read or of the write of any piece makes the acknowledgement's; a piece whose read failed is not
    written.

    Parameters
    ----------
    beat_bytes : int
        2, 4, 8 or 16.
    chunk : int
        Beats of a piece: a power of two from 2 to 256.

    Members
    -------
    port : In(MemoryPort), memory : Out(MemoryPort), whose ``mask`` is all ones
    """
    def __init__(self, *, beat_bytes, chunk=32):
        check_beat_bytes(beat_bytes, (2, 4, 8, 16))
        if not isinstance(chunk, int) or isinstance(chunk, bool) or chunk not in (2, 4, 8, 16, 32, 64, 128, 256):
            raise ValueError(f"Chunk must be a power of two from 2 to 256 beats, not {chunk!r}")
        self.beat_bytes, self.chunk = beat_bytes, chunk
        super().__init__({"port": In(MemoryPort(beat_bytes)), "memory": Out(MemoryPort(beat_bytes))})

    def elaborate(self, platform):
        m = Module()
        port, memory = self.port, self.memory
        beat, chunk = self.beat_bytes, self.chunk
        shift = beat.bit_length() - 1
        index_bits = chunk.bit_length() - 1

        # Two pieces of beats and masks: one is collected while the other is written.
        store = m.submodules.store = Memory(shape=9 * beat, depth=2 * chunk, init=[])
        writer, reader = store.write_port(), store.read_port(domain="comb")

        # -- Requests: reads pass while no write is under way, and the other way round, so that order is kept.
        reading = Signal(range(16))      # reads of the port under way
        read_ends = Signal()
        collecting = Signal()            # a write of the port is under way
        left = Signal(8)                 # beats to collect, less one
        address = Signal(32 - shift)     # of the next piece to collect
        held, request = Signal(), Signal(RequestLayout())

        # -- Collector: fills one half, then hands it over.
        fill, half = Signal(index_bits), Signal()
        partial, first, last = Signal(), Signal(index_bits), Signal(index_bits)
        ready_piece, ready_half = Signal(), Signal()   # a collected piece waits for (or is in) the hands of the second stage
        piece_address = Signal.like(address)
        piece_count, piece_first, piece_last = Signal(index_bits), Signal(index_bits), Signal(index_bits)
        piece_partial, piece_final = Signal(), Signal()
        handed = Signal()                # the second stage takes the piece in this cycle
        full = Signal()                  # the half is complete and waits to be handed over
        whole = port.w.payload.mask.all()
        taken = Signal()
        final = Signal()
        m.d.comb += [
            port.w.ready.eq(collecting & ~full), taken.eq(port.w.valid & port.w.ready),
        ]
        with m.If(taken):
            m.d.sync += [fill.eq(fill + 1), left.eq(left - 1)]
            with m.If(~whole):
                m.d.sync += [partial.eq(1), last.eq(fill)]
                with m.If(~partial):
                    m.d.sync += first.eq(fill)
            with m.If((left == 0) | fill.all()):
                m.d.sync += [full.eq(1), final.eq(left == 0)]
        pass_on = Signal()
        m.d.comb += pass_on.eq(full & (~ready_piece | handed))
        with m.If(handed):
            m.d.sync += ready_piece.eq(0)
        with m.If(pass_on):
            m.d.sync += [
                ready_piece.eq(1), ready_half.eq(half), half.eq(~half), full.eq(0), fill.eq(0), partial.eq(0),
                piece_address.eq(address), piece_count.eq(fill - 1), piece_first.eq(first), piece_last.eq(last),
                piece_partial.eq(partial), piece_final.eq(final), address.eq(address + chunk),
            ]
            with m.If(final):
                m.d.sync += collecting.eq(0)

        # -- Second stage: reads what is needed, merges, writes.
        at, end = Signal(index_bits), Signal(index_bits)
        failed, any_error = Signal(), Signal()
        merging = Signal()
        entry = reader.data
        data, mask = entry[:8 * beat], entry[8 * beat:]
        m.d.comb += [
            reader.addr.eq(Cat(at, ready_half)), memory.w.payload.data.eq(data), memory.w.payload.mask.eq(~0),
            writer.addr.eq(Cat(fill, half)), writer.data.eq(Cat(port.w.payload.data, port.w.payload.mask)),
            writer.en.eq(taken),
            memory.req.payload.eq(request), memory.req.valid.eq(held),
        ]
        start = Signal()                 # a read of the port is passed on
        m.d.comb += [
            start.eq(port.req.valid & ~port.req.payload.write & ~held & ~collecting & ~ready_piece & ~full
                     & (reading != 15)),
        ]
        accept_write = Signal()
        m.d.comb += [
            accept_write.eq(port.req.valid & port.req.payload.write & ~collecting & ~full & ~held & (reading == 0)
                            & ~ready_piece),
            port.req.ready.eq(start | accept_write),
            read_ends.eq(memory.r.valid & memory.r.ready & memory.r.payload.last & ~merging),
        ]
        m.d.sync += reading.eq(reading + start - read_ends)
        with m.If(held & memory.req.ready):
            m.d.sync += held.eq(0)
        with m.If(start):
            m.d.sync += [held.eq(1), request.eq(port.req.payload)]
        with m.If(accept_write):
            m.d.sync += [collecting.eq(1), left.eq(port.req.payload.beats), address.eq(port.req.payload.address[shift:]),
                         any_error.eq(0)]

        # Answers to reads pass.
        m.d.comb += [
            port.r.payload.eq(memory.r.payload), port.r.valid.eq(memory.r.valid & ~merging),
            memory.r.ready.eq(port.r.ready | merging),
            port.ack.payload.error.eq(any_error),
        ]

        with m.FSM():
            with m.State("IDLE"):
                with m.If(ready_piece & ~held & (reading == 0)):
                    m.d.sync += [held.eq(1), request.write.eq(~piece_partial), at.eq(0), end.eq(piece_count), failed.eq(0)]
                    with m.If(piece_partial):
                        m.d.sync += [
                            request.address.eq((piece_address + piece_first) << shift), merging.eq(1),
                            request.beats.eq(piece_last - piece_first), at.eq(piece_first),
                        ]
                        m.next = "MERGE"
                    with m.Else():
                        m.d.sync += [request.address.eq(piece_address << shift), request.beats.eq(piece_count)]
                        m.next = "WRITE"
            with m.State("MERGE"):
                # The collector waits: both write ports of the store are one.
                m.d.comb += port.w.ready.eq(0)
                merged = Cat(Mux(mask[i], data.word_select(i, 8), memory.r.payload.data.word_select(i, 8))
                             for i in range(beat))
                m.d.comb += [writer.addr.eq(Cat(at, ready_half)), writer.data.eq(Cat(merged, mask)),
                             writer.en.eq(memory.r.valid)]
                with m.If(memory.r.valid):
                    m.d.sync += [at.eq(at + 1), failed.eq(failed | memory.r.payload.error)]
                    with m.If(memory.r.payload.last):
                        m.d.sync += [merging.eq(0), at.eq(0)]
                        with m.If(failed | memory.r.payload.error):
                            m.d.sync += any_error.eq(1)
                            m.next = "ANSWER"
                        with m.Else():
                            m.d.sync += [held.eq(1), request.write.eq(1), request.beats.eq(piece_count),
                                         request.address.eq(piece_address << shift)]
                            m.next = "WRITE"
            with m.State("WRITE"):
                m.d.comb += memory.w.valid.eq(1)
                with m.If(memory.w.ready):
                    m.d.sync += at.eq(at + 1)
                    with m.If(at == end):
                        m.next = "WAIT"
            with m.State("WAIT"):
                m.d.comb += memory.ack.ready.eq(1)
                with m.If(memory.ack.valid):
                    m.d.sync += any_error.eq(any_error | memory.ack.payload.error)
                    m.next = "ANSWER"
            with m.State("ANSWER"):
                m.d.comb += port.ack.valid.eq(piece_final)
                with m.If(port.ack.ready | ~piece_final):
                    m.d.comb += handed.eq(1)
                    m.next = "IDLE"
        return m
