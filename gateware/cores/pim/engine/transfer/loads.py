# SPDX-License-Identifier: BSD-2-Clause
"""Load datapath of ``ld``: writes beats to LMem."""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import data, fifo, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from .....isa.parameters import Params
from .....memory.port import ReadLayout
from ..commands import TAG_BITS, LMemWrite, address_bits, lmem_word_bytes

__all__ = ["Loads", "load_depth", "piece_bytes"]


def piece_bytes(params: Params, beat_bytes: int) -> int:
    """Bytes per transfer between memory and LMem: a beat, or a word of LMem if that is smaller."""
    return min(beat_bytes, lmem_word_bytes(params))


def load_depth(params: Params) -> int:
    """Number of loads whose answers may be outstanding."""
    return 4 if lmem_word_bytes(params) >= 4 else 1


class Loads(wiring.Component):
    """Load datapath: writes each beat, or a fraction of one, to LMem at its own address. LMem
    accepts any alignment, so no bytes are shifted here.

    Parameters
    ----------
    params : dict of ``SPACE.resolve``
    beat_bytes : int
    memory_size : int, bytes of main memory

    Members
    -------
    start : In, one cycle, while ``free``: ``address`` (main memory), ``place`` (LMem),
        ``size``, ``tag`` of a ld; ``leaves``: it ends past the memory
    free : Out; quiet : Out, no answer is to come
    r : In(stream): answers of the memory port
    write : Out(LMemWrite)
    done : Out, one cycle, the last byte is written: ``done_tag``, ``error``, ``error_address``
    bytes : Out, bytes written in this cycle
    """

    def __init__(self, *, params: Params, beat_bytes: int, memory_size: int) -> None:
        self.params, self.beat_bytes, self.memory_size = params, beat_bytes, memory_size
        super().__init__(
            {
                "start": In(1),
                "address": In(32),
                "place": In(address_bits(params)),
                "size": In(11),
                "leaves": In(1),
                "tag": In(TAG_BITS),
                "free": Out(1),
                "quiet": Out(1),
                "r": In(stream.Signature(ReadLayout(beat_bytes))),
                "write": Out(LMemWrite(params)),
                "done": Out(1),
                "done_tag": Out(TAG_BITS),
                "error": Out(1),
                "error_address": Out(32),
                "bytes": Out(range(beat_bytes + 1)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        size = self.beat_bytes
        piece = piece_bytes(self.params, size)
        part, low, places = exact_log2(size), exact_log2(piece), size // piece
        r, request = self.r, self.write.request
        entry = data.StructLayout(
            {"place": len(self.place), "size": 11, "tag": TAG_BITS, "address": 32, "leaves": 1}
        )
        given = Signal(entry)
        m.d.comb += [
            given.place.eq(self.place),
            given.size.eq(self.size),
            given.tag.eq(self.tag),
            given.address.eq(self.address),
            given.leaves.eq(self.leaves),
        ]

        active, now = (
            Signal(),
            Signal(entry),
        )  # `size`: bytes to come; `at`: place of the first in its beat
        error, at = Signal(), Signal(max(1, part))
        write, last, ends = Signal(), Signal(), Signal()
        begins = Signal()  # the next ld takes its turn
        upcoming = Signal(entry)
        depth = load_depth(self.params)
        if depth > 1:
            m.submodules.queue = queue = fifo.SyncFIFO(width=entry.size, depth=depth)
            m.d.comb += [
                queue.w_data.eq(given),
                queue.w_en.eq(self.start),
                self.free.eq(queue.w_rdy),
                upcoming.eq(queue.r_data),
                queue.r_en.eq(begins),
                begins.eq(queue.r_rdy & (~active | ends)),
                self.quiet.eq(~active & ~queue.r_rdy),
            ]
        else:
            m.d.comb += [
                upcoming.eq(given),
                begins.eq(self.start),
                self.free.eq(~active),
                self.quiet.eq(~active),
            ]

        # Bytes lo .. hi - 1 of this write.
        lo, hi = Signal(range(max(2, piece))), Signal(range(piece + 1))
        room = Signal(range(piece + 1))
        m.d.comb += [
            lo.eq(at[:low] if low else 0),
            room.eq(piece - lo),
            last.eq(now.size <= room),
            hi.eq(Mux(last, lo + now.size, piece)),
            self.bytes.eq(Mux(write, hi - lo, 0)),
        ]
        whole = at[low:part].all() if places > 1 else 1  # the last write of its beat
        mask = Cat((lo <= k) & (hi > k) for k in range(piece))
        source = (
            r.payload.data.word_select(at[low:part], 8 * piece) if places > 1 else r.payload.data
        )
        m.d.comb += [
            request.valid.eq(active & r.valid),
            request.payload.address.eq(now.place - lo),
            request.payload.data.eq(source),
            request.payload.mask.eq(mask),
            write.eq(request.valid & request.ready),
            ends.eq(write & last),
            r.ready.eq(active & request.ready & (last | whole)),
            self.done.eq(ends),
            self.done_tag.eq(now.tag),
            self.error.eq(error | r.payload.error),
        ]
        # The memory refuses a burst as a whole; what leaves it begins with its first byte past the
        # end.
        inside = now.address < self.memory_size
        m.d.comb += self.error_address.eq(Mux(now.leaves & inside, self.memory_size, now.address))
        with m.If(write):
            m.d.sync += [
                now.place.eq(now.place + room),
                now.size.eq(now.size - room),
                at.eq(at + room),
                error.eq(self.error & ~last),
            ]
            with m.If(last):
                m.d.sync += active.eq(0)
        with m.If(begins):
            m.d.sync += [active.eq(1), now.eq(upcoming), at.eq(upcoming.address[:part])]
        return m
