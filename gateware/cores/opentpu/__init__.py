# SPDX-License-Identifier: BSD-2-Clause
"""OpenTPU: a systolic array of int8, weights first, 14-byte instructions (docs/isa/opentpu.md)."""
