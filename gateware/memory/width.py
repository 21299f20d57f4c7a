# SPDX-License-Identifier: BSD-2-Clause
"""Width adapter: a memory port with wide beats for a memory with narrower beats."""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ..arguments import check_integer
from ..parts.queues import ShiftQueue
from .port import MAX_BEATS, MemoryPort, RequestLayout
from .words import check_size

__all__ = ["NOBODYS", "WidthAdapter"]

#: An address that no memory has: a request that leaves the memory is sent there, so that every part
#: of it is refused.
NOBODYS = 1 << 31


class WidthAdapter(wiring.Component):
    """Width adapter: serves wide beats from a narrower memory; each wide beat consists of `ratio`
    narrow ones, the lowest first.

    A burst that becomes longer than 256 beats of the memory is split into bursts of 256 and a rest;
    its side sees one burst, one `last` and one acknowledgement, with an error if any part had one.

    Latency: none; a wide beat is offered together with its last narrow beat. Throughput: one narrow
    beat per cycle, without a gap inside a burst or between two.

    Parameters
    ----------
    beat_bytes : int
        Bytes of a wide beat.
    memory_beat_bytes : int
        Bytes of a beat of the memory; `beat_bytes` is 2, 4, 8 or 16 times as many.
    longest : int
        Largest number of wide beats of a request. If none can become longer than 256 beats of the
        memory, nothing that splits is built.
    size : int or None
        Bytes of the memory, at most 2^31. A request that leaves it is refused whole: without this,
        the parts of a split write that lie inside would be written. ``None``: whoever asks keeps
        requests inside, or wholly outside.
    outstanding : int
        Parts of requests under way, where bursts are split.

    Members
    -------
    port : In(MemoryPort(beat_bytes))
    memory : Out(MemoryPort(memory_beat_bytes))
    """

    def __init__(
        self,
        *,
        beat_bytes: int,
        memory_beat_bytes: int,
        longest: int = MAX_BEATS,
        size: int | None = None,
        outstanding: int = 8,
    ) -> None:
        if beat_bytes not in [ratio * memory_beat_bytes for ratio in (2, 4, 8, 16)]:
            raise ValueError(
                f"A wide beat must be 2, 4, 8 or 16 beats of the memory's {memory_beat_bytes!r} "
                f"bytes, not {beat_bytes!r} bytes"
            )
        check_integer("The longest request", longest, 1, MAX_BEATS, unit="beats")
        if size is not None:
            check_size(size, beat_bytes, largest=NOBODYS)
        self.ratio = beat_bytes // memory_beat_bytes
        self.splits = longest * self.ratio > MAX_BEATS
        self._beat_bytes, self._memory_beat_bytes = beat_bytes, memory_beat_bytes
        self._size, self._outstanding = size, outstanding
        super().__init__(
            {"port": In(MemoryPort(beat_bytes)), "memory": Out(MemoryPort(memory_beat_bytes))}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        if self.splits:
            ends = self._split_requests(m)
        else:
            self._pass_requests(m)
            ends = Const(1)
        self._cut_writes(m)
        self._join_answers(m, ends)
        return m

    def _pass_requests(self, m):
        asked, given = self.port.req, self.memory.req
        shift = exact_log2(self.ratio)
        m.d.comb += [
            given.valid.eq(asked.valid),
            asked.ready.eq(given.ready),
            given.payload.address.eq(asked.payload.address),
            given.payload.write.eq(asked.payload.write),
            given.payload.beats.eq(Cat(Const(-1, shift), asked.payload.beats[: 8 - shift])),
        ]

    def _split_requests(self, m):
        """Splits a request into narrow ones; returns whether the outstanding answers belong to the
        last of them."""
        asked, given = self.port.req, self.memory.req
        shift = exact_log2(self.ratio)
        # One bit for each narrow request with an outstanding answer: whether it is the last of its
        # wide one.
        parts = m.submodules.parts = ShiftQueue(shape=1, depth=self._outstanding)
        # A request is taken with its first part, since its data may be offered only then; the
        # others come from registers.
        left = Signal(shift)  # parts of the request taken that are still to be requested
        rest, next_part = Signal(8, reset_less=True), Signal(RequestLayout(), reset_less=True)
        # Narrow beats, less one, are all ones below `beats`: the lower byte is the last part's, the
        # rest counts parts.
        beats, given_parts = Signal(8 + shift), Signal(shift)
        m.d.comb += [
            beats.eq(Cat(Const(-1, shift), asked.payload.beats)),
            given_parts.eq(Mux(left.any(), left - 1, beats[8:])),
            given.valid.eq((asked.valid | left.any()) & parts.i.ready),
            asked.ready.eq(given.ready & parts.i.ready & ~left.any()),
            parts.i.valid.eq(given.valid & given.ready),
            parts.i.payload.eq(~given_parts.any()),
            given.payload.beats.eq(
                Mux(given_parts.any(), MAX_BEATS - 1, Mux(left.any(), rest, beats[:8]))
            ),
            given.payload.write.eq(Mux(left.any(), next_part.write, asked.payload.write)),
            given.payload.address.eq(Mux(left.any(), next_part.address, asked.payload.address)),
        ]
        if self._size is not None:
            end = asked.payload.address + (asked.payload.beats + 1) * self._beat_bytes
            with m.If(~left.any() & (end > self._size)):
                m.d.comb += given.payload.address.eq(NOBODYS)
        with m.If(parts.i.valid):
            m.d.sync += [
                left.eq(given_parts),
                next_part.write.eq(given.payload.write),
                next_part.address.eq(given.payload.address + MAX_BEATS * self._memory_beat_bytes),
            ]
        with m.If(~left.any()):
            m.d.sync += rest.eq(beats[:8])
        answer = self.memory.r
        m.d.comb += parts.o.ready.eq(
            (answer.valid & answer.ready & answer.payload.last)
            | (self.memory.ack.valid & self.memory.ack.ready)
        )
        return parts.o.payload

    def _cut_writes(self, m):
        wide, narrow = self.port.w, self.memory.w
        # Beats of a burst are whole, so that write data and answers each count their narrow beats
        # separately.
        piece = Signal(exact_log2(self.ratio))
        m.d.comb += [
            narrow.valid.eq(wide.valid),
            wide.ready.eq(narrow.ready & piece.all()),
            narrow.payload.data.eq(wide.payload.data.word_select(piece, len(narrow.payload.data))),
            narrow.payload.mask.eq(wide.payload.mask.word_select(piece, len(narrow.payload.mask))),
        ]
        with m.If(narrow.valid & narrow.ready):
            m.d.sync += piece.eq(piece + 1)

    def _join_answers(self, m, ends):
        wide, narrow, answer = self.port.r, self.memory.r, self.memory.r.payload
        bits = len(answer.data)
        piece, whole = Signal(exact_log2(self.ratio)), Signal()
        before, failed = Signal(bits * (self.ratio - 1), reset_less=True), Signal()
        m.d.comb += [
            whole.eq(piece.all()),
            wide.valid.eq(narrow.valid & whole),
            narrow.ready.eq(wide.ready | ~whole),
            wide.payload.data.eq(Cat(before, answer.data)),
            wide.payload.error.eq(answer.error | failed),
            wide.payload.last.eq(answer.last & ends),
        ]
        with m.If(narrow.valid & narrow.ready):
            m.d.sync += [
                piece.eq(piece + 1),
                before.eq(Cat(before, answer.data)[bits:]),
                failed.eq(wide.payload.error & ~whole),
            ]
        done, refused = self.memory.ack, Signal()
        m.d.comb += [
            self.port.ack.valid.eq(done.valid & ends),
            done.ready.eq(self.port.ack.ready | ~ends),
            self.port.ack.payload.error.eq(done.payload.error | refused),
        ]
        if self.splits:
            with m.If(done.valid & done.ready):
                m.d.sync += refused.eq(~ends & self.port.ack.payload.error)
