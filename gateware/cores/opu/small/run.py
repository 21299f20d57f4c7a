# SPDX-License-Identifier: BSD-2-Clause
"""Microprogram of the small OPU engine for start, fetch, decoding and faults. Pure Python.

Flags are numbers, so that sums of them are the masks that faults report: ``U_*`` (a register is
unset) and ``N_*`` (a buffer is invalid) hold the bit of the mask, or 0. Names of faults in braces
stand for their numbers, ``{range_details}`` for the entries of a fault that say which detail it has
(:mod:`.program`). Notation: :mod:`.instructions`.
"""

__all__ = ["RUN"]

RUN = """
reset:      load #0 >K                                                // the region table's defaults
            load #0 >T
region_0:   hold K !X
            load T >BASE+X; load #{region_size} >LIMIT+X
            load T; add #{region_size} >T
            load K; add #1 >K; sub #{regions} ?NO_CARRY region_0
            hold #0 =M
            hold !READY
idle:       hold DETAIL ?ALWAYS idle
            hold DETAIL

start:      hold <PROGRAM PC; hold <LENGTH LEFT; hold <WINDOW_BASE WB; hold <WINDOW_LIMIT WL
            load #1 >U_SI; load #2 >U_SO; load #4 >U_SK; load #8 >U_MI; load #16 >U_MO
            load #1 >N_IFM
            load #2 >N_KER; load #4 >N_BIAS; load #8 >N_OFM; load #0 >RI; load #0 >RK; load #0 >RB
            load #0 >RO; load #0 >F; load #0 >B; load #0 >DOUBLE; load #0 >ACT; load #0 >ORDER
            load #0 >RES
            load #1 >SH; load #1 >SW; load #1 >PH; load #1 >PW; load #1 >PSH; load #1 >PSW
            load #1 >GEOMETRY; load #1 >SHIFTS; load #1 >BIASES
            hold ?ALWAYS head

next:       load NEXT >PC
            load LEFT; sub #4 >LEFT; hold !RETIRE
head:       load PC; sub WB ?NO_CARRY out_of_window
            load PC; add #4 >NEXT
            load WL; sub NEXT ?NO_CARRY out_of_window
            load LEFT; sub #4 ?NO_CARRY past_end
            hold ?HALT stopped
            load PC; hold !FETCH
word:       hold ?NO_WORD word
            hold ?TROUBLE no_word
            hold WORD =M
            hold ?HIGH_OPCODE illegal
            hold !DISPATCH; hold

end:        hold ?BUSY end
            hold #0 =M
            hold !RETIRE; hold
            hold #0 !FINISH; hold DETAIL ?ALWAYS idle
            hold DETAIL

illegal:    mul #1 *26; mul #1 *6 >DETAIL
            load #{illegal_op} ?ALWAYS code
{bad_details}
bad:        hold >DETAIL
            load #{bad_field} ?ALWAYS code
unset:      load T >DETAIL
            load #{undef_reg} ?ALWAYS code
invalid:    load T >DETAIL
            load #{undef_buf} ?ALWAYS code
{range_details}
range:      hold >DETAIL
            load #{range} ?ALWAYS code
{capacity_details}
capacity:   hold >DETAIL
            load #{capacity} ?ALWAYS code
region:     load REGION; shl *{region_bits}; add OFFSET >DETAIL
            load #{region} ?ALWAYS code
past_4g:    hold >ADDRESS
window:     hold
            load ADDRESS >DETAIL
            load #{window} ?ALWAYS code
out_of_window: load #0 >WORD; load PC >DETAIL
            load #{window} ?ALWAYS code
past_end:   load #0 >WORD; load PC >DETAIL
            load #{fetch} ?ALWAYS code
no_word:    load #0 >WORD
bus:        hold ?BUSY bus
            hold !WHERE; hold
            load RING+X >DETAIL
            load #{bus} ?ALWAYS code
stopped:    hold ?BUSY stopped
            hold ?TROUBLE bus
            load #0 >WORD; load #0 >DETAIL
            load #{aborted}
code:       hold >CODE
fault:      hold ?BUSY fault
            hold WORD =M
            load PC
            hold CODE !FINISH; hold DETAIL ?ALWAYS idle
            hold DETAIL
"""
