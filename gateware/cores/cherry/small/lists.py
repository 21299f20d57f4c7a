# SPDX-License-Identifier: BSD-2-Clause
"""Microprogram of the small engine for runs, program lists and images (specification, sections 3.3,
3.4, 6 and 7.3). Pure Python."""

from ....isa.parameters import Params
from ..image import HEADER_WORDS, IMAGE_MAGIC, LIST_MAGIC, VERSION
from ..isa import LOOPS, UNITS

__all__ = ["ALL_ONES", "CODE_TABLE", "TILE_WORDS", "lists", "tile_table"]

ALL_ONES = 0xFFFF_FFFF
#: Where instructions begin in the engine's table; before them, 16 * unit + (0: address, 1:
#: stride_x, 2: stride_y, 8 + loop: coefficient).
CODE_TABLE = 512
#: Elements of tiles: four registers of two entries.
TILE_WORDS = 128


def tile_table(params: Params) -> int:
    """Base address of the tiles in the table, after the instructions."""
    return CODE_TABLE + max(params["imem"], TILE_WORDS)


def lists(params: Params, codes: dict[str, int]) -> str:
    """Source text of this part of the microprogram; ``codes``: fault codes by name."""
    # Flags of the image that this build lacks: a wide ACC, special functions, axes.
    lacking = (
        0x400 | (0 if params["sfu_lanes"] else 0x100) | (0 if params["reduce_axes"] else 0x200)
    )
    bad = "".join(
        f"""
bad_{name}: ld #{codes[name]}; jmp bad                      // the word at hand is wrong"""
        for name in ("capacity", "feature", "image")
    )
    return f"""
        ld #0; st ACTIVE; call vars; ld #0
idle:   wait
        ld #0; out STEP; st NUMBER; st CODE; st PC; st LOADED; st ACTIVE
        ld #{ALL_ONES}; out CONTEXT
        ld $PROGRAM_ADDRESS; and #0xFFFFFFFC; st BASE; st ENTRY
        ld $DMA_IN_LIST; jz header
        st LIST; cls OPERAND; call list

header: cls FETCH
        ld ENTRY; st PCW; sub #4; st AT
        call word; sub #{LIST_MAGIC}; jz listed
        ld #0; st IMAGE; st INLIST; st OUTLIST; st REMASK               // an only image
        ld #1; st STEPS
        ld $PROGRAM_LENGTH; st LIMIT
        jmp image
listed: call word; and #0xFFFF; sub #{VERSION}; jnz bad_image
        ld W; shr 16; jz bad_image
        st STEPS
        call word
        ld $PROGRAM_LENGTH; jz any_size
        sub W; jnc bad_capacity
any_size: ld STEPS; add #1; shl 5; st T
        ld W; st SIZE; sub T; jnc bad_image
        ld #{HEADER_WORDS - 3}; st N
zeros:  call word; jnz bad_image
        ld N; sub #1; st N; jnz zeros
        cnt READ32
        ld BASE

next_entry: add #{4 * HEADER_WORDS}; st ENTRY; st PCW; sub #4; st AT  // A: the one before
        cls FETCH
        call word; jz bad_image
        call offset; st IMAGE
        call word; call offset; st INLIST
        call word; call offset; st OUTLIST
        call word; shr 2; jnz bad_image
        call word; shr 18; jnz bad_image
        ld W; st REBASE
        call word; st REMASK
        call word; jnz bad_image
        call word; jnz bad_image
        cnt READ32
        ld SIZE; sub IMAGE; st LIMIT
        ld LOADED; jz image
        ld IMAGE; sub KEPT; jz in_list

image:  ld BASE; add IMAGE; st IADDR; sub #4; st AT
        call word; sub #{IMAGE_MAGIC}; jnz bad_image
        call word; and #0xFFFF; sub #{VERSION}; jnz bad_image
        ld W; shr 16; st ISIZE
        sub #{HEADER_WORDS}; jnc bad_image
        st LEFT
        ld LIMIT; jz any_length
        ld ISIZE; shl 2; st T
        ld LIMIT; sub T; jnc bad_capacity
any_length: call word; shr 11; jnz bad_image
        ld W; and #255; st CONTEXTS; sub #2; jc bad_capacity
        ld W; and #{lacking}; jnz bad_feature
        call word; shr 16; st T; and #0xC0; jnz bad_image
        ld T; and #0x3F; st RECORDS; sub #{UNITS + 1}; jc bad_image
        ld W; and #0xFFFF; st COUNT; sub #{params["imem"] + 1}; jc bad_capacity
        ld T; shr 8; st LOOPS
        ld #{HEADER_WORDS - 4}; st N
more:   call word; jnz bad_image
        ld N; sub #1; st N; jnz more
        ld #0; st K; st UNITS; st LEAST
record: ld K; out X
        ld LOOPS; shr X; and #1; jz absent
        call take18; ld K; out X; ld W; st LCOUNT+X
        call take18; ld K; out X; ld W; st BODY+X
absent: ld K; add #1; st K; sub #{LOOPS}; jnz record
units:  ld RECORDS; jz code
        sub #1; st RECORDS
        call take; shr 16; jnz bad_image
        ld W; and #0xE0; jnz bad_image
        ld W; and #31; st U; out X; sub LEAST; jnc bad_image
        ld U; add #1; st LEAST
        ld W; shr 8; st T
        ld #1; shl X; add UNITS; st UNITS
        ld U; shl 4; st TP
        call take18; call put
        call take18; call put
        call take18; call put
        ld TP; add #5; st TP                                            // coefficients
        ld #{LOOPS}; st N
coefficient: ld T; and #1; jz none
        call take18
none:   call put
        ld T; shr 1; st T
        ld N; sub #1; st N; jnz coefficient
        jmp units
code:   ld AT; add #4; st CODE0
        ld #{CODE_TABLE}; st TP
        ld COUNT; st N
words:  ld N; jz whole
        sub #1; st N
        call take18; call put
        jmp words
whole:  ld LEFT; jnz misfit
        ld ISIZE; st N
counted: cnt READ4
        ld N; sub #1; st N; jnz counted
        ld #1; st LOADED
        ld IMAGE; st KEPT

in_list: ld INLIST; jz program
        add BASE; st LIST; cls OPERAND; call list
        jmp program
over:   ld OUTLIST; jz step
        add BASE; st LIST; cls WRITE; call list
step:   ld NUMBER; add #1; st T; sub STEPS; jz last
        ld T; st NUMBER; out STEP
        ld ENTRY; jmp next_entry
last:   ld $DMA_OUT_LIST; jz well
        st LIST; cls WRITE; call list
well:   ld #0

fail:   st DETAIL                                                       // A: detail, CODE, PC
        call vars
        ld CODE; out CODE
        ld PC; out PC
        ld DETAIL; out FINISH
        jmp idle

vars:   ld #0; st K                                       // iterations of loops that are not active
var:    ld K; out X
        ld ACTIVE; shr X; and #1; jnz active
        ld #{ALL_ONES}; st ITER+X
active: ld K; add #1; st K; sub #{LOOPS}; jnz var
        ret

offset: ld W; and #3; jnz bad_image                                     // of a part of the list
        ld W; sub SIZE; jc bad_image
        ld W; ret

put:    st V                                                            // A into the table
        ld TP; out P; add #1; st TP
        ld V; out TABLE
        ret

take:   ld LEFT; jz misfit                                              // the image's next word
        sub #1; st LEFT
word:   jabort abort                     // the word behind AT into A and W; pc of its faults in PCW
        ld AT; add #4; st AT
        sub $WINDOW_BASE; jnc outside
        ld AT; sub $WINDOW_LIMIT; jc outside
        ld AT; read; jc wrong
        st W
        ret
take18: call take; shr 18; jnz bad_image
        ld W
        ret
{bad}
bad:    st CODE
        ld AT; st PC
        ld W; jmp fail
misfit: ld #{codes["image"]}; st CODE
        ld IADDR; add #4; st PC
        ld ISIZE; shl 16; add #{VERSION}; jmp fail
outside: ld #{codes["window"]}; jmp broken
wrong:  ld #{codes["bus"]}
broken: st CODE
        ld PCW; st PC
        ld AT; jmp fail
abort:  ld #{codes["aborted"]}; st CODE
        ld PCW; st PC
        ld #0; jmp fail
"""
