# SPDX-License-Identifier: BSD-2-Clause
"""Microprogram of the small engine for mvmul, two columns at a time (specification, section 4.2).
Pure Python."""

from ....isa.parameters import Params
from .instructions import BIAS_AT, MAC, SHIFT, STORE, TWO

__all__ = ["matrix"]

#: A sum has fewer bits than 39 and a sign: further shifts are as this one.
_LONGEST = 39


def matrix(params: Params, codes: dict[str, int]) -> str:
    """Microprogram of mvmul, as source text."""
    return f"""
.also MACS ENTRY; .also BAND MOST; .also SHIFTS TAKEN; .also RELU PLACE; .also BIAS ID
.also BIASED BIT; .also INNER FIRST
.also PUTS FLAGS; .also C CODE_BYTES
op_mvmul: cls WORK
        ld IBIW; st T; sub #{params["x_bits"] + 1}; jc too_wide
        ld LEN; and #1023; st GROUP; st T; sub GROUPS; jc no_group
        ld RS2; jnz given
        ld #32; st RS2
given:  call size; call bind
        ld RS2; st T
        ld FORMS; and #255; sub T; jnz too_wide
        call to_out
        ld COLS; st N
        ld OBYW; st WIDTH
        ld #0; call target
        ld RS1; st R
        ld ROWS; st N
        ld #0; call source; call disjoint
        ld FROM; st S0
        ld IMASK; out MASK
        ld IBYW; shr 1; jz narrow_x
        ld #{TWO}
narrow_x: add #{MAC}; st MACS
        ld IBYW; mul #{params["xb_rows"]}
        ld $LOW; st BAND
        ld FORMS; shr 8; and #255; st SHIFTS; sub #{_LONGEST + 1}; jnc right
        ld #{_LONGEST}; st SHIFTS
right:  ld FORMS; shr 16; and #1; shl {TWO.bit_length() - 1}; st T
        ld SHIFTS; jz exact_sum
        add T
exact_sum: add #{SHIFT}; st SHIFTS
        ld LEN; shr 10; shl 31; st RELU
        idx GROUP; ld BIASES+X; shl 2; add #{BIAS_AT}; st BIAS
        ld FORMS; shr 17; and #1; st BIASED
        ld #0; st C; st TILE; st INNER
        ld WBYTES; add #{STORE}; st PUTS
columns: jabort stopped
        ld BIASED; jnz with_bias
        out ACC; out ACC
        jmp bands
with_bias: ld BIAS; add #4; out P
        ld #4; run
        ld $VALUE; out ACC
        ld BIAS; out P; add #8; st BIAS
        ld #4; run
        ld $VALUE; out ACC
bands:  ld ROWS; st LEFT
        ld TILE; st K
        ld S0
more_rows: st FROM; out P
        idx K; ld IDS+X; add INNER; out W
        ld LEFT; sub #{params["xb_rows"]}; jnc last_block
        st LEFT
        ld #{params["xb_rows"]}; add MACS; run
        ld LEFT; jz finished
        ld K; add TILES; st K
        ld FROM; add BAND; jmp more_rows
last_block: ld LEFT; add MACS; run
finished: call column
        ld C; add #1; sub COLS; jz multiplied
        call column
        ld C; add #2; st C; sub COLS; jz multiplied
        ld C; and #{params["xb_cols"] - 1}; st INNER; jnz columns
        ld TILE; add #1; st TILE; jmp columns
multiplied: ld ROWS; mul COLS
        ld $LOW; out OPERATIONS
        cnt RETIRED,MATRIX; jmp next
column: ld SHIFTS; run
        ld $ACC_HIGH; and RELU; jnz rectified
        ld $ACC_LOW; add WSIGN; st V                                    // as saturate does
        ld $ACC_HIGH; adc #0; jnz too_large
        ld WMASK; sub V; jnc too_large
        ld $ACC_LOW
written: out VALUE
        ld D0; out P; add WBYTES; st D0
        ld PUTS; run
        ret
rectified: ld #0; jmp written
too_large: ld $ACC_HIGH; st H
        call clip; jmp written
no_group: ld #{codes["group"]}; jmp raise
"""
