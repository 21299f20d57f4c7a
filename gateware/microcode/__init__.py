# SPDX-License-Identifier: BSD-2-Clause
"""Microcoded controllers of the small engines, with their assembler and golden model
(docs/how/microcode.md); independent of any core."""
