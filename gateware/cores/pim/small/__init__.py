# SPDX-License-Identifier: BSD-2-Clause
"""Small PIM engine: one core, microcoded (docs/how/microcode.md), with one multiplier."""
