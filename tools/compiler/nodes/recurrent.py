# SPDX-License-Identifier: BSD-2-Clause
"""Recurrent layers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .node import Node, Shape

__all__ = ["Gru", "Lstm"]


def _sigmoid(x):
    return 0.5 + 0.5 * np.tanh(0.5 * x)


def _over_steps(node, x, step):
    """Runs a recurrence: the states of ``step(values of one step, state)`` for all steps. If a
    state consists of several arrays, the first is the output."""
    order = range(x.shape[1])[::-1] if node.reverse else range(x.shape[1])
    names = ("initial", "cell") if isinstance(node, Lstm) else ("initial",)
    state = [
        np.broadcast_to(getattr(node, name), (len(x), node.recurrent.shape[1])) for name in names
    ]
    results = np.zeros((*x.shape[:2], node.recurrent.shape[1]))
    for index in order:
        state = step(x[:, index], *state)
        results[:, index] = state[0]
    return state[0] if node.last else results


def _result(node, shape, gates):
    """Shape of the states, whose weights have so many gates."""
    hidden = node.recurrent.shape[1]
    if (
        len(shape) != 2
        or node.weights.shape != (gates * hidden, shape[1])
        or node.recurrent.shape != (gates * hidden, hidden)
    ):
        raise ValueError(
            f"weights of {node.weights.shape} and {node.recurrent.shape} on a sequence of "
            f"{tuple(shape)}"
        )
    return (hidden,) if node.last else (shape[0], hidden)


@dataclass(eq=False, kw_only=True)
class Lstm(Node):
    """LSTM over a sequence (steps, features), gates i, o, f, c in ONNX's order.

    ``weights`` [4 * hidden, features], ``recurrent`` [4 * hidden, hidden], ``bias`` [4 * hidden]
    (both of ONNX's, added); ``last``: the output is the last state alone, else every step's.
    ``reverse``: from the last step to the first. ``initial``, ``cell``: [hidden], first states.
    """

    weights: np.ndarray
    recurrent: np.ndarray
    bias: np.ndarray
    initial: np.ndarray
    cell: np.ndarray
    last: bool = False
    reverse: bool = False

    def _shape(self, shape):
        return _result(self, shape, 4)

    def _run(self, x):
        def step(now, hidden, cell):
            i, o, f, c = np.split(
                now @ self.weights.T + hidden @ self.recurrent.T + self.bias, 4, axis=1
            )
            cell = _sigmoid(f) * cell + _sigmoid(i) * np.tanh(c)
            return [_sigmoid(o) * np.tanh(cell), cell]

        return _over_steps(self, x, step)

    def macs(self, shapes: Sequence[Shape], result: Shape) -> int:
        return shapes[0][0] * (self.weights.size + self.recurrent.size)


@dataclass(eq=False, kw_only=True)
class Gru(Node):
    """GRU, gates z, r, h in ONNX's order; ``bias`` [2, 3 * hidden] (input, recurrence);
    ``linear_before_reset`` as in ONNX. The other fields are those of :class:`Lstm`."""

    weights: np.ndarray
    recurrent: np.ndarray
    bias: np.ndarray
    initial: np.ndarray
    linear_before_reset: bool = False
    last: bool = False
    reverse: bool = False

    def _shape(self, shape):
        return _result(self, shape, 3)

    def _run(self, x):
        def step(now, hidden):
            size = hidden.shape[1]
            given = now @ self.weights.T + self.bias[0]
            gates = _sigmoid(
                given[:, : 2 * size]
                + hidden @ self.recurrent[: 2 * size].T
                + self.bias[1, : 2 * size]
            )
            z, r = gates[:, :size], gates[:, size:]
            weights, bias = self.recurrent[2 * size :], self.bias[1, 2 * size :]
            past = (
                r * (hidden @ weights.T + bias)
                if self.linear_before_reset
                else (r * hidden) @ weights.T + bias
            )
            return [(1 - z) * np.tanh(given[:, 2 * size :] + past) + z * hidden]

        return _over_steps(self, x, step)

    def macs(self, shapes: Sequence[Shape], result: Shape) -> int:
        return shapes[0][0] * (self.weights.size + self.recurrent.size)
