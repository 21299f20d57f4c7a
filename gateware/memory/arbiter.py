# SPDX-License-Identifier: BSD-2-Clause
"""Memory arbiter: one memory for several ports (docs/how/contracts.md, section 2)."""

from collections.abc import Iterable
from typing import cast

from amaranth import Cat, Module, Signal, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from ..arguments import check_integer, is_integer
from ..parts.queues import ShiftQueue
from .port import MemoryPort, RequestLayout

__all__ = ["MemoryArbiter"]


class MemoryArbiter(wiring.Component):
    """Round-robin arbiter: shares one memory port among several ports, one request at a time.

    A request is taken from the port whose turn it is, as soon as the memory has taken the one
    before; the choice is registered, so that a request reaches the memory one cycle after it was
    taken. Answers are routed in the order of the requests, without latency where the port has no
    buffer. Write data are taken from the ports in the order of the granted write requests: a port
    may offer its data before its turn, it then waits.

    Neither side loses throughput: one request a cycle, one beat a cycle in both directions.

    Parameters
    ----------
    beat_bytes : int
        Bytes of a beat of all ports.
    ports : int
        Number of ports, 1 to 16.
    outstanding : int
        Largest number of requests under way, 1 to 64.
    buffers : int or sequence of int
        Beats of answers that the arbiter holds for each port. 0: none, for a port that takes its
        answers as they come; if it does not, it stalls the others. Otherwise at least 4: a request
        is only taken when all its answers fit, so that a slow port delays none but itself. A burst
        longer than its port's whole buffer is taken when the buffer is empty, and may then stall
        others.

    Members
    -------
    port : array of In(MemoryPort)
    memory : Out(MemoryPort)

    Raises
    ------
    ValueError
        For an argument out of range.
    """

    def __init__(
        self, *, beat_bytes: int, ports: int, outstanding: int = 4, buffers: int | Iterable[int] = 0
    ) -> None:
        check_integer("Number of ports", ports, 1, 16)
        check_integer("Number of outstanding requests", outstanding, 1, 64)
        if is_integer(buffers):
            buffers = (buffers,) * ports
        try:
            buffers = tuple(cast(Iterable[int], buffers))
        except TypeError:
            raise ValueError(
                f"Buffers must be an integer or one integer per port, not {buffers!r}"
            ) from None
        if len(buffers) != ports:
            raise ValueError(
                f"Buffers must name one depth for each of the {ports} ports, not {len(buffers)}"
            )
        for depth in buffers:
            if not is_integer(depth) or not (depth == 0 or 4 <= depth <= 4096):
                raise ValueError(
                    f"Depth of a buffer must be 0 or an integer from 4 to 4096, not {depth!r}"
                )
        self.ports = ports
        self.outstanding = outstanding
        self.buffers = buffers
        super().__init__(
            {
                "port": In(MemoryPort(beat_bytes)).array(ports),
                "memory": Out(MemoryPort(beat_bytes)),
            }
        )
        # State that the proofs look at (tests/gateware/memory/test_memory_proofs.py).
        owner_bits = bits_for(ports - 1)
        self._turn = Signal(owner_bits)
        # Outstanding answers: one entry a request, in order.
        self._order = ShiftQueue(
            shape=data.StructLayout({"owner": unsigned(owner_bits), "write": 1}), depth=outstanding
        )
        # Granted writes whose data are to come. Two at most: the memory sees the second while it
        # takes the data of the first.
        writing = data.StructLayout({"owner": unsigned(owner_bits), "left": unsigned(8)})
        self._now, self._after = Signal(writing), Signal(writing)
        self._now_valid, self._after_valid = Signal(), Signal()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        memory = self.memory
        order = m.submodules.order = self._order

        # Whose turn it is.
        spaces = [self._space(m, i) for i in range(self.ports)]
        asks = Signal(self.ports)
        m.d.comb += asks.eq(
            Cat(port.req.valid & space for port, space in zip(self.port, spaces, strict=True))
        )
        turn, choice = self._turn, Signal.like(self._turn)
        with m.Switch(turn):
            for last in range(self.ports):
                with m.Case(last):
                    for step in range(self.ports, 0, -1):
                        candidate = (last + step) % self.ports
                        with m.If(asks[candidate]):
                            m.d.comb += choice.eq(candidate)
        chosen = Signal(RequestLayout())
        with m.Switch(choice):
            for i, port in enumerate(self.port):
                with m.Case(i):
                    m.d.comb += chosen.eq(port.req.payload)

        writes_ready = Signal()
        grant = Signal()
        m.d.comb += grant.eq(
            asks.any()
            & order.i.ready
            & (writes_ready | ~chosen.write)
            & (memory.req.ready | ~memory.req.valid)
        )
        with m.If(grant):
            m.d.sync += [memory.req.payload.eq(chosen), memory.req.valid.eq(1), turn.eq(choice)]
        with m.Elif(memory.req.ready):
            m.d.sync += memory.req.valid.eq(0)
        m.d.comb += [
            order.i.valid.eq(grant),
            order.i.payload.owner.eq(choice),
            order.i.payload.write.eq(chosen.write),
        ]
        for i, port in enumerate(self.port):
            m.d.comb += port.req.ready.eq(grant & (choice == i))

        self._route_writes(m, grant, choice, chosen, writes_ready)
        self._route_answers(m, order, grant, choice, spaces)
        return m

    def _space(self, m, i):
        """Whether the buffer of port ``i`` has space for all answers to its offered request."""
        space = Signal(name=f"room_{i}")
        if not self.buffers[i]:
            m.d.comb += space.eq(1)
        return space

    def _route_writes(self, m, grant, choice, chosen, writes_ready):
        memory = self.memory
        now, after, now_valid, after_valid = (
            self._now,
            self._after,
            self._now_valid,
            self._after_valid,
        )
        m.d.comb += writes_ready.eq(~after_valid)
        with m.Switch(now.owner):
            for i, port in enumerate(self.port):
                with m.Case(i):
                    m.d.comb += [
                        memory.w.payload.eq(port.w.payload),
                        memory.w.valid.eq(port.w.valid & now_valid),
                        port.w.ready.eq(memory.w.ready & now_valid),
                    ]
        beat = Signal()
        ends = Signal()
        m.d.comb += [beat.eq(memory.w.valid & memory.w.ready), ends.eq(beat & (now.left == 0))]
        with m.If(beat):
            m.d.sync += now.left.eq(now.left - 1)
        new = Signal()
        m.d.comb += new.eq(grant & chosen.write)
        with m.If(ends | ~now_valid):
            with m.If(after_valid):
                m.d.sync += [now.eq(after), now_valid.eq(1), after_valid.eq(0)]
            with m.Else():
                m.d.sync += [now.owner.eq(choice), now.left.eq(chosen.beats), now_valid.eq(new)]
        with m.Elif(new):
            m.d.sync += [after.owner.eq(choice), after.left.eq(chosen.beats), after_valid.eq(1)]

    def _route_answers(self, m, order, grant, choice, spaces):
        memory = self.memory
        head = order.o
        reads, writes = Signal(), Signal()
        m.d.comb += [
            reads.eq(head.valid & ~head.payload.write),
            writes.eq(head.valid & head.payload.write),
        ]
        m.d.comb += head.ready.eq(
            (memory.r.valid & memory.r.ready & memory.r.payload.last)
            | (memory.ack.valid & memory.ack.ready)
        )
        for i, port in enumerate(self.port):
            mine = Signal(name=f"mine_{i}")
            m.d.comb += mine.eq(head.payload.owner == i)
            if not self.buffers[i]:
                m.d.comb += [
                    port.r.payload.eq(memory.r.payload),
                    port.ack.payload.eq(memory.ack.payload),
                    port.r.valid.eq(memory.r.valid & reads & mine),
                    port.ack.valid.eq(memory.ack.valid & writes & mine),
                ]
                with m.If(mine):
                    m.d.comb += [
                        memory.r.ready.eq(port.r.ready & reads),
                        memory.ack.ready.eq(port.ack.ready & writes),
                    ]
            else:
                take = Signal(name=f"take_{i}")
                m.d.comb += take.eq(grant & (choice == i))
                self._buffer(m, i, mine, reads, writes, take, spaces[i])

    def _buffer(self, m, i, mine, reads, writes, take, space):
        """Answer queue of port ``i``, for read data and acknowledgements."""
        memory, port, depth = self.memory, self.port[i], self.buffers[i]
        entry = data.StructLayout({"r": memory.r.payload.shape(), "ack": 1})
        fifo = m.submodules[f"buffer_{i}"] = SyncFIFOBuffered(width=entry.size, depth=depth)
        put, got = Signal(entry), data.View(entry, fifo.r_data)
        with m.If(writes):
            m.d.comb += [put.ack.eq(1), put.r.error.eq(memory.ack.payload.error)]
        with m.Else():
            m.d.comb += put.r.eq(memory.r.payload)
        with m.If(mine):
            # Both are always ready but for a burst longer than the buffer.
            m.d.comb += [
                memory.r.ready.eq(reads & fifo.w_rdy),
                memory.ack.ready.eq(writes & fifo.w_rdy),
            ]
        m.d.comb += [
            fifo.w_data.eq(put),
            fifo.w_en.eq(mine & ((reads & memory.r.valid) | (writes & memory.ack.valid))),
            port.r.payload.eq(got.r),
            port.r.valid.eq(fifo.r_rdy & ~got.ack),
            port.ack.payload.error.eq(got.r.error),
            port.ack.valid.eq(fifo.r_rdy & got.ack),
        ]
        taken = Signal(name=f"taken_{i}")
        m.d.comb += [
            taken.eq((port.r.valid & port.r.ready) | (port.ack.valid & port.ack.ready)),
            fifo.r_en.eq(taken),
        ]
        # Beats granted and not yet taken by the port.
        reserved = Signal(range(depth + 256 + 1), name=f"reserved_{i}")
        needs = Signal(range(257), name=f"needs_{i}")
        asked = port.req.payload
        m.d.comb += needs.eq(1)
        with m.If(~asked.write):
            m.d.comb += needs.eq(asked.beats + 1)
        m.d.comb += space.eq((reserved == 0) | (reserved + needs <= depth))
        m.d.sync += reserved.eq(reserved - taken)
        with m.If(take):
            m.d.sync += reserved.eq(reserved + needs - taken)
