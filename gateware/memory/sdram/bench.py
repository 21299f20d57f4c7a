# SPDX-License-Identifier: BSD-2-Clause
"""SDRAM efficiency benchmark: the fraction of the pins' peak bandwidth that burst patterns reach on
the chip model (``quintet measure sdram``).

Every figure is beats moved over cycles of the clock, refreshes and changes of row included, in a
steady state.
"""

from itertools import count

from amaranth import ClockDomain, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, connect, flipped
from amaranth.sim import Simulator

from ..port import MemoryPort
from .chip import SDRAMChip
from .controller import SDRAMController
from .parts import SDRAMPart, find_part
from .phase import ClockPath
from .phy import SDRAMPhy

__all__ = ["PATTERNS", "SDRAMSystem", "measure"]


class SDRAMSystem(wiring.Component):
    """Controller, I/O registers and a model of the chip, for simulation.

    ``system.add_to(sim)`` adds the clock and the chip. Parameters as of
    :class:`~.controller.SDRAMController`.
    """

    def __init__(
        self, *, part: SDRAMPart | str, clock_hz: float, capture: int = 1, rate: int = 1
    ) -> None:
        self.controller = SDRAMController(
            part=part, clock_hz=clock_hz, capture=capture, powerup_ns=500, rate=rate
        )
        self.phy = SDRAMPhy(part=part, rate=rate)
        self.beat_bytes, self.size = self.controller.beat_bytes, self.controller.size
        self.domain = ClockDomain("sync")
        self.chip = SDRAMChip(
            part=part,
            clock_hz=rate * clock_hz,
            pins=self.phy.pads,
            powerup_ns=500,
            path=ClockPath.centred(part, rate * clock_hz, capture),
            rate=rate,
        )
        super().__init__({"port": In(MemoryPort(self.beat_bytes))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.domains.sync = self.domain
        m.submodules.controller = self.controller
        m.submodules.phy = self.phy
        connect(m, self.controller.pins, self.phy.controller)
        connect(m, flipped(self.port), self.controller.port)
        return m

    def add_to(self, sim: Simulator) -> None:
        """Adds the clock and the chip model to a simulation."""
        sim.add_clock(1e-8)
        sim.add_testbench(self.chip.process(self.domain.clk), background=True)


def _patterns(part):
    """Bursts of each pattern; ``part`` as the controller sees it."""
    beat, row = part.beat_bytes, part.beat_bytes << part.column_bits
    around = row << part.bank_bits  # the next row of the same bank

    def sequential(write):
        return ((256 * beat * i % part.size, 256, write) for i in count())

    def alternating(distance, offset):
        # Bursts of 64, a read and a write in turn; each lies in another row than the one before it
        # in that bank.
        for i in count():
            yield (i * distance) % part.size, 64, 0
            yield (i * distance + offset) % part.size, 64, 1

    def streams():
        for i in count():
            yield 64 * beat * i % (part.size // 2), 64, 0
            yield (part.size // 2 + 2 * row + 64 * beat * i) % part.size, 64, 1

    def scattered(beats):
        place = 1
        for _ in count():
            place = place * 1103515245 + 12345 & 0x7FFFFFFF
            yield (place >> 7) % (part.size // (beats * beat)) * beats * beat, beats, place >> 30

    return {
        "sequential read": lambda: sequential(0),
        "sequential write": lambda: sequential(1),
        "64-beat bursts, read and write in turn, two streams": streams,
        "64-beat bursts, read and write in turn, different banks, new rows": lambda: alternating(
            around, 2 * row
        ),
        "64-beat bursts, read and write in turn, one bank, another row": lambda: alternating(
            2 * around, around
        ),
        "16-beat bursts, random places": lambda: scattered(16),
        "4-beat bursts, random places": lambda: scattered(4),
    }


PATTERNS = tuple(_patterns(find_part("W9825G6")))


def measure(
    *,
    pattern: str,
    part: SDRAMPart | str = "W9825G6",
    clock_hz: float = 100e6,
    cycles: int = 8000,
    rate: int = 1,
) -> tuple[float, float]:
    """Fraction of the pins' peak bandwidth that a burst pattern reaches after initialisation.

    Returns (fraction, refreshes made over refreshes due).
    """
    system = SDRAMSystem(part=part, clock_hz=clock_hz, rate=rate)
    port = system.port
    result = {}

    async def asks(ctx):
        ctx.set(port.r.ready, 1)
        ctx.set(port.ack.ready, 1)
        ctx.set(port.w.valid, 1)
        ctx.set(port.w.payload, {"data": 0x5AA5, "mask": -1 & (1 << system.beat_bytes) - 1})
        for address, beats, write in _patterns(system.controller.part.at_rate(rate))[pattern]():
            ctx.set(port.req.payload, {"address": address, "beats": beats - 1, "write": write})
            ctx.set(port.req.valid, 1)
            taken = False
            while not taken:
                _, _, taken = await ctx.tick().sample(port.req.ready)

    async def measures(ctx):
        while not ctx.get(system.controller.ready):
            await ctx.tick()
        # From the first refresh of one batch to that of another: what lies between is typical.
        counts = system.chip.counts

        async def next_batch():
            await ctx.tick().repeat(100)  # longer than a batch takes
            before = counts["refresh"]
            while counts["refresh"] == before:
                await ctx.tick()

        await next_batch()
        before, refreshes, start = (
            counts["read"] + counts["write"],
            counts["refresh"],
            system.chip.now,
        )
        while system.chip.now - start < cycles * rate:
            await next_batch()
        length = (system.chip.now - start) / rate
        result["fraction"] = (counts["read"] + counts["write"] - before) / length
        result["refreshes"] = (counts["refresh"] - refreshes) / (
            length / system.controller.timing.t_refi
        )

    sim = Simulator(system)
    system.add_to(sim)
    sim.add_testbench(asks, background=True)
    sim.add_testbench(measures)
    sim.run()
    return result["fraction"], result["refreshes"]
