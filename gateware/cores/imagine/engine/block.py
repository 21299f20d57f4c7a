# SPDX-License-Identifier: BSD-2-Clause
"""Memory bank: one block RAM with the bit-serial processing elements next to it (specification,
section 9).

A PE is two operand registers X and Y, a sum bit, a carry (a borrow in subtractions), the previous
multiplier bit, and two bits of operation: ``add`` lets the second operand in, ``invert`` inverts
the minuend in the borrow, so that no bit of the data path is inverted and the carry always begins
at 0. Nothing here has a reset.
"""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ....primitives.bram import BlockRAM
from ....primitives.dualram import DualPortRAM, HalvesRAM
from ..isa import PES
from .mapping import Mapping

__all__ = ["Bank", "ControlLayout", "FOLDS"]

#: Fold 1 to 4.
FOLDS = 4


class ControlLayout(data.StructLayout):
    """Control signals common to all banks in a cycle.

    Members
    -------
    read : address of X (``tdp``: port A); second : address of Y or of the write (``tdp``:
        port B; else that of the write alone)
    write_data : unsigned(16), of ``mv_write``, else 0 (``tdp``: anything)
    x_ce, y_ce : X, Y take an operand (``tdp``: one signal, ``x_ce``)
    x_on : else X takes 0 (but for the data of a write)
    y_clear : Y takes 0 (not ``tdp``)
    fold : unsigned(4), one hot; network : Y of PE 0 is the network's bit
    load : the operation changes: to that of a multiplier bit where ``booth``,
        else to ``add`` and ``invert``
    previous : the previous multiplier bit becomes this one where ``booth``, else 0
    carry_ce, carry_clear
    """

    def __init__(self, mapping: Mapping) -> None:
        bits = mapping.address_bits
        members = {
            "read": bits,
            "second": bits,
            "write_data": PES,
            "x_ce": 1,
            "x_on": 1,
            "fold": FOLDS,
            "network": 1,
            "load": 1,
            "booth": 1,
            "add": 1,
            "invert": 1,
            "previous": 1,
            "carry_ce": 1,
            "carry_clear": 1,
        }
        if not mapping.two_ports:
            members |= {"y_ce": 1, "y_clear": 1}
        super().__init__(members)


class Bank(wiring.Component):
    """Memory bank: one block RAM and the 16 PEs of each of its blocks.

    Parameters
    ----------
    mapping : Mapping
    family : ``"ecp5"``, ``"ice40"`` or ``None``

    Members
    -------
    control : In(ControlLayout)
    write : In(1), results are written; store : In(halves), ``mv_write`` of the selected blocks
    transmit : In(1), PE 0 goes to the network, else what comes from the east
    east : In(halves), network from the next block column; west : Out(halves), one cycle later
    tap : Out(halves), the sum bit of PE 0, which is written in this cycle if ``write``
    """

    def __init__(self, *, mapping: Mapping, family: str | None = None) -> None:
        self.mapping, self.family = mapping, family
        halves = mapping.halves
        super().__init__(
            {
                "control": In(ControlLayout(mapping)),
                "write": In(1),
                "store": In(halves),
                "transmit": In(1),
                "east": In(halves),
                "west": Out(halves),
                "tap": Out(halves),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        mapping, c = self.mapping, self.control
        halves = range(mapping.halves)
        sums = [Signal(PES, name=f"sum_{h}", reset_less=True) for h in halves]
        if mapping.two_ports:
            self.ram = ram = m.submodules.ram = DualPortRAM(depth=mapping.depth, family=self.family)
            first, second = Signal(PES, reset_less=True), Signal(PES, reset_less=True)
            m.d.comb += [
                ram.a_addr.eq(c.read),
                ram.a_write.eq(self.store),
                ram.a_write_data.eq(c.write_data),
                ram.b_addr.eq(c.second),
                ram.b_write.eq(self.write),
                ram.b_write_data.eq(sums[0]),
            ]
            m.d.sync += [first.eq(ram.a_data), second.eq(ram.b_data)]
            operands = [(first, second)]
        else:
            if mapping.halves == 2:
                self.ram = ram = m.submodules.ram = HalvesRAM(
                    depth=mapping.depth, family=self.family
                )
                held = Signal(2 * PES, reset_less=True)
                m.d.sync += held.eq(ram.read_data)
            else:
                self.ram = ram = m.submodules.ram = BlockRAM(
                    width=PES, depth=mapping.depth, latency=mapping.read, family=self.family
                )
                held = ram.read_data
            m.d.comb += [
                ram.read_addr.eq(c.read),
                ram.write_addr.eq(c.second),
                ram.write_data.eq(Cat(sums)),
                ram.write_en.eq(self.store | self.write.replicate(mapping.halves)),
            ]
            operands = [(held.word_select(h, PES), held.word_select(h, PES)) for h in halves]
        for h, (first, second) in zip(halves, operands, strict=True):
            self._pes(m, h, first, second, sums[h])
            passed = Signal(name=f"west_{h}", reset_less=True)
            m.d.sync += passed.eq(Mux(self.transmit, first[0], self.east[h]))
            m.d.comb += [self.west[h].eq(passed), self.tap[h].eq(sums[h][0])]
        return m

    def _pes(self, m, h, first, second, total):
        """Processing elements of a block: ``first`` is the memory port of X and of the multiplier's
        bits, ``second`` that of Y."""
        c, two_ports = self.control, self.mapping.two_ports
        x, y, carry, previous, add, invert = (
            Signal(PES, name=f"{name}_{h}", reset_less=True)
            for name in ("x", "y", "carry", "previous", "add", "invert")
        )
        folded = [second[p] & add[p] for p in range(PES)]
        for fold in range(FOLDS):
            span = PES >> (fold + 1)
            for p in range(span):
                folded[p] = folded[p] | (first[p + span] & c.fold[fold])
        folded[0] = folded[0] | (self.east[h] & c.network)
        taken = first & c.x_on.replicate(PES)
        with m.If(c.x_ce):
            m.d.sync += x.eq(taken if two_ports else taken | c.write_data)
        if two_ports:
            with m.If(c.x_ce):
                m.d.sync += y.eq(Cat(folded))
        else:
            with m.If(c.y_clear):
                m.d.sync += y.eq(0)
            with m.Elif(c.y_ce):
                m.d.sync += y.eq(Cat(folded))
        m.d.sync += total.eq(x ^ y ^ carry)
        minuend = x ^ invert
        with m.If(c.carry_clear):
            m.d.sync += carry.eq(0)
        with m.Elif(c.carry_ce):
            m.d.sync += carry.eq((minuend & y) | (minuend & carry) | (y & carry))
        booth = c.booth.replicate(PES)
        with m.If(c.load):
            m.d.sync += [
                add.eq(Mux(c.booth, first ^ previous, c.add.replicate(PES))),
                invert.eq(Mux(c.booth, first, c.invert.replicate(PES))),
            ]
        with m.If(c.previous):
            m.d.sync += previous.eq(first & booth)
