# SPDX-License-Identifier: BSD-2-Clause
"""The tile file: for each register one block RAM array with the tiles of all contexts (specification, section 9)."""
from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from ...primitives.bram import BlockRAM
from .ops import TileRead, TileWrite, Unit, element_bits, entries, tile_elements

__all__ = ["ACC", "INPUT", "OUTPUT", "WEIGHTS", "READERS", "TileFile", "WRITERS"]

INPUT, WEIGHTS, OUTPUT, ACC = range(4)
_LSU, _DOT, _ALU, _SFU = (unit.value for unit in Unit)

#: Units that read a register, in the order in which they are served; that of the dot unit is last, since it asks most.
READERS = {INPUT: (_LSU, _SFU, _ALU, _DOT), WEIGHTS: (_LSU, _SFU, _ALU, _DOT), OUTPUT: (_LSU, _ALU, _DOT), ACC: (_LSU, _ALU, _DOT)}
#: Units that write a register, in the order in which they are served. Dot unit and comparators come first, since they cannot wait; they
#: never write a register together, because the dot unit announces what it will write.
WRITERS = {INPUT: (_ALU, _LSU), WEIGHTS: (_ALU, _LSU), OUTPUT: (_DOT, _ALU, _LSU, _SFU), ACC: (_DOT, _ALU, _LSU)}


class TileFile(wiring.Component):
    """Tiles of the four registers, one read and one write of each register a cycle.

    A word is a whole tile (``macs`` at least 32) or a row of one; the answer to a read comes two cycles after it. A word must not be
    read in the cycle in which it is written. A unit asks only for registers that :data:`READERS` and :data:`WRITERS` give it.

    Parameters
    ----------
    params : dict
    family : ``"ecp5"``, ``"ice40"`` or ``None``

    Members
    -------
    read : In, array over :class:`~.ops.Unit` of :class:`~.ops.TileRead`
    write : In, array over :class:`~.ops.Unit` of :class:`~.ops.TileWrite`; those of dot unit and comparators are always accepted
    clear : In, pulse: the uniform tiles become 0 in the following cycles, in which no request is accepted (twice the words of a tile)
    """
    def __init__(self, *, params, family=None):
        self.params, self.family = params, family
        super().__init__({"read": In(TileRead(params)).array(4), "write": In(TileWrite(params)).array(4), "clear": In(1)})

    def elaborate(self, platform):
        m = Module()
        elements, wide = tile_elements(self.params), element_bits(self.params)
        words, contexts = 16 // elements, self.params["contexts"]
        low = (words - 1).bit_length()

        # Zeroing: entry and word count up from the uniform tiles' first word.
        zeroing, position = Signal(), Signal(range(2 * words))
        with m.If(zeroing):
            m.d.sync += [position.eq(position + 1), zeroing.eq(position != 2 * words - 1)]
        with m.If(self.clear):
            m.d.sync += [position.eq(0), zeroing.eq(1)]

        self._grant(m, zeroing)
        self.arrays = []
        for reg in range(4):
            bits = wide if reg == ACC else 18
            m.submodules[f"tiles_{reg}"] = ram = BlockRAM(width=bits * elements, depth=entries(self.params) * words, latency=2,
                                                          family=self.family)
            self.arrays.append(ram)
            for unit in reversed(READERS[reg]):
                ask = self.read[unit].request
                with m.If(ask.valid & ask.payload.mask[reg]):
                    m.d.comb += ram.read_addr.eq(Cat(ask.payload.word[:low], ask.payload.entry[reg]))
            for unit in range(4):
                m.d.comb += Cat(self.read[unit].data[reg][wide * k:wide * k + bits] for k in range(elements)).eq(ram.read_data)
            for unit in reversed(WRITERS[reg]):
                ask = self.write[unit].request
                with m.If(ask.valid & (ask.payload.reg == reg)):
                    m.d.comb += [
                        ram.write_en.eq(1), ram.write_addr.eq(Cat(ask.payload.word[:low], ask.payload.entry)),
                        ram.write_data.eq(Cat(ask.payload.data[wide * k:wide * k + bits] for k in range(elements)))]
            with m.If(zeroing):
                m.d.comb += [ram.write_en.eq(1), ram.write_data.eq(0),
                             ram.write_addr.eq(Cat(position[:low], (contexts + Mux(position[low], 1, 0))[:len(ram.write_addr) - low]))]
        return m

    def _grant(self, m, zeroing):
        for unit in range(4):
            read, write = self.read[unit], self.write[unit]
            taken = [Cat(self.read[v].request.valid & self.read[v].request.payload.mask[reg]
                         for v in READERS[reg][:READERS[reg].index(unit)]).any() if unit in READERS[reg] else Const(0)
                     for reg in range(4)]
            m.d.comb += read.request.ready.eq(~zeroing & ~(Cat(taken) & read.request.payload.mask).any())
            coming = Signal(name=f"coming_{unit}")
            m.d.sync += [coming.eq(read.request.valid & read.request.ready), read.valid.eq(coming)]
            first = [Cat(self.write[v].request.valid & (self.write[v].request.payload.reg == reg)
                         for v in WRITERS[reg][:WRITERS[reg].index(unit)]).any() if unit in WRITERS[reg] else Const(0)
                     for reg in range(4)]
            ready = Const(1) if unit in (_DOT, _ALU) else ~(Cat(first).bit_select(write.request.payload.reg, 1))
            m.d.comb += write.request.ready.eq(ready & ~zeroing)
