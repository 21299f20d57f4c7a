# SPDX-License-Identifier: BSD-2-Clause
"""Programs of IMAGine: what the assembler does beyond the table. Pure Python."""
