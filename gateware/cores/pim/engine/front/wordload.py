# SPDX-License-Identifier: BSD-2-Clause
"""Scalar load ``sld``: loads a four-byte word from main memory, at any byte address (section
4.1)."""

from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from .....arguments import check_beat_bytes
from .....memory.port import MemoryPort

__all__ = ["WordLoad"]


class WordLoad(wiring.Component):
    """Word load unit: reads the beats that contain the four bytes.

    Parameters
    ----------
    beat_bytes : int, 1, 2, 4 or 8

    Members
    -------
    start : In, one cycle, while not ``busy``; address : In(32),
        holds still from ``start`` on while busy
    busy : Out; done : Out, one cycle, last of ``busy``:
        ``word`` and ``error`` (memory reported one) stand
    memory : Out(MemoryPort)
    """

    def __init__(self, *, beat_bytes: int) -> None:
        check_beat_bytes(beat_bytes)
        self.beat_bytes = beat_bytes
        super().__init__(
            {
                "start": In(1),
                "address": In(32),
                "busy": Out(1),
                "done": Out(1),
                "word": Out(32),
                "error": Out(1),
                "memory": Out(MemoryPort(beat_bytes)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        port, size = self.memory, self.beat_bytes
        low = exact_log2(size)
        asking, ends = Signal(), Signal()
        place = Signal(max(1, low))
        beats = Signal(2)  # less one
        if low:
            m.d.comb += place.eq(self.address[:low])
        m.d.comb += beats.eq({1: 3, 2: 1 + place[0], 4: place.any(), 8: place > 4}[size])
        m.d.comb += [
            port.req.valid.eq(asking),
            port.req.payload.address.eq(self.address[low:] << low),
            port.req.payload.beats.eq(beats),
            port.r.ready.eq(1),
            port.ack.ready.eq(1),
            ends.eq(port.r.valid & port.r.payload.last),
        ]
        with m.If(self.start):
            m.d.sync += [self.busy.eq(1), asking.eq(1), self.error.eq(0)]
        with m.If(asking & port.req.ready):
            m.d.sync += asking.eq(0)
        # The beats side by side, then shifted down a byte a cycle: that costs little logic.
        total = {1: 4, 2: 6, 4: 8, 8: 16}[size]
        taken, number, shifts, whole = (
            Signal(8 * total, reset_less=True),
            Signal(2),
            Signal(max(1, low)),
            Signal(),
        )
        with m.If(port.r.valid):
            with m.Switch(number):
                for k in range(total // size):
                    with m.Case(k):
                        m.d.sync += taken[8 * size * k : 8 * size * (k + 1)].eq(port.r.payload.data)
            m.d.sync += [number.eq(number + 1), self.error.eq(self.error | port.r.payload.error)]
        with m.Elif(whole & (shifts != 0)):
            m.d.sync += [taken.eq(taken >> 8), shifts.eq(shifts - 1)]
        with m.If(ends):
            m.d.sync += whole.eq(1)
        with m.If(self.start):
            m.d.sync += [number.eq(0), whole.eq(0), shifts.eq(place)]
        m.d.comb += [self.word.eq(taken[:32]), self.done.eq(self.busy & whole & (shifts == 0))]
        with m.If(self.done):
            m.d.sync += self.busy.eq(0)
        return m
