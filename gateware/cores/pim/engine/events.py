# SPDX-License-Identifier: BSD-2-Clause
"""Event registers of the instructions sync and wait (specification, section 4.5)."""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from ....arguments import check_integer
from ....isa.parameters import Params
from ..isa import EVENT_MOST, EVENTS
from .links import EVENT_BITS, EventPort

__all__ = ["EventFile", "Events"]


class EventFile(wiring.Component):
    """Event registers of one core: a memory with one adder, which serves requests in turn, one
    every other cycle.

    So check and reset of a wait are one step whatever else comes (proved); a wait that does not
    hold is looked at again each time its turn comes. A request is served at most 2 * (sources + 1)
    cycles after it came (proved).

    Parameters
    ----------
    sources : int
        Cores that may sync to this one.
    events : int
        Event registers, 2 to 32.

    Members
    -------
    sync : In(sources), levels; event : In, array of 5 bits; synced : Out(sources),
        one cycle each; overflow : Out(1), with ``synced``: the register was 1023 and stays
    wait, wait_event, wait_value, wait_count : In; granted : Out, one cycle
    clear : In, one cycle: all registers become 0; ``ready`` is low meanwhile (32 cycles),
        and nothing is served
    ready : Out
    look : In(5), value : Out(10): register ``look``, two cycles later, while nothing asks
    """

    def __init__(self, *, sources: int, events: int = EVENTS) -> None:
        check_integer("Number of sources", sources, 1, 32)
        check_integer("Number of events", events, 2, EVENTS)
        self.sources, self.events = sources, events
        super().__init__(
            {
                "sync": In(sources),
                "event": In(5).array(sources),
                "synced": Out(sources),
                "overflow": Out(1),
                "wait": In(1),
                "wait_event": In(5),
                "wait_value": In(EVENT_BITS),
                "wait_count": In(1),
                "granted": Out(1),
                "clear": In(1),
                "ready": Out(1),
                "look": In(5),
                "value": Out(EVENT_BITS),
            }
        )
        # State that the proofs look at.
        self._sweep = Signal(range(events + 1), init=events)  # next register to clear
        self._serving = Signal(
            sources + 1
        )  # one-hot: whose request is in the second cycle; the wait is last
        self._open = Signal(init=1)  # nothing is served, nothing cleared: something may be chosen
        self._register = Signal(5)  # it is about
        self._turn = Signal(bits_for(sources), init=sources)  # served last
        self.registers = memory.Memory(shape=EVENT_BITS, depth=events, init=[])

    def elaborate(self, platform: object) -> Module:
        m = Module()
        n = self.sources
        m.submodules.registers = registers = self.registers
        read, write = registers.read_port(), registers.write_port()
        serving, register, turn, sweep = self._serving, self._register, self._turn, self._sweep

        # First cycle: the next one in turn.
        asks, choice = Signal(n + 1), Signal(n + 1)
        clearing = Signal()
        m.d.comb += [
            clearing.eq(sweep != self.events),
            self.ready.eq(~clearing & ~self.clear),
            asks.eq(
                Cat(self.sync & ~self.synced, self.wait & ~self.granted)
                & self._open.replicate(n + 1)
            ),
        ]
        m.d.sync += self._open.eq(self.ready & ~choice.any())
        # The first one after the one that was served last, else the first of all.
        behind = Signal(n + 1)
        m.d.comb += behind.eq(asks & Cat(turn < k for k in range(n + 1)))

        def first(among):
            return Cat(among[k] & ~among[:k].any() for k in range(n + 1))

        m.d.comb += choice.eq(Mux(behind.any(), first(behind), first(asks)))
        number, chosen = Signal(5), 0
        for k in range(n + 1):
            chosen = chosen | (self.event[k] if k < n else self.wait_event) & choice[k].replicate(5)
            with m.If(choice[k]):
                m.d.sync += turn.eq(k)
        m.d.comb += number.eq(Mux(asks.any(), chosen, self.look))
        m.d.sync += [serving.eq(choice), register.eq(number)]
        m.d.comb += [read.addr.eq(number), read.en.eq(1)]
        m.d.sync += self.value.eq(read.data)

        # Second cycle: the new value of the register.
        value, full, equal, enough = read.data, Signal(), Signal(), Signal()
        difference = Signal(EVENT_BITS + 1)
        m.d.comb += [
            full.eq(value == EVENT_MOST),
            difference.eq(value - self.wait_value),
            equal.eq(difference == 0),
            enough.eq(~difference[-1]),
            write.addr.eq(register),
            write.data.eq(value + 1),
            write.en.eq(serving[:n].any() & ~full),
        ]
        m.d.sync += [self.synced.eq(serving[:n]), self.overflow.eq(full), self.granted.eq(0)]
        with m.If(serving[n]):
            m.d.comb += write.data.eq(difference[:EVENT_BITS])
            with m.If(Mux(self.wait_count, enough, equal)):
                m.d.comb += write.en.eq(1)
                m.d.sync += self.granted.eq(1)
        with m.If(clearing):
            m.d.comb += [write.addr.eq(sweep), write.data.eq(0), write.en.eq(1)]
            m.d.sync += sweep.eq(sweep + 1)
        with m.If(self.clear):
            m.d.sync += sweep.eq(0)
        return m


class Events(wiring.Component):
    """Event network: an :class:`EventFile` for each core, and the routes to it.

    Parameters
    ----------
    params : dict of ``SPACE.resolve``

    Members
    -------
    port : array of In(:class:`~.links.EventPort`), one a core
    clear : In, one cycle: all registers of all cores become 0; ready : Out
    look_core, look : In; value : Out(10), three cycles later, while nothing asks
    """

    def __init__(self, *, params: Params) -> None:
        self.params = params
        self.cores = params["cores"]
        super().__init__(
            {
                "port": In(EventPort(params)).array(self.cores),
                "clear": In(1),
                "ready": Out(1),
                "look_core": In(range(max(2, self.cores))),
                "look": In(5),
                "value": Out(EVENT_BITS),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        n = self.cores
        files = [EventFile(sources=n) for _ in range(n)]
        m.d.comb += self.ready.eq(Cat(file.ready for file in files).all())
        chosen = Signal(EVENT_BITS)
        for k, (file, port) in enumerate(zip(files, self.port, strict=True)):
            m.submodules[f"file_{k}"] = file
            m.d.comb += [
                file.wait_value.eq(port.wait_value),
                file.wait_count.eq(port.wait_count),
                port.granted.eq(file.granted),
                file.clear.eq(self.clear),
                file.look.eq(self.look),
            ]
            # Requests come from everywhere: they are looked at a cycle late, and no more once they
            # are answered.
            m.d.sync += [
                file.wait.eq(port.wait & ~file.granted),
                file.wait_event.eq(port.wait_event),
                file.sync.eq(Cat(p.sync & (p.sync_core == k) for p in self.port) & ~file.synced),
            ]
            for i, source in enumerate(self.port):
                m.d.sync += file.event[i].eq(source.sync_event)
            with m.If(self.look_core == k):
                m.d.comb += chosen.eq(file.value)
        m.d.sync += self.value.eq(chosen)
        for i, port in enumerate(self.port):
            m.d.comb += [
                port.synced.eq(Cat(file.synced[i] for file in files).any()),
                port.overflow.eq(Cat(file.synced[i] & file.overflow for file in files).any()),
            ]
        return m
