# SPDX-License-Identifier: BSD-2-Clause
"""Tile register file: a block RAM for each register with the tiles of all contexts (specification,
section 9)."""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .....isa.parameters import Params
from .....primitives.bram import BlockRAM
from ..ops import TileRead, TileWrite, Unit, element_bits, entries, tile_elements

__all__ = ["ACC", "INPUT", "OUTPUT", "WEIGHTS", "READERS", "TileFile", "WRITERS"]

INPUT, WEIGHTS, OUTPUT, ACC = range(4)
_LSU, _DOT, _ALU, _SFU = (unit.value for unit in Unit)

#: Units that read a register, in the order in which they are served; that of the dot unit is last,
#: since it asks most.
READERS = {
    INPUT: (_LSU, _SFU, _ALU, _DOT),
    WEIGHTS: (_LSU, _SFU, _ALU, _DOT),
    OUTPUT: (_LSU, _ALU, _DOT),
    ACC: (_LSU, _ALU, _DOT),
}
#: Units that write a register, in the order in which they are served. Dot unit and vector ALU come
#: first, since they cannot wait; they never write a register together, because the dot unit
#: announces what it will write.
WRITERS = {
    INPUT: (_ALU, _LSU),
    WEIGHTS: (_ALU, _LSU),
    OUTPUT: (_DOT, _ALU, _LSU, _SFU),
    ACC: (_DOT, _ALU, _LSU),
}


class TileFile(wiring.Component):
    """Tile register file with four registers: one read and one write of each register per cycle.

    A word is a whole tile (``macs`` at least 32) or a row of one; the answer to a read comes two
    cycles after it. A word must not be read in the cycle in which it is written. A unit asks only
    for registers that :data:`READERS` and :data:`WRITERS` give it.

    Parameters
    ----------
    params : dict
    family : ``"ecp5"``, ``"ice40"`` or ``None``

    Members
    -------
    read : In, array over :class:`~..ops.Unit` of :class:`~..ops.TileRead`
    write : In, array over :class:`~..ops.Unit` of :class:`~..ops.TileWrite`;
        those of dot unit and vector ALU are always accepted
    follows : In, the dot unit's operation overwrites what loads or stores before it read
    refused : Out, in the cycle before,
        a unit was refused what the load/store unit read (not the dot unit, if it follows that
        anyway)
    clear : In, pulse: the uniform tiles become 0 in the following cycles,
        in which no request is accepted (at most 32)
    """

    def __init__(self, *, params: Params, family: str | None = None) -> None:
        self.params, self.family = params, family
        super().__init__(
            {
                "read": In(TileRead(params)).array(4),
                "write": In(TileWrite(params)).array(4),
                "clear": In(1),
                "follows": In(1),
                "refused": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        elements, wide = tile_elements(self.params), element_bits(self.params)
        words, contexts = 16 // elements, self.params["contexts"]
        low = (words - 1).bit_length()
        entry_bits = (entries(self.params) - 1).bit_length()

        # Zeroing: uniform tile and word count up.
        zeroing, position = Signal(), Signal(range(2 * words))
        with m.If(zeroing):
            m.d.sync += [position.eq(position + 1), zeroing.eq(~position.all())]
        with m.If(self.clear):
            m.d.sync += [position.eq(0), zeroing.eq(1)]
        zeroed = Cat(
            position[:low], (contexts + Mux(position[low], 1, 0))[:entry_bits], position[low + 1 :]
        )

        self._grant(m, zeroing)
        self.arrays = []
        for reg in range(4):
            bits = self.bits(reg)
            m.submodules[f"tiles_{reg}"] = ram = BlockRAM(
                width=bits * elements, depth=1 << low + entry_bits, latency=2, family=self.family
            )
            self.arrays.append(ram)
            for unit in reversed(READERS[reg]):
                ask = self.read[unit].request
                with m.If(ask.valid & ask.payload.mask[reg]):
                    m.d.comb += ram.read_addr.eq(
                        Cat(ask.payload.word[:low], ask.payload.entry[reg])
                    )
            for unit in range(4):
                m.d.comb += Cat(
                    self.read[unit].data[reg][wide * k : wide * k + bits] for k in range(elements)
                ).eq(ram.read_data)
            for unit in reversed(WRITERS[reg]):
                ask = self.write[unit].request
                with m.If(ask.valid & (ask.payload.reg == reg)):
                    m.d.comb += [
                        ram.write_en.eq(1),
                        ram.write_addr.eq(Cat(ask.payload.word[:low], ask.payload.entry)),
                        ram.write_data.eq(
                            Cat(
                                ask.payload.data[wide * k : wide * k + bits]
                                for k in range(elements)
                            )
                        ),
                    ]
            with m.If(zeroing):
                m.d.comb += [ram.write_en.eq(1), ram.write_data.eq(0), ram.write_addr.eq(zeroed)]
        return m

    def bits(self, reg: int) -> int:
        """Bits of an element of ``reg`` in its array."""
        return element_bits(self.params) if reg == ACC else 18

    def row(self, entry: int, word: int) -> int:
        """Row of a word in the array of its register (``arrays``), after elaboration."""
        return word | entry << (16 // tile_elements(self.params) - 1).bit_length()

    def _grant(self, m, zeroing):
        lsu = self.read[_LSU].request
        m.d.sync += self.refused.eq(
            lsu.valid
            & Cat(
                ask.valid & counts & (ask.payload.mask & lsu.payload.mask).any()
                for ask, counts in (
                    (self.read[_DOT].request, ~self.follows),
                    (self.read[_ALU].request, 1),
                    (self.read[_SFU].request, 1),
                )
            ).any()
        )

        def before(unit, order):
            return order[: order.index(unit)] if unit in order else ()

        for unit in range(4):
            read, write = self.read[unit], self.write[unit]
            reads, writes = read.request.payload.mask, write.request.payload.reg
            coming = Signal(name=f"coming_{unit}")
            m.d.sync += [coming.eq(read.request.valid & read.request.ready), read.valid.eq(coming)]
            taken = Cat(
                self.read[v].request.valid & (self.read[v].request.payload.mask & reads).any()
                for v in before(unit, (_LSU, _SFU, _ALU, _DOT))
            ).any()
            first = Cat(
                Cat(
                    self.write[v].request.valid & (self.write[v].request.payload.reg == reg)
                    for v in before(unit, WRITERS[reg])
                ).any()
                for reg in range(4)
            ).bit_select(writes, 1)
            m.d.comb += [
                read.request.ready.eq(~zeroing & ~taken),
                write.request.ready.eq(~zeroing & (Const(1) if unit in (_DOT, _ALU) else ~first)),
            ]
