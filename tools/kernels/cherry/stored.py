# SPDX-License-Identifier: BSD-2-Clause
"""Encoding of arrays as words of main memory (specification, section 7.4)."""

import numpy as np

from ....gateware.cores.cherry.model.transfers import from_words, to_words

__all__ = ["from_array"]


def from_array(array: np.ndarray, fmt: str) -> np.ndarray:
    """Encodes a float matrix as words of main memory, uint32 with one row per matrix row; rounded
    like DMA does."""
    rows = np.ascontiguousarray(array, np.float32).view(np.uint32).astype(np.int64)
    return np.array([to_words(fmt, from_words("fp32", row, row.size)) for row in rows], np.uint32)
