# SPDX-License-Identifier: BSD-2-Clause
"""Recurrent layers, unrolled: RNN, and LSTM and GRU with features that the graph's own nodes lack
(peepholes, clip, other activations, coupled gates, computed states or weights, the last cell state,
several inputs at once)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import Refused
from ..step import Constant, Step, View
from .chain import Chain
from .linear import dense, product

__all__ = ["USUAL", "unrolled"]

#: Steps that a layer may have: each is some ten nodes or more.
_MOST_STEPS = 128
#: Activations where the model gives none, for each direction.
USUAL = {
    "LSTM": ["sigmoid", "tanh", "tanh"],
    "GRU": ["sigmoid", "tanh"],
    "RNN": ["tanh"],
}
_GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
#: Activation -> names of its parameters and their values where the model gives none.
_PARAMETERS = {
    "relu": {},
    "tanh": {},
    "sigmoid": {},
    "leakyrelu": {"alpha": 0.01},
    "hardsigmoid": {"alpha": 0.2, "beta": 0.5},
    "affine": {"alpha": 1.0, "beta": 0.0},
    "scaledtanh": {"alpha": 1.0, "beta": 1.0},
}


@dataclass(frozen=True)
class _Function:
    """An activation function of a gate, with its parameters."""

    name: str
    alpha: float = 0.0
    beta: float = 0.0

    def of(self, chain: Chain, part: str, x: View) -> View:
        """Adds the nodes of the function."""
        if self.name == "leakyrelu":
            return chain.act(part, x, "leaky", alpha=self.alpha)
        if self.name == "hardsigmoid":
            return chain.act(part, x, "hard_sigmoid", alpha=self.alpha, beta=self.beta)
        if self.name == "affine":
            return chain.plus(part, chain.times(f"{part}_scaled", x, self.alpha), self.beta)
        if self.name == "scaledtanh":
            inside = chain.times(f"{part}_inside", x, self.beta)
            return chain.times(part, chain.act(f"{part}_tanh", inside, "tanh"), self.alpha)
        return chain.act(part, x, self.name)


def _functions(step: Step, directions: int) -> list[list[_Function]]:
    """The activation functions of each direction."""
    usual = USUAL[step.operator]
    names = [name.lower() for name in step.attribute("activations") or usual * directions]
    if len(names) != len(usual) * directions or not set(names) <= set(_PARAMETERS):
        raise Refused(
            f"activations = {names}: expected {len(usual) * directions} of {', '.join(_PARAMETERS)}"
        )
    given = {key: list(step.attribute(f"activation_{key}") or []) for key in ("alpha", "beta")}
    found = []
    for name in names:
        values = {
            key: float(given[key].pop(0)) if given[key] else default
            for key, default in _PARAMETERS[name].items()
        }
        found.append(_Function(name, **values))
    return [found[at * len(usual) : (at + 1) * len(usual)] for at in range(directions)]


def unrolled(step: Step) -> list[View | None]:
    """Translates a recurrent layer into nodes for each step and returns its outputs."""
    direction = step.wants("direction", ("forward", "reverse", "bidirectional"), "forward")
    directions = 2 if direction == "bidirectional" else 1
    functions = _functions(step, directions)
    view = step.flowing(0, "X")
    if len(view.lengths) != 3:
        raise Refused(f"X of shape {view.lengths}: expected three axes")
    batch_first = bool(step.attribute("layout", 0))
    x = view.permuted((1, 0, 2)) if batch_first else view
    steps, batch, _ = x.lengths
    lengths = step.numbers(4, "sequence_lens")
    if lengths is not None and set(lengths) != {steps}:
        raise Refused(f"sequence_lens = {lengths}: expected all {steps} steps")
    if steps * directions > _MOST_STEPS:
        raise Refused(f"{steps} steps: expected at most {_MOST_STEPS // directions} of this layer")
    made = [
        _Layer(step, at, directions, functions[at]).run(x, direction == "reverse" or at == 1)
        for at in range(directions)
    ]
    hidden = made[0][1].lengths[1]
    chain = Chain(step)
    results: list[View | None] = []
    names = [name if name in step.used else "" for name in (*step.outputs, "", "", "")[:3]]
    for kind, name in enumerate(names):
        if not name:
            results.append(None)
            continue
        shape = (steps, 1, batch, hidden) if kind == 0 else (1, batch, hidden)
        parts = [step.draft.seen(one[kind], shape) for one in made]
        whole = chain.join(f"output_{kind}", parts, 1 if kind == 0 else 0)
        if batch_first:
            whole = whole.permuted((2, 0, 1, 3) if kind == 0 else (1, 0, 2))
        results.append(whole)
    return results[: len(step.outputs)]


class _Layer:
    """One direction of a recurrent layer: its weights and activations."""

    def __init__(self, step: Step, at: int, directions: int, functions: list[_Function]):
        self.step, self.chain, self.functions = step, Chain(step), functions
        self.at, self.name = at, ("forward", "backward")[at]
        self.kind = step.operator
        gates = _GATES[self.kind]
        self.weights = self._matrix(1, "W")
        self.recurrent = self._matrix(2, "R")
        self.hidden = self.recurrent.lengths[1]
        wide = gates * self.hidden
        for name, matrix in (("W", self.weights), ("R", self.recurrent)):
            if matrix.lengths[0] != wide:
                shape = (directions, *matrix.lengths)
                raise Refused(
                    f"{name} of shape {shape}: expected ({directions}, {wide}, "
                    f"{'features' if name == 'W' else self.hidden})"
                )
        bias = self._part(3, "B", (2, wide))
        if bias is None:
            self.bias = (Constant(np.zeros(wide)), Constant(np.zeros(wide)))
        else:
            self.bias = tuple(self._rows(bias, row, wide) for row in (0, 1))
        self.peephole = self._part(7, "P", (3, self.hidden)) if self.kind == "LSTM" else None
        self.clip = float(step.attribute("clip", 0.0) or 0.0)

    def _part(self, index, name, shape):
        """This direction's slice of an operand, reshaped; ``None`` if the operand is omitted."""
        operand = self.step.operand(index)
        if operand is None:
            return None
        if isinstance(operand, Constant):
            data = self.step.finite(name, self.step.fixed(index, name).data)
            if self.at >= len(data) or data[self.at].size != np.prod(shape):
                raise Refused(f"{name} of shape {data.shape}: expected {shape} a direction")
            return Constant(data[self.at].reshape(shape))
        view = self.step.flowing(index, name)
        if self.at >= view.lengths[0] or np.prod(view.lengths[1:]) != np.prod(shape):
            raise Refused(f"{name} of shape {view.lengths}: expected {shape} a direction")
        cut = self.chain.cut(f"{self.name}_{name}", view, {0: (self.at, self.at + 1, 1)})
        return self.step.draft.seen(cut, shape)

    def _matrix(self, index, name):
        operand = self.step.operand(index)
        if operand is None or len(operand.lengths) != 3:
            raise Refused(f"{name}: expected three axes")
        return self._part(index, name, operand.lengths[1:])

    def _rows(self, operand, row, width):
        """One row of a matrix, as a vector."""
        if isinstance(operand, Constant):
            return Constant(operand.data[row])
        cut = self.chain.cut(f"{self.name}_row_{row}", operand, {0: (row, row + 1, 1)})
        return self.step.draft.seen(cut, (width,))

    def _times(self, part, view, matrix, rows):
        """Adds the product of ``view`` (inputs, features) and the rows of a matrix from ``rows[0]``
        to ``rows[1]``."""
        if isinstance(matrix, Constant):
            weights = np.ascontiguousarray(matrix.data[rows[0] : rows[1]])
            return dense(self.step, view, weights, None, None, None)
        cut = self.chain.cut(f"{part}_rows", matrix, {0: (*rows, 1)})
        return product(self.step, view, cut.permuted((1, 0)), None, part)

    def _plus(self, part, view, vector):
        if isinstance(vector, Constant) and not vector.data.any():
            return view
        return self.chain.of_two(part, "add", view, vector)

    def _gate(self, part, view, function, number=None):
        """Adds a gate: the clip and the activation of one slice of the concatenated gates."""
        if number is not None:
            first = number * self.hidden
            view = self.chain.cut(f"{part}_gate", view, {1: (first, first + self.hidden, 1)})
        if self.clip:
            view = self.chain.act(f"{part}_clip", view, "clip", low=-self.clip, high=self.clip)
        return function.of(self.chain, part, view)

    def _state(self, index, name, batch):
        layout = self.step.attribute("layout", 0)
        operand = self.step.operand(index)
        if operand is None:
            return Constant(np.zeros((batch, self.hidden)))
        if layout and batch > 1:
            raise Refused(f"{name} of {batch} inputs with layout = 1: expected layout 0")
        return self._part(index, name, (batch, self.hidden))

    def run(self, x: View, reverse: bool):
        """Unrolls the layer: every step's state (steps, inputs, hidden), the last one, and the last
        cell state."""
        steps, batch, features = x.lengths
        if self.weights.lengths[1] != features:
            raise Refused(f"W for {self.weights.lengths[1]} features, X has {features}")
        gates = _GATES[self.kind] * self.hidden
        flat = self.step.draft.seen(x, (steps * batch, features))
        given = self._plus(
            f"{self.name}_given",
            self._times(f"{self.name}_x", flat, self.weights, (0, gates)),
            self.bias[0],
        )
        hidden = self._state(5, "initial_h", batch)
        cell = self._state(6, "initial_c", batch) if self.kind == "LSTM" else None
        order = list(range(steps))[:: -1 if reverse else 1]
        states = {}
        for now in order:
            part = f"{self.name}_{now}"
            rows = (now * batch, (now + 1) * batch, 1)
            seen = self.step.draft.seen(
                self.chain.cut(f"{part}_x", given, {0: rows}), (batch, gates)
            )
            if self.kind == "LSTM":
                hidden, cell = self._lstm(part, seen, hidden, cell)
            elif self.kind == "GRU":
                hidden = self._gru(part, seen, hidden)
            else:
                total = self._past(part, seen, hidden, (0, gates))
                hidden = self._gate(part, total, self.functions[0])
            states[now] = self.step.draft.seen(hidden, (1, batch, self.hidden))
        whole = self.chain.join(f"{self.name}_states", [states[now] for now in range(steps)], 0)
        return whole, hidden, cell

    def _past(self, part, seen, hidden, rows):
        """Adds the sum of the step's input product and the recurrent product, for some rows of
        R."""
        bias = self.bias[1]
        if isinstance(bias, Constant):
            bias = Constant(bias.data[rows[0] : rows[1]])
        else:
            bias = self.chain.cut(f"{part}_bias", bias, {0: (*rows, 1)})
        if isinstance(hidden, Constant):
            if not hidden.data.any():
                return self._plus(f"{part}_biased", seen, bias)
            if isinstance(self.recurrent, Constant):
                known = hidden.data @ self.recurrent.data[rows[0] : rows[1]].T
                return self._plus(
                    f"{part}_biased",
                    self.chain.of_two(f"{part}_known", "add", seen, Constant(known)),
                    bias,
                )
            raise Refused("initial_h is a constant and R flows: expected both alike")
        past = self._times(f"{part}_h", hidden, self.recurrent, rows)
        return self._plus(
            f"{part}_biased", self.chain.of_two(f"{part}_sum", "add", seen, past), bias
        )

    def _lstm(self, part, seen, hidden, cell):
        gate, new, out = self.functions
        sums = self._past(part, seen, hidden, (0, 4 * self.hidden))
        names = ("i", "o", "f", "c")
        i, o, f, c = (
            self.chain.cut(
                f"{part}_{name}_sum", sums, {1: (at * self.hidden, (at + 1) * self.hidden, 1)}
            )
            for at, name in enumerate(names)
        )
        still = isinstance(cell, Constant) and not cell.data.any()
        if self.peephole is not None and not still:
            i = self._peep(f"{part}_i_peep", i, cell, 0)
            f = self._peep(f"{part}_f_peep", f, cell, 2)
        i = self._gate(f"{part}_i", i, gate)
        if self.step.attribute("input_forget", 0):
            f = self.chain.of_two(f"{part}_f", "sub", 1, i)
        else:
            f = self._gate(f"{part}_f", f, gate)
        added = self.chain.of_two(f"{part}_new", "mul", i, self._gate(f"{part}_c", c, new))
        if not still:
            kept = self.chain.of_two(f"{part}_kept", "mul", f, cell)
            added = self.chain.of_two(f"{part}_cell", "add", kept, added)
        if self.peephole is not None:
            o = self._peep(f"{part}_o_peep", o, added, 1)
        o = self._gate(f"{part}_o", o, gate)
        shown = out.of(self.chain, f"{part}_out", added)
        return self.chain.of_two(f"{part}_state", "mul", o, shown), added

    def _peep(self, part, view, cell, row):
        weights = self._rows(self.peephole, row, self.hidden)
        if isinstance(cell, Constant) and isinstance(weights, Constant):
            return self.chain.of_two(part, "add", view, Constant(cell.data * weights.data))
        looked = (
            self.chain.of_two(f"{part}_looked", "mul", cell, weights)
            if isinstance(cell, View)
            else self.chain.of_two(f"{part}_looked", "mul", weights, cell)
        )
        return self.chain.of_two(part, "add", view, looked)

    def _gru(self, part, seen, hidden):
        size = self.hidden
        gate, new = self.functions
        front = self.chain.cut(f"{part}_front", seen, {1: (0, 2 * size, 1)})
        sums = self._past(f"{part}_zr", front, hidden, (0, 2 * size))
        z, r = (self._gate(f"{part}_{name}", sums, gate, at) for at, name in enumerate("zr"))
        given = self.chain.cut(f"{part}_given", seen, {1: (2 * size, 3 * size, 1)})
        rows = (2 * size, 3 * size)
        first = isinstance(hidden, Constant) and not hidden.data.any()
        if self.step.attribute("linear_before_reset", 0):
            past = self._past_alone(f"{part}_past", hidden, rows)
            total = self.chain.of_two(
                f"{part}_total", "add", given, self.chain.of_two(f"{part}_reset", "mul", r, past)
            )
        elif first:
            total = self._past(f"{part}_n", given, hidden, rows)
        else:
            reset = self.chain.of_two(f"{part}_reset", "mul", r, hidden)
            total = self._past(f"{part}_n", given, reset, rows)
        h = self._gate(f"{part}_h", total, new)
        # (1 - z) h + z state = h + z (state - h)
        if first:
            return self.chain.of_two(
                f"{part}_state", "mul", self.chain.of_two(f"{part}_rest", "sub", 1, z), h
            )
        change = self.chain.of_two(f"{part}_change", "sub", hidden, h)
        moved = self.chain.of_two(f"{part}_moved", "mul", z, change)
        return self.chain.of_two(f"{part}_state", "add", h, moved)

    def _past_alone(self, part, hidden, rows):
        """Adds the recurrent product alone: rows of R times the previous state, plus their bias."""
        bias = self.bias[1]
        if isinstance(bias, Constant):
            bias = Constant(bias.data[rows[0] : rows[1]])
        else:
            bias = self.chain.cut(f"{part}_bias", bias, {0: (*rows, 1)})
        if not isinstance(hidden, Constant):
            return self._plus(part, self._times(f"{part}_h", hidden, self.recurrent, rows), bias)
        if isinstance(self.recurrent, Constant) and isinstance(bias, Constant):
            known = hidden.data @ self.recurrent.data[rows[0] : rows[1]].T
            return Constant(known + bias.data)
        if not hidden.data.any():
            return bias
        raise Refused("initial_h is a constant and R flows: expected both alike")
