# SPDX-License-Identifier: BSD-2-Clause
"""Main memory in block RAM, with a latency of one cycle."""

from amaranth import Module
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, connect, flipped

from .port import MemoryPort
from .words import WordServer

__all__ = ["BlockRAMMemory"]


class BlockRAMMemory(wiring.Component):
    """Main memory in the FPGA's block RAM: one beat per cycle, byte masks; latency as for
    :class:`~.words.WordServer`.

    Parameters
    ----------
    size : int
        Bytes, a multiple of ``beat_bytes``.
    beat_bytes : int
        1, 2, 4, 8 or 16.
    init : bytes-like
        Contents at configuration, from address 0; the rest is zero.

    Members
    -------
    port : In(MemoryPort)
    """

    kind = "block RAM"

    def __init__(self, *, size: int, beat_bytes: int, init: bytes = b"") -> None:
        self._server = WordServer(size=size, beat_bytes=beat_bytes)
        init = bytes(init)
        if len(init) > size:
            raise ValueError(
                f"Initial contents are {len(init)} bytes, more than the memory's {size}"
            )
        self.size = size
        self.beat_bytes = beat_bytes
        self._init = [
            int.from_bytes(init[i : i + beat_bytes], "little")
            for i in range(0, len(init), beat_bytes)
        ]
        super().__init__({"port": In(MemoryPort(beat_bytes))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        server = m.submodules.server = self._server
        memory = m.submodules.memory = Memory(
            shape=8 * self.beat_bytes, depth=self.size // self.beat_bytes, init=self._init
        )
        reader = memory.read_port()
        writer = memory.write_port(granularity=8)
        ram = server.ram
        m.d.comb += [
            reader.addr.eq(ram.address),
            reader.en.eq(ram.enable & ~ram.write),
            ram.read_data.eq(reader.data),
            writer.addr.eq(ram.address),
            writer.data.eq(ram.write_data),
        ]
        with m.If(ram.enable & ram.write):
            m.d.comb += writer.en.eq(ram.mask)
        connect(m, flipped(self.port), server.port)
        return m
