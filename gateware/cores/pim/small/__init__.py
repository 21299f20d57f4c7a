# SPDX-License-Identifier: BSD-2-Clause
"""The small PIM engine: one core, a microprogram (docs/how/microcode.md) and one multiplier."""
