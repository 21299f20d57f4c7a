# SPDX-License-Identifier: BSD-2-Clause
"""Wishbone slaves with a protocol checker: classic, registered feedback, without wait states."""

from amaranth import Cat, Module
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import exact_log2

from quintet.gateware.memory.port import MemoryPort
from tests.support.buses.asking import FAILING, fails
from tests.support.buses.stepping import expect

__all__ = ["WishboneSlave", "ZeroWait"]

CLASSIC, INCREMENTING, END = 0, 2, 7


class WishboneSlave:
    """Wishbone memory, checked in every cycle.

    Parameters
    ----------
    size, beat_bytes, rnd, stall, errors : as of :class:`~.asking.Traffic`
    kind : "classic" (an answer is one cycle long, at least one cycle after its request),
        "feedback" (of a burst an answer in every cycle), "watch" (checks only, another answers)
    base : bus address of the memory
    """

    def __init__(self, size, beat_bytes, rnd, *, stall=0.25, errors=True, kind="feedback", base=0):
        self.bytes, self.rnd, self.stall = beat_bytes, rnd, stall
        self.errors, self.kind, self.base = errors, kind, base // beat_bytes
        self.memory = bytearray(size)
        self.drives = {"bus__ack": 0, "bus__err": 0, "bus__dat_r": 0}
        self.pending = None  # address, direction, ... of a transfer without an answer
        self.burst = None  # address and direction of a burst's next beat
        self.held = 0  # transfers since cyc was low
        self.longest = 0

    def _check(self, seen, ack, err):
        cyc, stb = seen["bus__cyc"], seen["bus__stb"]
        expect(cyc or not stb, "stb without cyc")
        expect(not (ack and err), "two answers")
        asked = tuple(seen[f"bus__{name}"] for name in ("adr", "we", "sel", "cti", "dat_w"))
        if self.pending is not None:
            expect(stb, "stb fell before its answer")
            same = asked[: 5 if asked[1] else 4]
            expect(same == self.pending[: len(same)], "a transfer changed before its answer")
        if self.burst is not None:
            expect(cyc, "cyc fell inside a burst")
        self.pending = None
        if not cyc:
            self.held = 0
        if not stb:
            return None
        address, write, _, cti, _ = asked
        expect(seen["bus__bte"] == 0, "not a linear burst")
        expect(cti in (CLASSIC, INCREMENTING, END), f"cti is {cti}")
        if self.burst is not None:
            expect(cti != CLASSIC, "a burst became a classic cycle")
            expect((address, write) == self.burst, "not the burst's next address")
        if not (ack or err):
            self.pending = asked
            return asked
        self.held += 1
        self.longest = max(self.longest, self.held)
        self.burst = (address + 1, write) if cti == INCREMENTING and not err else None
        return asked

    def step(self, seen):
        """Checks a cycle, and returns the inputs of the next one."""
        watched = self.kind == "watch"
        ack = seen["ack"] if watched else self.drives["bus__ack"]
        err = seen["err"] if watched else self.drives["bus__err"]
        asked = self._check(seen, ack, err)
        if watched:
            return {}
        answered = asked is not None and (ack or err)
        drives = {"bus__ack": 0, "bus__err": 0, "bus__dat_r": self.rnd.getrandbits(8 * self.bytes)}
        if answered and asked[1] and ack:
            at = (asked[0] - self.base) * self.bytes
            for lane in range(self.bytes):
                if asked[2] >> lane & 1:
                    self.memory[at + lane] = asked[4] >> 8 * lane & 0xFF
        # A slave with registered feedback offers the answer of a burst's next beat at once; it
        # counts in the cycle in which stb is high.
        following = None
        if asked is not None and not answered:
            following = asked[0]
        elif self.burst is not None and self.kind == "feedback":
            following = self.burst[0]
        if following is not None and self.rnd.random() >= self.stall:
            at = (following - self.base) * self.bytes
            if self.errors and fails(at, self.bytes):
                drives["bus__err"] = 1
            else:
                drives["bus__ack"] = 1
                drives["bus__dat_r"] = int.from_bytes(self.memory[at : at + self.bytes], "little")
        self.drives = drives
        return drives


class ZeroWait(wiring.Component):
    """A master with a memory that answers in the cycle of the request, while ``go`` is high.

    Members
    -------
    port : In(MemoryPort), of the master
    go : In(1)
    ack, err : Out(1), and all outputs of the master as ``bus``
    """

    def __init__(self, master, *, size, beat_bytes, errors=True):
        self.master, self.size, self.errors = master, size, errors
        self.bytes = beat_bytes
        outputs = {
            name: Out(member.shape)
            for name, member in master.bus.signature.members.items()
            if member.flow == Out
        }
        super().__init__(
            {
                "port": In(MemoryPort(beat_bytes)),
                "go": In(1),
                "ack": Out(1),
                "err": Out(1),
                "bus": Out(wiring.Signature(outputs)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        master = m.submodules.master = self.master
        bus = master.bus
        connect(m, flipped(self.port), master.port)
        words = self.size // self.bytes
        cells = m.submodules.cells = memory.Memory(shape=8 * self.bytes, depth=words, init=[])
        reader, writer = cells.read_port(domain="comb"), cells.write_port(granularity=8)
        address = bus.adr[: exact_log2(words)]
        bad = Cat(fails(k * self.bytes, self.bytes) for k in range(FAILING))
        m.d.comb += [
            reader.addr.eq(address),
            writer.addr.eq(address),
            writer.data.eq(bus.dat_w),
            self.err.eq(bus.stb & self.go & bad.bit_select(address % FAILING, 1))
            if self.errors
            else self.err.eq(0),
            self.ack.eq(bus.stb & self.go & ~self.err),
            bus.ack.eq(self.ack),
            bus.err.eq(self.err),
            bus.dat_r.eq(reader.data),
        ]
        with m.If(self.ack & bus.we):
            m.d.comb += writer.en.eq(bus.sel)
        m.d.comb += [
            getattr(self.bus, name).eq(getattr(bus, name)) for name in self.bus.signature.members
        ]
        return m
