# SPDX-License-Identifier: BSD-2-Clause
"""Sizes derived from the shape of an array. Pure Python."""

from ...isa.parameters import Params

__all__ = ["PES", "levels", "registers_of"]

#: Processing elements of a block: bits of a row of its RAM.
PES = 16


def registers_of(params: Params) -> int:
    """Number of registers of a PE that words can address: min(64, D/N)."""
    return min(64, params["depth"] // params["reg_width"])


def levels(cols: int) -> int:
    """Number of ``mv_accumRow`` levels that add up a row of ``cols`` block columns: ceil(log2
    cols)."""
    return (cols - 1).bit_length()
