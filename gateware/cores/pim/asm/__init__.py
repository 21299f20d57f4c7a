# SPDX-License-Identifier: BSD-2-Clause
"""Programs of PIM: what the assembler does beyond the table. Pure Python."""
