# SPDX-License-Identifier: BSD-2-Clause
"""IMAGine core: an array of blocks of bit-serial processing elements next to their memory
(docs/isa/imagine.md)."""
