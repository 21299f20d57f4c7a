# SPDX-License-Identifier: BSD-2-Clause
"""Microprogram of the small OPU engine for configuration instructions (specification, section 4.2).
Pure Python.

Capacities stand in braces: ``{ifm_lines_1}`` is the parameter plus one, ``{positions}`` the most
that a shape may have.
"""

__all__ = ["CONFIGURATION"]

CONFIGURATION = """
shape_ifm:  mul #1 *5; mul #1 *7 >TC; mul #1 *7 >TW; hold; mul TW *7; add #-1 ?NO_CARRY bad_6
            sub #{positions} ?CARRY bad_6
            add #{positions_1} >TP
            load TC; sub #4 ?NO_CARRY bad_20
            hold >TL; sub #3 ?CARRY bad_20
            hold TL !COUNT
            load TP; shl **; sub #{ifm_lines_1} ?CARRY capacity_1
            hold WORD =M
            mul #1 *19; mul #1 *7 >IH
            load TW >IW; load TL >IL
            load #1; shl ** >IC
            load #0 >U_SI; load #1 >N_IFM; load #2 >N_KER; load #1 >GEOMETRY
            hold ?ALWAYS next

shape_ofm:  mul #1 *5; mul #1 *7 >TC; mul #1 *7 >TW; hold; mul TW *7; add #-1 ?NO_CARRY bad_6
            sub #{positions} ?CARRY bad_6
            add #{positions_1} >TP
            load TC; sub #1 ?NO_CARRY bad_20
            sub #6 ?CARRY bad_20
            hold TC !COUNT
            load TP; shl **; sub #{ofm_lines_1} ?CARRY capacity_8
            load TC; sub OL; add #-1 ?NO_CARRY same_c
            load #4 >N_BIAS
same_c:     hold WORD =M
            mul #1 *19; mul #1 *7 >OH
            load TW >OW; load TC >OL
            load #1; shl ** >OC
            load #0 >U_SO; load #8 >N_OFM; load #2 >N_KER; load #1 >GEOMETRY
            hold ?ALWAYS next

shape_ker:  mul #1 *20; mul #1 *6 >TC; add #-1 ?NO_CARRY bad_6
            sub #{taps} ?CARRY bad_6
            load TC >KN; shl *26 >KN_TOP
            load #0 >U_SK; load #2 >N_KER
            hold ?ALWAYS next

mem_ifm:    mul #1 *12; mul #1 *10 >TW; add #-1 ?NO_CARRY bad_10
            mul #1 *4 >RI
            load TW >IM_W; load #0 >U_MI
            hold ?ALWAYS next

mem_ker:    mul #1 *22; mul #1 *4 >RK; hold ?ALWAYS next

mem_bias:   mul #1 *22; mul #1 *4 >RB; hold ?ALWAYS next

mem_ofm:    mul #1 *2; mul #1 *10 >TW; mul #1 *10 >TC; add #-1 ?NO_CARRY bad_10
            load TW; add #-1 ?NO_CARRY bad_20
            mul #1 *4 >RO
            load TW >OM_W; load TC >OM_H; load #0 >U_MO
            hold ?ALWAYS next

stride:     mul #1 *20; mul #1 *3 >TW; mul #1 *3 >TC; add #-1 ?NO_CARRY bad_6
            load TW; add #-1 ?NO_CARRY bad_9
            load TC >SH; load TW >SW; load #1 >GEOMETRY
            hold ?ALWAYS next

shift:      mul #1 *10; mul #1 *8 >B; sub #128 ?NO_CARRY shift_f
            sub #128 >B
shift_f:    mul #1 *8 >F; sub #128 ?NO_CARRY shifted
            sub #128 >F
shifted:    load #1 >SHIFTS; load #1 >BIASES; load #0 >DOUBLE
            hold ?ALWAYS next

post:       mul #1 *21; mul #1 *1 >TC; mul #1 *2 >TP; mul #1 *2 >TW; sub #3 ?CARRY bad_6
            load TP; add #-1 ?NO_CARRY post_good
            load TC; add #-1 ?NO_CARRY bad_6
            load TP; sub #2 ?CARRY post_2
            load TW; add #-1 ?NO_CARRY bad_6
            hold ?ALWAYS post_good
post_2:     add #-1 ?CARRY bad_6
post_good:  load TC >RES; load TP >ORDER; load TW >ACT
            hold ?ALWAYS next

pool:       mul #1 *12; mul #1 *3 >TJ; mul #1 *3 >TI; mul #1 *4 >TW; mul #1 *4 >TC
            add #-1 ?NO_CARRY bad_6
            load TW; add #-1 ?NO_CARRY bad_10
            load TI; add #-1 ?NO_CARRY bad_14
            load TJ; add #-1 ?NO_CARRY bad_17
            load TC >PH; load TW >PW; load TI >PSH; load TJ >PSW
            hold ?ALWAYS next
"""
