# SPDX-License-Identifier: BSD-2-Clause
"""Microprogram of the small OPU engine for loads, and for ranges, regions and window of all DMA
instructions (sections 4.3 and 7.1). Pure Python.

Capacities stand in braces, as in :mod:`.configuration`.
"""

__all__ = ["LOADS"]

LOADS = """
ld_ifm:     load U_SI; add U_MI >T; add #-1 ?CARRY unset
            load IH; sub #1; shl *25 >T
            load RI >REGION
            hold T =M
            mul IM_W *7; add IW; sub #1; shl *6 >T
            load IC; shl *4; add T >RANGE; hold ?ALWAYS check

check:      hold REGION !X  // RANGE bytes at OFFSET of REGION lie in it, and in the window
            load OFFSET; add RANGE >SUM
            load LIMIT+X; sub SUM ?NO_CARRY region
            load OFFSET; add BASE+X ?CARRY past_4g
            hold >ADDRESS; sub WB ?NO_CARRY window
            load ADDRESS; add RANGE ?CARRY window
            hold >SUM
            load WL; sub SUM ?NO_CARRY window
            hold WORD =M
            hold !DISPATCH:1; hold

move_ifm:   hold ?CONV move_ifm
            load #0; hold !LINE; hold !SINK:2
            load IC; shl *{line_places}; sub #1 >T
            load IM_W
            hold T !BEATS
            sub IW; shl *6 >GAP
            load IW; sub #1 >TW
            load IH >TH
            load ADDRESS
ifm_row:    hold TW !CNT
ifm_slot:   hold ?HALT halted
            hold !READ; add #64; hold ?LOOP ifm_slot
            add GAP >ADDRESS
            load TH; sub #1 >TH; add #-1 ?NO_CARRY ifm_done
            load ADDRESS ?ALWAYS ifm_row
ifm_done:   load #0 >N_IFM
moved:      hold ?DMA moved
            hold ?TROUBLE bus
            hold !MOVED; hold ?ALWAYS next
halted:     hold ?TROUBLE bus
            hold ?ALWAYS stopped

ld_ker:     load U_SI; add U_SO; add U_SK >T; add #-1 ?CARRY unset
            hold IL !COUNT
            load OC; shl ** >TAP                                        // lines of a tap
            hold KN_TOP =M
            mul TAP *6 >TAPS
            load TAP; sub #64 ?CARRY ker_big
            load KN; shl *6; hold ?ALWAYS ker_rule
ker_big:    load TAPS
ker_rule:   sub #2305 ?CARRY range_4
            load TAPS; sub #{ker_rows_1} ?CARRY capacity_2
            load TAPS; shl *4 >RANGE
            load RK >REGION; hold ?ALWAYS check

move_ker:   hold ?CONV move_ker
            load #1024; hold !LINE; hold !SINK:2
            hold #{burst} !BEATS
            load TAPS; shr *1; sub #1 >T
            load ADDRESS
            hold T !CNT
ker_burst:  hold ?HALT halted
            hold !READ; add #32; hold ?LOOP ker_burst
            load #0 >N_KER; hold ?ALWAYS moved

ld_bias:    load U_SO >T; add #-1 ?CARRY unset
            load OC; shl *1 >RANGE
            load RB >REGION; hold ?ALWAYS check

move_bias:  hold ?CONV move_bias
            load #0; hold !LINE; hold !SINK:1
            load OC; {bias_beats}sub #1 >T
            load #0 >N_BIAS
            hold T !BEATS
            load #1 >BIASES
            load ADDRESS; hold ?HALT halted
            hold !READ; hold ?ALWAYS moved
"""
