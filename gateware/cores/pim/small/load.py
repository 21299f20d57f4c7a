# SPDX-License-Identifier: BSD-2-Clause
"""Microprogram of the small engine for LOAD, with all checks of the image's tables in their order
(specification, sections 3.6 and 6). Pure Python."""

from ....isa.parameters import Params
from ..image.fields import AUTO, CORE_ENTRY, GROUP_ENTRY, HEADER, MAGIC, MOST_ARRAYS, VERSION
from .instructions import ARRAYS_AT, BIAS_AT, STORE

__all__ = ["load"]


def load(params: Params, memory_size: int, codes: dict[str, int]) -> str:
    """Microprogram of LOAD, as source text; it ends at ``begin``, with the core's entry in
    variables."""
    log_rows, log_cols = params["xb_rows"].bit_length() - 1, params["xb_cols"].bit_length() - 1
    magic = int.from_bytes(MAGIC, "little")
    return f"""
clear:  ld N; sub #1; st N; out X
        ld #0; st REGS+X
        ld N; jnz clear
        st INDEX; st CODE_AT
        ld #8; st IBIW; st OBIW
        ld $CORE_TABLE; st TABLE; jnz placed
        ld $PROGRAM_ADDRESS
placed: st AT; st IADDR
        ld $RUN_FLAGS; and #2; jnz kept
        ld #{params["lmem_bytes"]}
zeros:  sub #4; st N; out P
        ld #0; out VALUE
        ld #{STORE + 4}; run
        ld N; jnz zeros
kept:   ld $WINDOW_LIMIT; st END; sub #{memory_size}; jnc limited
        ld #{memory_size}; st END
limited: ld AT; sub $WINDOW_BASE; jnc nothing
        ld END; sub AT; jc sized
nothing: ld #0
sized:  st BYTES; st MOST                    // from the image's first byte on; at most in the image
        ld TABLE; jnz header
        ld $PROGRAM_LENGTH; sub MOST; jc header
        ld $PROGRAM_LENGTH; st MOST

header: ld #0; st OFF
        ld BYTES; sub #{HEADER}; jnc wrong
        ld #0; call item; sub #{magic}; jnz wrong
        ld #4; call halves; sub #{VERSION}; jnz wrong
        ld UPPER; sub #{HEADER}; jnz wrong_2
        ld #8; call item; st IMAGE; ld MOST; sub W; jnc wrong
        ld #12; call halves; sub #1; jnz wrong                 // one core
        ld UPPER; jnz wrong_2
        ld #16; call item; st ENTRY; and #63; jnz wrong
        ld #{CORE_ENTRY}; call inside; jnc wrong
        ld #20; call halves; sub #{params["xb_rows"]}; jnz wrong
        ld UPPER; sub #{params["xb_cols"]}; jnz wrong_2
        ld #24; call item; st GBASE
        ld #28; call item; st GSIZE
        ld #8; st N
        ld #32; call zero

        ld ENTRY; call item; st CODE_AT; and #7; jnz wrong
        ld #0; call inside; jnc wrong
        ld ENTRY; add #4; call item; st COUNT
        ld ENTRY; add #12; call item; st FORMS
        ld ENTRY; add #8; call item; st CODE_BYTES; and #3; jnz wrong
        ld CODE_AT; st W; ld CODE_BYTES; call inside; jnc wrong
        ld FORMS; and #255; jz longs
        sub #1; jnz counted
        ld CODE_BYTES; shr 2; sub COUNT; jnz wrong
        jmp counted
longs:  ld CODE_BYTES; and #7; jnz wrong
        ld CODE_BYTES; shr 3; sub COUNT; jnz wrong
counted: ld ENTRY; add #12; st OFF
        ld FORMS; and #255; st MODE; sub #3; jc wrong
        ld FORMS; shr 8; and #255; st WAITS; sub #2; jc wrong_1
        ld FORMS; shr 16; and #255; st IBIW; jz wrong_2
        sub #{params["max_biw"] + 1}; jc wrong_2
        ld FORMS; shr 24; st OBIW; jz wrong_3
        sub #{params["max_biw"] + 1}; jc wrong_3
        ld ENTRY; add #16; call item; st TABLE; and #63; jnz wrong
        ld #0; call inside; jnc wrong
        ld ENTRY; add #20; call halves; st GROUPS; sub #{params["groups"] + 1}; jc wrong
        ld TABLE; st W; ld GROUPS; shl {GROUP_ENTRY.bit_length() - 1}; call inside; jnc wrong
        ld UPPER; and #255; st FI; sub #{AUTO}; jz any_fi
        ld FI; sub #32; jc wrong_2
any_fi: ld UPPER; shr 8; st FO; sub #{AUTO}; jz any_fo
        ld FO; sub #32; jc wrong_3
any_fo: ld #2; st N; ld ENTRY; add #24; call zero

        ld #0; st GROUP; st TAKEN                              // checks of the groups; biases taken
check:  ld GROUP; sub GROUPS; jz checked
        jabort stopped
        call size; ld ROWS; jz wrong
        sub #1025; jc wrong
        ld COLS; jz wrong_2
        sub #1025; jc wrong_2
        ld G; add #4; call item; st FORMS; and #255; jz wrong
        sub #9; jc wrong
        ld FORMS; shr 8; and #255; sub #48; jc wrong_1
        ld FORMS; shr 16; and #255; st FLAGS; sub #4; jc wrong_2
        ld ROWS; add #{params["xb_rows"] - 1}; shr {log_rows}; mul TILES
        ld FORMS; shr 24; st NUMBER; sub $LOW; jnz wrong_3
        ld NUMBER; sub #{MOST_ARRAYS + 1}; jc wrong_3
        ld G; add #8; call item; and #7; jnz wrong
        ld W; jz unset
        ld TILES; mul ROWS; ld $LOW; shl {log_cols}; call inside; jnc wrong
unset:  idx GROUP; ld TAKEN; st BIASES+X
        ld FLAGS; and #2; jz unbiased
        ld G; add #12; call item; and #7; jnz wrong
        ld COLS; shl 2; call inside; jnc wrong
        ld TAKEN; add COLS; st TAKEN; sub #{params["bias_words"] + 1}; jc wrong
unbiased: ld #0; st SEEN.0; st SEEN.1; st K
id:     ld K; shl 1; add #16; add G; st PLACE; and #2; shl 3; out X
        ld PLACE; call item; shr X; and #0xFFFF; st ID
        ld PLACE; st OFF
        ld K; sub NUMBER; jc no_array
        ld ID; sub #{params["arrays"]}; jc wrong
        idx ID; ld #1; shl X; st BIT
        ld ID; shr 5; out X; ld SEEN+X; and BIT; jnz wrong
        ld SEEN+X; add BIT; st SEEN+X
        jmp more
no_array: ld ID; jnz wrong
more:   ld K; add #1; st K; sub #{MOST_ARRAYS}; jnz id
        ld #4; st N; ld G; add #48; call zero
        ld GROUP; add #1; st GROUP; jmp check

checked: ld $RUN_FLAGS; and #1; jnz loaded
        ld #0; st GROUP
program: ld GROUP; sub GROUPS; jz loaded
        call size; call bind
        ld FORMS; shr 17; and #1; jz arrays
        ld G; add #12; call item; add AT; st GA
        idx GROUP; ld BIASES+X; shl 2; add #{BIAS_AT}; st DST
        ld COLS; st N; call copy
arrays: ld G; add #8; call item; jz filled
        add AT; st GA
        ld #0; st K; st TILE
        ld ROWS; st LEFT
block:  idx K; ld IDS+X; add #{ARRAYS_AT}; st DST
        call band; shl {log_cols - 2}; st N; call copy
        ld K; add #1; st K
        ld TILE; add #1; st TILE; sub TILES; jnz same
        st TILE
        ld LEFT; sub HEIGHT; st LEFT
same:   ld LEFT; jnz block
filled: ld GROUP; add #1; st GROUP; jmp program

loaded: ld #0; out FLAGS
        ld CODE_AT; add AT; st CODE_AT; st CADDR; st IADDR; add CODE_BYTES; st CODE_END
        ld $GMEM_SIZE; jz begin
        st GSIZE
        ld $GMEM_BASE; st GBASE
        jmp begin

size:   ld GROUP; shl {GROUP_ENTRY.bit_length() - 1}; add TABLE; st G  // ROWS, COLS, TILES, G
        call halves; st ROWS
        ld UPPER; st COLS; add #{params["xb_cols"] - 1}; shr {log_cols}; st TILES
        ld ROWS; ret
bind:   ld G; add #4; call item; st FORMS; shr 24; st NUMBER  // FORMS; first array into IDS
        ld #0; st K
bound:  ld K; shl 1; add #16; add G; call item; and #0xFFFF; shl {log_rows + log_cols}; st T
        idx K; ld T; st IDS+X
        ld K; add #1; st K; out X
        ld W; shr 16; shl {log_rows + log_cols}; st IDS+X
        ld K; add #1; st K; sub NUMBER; jnc bound
        ret
band:   ld LEFT; st HEIGHT; sub #{params["xb_rows"]}; jnc low     // rows of the next block, of LEFT
        ld #{params["xb_rows"]}; st HEIGHT
low:    ld HEIGHT; ret
item:   st OFF; add AT; st GA                                  // word of the image at A: in W and A
        read; jc bus
        st W; ret
halves: call item                                                       // a word's halves:
        shr 16; st UPPER                                     // lower half in A, upper half in UPPER
        ld W; and #0xFFFF; ret
inside: add W; jc beyond                                         // C: A bytes at W lie in the image
        st T; ld IMAGE; sub T; ret
beyond: ld #0; sub #1; ret
zero:   st FIRST                                                   // N words at A that must be zero
reserved: call item; jnz filth
        ld OFF; add #4; st T
        ld N; sub #1; st N; jz clean
        ld T; jmp reserved
clean:  ret
filth:  ld FIRST; st OFF; jmp wrong
copy:   ld N; jz copied                                                 // N words from GA to DST
        jabort stopped
        ld GA; read; jc bus
        out VALUE
        ld DST; out P; add #4; st DST
        ld #{STORE + 4}; run
        ld GA; add #4; st GA
        call fewer; jmp copy
copied: ret

wrong_3: ld OFF; add #3; jmp wrongly
wrong_2: ld OFF; add #2; jmp wrongly
wrong_1: ld OFF; add #1; jmp wrongly
wrong:  ld OFF
wrongly: st T
        ld AT; st IADDR
        ld #{codes["table"]}; jmp raise
"""
