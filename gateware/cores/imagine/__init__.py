# SPDX-License-Identifier: BSD-2-Clause
"""IMAGine: bit-serial processing elements beside their memory, as an array of blocks
(docs/isa/imagine.md)."""
