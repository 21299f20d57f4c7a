# SPDX-License-Identifier: BSD-2-Clause
"""Store datapath: converts groups of the post unit, or zeros, to beats (sections 4.5 and 4.6)."""

from amaranth import Module, Mux, Signal
from amaranth.lib import fifo, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from .....isa.parameters import Params
from .....memory.port import MAX_BEATS, MemoryPort
from .....parts.queues import StreamBuffer
from ...types import type_set
from ..commands import out_layout
from .requests import burst_of

__all__ = ["Stores", "is_fast"]


def is_fast(params: Params, beat_bytes: int) -> bool:
    """Whether the post unit delivers at least one beat per cycle without pooling."""
    return params["out_lanes"] * type_set(params).ifm_bytes >= beat_bytes


class Stores(wiring.Component):
    """Store datapath: packs groups into beats and delivers the requested beats.

    A request may be made once its beats are sure to come without waiting: they are in the buffer,
    or the post unit gives one a cycle. So a slow ``store`` never holds the memory.

    Parameters
    ----------
    params : dict of ``SPACE.resolve``
    beat_bytes : int

    Members
    -------
    start : In, one cycle, a ``store`` or ``pad`` begins: ``zeros`` (pad),
        ``ofm_c`` (log2), ``pooled`` (its window is not 1 x 1)
    out : In(stream), groups of the post unit, from the third cycle after ``start`` on
    made, made_beats : In, a write was requested, of so many beats less one
    allow : Out, another request of this transfer may be made
    stop : In, level: outstanding beats are drained with nothing in them
    w : Out(stream), write data of the memory port
    outstanding : Out, beats requested and not yet given are left
    bytes : Out, bytes written in this cycle
    """

    def __init__(self, *, params: Params, beat_bytes: int) -> None:
        self.params, self.beat_bytes = params, beat_bytes
        super().__init__(
            {
                "start": In(1),
                "zeros": In(1),
                "ofm_c": In(3),
                "pooled": In(1),
                "out": In(stream.Signature(out_layout(params))),
                "made": In(1),
                "made_beats": In(8),
                "allow": Out(1),
                "stop": In(1),
                "w": Out(MemoryPort(beat_bytes).members["w"].signature),
                "outstanding": Out(1),
                "bytes": Out(range(beat_bytes + 1)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p, size, w = self.params, self.beat_bytes, self.w
        element = type_set(p).ifm_bytes
        lanes = p["out_lanes"]
        group = lanes * element  # bytes of a group
        burst = burst_of(size)

        # Of the transfer under way
        zeros, collect = Signal(), Signal()
        channels_log = Signal(3)
        mask = Signal(size)
        per_beat = Signal(range(size + 1))  # bytes of each beat
        with m.If(self.start):
            m.d.sync += [
                zeros.eq(self.zeros),
                channels_log.eq(self.ofm_c),
                collect.eq(self.pooled | (0 if is_fast(p, size) else 1)),
            ]
        position = Signal(range(size + 1))  # bytes of a position, a beat at most
        m.d.comb += position.eq(size)
        for k in range(1, 7):
            if (element << k) < size:
                with m.If(~zeros & (channels_log == k)):
                    m.d.comb += position.eq(element << k)
        m.d.sync += [per_beat.eq(position), mask.eq((1 << position) - 1)]

        # Groups to beats
        m.submodules.buffer = buffer = fifo.SyncFIFOBuffered(width=8 * size, depth=2 * burst)
        push, beat, room = Signal(), Signal(8 * size), Signal()
        m.d.comb += [room.eq(buffer.w_rdy), buffer.w_en.eq(push), buffer.w_data.eq(beat)]
        if group >= size:
            # One group becomes one beat or several.
            held, left, full = (
                Signal(8 * group, reset_less=True),
                Signal(range(max(2, group // size))),
                Signal(),
            )
            most = Signal.like(left)  # beats of a group, less one
            count = Signal.like(left)
            m.d.comb += count.eq(group // size - 1)
            for k in range(1, exact_log2(lanes)):
                with m.If(channels_log == k):
                    m.d.comb += count.eq(max(1, (element << k) // size) - 1)
            m.d.sync += most.eq(count)
            m.d.comb += [
                push.eq(full & room),
                beat.eq(held[: 8 * size]),
                self.out.ready.eq(~full | room & (left == 0)),
            ]
            with m.If(push):
                m.d.sync += [left.eq(left - 1), held.eq(held >> 8 * size)]
            with m.If(self.out.ready):
                m.d.sync += [full.eq(self.out.valid), held.eq(self.out.payload.data), left.eq(most)]
        else:
            # Several groups become one beat; a position with fewer channels than a beat holds ends
            # its beat.
            parts = size // group
            held, place, full = Signal(8 * size, reset_less=True), Signal(range(parts)), Signal()
            last, count = Signal.like(place), Signal.like(place)
            m.d.comb += count.eq(parts - 1)
            for k in range(1, exact_log2(size // element)):
                with m.If(channels_log == k):
                    m.d.comb += count.eq(max(1, (1 << k) // lanes) - 1)
            m.d.sync += last.eq(count)
            m.d.comb += [push.eq(full & room), beat.eq(held), self.out.ready.eq(~full | room)]
            with m.If(push):
                m.d.sync += full.eq(0)
            with m.If(self.out.valid & self.out.ready):
                m.d.sync += place.eq(place + 1)
                with m.Switch(place):
                    for k in range(parts):
                        with m.Case(k):
                            m.d.sync += held[8 * group * k : 8 * group * (k + 1)].eq(
                                self.out.payload.data
                            )
                with m.If(place == last):
                    m.d.sync += [place.eq(0), full.eq(1)]

        # Beats that wait and are not asked for yet: those of the next request must be there.
        waiting = Signal(range(2 * burst + 4))
        enough = Signal()
        wanted = Signal(9)
        m.d.comb += wanted.eq(self.made_beats + 1)
        # A request is counted a cycle after it was made, and there is none in that cycle where it
        # would matter.
        made, made_beats = Signal(), Signal(9, reset_less=True)
        m.d.sync += [made.eq(self.made), made_beats.eq(wanted)]
        m.d.sync += [
            waiting.eq(waiting + push - Mux(made & collect, made_beats, 0)),
            enough.eq((waiting >= wanted) & ~self.made & ~made),
        ]
        begun = Signal()
        with m.If(push):
            m.d.sync += begun.eq(1)
        with m.If(self.start):
            m.d.sync += [waiting.eq(0), begun.eq(0), enough.eq(0)]
        m.d.comb += self.allow.eq(zeros | Mux(collect, enough, begun))

        # Beats outstanding to the memory. A beat once offered stands, whatever happens.
        m.submodules.offer = offer = StreamBuffer(shape=w.payload.shape())
        wiring.connect(m, offer.o, wiring.flipped(w))
        owed = Signal(range(16 * MAX_BEATS))
        give = Signal()
        m.d.comb += [
            self.outstanding.eq((owed != 0) | made | offer.o.valid),
            offer.i.valid.eq((owed != 0) & (zeros | self.stop | buffer.r_rdy)),
            give.eq(offer.i.valid & offer.i.ready),
            offer.i.payload.data.eq(Mux(zeros, 0, buffer.r_data)),
            offer.i.payload.mask.eq(Mux(self.stop, 0, mask)),
            buffer.r_en.eq(give & ~zeros),
        ]
        m.d.sync += [
            owed.eq(owed + Mux(made, made_beats, 0) - give),
            self.bytes.eq(Mux(give & ~self.stop, per_beat, 0)),
        ]
        return m
