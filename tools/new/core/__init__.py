# SPDX-License-Identifier: BSD-2-Clause
"""Template of a core: a small working instruction set, to be changed into your own.

Words of 16 bits: an opcode, an operand of 12 bits; one accumulator of 16 bits; data lie at register
``data``.
"""
