# SPDX-License-Identifier: BSD-2-Clause
"""OPU assembler: checks of whole programs beyond the instruction table. Pure Python."""
