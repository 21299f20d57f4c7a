# SPDX-License-Identifier: BSD-2-Clause
"""Fixed-point dense layer, the operation that the core computes."""

from typing import Any

import numpy as np

from ...common.inputs import KernelError, check_name, check_whole, integers

__all__ = ["Layer"]


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

    def _integers(self, what, values, shape):
        return integers(f"{self.name}.{what}", values, shape, self.width, floats=False)

    @property
    def lengths(self) -> tuple[int, ...]:
        """Length of each input vector."""
        return tuple(w.shape[1] for w in self.weights)
