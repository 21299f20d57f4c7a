# SPDX-License-Identifier: BSD-2-Clause
"""Answer queue of the SDRAM controller: in order, with reserved space for all outstanding
requests."""

from amaranth import Module, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..port import ReadLayout

__all__ = ["AnswerQueue"]

DEPTH = 16


class AnswerQueue(wiring.Component):
    """Answer FIFO of 16 entries: read data and write acknowledgements, in order.

    A token goes along with every access that has an answer; after ``latency`` further cycles it
    meets its data. The queue is of LUT RAM with a register behind.

    Parameters
    ----------
    beat_bytes : int
    latency : int
        Cycles from a token's to the moment that its data stand at ``dq``, less one.

    Members
    -------
    token : In, ``valid``, ``ack`` (else read data), ``last``, ``error``
    space : Out(1), a place is free; no token may come without. Registered
    dq : In, data of the input registers
    r, ack : Out, the streams of the memory port
    """

    def __init__(self, *, beat_bytes: int, latency: int) -> None:
        self.latency = latency
        self._token = data.StructLayout({"valid": 1, "ack": 1, "last": 1, "error": 1})
        super().__init__(
            {
                "token": In(self._token),
                "space": Out(1),
                "dq": In(8 * beat_bytes),
                "r": Out(stream.Signature(ReadLayout(beat_bytes))),
                "ack": Out(stream.Signature(data.StructLayout({"error": unsigned(1)}))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # Tokens in flight.
        token = self.token
        for stage in range(self.latency + 1):
            after = Signal(self._token, name=f"token_{stage}")
            m.d.sync += after.eq(token)
            token = after

        # Places: all that is in flight or waits.
        free = Signal(range(DEPTH + 1), init=DEPTH)
        taken = Signal()
        # Registered, and so one place early: a token of this cycle is not counted yet.
        m.d.sync += self.space.eq(free >= 2)
        with m.If(self.token.valid & ~taken):
            m.d.sync += free.eq(free - 1)
        with m.Elif(taken & ~self.token.valid):
            m.d.sync += free.eq(free + 1)

        entry = data.StructLayout({"data": unsigned(len(self.dq)), "ack": 1, "last": 1, "error": 1})
        memory = m.submodules.memory = Memory(shape=entry, depth=DEPTH, init=[])
        writer, reader = memory.write_port(), memory.read_port(domain="comb")
        level = Signal(range(DEPTH + 1))
        push, pop = Signal(), Signal()
        m.d.comb += [
            push.eq(token.valid),
            writer.en.eq(push),
            writer.data.data.eq(self.dq),
            writer.data.ack.eq(token.ack),
            writer.data.last.eq(token.last),
            writer.data.error.eq(token.error),
            taken.eq((self.r.valid & self.r.ready) | (self.ack.valid & self.ack.ready)),
            pop.eq((level != 0) & (taken | ~(self.r.valid | self.ack.valid))),
        ]
        m.d.sync += [
            writer.addr.eq(writer.addr + push),
            reader.addr.eq(reader.addr + pop),
            level.eq(level + push - pop),
        ]
        with m.If(taken):
            m.d.sync += [self.r.valid.eq(0), self.ack.valid.eq(0)]
        with m.If(pop):
            m.d.sync += [
                self.r.valid.eq(~reader.data.ack),
                self.ack.valid.eq(reader.data.ack),
                self.r.payload.data.eq(reader.data.data),
                self.r.payload.last.eq(reader.data.last),
                self.r.payload.error.eq(reader.data.error),
                self.ack.payload.error.eq(reader.data.error),
            ]
        return m
