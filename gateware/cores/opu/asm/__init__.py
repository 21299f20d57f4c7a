# SPDX-License-Identifier: BSD-2-Clause
"""Programs of OPU: what the assembler does beyond the table. Pure Python."""
