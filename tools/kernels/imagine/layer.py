# SPDX-License-Identifier: BSD-2-Clause
"""Fixed-point dense layer and its integer reference."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..inputs import KernelError, check_name, check_whole, integers

__all__ = ["Layer", "decode", "from_fixed", "to_fixed"]


def to_fixed(values: Any, fraction: int, width: int) -> np.ndarray:
    """Converts numbers to integers of ``width`` bits with ``fraction`` fraction bits: rounded to
    nearest, saturated; int64."""
    limit = 1 << width - 1
    return np.clip(
        np.rint(np.asarray(values, np.float64) * 2.0**fraction), -limit, limit - 1
    ).astype(np.int64)


def from_fixed(values: Any, fraction: int) -> np.ndarray:
    """Converts integers with ``fraction`` fraction bits to numbers, float64."""
    return np.asarray(values) / 2.0**fraction


def decode(data: Any, rows: int) -> np.ndarray:
    """Decodes FIFO-out words in memory into integers [vectors, rows].

    Raises
    ------
    KernelError
        Words without the marks of whole vectors.
    """
    words = np.frombuffer(data, "<i2").reshape(-1, rows, 2) if len(data) % (4 * rows) == 0 else None
    if words is None or (words[:, :-1, 1] != 0x100).any() or (words[:, -1, 1] != 0x300).any():
        raise KernelError(f"{len(data)} bytes that are no vectors of {rows} results")
    return words[..., 0].astype(np.int64)


class Layer:
    """Fixed-point dense layer y = W_0 x_0 + W_1 x_1 + ... + b; every number is an integer with
    ``fraction`` fraction bits.

    Parameters
    ----------
    weights : integer array [m, n], or a sequence of them [m, n_k], one for each input vector
    bias : integer array [m], or ``None``
    fraction : fraction bits of all numbers, inputs and results included
    width : bits of a register: 4, 8 or 16
    name : for messages

    Raises
    ------
    KernelError
        Shapes that do not go together, numbers outside ``width`` bits.
    """

    def __init__(
        self, weights: Any, bias: Any = None, *, fraction: int, width: int = 16, name: str = "layer"
    ):
        check_name("layer", name)
        if not isinstance(width, (int, np.integer)) or width not in (4, 8, 16):
            raise KernelError(f"width of {name} is {width!r}, expected 4, 8 or 16")
        self.width, self.name = int(width), name
        self.fraction = check_whole(f"fraction of {name}", fraction, 0, self.width)
        several = isinstance(weights, (list, tuple))
        self.weights = tuple(
            self._integers(f"weights[{k}]" if several else "weights", w, ("rows", "columns"))
            for k, w in enumerate(weights if several else [weights])
        )
        if not self.weights or len({len(w) for w in self.weights}) != 1:
            raise KernelError(
                f"weights of {name} have "
                f"{', '.join(str(w.shape) for w in self.weights) or 'no'} rows and columns, "
                "expected the same rows for every input"
            )
        self.height = len(self.weights[0])
        self.bias = None if bias is None else self._integers("bias", bias, (self.height,))

    def _integers(self, what, values, shape, floats=False):
        return integers(f"{self.name}.{what}", values, shape, self.width, floats=floats)

    @property
    def lengths(self) -> tuple[int, ...]:
        """Number of elements of each input vector."""
        return tuple(w.shape[1] for w in self.weights)

    def check_inputs(self, vectors: Sequence[Any]) -> list[np.ndarray]:
        """Checks ``vectors``, one for each input, and converts them to integers [n_k]."""
        if len(vectors) != len(self.weights):
            raise KernelError(f"{self.name} takes {len(self.weights)} vectors, not {len(vectors)}")
        return [
            self._integers(f"input[{k}]", vector, (length,), floats=True)
            for k, (vector, length) in enumerate(zip(vectors, self.lengths, strict=True))
        ]

    def reference(self, *vectors: Any, wrap: bool = True) -> np.ndarray:
        """Bit-exact result of the array, int64 [m]: each product is shifted down (toward minus
        infinity), sums are modulo 2^width; without ``wrap`` the exact sums, to see whether they
        fit."""
        total = np.zeros(self.height, np.int64) if self.bias is None else self.bias.copy()
        for weights, vector in zip(self.weights, self.check_inputs(vectors), strict=True):
            products = weights * vector >> self.fraction
            if wrap:
                products = self._wrapped(products)
            total += products.sum(axis=1)
        return self._wrapped(total) if wrap else total

    def _wrapped(self, values):
        half = 1 << self.width - 1
        return (values + half & 2 * half - 1) - half
