# SPDX-License-Identifier: BSD-2-Clause
"""Microprogram of the small engine for memory ranges, ld, st, sld, lldi and lmv (specification,
sections 4.1, 4.4 and 6). Pure Python."""

from ....isa.parameters import Params
from .instructions import STORE, scratch_at

__all__ = ["transfers"]


def transfers(params: Params, memory_size: int, codes: dict[str, int]) -> str:
    """Microprogram of loads, stores and moves, as source text."""
    lmem, scratch = params["lmem_bytes"], scratch_at(params)
    return f"""
.also HI ENTRY; .also LO MOST; .also GOFF TAKEN; .also S PLACE
op_sld: cls OPERAND
        ld RS1; call pair
        ld OFFSET; st GOFF
        ld #4; st LEN; call global
        ld GA; and #3; st K; shl 3; out X
        ld GA; read; jc bus
        shr X; st V
        ld K; jz aligned
        ld GA; add #4; sub K; st GA; read; jc bus
        st W
        ld #4; sub K; shl 3; out X
        ld W; shl X; add V; st V
aligned: ld #4; out READ
        ld V; jmp result

op_ld:  cls OPERAND
        ld RS1; call pair
        ld LEN; jz moved
        ld RD; st R
        ld HIGH; and #1; call bytes
        ld FROM; st D0
        ld HIGH; and #2; call goff
loading: ld N; jz was_loaded
        jabort stopped
        call chunk
        ld GA; read; jc bus
        shr X; out VALUE
        ld GA; add S; st GA
        call put_s; jmp loading
was_loaded: ld LEN; out READ
        jmp moved

op_st:  cls WRITE
        ld RD; call pair
        ld LEN; jz moved
        ld RS1; st R
        ld HIGH; and #2; call bytes
        ld FROM; st S0
        ld HIGH; and #1; call goff
storing: ld N; jz was_stored
        jabort stopped
        call chunk
        ld S; sub #4; jz whole_word
        ld GA; read; jc bus
        out VALUE
        ld #{scratch}; out P
        ld #{STORE + 4}; run
        ld S0; out P
        ld S; run
        ld #{scratch}; add K; out P
        ld S; add #{STORE}; run
        ld #{scratch}; jmp from_there
whole_word: ld S0
from_there: out P
        ld #4; run
        ld GA; request
        ld $VALUE; send; jc bus
        ld S0; add S; st S0
        ld GA; add S; st GA
        ld N; sub S; st N
        jmp storing
was_stored: ld LEN; out WRITTEN
        jmp moved
chunk:  ld GA; and #3; st K; shl 3; out X  // S of N bytes to the end of GA's word, without K
        ld #4; sub K; st S; sub N; jnc chunked
        ld N; st S
chunked: ret

op_lldi: ld LEN; jz moved
        ld RD; st R
        ld #1; call bytes
        ld FROM; st D0
        ld LOW; shr 11; and #255; mul #{0x01010101}
        ld $LOW; st V
filling: ld N; jz moved
        ld #4; st S; sub N; jnc fill
        ld N; st S
fill:   ld V; out VALUE
        call put_s; jmp filling
put_s:  ld D0; out P; add S; st D0                                      // S bytes of VALUE at D0
        ld S; add #{STORE}; run
        ld N; sub S; st N
        ret
op_lmv: ld LEN; jz moved
        ld #1; st WIDTH
        ld LEN; st N
        ld HIGH; and #1; call target
        ld RS1; st R
        ld HIGH; and #2; call bytes
        ld #0; st WIDER; call ordered
        ld FROM; st S0
moving: ld N; jz moved
        ld #4; st S; sub N; jnc move
        ld N; st S
move:   ld S0; out P; add S; st S0
        ld S; run
        call put_s; jmp moving

bytes:  st SELECT                             // FROM, TO: LEN bytes at R[R] (+ OFFSET if A); N: LEN
        ld #1; st WIDTH
        ld LEN; st N
range:  idx R; ld REGS+X; st FROM                                 // N elements of WIDTH bytes
        ld SELECT; jz as_it_is
        ld WIDTH; mul OFFSET
        ld $LOW; add FROM; st FROM
as_it_is: ld WIDTH; mul N
        ld $LOW
extent: add FROM; jc no_lmem                                            // A bytes at FROM
        st TO
        ld #{lmem}; sub TO; jnc no_lmem
        ld TO; ret
no_lmem: ld FROM; st T
        ld #{codes["lmem_range"]}; jmp raise
ordered: ld WIDER; jnz disjoint          // whether D0 to D1 may be written while FROM to TO is read
        ld FROM; sub D0; jc apart
disjoint: ld D0; sub TO; jc apart
        ld FROM; sub D1; jc apart
        ld D0; st T
        ld #{codes["overlap"]}; jmp raise
apart:  ret

pair:   st T; and #1; jnz odd                                           // address at R[A], R[A + 1]
        idx T; ld REGS+X; st HI
        ld T; add #1; out X; ld REGS+X; st LO
        ret
odd:    ld #{codes["odd_pair"]}; jmp raise
goff:   jz no_goff                           // GA: main memory at the pair + OFFSET if A, LEN bytes
        ld OFFSET
no_goff: st GOFF
global: ld GOFF; shl 1; ld #0; jnc upward
        ld #{-1}
upward: add HI; st HI
        ld LO; add GOFF; st LO; ld HI; adc #0; jnz no_gmem
        ld GSIZE; jz any_size
        ld LO; add LEN; jc no_gmem
        st T
        ld GSIZE; sub T; jnc no_gmem
any_size: ld LO; add GBASE; jc no_gmem
        st GA; sub $WINDOW_BASE; jnc no_gmem
        ld GA; add LEN; jc no_gmem
        st T
        ld $WINDOW_LIMIT; sub T; jnc no_gmem
        ld #{memory_size}; sub T; jc apart
        ld GA; st T; sub #{memory_size}; jc bus_t
        ld #{memory_size}; st T
        jmp bus_t
no_gmem: ld LO; st T
        ld #{codes["gmem_range"]}; jmp raise
"""
