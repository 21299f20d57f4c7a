# SPDX-License-Identifier: BSD-2-Clause
"""Microprogram of the small engine for vtanh and vsigm, by their table (specification, section
4.3). Pure Python."""

from ....isa.parameters import Params
from ..image.fields import AUTO
from ..isa import ISA
from ..tables import STEPS, TANH
from .instructions import TABLE_AT

__all__ = ["activations"]

_SIGM = ISA.opcodes["vsigm"]
#: Fraction bits of a table's value; of its steps within a unit, and what lies between two.
_ONE, _FINE = 16, 10
#: Inputs from here on, with 16 fraction bits, give 1.
_FULL = STEPS.bit_length() - 1 + _FINE


def activations(params: Params, codes: dict[str, int]) -> str:
    """Microprogram of vtanh and vsigm, as source text."""
    if not params["act_unit"]:
        return f"""
op_vtanh: op_vsigm: ld OP; st T
        ld #{codes["unsupported"]}; jmp raise
el_vtanh: el_vsigm: jmp op_illegal
"""
    return f"""
.also SIGMOID FLAGS; .also IN_SHIFT CODE_BYTES; .also OUT_SHIFT IMAGE; .also U END
op_vtanh: op_vsigm: ld OP; sub #{_SIGM}; ld #0; jnc tanh
        ld #1
tanh:   st SIGMOID
        ld FI; sub #{AUTO}; ld FI; jnc formed
        ld IBIW; sub #4; jc formed
        ld #0
formed: st T
        ld #16; sub SIGMOID; sub T; st IN_SHIFT     // to 16 fraction bits, half of it for a sigmoid
        ld FO; sub #{AUTO}; ld FO; jnc out_formed
        ld OBIW; sub #1
out_formed: sub #{_ONE}; sub SIGMOID; st OUT_SHIFT
        jmp vector

el_vtanh: el_vsigm: ld XV; st NEGATIVE; jpos absolute
        ld #0; sub XV; st XV
absolute: ld IN_SHIFT; jneg lower
        ld #{_FULL}; sub IN_SHIFT; out X
        ld XV; shr X; jnz full
        idx IN_SHIFT
        ld XV; shl X; jmp looked_up
lower:  ld #0; sub IN_SHIFT; out X
        ld XV; shr X; st U; shr {_FULL}; jnz full
        ld U
looked_up: st U; shr {_FINE}; st K; call tabled; st V
        ld K; add #1; call tabled; sub V; st T
        ld U; and #{(1 << _FINE) - 1}; mul T
        ld $LOW; add #{1 << _FINE - 1}; shr {_FINE}; add V; jmp found
full:   ld #{1 << _ONE}
found:  st V
        ld SIGMOID; jz scaled
        ld NEGATIVE; jneg under
        ld V; add #{1 << _ONE}; st V
        jmp scaled
under:  ld #{1 << _ONE}; sub V; st V
scaled: ld OUT_SHIFT; jneg rounded
        idx OUT_SHIFT
        ld V; shl X; jmp signed
rounded: ld #0; sub OUT_SHIFT; st K; sub #1; out X
        ld #1; shl X; add V; st V
        idx K
        ld V; shr X
signed: st L
        ld #0; st H
        ld SIGMOID; jnz clipped
        ld NEGATIVE; jpos clipped
        ld #0; sub L; st L; jc clipped
        ld #{-1}; st H
        jmp clipped
tabled: st T; sub #{TANH.index(1 << _ONE)}; jc last                      // entry A
        ld T; shl 1; add #{TABLE_AT}; out P
        ld #2; run
        ld $VALUE; and #0xFFFF; ret
last:   ld #{1 << _ONE}; ret
"""
