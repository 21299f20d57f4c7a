# SPDX-License-Identifier: BSD-2-Clause
"""Scalar registers and ALU (section 4.1): one instruction per cycle, which may use the result of
its predecessor."""

from amaranth import Module, Mux, Signal, Value
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out

from .....primitives.adders import FunctionAdder
from ...isa import REGISTERS_PER_CORE

__all__ = ["Registers", "alu"]


class Registers(wiring.Component):
    """Register file: 32 registers of 32 bits, two reads and one write per cycle; a write is visible
    to reads from the next cycle.

    Parameters
    ----------
    family : str or None
        Where the memory is to lie: ``"ecp5"``: in LUTs.

    Members
    -------
    index_a, index_b : In(5); a, b : Out(32), one cycle later, with what was written until then
    write : In, index : In(5), data : In(32)
    ready : Out, low for 32 cycles after a reset, in which all become 0 and nothing may be written
    """

    def __init__(self, *, family: str | None = None) -> None:
        self.family = family
        super().__init__(
            {
                "index_a": In(5),
                "index_b": In(5),
                "a": Out(32),
                "b": Out(32),
                "write": In(1),
                "index": In(5),
                "data": In(32),
                "ready": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        attributes = {"ram_style": "distributed"} if self.family == "ecp5" else {}
        m.submodules.memory = store = memory.Memory(
            shape=32, depth=REGISTERS_PER_CORE, init=[], attrs=attributes
        )
        writer = store.write_port()
        sweep = Signal(range(REGISTERS_PER_CORE + 1))
        m.d.comb += [
            self.ready.eq(sweep == REGISTERS_PER_CORE),
            writer.en.eq(self.write | ~self.ready),
            writer.addr.eq(Mux(self.ready, self.index, sweep)),
            writer.data.eq(Mux(self.ready, self.data, 0)),
        ]
        with m.If(~self.ready):
            m.d.sync += sweep.eq(sweep + 1)
        last = Signal(32, reset_less=True)
        m.d.sync += last.eq(self.data)
        for name in "ab":
            index, reader, forward = (
                getattr(self, f"index_{name}"),
                store.read_port(),
                Signal(name=f"forward_{name}"),
            )
            m.d.comb += [
                reader.addr.eq(index),
                reader.en.eq(1),
                getattr(self, name).eq(Mux(forward, last, reader.data)),
            ]
            m.d.sync += forward.eq(self.write & (self.index == index))
        return m


def alu(m: Module, operation: data.View, a: Value, b: Value, family: str | None = None) -> Value:
    """Result of ``sldi``, ``sadd``, ``ssub``, ``saddi``, 32 bits.

    Parameters
    ----------
    m : Module
    operation : view of :func:`~.decode.operation_layout`
    a, b : values of rs1 and rs2
    family : as the primitives'
    """
    m.submodules.alu = adder = FunctionAdder(width=32, function="and", family=family)
    m.d.comb += [
        adder.a.eq(Mux(operation.immediate, operation.high, b) ^ operation.subtracts.replicate(32)),
        adder.b.eq(a),
        adder.c.eq(~operation.constant.replicate(32)),
        adder.carry.eq(operation.subtracts),
    ]
    return adder.total
