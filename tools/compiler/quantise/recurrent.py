# SPDX-License-Identifier: BSD-2-Clause
"""Quantisation of recurrent layers: the gates' sums have a scale of their own, which the products
of both weight matrices share."""

from dataclasses import replace

import numpy as np

from ..graph import Gru, Lstm
from ..quantised import Arithmetic, Integer, Scale
from .integers import fit_shifts, integer_bias, round_nearest
from .scales import Wish, choose_step

__all__ = ["recurrent_integer"]


def _parts(node, values):
    """Gate sums on ``values`` [inputs, steps, features]: the input products and the recurrent
    products, each with its bias, and the states before each step; [inputs, steps, ...]."""
    states = replace(node, last=False).run(values)
    states = states[:, ::-1] if node.reverse else states
    first = np.broadcast_to(node.initial, (len(values), 1, states.shape[2]))
    before = np.concatenate([first, states[:, :-1]], axis=1)
    before = before[:, ::-1] if node.reverse else before
    biases = (node.bias, 0.0) if isinstance(node, Lstm) else node.bias
    return values @ node.weights.T + biases[0], before @ node.recurrent.T + biases[1], before


def recurrent_integer(
    node: Gru | Lstm, source: Scale, result: Scale, numbers: Arithmetic, values: np.ndarray
) -> tuple[Integer, Scale, str]:
    """Quantises an LSTM or GRU: integer weights and biases, and the scale of the gates' sums.

    Parameters
    ----------
    source, result : Scale of the sequence and of the states
    numbers : Arithmetic; ``source_step`` is the scale that its table requires of the sums
    values : float64 [inputs, steps, features]

    Returns
    -------
    (Integer, Scale of the sums, why)
    """
    given, past, before = _parts(node, values)
    lstm = isinstance(node, Lstm)
    wish = Wish(
        result.bits, [part.ravel() for part in ((given + past,) if lstm else (given, past))]
    )
    wish.wraps = numbers.wraps
    step, why = (
        (numbers.source_step, "table of the core")
        if numbers.source_step is not None
        else choose_step(wish)
    )
    bias = np.atleast_2d(node.bias)
    made = []
    for rows, unit, own, seen in (
        (node.weights, source.step, bias[0], values),
        (node.recurrent, result.step, bias[-1] * (not lstm), before),
    ):
        assert numbers.weight_bits is not None
        power = np.square(seen).reshape(-1, seen.shape[2]).mean(axis=0)[None]
        shift, _ = fit_shifts(rows[None], own, power, unit, step, numbers)
        whole = round_nearest(
            rows[None], (step * 2.0 ** -shift.astype(float) / unit)[None], numbers.weight_bits
        )[0].astype(np.int64)
        made.append((whole, shift, *integer_bias(own, shift, step, numbers)))
    (weights, shift, own, places), (recurrent, behind, theirs, _) = made
    integer = Integer(
        weights=weights,
        bias=own if lstm else np.stack([own, theirs]),
        shift=shift,
        bias_shift=places,
        recurrent=recurrent,
        recurrent_shift=behind,
    )
    return integer, Scale(float(step), result.bits), why
