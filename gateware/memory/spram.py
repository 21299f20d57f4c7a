# SPDX-License-Identifier: BSD-2-Clause
"""Main memory in the iCE40 UltraPlus' single-port RAM."""

from amaranth import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, connect, flipped

from ..arguments import check_choice, check_integer
from ..primitives.spram import SPRAM
from .port import MemoryPort
from .words import WordServer, repeat_bits

__all__ = ["SPRAMMemory"]

BLOCK_BYTES = 2 * SPRAM.WORDS


class SPRAMMemory(wiring.Component):
    """Main memory in SPRAM: one beat per cycle, byte masks; latency as for
    :class:`~.words.WordServer`.

    Parameters
    ----------
    family : str or None
        ``"ice40"``, or ``None`` for behavioural models.
    size : int
        Bytes: 128 KiB minus the core's share, a multiple of 32 KiB at a beat of 2, of 64 KiB at a
        beat of 4 bytes.
    beat_bytes : int
        2 or 4.

    Members
    -------
    port : In(MemoryPort)
    """

    kind = "SPRAM"

    def __init__(self, *, family: str | None, size: int = 131072, beat_bytes: int = 4) -> None:
        check_choice("Beat size of an SPRAM memory", beat_bytes, (2, 4), "bytes")
        bank = BLOCK_BYTES * beat_bytes // 2
        check_integer("Size", size, bank, 4 * BLOCK_BYTES, multiple_of=bank)
        self._cells = [
            [SPRAM(family=family) for _ in range(beat_bytes // 2)] for _ in range(size // bank)
        ]
        self._server = WordServer(size=size, beat_bytes=beat_bytes)
        self.size = size
        self.beat_bytes = beat_bytes
        super().__init__({"port": In(MemoryPort(beat_bytes))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        server = m.submodules.server = self._server
        ram = server.ram
        bank, bank_read = (
            Signal(range(max(2, len(self._cells)))),
            Signal(range(max(2, len(self._cells)))),
        )
        m.d.comb += bank.eq(ram.address[14:])
        with m.If(ram.enable & ~ram.write):
            m.d.sync += bank_read.eq(bank)
        for i, cells in enumerate(self._cells):
            for j, cell in enumerate(cells):
                m.submodules[f"cell_{i}_{j}"] = cell
                m.d.comb += [
                    cell.address.eq(ram.address),
                    cell.enable.eq(ram.enable & (bank == i)),
                    cell.write.eq(ram.write),
                    cell.mask.eq(repeat_bits(ram.mask[2 * j : 2 * j + 2], 2)),
                    cell.write_data.eq(ram.write_data.word_select(j, 16)),
                ]
            with m.If(bank_read == i):
                m.d.comb += ram.read_data.eq(Cat(cell.read_data for cell in cells))
        connect(m, flipped(self.port), server.port)
        return m
