# SPDX-License-Identifier: BSD-2-Clause
"""LSTM and GRU cells, unrolled into products, elementwise chains and copies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...graph import Activation, Gru, Lstm
from .operations import function

if TYPE_CHECKING:
    from .legalise import Decomposer

__all__ = ["gru", "lstm"]


def _steps(node, steps):
    return range(steps - 1, -1, -1) if node.reverse else range(steps)


def _activate(maker, name, source, out):
    act = Activation(name="", inputs=[], output="", function=name)
    return maker.chain(out, function(act, source, maker.constant))


def _columns(ref, first, count, row=0):
    return ref.part((0, row, first), (1, 1, count))


def lstm(maker: Decomposer, node: Lstm) -> None:
    """Unrolls an LSTM (gates i, o, f, c); the input products of all time steps are computed at
    once."""
    x, out, hidden = maker.ref(node.inputs[0]), maker.result(node), node.recurrent.shape[1]
    steps = x.shape[1]
    given = maker.dense(x, node.weights, node.bias, maker.fresh((1, steps, 4 * hidden)))
    state, cell = (
        maker.held(np.asarray(node.initial).reshape(1, 1, -1)),
        maker.held(np.asarray(node.cell).reshape(1, 1, -1)),
    )
    for count, step in enumerate(_steps(node, steps)):
        gates = maker.dense(
            state,
            node.recurrent,
            None,
            maker.fresh((1, 1, 4 * hidden)),
            start=_columns(given, 0, 4 * hidden, step),
        )
        open_ = _activate(
            maker, "sigmoid", _columns(gates, 0, 3 * hidden), maker.fresh((1, 1, 3 * hidden))
        )
        new = _activate(
            maker, "tanh", _columns(gates, 3 * hidden, hidden), maker.fresh((1, 1, hidden))
        )
        entry, leaving, keeping = (_columns(open_, k * hidden, hidden) for k in range(3))
        cell = maker.chain(
            maker.fresh((1, 1, hidden)),
            [
                ("INPUT", keeping),
                ("WEIGHTS", cell),
                "mul",
                "copy ACC, OUTPUT",
                ("INPUT", entry),
                ("WEIGHTS", new),
                "mulacc",
                "copy OUTPUT, ACC",
            ],
        )
        shown = _activate(maker, "tanh", cell, maker.fresh((1, 1, hidden)))
        state = maker.binary(
            "mul", leaving, shown, _place(maker, node, out, hidden, step, count == steps - 1)
        )


def _place(maker, node, out, hidden, step, last):
    """Target of a time step's state: the result's own row for the last step, else a temporary
    value."""
    if node.last:
        return out if last else maker.fresh((1, 1, hidden))
    return _columns(out, 0, hidden, step)


def gru(maker: Decomposer, node: Gru) -> None:
    """Unrolls a GRU (gates z, r, h)."""
    x, out, hidden = maker.ref(node.inputs[0]), maker.result(node), node.recurrent.shape[1]
    steps = x.shape[1]
    of_input, of_state = np.asarray(node.bias, np.float64)
    # The bias that is added to the recurrent product of h before the product with r stays separate.
    both = (
        of_input + of_state * (np.arange(3 * hidden) < 2 * hidden)
        if node.linear_before_reset
        else of_input + of_state
    )
    given = maker.dense(x, node.weights, both, maker.fresh((1, steps, 3 * hidden)))
    state = maker.held(np.asarray(node.initial).reshape(1, 1, -1))
    first, rest = np.asarray(node.recurrent)[: 2 * hidden], np.asarray(node.recurrent)[2 * hidden :]
    for count, step in enumerate(_steps(node, steps)):
        gates = maker.dense(
            state,
            first,
            None,
            maker.fresh((1, 1, 2 * hidden)),
            start=_columns(given, 0, 2 * hidden, step),
        )
        open_ = _activate(maker, "sigmoid", gates, maker.fresh((1, 1, 2 * hidden)))
        update, reset = (_columns(open_, k * hidden, hidden) for k in range(2))
        mine = _columns(given, 2 * hidden, hidden, step)
        if node.linear_before_reset:
            product = maker.dense(state, rest, of_state[2 * hidden :], maker.fresh((1, 1, hidden)))
            sums = maker.chain(
                maker.fresh((1, 1, hidden)),
                [
                    ("ACC", mine),
                    ("INPUT", reset),
                    ("WEIGHTS", product),
                    "mulacc",
                    "copy OUTPUT, ACC",
                ],
            )
        else:
            sums = maker.dense(
                maker.binary("mul", reset, state, maker.fresh((1, 1, hidden))),
                rest,
                None,
                maker.fresh((1, 1, hidden)),
                start=mine,
            )
        new = _activate(maker, "tanh", sums, maker.fresh((1, 1, hidden)))
        # new + update * (state - new)
        apart = maker.binary("sub", state, new, maker.fresh((1, 1, hidden)))
        state = maker.chain(
            _place(maker, node, out, hidden, step, count == steps - 1),
            [("ACC", new), ("INPUT", update), ("WEIGHTS", apart), "mulacc", "copy OUTPUT, ACC"],
        )
