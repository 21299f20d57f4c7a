# SPDX-License-Identifier: BSD-2-Clause
"""The small PIM engine: one core, a microprogram (docs/microcode.md) and one multiplier."""
