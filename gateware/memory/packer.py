# SPDX-License-Identifier: BSD-2-Clause
"""Beat packer: a memory port with narrow beats for a memory with wider beats."""

from amaranth import Module, Signal, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ..parts.queues import ShiftQueue
from .port import MemoryPort

__all__ = ["BeatPacker"]


class BeatPacker(wiring.Component):
    """Beat packer: serves narrow beats from a wider memory; consecutive ones share a wide beat.

    A request becomes one of the wide beats that it touches; the bytes of a write's first and last
    beat that it does not touch are masked.

    Latency: none for requests and reads; a wide beat to write is offered with its last narrow one.
    Throughput: one narrow beat per cycle, without a gap inside a burst or between two.

    Parameters
    ----------
    beat_bytes : int
        Bytes of a narrow beat.
    memory_beat_bytes : int
        Bytes of a beat of the memory, 2, 4, 8 or 16 times as many.
    outstanding : int
        Largest number of requests of one direction under way.

    Members
    -------
    port : In(MemoryPort(beat_bytes))
    memory : Out(MemoryPort(memory_beat_bytes))
    """

    def __init__(self, *, beat_bytes: int, memory_beat_bytes: int, outstanding: int = 8) -> None:
        if memory_beat_bytes not in [ratio * beat_bytes for ratio in (2, 4, 8, 16)]:
            raise ValueError(
                f"A beat of the memory must be 2, 4, 8 or 16 narrow beats of {beat_bytes!r} bytes, "
                f"not {memory_beat_bytes!r} bytes"
            )
        self.ratio = memory_beat_bytes // beat_bytes
        self._beat_bytes, self._memory_beat_bytes = beat_bytes, memory_beat_bytes
        lanes = exact_log2(self.ratio)
        #: Of requests under way, by direction: lane of the first narrow beat, beats less one.
        self._begun = [
            ShiftQueue(
                shape=data.StructLayout({"lane": unsigned(lanes), "beats": unsigned(8)}),
                depth=outstanding,
            )
            for _ in ("reads", "writes")
        ]
        super().__init__(
            {"port": In(MemoryPort(beat_bytes)), "memory": Out(MemoryPort(memory_beat_bytes))}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.reads, m.submodules.writes = reads, writes = self._begun
        asked, given = self.port.req, self.memory.req
        lanes, shift = exact_log2(self.ratio), exact_log2(self._beat_bytes)
        lane = asked.payload.address[shift : shift + lanes]
        space = Signal()
        m.d.comb += [
            space.eq(reads.i.ready & writes.i.ready),
            given.valid.eq(asked.valid & space),
            asked.ready.eq(given.ready & space),
            given.payload.address.eq(asked.payload.address & -self._memory_beat_bytes),
            given.payload.beats.eq((lane + asked.payload.beats) >> lanes),
            given.payload.write.eq(asked.payload.write),
        ]
        for queue, mine in ((reads, ~asked.payload.write), (writes, asked.payload.write)):
            m.d.comb += [
                queue.i.valid.eq(given.valid & given.ready & mine),
                queue.i.payload.lane.eq(lane),
                queue.i.payload.beats.eq(asked.payload.beats),
            ]
        self._pack(m, writes)
        self._unpack(m, reads)
        return m

    def _place(self, m, queue, beat):
        """Lane of the narrow beat, and whether it is the last of its wide beat and of its request;
        ``beat``: it is transferred."""
        passed = Signal(8)
        lane, last, final = Signal(exact_log2(self.ratio)), Signal(), Signal()
        m.d.comb += [
            lane.eq(queue.o.payload.lane + passed),
            final.eq(passed == queue.o.payload.beats),
            last.eq(final | lane.all()),
            queue.o.ready.eq(beat & final),
        ]
        with m.If(beat):
            m.d.sync += passed.eq(passed + 1)
            with m.If(final):
                m.d.sync += passed.eq(0)
        return lane, last, final

    def _pack(self, m, writes):
        narrow, wide, beat = self.port.w, self.memory.w, Signal()
        lane, last, _ = self._place(m, writes, beat)
        held_data = Signal.like(wide.payload.data, reset_less=True)
        held_mask = Signal.like(wide.payload.mask)
        bits, size = 8 * self._beat_bytes, self._beat_bytes
        m.d.comb += [
            beat.eq(narrow.valid & narrow.ready),
            narrow.ready.eq(writes.o.valid & (wide.ready | ~last)),
            wide.valid.eq(narrow.valid & writes.o.valid & last),
            wide.payload.data.eq(held_data),
            wide.payload.mask.eq(held_mask),
        ]
        for k in range(self.ratio):
            with m.If(lane == k):
                m.d.comb += [
                    wide.payload.data[k * bits :][:bits].eq(narrow.payload.data),
                    wide.payload.mask[k * size :][:size].eq(narrow.payload.mask),
                ]
        with m.If(beat):
            m.d.sync += [held_data.eq(wide.payload.data), held_mask.eq(wide.payload.mask)]
            with m.If(last):
                m.d.sync += held_mask.eq(0)
        m.d.comb += [
            self.port.ack.valid.eq(self.memory.ack.valid),
            self.port.ack.payload.eq(self.memory.ack.payload),
            self.memory.ack.ready.eq(self.port.ack.ready),
        ]

    def _unpack(self, m, reads):
        narrow, wide, beat = self.port.r, self.memory.r, Signal()
        lane, last, final = self._place(m, reads, beat)
        m.d.comb += [
            beat.eq(narrow.valid & narrow.ready),
            narrow.valid.eq(wide.valid & reads.o.valid),
            wide.ready.eq(narrow.ready & reads.o.valid & last),
            narrow.payload.data.eq(wide.payload.data.word_select(lane, 8 * self._beat_bytes)),
            narrow.payload.error.eq(wide.payload.error),
            narrow.payload.last.eq(final),
        ]
