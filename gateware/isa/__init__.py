# SPDX-License-Identifier: BSD-2-Clause
"""Instruction set descriptions: table, operands, registers, parameters; below everything else.
Pure Python."""
