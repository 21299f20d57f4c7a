# SPDX-License-Identifier: BSD-2-Clause
"""Stream queues in flip-flops: one entry per cycle, latency one cycle.

:class:`StreamBuffer` has two entries and cuts every path between its sides; :class:`PairQueue` has
two and an ``i.ready`` that drives as much as it likes; :class:`ShiftQueue` has any number, whose
entries can be looked at; :class:`RAMQueue` has a power of two, in distributed RAM.
"""

from amaranth import Cat, Module, Mux, Shape, Signal, Value
from amaranth.hdl import ShapeLike
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..arguments import check_integer

__all__ = ["PairQueue", "RAMQueue", "ShiftQueue", "StreamBuffer"]


class ShiftQueue(wiring.Component):
    """FIFO of a few entries in flip-flops; entries shift towards the head.

    Costs about one logic cell a bit, where an addressed queue of that depth costs three. Latency:
    one cycle; one entry a cycle. ``i.ready`` does not depend on ``o.ready``: a full queue takes
    nothing in the cycle it gives.

    Parameters
    ----------
    shape : ShapeLike
        Shape of an entry.
    depth : int
        Number of entries, at least 1.

    Members
    -------
    i : In(stream), o : Out(stream)

    Attributes
    ----------
    contents : list of (Signal, Signal)
        Of every place, head first: whether it holds an entry, and the entry.
    """

    def __init__(self, *, shape: ShapeLike, depth: int) -> None:
        check_integer("Depth", depth, 1)
        self.depth = depth
        super().__init__({"i": In(stream.Signature(shape)), "o": Out(stream.Signature(shape))})
        # Without reset, as in a StreamBuffer.
        self._entries = [Signal(shape, name=f"entry_{i}", reset_less=True) for i in range(depth)]
        self._full = Signal(depth)  # thermometer: bit i is set when entry i holds something
        self.contents = list(zip(self._full, self._entries, strict=True))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        entries, full = self._entries, self._full
        push, pop = Signal(), Signal()
        m.d.comb += [
            self.i.ready.eq(~full[-1]),
            self.o.valid.eq(full[0]),
            self.o.payload.eq(entries[0]),
            push.eq(self.i.valid & self.i.ready),
            pop.eq(self.o.valid & self.o.ready),
        ]
        with m.If(pop & ~push):
            m.d.sync += full.eq(full >> 1)
        with m.Elif(push & ~pop):
            m.d.sync += full.eq(Cat(1, full))
        for i, entry in enumerate(entries):
            # The newest entry's place, after this cycle's shift, takes the new entry.
            newest = full[i] if i == self.depth - 1 else full[i] & ~full[i + 1]
            after = entries[i + 1] if i + 1 < self.depth else self.i.payload
            with m.If(pop):
                m.d.sync += entry.eq(after)
                with m.If(newest):
                    m.d.sync += entry.eq(self.i.payload)
            with m.Elif(~full[i]):
                m.d.sync += entry.eq(self.i.payload)
        return m


class StreamBuffer(wiring.Component):
    """Skid buffer of two entries, without combinational paths between ``i`` and ``o`` in either
    direction. Latency: one cycle.

    Parameters
    ----------
    shape : ShapeLike
        Shape of the payload.

    Members
    -------
    i : In(stream), o : Out(stream)
    """

    def __init__(self, *, shape: ShapeLike) -> None:
        super().__init__({"i": In(stream.Signature(shape)), "o": Out(stream.Signature(shape))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # Payloads without reset: unused values need not be 0, and a reset's wires are long.
        spare, payload = (
            Signal.like(self.i.payload, reset_less=True),
            Signal.like(self.o.payload, reset_less=True),
        )
        held = Signal()
        m.d.comb += [self.i.ready.eq(~held), self.o.payload.eq(payload)]
        with m.If(self.o.ready | ~self.o.valid):
            m.d.sync += [self.o.valid.eq(self.i.valid | held), held.eq(0)]
            with m.If(held):
                m.d.sync += payload.eq(spare)
            with m.Else():
                m.d.sync += payload.eq(self.i.payload)
        with m.Elif(self.i.valid & ~held):
            m.d.sync += [spare.eq(self.i.payload), held.eq(1)]
        return m


class PairQueue(wiring.Component):
    """FIFO of two entries, one per cycle, latency one cycle. ``i.ready`` comes directly from a
    flip-flop that nothing inside reads, so it may have a high fan-out without lengthening the
    queue's own loop. ``o.payload`` is 0 while the queue is empty.

    Parameters
    ----------
    shape : ShapeLike

    Members
    -------
    i : In(stream), o : Out(stream); ``o.ready`` only while ``o.valid``
    """

    def __init__(self, *, shape: ShapeLike) -> None:
        super().__init__({"i": In(stream.Signature(shape)), "o": Out(stream.Signature(shape))})
        #: The entry after the head, if there is one: for proofs.
        self.second = Signal(len(Value.cast(self.i.payload)), reset_less=True)
        #: ``i.ready`` of the next cycle: for copies of it.
        self.space_next = Signal()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bits = len(Value.cast(self.i.payload))
        head, second, new = Signal(bits), self.second, Signal(bits)
        held, full, space = Signal(), Signal(), Signal(init=1)
        pop, push, full_next = Signal(), Signal(), Signal()
        m.d.comb += [
            self.i.ready.eq(space),
            self.o.valid.eq(held),
            Value.cast(self.o.payload).eq(head),
            new.eq(Value.cast(self.i.payload) & self.i.valid.replicate(bits)),
            pop.eq(self.o.ready),
            push.eq(self.i.valid & ~full),
            full_next.eq(~pop & (full | (push & held))),
            self.space_next.eq(~full_next),
        ]
        m.d.sync += [
            full.eq(full_next),
            space.eq(self.space_next),
            held.eq((held & ~pop) | full | push),
        ]
        with m.If(pop | ~held):
            m.d.sync += head.eq(Mux(full, second, new))
        with m.If(~full):
            m.d.sync += second.eq(self.i.payload)
        return m


class RAMQueue(wiring.Component):
    """FIFO of wide entries in distributed RAM. A step changes two short counters, whatever the
    entries' width; a :class:`ShiftQueue` would move all entries. Latency: one cycle; one entry per
    cycle.

    Parameters
    ----------
    shape : ShapeLike
        Shape of an entry.
    depth : int
        Entries that it holds, a power of two.

    Members
    -------
    put : In(1)
        Takes ``entry`` in this cycle; only while ``space``.
    entry : In(shape)
    space : Out(1)
        A flip-flop: there is a free place.
    o : Out(stream)
        ``o.payload`` is read from the RAM in the same cycle; undefined while there is nothing.
    """

    def __init__(self, *, shape: ShapeLike, depth: int = 16) -> None:
        self._bits, self.depth = Shape.cast(shape).width, depth
        super().__init__(
            {
                "put": In(1),
                "entry": In(shape),
                "space": Out(1),
                "o": Out(stream.Signature(shape)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        cells = m.submodules.cells = Memory(shape=self._bits, depth=self.depth, init=[])
        writer, reader = cells.write_port(), cells.read_port(domain="comb")
        first, behind = Signal(range(self.depth)), Signal(range(self.depth))
        pop, held = Signal(), Signal(range(self.depth + 1))
        m.d.comb += [
            writer.en.eq(self.put),
            writer.addr.eq(behind),
            writer.data.eq(self.entry),
            reader.addr.eq(first),
            Value.cast(self.o.payload).eq(reader.data),
            pop.eq(self.o.valid & self.o.ready),
            self.space.eq(~held[-1]),  # of a power of two, the count's highest bit
        ]
        with m.If(self.put):
            m.d.sync += behind.eq(behind + 1)
        with m.If(pop):
            m.d.sync += first.eq(first + 1)
        with m.If(self.put & ~pop):
            m.d.sync += [held.eq(held + 1), self.o.valid.eq(1)]
        with m.Elif(pop & ~self.put):
            m.d.sync += [held.eq(held - 1), self.o.valid.eq(held != 1)]
        return m
