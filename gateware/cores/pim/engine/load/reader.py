# SPDX-License-Identifier: BSD-2-Clause
"""Range reader of LOAD: turns memory ranges into streams of beats."""

from amaranth import Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from .....memory.port import MAX_BEATS, MemoryPort

__all__ = ["BEATS_BITS", "RangeReader"]

#: Bits of the number of beats of a range: the weights of 16 arrays of 256 x 256, byte by byte.
BEATS_BITS = 21
#: Requests under way.
_OUTSTANDING = 4


class RangeReader(wiring.Component):
    """Range reader: reads ranges in order, in bursts of 256 beats with four outstanding, until it
    is stopped.

    Parameters
    ----------
    beat_bytes : int

    Members
    -------
    ask : In(stream): ``address`` (a multiple of the beat), ``beats`` (at least 1).
        The next range is requested while beats of this one are to come.
    stop : In, level: queued ranges are dropped, outstanding data are discarded
    idle : Out, nothing is under way
    beats : Out(stream): ``data``, ``error``; without latency from the port
    memory : Out(MemoryPort)
    """

    def __init__(self, *, beat_bytes: int) -> None:
        self.beat_bytes = beat_bytes
        port = MemoryPort(beat_bytes)
        super().__init__(
            {
                "ask": In(
                    stream.Signature(
                        data.StructLayout({"address": unsigned(32), "beats": unsigned(BEATS_BITS)})
                    )
                ),
                "stop": In(1),
                "idle": Out(1),
                "beats": Out(
                    stream.Signature(
                        data.StructLayout({"data": unsigned(8 * beat_bytes), "error": unsigned(1)})
                    )
                ),
                "memory": Out(port),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        port, ask = self.memory, self.ask
        shift = exact_log2(self.beat_bytes)
        address, left = Signal(32 - shift), Signal(BEATS_BITS)  # remaining part of the range
        flying = Signal(range(_OUTSTANDING + 1))  # requests offered and not answered
        took, ended = Signal(), Signal()
        last = Signal()
        m.d.comb += [
            last.eq(left <= MAX_BEATS),
            took.eq(
                (left != 0)
                & (flying != _OUTSTANDING)
                & ~self.stop
                & (~port.req.valid | port.req.ready)
            ),
            ended.eq(port.r.valid & port.r.ready & port.r.payload.last),
            ask.ready.eq((left == 0) & ~self.stop),
            self.idle.eq((flying == 0) & ((left == 0) | self.stop)),
            self.beats.valid.eq(port.r.valid & ~self.stop),
            port.r.ready.eq(self.beats.ready | self.stop),
            self.beats.payload.data.eq(port.r.payload.data),
            self.beats.payload.error.eq(port.r.payload.error),
            port.ack.ready.eq(1),
        ]
        m.d.sync += flying.eq(flying + took - ended)
        with m.If(took):
            m.d.sync += [
                port.req.valid.eq(1),
                port.req.payload.address.eq(address << shift),
                port.req.payload.beats.eq(Mux(last, left - 1, MAX_BEATS - 1)),
                address.eq(address + MAX_BEATS),
                left.eq(Mux(last, 0, left - MAX_BEATS)),
            ]
        with m.Elif(port.req.ready):
            m.d.sync += port.req.valid.eq(0)
        with m.If(ask.valid & ask.ready):
            m.d.sync += [address.eq(ask.payload.address[shift:]), left.eq(ask.payload.beats)]
        with m.Elif(self.stop):
            m.d.sync += left.eq(0)
        return m
