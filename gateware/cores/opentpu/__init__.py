# SPDX-License-Identifier: BSD-2-Clause
"""OpenTPU core: a systolic array for int8 with stationary weights, and 14-byte instructions
(docs/isa/opentpu.md)."""
