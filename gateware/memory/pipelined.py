# SPDX-License-Identifier: BSD-2-Clause
"""Pipelined main memory in block RAM, whose clock does not depend on its size."""

from amaranth import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, connect, flipped

from ..arguments import check_beat_bytes
from ..parts.queues import ShiftQueue, StreamBuffer
from .port import MemoryPort, RequestLayout
from .words import check_size

__all__ = ["PipelinedBlockRAM"]


class PipelinedBlockRAM(wiring.Component):
    """Main memory in block RAM: one beat per cycle, byte masks, registers on every way to and from
    the blocks.

    The blocks of a large memory are spread over the chip, so that a signal that reaches all of them
    takes most of a clock period. Here only registers drive them, and none of them ever waits: a
    read is begun only if the queue of answers has space for its beat (a credit).

    Latency: the first beat of a read is offered 6 cycles after its request was taken, the
    acknowledgement of a write 5 cycles after its last beat. Throughput: one beat per cycle, bursts
    and single beats back to back. A request that is out of bounds is answered with an error and
    writes nothing.

    Parameters
    ----------
    size : int
        Bytes, a multiple of `beat_bytes`.
    beat_bytes : int
        1, 2, 4, 8 or 16.

    Members
    -------
    port : In(MemoryPort(beat_bytes))
        No combinational path leads from one of its streams to another.
    """

    kind = "block RAM"

    #: Cycles from the step that begins a read to the one in which its credit can be spent again:
    #: the registers in front of the blocks and behind them, the queue, the count.
    CREDITS = 5

    def __init__(self, *, size: int, beat_bytes: int) -> None:
        check_beat_bytes(beat_bytes, (1, 2, 4, 8, 16))
        check_size(size, beat_bytes)
        self.size = size
        self.beat_bytes = beat_bytes
        super().__init__({"port": In(MemoryPort(beat_bytes))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        port = self.port
        words = self.size // self.beat_bytes
        shift = self.beat_bytes.bit_length() - 1
        memory = m.submodules.memory = Memory(shape=8 * self.beat_bytes, depth=words, init=[])
        reader, writer = memory.read_port(), memory.write_port(granularity=8)
        requests = m.submodules.requests = StreamBuffer(shape=RequestLayout())
        writes = m.submodules.writes = StreamBuffer(shape=port.w.payload.shape())
        connect(m, flipped(port.req), requests.i)
        connect(m, flipped(port.w), writes.i)

        # Beats that an answer belongs to.
        answer = data.StructLayout({"valid": 1, "ack": 1, "error": 1, "last": 1})
        answers = m.submodules.answers = ShiftQueue(
            shape=data.StructLayout({"r": port.r.payload.shape(), "ack": 1}), depth=self.CREDITS
        )

        # The walk over the beats of a request.
        busy, write, error = Signal(), Signal(), Signal()
        address, left = Signal(len(reader.addr)), Signal(8)
        asked = requests.o.payload
        low, high = asked.address[shift:][: len(address)], asked.address[shift + len(address) :]
        credits = Signal(range(self.CREDITS + 1), init=self.CREDITS)
        step, ends, spent, returned = Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            step.eq(busy & credits.any() & (~write | writes.o.valid)),
            ends.eq(step & (left == 0)),
            writes.o.ready.eq(step & write),
            requests.o.ready.eq(~busy | ends),
            spent.eq(step & (~write | (left == 0))),
        ]
        with m.If(step):
            m.d.sync += [address.eq(address + 1), left.eq(left - 1)]
        with m.If(requests.o.ready):
            m.d.sync += [
                busy.eq(requests.o.valid),
                write.eq(asked.write),
                address.eq(low),
                left.eq(asked.beats),
                error.eq((low + asked.beats >= words) | (high.any() if len(high) else 0)),
            ]

        # Stage 1: registers in front of the blocks.
        address_s1, write_s1 = Signal.like(reader.addr), Signal.like(port.w.payload)
        answer_s1, answer_s2, answer_s3 = Signal(answer), Signal(answer), Signal(answer)
        m.d.comb += [
            reader.addr.eq(address_s1),
            reader.en.eq(1),
            writer.addr.eq(address_s1),
            writer.data.eq(write_s1.data),
            writer.en.eq(write_s1.mask),
        ]
        m.d.sync += [
            address_s1.eq(address),
            write_s1.data.eq(writes.o.payload.data),
            write_s1.mask.eq(Mux(step & write & ~error, writes.o.payload.mask, 0)),
            answer_s1.valid.eq(spent),
            answer_s1.ack.eq(write),
            answer_s1.error.eq(error),
            answer_s1.last.eq(left == 0),
        ]
        # Stage 2: the blocks' own registers. Stage 3: a register behind them.
        data_s3 = Signal.like(reader.data, reset_less=True)
        m.d.sync += [answer_s2.eq(answer_s1), answer_s3.eq(answer_s2), data_s3.eq(reader.data)]

        # The queue of answers.
        put, got = answers.i.payload, answers.o.payload
        m.d.comb += [
            answers.i.valid.eq(answer_s3.valid),
            put.r.data.eq(data_s3),
            put.r.error.eq(answer_s3.error),
            put.r.last.eq(answer_s3.last),
            put.ack.eq(answer_s3.ack),
            port.r.valid.eq(answers.o.valid & ~got.ack),
            port.r.payload.eq(got.r),
            port.ack.valid.eq(answers.o.valid & got.ack),
            port.ack.payload.error.eq(got.r.error),
            answers.o.ready.eq(Mux(got.ack, port.ack.ready, port.r.ready)),
        ]
        m.d.comb += returned.eq(answers.o.valid & answers.o.ready)
        with m.If(spent & ~returned):
            m.d.sync += credits.eq(credits - 1)
        with m.Elif(returned & ~spent):
            m.d.sync += credits.eq(credits + 1)
        return m
