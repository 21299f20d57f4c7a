# SPDX-License-Identifier: BSD-2-Clause
"""Template: a small instruction set that works, to change into your own.

Words of 16 bits: an opcode, an operand of 12 bits; one accumulator of 16 bits; data lie at register
``data``.
"""
