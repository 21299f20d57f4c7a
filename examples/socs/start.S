// SPDX-License-Identifier: BSD-2-Clause
    .section .text.start
    .global _start
_start:
    la sp, _stack
    call main
1:  j 1b
