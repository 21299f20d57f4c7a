# SPDX-License-Identifier: BSD-2-Clause
"""Base classes of microcoded machines: registers in block RAM, two-stage pipeline."""

from collections.abc import Mapping
from types import SimpleNamespace

from amaranth import Signal, Value
from amaranth.lib import data, memory, wiring

from .program import Microprogram

__all__ = ["RegisterMachine", "StagedMachine"]


class RegisterMachine(wiring.Component):
    """Base class of microcoded machines: 32-bit registers in block RAM, one read and one write per
    cycle.

    Parameters
    ----------
    program : :class:`~.program.Microprogram`
    members : dict, members of the component

    Attributes
    ----------
    register_write : write port of the registers, for tracing; once elaborated
    """

    def __init__(self, program: Microprogram, members: Mapping[str, wiring.Member]) -> None:
        self._program = program
        super().__init__(members)

    def _registers(self, m):
        """Read port of the registers. A value read in the cycle of its write is never used; machine
        or assembler guarantees that."""
        values = self._program.registers
        m.submodules.registers_disjoint = registers = memory.Memory(
            shape=32, depth=len(values), init=values
        )
        read, self.register_write = registers.read_port(), registers.write_port()
        return read

    def writes(self, name: str) -> Value:
        """Whether register ``name`` is written in this cycle; valid after elaboration, with the
        value in ``register_write.data``."""
        return self.register_write.en & (self.register_write.addr == self._program.names[name])


class StagedMachine(RegisterMachine):
    """Base class of pipelined machines that execute a micro-instruction of up to 32 bits per cycle,
    in two stages: the first addresses the operand and decodes, the second executes.

    Members
    -------
    write, write_address, write_data : In: to a register; the program's own writes go first
    """

    def _stages(self, m, layout, late, advance):
        """Program memory and register memory.

        ``layout`` : :class:`~.layout.Layout`; ``late`` :
            names of the fields that the second stage needs; ``advance`` : both stages go on

        Returns ``fetch`` and ``read``, ports of program and registers, whose addresses are left
        open; ``first`` and ``second``, the fields in each stage; ``valid``, a micro-instruction is
        in the second stage; ``jump``, to be driven: the one in the first is dropped; ``advance``.
        """
        program = self._program
        m.submodules.code = code = memory.Memory(shape=32, depth=program.size, init=program.words)
        s = SimpleNamespace(
            fetch=code.read_port(),
            read=self._registers(m),
            valid=Signal(name="valid"),
            jump=Signal(name="jump"),
            advance=advance,
        )
        fields = data.StructLayout(layout)
        s.first = data.View(fields, s.fetch.data[: fields.size])
        s.second = Signal(data.StructLayout({name: layout[name] for name in late}), name="second")
        loaded = Signal()
        m.d.comb += [s.fetch.en.eq(advance), s.read.en.eq(advance)]
        with m.If(advance):
            m.d.sync += [
                loaded.eq(1),
                s.valid.eq(loaded & ~s.jump),
                *(s.second[name].eq(s.first[name]) for name in late),
            ]
        return s

    def _decode(self, m, s, **values):
        """Creates flip-flops ``s.<name>`` that hold, in the second stage, the ``values`` of the
        first."""
        for name, value in values.items():
            held = Signal(len(Value.cast(value)), name=name)
            with m.If(s.advance):
                m.d.sync += held.eq(value)
            setattr(s, name, held)

    def _write(self, m, own, address, value):
        """Writes ``value`` to register ``address`` in cycles with ``own``, and external values in
        others."""
        m.d.comb += [
            self.register_write.en.eq(own | self.write),
            self.register_write.addr.eq(self.write_address),
            self.register_write.data.eq(self.write_data),
        ]
        with m.If(own):
            m.d.comb += [self.register_write.addr.eq(address), self.register_write.data.eq(value)]
