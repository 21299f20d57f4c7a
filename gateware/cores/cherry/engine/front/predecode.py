# SPDX-License-Identifier: BSD-2-Clause
"""Predecoder: finds class, unit, registers and stateless faults of an instruction word
(specification, sections 3.1, 6)."""

from amaranth import Module, unsigned
from amaranth.lib import data, enum, wiring
from amaranth.lib.wiring import In, Out

from .....isa.parameters import Params
from .....shell.layouts import fields_of, word_layout
from ...asm.structure import sources
from ...isa import ISA, SPECIAL
from ...tables import OPERATIONS
from ..ops import AluKind, DotKind, SfuKind, Unit

__all__ = ["Class", "Predecode", "RecordLayout", "WORK", "WordFault"]


class Class(enum.Enum, shape=2):
    """Class of an instruction in the front end."""

    OPERATION = 0
    NOTHING = 1
    START = 2
    END = 3


class WordFault(enum.Enum, shape=2):
    """Stateless faults of an instruction word."""

    NONE = 0
    OPCODE = 1
    FIELD = 2
    FEATURE = 3


class RecordLayout(data.StructLayout):
    """Predecoded instruction: the word and its class, unit, registers and faults.

    word : 18 bits; fault : :class:`WordFault`; kind : :class:`Class`
    independent : of a start: of an independent loop
    unit, code : which unit works it off, and its number there (``DotKind``,
        ``AluKind``, ``SfuKind``; of a store 1)
    reads : tile registers that it reads; writes : it writes one, ``dst``
    load, store : it is one; weight : element operations of one execution, in sixteens
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "word": unsigned(18),
                "fault": WordFault,
                "kind": Class,
                "independent": unsigned(1),
                "unit": Unit,
                "code": unsigned(3),
                "reads": unsigned(4),
                "writes": unsigned(1),
                "dst": unsigned(2),
                "load": unsigned(1),
                "store": unsigned(1),
                "weight": unsigned(3),
            }
        )


#: Mnemonic -> unit and number there.
WORK = {
    **{
        name: (Unit.DOT, DotKind[name.upper()])
        for name in ("matmul", "mulacc", "add", "sub", "mul", "sum")
    },
    **{name: (Unit.ALU, AluKind[name.upper()]) for name in ("relu", "gtz", "max", "copy", "zero")},
    **{name: (Unit.SFU, SfuKind[name.upper()]) for name in ("div", "pow", "exp", "log")},
}


class Predecode(wiring.Component):
    """Combinational predecoder of instruction words.

    Members
    -------
    word : In, 18 bits; record : Out, :class:`RecordLayout`
    """

    def __init__(self, *, params: Params) -> None:
        self._special, self._axes = bool(params["sfu_lanes"]), bool(params["reduce_axes"])
        super().__init__({"word": In(18), "record": Out(RecordLayout())})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        record = self.record
        m.d.comb += record.word.eq(self.word)
        self._parts = data.View(word_layout(ISA), self.word)
        with m.Switch(self._parts.opcode):
            for instruction in ISA.instructions:
                if instruction.mnemonic == "nop":
                    continue  # a copy
                with m.Case(instruction.opcode):
                    self._instruction(m, instruction)
            with m.Default():
                m.d.comb += record.fault.eq(WordFault.OPCODE)
        return m

    def _instruction(self, m, instruction):
        name, record = instruction.mnemonic, self.record
        fields = fields_of(ISA, name, self.word)
        wrong = (self._parts.operands & ISA.zero_mask(instruction)).any()
        reduces = name in ("max", "sum")
        if reduces:
            wrong |= fields.axis == 3
        if name == "load":
            wrong |= fields.skip & (fields.len_y == 0)
        lacks = (
            not self._special
            if name in SPECIAL
            else (fields.axis != 0 if reduces and not self._axes else False)
        )
        with m.If(wrong):
            m.d.comb += record.fault.eq(WordFault.FIELD)
        with m.Elif(lacks):
            m.d.comb += record.fault.eq(WordFault.FEATURE)
        if name.startswith("start"):
            m.d.comb += [
                record.kind.eq(Class.START),
                record.independent.eq(name == "start_independent_loop"),
            ]
        elif name.startswith("end"):
            m.d.comb += record.kind.eq(Class.END)
        elif name in ("load", "store"):
            whole = (
                0 if name == "store" else fields.zero | ((fields.len_y == 0) & (fields.len_x == 0))
            )
            m.d.comb += [
                record.unit.eq(Unit.LSU),
                record.code.eq(name == "store"),
                record.load.eq(name == "load"),
                record.store.eq(name == "store"),
                record.reads.bit_select(fields.reg, 1).eq(~whole),
                record.writes.eq(name == "load"),
                record.dst.eq(fields.reg),
            ]
        else:
            self._work(m, name, fields)

    def _work(self, m, name, fields):
        record = self.record
        unit, code = WORK[name]
        m.d.comb += [
            record.unit.eq(unit),
            record.code.eq(code.value),
            record.weight.eq(OPERATIONS.get(name, 0) // 16),
            record.writes.eq(1),
        ]
        if name == "copy":
            m.d.comb += [record.dst.eq(fields.dst), record.reads.bit_select(fields.src, 1).eq(1)]
            with m.If(fields.dst == fields.src):
                m.d.comb += record.kind.eq(Class.NOTHING)
        elif name == "zero":
            m.d.comb += record.dst.eq(fields.reg)
        else:
            read, written = sources(name, {})
            m.d.comb += [record.reads.eq(sum(1 << r for r in read)), record.dst.eq(written)]
