# SPDX-License-Identifier: BSD-2-Clause
"""Microprogram of the small engine for fetch, decoding, scalar instructions, events and faults
(specification, sections 3, 4 and 6). Pure Python."""

from ....isa.parameters import Params
from ....microcode.program import Microprogram, jump_table
from ..isa import EVENT_MOST, ISA
from .activation import activations
from .instructions import MACHINE, Flag
from .load import load
from .matrix import matrix
from .transfer import transfers
from .vector import elements, vectors

__all__ = ["microprogram"]

#: Bits of the upper half that must be zero: all, those of the selection, that of the second source,
#: none.
_UPPER = (0xFFFF_FFFF, 7, 4, 0)
#: Opcode that no instruction has: sync, whose number is above the others', takes its place.
_FREE = 21


#: Instructions by the number that stands for them in the tables.
_NUMBERED = {_FREE if i.opcode == 32 else i.opcode: i for i in ISA.instructions}
#: Labels where they are carried out, by the same number.
_LABELS = {number: f"op_{i.mnemonic}" for number, i in _NUMBERED.items()}


def _info():
    """Table by opcode: mask of the lower half's bits that must be zero, with the index into
    ``_UPPER`` in place of the opcode."""
    entries = [0] * 32
    for number, instruction in _NUMBERED.items():
        mask = ISA.zero_mask(instruction)
        entries[number] = mask & 0xFFFF_FFFF | _UPPER.index(mask >> 32)
    return entries


def _tables():
    """Start of the program: two jump tables, with routines of matching length in their gaps."""
    return f"""
elements: boot: wait
        cls FETCH
        ld #{int(Flag.LOADING)}; out FLAGS
        ld #64; st N
        jmp clear
one:    idx RS1; ld REGS+X; ret                                         // R[RS1] in A
{elements()}
both:   call one; st V                                                  // R[RS1] in V, R[RS2] in A
        idx RS2; ld REGS+X; ret
op_send: op_recv: call other; jmp no_core
opcodes:
{jump_table(_LABELS, range(32), "op_illegal")}
"""


def _code(params, codes):
    return f"""
scalar: cnt RETIRED,SCALAR; jmp next                                   // an instruction is complete
moved:  cnt RETIRED,TRANSFER
next:   ld INDEX; add #1; st INDEX
fetch:  cls FETCH
        ld CADDR; st IADDR
        jabort stopped
        ld INDEX; sub COUNT; jz end
        ld CADDR; sub CODE_END; jz starved
        call word; st LOW; and #63; st OP
        ld MODE; jz wide
        sub #1; jz short
        ld OP; sub #33; jnc short
        ld LOW; sub #32; st LOW
        ld OP; sub #32; st OP
        ld CADDR; sub CODE_END; jz starved
wide:   call word; st HIGH; jmp decode
short:  ld #0; st HIGH
        ld OP; sub #1; jz short_11
        ld OP; shr 1; sub #3; jnz decode
        ld LOW; shr 16; add #0x8000; and #0xFFFF; sub #0x8000; st HIGH
        ld LOW; and #0xFFFF; st LOW
        jmp decode
short_11: ld LOW; shr 11; add #0x100000; and #0x1FFFFF; sub #0x100000; st HIGH
        ld LOW; and #0x7FF; st LOW
decode: cls OTHER
        ld OP; sub #{_FREE}; jz op_illegal
        ld OP; sub #32; jnz usual
        ld #{_FREE}; st OP
        jmp known
usual:  jc op_illegal
known:  idx OP
        ld INFO+X; st I; and #{~63}; and LOW; jnz illegal_field
        ld I; and #3; jz upper_0
        sub #2; jz upper_2
        jc fields
        ld HIGH; and #7; jnz illegal_field
        jmp fields
upper_2: ld HIGH; and #4; jnz illegal_field
        jmp fields
upper_0: ld HIGH; jnz illegal_field
fields: ld LOW; shr 6; st T; and #31; st RD
        ld T; shr 5; st T; and #31; st RS1
        ld T; shr 5; st T; and #31; st RS2
        ld T; shr 5; st LEN
        ld HIGH; shr 3; add #{1 << 28}; and #{(1 << 29) - 1}; sub #{1 << 28}; st OFFSET
        ld OP; jtab opcodes

word:   ld CADDR; st GA; read; jc bus                                   // of the code, in A
        st W
        cnt CODE4
        ld CADDR; add #4; st CADDR
        ld W; ret
end:    ld CADDR; sub CODE_END; jnz starved
        ld #{int(Flag.DONE)}; out FLAGS
        ld #0; out CODE; out PC; out FINISH
        jmp boot

op_nop: jmp scalar
op_sldi: idx RD
        ld HIGH; st REGS+X; jmp scalar
op_sadd: call both; add V; jmp result
op_ssub: call both; st T; ld V; sub T; jmp result
op_smul: call both; mul V; ld $LOW; jmp result
op_saddi: call one; add HIGH; jmp result
op_smuli: call one; mul HIGH; ld $LOW
result: st V
        idx RD
        ld V; st REGS+X; jmp scalar
op_setbw: ld RD; call biw; st RD
        ld RS1; call biw; st OBIW
        ld RD; st IBIW
        call widths; jmp scalar
biw:    jnz some                                                   // a width, 0 for 32, that exists
        ld #32
some:   st T; sub #{params["max_biw"] + 1}; jc too_wide
        ld T; ret
too_wide: ld #{codes["width"]}; jmp raise

begin:  call widths; jmp fetch
widths: ld OBIW; call width                                 // bytes, signs and masks of both widths
        ld BYTES; st OBYW
        ld SIGN; st OSIGN
        ld MASK; st OMASK
        ld IBIW; call width
        ld BYTES; st IBYW
        ld SIGN; st ISIGN
        ld MASK; st IMASK
        ret
width:  sub #1; out X
        shr 3; add #1; st BYTES
        ld #1; shl X; st SIGN; sub #1; add SIGN; st MASK
        ret

other:  ld LOW; shr 11; and #1023; st T; ret
no_core: ld #{codes["core_range"]}; jmp raise
op_sync: call other; jnz no_core
        ld RD; st T; out X
        ld EVENTS+X; sub #{EVENT_MOST}; jc overflow
        ld EVENTS+X; add #1; st EVENTS+X
        jmp moved
overflow: ld #{codes["event_overflow"]}; jmp raise
op_wait: call other
        idx RD
        ld WAITS; jz exact
        ld EVENTS+X; sub T; jnc blocked
        jmp passed
exact:  ld EVENTS+X; sub T; jnz blocked
passed: st EVENTS+X
        jmp moved
blocked: ld #{int(Flag.BLOCKED)}; out FLAGS
        ld #1; st T
        ld #{codes["deadlock"]}; jmp raise

op_illegal: ld LOW; st T
        ld #{codes["illegal_opcode"]}; jmp raise
illegal_field: ld LOW; st T
        ld #{codes["illegal_field"]}; jmp raise
starved: ld IADDR; sub CODE_AT; shr 2; st T
        ld #{codes["code_end"]}; jmp raise
stopped: ld #0; st T
        ld #{codes["aborted"]}; jmp raise
bus:    ld GA; st T
bus_t:  ld #{codes["bus_error"]}
raise:  out CODE                                                        // A: code, T: detail
        ld IADDR; out PC
        ld T; out FINISH
        jmp boot
"""


def microprogram(params: Params, memory_size: int) -> Microprogram:
    """Assembles the :class:`~quintet.gateware.microcode.program.Microprogram` of a build;
    ``memory_size`` in bytes."""
    codes = ISA.fault_codes
    parts = {
        "tables": _tables(),
        "load": load(params, memory_size, codes),
        "program": _code(params, codes),
        "vectors": vectors(params),
        "activations": activations(params, codes),
        "matrix": matrix(params, codes),
        "transfers": transfers(params, memory_size, codes),
    }
    return Microprogram(MACHINE, parts, values={"INFO": _info()}, entries=("boot",))
