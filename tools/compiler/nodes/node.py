# SPDX-License-Identifier: BSD-2-Clause
"""Nodes of a graph: the base class, and elementwise functions of one operand, which other nodes
may also have fused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeAlias

import numpy as np

__all__ = ["HOST_FUNCTIONS", "Activation", "Node", "Shape", "activate", "check_channels"]

#: Lengths of the axes, without that of the inputs.
Shape: TypeAlias = tuple[int, ...]
#: Elementwise functions that the host alone computes. ``step`` is 1 for numbers greater than zero,
#: else 0; ``round`` goes to the nearest whole number, ties to the even one.
HOST_FUNCTIONS = frozenset(
    "step sign floor ceil round sin cos tan asin acos atan sinh cosh asinh acosh atanh".split()
)


_ELEMENTWISE: dict[str, Callable[..., np.ndarray]] = {
    "relu": lambda node, x: np.maximum(x, 0),
    "leaky": lambda node, x: np.where(x < 0, node.alpha * x, x),
    "clip": lambda node, x: np.clip(x, node.low, node.high),
    "sigmoid": lambda node, x: 0.5 + 0.5 * np.tanh(0.5 * x),
    "tanh": lambda node, x: np.tanh(x),
    "hard_sigmoid": lambda node, x: np.clip(node.alpha * x + node.beta, 0, 1),
    "hard_swish": lambda node, x: x * np.clip(node.alpha * x + node.beta, 0, 1),
    "exp": lambda node, x: np.exp(x),
    "log": lambda node, x: np.log(x),
    "sqrt": lambda node, x: np.sqrt(x),
    "neg": lambda node, x: -x,
    "abs": lambda node, x: np.abs(x),
    "step": lambda node, x: (x > 0).astype(np.float64),
    "sign": lambda node, x: np.sign(x),
    "floor": lambda node, x: np.floor(x),
    "ceil": lambda node, x: np.ceil(x),
    "round": lambda node, x: np.rint(x),
    "sin": lambda node, x: np.sin(x),
    "cos": lambda node, x: np.cos(x),
    "tan": lambda node, x: np.tan(x),
    "asin": lambda node, x: np.arcsin(x),
    "acos": lambda node, x: np.arccos(x),
    "atan": lambda node, x: np.arctan(x),
    "sinh": lambda node, x: np.sinh(x),
    "cosh": lambda node, x: np.cosh(x),
    "asinh": lambda node, x: np.arcsinh(x),
    "acosh": lambda node, x: np.arccosh(x),
    "atanh": lambda node, x: np.arctanh(x),
}


@dataclass(eq=False, kw_only=True)
class Node:
    """Base class of operators. A kind of node declares its attributes, the shape of its result
    (``_shape``), its value (``_run``) and, if it multiplies, how often (:meth:`macs`).

    Attributes
    ----------
    name : str, unique; the model's own, or ``<operator>_<number>`` where it has none
    inputs : list of tensor names (constants that a node holds itself are not among them)
    output : name of the tensor that it makes
    origin : str, operators of the model's file that it came from, joined by ``+``
    """

    name: str
    inputs: list[str]
    output: str
    origin: str = ""

    @property
    def kind(self) -> str:
        """Lower-case class name, as reports print it."""
        return type(self).__name__.lower()

    def attributes(self) -> dict[str, object]:
        """The fields that the subclass adds, except arrays: name -> value."""
        base = {f.name for f in fields(Node)}
        return {
            f.name: getattr(self, f.name)
            for f in fields(self)
            if f.name not in base and not isinstance(getattr(self, f.name), np.ndarray)
        }

    def shape_of(self, *shapes: Sequence[int]) -> Shape:
        """Shape of the result from the ``shapes`` of the operands, all without the batch axis.
        Raises ValueError if they do not fit."""
        return tuple(int(length) for length in self._shape(*shapes))

    def run(self, *values: Any) -> np.ndarray:
        """Computes the node, float64. The first axis of every activation counts inputs; for a
        constant it has length one."""
        return self._run(*values)

    def _shape(self, *shapes):
        raise TypeError(f"no node of the graph: {type(self).__name__}")

    def _run(self, *values):
        raise TypeError(f"no node of the graph: {type(self).__name__}")

    def macs(self, shapes: Sequence[Shape], result: Shape) -> int:
        """Multiply-accumulates for one input, padding included, by the shapes of the operands and
        of the result."""
        return 0


@dataclass(eq=False, kw_only=True)
class Activation(Node):
    """Elementwise function of one operand: ``function`` is relu, leaky (slope ``alpha``), clip
    (``low`` to ``high``), sigmoid, tanh, hard_sigmoid (``alpha`` x + ``beta``, clipped to 0..1),
    hard_swish (x times that), exp, log, sqrt, neg or abs; or a member of :data:`HOST_FUNCTIONS`,
    which only the host computes."""

    function: str
    alpha: float = 0.0
    beta: float = 0.0
    low: float = -np.inf
    high: float = np.inf

    def _shape(self, shape):
        return shape

    def _run(self, x):
        return _ELEMENTWISE[self.function](self, x)


def activate(node: Any, values: np.ndarray) -> np.ndarray:
    """Applies the activation that is fused into ``node`` and its lower bound ``floor``, if it has
    them."""
    values = values if node.activation is None else node.activation.run(values)
    floor = getattr(node, "floor", None)
    return values if floor is None else np.maximum(values, floor)


def check_channels(node: Any, shape: Sequence[int]) -> None:
    """Raises ValueError unless ``scale`` and ``shift`` of a node have one number or one for each
    channel."""
    length = shape[-1] if shape else 1
    for name in ("scale", "shift"):
        if np.shape(getattr(node, name)) not in ((length,), ()):
            raise ValueError(
                f"{name} of shape {np.shape(getattr(node, name))} for {length} channels"
            )
