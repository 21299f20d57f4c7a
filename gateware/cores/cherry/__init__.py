# SPDX-License-Identifier: BSD-2-Clause
"""Cherry core: 18-bit floats on 4x4 tiles, address units, independent loops
(docs/isa/cherry.md)."""
