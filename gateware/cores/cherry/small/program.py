# SPDX-License-Identifier: BSD-2-Clause
"""Microprogram of the small engine for the instructions of a program (specification, sections 3.1,
4 and 6). Pure Python.

An iteration of an independent loop is a group of its own. A tile of register r has two entries, the
private one and the uniform one.
"""

from ....isa.parameters import Params
from ....microcode.program import Microprogram, jump_table
from ..asm.structure import sources
from ..engine.front.predecode import WORK
from ..engine.ops import Unit
from ..isa import ISA, LOOPS, SPECIAL
from .instructions import MACHINE
from .lists import ALL_ONES, CODE_TABLE, TILE_WORDS, lists, tile_table
from .special import TABLES, special
from .transfer import transfers

__all__ = ["ACCESS", "ALU", "COPIES", "DST", "KIND", "UNIFORM", "microprogram"]

#: An operation of a unit: the word's operands, and from these bits on: kind, register that it
#: writes, registers whose private entry it reads, whether it writes the uniform entry, whether it
#: is the vector ALU's. In INFO the registers are those that it reads.
KIND, DST, COPIES, UNIFORM, ALU = 13, 16, 18, 22, 23
#: Bit of an operation of the load/store unit (:class:`~.access.AccessLayout`).
ACCESS = 24
#: In such an operation: the entry that is read, and written, is the uniform one.
_OF_UNIFORM, _TO_UNIFORM = 0x100, 0x200
#: Elements of an entry, and of a register.
_ENTRY, _REGISTER = 16, TILE_WORDS // 4


def _info():
    """Table by opcode: bits that must be 0, and the constant bits of its operation."""
    entries = [0] * 32
    for instruction in ISA.instructions:
        name = instruction.mnemonic
        if name == "nop":
            continue  # a copy
        value = ISA.zero_mask(instruction) & 0x1FFF
        if name in WORK:
            unit, kind = WORK[name]
            value |= kind.value << KIND | (unit is Unit.ALU) << ALU
            if name not in ("copy", "zero"):
                read, written = sources(name, {})
                value |= written << DST | sum(1 << COPIES + r for r in read)
        entries[instruction.opcode] = value
    return entries


def _handlers(params):
    """Handler labels by opcode."""
    labels = {}
    for instruction in ISA.instructions:
        name = instruction.mnemonic
        if name == "nop":
            continue
        if name in SPECIAL:
            label = "op_special" if params["sfu_lanes"] else "op_feature"
        elif name.startswith("start"):
            label = "op_start"
        elif name.startswith("end"):
            label = "op_end"
        elif name in ("max", "sum"):
            label = "op_reduce"
        elif name in ("matmul", "copy", "zero", "load", "store"):
            label = f"op_{name}"
        else:
            label = "op_plain"
        labels[instruction.opcode] = label
    return labels


def _code(params, codes):
    axis = "" if params["reduce_axes"] else "ld WORD; and #0xC00; jnz op_feature"
    tiles = tile_table(params)
    return f"""
program: cls FETCH
        ld #0; st INDEX; st DEPTH; st INDEP; st NP
        ld #{tiles + 4 * _REGISTER}; st N
clear:  ld N; sub #1; st N; out P
        ld #0; out TABLE
        ld N; sub #{tiles}; jnz clear
        jmp fetch

next:   ld INDEX; add #1; st INDEX                                     // an instruction is complete
fetch:  jabort stopped                                                  // A: INDEX
        cls FETCH
        sub COUNT; jz end
        ld INDEX; add #{CODE_TABLE}; out P
        ld $TABLE; st WORD; ld $OPCODE; st OPCODE; out X
        ld INFO+X; st I; and WORD; and #0x1FFF; jnz op_field
        ld OPCODE; jtab opcodes
.align 32
opcodes:
{jump_table(_handlers(params), range(32), "op_opcode")}

op_matmul: call operate; cnt RETIRED,OPS64; jmp next
op_reduce: ld WORD; and #0xC00; sub #0xC00; jz op_field                 // an axis
        {axis}
op_plain: call operate; cnt RETIRED,OPS16; jmp next
op_copy: ld WORD; shr 9; and #3; st T; out X
        ld BITS+X; add I; st I
        ld WORD; shr 11; and #3; sub T; jz nothing
op_zero: ld WORD; shr 11; and #3; shl {DST}; add I; st I
        call operate
nothing: cnt RETIRED; jmp next

operate: call private                      // I, WORD: in a unit, and what follows for the registers
        ld WORD; and #0x1FFF; st T
        ld I; and #{1 << ALU | 0x1F << KIND}; add T; st T
        ld PRIV; jz uniform
        ld T; add NP; run
        jmp written
uniform: ld T; add #{1 << UNIFORM}; run
written: ld I; ld $UPPER; and #3; out X                      // the register that I names is written
renewed: ld NP; and BITS+X; st T                                        // that of X
        ld NP; sub T; st NP
        ld PRIV; jz settled
        ld NP; add BITS+X; st NP
settled: ret
private: ld INDEP; jz settle           // whether a context has a tile of its own from it, into PRIV
        ld I; and NP
settle: st PRIV
        ret

op_start: call loop
        ld INDEP; jnz reason_1
        ld ACTIVE; and LOOPBIT+X; jnz reason_2
        ld LOOPS; and LOOPBIT+X; jz no_loop
        ld OPCODE; and #1; st T; jz ordered                             // independent
        ld CONTEXTS; jz ordered
        sub LCOUNT+X; jnc reason_6
ordered: ld LCOUNT+X; jz skip
        ld #0; st ITER+X
        ld INDEX; st START+X
        ld T; st INDEP
        ld ACTIVE; add LOOPBIT+X; st ACTIVE
        ld DEPTH; out X; add #1; st DEPTH
        ld L; st STACK+X
        jmp nothing
skip:   ld INDEX; add #2; add BODY+X; st T
        ld COUNT; sub T; jnc open
        ld T; st INDEX
        cnt RETIRED; jmp fetch
op_end: call loop
        ld DEPTH; jz reason_3
        sub #1; st K; out X
        ld STACK+X; sub L; jnz reason_4
        idx L
        ld START+X; add BODY+X; add #1; sub INDEX; jnz reason_5
        ld ITER+X; add #1; st T; sub LCOUNT+X; jz leave
        ld T; st ITER+X
        ld START+X; add #1; st INDEX
        cnt RETIRED; jmp fetch
leave:  st INDEP                                                        // A: 0
        ld K; st DEPTH
        ld ACTIVE; sub LOOPBIT+X; st ACTIVE
        jmp nothing
loop:   ld WORD; ld $LOOP; st L; out X
        ret

op_load: ld WORD; and #0x31; sub #1; jz op_field                        // four rows, and skip
        cls OPERAND
        call access
        ld INDEP; st PRIV; jz decided
        ld MOVES; st PRIV
        ld WORD; and #2; jnz decided
        ld WORD; and #0x3C; jz decided
        idx REG
        ld NP; and BITS+X; add PRIV; st PRIV                       // it reads what it does not load
decided: call tile
        jnc no_element
        idx REG
        call renewed
        jmp nothing
op_store: cls WRITE
        call access
        ld INDEP; st PRIV
        call tile
        jc nothing
no_element: ld $PLACE; and #0x3FFFF; st T
        ld #{codes["mem_range"]}; jmp of_t
tile:   idx REG                             // the unit's work; C: done, else the address is outside
        ld WORD; and #0x20FF; add #{1 << ACCESS}; st T
        ld PRIV; jnz of_context
        ld T; add #{_OF_UNIFORM + _TO_UNIFORM}; run
        jmp looked
of_context: ld NP; and BITS+X; jnz of_private
        ld T; add #{_OF_UNIFORM}; run
        jmp looked
of_private: ld T; run
looked: ld #0x7FFFFFFF; sub $PLACE
        ret
view:   ld REG; out X                                                  // where the context sees REG
        shl 5; add #{tiles}; st VIEW
        ld PRIV; jz sees_uniform
        ld NP; and BITS+X; jnz seen
sees_uniform: ld VIEW; add #{_ENTRY}; st VIEW
seen:   ret

access: ld WORD; ld $REGISTER; st REG                // address and steps of an access into its unit
        ld #0; st MOVES; st K
        ld WORD; ld $UNIT; st U; out X
        ld UNITS; shr X; and #1; jz no_unit
        ld U; shl 4; st TP; out P
        ld $TABLE; st BEGIN
        ld REMASK; jz strides
        shr X; and #1; jz strides
        ld BEGIN; add REBASE; st BEGIN
strides: ld TP; add #1; out P
        ld $TABLE; out ALONG
        ld TP; add #2; out P
        ld $TABLE; out DOWN
term:   ld K; sub DEPTH; jz placed
        ld K; out X; add #1; st K
        ld STACK+X; out X; add #8; add TP; out P
        ld $TABLE; jz term
        st FACTOR
        ld K; sub DEPTH; jnz times
        ld #1; st MOVES                                                 // of the innermost loop
times:  ld ITER+X; jz term
        mul FACTOR; ld $LOW; add BEGIN; st BEGIN
        jmp term
placed: ld BEGIN; out PLACE
        ret

op_opcode: ld #{codes["opcode"]}; jmp of_word
op_field: ld #{codes["field"]}; jmp of_word
op_feature: ld #{codes["feature"]}
of_word: st CODE
        ld WORD; jmp inside
reason_1: ld #0x100; jmp state
reason_2: ld #0x200; jmp state
reason_3: ld #0x300; jmp state
reason_4: ld #0x400; jmp state
reason_5: ld #0x500; jmp state
reason_6: ld #0x600
state:  add L; st T
        ld #{codes["state"]}; jmp of_t
no_unit: ld U; add #0x100; st T
        jmp undeclared
no_loop: ld L; st T
undeclared: ld #{codes["undeclared"]}; jmp of_t
open:   ld L; st T
        ld #{codes["program_end"]}
of_t:   st CODE
        ld T
inside: st T                                                            // A: detail, CODE
        ld INDEP; jz whereabouts
        ld DEPTH; sub #1; out X
        ld STACK+X; out X
        ld ITER+X; shl 14; out CONTEXT
whereabouts: ld INDEX; shl 2; add CODE0; st PC
        ld T; jmp fail
end:    ld DEPTH; jz over
        sub #1; out X
        ld STACK+X; st T
        ld INDEX; sub #1; st INDEX
        ld #{codes["program_end"]}; st CODE
        jmp whereabouts
stopped: ld #{codes["aborted"]}; st CODE
        ld #0; st T
        jmp whereabouts
"""


def microprogram(params: Params, memory_size: int) -> Microprogram:
    """Assembles the :class:`~quintet.gateware.microcode.program.Microprogram` of a build;
    ``memory_size`` in bytes."""
    codes, functions = (
        ISA.fault_codes,
        special(tile_table(params), _ENTRY, _REGISTER) if params["sfu_lanes"] else "",
    )
    parts = {
        "lists": lists(params, codes),
        "transfers": transfers(params, memory_size, codes),
        "program": _code(params, codes),
        "special": functions,
    }
    values = {
        "INFO": _info(),
        "ITER": [ALL_ONES] * 8,
        "BITS": [1 << COPIES + r for r in range(4)],
        "LOOPBIT": [1 << k for k in range(LOOPS)],
    }
    return Microprogram(MACHINE, parts, values=values | (TABLES if functions else {}))
