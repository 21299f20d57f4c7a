# SPDX-License-Identifier: BSD-2-Clause
"""Instruction set of the template core: encoding, registers and faults. Pure Python."""

from quintet.gateware.isa.instruction import Signed
from quintet.gateware.isa.registers import Fault, Register
from quintet.gateware.isa.table import Field, Instruction, Isa, Part, Storage, Syntax

__all__ = ["ISA"]

_N = (Field("n", 11, 0, doc="number of a word behind register data"),)

ISA = Isa(
    name="template",
    title="Template",
    tag="TMPL",
    version=(1, 0),
    program_align=2,
    storage=(Storage(16, 2),),
    parts=(Part("opcode", 15, 12), Part("operand", 11, 0)),
    instructions=(
        Instruction("end", 0, doc="Ends the program."),
        Instruction("ldi", 1, (Field("imm", 11, 0, coding=Signed()),), doc="acc = imm."),
        Instruction("ld", 2, _N, doc="acc = word n."),
        Instruction("add", 3, _N, doc="acc = acc + word n, modulo 2^16."),
        Instruction("mul", 4, _N, doc="acc = acc * word n, modulo 2^16."),
        Instruction("st", 5, _N, doc="word n = acc."),
    ),
    registers=(
        Register("data", 0x100, "rw", align=2, mask=0xFFFF_FFFE, doc="address of word 0"),
        Register("acc", 0x104, "r", doc="the accumulator"),
    ),
    faults=(
        Fault(1, "illegal_opcode", "opcode above 5", "the word"),
        Fault(2, "bad_field", "end with an operand", "the word"),
        Fault(5, "window", "an instruction or its word outside the memory window", "its address"),
        Fault(6, "bus_error", "the memory answered with an error", "its address"),
        Fault(7, "program_end", "the program has no end", "0"),
        Fault(8, "aborted", "ended by the host or the cycle limit", "0"),
    ),
    syntax=Syntax(comments=("#",)),
    fault_detail=lambda word, item: word,
    doc="One accumulator of 16 bits and words in main memory.",
)
