# SPDX-License-Identifier: BSD-2-Clause
"""Assembler of microprograms, for the cores' small engines (docs/how/microcode.md); knows no core. Pure Python."""
