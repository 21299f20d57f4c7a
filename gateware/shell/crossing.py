# SPDX-License-Identifier: BSD-2-Clause
"""Clock domain crossings of a core: a FIFO, and event counts (docs/how/contracts.md, section 3)."""

from amaranth import Module, Mux, Signal
from amaranth.hdl import ShapeLike
from amaranth.lib import memory, stream, wiring
from amaranth.lib.cdc import FFSynchronizer
from amaranth.lib.wiring import In, Out

from ..arguments import check_integer

__all__ = ["CountCrossing", "CrossingFIFO"]


def _binary(gray):
    """Converts Gray code to binary."""
    value = Signal(len(gray), name="binary")
    return value, [value[bit].eq(gray[bit:].xor()) for bit in range(len(gray))]


def _chosen(m, choice, yes, no):
    """Selects one of two comparison results. Both are signals that synthesis keeps, so that it
    makes neither one comparison of selected operands nor a chain behind a late ``choice``."""
    after, before = (Signal(name=name, attrs={"keep": 1}) for name in ("if_so", "if_not"))
    m.d.comb += [after.eq(yes), before.eq(no)]
    return (choice & after) | (~choice & before)


class CrossingFIFO(wiring.Component):
    """Asynchronous FIFO that a core reset clears: one entry per cycle of either clock.

    All its state is in the domains' resets, inserted ones too, provided that the resets of both
    overlap for three cycles of each, as the shell's do, or that both domains are one. (The read
    side of ``amaranth.lib.fifo.AsyncFIFO`` knows the reset of its write domain only, and keeps its
    place when a reset is inserted.)

    Parameters
    ----------
    shape : ShapeLike
    depth : int
        A power of two from 4 to 4096; one entry more waits at ``o``.
    w_domain, r_domain : str
    small : bool
        For chips of few and slow logic cells: readiness and addresses of ``i`` hang on the other
        side's count.

    Members
    -------
    i : In(stream), in ``w_domain``; o : Out(stream), in ``r_domain``
    level : Out, in ``r_domain``: entries that may be taken, at least
    space : Out, in ``w_domain``: entries that may be put, at least

    Latency: an edge of ``w_domain`` and four or five of ``r_domain``.
    """

    def __init__(
        self, *, shape: ShapeLike, depth: int, w_domain: str, r_domain: str, small: bool = False
    ) -> None:
        check_integer("Depth", depth, 4, 4096, power_of_two=True)
        self.depth, self._w, self._r, self._small = depth, w_domain, r_domain, small
        super().__init__(
            {
                "i": In(stream.Signature(shape)),
                "o": Out(stream.Signature(shape)),
                "level": Out(range(depth + 2)),
                "space": Out(range(depth + 1)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bits = self.depth.bit_length()  # one more than an address: full and empty differ
        m.submodules.storage = storage = memory.Memory(
            shape=self.i.payload.shape(), depth=self.depth, init=[]
        )
        put, get = storage.write_port(domain=self._w), storage.read_port(domain=self._r)

        gray = {
            name: (Signal(bits, name=name), Signal(bits, name=f"{name}_there"))
            for name in ("written", "taken")
        }
        m.submodules.written_sync = FFSynchronizer(
            *gray["written"], o_domain=self._r, reset_less=False
        )
        m.submodules.taken_sync = FFSynchronizer(*gray["taken"], o_domain=self._w, reset_less=False)
        came, decode = _binary(gray["written"][1])
        back, decode_back = _binary(gray["taken"][1])
        m.d.comb += [
            *decode,
            *decode_back,
            put.data.eq(self.i.payload),
            put.en.eq(self.i.valid & self.i.ready),
            self.o.payload.eq(get.data),
        ]
        # Full: as many written as taken, and once round.
        (self._small_write if self._small else self._quick_write)(
            m, put, gray["written"][0], gray["taken"][1] ^ (0b11 << (bits - 2)), back
        )
        self._read(m, get, gray["taken"][0], gray["written"][1], came)
        return m

    # A side that counts one ahead knows early what its Gray code will be, and so whether that
    # leaves it full or empty. What it sees of the other side only ever frees or brings
    # entries, so that a flag from a flip-flop is late, never wrong; the numbers speak of the cycle
    # before, as it does. An entry lies at the address behind its number.

    def _small_write(self, m, put, gray, round_there, back):
        written, after = (
            Signal.like(gray, name="written_bin"),
            Signal.like(gray, name="written_after"),
        )
        m.d.comb += [
            self.i.ready.eq(gray != round_there),
            put.addr.eq(after[:-1]),
            after.eq(written + put.en),
            self.space.eq((back + self.depth - written)[: len(gray)]),
        ]
        m.d[self._w] += [written.eq(after), gray.eq(after ^ (after >> 1))]

    def _quick_write(self, m, put, gray, round_there, back):
        ahead, ahead_gray, back_then = (
            Signal(len(gray), init=1),
            Signal.like(gray, name="ahead_gray"),
            Signal.like(back, name="back_then"),
        )
        full = Signal()
        m.d.comb += [
            self.i.ready.eq(~full),
            put.addr.eq(ahead[:-1]),
            ahead_gray.eq(ahead ^ (ahead >> 1)),
            self.space.eq((back_then + self.depth + 1 - ahead)[: len(gray)]),
        ]
        m.d[self._w] += [
            full.eq(_chosen(m, put.en, ahead_gray == round_there, gray == round_there)),
            back_then.eq(back),
        ]
        with m.If(put.en):
            m.d[self._w] += [ahead.eq(ahead + 1), gray.eq(ahead_gray)]

    def _read(self, m, get, gray, there, came):
        # The output waits behind the memory: its address is a register then, and nothing but
        # the enable depends on the reader.
        ahead, ahead_gray, came_then = (
            Signal(len(gray), init=1),
            Signal.like(gray, name="ahead_gray"),
            Signal.like(came, name="came_then"),
        )
        some, moves, take = Signal(), Signal(), Signal()
        m.d.comb += [
            moves.eq(~self.o.valid | self.o.ready),
            take.eq(some & moves),
            ahead_gray.eq(ahead ^ (ahead >> 1)),
            get.addr.eq(ahead[:-1]),
            get.en.eq(moves),
            self.level.eq(Mux(self.o.valid, (came_then + 2 - ahead)[: len(gray)], 0)),
        ]
        m.d[self._r] += [
            some.eq(_chosen(m, take, ahead_gray != there, gray != there)),
            came_then.eq(came),
        ]
        with m.If(moves):
            m.d[self._r] += self.o.valid.eq(some)
        with m.If(take):
            m.d[self._r] += [ahead.eq(ahead + 1), gray.eq(ahead_gray)]


class CountCrossing(wiring.Component):
    """Clock-domain crossing of event counts into ``sync``; no event is lost or counted twice.

    Each event has a Gray counter in its domain, which ``sync`` looks at through a synchroniser:
    whatever it sees of a change is the number before or after.

    Parameters
    ----------
    events : int
        Number of events.
    bits : int
        Of an increment: 2^bits must exceed the cycles of the other clock in one of the main clock
        by at least two.
    domain : str
        Where the events happen.

    Members
    -------
    event : In(``events``), in ``domain``: bit i counts event i in this cycle
    mark : In(1), in ``domain``: a level
    increment : Out(``bits``), array of ``events``, in ``sync``:
        events that have come to light in this cycle
    marked : Out(1), in ``sync``: follows ``mark``,
        and later than every event of the cycles up to that in which it changed

    Latency: a cycle of ``domain`` and 3 to 4 of ``sync``; ``marked`` 5 to 6.
    """

    def __init__(self, *, events: int, bits: int, domain: str) -> None:
        for name, value, most in (("events", events, 256), ("bits", bits, 8)):
            check_integer(f"{name}", value, 1, most)
        if bits < 2:
            raise ValueError(f"bits must be at least 2, not {bits}")
        if not isinstance(domain, str) or domain == "sync":
            raise ValueError(f"domain must be the name of a domain other than sync, not {domain!r}")
        self._bits, self._domain = bits, domain
        super().__init__(
            {
                "event": In(events),
                "mark": In(1),
                "increment": Out(bits).array(events),
                "marked": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for i, event in enumerate(self.event):
            count, gray = (
                Signal(self._bits, name=f"count_{i}"),
                Signal(self._bits, name=f"gray_{i}"),
            )
            after = Signal(self._bits, name=f"after_{i}")
            m.d.comb += after.eq(count + event)
            m.d[self._domain] += [count.eq(after), gray.eq(after ^ (after >> 1))]
            near, last = Signal(self._bits, name=f"near_{i}"), Signal(self._bits, name=f"last_{i}")
            m.submodules[f"sync_{i}"] = FFSynchronizer(gray, near, reset_less=False)
            seen, decode = _binary(near)
            m.d.comb += decode
            m.d.sync += [last.eq(seen), self.increment[i].eq(seen - last)]
        # Two cycles more than an event: one event may see its change a cycle later than another.
        level, near_level, later = Signal(), Signal(), Signal()
        m.d[self._domain] += level.eq(self.mark)
        m.submodules.sync_mark = FFSynchronizer(level, near_level, reset_less=False)
        m.d.sync += [later.eq(near_level), self.marked.eq(later)]
        return m
