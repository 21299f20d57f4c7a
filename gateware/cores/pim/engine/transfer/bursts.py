# SPDX-License-Identifier: BSD-2-Clause
"""Request queue of ld and st, in program order, and the acknowledgements of st."""

from amaranth import Cat, Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from .....memory.port import RequestLayout
from .....parts.queues import ShiftQueue
from ..commands import TAG_BITS

__all__ = ["BURST", "Bursts"]

#: Beats of a burst, at most. A memory gives its full speed to bursts of this length that follow
#: each other, and the code of another core does not wait long behind one.
BURST = 64
#: Writes requested and not acknowledged, at most.
_WRITES = 8


class Bursts(wiring.Component):
    """Request queue: one request per cycle.

    Parameters
    ----------
    beat_bytes : int
    memory_size : int, bytes of main memory

    Members
    -------
    start : In, one cycle, while ``free``: ``address`` (any), ``size`` (at least 1),
        ``write``, ``tag``; ``leaves``: it ends past the memory
    free : Out, the next start may come
    request : Out(stream of RequestLayout)
    ack : In(stream): of the memory port
    done : Out, one cycle, a write is in memory: ``done_tag``, ``error``,
        ``error_address``; ``hold`` : In, level: not now
    quiet : Out, no request is to be made, no acknowledgement to come
    """

    def __init__(self, *, beat_bytes: int, memory_size: int) -> None:
        self.beat_bytes, self.memory_size = beat_bytes, memory_size
        super().__init__(
            {
                "start": In(1),
                "address": In(32),
                "size": In(11),
                "write": In(1),
                "leaves": In(1),
                "tag": In(TAG_BITS),
                "free": Out(1),
                "request": Out(stream.Signature(RequestLayout())),
                "ack": In(stream.Signature(data.StructLayout({"error": unsigned(1)}))),
                "done": Out(1),
                "done_tag": Out(TAG_BITS),
                "error": Out(1),
                "error_address": Out(32),
                "hold": In(1),
                "quiet": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        part = exact_log2(self.beat_bytes)
        burst = min(BURST, 256)
        low = exact_log2(burst)
        out, ack = self.request, self.ack
        active, writes, tag = Signal(), Signal(), Signal(TAG_BITS)
        address = Signal(32 - part)  # in beats
        left = Signal(12)  # beats less one
        last, made = Signal(), Signal()
        # For every requested write: whether it ends its st, and the tag of that st.
        m.submodules.owed = owed = ShiftQueue(
            shape=data.StructLayout({"last": 1, "tag": TAG_BITS}), depth=_WRITES
        )
        m.d.comb += [
            self.free.eq(~active),
            last.eq(left[low:] == 0),
            made.eq(active & (~out.valid | out.ready) & (~writes | owed.i.ready)),
            owed.i.valid.eq(made & writes),
            owed.i.payload.last.eq(last),
            owed.i.payload.tag.eq(tag),
        ]
        with m.If(out.ready):
            m.d.sync += out.valid.eq(0)
        with m.If(made):
            m.d.sync += [
                out.valid.eq(1),
                out.payload.address.eq(address << part),
                out.payload.write.eq(writes),
                out.payload.beats.eq(Mux(last, left[:low], burst - 1)),
                address.eq(address + burst),
                left.eq(Cat(left[:low], left[low:] - 1)),
            ]
            with m.If(last):
                m.d.sync += active.eq(0)
        with m.If(self.start):
            m.d.sync += [
                active.eq(1),
                writes.eq(self.write),
                tag.eq(self.tag),
                address.eq(self.address[part:]),
                left.eq((self.address[:part] + self.size - 1) >> part),
            ]

        # Fault address of a st. No other is issued after one that leaves the memory; its illegal
        # range begins with its first byte past the end.
        begin, leaves = Signal(32), Signal()
        with m.If(self.start & self.write):
            m.d.sync += [begin.eq(self.address), leaves.eq(self.leaves)]
        error = Signal()
        m.d.comb += [
            ack.ready.eq(~self.hold),
            owed.o.ready.eq(ack.valid & ack.ready),
            self.done.eq(ack.valid & ack.ready & owed.o.payload.last),
            self.done_tag.eq(owed.o.payload.tag),
            self.error.eq(error | ack.payload.error),
            self.error_address.eq(
                Mux(leaves & (begin < self.memory_size), self.memory_size, begin)
            ),
            self.quiet.eq(~active & ~out.valid & ~owed.o.valid),
        ]
        with m.If(ack.valid & ack.ready):
            m.d.sync += error.eq(self.error & ~owed.o.payload.last)
        return m
