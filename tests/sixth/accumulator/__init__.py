# SPDX-License-Identifier: BSD-2-Clause
"""Accumulator: a sixth instruction set in one folder, to copy from and to prove that nothing else needs to know of it.

Words of 16 bits: an opcode, an operand of 12 bits; one accumulator of 16 bits; data lie at register ``data``.
"""
