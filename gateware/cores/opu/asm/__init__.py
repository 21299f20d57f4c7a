# SPDX-License-Identifier: BSD-2-Clause
"""OPU assembler: whole-program checks beyond the instruction table. Pure Python."""
