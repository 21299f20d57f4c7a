# SPDX-License-Identifier: BSD-2-Clause
"""Microprogram of the small OPU engine for convolutions (specification, section 4.4): checks,
geometry, shifts, biases. Pure Python.

What follows from configuration alone is worked out when a convolution first needs it: ``GEOMETRY``,
``SHIFTS`` and ``BIASES`` say that it is due. The next convolution is checked while the last one
runs.

Rounding. A sum S begins with U (24 bits), is shifted by f places, gets an addend B (24 bits) and is
clamped: with r = -f > 0

    ((S + U) >> r) + B,     else    ((S + U) << f) + B

* ``conv``, ``conv.acc``: U = 2**(r - 1) or 0 (``HALF``); B is 0 or the old ofm.
* ``conv.bias``: b >= 0 >= f, and f >= 0 >= b: U = HALF, B = round(bias * 2**b). 0 < f <= b: U =
  bias << (b - f), B = 0. b <= f < 0: U = (bias >> (f - b)) + HALF, B = 0. f < b < 0: T = bias +
  2**(-b - 1); B = T >> -b, U = what that drops, << (b - f). 0 < b < f: (S << (f - b)) + bias, then
  ofm is doubled b times, with saturation.

r counts up to 22 only: beyond, S is less than 1/4 and matters by its sign and by being nearer to 0
than a small U or than the distance of a large U from 2**r; so U keeps that distance and 2**21
stands for all others. Values that saturate whatever S is stop growing at 2**21.
"""

__all__ = ["CONVOLUTION"]

_ISSUE = """
conv:       load N_IFM; add N_KER >T; add #-1 ?CARRY invalid
            load #0 >KIND; hold ?ALWAYS convolve
conv_bias:  load N_IFM; add N_KER; add N_BIAS >T; add #-1 ?CARRY invalid
            load #1 >KIND; hold ?ALWAYS convolve
conv_acc:   load N_IFM; add N_KER; add N_OFM >T; add #-1 ?CARRY invalid
            load #2 >KIND
convolve:   load GEOMETRY; add #-1 ?CARRY geometry
checked:    mul #1 *12; mul TAP *6 >TAP_LINE; mul IC *4 >WINDOW_W; mul I_LINES *4 >WINDOW_H
            sub H_LIMIT ?CARRY range_1
            load WINDOW_W; sub W_LIMIT ?CARRY range_2
            load TAP_LINE; sub TAPS ?CARRY range_3
            load WINDOW_W; add WINDOW_H >BEGIN
shifts:     load SHIFTS; add #-1 ?CARRY set_shift
            load KIND; sub #1; add #-1 ?CARRY issue
            load BIASES; add #-1 ?CARRY set_bias
            load DOUBLE; add #-1 ?CARRY doubled
issue:      load TAP_LINE; add #1024; hold !SLICE
            load BEGIN
            hold KIND !CONV
            load #0 >N_OFM; hold ?ALWAYS next

doubled:    load TAP_LINE; add #1024; hold !SLICE
            load BEGIN
            hold KIND !CONV
            load DOUBLE >N
double:     hold ?CONV double
            hold #-1 !MASK; hold #32 !SHIFT
            load BEGIN
            hold #6 !CONV
            load N; sub #1 >N; add #-1 ?CARRY double
            load #0 >DOUBLE; load #1 >SHIFTS; load #1 >BIASES; load #0 >N_OFM
            hold ?ALWAYS next

geometry:   hold ?CONV geometry
            load SH; shl *29 >SH_TOP
            load SW; shl *29 >T
            hold IL !COUNT
            load IW; shl ** >I_LINES                                    // lines of a row of ifm
            load OH; sub #1 >TH
            load OW
            hold SH_TOP =M
            mul TH *3 >P
            load IH; sub P ?CARRY rows_left                     // first rows that a window may have
            load #0
rows_left:  shl *25 >TI
            load OW; sub #1 >TW
            hold TI =M
            mul I_LINES *7 >H_LIMIT
            hold T =M
            mul TW *3 >P                                        // columns of ifm under a row of ofm
            hold
            load IW; sub P ?CARRY columns_left
            load #0
columns_left: shl ** >W_LIMIT
            load P; shl ** >P
            hold SH_TOP =M
            mul I_LINES *3; sub P; sub IC; add #1 >T
            load SW
            hold T !ROW_STEP
            shl **; sub IC; add #1 >T
            load OC
            hold T !LINE_STEP; hold TW !COLUMNS; hold TH !ROWS
            sub #1 >T
            load TAP
            hold T !CHANNELS; hold IL !CHUNKS
            shl *3; sub #1 >T
            load #0 >GEOMETRY
            hold T !WORDS; hold WORD =M
            hold ?ALWAYS checked
"""

_SHIFT = """
set_shift:  hold ?CONV set_shift
            load F ?NEG right
            sub #17 ?CARRY left_all                         // more than 17 places are as good as 17
            load F ?ALWAYS left
left_all:   load #17
left:       hold >T
            load #56                      // rotated by 24 - T, with the mark of a shift to the left
            sub T >N
            hold T !COUNT
            load #1
            hold N !SHIFT
            shl **; sub #1 >T
            load #0 >HALF
            hold T !MASK
            hold ?ALWAYS shift_set
right:      load #0; sub F >R_ALL; sub #22 ?NO_CARRY right_all
            load #22 ?ALWAYS right_r
right_all:  load R_ALL
right_r:    hold >R
            load #24; sub R >T
            hold R !SHIFT; hold T !COUNT
            load #1; shl ** >T
            load #0; sub T >T
            load R
            hold T !MASK
            sub #1 >T
            load #1
            hold T !COUNT
            shl ** >HALF
shift_set:  load #0 >SHIFTS
            load HALF =U; hold ?ALWAYS shifts
"""

# N: places to the left (negative: to the right); TO_U: the value belongs to U; ADDEND: before a
# shift to the right.
_BIAS = """
set_bias:   hold ?CONV set_bias
            load #0 >K; load #0 >TO_U; load #0 >ADDEND
            load F ?NEG right_bias
            load B ?NEG round_bias
            add #-1 ?NO_CARRY place                                     // N = 0
            load F; add #-1 ?NO_CARRY place_b
            load B; sub F ?NO_CARRY late_bias
            hold >N
            load #1 >TO_U; hold ?ALWAYS biases
late_bias:  load #0 >N                                                  // 0 < b < f
            load DOUBLE; add #-1 ?CARRY biases
            load B; sub #16 ?NO_CARRY late_b
            load #16 ?ALWAYS late_c
late_b:     load B
late_c:     hold >DOUBLE
            load F; sub B >T; sub #17 ?CARRY left_all
            load T ?ALWAYS left
place:      load #0 >N; hold ?ALWAYS biases
place_b:    load B >N; hold ?ALWAYS biases

right_bias: load B ?NEG right_both
            hold >N; hold ?ALWAYS biases
right_both: load #0; sub B >NB
            load R_ALL; sub #23 ?CARRY right_far
            load NB; sub R_ALL ?NO_CARRY split
            sub #18 ?CARRY bias_most                         // 17 places and more are as good as 17
            load R_ALL; sub NB >N
            load #1 >TO_U; hold ?ALWAYS biases_n
bias_most:  load #-17 >N; load #1 >TO_U
            hold ?ALWAYS biases_n
right_far:  load NB; sub #17 ?NO_CARRY split
round_bias: load #0; sub B >NB; sub #17 ?NO_CARRY round_n
            load #17 >NB
round_n:    load #0; sub NB >N
            load NB; sub #1 >T
            load #1
            hold T !COUNT
            shl ** >ADDEND
biases_n:   load #0; sub N >T; hold
            hold T !COUNT

biases:     hold K !X
            load N ?NEG bias_right
            hold >T
            load BIAS+X >V
bias_left:  load T; add #-1 ?NO_CARRY bias_have
            hold >T
            load V; add #0x200000; sub #0x400000 ?CARRY bias_have
            load V; shl *1 >V; hold ?ALWAYS bias_left
bias_right: load BIAS+X; add ADDEND; shr ** >V
bias_have:  load TO_U; add #-1 ?CARRY bias_to_u
            load V =B+X
            load HALF =U+X; hold ?ALWAYS bias_next
bias_to_u:  load V; add HALF =U+X
            load #0 =B+X
bias_next:  load K; add #1 >K; sub OC ?NO_CARRY biases
            load #0 >BIASES; hold ?ALWAYS shifts

split:      load NB; sub #1 >T
            load R_ALL
            hold T !COUNT
            sub NB >N
            load #1; shl ** >ADDEND
splits:     hold K !X; hold NB !COUNT
            load BIAS+X; add ADDEND >T; shr ** =B+X; shl ** >V
            load T; sub V >V
            load R_ALL; sub #23 ?CARRY split_far
            hold N !COUNT
            load V; shl ** =U+X
split_next: load K; add #1 >K; sub OC ?NO_CARRY splits
            load #0 >BIASES; hold ?ALWAYS shifts
split_far:  load N >T; load V >P
split_low:  load T; add #-1 ?NO_CARRY split_u
            hold >T
            load P; shl *1 >P; sub #0x200000 ?CARRY split_top
            hold ?ALWAYS split_low
split_u:    load P =U+X; hold ?ALWAYS split_next
split_top:  load #1; shl **; sub V >P                                   // what lacks to the next
            load N >T; hold
split_high: load T; add #-1 ?NO_CARRY split_lacks
            hold >T
            load P; shl *1 >P; sub #0x100001 ?CARRY split_half
            hold ?ALWAYS split_high
split_lacks: load #0x400000; sub P =U+X; hold ?ALWAYS split_next
split_half: load #0x200000 =U+X; hold ?ALWAYS split_next
"""

CONVOLUTION = _ISSUE + _SHIFT + _BIAS
