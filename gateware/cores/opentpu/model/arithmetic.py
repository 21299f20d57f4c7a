# SPDX-License-Identifier: BSD-2-Clause
"""Unified buffer, accumulators and their arithmetic in the golden model (specification, sections
4.5, 4.6, 4.9).

Two units with one interface: :class:`IntegerUnit` is the gateware's arithmetic, bit for bit;
:class:`FloatUnit` is the source's 32-bit float mode (section 5, erratum 19).
"""

import math

import numpy as np

__all__ = ["FloatUnit", "IntegerUnit", "conv_rows", "pool_rows", "sigmoid_table"]

#: S(v) for v = 0..7; 255 above (section 4.6).
_SIGMOID = (128, 187, 225, 243, 251, 254, 255, 255)


def sigmoid_table(compat: bool = False) -> np.ndarray:
    """Sigmoid table of 18 bytes for v = -9..8, to which v is clamped: S(v) for v >= 0, else 255 -
    S(-v).

    With ``compat`` every negative v gives 255, as the published hardware does.
    """
    positive = [*_SIGMOID, 255]
    negative = [255 if compat else 255 - (_SIGMOID[-v] if -v < 8 else 255) for v in range(-9, 0)]
    return np.array(negative + positive, dtype=np.uint8)


def conv_rows(conv: int, first: int, count: int) -> np.ndarray:
    """Rows of the unified buffer that a convolving MMC reads, in order, as int64 (section 4.9).

    ``conv`` is the CFG register: OW in bits 7:0 (0: 256), STEP 15:8, ROW 31:16.
    """
    i = np.arange(count, dtype=np.int64)
    width = conv & 0xFF or 256
    return first + (i // width) * (conv >> 16) + (i % width) * (conv >> 8 & 0xFF)


def pool_rows(pool: int, poolrow: int, first: int, count: int) -> np.ndarray:
    """Accumulator rows that a pooling ACT reads: int64 [count, PH * PW], in the order read (r
    outside, c inside).

    ``pool``: PW in bits 3:0, PH 7:4, OW 15:8 (0: 256), STEP 23:16; ``poolrow``: ROW 15:0, OROW
    31:16. Rows are relative to ``first``, which may be too large for int64 to be the caller's
    concern.
    """
    i = np.arange(count, dtype=np.int64)
    width = pool >> 8 & 0xFF or 256
    origin = first + (i // width) * (poolrow >> 16) + (i % width) * (pool >> 16 & 0xFF)
    r, c = np.meshgrid(np.arange(pool >> 4 & 0xF), np.arange(pool & 0xF), indexing="ij")
    return origin[:, None] + (r * (poolrow & 0xFFFF) + c).ravel()[None, :]


class IntegerUnit:
    """Integer datapath of the model: int8 vectors, int32 accumulators.

    Parameters
    ----------
    n, ub_rows, acc_rows : sizes
    compat : register ``sigmoid_compat``

    Attributes
    ----------
    ub : int8 [ub_rows, n]
    acc : int32 [acc_rows, n]
    tile : the current weights, float32 [n, n], or ``None``
    """

    def __init__(self, *, n: int, ub_rows: int, acc_rows: int, compat: bool = False) -> None:
        self.ub = np.zeros((ub_rows, n), dtype=np.int8)
        self.acc = np.zeros((acc_rows, n), dtype=np.int32)
        self.tile: np.ndarray | None = None
        self._sigmoid = sigmoid_table(compat).view(np.int8)

    @staticmethod
    def load_tile(tile: np.ndarray) -> np.ndarray:
        # A sum is 256 * 2**14 = 2**22 at most: float32 holds it exactly, and its product is much
        # faster than int's.
        """Converts a tile of weights, int8 [n, n], to the form that :meth:`multiply` uses."""
        return tile.astype(np.float32)

    def multiply(self, rows: slice | np.ndarray, acc: int, count: int, overwrite: bool) -> None:
        """Matrix product: ``ACC[acc+i] (+)= UB[rows] @ tile``; ``rows`` is a slice or an index
        array of ``count`` rows."""
        assert self.tile is not None, "a tile is switched in before the first product"
        product = (self.ub[rows].astype(np.float32) @ self.tile).astype(np.int32)
        if overwrite:
            self.acc[acc : acc + count] = product
        else:
            self.acc[acc : acc + count] += product  # numpy's int32 wraps, as the accumulators do

    def activate(self, values: np.ndarray, ub: int, func: int, norm: int) -> None:
        """Activation: ``UB[ub+i] = f(values[i])``; ``values``: int32 [count, n]; ``func``: 0 and 3
        none, 1 ReLU, 2 sigmoid."""
        if norm & 0x1F:
            shift = norm & 0x1F
            half = 1 << (shift - 1) if norm >> 8 & 1 else 0
            values = (values.astype(np.int64) + half) >> shift
        if func == 2:
            result = self._sigmoid[np.clip(values, -9, 8) + 9]
        else:
            if func == 1:
                values = np.maximum(values, 0)
            mode = norm >> 16
            if mode:
                values = np.clip(values, -128, 127) if mode == 1 else np.clip(values, 0, 255)
            result = values.astype(np.int8)  # drops the upper bits
        self.ub[ub : ub + len(result)] = result


class FloatUnit:
    """Float datapath of the model: like :class:`IntegerUnit` in float32, without truncation,
    rounding or saturation.

    None and ReLU are themselves, sigmoid is 255 / (1 + e^-v), normalisation divides by 2^s and does
    nothing else.
    """

    def __init__(self, *, n: int, ub_rows: int, acc_rows: int, compat: bool = False) -> None:
        self.ub = np.zeros((ub_rows, n), dtype=np.float32)
        self.acc = np.zeros((acc_rows, n), dtype=np.float32)
        self.tile: np.ndarray | None = None

    @staticmethod
    def load_tile(tile: np.ndarray) -> np.ndarray:
        """Converts a tile of weights to float32."""
        return tile.astype(np.float32)

    def multiply(self, rows: slice | np.ndarray, acc: int, count: int, overwrite: bool) -> None:
        """Matrix product in float32: ``ACC[acc+i] (+)= UB[rows] @ tile``."""
        assert self.tile is not None, "a tile is switched in before the first product"
        product = self.ub[rows] @ self.tile
        if overwrite:
            self.acc[acc : acc + count] = product
        else:
            self.acc[acc : acc + count] += product

    def activate(self, values: np.ndarray, ub: int, func: int, norm: int) -> None:
        """Activation in float32: ``UB[ub+i] = f(values[i])``."""
        values = values / np.float32(math.ldexp(1.0, norm & 0x1F))
        if func == 1:
            values = np.maximum(values, np.float32(0))
        elif func == 2:
            with np.errstate(
                over="ignore"
            ):  # e^-v of a large negative v: infinite, and the result is 0
                values = np.float32(255) / (np.float32(1) + np.exp(-values))
        self.ub[ub : ub + len(values)] = values
