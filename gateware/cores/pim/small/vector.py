# SPDX-License-Identifier: BSD-2-Clause
"""Microprogram of the small engine for vector instructions, one element at a time (specification,
section 4.3). Pure Python."""

from ....isa.parameters import Params
from ....microcode.program import jump_table
from ..isa import ISA, TWO_SOURCES
from .instructions import STORE

__all__ = ["elements", "vectors"]

#: Instructions whose results are as wide as their sources, though those may be narrower.
_SAME = ("vvadd", "vvsub", "vvmax", "vrelu")
#: Instructions that make an element of each element, or pair of them.
_BY_ELEMENTS = [
    i
    for i in ISA.instructions
    if 10 <= i.opcode <= 24 and i.mnemonic not in ("vvdmul", "vavg", "vmv")
]


def elements() -> str:
    """Jump table of opcodes 10 to 24 to the code for an element."""
    return jump_table(
        {i.opcode: f"el_{i.mnemonic}" for i in _BY_ELEMENTS}, range(10, 25), "op_illegal"
    )


def vectors(params: Params) -> str:
    """Microprogram of the vector instructions, as source text."""
    two = sum(1 << opcode for opcode in TWO_SOURCES)
    same = sum(1 << ISA.opcodes[name] for name in _SAME)
    names = " ".join(
        f"op_{i.mnemonic}:" for i in _BY_ELEMENTS if i.mnemonic not in ("vtanh", "vsigm")
    )
    return f"""
.also XV ENTRY; .also YV MOST; .also SUM_L TAKEN; .also SUM_H PLACE; .also STEP ID
.also NEGATIVE BIT; .also REST FIRST
{names}
vector: cls WORK
        ld LEN; jz vectored
        idx OP
        ld #{same}; shr X; and #1; jz as_out
        ld IBYW; st WBYTES
        ld ISIGN; st WSIGN
        ld IMASK; st WMASK
        jmp ranges
as_out: call to_out
ranges: ld LEN; st N
        ld WBYTES; st WIDTH
        ld HIGH; and #1; call target
        ld IBYW; sub WBYTES; ld #0; jc narrow
        ld #1
narrow: st WIDER
        ld RS1; st R
        ld HIGH; and #2; call source
        ld FROM; st S0
        idx OP
        ld #{two}; shr X; and #1; st PAIR; jz one_source
        ld TO; st S1                                     // overlaps are looked at behind all ranges
        call other_one; call ordered
        ld S0; st FROM
        ld S1; st TO
one_source: call ordered
        idx RS2; ld REGS+X; st B
        jmp element
stored: call put
        call fewer; jz worked
element: call elements_of
        ld OP; jtab elements
worked: ld OP; sub #{ISA.opcodes["vvmul"]}; jnz vectored
counted_ops: ld LEN; out OPERATIONS
vectored: cnt RETIRED,VECTOR; jmp next
target: st SELECT                                                      // D0, D1: the result's range
        ld RD; st R
        call range; st D1
        ld FROM; st D0
        ret
first:  ld RS1; st R                                   // S0, and FROM, TO: the first source's range
        ld HIGH; and #2; call source
        ld FROM; st S0
        ret
other_one: ld RS2; st R                                     // T0, and FROM, TO: the second source's
        ld HIGH; and #4; call source
        ld FROM; st T0
        ret
fewer:  ld N; sub #1; st N; ret
source: st SELECT
        ld IBYW; st WIDTH
        jmp range
to_out: ld OBYW; st WBYTES
        ld OSIGN; st WSIGN
        ld OMASK; st WMASK
        ret
elements_of: ld S0; call take; st XV                                    // XV, YV
        ld FROM; st S0
        ld PAIR; jz taken
        ld T0; call take; st YV
        ld FROM; st T0
taken:  ret
take:   out P; add IBYW; st FROM                    // the element at A; FROM: the place of the next
        ld IBYW; run
        ld $VALUE; add ISIGN; and IMASK; sub ISIGN
        ret
put:    out VALUE                                                       // A to D0
        ld D0; out P; add WBYTES; st D0
        ld WBYTES; add #{STORE}; run
        ret
el_vvadd: ld XV; add YV; st L; ld #0; adc #0; st H
        ld YV; jpos minus_x
        ld H; sub #1; st H
        jmp minus_x
el_vvsub: ld XV; sub YV; st L; ld #{-1}; adc #0; st H
        ld YV; jpos minus_x
        ld H; add #1; st H
minus_x: ld XV; jpos clipped
        ld H; sub #1; st H
clipped: call saturate; jmp stored
el_vvmul: call product; jmp clipped
product: ld XV; mul YV; st H                                            // H, L: XV * YV
        ld $LOW; st L
        ld XV; jpos x_plus
        ld H; sub YV; st H
x_plus: ld YV; jpos y_plus
        ld H; sub XV; st H
y_plus: ret
el_vvmax: ld YV; st B
el_vrsl: call compare; jc as_x
        jmp as_b
el_vrsu: call compare; jc as_b
as_x:   ld XV; jmp extended
as_b:   ld B
extended: call extend; jmp clipped
compare: ld B; add #{1 << 31}; st T                                     // C: XV is at least B
        ld XV; add #{1 << 31}; sub T; ret
el_vrelu: ld XV; shl 1; ld #0; jc extended
        ld XV; jmp extended
el_vvsll: ld YV; and IMASK; out X; sub OBIW; ld #0; jc extended
        ld XV; shl X; add OSIGN; and OMASK; sub OSIGN
        jmp extended
el_vvsra: ld YV; and IMASK; st T; sub #32; ld T; jnc few
        ld #31
few:    out X
        ld XV; jneg below
        ld XV; shr X; jmp extended
below:  ld #{-1}; sub XV; shr X; st T
        ld #{-1}; sub T; jmp extended
saturate: ld L; add WSIGN; st V; ld H; adc #0; jnz clip          // H, L in the result's width, in A
        ld WMASK; sub V; jnc clip
        ld L; ret
clip:   ld H; jneg lowest
        ld WSIGN; sub #1; ret
lowest: ld #0; sub WSIGN; ret

op_vvdmul: cls WORK
        ld LEN; jz vectored
        st N; st PAIR; call single
        call first; call other_one
        ld #0; st SUM_L; st SUM_H
term:   call elements_of; call product; call total
        call fewer; jnz term
        ld SUM_L; st L
        ld SUM_H; st H
        call saturate; call put
        jmp counted_ops
single: call to_out                                                     // D0: the one result
        idx RD; ld REGS+X; st FROM; st D0
        ld OBYW; call extent
        ld TO; st D1
        ret
total:  ld SUM_L; add L; st SUM_L
        ld SUM_H; adc H; st SUM_H
        ret

strided: idx RS2; ld REGS+X; st B; mul IBYW  // R[RS2] apart: STEP in bytes; FROM, TO: all
        ld $LOW; st STEP
        ld FROM; st S0
        ld LEN; sub #1; jz still
        ld B; shl 1; ld B; jnc ahead
        ld #0; sub B
ahead:  st T; shr {params["lmem_bytes"].bit_length() - 1}; jnz no_lmem
        ld LEN; sub #1; st V
        ld T; mul V; ld $LOW; mul IBYW; ld $LOW; st V                   // how far
        ld B; jneg behind
        ld V
still:  add IBYW; jmp extent
behind: ld IBYW; call extent
        ld FROM; sub V; jnc no_lmem
        st FROM
        ret
step:   ld S0; st T; add STEP; st S0                                 // the next element, in H and L
        ld T; call take
extend: st L; shl 1; ld #0; jnc positive                             // A, with its sign, in H and L
        ld #{-1}
positive: st H
        ret
op_vmv: cls WORK
        ld LEN; jz vectored
        st N
        ld IBYW; st WIDTH; st WBYTES
        ld #0; call target
        idx RS1; ld REGS+X; st FROM
        call strided; call disjoint
gather: call step
        ld L; call put
        call fewer; jnz gather
        jmp vectored
op_vavg: cls WORK
        ld LEN; jz vectored
        st N; call single
        idx RS1; ld REGS+X; st V
        ld IBYW; mul OFFSET
        ld $LOW; add V; st FROM
        call strided
        ld #0; st SUM_L; st SUM_H
sum:    call step; call total
        call fewer; jnz sum
        ld SUM_H; st NEGATIVE; jpos whole  // (2 * |sum| + LEN) / (2 * LEN): halves away from 0
        ld #{-1}; sub SUM_H; st SUM_H
        ld #0; sub SUM_L; st SUM_L; ld SUM_H; adc #0; st SUM_H
whole:  ld SUM_H; st H
        ld SUM_L; st L
        call total
        ld LEN; st L
        ld #0; st H
        call total
        ld LEN; shl 1; st B
        ld #0; st REST; st H; st L
        ld #64; st N
divide: ld SUM_L; add SUM_L; st SUM_L         // a bit of the sum to the rest, a bit to the quotient
        ld SUM_H; adc SUM_H; st SUM_H
        ld REST; adc REST; st REST
        ld L; add L; st L
        ld H; adc H; st H
        ld REST; sub B; jnc smaller
        st REST
        ld L; add #1; st L
smaller: call fewer; jnz divide
        ld NEGATIVE; jpos mean
        ld #{-1}; sub H; st H
        ld #0; sub L; st L; ld H; adc #0; st H
mean:   call saturate; call put
        jmp vectored
"""
