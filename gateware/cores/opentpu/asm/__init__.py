# SPDX-License-Identifier: BSD-2-Clause
"""Programs of OpenTPU: what the assembler does beyond the table. Pure Python."""
