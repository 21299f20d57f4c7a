# SPDX-License-Identifier: BSD-2-Clause
"""Pipelined main memory in block RAM, whose clock frequency does not depend on its size."""

from collections.abc import Collection

from amaranth import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, connect, flipped

from ..arguments import check_beat_bytes
from ..parts.queues import RAMQueue, StreamBuffer
from ..primitives.maskedram import MaskedRAM
from .port import MemoryPort, RequestLayout
from .words import check_size

__all__ = ["PipelinedBlockRAM"]


class PipelinedBlockRAM(wiring.Component):
    """Main memory in block RAM: one beat per cycle, byte masks, register stages on all paths to and
    from the blocks.

    The blocks of a large memory are spread over the chip, so that a signal that reaches all of them
    takes most of a clock period. Here only registers drive them, and none of them ever waits: a
    read is begun only if the queue of answers has space for its beat (a credit).

    Latency: the first beat of a read is offered 7 cycles after its request was taken, the
    acknowledgement of a write 6 cycles after its last beat; a cycle more where the RAM consists of
    several banks (:func:`~quintet.gateware.primitives.maskedram.banks_of`). Throughput: one beat
    per cycle, bursts and single beats back to back. A request that is out of bounds is answered
    with an error and writes nothing.

    Parameters
    ----------
    size : int
        Bytes, a multiple of `beat_bytes`.
    beat_bytes : int
        1, 2, 4, 8 or 16.
    family : ``"ecp5"``, ``"ice40"`` or ``None``

    Members
    -------
    port : In(MemoryPort(beat_bytes))
        No combinational path leads from one of its streams to another.
    """

    kind = "block RAM"

    def __init__(self, *, size: int, beat_bytes: int, family: str | None = None) -> None:
        check_beat_bytes(beat_bytes, (1, 2, 4, 8, 16))
        check_size(size, beat_bytes)
        self.size = size
        self.beat_bytes = beat_bytes
        self._ram = MaskedRAM(width=beat_bytes, depth=size // beat_bytes, family=family)
        #: Cycles from the step that begins a read to the one in which its credit can be spent
        #: again: the register in front of the RAM, the RAM, the queue, the count.
        self._most = self._ram.latency + 3
        super().__init__({"port": In(MemoryPort(beat_bytes))})

    def floorplan(self, device: str, taken: Collection[str] = ()) -> dict[str, str]:
        """Placement of block RAMs by name, as in ``Engine.floorplan``, none at sites ``taken``."""
        places = self._ram.floorplan(device, taken)
        return {f"ram.{name}": place for name, place in places.items()}

    def elaborate(self, platform: object) -> Module:
        m = Module()
        port = self.port
        words = self.size // self.beat_bytes
        shift = self.beat_bytes.bit_length() - 1
        ram = m.submodules.ram = self._ram
        requests = m.submodules.requests = StreamBuffer(shape=RequestLayout())
        writes = m.submodules.writes = StreamBuffer(shape=port.w.payload.shape())
        connect(m, flipped(port.req), requests.i)
        connect(m, flipped(port.w), writes.i)

        # Beats that an answer belongs to.
        answer = data.StructLayout({"valid": 1, "ack": 1, "error": 1, "last": 1})
        answers = m.submodules.answers = RAMQueue(
            shape=data.StructLayout({"r": port.r.payload.shape(), "ack": 1})
        )

        # The walk over the beats of a request.
        busy, write, error = Signal(), Signal(), Signal()
        address, left = Signal(len(ram.address)), Signal(8)
        asked = requests.o.payload
        low, high = asked.address[shift:][: len(address)], asked.address[shift + len(address) :]
        credits = Signal(range(self._most + 1), init=self._most)
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

        # Registers in front of the RAM, and the purpose of each of its answers.
        steps = [Signal(answer, name=f"answer_s{k + 1}") for k in range(1 + ram.latency)]
        address_s1, write_s1 = Signal.like(ram.address), Signal.like(port.w.payload)
        m.d.comb += [
            ram.address.eq(address_s1),
            ram.write_data.eq(write_s1.data),
            ram.mask.eq(write_s1.mask),
        ]
        m.d.sync += [
            address_s1.eq(address),
            write_s1.data.eq(writes.o.payload.data),
            write_s1.mask.eq(Mux(step & write & ~error, writes.o.payload.mask, 0)),
            steps[0].valid.eq(spent),
            steps[0].ack.eq(write),
            steps[0].error.eq(error),
            steps[0].last.eq(left == 0),
        ]
        m.d.sync += [later.eq(now) for now, later in zip(steps, steps[1:], strict=False)]

        # The queue of answers.
        put, got = answers.entry, answers.o.payload
        m.d.comb += [
            answers.put.eq(steps[-1].valid),
            put.r.data.eq(ram.read_data),
            put.r.error.eq(steps[-1].error),
            put.r.last.eq(steps[-1].last),
            put.ack.eq(steps[-1].ack),
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
