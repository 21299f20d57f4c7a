# SPDX-License-Identifier: BSD-2-Clause
"""Microprogram of the small engine for exp, log, div and pow, one element at a time (specification,
section 4.4). Pure Python.

The tables of the specification are worked out where one is asked for an entry, of eight entries and
a series each. Coefficients and entries are those nearest to the exact ones but for a few units,
chosen so that all 512 values of LOGT and of EXPT come out right.

* log2(1 + f/512): n = 512 + f times a reciprocal of 21 bits is 1 + z exactly, z below 1/8;
  LOGARITHM holds the logarithm of the reciprocal, of which one was taken whose logarithm is nearly
  a multiple of 2^-32; log2(1 + z) = z * (SERIES.1 - 8z * (SERIES.2 - 8z * ...)).
* 2^(k/512) = ROOT[r >> 6] * 2^-u with r = 511 - k, u = (r & 63)/512; 2^-u = SERIES.12 - 8u *
  (SERIES.13 - 8u * ...).
* A quotient is a division bit by bit, which rounds as the specification's product does. e^x is the
  power of e, log2 e in the place of q.

Rounding is to the nearest, up from the middle: of the values that are rounded one alone lies there,
1 + 2^-10 as a power of two.
"""

from ..isa import ISA, OUTPUT
from ..tables import INF, L2E, LNC, NAN, ONE

__all__ = ["TABLES", "special"]

_LOG, _EXP = 10, 18  #: Last coefficients of the two series; each ends at an entry of 0.
#: Array -> entries; scales: reciprocals 2^31, logarithms 2^32, roots 2^31, the series' first
#: coefficients 2^31 and 2^32, each further one 1/8 of that.
TABLES = {
    "RECIPROCAL": [
        0x80000000,
        0x71DEF000,
        0x666F7400,
        0x5D216400,
        0x5578FC00,
        0x4EF3CC00,
        0x492C5400,
        0x445D9C00,
    ],
    "LOGARITHM": [
        0x00000000,
        0x2B32E500,
        0x52493BA7,
        0x75752D5E,
        0x9525ED6F,
        0xB2747E13,
        0xCE87A743,
        0xE7A0F982,
    ],
    "ROOT": [
        0xFFA75653,
        0xEA6F790B,
        0xD6FA6E66,
        0xC522CBC4,
        0xB4C64186,
        0xA5C5590A,
        0x98033833,
        0x8B6569E5,
    ],
    "SERIES": [
        0,
        3098164009,
        193635252,
        16136273,
        1512775,
        151277,
        15758,
        1688,
        185,
        21,
        2,
        0,
        4294967295,
        372130558,
        16121324,
        465600,
        10087,
        175,
        3,
    ],
}


def special(tiles: int, entry: int, register: int) -> str:
    """Microprogram of exp, log, div and pow, as source text; ``tiles``: base of the tiles in the
    table, ``entry`` and ``register``: elements per entry and per register."""
    exp, power = ISA.opcodes["exp"], ISA.opcodes["pow"]
    return f"""
.also FROM ISIZE; .also Y_FROM LIMIT; .also TO LEFT  // tiles; magnitudes, exponents, signs
.also XA COLS; .also XE ROWS; .also XS MAIN; .also XM HAVE
.also YA BUF; .also YE WORDS; .also YS END; .also YM STEP
.also SIGN MP; .also NEGATIVE MROW; .also D FMT; .also Z OP; .also S BEGIN; .also C FACTOR
op_special: cls WORK                                                    // I, WORD, OPCODE
        call private
        ld OPCODE; shr 3; st T; ld #1; sub T; st REG         // WEIGHTS; INPUT again for exp and log
        call view
        ld VIEW; st Y_FROM
        ld #0; st REG; st E
        call view
        ld VIEW; st FROM
        ld #{OUTPUT * register}; add #{tiles}; st TO
        ld PRIV; jnz each
        ld TO; add #{entry}; st TO
each:   jabort stopped
        ld Y_FROM; call unpack
        ld XA; st YA
        ld XE; st YE
        ld XS; st YS
        ld XM; st YM
        ld FROM; call unpack
        ld #0; st SIGN
        ld OPCODE; sub #{power}; jnz numbers
        ld YE; jz one                                                   // pow: even of NaN
        ld XA; add XS; sub #{ONE}; jz one
numbers: ld #{INF}; sub XA; jnc nan
        ld #{INF}; sub YA; jnc nan
        ld OPCODE; sub #{power}; jnc div
        jz pow
        sub #{exp - power}; jz exp

log:    ld XE; jz log_of_0
        ld XS; jnz nan
        ld XE; sub #255; jz infinite
        ld XA; sub #{ONE}; jz nought
        call logarithm
        ld NEGATIVE; st SIGN
direct: ld D; add #381; st BIASED                                       // M * 2^(D-32)
        ld M; shr 22; jmp rounded
log_of_0: ld #0x20000; st SIGN
        jmp infinite

div:    ld XS; add YS; and #0x20000; st SIGN
        ld XE; jz div_of_0
        sub #255; jz div_of_inf
        ld YE; jz infinite
        sub #255; jz nought
        ld #0; st M
        ld YM; shr 1; st YM
        ld #1; shl 30; st W
        ld XM; shr 1
digit:  st XM; sub YM; jnc less
        st XM
        ld M; add W; st M
less:   ld W; shr 1; st W; jz divided
        ld XM; add XM; jmp digit
divided: ld XE; sub YE; add #2; call normal
        jmp direct
div_of_0: ld YE; jz nan
        jmp nought
div_of_inf: ld YE; sub #255; jz nan
        jmp infinite

pow:    ld YE; sub #255; jz unlimited
        ld XS; jz signed
        ld YE; sub #127; jnc not_whole                                  // below 1
        out X; sub #10; jc signed                                       // even
        ld YM; shl X; shl 1; jnz not_whole
        jnc signed
        ld #0x20000; st SIGN                                            // odd
signed: ld XE; jz pow_of_less
        sub #255; jz pow_of_more
        ld XA; sub #{ONE}; jz one
        call logarithm
        ld NEGATIVE; add YS; and #0x20000; st NEGATIVE
        ld M; shr 12; jnc as_q
        add #1
as_q:   shl 12; st M
        jmp power
not_whole: ld XE; jz pow_of_less
        sub #255; jz pow_of_more
        jmp nan
unlimited: ld XA; sub #{ONE}; jz one
        jc pow_of_more
pow_of_less: ld YS; jz nought
        jmp infinite
pow_of_more: ld YS; jz infinite
        jmp nought

exp:    ld XS; st NEGATIVE
        ld #1; st D
        ld #{L2E << 4}; st M
power:  ld #134; sub D; sub YE; st N                    // 2^(M * 2^(D-32) * |y|), or its reciprocal
        shr 5; jnz far
        ld N; out X
        ld M; mul YM; shr X; jnc fixed
        add #1
fixed:  st T; add T; jc too_far                                         // T: 24 fraction bits
        ld NEGATIVE; jz core
        ld #0; sub T; st T
core:   ld T; add #0x80000000; shr 24; add #254; st BIASED
        ld T; shl 17; shr 1; mul #{LNC}; st S
        shl 7; mul S; add S; shl 7; add #0x80000000; st C
        sub #0x80200000; jnz no_tie                     // 1 + 2^-10, and lower or higher in between
        ld C; sub #1; st C
no_tie: ld #0xFFFFFFFF; sub T; st T
        shr 15; shl 26; st Z
        ld #{_EXP}; call series
        ld T; shr 21; and #7; out X
        ld S; mul ROOT+X; add #16; shr 5; shl 5; mul C
        shr 21
rounded: jnc packed                                                     // A: ten bits, C: the next
        add #1
packed: st M                                            // into the exponent, if they are eleven now
        ld BIASED; shl 9; add M; sub #0x20000; jnc nought
        st V; shr 9; jz nought
        sub #255; jc infinite
        ld V; jmp with_sign
far:    ld N; add N; jnc one
too_far: ld NEGATIVE; jz infinite
nought: ld #0; jmp with_sign
one:    ld #{ONE}; jmp with_sign
infinite: ld #{INF}
with_sign: add SIGN; jmp result
nan:    ld #{NAN}
result: st V
        ld TO; add E; out P
        ld V; out TABLE
        ld E; add #1; st E; sub #{entry}; jnz each
        call written
        cnt RETIRED,OPS16; jmp next

unpack: add E; out P                               // the element E of the tile at A: XA, XE, XS, XM
        ld $TABLE; st V; and #0x1FFFF; st XA; shr 9; st XE
        ld V; sub XA; st XS
        ld V; shl 23; shr 1; add #0x80000000; st XM
        ret
series: st K                                            // from coefficient A on, in Z, into S and A
        ld #0; st S
coefs:  ld K; out X; sub #1; st K
        ld SERIES+X; jz summed
        ld S; mul Z; st S
        ld SERIES+X; sub S; st S
        jmp coefs
summed: ld S
        ret
logarithm: ld XA; shr 6; and #7; out X       // |log2 |x|| = M * 2^(D-32), M at least 2^31; NEGATIVE
        ld LOGARITHM+X; st PART
        ld XM; mul RECIPROCAL+X; shl 5; st Z
        ld #{_LOG}; call series
        mul Z; shr 2; jnc exact
        add #1
exact:  add PART; st PART
        ld #0; st NEGATIVE
        ld XE; sub #127; st WHOLE; jc upward
        ld #0x20000; st NEGATIVE
        ld #0; sub PART; st PART; jc negated
        ld #0xFFFFFFFF
negated: sub WHOLE; st WHOLE
upward: ld WHOLE; jz below_1
        shl 24; st M
        ld PART; shr 8; add M; st M
        ld #8; jmp normal
below_1: ld PART; st M
        ld #0
normal: st D                                                            // M * 2^A
doubled_m: ld M; add M; jc at_31
        st M
        ld D; sub #1; st D
        jmp doubled_m
at_31:  ret
"""
