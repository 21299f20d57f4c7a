# SPDX-License-Identifier: BSD-2-Clause
"""LSTM cell: the gates' sums on the array, the nonlinear functions on the host."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..inputs import KernelError
from .layer import Layer, from_fixed, to_fixed

__all__ = ["LSTMCell"]


def _sigmoid(values):
    return (1 + np.tanh(values / 2)) / 2  # without the overflow that exp has far below zero


class LSTMCell:
    """One LSTM cell: i, f, g, o = W x + U h + b; c' = sigmoid(f) c + sigmoid(i) tanh(g); h' =
    sigmoid(o) tanh(c').

    Parameters
    ----------
    w, u, b : integer arrays [4*hidden, inputs], [4*hidden, hidden], [4*hidden]: gates i, f, g,
        o one below the other, as usual
    fraction, width : as :class:`Layer`

    Attributes
    ----------
    layer : Layer
        Two inputs: x, then h. Run it resident, and only vectors move.
    hidden : int

    Raises
    ------
    KernelError
        Shapes that are no cell's, and as :class:`Layer`.
    """

    def __init__(
        self, w: Any, u: Any, b: Any, *, fraction: int, width: int = 16, name: str = "lstm"
    ):
        self.layer = Layer((w, u), b, fraction=fraction, width=width, name=name)
        self.hidden = self.layer.height // 4
        if self.layer.height % 4 or self.layer.lengths[1] != self.hidden:
            raise KernelError(
                f"weights of {name} have the shapes {list(self.layer.weights[0].shape)} and "
                f"{list(self.layer.weights[1].shape)}, expected [4*hidden, inputs] and "
                f"[4*hidden, hidden]"
            )

    def start(self) -> tuple[np.ndarray, np.ndarray]:
        """Initial state: (h integer [hidden], c float64 [hidden])."""
        return np.zeros(self.hidden, np.int64), np.zeros(self.hidden)

    def host(self, sums: Any, c: Any) -> tuple[np.ndarray, np.ndarray]:
        """New state from the gates' sums [4*hidden] and the old cell state ``c`` [hidden]; raises
        :class:`KernelError`."""
        for what, values, size in (("sums", sums, self.layer.height), ("c", c, self.hidden)):
            if np.shape(values) != (size,):
                raise KernelError(
                    f"{self.layer.name}.{what}: {list(np.shape(values))}, expected numbers [{size}]"
                )
        i, f, g, o = from_fixed(sums, self.layer.fraction).reshape(4, self.hidden)
        c = _sigmoid(f) * c + _sigmoid(i) * np.tanh(g)
        return to_fixed(_sigmoid(o) * np.tanh(c), self.layer.fraction, self.layer.width), c

    def step(
        self, run: Callable[..., np.ndarray], x: Any, state: tuple[Any, Any]
    ) -> tuple[np.ndarray, np.ndarray]:
        """One step; ``run(x, h)`` gives the gates' sums: ``functools.partial(session.run, 0)`` of a
        :class:`~.session.Session` whose first layer is the cell's, or ``layer.reference``."""
        h, c = state
        return self.host(run(x, h), c)
