# SPDX-License-Identifier: BSD-2-Clause
"""OpenTPU assembler: whole-program checks and NOP passes beyond the instruction table. Pure
Python."""
