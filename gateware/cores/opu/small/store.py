# SPDX-License-Identifier: BSD-2-Clause
"""Microprogram of the small OPU engine for ``pad`` and ``store`` (sections 4.6 and 4.5). Pure
Python."""

__all__ = ["STORE"]

STORE = """
pad:        load U_MO >T; add #-1 ?CARRY unset
            mul #1 *4 >P; add #-1 ?NO_CARRY next
            load OM_H; shl *22 >T
            load RO >REGION
            hold T =M
            mul OM_W *10; shl *6 >RANGE; hold ?ALWAYS check

move_pad:   hold ?CONV move_pad
            hold !STORING
            hold #{slot} !BEATS
            load P; shl *1 >TP
            load OM_W; sub TP; shl *6 >GAP                              // bytes of a row's inside
            load P; sub #1 >TL
            load OM_W; sub #1 >TW
            load #0 >K; hold
pad_row:    load K; sub P ?NO_CARRY pad_full
            load K; add P; sub OM_H ?CARRY pad_full
            load TP; sub OM_W ?CARRY pad_full
            load #2 >TH; hold ?ALWAYS pad_side
pad_full:   hold TW !CNT
            load #1 >TH
            load ADDRESS ?ALWAYS pad_slot
pad_side:   hold TL !CNT
            load ADDRESS
pad_slot:   hold ?HALT halted
            hold !WRITE; hold !ZEROS; add #64; hold ?LOOP pad_slot
            hold >ADDRESS
            load TH; sub #1 >TH; add #-1 ?NO_CARRY pad_next
            load ADDRESS; add GAP >ADDRESS; hold ?ALWAYS pad_side
pad_next:   load K; add #1 >K; sub OM_H ?NO_CARRY pad_row
            hold ?ALWAYS moved

store:      load U_MO >T; add #-1 ?CARRY unset
            load RES; add #-1 ?NO_CARRY store_ofm
            load N_OFM; add N_IFM ?ALWAYS store_has
store_ofm:  load N_OFM
store_has:  hold >T; add #-1 ?CARRY invalid
            load OH; sub PH ?NO_CARRY range_5
            load OW; sub PW ?NO_CARRY range_6
            load #-1 >BH                                               // floor((OH - PH) / PSH) + 1
            load OH; sub PH
rows_less:  hold >T
            load BH; add #1 >BH
            load T; sub PSH ?CARRY rows_less
            load #-1 >BW
            load OW; sub PW
columns_less: hold >T
            load BW; add #1 >BW
            load T; sub PSW ?CARRY columns_less
            load BH; add #1 >BH
            load BW; add #1 >BW
            load RES; add #-1 ?NO_CARRY store_range
            load ORDER; sub #2 ?CARRY res_pooled
            load OH >TH; load OW >TW
            hold ?ALWAYS res_fits
res_pooled: load BH >TH; load BW >TW
res_fits:   load IH; sub TH ?NO_CARRY range_7
            load IW; sub TW ?NO_CARRY range_8
            load IC; shl *4; sub OC ?NO_CARRY range_9
store_range: load BH; sub #1; shl *25 >T
            load RO >REGION
            hold T =M
            mul OM_W *7; add BW; sub #1; shl *6; add OC >RANGE; hold ?ALWAYS check

move_store: hold ?CONV move_store
            hold !STORING
            load OC; shr *{beat_places}; sub #1 ?CARRY store_beats
            load #0
store_beats: hold >T
            load OC
            hold T !BEATS
            sub #1 >T
            load OM_W
            hold T !CHANNELS
            sub BW; shl *6 >GAP
            hold OL !COUNT
            load PSW; shl ** >O_STEP  // elements of ofm between results, between rows
            load OW; shl ** >O_ROW
            load PSH; shl *29 >T
            load #0 >OP
            hold T =M
            mul O_ROW *3 >O_ROWS
            hold IL !COUNT
            load IW                                                     // the same of ifm, in lines
            shl ** >I_ROW
            load ORDER; sub #2 ?CARRY i_pooled
            load PSW; shl ** >I_STEP
            hold T =M
            mul I_ROW *3 >I_ROWS; hold ?ALWAYS i_known
i_pooled:   load IC >I_STEP; load I_ROW >I_ROWS
i_known:    load #0 >IP; load BH >TH; load #0 >FINAL
            load PH; add PW; sub #3 ?CARRY pooled

            load ORDER                                  // one position a result: order 2 is order 0
            sub #2 ?CARRY single_0
            load ORDER ?ALWAYS single_1
single_0:   load #0
single_1:   shl *2; add ACT >T
            load RES; shl *4; add T >T
            load BW
            hold T !POST
            sub #1 >TW
single_row: load OP >O; load IP >I
            hold TW !CNT
single:     hold ?HALT halted
            load ADDRESS; hold !WRITE; add #64 >ADDRESS
            load O
            hold I !RUN:1
            add O_STEP >O
            load I; add I_STEP >I; hold ?LOOP single
            load #1 >TJ; hold ?ALWAYS row_end

pooled:     load RES; shl *2; add ORDER; shl *2; add ACT >T
            load ORDER
            hold T !POST
            sub #2 ?NO_CARRY pool_row
            load RES >FINAL                                 // the residual is added behind the pool
pool_row:   load OP >O; load IP >I; load BW >TB
pool_slot:  hold ?HALT halted
            load ADDRESS; hold !WRITE; add #64 >ADDRESS
            load O >WO; load I >WI; load PH >TJ
pool_a:     load WO >PO; load WI >PI
            load PW; sub #1 >T; hold
            hold T !CNT
pool_b:     load TJ; sub #2 ?CARRY pool_more
            hold ?MORE pool_more
            load FINAL; add #-1 ?CARRY pool_more
            load PO
            hold PI !RUN:1
            hold ?ALWAYS pool_on
pool_more:  load PO
            hold PI !RUN
pool_on:    add OC >PO
            load PI; add IC >PI; hold ?LOOP pool_b
            load WO; add O_ROW >WO
            load WI; add I_ROW >WI
            load TJ; sub #1 >TJ; add #-1 ?CARRY pool_a
            load FINAL; add #-1 ?NO_CARRY pool_next
            hold I !RUN:3
pool_next:  load O; add O_STEP >O
            load I; add I_STEP >I
            load TB; sub #1 >TB; add #-1 ?CARRY pool_slot
row_end:    load ADDRESS; add GAP >ADDRESS
            load OP; add O_ROWS >OP
            load IP; add I_ROWS >IP
            load TH; sub #1 >TH; add #-1 ?NO_CARRY moved
            load TJ; add #-1 ?CARRY single_row
            hold ?ALWAYS pool_row
"""
