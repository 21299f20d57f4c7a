# SPDX-License-Identifier: BSD-2-Clause
"""Micro machines of the cores' small engines, their assembler and golden model
(docs/how/microcode.md); knows no core."""
