# SPDX-License-Identifier: BSD-2-Clause
"""The tile file: for each register one block RAM array with the tiles of all contexts (specification, section 9)."""
from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .....primitives.bram import BlockRAM
from ..ops import TileRead, TileWrite, Unit, element_bits, entries, tile_elements

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
    read in the cycle in which it is written. With one multiplier and no special functions all registers share one array: only one of them
    is asked for at a time, and one word written a cycle. A unit asks only for registers that :data:`READERS` and :data:`WRITERS` give it.

    Parameters
    ----------
    params : dict
    family : ``"ecp5"``, ``"ice40"`` or ``None``

    Members
    -------
    read : In, array over :class:`~.ops.Unit` of :class:`~.ops.TileRead`
    write : In, array over :class:`~.ops.Unit` of :class:`~.ops.TileWrite`; those of dot unit and comparators are always accepted
        (with one multiplier, only the dot unit's)
    follows : In, the dot unit's operation overwrites what loads or stores before it read
    refused : Out, in the cycle before, a unit was refused what the load/store unit read (not the dot unit, if it follows that anyway)
    clear : In, pulse: the uniform tiles become 0 in the following cycles, in which no request is accepted (at most 32)
    """
    def __init__(self, *, params, family=None):
        self.params, self.family = params, family
        self.shared = params["macs"] == 1 and params["sfu_lanes"] == 0
        super().__init__({"read": In(TileRead(params)).array(4), "write": In(TileWrite(params)).array(4), "clear": In(1),
                          "follows": In(1), "refused": Out(1)})

    def elaborate(self, platform):
        m = Module()
        elements, wide = tile_elements(self.params), element_bits(self.params)
        words, contexts = 16 // elements, self.params["contexts"]
        low = (words - 1).bit_length()
        entry_bits = (entries(self.params) - 1).bit_length()

        # Zeroing: uniform tile, word (and register, in a shared array) count up.
        zeroing, position = Signal(), Signal(range(2 * words * (4 if self.shared else 1)))
        with m.If(zeroing):
            m.d.sync += [position.eq(position + 1), zeroing.eq(~position.all())]
        with m.If(self.clear):
            m.d.sync += [position.eq(0), zeroing.eq(1)]
        zeroed = Cat(position[:low], (contexts + Mux(position[low], 1, 0))[:entry_bits], position[low + 1:])

        self._grant(m, zeroing)
        self.arrays = []
        for regs in ((range(4),) if self.shared else ((reg,) for reg in range(4))):
            bits = self.bits(regs[-1])
            m.submodules[f"tiles_{regs[0]}"] = ram = BlockRAM(
                width=bits * elements, depth=(4 if self.shared else 1) << low + entry_bits, latency=2, family=self.family)
            self.arrays += [ram] * len(regs)
            readers, writers = ((_LSU, _ALU, _DOT), (_DOT, _ALU, _LSU)) if self.shared else (READERS[regs[0]], WRITERS[regs[0]])
            for unit in reversed(readers):
                ask = self.read[unit].request
                for reg in regs:
                    with m.If(ask.valid & ask.payload.mask[reg]):
                        m.d.comb += ram.read_addr.eq(Cat(ask.payload.word[:low], ask.payload.entry[reg], Const(reg, 2) if self.shared else Const(0, 0)))
            for reg in regs:
                for unit in range(4):
                    m.d.comb += Cat(self.read[unit].data[reg][wide * k:wide * k + bits] for k in range(elements)).eq(ram.read_data)
            for unit in reversed(writers):
                ask = self.write[unit].request
                with m.If(ask.valid & (self.shared or ask.payload.reg == regs[0])):
                    m.d.comb += [
                        ram.write_en.eq(1),
                        ram.write_addr.eq(Cat(ask.payload.word[:low], ask.payload.entry, ask.payload.reg if self.shared else Const(0, 0))),
                        ram.write_data.eq(Cat(ask.payload.data[wide * k:wide * k + bits] for k in range(elements)))]
            with m.If(zeroing):
                m.d.comb += [ram.write_en.eq(1), ram.write_data.eq(0), ram.write_addr.eq(zeroed)]
        return m

    def bits(self, reg):
        """Bits of an element of ``reg`` in its array."""
        return element_bits(self.params) if self.shared or reg == ACC else 18

    def row(self, reg, entry, word):
        """Where a word lies in the array of ``reg`` (``arrays``, once elaborated)."""
        low = (16 // tile_elements(self.params) - 1).bit_length()
        return word | entry << low | (reg << low + (entries(self.params) - 1).bit_length() if self.shared else 0)

    def _grant(self, m, zeroing):
        lsu = self.read[_LSU].request
        m.d.sync += self.refused.eq(lsu.valid & Cat(ask.valid & counts & (ask.payload.mask & lsu.payload.mask).any() for ask, counts in (
            (self.read[_DOT].request, ~self.follows), (self.read[_ALU].request, 1), (self.read[_SFU].request, 1))).any())
        waitless = (_DOT, _ALU) if self.params["macs"] > 1 else (_DOT,)

        def before(unit, order):
            return order[:order.index(unit)] if unit in order else ()

        for unit in range(4):
            read, write = self.read[unit], self.write[unit]
            reads, writes = read.request.payload.mask, write.request.payload.reg
            coming = Signal(name=f"coming_{unit}")
            m.d.sync += [coming.eq(read.request.valid & read.request.ready), read.valid.eq(coming)]
            if self.shared:
                taken = Cat(self.read[v].request.valid & self.read[v].request.payload.mask.any() for v in before(unit, (_LSU, _ALU, _DOT))).any()
                first = Cat(self.write[v].request.valid for v in before(unit, (_DOT, _ALU, _LSU))).any()
            else:
                taken = Cat(self.read[v].request.valid & (self.read[v].request.payload.mask & reads).any()
                            for v in before(unit, (_LSU, _SFU, _ALU, _DOT))).any()
                first = Cat(Cat(self.write[v].request.valid & (self.write[v].request.payload.reg == reg)
                                for v in before(unit, WRITERS[reg])).any() for reg in range(4)).bit_select(writes, 1)
            m.d.comb += [read.request.ready.eq(~zeroing & ~taken),
                         write.request.ready.eq(~zeroing & (Const(1) if unit in waitless else ~first))]
