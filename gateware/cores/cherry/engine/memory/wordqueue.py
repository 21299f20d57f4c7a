# SPDX-License-Identifier: BSD-2-Clause
"""Queue in block RAM for words of tiles."""

from amaranth import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from .....primitives.bram import BlockRAM

__all__ = ["WordQueue"]


class WordQueue(wiring.Component):
    """FIFO for words of ``width`` bits to the tile file; delivers a word every three cycles at
    most.

    That there is space is the writer's affair. Block RAM with its output register costs no logic
    per bit; a word's data hold still from the cycle in which it is offered.

    Parameters
    ----------
    width, depth : int; ``depth`` a power of two
    family : ``"ecp5"``, ``"ice40"`` or ``None``

    Members
    -------
    push : In; data : In(width)
    output : Out, stream of words, each three cycles after its push at the earliest
    clear : In, empties the queue
    """

    def __init__(self, *, width: int, depth: int, family: str | None = None) -> None:
        if not isinstance(depth, int) or depth < 2 or depth & depth - 1:
            raise ValueError(f"Depth must be a power of two, at least 2, not {depth!r}")
        self.width, self.depth, self.family = width, depth, family
        super().__init__(
            {
                "push": In(1),
                "data": In(width),
                "output": Out(stream.Signature(width)),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.ram = ram = BlockRAM(
            width=self.width, depth=self.depth, latency=2, family=self.family
        )
        level = Signal(range(self.depth + 1))
        reading, taken = Signal(), Signal()
        m.d.comb += [
            ram.write_en.eq(self.push),
            ram.write_data.eq(self.data),
            self.output.payload.eq(ram.read_data),
            taken.eq(self.output.valid & self.output.ready),
        ]
        with m.If(self.push):
            m.d.sync += ram.write_addr.eq(ram.write_addr + 1)
        with m.If(taken):
            m.d.sync += [ram.read_addr.eq(ram.read_addr + 1), self.output.valid.eq(0)]
        m.d.sync += [
            level.eq(level + self.push - taken),
            reading.eq((level != 0) & ~reading & ~self.output.valid),
        ]
        # The address stands while the word is read, two cycles, and until it is taken.
        with m.If(reading):
            m.d.sync += self.output.valid.eq(1)
        with m.If(self.clear):
            m.d.sync += [
                ram.write_addr.eq(0),
                ram.read_addr.eq(0),
                level.eq(0),
                reading.eq(0),
                self.output.valid.eq(0),
            ]
        return m
