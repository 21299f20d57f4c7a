# SPDX-License-Identifier: BSD-2-Clause
"""Arithmetic of IMAGine: fixed-point dense layers whose products lose their fraction one by one and
whose sums wrap."""

from typing import Any

import numpy as np

from ....text import plain_name
from ...common.inputs import KernelError, check_name, check_whole, integers
from ...graph import Node
from ...quantised import Arithmetic, Quantised

__all__ = ["Layer", "arithmetic", "layer_of", "wrapped"]


def arithmetic(width: int) -> Arithmetic:
    """Integer arithmetic of a layer in registers of ``width`` bits."""
    return Arithmetic(
        bits=width,
        out_bits=(width,),
        weight_bits=width,
        bias_bits=width,
        bias_shifts=(0, 0),
        shifts=(0, width),
        floors=True,
        bias_in_result=True,
        wraps=True,
    )


def wrapped(numbers: np.ndarray, width: int) -> np.ndarray:
    """Integers as registers of ``width`` bits hold them."""
    half = 1 << width - 1
    return (numbers + half & 2 * half - 1) - half


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


def layer_of(quantised: Quantised, node: Node, width: int) -> Layer:
    """The :class:`Layer` of a quantised node."""
    numbers = quantised.layers[node.name]
    shift = np.unique(numbers.shift)
    if len(shift) != 1:
        raise ValueError(f"{node.name}: {len(shift)} shifts; this core has one a layer")
    # The bias is added after the shift, in the result's own unit.
    return Layer(
        numbers.weights,
        numbers.bias,
        fraction=int(shift[0]),
        width=width,
        name=plain_name(node.name),
    )
