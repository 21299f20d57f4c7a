# SPDX-License-Identifier: BSD-2-Clause
"""Microprogram of the small engine for lists of DMA descriptors and their transfers (specification,
sections 6 and 7.2). Pure Python."""

from ....isa.parameters import Params
from ..image import DESCRIPTOR_BYTES, FILL, FORMATS, OUT

__all__ = ["transfers"]


def transfers(params: Params, memory_size: int, codes: dict[str, int]) -> str:
    """Source text of this part of the microprogram; ``memory_size`` in bytes, ``codes``: fault
    codes by name."""
    log_mem = params["log_mem"]
    # Beyond what 32 bits address nothing can lie.
    top = min(memory_size, 0xFFFF_FFFF)
    return f"""
list:   ld LIST; st PCW; and #3; jnz crooked
        ld LIST; sub #4; st AT
        ld #0; st K
field:  call word
        ld K; out X
        ld W; st DESC+X
        ld K; add #1; st K; sub #{DESCRIPTOR_BYTES // 4}; jnz field
        ld DESC.0; st W; shr 16; jnz refuse
        ld W; and #255; st OP; sub #{FILL + 1}; jc refuse
        ld OP; jz list_end
        ld W; shr 8; st FMT; sub #{len(FORMATS)}; jc refuse
        ld OP; sub #{FILL}; jz filling
        ld DESC.1; st W; and #3; jnz refuse
        jmp place
filling: ld FMT; jnz refuse
        ld DESC.1; st W; shr 18; jnz refuse
place:  ld DESC.2; st MROW; st W; shr 18; jnz refuse
        ld DESC.3; st W; and #0xFFFF; jz refuse
        st COLS
        ld W; shr 16; jz refuse
        st ROWS
        ld OP; sub #{FILL}; jz reserved
        ld DESC.4; st W; and #3; jnz refuse
reserved: ld DESC.7; st W; jnz refuse
        cnt READ32
        ld DESC.1; st MAIN
        ld COLS; st WORDS                                               // of a row
        ld FMT; jtab widths
.align 4
widths: jmp row
        jmp width_bf16
        jmp width_packed
        jmp row
width_bf16: ld COLS; add #1; shr 1; st WORDS
        jmp row
width_packed: ld COLS; shl 3; add COLS; add #15; shr 4; st WORDS

row:    ld OP; sub #{FILL}; jz range
        ld MAIN; sub $WINDOW_BASE; jnc below
        ld MAIN; sub $WINDOW_LIMIT; jc below
        ld WORDS; shl 2; add MAIN; st END; jc past
        ld $WINDOW_LIMIT; sub END; jnc past
        ld #{top}; sub END; jnc no_memory
range:  ld DESC.6; and #0x3FFFF; st STEP
        sub #1; jnz scan
        ld MROW; add COLS; sub #{(1 << log_mem) + 1}; jnc move
scan:   ld COLS; st N
        ld MROW; st MP
scanned: jabort abort
        ld MP; and #0x3FFFF; st MP; shr {log_mem}; jnz no_mem
        ld MP; add STEP; st MP
        ld N; sub #1; st N; jnz scanned

move:   ld MAIN; st AT
        ld #0; st HAVE; st BUF
        ld MROW; out PLACE
        ld STEP; out ALONG
        ld COLS; st N
        ld OP; sub #{FILL}; jz element
        ld FMT; jnz element
        ld OP; sub #{OUT}; jz fp32_out
fp32_in: jabort abort                                                    // what is moved most
        ld AT; read; jc wrong
        out CAME
        ld AT; add #4; st AT; sub END; jnz fp32_in
        jmp row_end
fp32_out: jabort abort
        ld AT; request
        ld $FLOAT; send; jc wrong
        out SENT
        ld AT; add #4; st AT; sub END; jnz fp32_out
        jmp row_end

element: jabort abort
        ld OP; sub #{OUT}; jz element_out
        jc element_fill
        ld FMT; jtab formats_in
element_fill: ld DESC.1
element_in: out MEM
moved:  ld N; sub #1; st N; jnz element
        ld OP; sub #{OUT}; jnz row_end
        ld HAVE; jz row_end
        call write
row_end: ld MAIN; add DESC.4; st MAIN
        ld MROW; add DESC.5; and #0x3FFFF; st MROW
        ld ROWS; sub #1; st ROWS; jnz row
        ld LIST; add #{DESCRIPTOR_BYTES}; st LIST
        jmp list
list_end: cnt READ32
        ret

.align 4
formats_in: jmp fp32_in
        jmp bf16_in
        jmp packed_in
        call fetch_word
        jmp element_in
bf16_in: ld HAVE; jnz upper
        call fetch_word
        st BUF
        ld #1; st HAVE
        ld BUF; shl 16; jmp float_in
upper:  ld #0; st HAVE
        ld BUF; and #0xFFFF0000
float_in: out FLOAT
        jmp moved
packed_in: ld HAVE; sub #18; jnc more_bits
        st HAVE
        ld BUF; and #0x3FFFF; st V
        ld BUF; shr 18; st BUF
        ld V; jmp element_in
more_bits: call fetch_word
        ld HAVE; out X
        ld W; shl X; add BUF; and #0x3FFFF; st V
        ld #18; sub HAVE; out X
        ld W; shr X; st BUF
        ld HAVE; add #14; st HAVE
        ld V; jmp element_in

element_out: ld $MEM; st V
        out NEXT
        ld FMT; jtab formats_out
.align 4
formats_out: jmp fp32_out
        jmp bf16_out
        jmp packed_out
        ld V
word_out: st BUF
        call write
        jmp moved
bf16_out: ld V; and #0x1FFFF; st M
        sub #0x200; jnc zero_out
        ld #0x1FE00; sub M; jnc nan_out
        ld M; shr 2; and #1; add M; add #1; shr 2
sign_out: st M
        ld V; sub #0x20000
        ld M; jnc half_out
        add #0x8000
half_out: st M
        ld HAVE; jnz second_half
        ld #1; st HAVE
        ld M; st BUF
        jmp moved
second_half: ld #0; st HAVE
        ld M; shl 16; add BUF; jmp word_out
zero_out: ld #0; jmp sign_out
nan_out: ld #0x7FC0; jmp half_out
packed_out: ld HAVE; out X
        ld V; shl X; add BUF; st BUF
        ld HAVE; add #18; st HAVE; sub #32; jnc moved
        st HAVE
        ld #18; sub HAVE; out X
        call write
        ld V; shr X; st BUF
        jmp moved

fetch_word: ld AT; read; jc wrong
        st W
        cnt READ4
        ld AT; add #4; st AT
        ld W
        ret
write:  ld AT; request
        ld BUF; send; jc wrong
        cnt WRITTEN4
        ld AT; add #4; st AT
        ret

crooked: ld LIST; jmp refused
refuse: ld W
refused: st T
        ld #{codes["descriptor"]}
        jmp torn
below:  ld MAIN; jmp no_window
past:   ld $WINDOW_LIMIT
no_window: st T
        ld #{codes["window"]}; jmp torn
no_memory: ld MAIN; sub #{top}
        ld MAIN; jc missing
        ld #{top}
missing: st T
        ld #{codes["bus"]}; jmp torn
no_mem: ld MP; st T
        ld #{codes["dma_range"]}
torn:   st CODE
        ld LIST; st PC
        ld T; jmp fail
"""
