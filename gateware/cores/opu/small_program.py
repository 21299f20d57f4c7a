# SPDX-License-Identifier: BSD-2-Clause
"""The small engine's microprogram, but for its convolutions: start, fetch, configuration, loads, stores, faults. Pure Python.

Flags are numbers, so that sums of them are the masks that faults report: ``U_*`` (a register is unset) and ``N_*`` (a buffer is
invalid) hold the bit of the mask, or 0. Notation: :mod:`.small_assembler`.
"""
from .small_assembler import Microprogram
from .small_convolution import CONVOLUTION

__all__ = ["microprogram"]

_DECODE = {
    None: "illegal", 0: "end", 1: "ld_ifm", 2: "ld_ker", 3: "ld_bias", 4: "plain", 5: "bias", 6: "acc", 7: "store", 8: "pad",
    16: "shape_ifm", 17: "shape_ofm", 18: "shape_ker", 19: "mem_ifm", 20: "mem_ker", 21: "mem_bias", 22: "mem_ofm",
    23: "stride", 24: "shift", 25: "post", 26: "pool",
}
#: Where the instructions of the DMA go on when their range was found good.
_MOVE = {None: "illegal", 1: "move_ifm", 2: "move_ker", 3: "move_bias", 7: "move_store", 8: "move_pad"}

_RUN = """
reset:      load #0 >K                              # the region table's defaults
            load #0 >T
region_0:   hold K !X
            load T >BASE+X
            load #0x10000000 >LIMIT+X
            load T
            add #0x10000000 >T
            load K
            add #1 >K
            sub #16 ?NO_CARRY region_0
            hold #0 =M
            hold !READY
idle:       hold DETAIL ?ALWAYS idle
            hold DETAIL

start:      hold <PROGRAM PC
            hold <LENGTH LEFT
            hold <WINDOW_BASE WB
            hold <WINDOW_LIMIT WL
            load #1 >U_SI
            load #2 >U_SO
            load #4 >U_SK
            load #8 >U_MI
            load #16 >U_MO
            load #1 >N_IFM
            load #2 >N_KER
            load #4 >N_BIAS
            load #8 >N_OFM
            load #0 >RI
            load #0 >RK
            load #0 >RB
            load #0 >RO
            load #0 >F
            load #0 >B
            load #0 >DOUBLE
            load #0 >ACT
            load #0 >ORDER
            load #0 >RES
            load #1 >SH
            load #1 >SW
            load #1 >PH
            load #1 >PW
            load #1 >PSH
            load #1 >PSW
            load #1 >GEOMETRY
            load #1 >SHIFTS
            load #1 >BIASES
            hold ?ALWAYS head

next:       load NEXT >PC
            load LEFT
            sub #4 >LEFT
            hold !RETIRE
head:       load PC
            sub WB ?NO_CARRY out_of_window
            load PC
            add #4 >NEXT
            load WL
            sub NEXT ?NO_CARRY out_of_window
            load LEFT
            sub #4 ?NO_CARRY past_end
            hold ?HALT stopped
            load PC
            hold !FETCH
word:       hold ?NO_WORD word
            hold ?TROUBLE no_word
            hold WORD =M
            hold ?HIGH_OPCODE illegal
            hold !DISPATCH
            hold

end:        hold ?BUSY end
            hold #0 =M
            hold !RETIRE
            hold
            hold #0 !FINISH
            hold DETAIL ?ALWAYS idle
            hold DETAIL

illegal:    mul #1 *26
            mul #1 *6 >DETAIL
            load #1 ?ALWAYS code
bad_6:      load #6 ?ALWAYS bad
bad_9:      load #9 ?ALWAYS bad
bad_10:     load #10 ?ALWAYS bad
bad_14:     load #14 ?ALWAYS bad
bad_17:     load #17 ?ALWAYS bad
bad_20:     load #20
bad:        hold >DETAIL
            load #2 ?ALWAYS code
unset:      load T >DETAIL
            load #16 ?ALWAYS code
invalid:    load T >DETAIL
            load #3 ?ALWAYS code
range_1:    load #1 ?ALWAYS range
range_2:    load #2 ?ALWAYS range
range_3:    load #3 ?ALWAYS range
range_4:    load #4 ?ALWAYS range
range_5:    load #5 ?ALWAYS range
range_6:    load #6 ?ALWAYS range
range_7:    load #7 ?ALWAYS range
range_8:    load #8 ?ALWAYS range
range_9:    load #9
range:      hold >DETAIL
            load #17 ?ALWAYS code
capacity_1: load #1 ?ALWAYS capacity
capacity_2: load #2 ?ALWAYS capacity
capacity_8: load #8
capacity:   hold >DETAIL
            load #4 ?ALWAYS code
region:     load REGION
            shl *28
            add OFFSET >DETAIL
            load #18 ?ALWAYS code
past_4g:    hold >ADDRESS
window:     hold
            load ADDRESS >DETAIL
            load #5 ?ALWAYS code
out_of_window: load #0 >WORD
            load PC >DETAIL
            load #5 ?ALWAYS code
past_end:   load #0 >WORD
            load PC >DETAIL
            load #7 ?ALWAYS code
no_word:    load #0 >WORD
bus:        hold ?BUSY bus
            hold !WHERE
            hold
            load RING+X >DETAIL
            load #6 ?ALWAYS code
stopped:    hold ?BUSY stopped
            hold ?TROUBLE bus
            load #0 >WORD
            load #0 >DETAIL
            load #8
code:       hold >CODE
fault:      hold ?BUSY fault
            hold WORD =M
            load PC
            hold CODE !FINISH
            hold DETAIL ?ALWAYS idle
            hold DETAIL
"""

_CONFIGURATION = """
shape_ifm:  mul #1 *5
            mul #1 *7 >TC
            mul #1 *7 >TW
            hold
            mul TW *7
            add #-1 ?NO_CARRY bad_6
            sub #2048 ?CARRY bad_6
            add #2049 >TP
            load TC
            sub #4 ?NO_CARRY bad_20
            hold >TL
            sub #3 ?CARRY bad_20
            hold TL !COUNT
            load TP
            shl **
            sub #{ifm_lines_1} ?CARRY capacity_1
            hold WORD =M
            mul #1 *19
            mul #1 *7 >IH
            load TW >IW
            load TL >IL
            load #1
            shl ** >IC
            load #0 >U_SI
            load #1 >N_IFM
            load #2 >N_KER
            load #1 >GEOMETRY
            hold ?ALWAYS next

shape_ofm:  mul #1 *5
            mul #1 *7 >TC
            mul #1 *7 >TW
            hold
            mul TW *7
            add #-1 ?NO_CARRY bad_6
            sub #2048 ?CARRY bad_6
            add #2049 >TP
            load TC
            sub #1 ?NO_CARRY bad_20
            sub #6 ?CARRY bad_20
            hold TC !COUNT
            load TP
            shl **
            sub #{ofm_lines_1} ?CARRY capacity_8
            load TC
            sub OL
            add #-1 ?NO_CARRY same_c
            load #4 >N_BIAS
same_c:     hold WORD =M
            mul #1 *19
            mul #1 *7 >OH
            load TW >OW
            load TC >OL
            load #1
            shl ** >OC
            load #0 >U_SO
            load #8 >N_OFM
            load #2 >N_KER
            load #1 >GEOMETRY
            hold ?ALWAYS next

shape_ker:  mul #1 *20
            mul #1 *6 >TC
            add #-1 ?NO_CARRY bad_6
            sub #36 ?CARRY bad_6
            load TC >KN
            shl *26 >KN_TOP
            load #0 >U_SK
            load #2 >N_KER
            hold ?ALWAYS next

mem_ifm:    mul #1 *12
            mul #1 *10 >TW
            add #-1 ?NO_CARRY bad_10
            mul #1 *4 >RI
            load TW >IM_W
            load #0 >U_MI
            hold ?ALWAYS next

mem_ker:    mul #1 *22
            mul #1 *4 >RK
            hold ?ALWAYS next

mem_bias:   mul #1 *22
            mul #1 *4 >RB
            hold ?ALWAYS next

mem_ofm:    mul #1 *2
            mul #1 *10 >TW
            mul #1 *10 >TC
            add #-1 ?NO_CARRY bad_10
            load TW
            add #-1 ?NO_CARRY bad_20
            mul #1 *4 >RO
            load TW >OM_W
            load TC >OM_H
            load #0 >U_MO
            hold ?ALWAYS next

stride:     mul #1 *20
            mul #1 *3 >TW
            mul #1 *3 >TC
            add #-1 ?NO_CARRY bad_6
            load TW
            add #-1 ?NO_CARRY bad_9
            load TC >SH
            load TW >SW
            load #1 >GEOMETRY
            hold ?ALWAYS next

shift:      mul #1 *10
            mul #1 *8 >B
            sub #128 ?NO_CARRY shift_f
            sub #128 >B
shift_f:    mul #1 *8 >F
            sub #128 ?NO_CARRY shifted
            sub #128 >F
shifted:    load #1 >SHIFTS
            load #1 >BIASES
            load #0 >DOUBLE
            hold ?ALWAYS next

post:       mul #1 *21
            mul #1 *1 >TC
            mul #1 *2 >TP
            mul #1 *2 >TW
            sub #3 ?CARRY bad_6
            load TP
            add #-1 ?NO_CARRY post_good
            load TC
            add #-1 ?NO_CARRY bad_6
            load TP
            sub #2 ?CARRY post_2
            load TW
            add #-1 ?NO_CARRY bad_6
            hold ?ALWAYS post_good
post_2:     add #-1 ?CARRY bad_6
post_good:  load TC >RES
            load TP >ORDER
            load TW >ACT
            hold ?ALWAYS next

pool:       mul #1 *12
            mul #1 *3 >TJ
            mul #1 *3 >TI
            mul #1 *4 >TW
            mul #1 *4 >TC
            add #-1 ?NO_CARRY bad_6
            load TW
            add #-1 ?NO_CARRY bad_10
            load TI
            add #-1 ?NO_CARRY bad_14
            load TJ
            add #-1 ?NO_CARRY bad_17
            load TC >PH
            load TW >PW
            load TI >PSH
            load TJ >PSW
            hold ?ALWAYS next
"""

_LOADS = """
ld_ifm:     load U_SI
            add U_MI >T
            add #-1 ?CARRY unset
            load IH
            sub #1
            shl *25 >T
            load RI >REGION
            hold T =M
            mul IM_W *7
            add IW
            sub #1
            shl *6 >T
            load IC
            shl *4
            add T >RANGE
            hold ?ALWAYS check

check:      hold REGION !X                          # the array of RANGE bytes at OFFSET of REGION lies in it, and in the window
            load OFFSET
            add RANGE >SUM
            load LIMIT+X
            sub SUM ?NO_CARRY region
            load OFFSET
            add BASE+X ?CARRY past_4g
            hold >ADDRESS
            sub WB ?NO_CARRY window
            load ADDRESS
            add RANGE ?CARRY window
            hold >SUM
            load WL
            sub SUM ?NO_CARRY window
            hold WORD =M
            hold !DISPATCH:1
            hold

move_ifm:   hold ?CONV move_ifm
            load #0
            hold !LINE
            hold !SINK:2
            load IC
            shl *2
            sub #1 >T
            load IM_W
            hold T !BEATS
            sub IW
            shl *6 >GAP
            load IW
            sub #1 >TW
            load IH >TH
            load ADDRESS
ifm_row:    hold TW !CNT
ifm_slot:   hold ?HALT halted
            hold !READ
            add #64
            hold ?LOOP ifm_slot
            add GAP >ADDRESS
            load TH
            sub #1 >TH
            add #-1 ?NO_CARRY ifm_done
            load ADDRESS ?ALWAYS ifm_row
ifm_done:   load #0 >N_IFM
moved:      hold ?DMA moved
            hold ?TROUBLE bus
            hold !MOVED
            hold ?ALWAYS next
halted:     hold ?TROUBLE bus
            hold ?ALWAYS stopped

ld_ker:     load U_SI
            add U_SO
            add U_SK >T
            add #-1 ?CARRY unset
            hold IL !COUNT
            load OC
            shl ** >TAP                             # lines of a tap
            hold KN_TOP =M
            mul TAP *6 >TAPS
            load TAP
            sub #64 ?CARRY ker_big
            load KN
            shl *6
            hold ?ALWAYS ker_rule
ker_big:    load TAPS
ker_rule:   sub #2305 ?CARRY range_4
            load TAPS
            sub #{ker_rows_1} ?CARRY capacity_2
            load TAPS
            shl *4 >RANGE
            load RK >REGION
            hold ?ALWAYS check

move_ker:   hold ?CONV move_ker
            load #1024
            hold !LINE
            hold !SINK:2
            hold #7 !BEATS
            load TAPS
            shr *1
            sub #1 >T
            load ADDRESS
            hold T !CNT
ker_burst:  hold ?HALT halted
            hold !READ
            add #32
            hold ?LOOP ker_burst
            load #0 >N_KER
            hold ?ALWAYS moved

ld_bias:    load U_SO >T
            add #-1 ?CARRY unset
            load OC
            shl *1 >RANGE
            load RB >REGION
            hold ?ALWAYS check

move_bias:  hold ?CONV move_bias
            load #0
            hold !LINE
            hold !SINK:1
            load OC
            shr *1
            sub #1 >T
            load #0 >N_BIAS
            hold T !BEATS
            load #1 >BIASES
            load ADDRESS
            hold ?HALT halted
            hold !READ
            hold ?ALWAYS moved

pad:        load U_MO >T
            add #-1 ?CARRY unset
            mul #1 *4 >P
            add #-1 ?NO_CARRY next
            load OM_H
            shl *22 >T
            load RO >REGION
            hold T =M
            mul OM_W *10
            shl *6 >RANGE
            hold ?ALWAYS check

move_pad:   hold ?CONV move_pad
            hold !STORING
            hold #15 !BEATS
            load P
            shl *1 >TP
            load OM_W
            sub TP
            shl *6 >GAP                             # bytes of a row's inside
            load P
            sub #1 >TL
            load OM_W
            sub #1 >TW
            load #0 >K
            hold
pad_row:    load K
            sub P ?NO_CARRY pad_full
            load K
            add P
            sub OM_H ?CARRY pad_full
            load TP
            sub OM_W ?CARRY pad_full
            load #2 >TH
            hold ?ALWAYS pad_side
pad_full:   hold TW !CNT
            load #1 >TH
            load ADDRESS ?ALWAYS pad_slot
pad_side:   hold TL !CNT
            load ADDRESS
pad_slot:   hold ?HALT halted
            hold !WRITE
            hold !ZEROS
            add #64
            hold ?LOOP pad_slot
            hold >ADDRESS
            load TH
            sub #1 >TH
            add #-1 ?NO_CARRY pad_next
            load ADDRESS
            add GAP >ADDRESS
            hold ?ALWAYS pad_side
pad_next:   load K
            add #1 >K
            sub OM_H ?NO_CARRY pad_row
            hold ?ALWAYS moved
"""

_STORE = """
store:      load U_MO >T
            add #-1 ?CARRY unset
            load RES
            add #-1 ?NO_CARRY store_ofm
            load N_OFM
            add N_IFM ?ALWAYS store_has
store_ofm:  load N_OFM
store_has:  hold >T
            add #-1 ?CARRY invalid
            load OH
            sub PH ?NO_CARRY range_5
            load OW
            sub PW ?NO_CARRY range_6
            load #-1 >BH                            # floor((OH - PH) / PSH) + 1
            load OH
            sub PH
rows_less:  hold >T
            load BH
            add #1 >BH
            load T
            sub PSH ?CARRY rows_less
            load #-1 >BW
            load OW
            sub PW
columns_less: hold >T
            load BW
            add #1 >BW
            load T
            sub PSW ?CARRY columns_less
            load BH
            add #1 >BH
            load BW
            add #1 >BW
            load RES
            add #-1 ?NO_CARRY store_range
            load ORDER
            sub #2 ?CARRY res_pooled
            load OH >TH
            load OW >TW
            hold ?ALWAYS res_fits
res_pooled: load BH >TH
            load BW >TW
res_fits:   load IH
            sub TH ?NO_CARRY range_7
            load IW
            sub TW ?NO_CARRY range_8
            load IC
            shl *4
            sub OC ?NO_CARRY range_9
store_range: load BH
            sub #1
            shl *25 >T
            load RO >REGION
            hold T =M
            mul OM_W *7
            add BW
            sub #1
            shl *6
            add OC >RANGE
            hold ?ALWAYS check

move_store: hold ?CONV move_store
            hold !STORING
            load OC
            shr *2
            sub #1 ?CARRY store_beats
            load #0
store_beats: hold >T
            load OC
            hold T !BEATS
            sub #1 >T
            load OM_W
            hold T !CHANNELS
            sub BW
            shl *6 >GAP
            hold OL !COUNT
            load PSW
            shl ** >O_STEP                          # elements of ofm from a result to the next, from a row of results
            load OW
            shl ** >O_ROW
            load PSH
            shl *29 >T
            load #0 >OP
            hold T =M
            mul O_ROW *3 >O_ROWS
            hold IL !COUNT
            load IW                                 # the same of ifm, in lines
            shl ** >I_ROW
            load ORDER
            sub #2 ?CARRY i_pooled
            load PSW
            shl ** >I_STEP
            hold T =M
            mul I_ROW *3 >I_ROWS
            hold ?ALWAYS i_known
i_pooled:   load IC >I_STEP
            load I_ROW >I_ROWS
i_known:    load #0 >IP
            load BH >TH
            load #0 >FINAL
            load PH
            add PW
            sub #3 ?CARRY pooled

            load ORDER                              # one position a result: order 2 is order 0
            sub #2 ?CARRY single_0
            load ORDER ?ALWAYS single_1
single_0:   load #0
single_1:   shl *2
            add ACT >T
            load RES
            shl *4
            add T >T
            load BW
            hold T !POST
            sub #1 >TW
single_row: load OP >O
            load IP >I
            hold TW !CNT
single:     hold ?HALT halted
            load ADDRESS
            hold !WRITE
            add #64 >ADDRESS
            load O
            hold I !RUN:1
            add O_STEP >O
            load I
            add I_STEP >I
            hold ?LOOP single
            load #1 >TJ
            hold ?ALWAYS row_end

pooled:     load RES
            shl *2
            add ORDER
            shl *2
            add ACT >T
            load ORDER
            hold T !POST
            sub #2 ?NO_CARRY pool_row
            load RES >FINAL                         # the residual is added behind the pool
pool_row:   load OP >O
            load IP >I
            load BW >TB
pool_slot:  hold ?HALT halted
            load ADDRESS
            hold !WRITE
            add #64 >ADDRESS
            load O >WO
            load I >WI
            load PH >TJ
pool_a:     load WO >PO
            load WI >PI
            load PW
            sub #1 >T
            hold
            hold T !CNT
pool_b:     load TJ
            sub #2 ?CARRY pool_more
            hold ?MORE pool_more
            load FINAL
            add #-1 ?CARRY pool_more
            load PO
            hold PI !RUN:1
            hold ?ALWAYS pool_on
pool_more:  load PO
            hold PI !RUN
pool_on:    add OC >PO
            load PI
            add IC >PI
            hold ?LOOP pool_b
            load WO
            add O_ROW >WO
            load WI
            add I_ROW >WI
            load TJ
            sub #1 >TJ
            add #-1 ?CARRY pool_a
            load FINAL
            add #-1 ?NO_CARRY pool_next
            hold I !RUN:3
pool_next:  load O
            add O_STEP >O
            load I
            add I_STEP >I
            load TB
            sub #1 >TB
            add #-1 ?CARRY pool_slot
row_end:    load ADDRESS
            add GAP >ADDRESS
            load OP
            add O_ROWS >OP
            load IP
            add I_ROWS >IP
            load TH
            sub #1 >TH
            add #-1 ?NO_CARRY moved
            load TJ
            add #-1 ?CARRY single_row
            hold ?ALWAYS pool_row
"""


def microprogram(params):
    """The :class:`~.small_assembler.Microprogram` for build parameters; entries are ``reset`` and ``start``."""
    sizes = {f"{name}_1": params[name] + 1 for name in ("ifm_lines", "ofm_lines", "ker_rows")}
    text = _RUN + (_CONFIGURATION + _LOADS).format(**sizes) + _STORE + CONVOLUTION
    return Microprogram((_DECODE, _MOVE), text)
