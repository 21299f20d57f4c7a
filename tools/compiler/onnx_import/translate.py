# SPDX-License-Identifier: BSD-2-Clause
"""Translation of a model, node by node, into a graph; unsupported nodes are collected and reported
together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from .draft import MOST_ELEMENTS, Draft, wanted_order
from .errors import OnnxError, Refused, listed
from .folding import FOLDED, fold
from .inference import inferred_shapes
from .operators import OPERATORS
from .operators.chain import Chain
from .reading import read_model
from .step import Constant, Step, View

if TYPE_CHECKING:
    from ..graph import Graph

__all__ = ["import_onnx"]

#: Operators that may have an empty operand in place of one that is left out.
_EMPTY_OPERANDS = {"Resize"}
#: Operators of which a function of whole numbers may be made, element by element.
_WHOLE = frozenset(
    """
    Abs Add And Cast Clip Div Equal Greater GreaterOrEqual Identity Less LessOrEqual Max Min Mul Neg
    Not Sub Where
    """.split()
)
#: Reason to refuse any other use of a :class:`_Whole`.
_NO_TABLE = (
    "is computed from whole numbers: expected a Cast to float in front of the arithmetic, or a "
    "Gather from a constant table behind it"
)
#: Operators that move whole numbers and leave them as they are.
_MOVES = frozenset({"Flatten", "Reshape", "Squeeze", "Transpose", "Unsqueeze"})
#: Numbers that a table is asked for behind a function of whole numbers: times its rows, and more.
_ASKED_TIMES, _ASKED_MORE = 2, 64
#: Iterations of a Loop that are unrolled, at most.
MOST_ITERATIONS = 128
#: Value of a refused node's result whose shape is unknown, too.
_UNKNOWN = object()


def import_onnx(path: str | Path, content: bytes | None = None) -> Graph:
    """Imports the model at ``path``, or from the bytes ``content`` (then ``path`` only names it in
    messages).

    Raises
    ------
    OnnxError
        A file that is none, or a model that cannot be taken; the message lists every node at fault.
    NoDeviceError
        The package onnx is not installed.
    """
    return _Translation(path, read_model(path, content)).graph()


@dataclass(frozen=True, eq=False)
class _Whole:
    """Whole numbers that the network computes, as the index of a table: a function of the integers
    of ``source``. No core computes them exactly, so the table takes them over."""

    source: View
    function: Callable[[np.ndarray], np.ndarray]


class _Translation:
    def __init__(self, path, model):
        self.path, self.model = path, model
        self.draft, self.refusals = (
            Draft(model.name, {name for node in model.every_node() for name in node.outputs}),
            [],
        )
        # Of the tensors that are functions of whole numbers; those that are nothing else are values
        # as well.
        self.whole: dict[str, _Whole] = {}
        self.values = {name: Constant(data) for name, data in model.constants.items()}
        self.read = {name for node in model.every_node() for name in node.inputs if name}
        self.read |= {
            name
            for node in model.every_node()
            for body in node.bodies.values()
            for name in body.outputs
        }
        self.used = self.read | {value.name for value in model.outputs}
        self.readers = _readers(model)
        self._inferred, self.folded = None, 0

    def graph(self):
        for value in self.model.inputs:
            self._input(value)
        for node in self.model.nodes:
            self._node(node)
        if not self.refusals:
            for value in self.model.outputs:
                self._output(value)
        if not self.refusals and not self.draft.graph.nodes:
            raise OnnxError(
                f"{self.path}: the network computes nothing: its outputs are its inputs or "
                f"constants"
            )
        if self.refusals:
            raise OnnxError(f"{self.path}: cannot be taken:{listed(self.refusals)}", self.refusals)
        self.draft.graph.recurrent = _recurrent_states(self.model)
        self.draft.graph.vocabulary = self.model.vocabulary
        return self.draft.graph

    def _refuse(self, name, operator, reason):
        self.refusals.append((name, operator, str(reason)))

    def _input(self, value):
        """Adds an input to the graph; the first axis is the batch axis if it has length one or no
        number."""
        shape = value.shape
        self.values[value.name] = _UNKNOWN
        if shape is None:
            return self._refuse(value.name, "input", "has no shape: expected fixed lengths")
        batched = bool(shape) and (
            not isinstance(shape[0], int) or len(shape) > 1 and shape[0] == 1
        )
        lengths = (1, *shape[1:]) if batched else shape
        wrong = [
            f"axis {axis} has {'no length' if length is None else f'the length {length}'}"
            for axis, length in enumerate(lengths)
            if not isinstance(length, int) or length < 1
        ]
        if wrong:
            return self._refuse(
                value.name,
                "input",
                f"{', '.join(wrong)}: expected fixed lengths; the first axis (the inputs') "
                f"alone may vary",
            )
        order = wanted_order(self.model, value.name, len(lengths)) if batched else None
        try:
            self.values[value.name] = self.draft.input(
                value, lengths, batched, order or tuple(range(len(lengths) - batched))
            )
        except Refused as reason:
            self._refuse(value.name, "input", reason)

    def _output(self, value):
        found = self.values[value.name]
        if isinstance(found, Constant):
            return self._refuse(
                value.name, "output", "is a constant: expected a result of the network's inputs"
            )
        if isinstance(found, _Whole):
            return self._refuse(value.name, "output", _NO_TABLE)
        lengths = found.lengths
        told = value.shape
        if told is not None and (
            len(told) != len(lengths)
            or any(isinstance(a, int) and a != b for a, b in zip(told, lengths, strict=True))
        ):
            return self._refuse(
                value.name, "output", f"should have the shape {told}, the nodes give {lengths}"
            )
        self.draft.node = replace(self.model.nodes[-1], name=value.name, operator="")
        # An only axis is the inputs' where no axis of the tensor lies after it.
        batched = lengths[:1] == (1,) and (
            len(lengths) > 1
            or found.axes == ((),)
            and any(port.batched for port in self.draft.graph.inputs)
        )
        self.draft.output(value.name, found, batched)

    def _node(self, node):
        operands = [self.values[name] if name else None for name in node.inputs]
        while operands and operands[-1] is None:
            operands.pop()
        step = Step(self.draft, node, self.model.opset, operands, self.used, self.readers)
        self.draft.node = node
        try:
            results = self._controlled(step, node) if node.bodies else self._translated(step, node)
        except Refused as reason:
            self._refuse(node.name, node.operator, reason)
            results = [
                self._stand_in(name, operands) if name in self.read else _UNKNOWN
                for name in node.outputs
            ]
        if not isinstance(results, list | tuple):
            results = [results]
        for name, value in zip(
            node.outputs, [*results, *[_UNKNOWN] * len(node.outputs)], strict=False
        ):
            if name:
                self.values[name] = _UNKNOWN if value is None else value

    def _controlled(self, step, node):
        """Values of the outputs of an If whose condition is constant, or of a Loop, unrolled."""
        if node.name in self.model.refused:
            raise Refused(self.model.refused[node.name])
        if any(operand is _UNKNOWN for operand in step.operands):
            return [_UNKNOWN] * len(node.outputs)
        if node.operator == "Loop":
            return self._unrolled(step, node)
        chosen = _truth(step, 0, "its condition")
        return self._run(node.bodies["then_branch" if chosen else "else_branch"])

    def _run(self, body):
        """Translates the nodes of a subgraph; the values of its outputs."""
        for node in body.nodes:
            self._node(node)
        return [self.values[name] for name in body.outputs]

    def _unrolled(self, step, node):
        """Values of the outputs of a Loop: the last values of what it carries, then what its
        iterations give, one after the other along a new first axis."""
        body = node.bodies["body"]
        carried, rows = step.operands[2 : len(body.inputs)], []
        most = step.operand(0)
        if most is not None and not isinstance(most, Constant):
            raise Refused("its number of iterations depends on the network's inputs")
        most = np.inf if most is None else most.data.item()
        going, refusals = step.operand(1) is None or _truth(step, 1, "its condition"), self.refusals
        known = len(refusals)
        while going and len(rows) < most:
            if len(rows) == MOST_ITERATIONS:
                raise Refused(f"more than {MOST_ITERATIONS} iterations: expected at most as many")
            given = [Constant(np.int64(len(rows))), Constant(np.bool_(True)), *carried]
            self.values.update(zip(body.inputs, given, strict=True))
            condition, *results = self._run(body)
            if len(refusals) > known:
                return [_UNKNOWN] * len(node.outputs)
            carried, scanned = results[: len(carried)], results[len(carried) :]
            rows.append(scanned)
            self.draft.node = node
            step.operands = [condition]
            going = _truth(step, 0, "its condition")
        return [*carried, *(_stacked(step, column) for column in zip(*rows, strict=True))]

    def _translated(self, step, node):
        if node.name in self.model.refused:
            raise Refused(self.model.refused[node.name])
        constant = all(
            isinstance(operand, Constant) or operand is None for operand in step.operands
        )
        if constant:
            # Operators on constants alone are computed; few of them run on tensors that flow, too.
            found = fold(step)
            if found is not None:
                every = found if isinstance(found, list) else [found]
                self.folded += sum(one.data.size for one in every)
                if self.folded > MOST_ELEMENTS:
                    raise Refused(
                        f"the constants computed so far have {self.folded:,} elements: expected at "
                        f"most {MOST_ELEMENTS:,}"
                    )
                return found
        if node.operator not in OPERATORS and node.operator not in FOLDED:
            raise Refused("this operator is not supported")
        if any(operand is _UNKNOWN for operand in step.operands):
            return [_UNKNOWN] * len(node.outputs)
        if node.operator not in OPERATORS:
            raise Refused(
                "an operand depends on the network's inputs: expected constants "
                "alone for this operator"
            )
        if node.operator not in _EMPTY_OPERANDS:
            _check_elements(step.operands)
        whole = self._function(step, node)
        if whole is not None:
            self.whole[node.outputs[0]] = whole
        if node.operator == "Gather" and node.inputs[1] in self.whole:
            step = _looked_up(step, self.whole[node.inputs[1]])
        if any(isinstance(operand, _Whole) for operand in step.operands):
            if whole is None:
                raise Refused(f"its input {_NO_TABLE}")
            return whole
        try:
            return OPERATORS[node.operator](step)
        except Refused:
            if whole is None:
                raise
            return whole

    def _made_whole(self, node, view):
        """Whether a node casts a real input to whole numbers, as in front of Keras' Embedding: the
        input holds whole numbers already."""
        whole = node.operator == "Cast" and node.attributes.get("to") in (6, 7)
        return whole and view.grid is None and not self.draft.is_made(view)

    def _function(self, step, node):
        """The :class:`_Whole` that an operator gives of whole numbers, ``None`` if it gives none or
        reads others too."""
        first = step.operand(0)
        if node.operator in _MOVES and isinstance(first, _Whole):
            moved = step.rewritten(node.operator, [first.source, *step.operands[1:]])
            return _Whole(OPERATORS[node.operator](moved), first.function)
        if node.operator not in _WHOLE:
            return None
        parts: list[Constant | _Whole | None] = []
        for name, operand in zip(node.inputs, step.operands, strict=False):
            if operand is None:
                parts.append(None)
            elif isinstance(operand, Constant) and operand.data.size == 1:
                parts.append(Constant(_wide(operand.data.reshape(()))))
            elif name in self.whole:
                parts.append(self.whole[name])
            elif isinstance(operand, View) and (operand.integer or self._made_whole(node, operand)):
                source = replace(operand, integer=True)
                parts.append(_Whole(source, lambda numbers: numbers))
            else:
                return None
        sources = [part.source for part in parts if isinstance(part, _Whole)]
        if any(source != sources[0] for source in sources):
            return None

        def function(numbers):
            operands = [
                Constant(part.function(numbers)) if isinstance(part, _Whole) else part
                for part in parts
            ]
            return _wide(fold(step.rewritten(node.operator, operands)).data)

        return _Whole(sources[0], function)

    def _stand_in(self, name, operands):
        """Adds a placeholder of inferred shape for the result of a refused node, so that the nodes
        after it are checked as well."""
        if self._inferred is None:
            self._inferred = inferred_shapes(self.path, self.model)
        lengths = self._inferred.get(name)
        if lengths is None or not any(isinstance(operand, View) for operand in operands):
            return _UNKNOWN
        return self.draft.stand_in(name, lengths)


def _wide(data):
    """Whole numbers of one width: onnx's evaluator wants equal types."""
    return data.astype(np.int64) if data.dtype.kind in "iu" else data


def _looked_up(step, whole):
    """A Gather of a constant table by computed whole numbers, as one of another table by the
    numbers that they are computed from."""
    table = step.operand(0)
    if not isinstance(table, Constant) or not table.data.ndim:
        return step
    if step.attribute("axis", 0) not in (0, -table.data.ndim):
        return step
    depth = len(table.data)
    places = np.asarray(whole.function(np.arange(_ASKED_TIMES * depth + _ASKED_MORE)))
    inside = (places >= -depth) & (places < depth)
    if places.dtype.kind not in "iu" or not inside.any():
        raise Refused("its indices are never those of its rows, for any whole number from 0 on")
    inside = inside[: np.flatnonzero(inside)[-1] + 1]
    data = table.data[np.where(inside, places[: len(inside)], 0)]
    # What lies outside is no valid input.
    data = np.where(inside.reshape(-1, *[1] * (data.ndim - 1)), data, 0)
    grid = table.grid if table.grid is not None and not np.ndim(table.grid.scale) else None
    return step.rewritten("Gather", [Constant(data, grid, table.whole), whole.source])


def _truth(step, index, what):
    """A constant operand that is true or false."""
    found = step.operand(index)
    if not isinstance(found, Constant):
        raise Refused(f"{what} depends on the network's inputs: expected a constant")
    if found.data.size != 1:
        raise Refused(f"{what} has the shape {found.lengths}: expected one element")
    return bool(found.data.item())


def _stacked(step, values):
    """The values of a Loop's iterations along a new first axis."""
    if all(isinstance(value, Constant) for value in values):
        return Constant(np.stack([value.data for value in values]))
    if any(isinstance(value, _Whole) for value in values):
        raise Refused(f"what its iterations give {_NO_TABLE}")
    values = [
        Constant(value.data[None])
        if isinstance(value, Constant)
        else step.draft.seen(value, (1, *value.lengths))
        for value in values
    ]
    return Chain(step).join("rows", values, 0)


#: Operator -> pairs (operand, result) of a recurrent layer: its first state, its last.
_STATES = {"RNN": ((5, 1),), "GRU": ((5, 1),), "LSTM": ((5, 1), (6, 2))}


def _recurrent_states(model):
    """Pairs (output, input) of the model's ports that are states of a single recurrent layer."""
    inputs = {value.name for value in model.inputs}
    outputs = {value.name for value in model.outputs}
    found = []
    for node in model.nodes:
        for first, last in _STATES.get(node.operator, ()):
            if first < len(node.inputs) and last < len(node.outputs):
                pair = node.outputs[last], node.inputs[first]
                if pair[0] in outputs and pair[1] in inputs:
                    found.append(pair)
    return found


def _readers(model):
    """Readers of each tensor: name -> operators of the nodes that read it, "end" for an output of
    the network. Nodes that only pass the tensor on are replaced by their readers."""
    readers = {value.name: ["end"] for value in model.outputs}
    for node in reversed(list(model.every_node())):
        through = node.operator in ("Identity", "Cast", "CastLike", "Dropout")
        found = readers.get(node.outputs[0], []) if through and node.outputs else [node.operator]
        for name in node.inputs[: 1 if through else None]:
            readers.setdefault(name, []).extend(found)
    return readers


def _check_elements(operands):
    """Refuses constants of real numbers without elements."""
    for operand in operands:
        if (
            isinstance(operand, Constant)
            and operand.data.dtype.kind == "f"
            and not operand.data.size
        ):
            raise Refused(
                f"an operand has the shape {operand.lengths}: expected tensors with elements"
            )
