# SPDX-License-Identifier: BSD-2-Clause
"""Runs the small engine's microprogram of exp, log, div and pow without its gateware, on the
machine's golden model."""

from quintet.gateware.cores.cherry.isa import ISA
from quintet.gateware.cores.cherry.small.instructions import MACHINE, Sink, Source
from quintet.gateware.cores.cherry.small.lists import TILE_WORDS, tile_table
from quintet.gateware.cores.cherry.small.program import microprogram
from quintet.gateware.microcode.model import MachineModel

__all__ = ["Functions"]


class Functions(MachineModel):
    """The special functions of a build; :meth:`tile` carries out one instruction."""

    def __init__(self, params):
        self._tiles, self._table = tile_table(params), [0] * (tile_table(params) + TILE_WORDS)
        super().__init__(
            MACHINE,
            microprogram(params, 1 << 17),
            sources={Source.TABLE: lambda: self._table[self.p], Source.UPPER: lambda: self.a >> 16},
            sinks={Sink.TABLE: self._store},
        )
        for name in ("NP", "INDEP"):
            self.set(name, 0)

    def _store(self, a):
        self._table[self.p] = a & 0x3FFFF

    def result(self, start, end, a=0):
        """The accumulator at label ``end``, begun at ``start`` with ``a``."""
        self.a = a
        return self.run(start, end).a

    def tile(self, name, x, y):
        """OUTPUT after instruction ``name`` on 16 elements of INPUT and WEIGHTS."""
        word = ISA.encode(name)
        self.set("WORD", word)
        self.set("OPCODE", word >> 13)
        self.set("I", self.entry("INFO", word >> 13))
        (
            self._table[self._tiles + 16 : self._tiles + 32],
            self._table[self._tiles + 48 : self._tiles + 64],
        ) = x, y
        self.run("op_special", "next")
        return self._table[self._tiles + 80 : self._tiles + 96]
