# SPDX-License-Identifier: BSD-2-Clause
"""Nodes of opsets 7 to 10 in the form of opset 11, which turned several attributes into operands.
Earlier opsets broadcast in another way and are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .reading import Model, Node

__all__ = ["FORM", "modernise"]

#: The opset whose form nodes of an older one get.
FORM = 11
_FLOAT32 = np.finfo(np.float32)


class _Older:
    """A model of an older opset whose nodes are rewritten."""

    def __init__(self, model: Model):
        self._model = model
        self._taken = set(model.constants)
        for node in model.every_node():
            self._taken.update((*node.inputs, *node.outputs))

    def constant(self, node: Node, what: str, data: Any) -> str:
        """Adds an operand of ``node`` to the model's constants and returns its name."""
        name = f"{node.name}_{what}"
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        self._model.constants[name] = np.asarray(data)
        return name

    def moved(self, node: Node, names: dict[str, Any], kind: type) -> None:
        """Turns attributes into operands. ``names``: attribute -> value if it is missing, ``None``:
        the operand is left out."""
        for name, default in names.items():
            value = node.attributes.pop(name, default)
            if value is None:
                node.inputs.append("")
            else:
                node.inputs.append(self.constant(node, name, np.asarray(value, kind)))


def _clip(older, node):
    if len(node.inputs) == 1:
        limits = {"min": float(_FLOAT32.min), "max": float(_FLOAT32.max)}
        older.moved(node, limits, np.float64)


def _pad(older, node):
    if len(node.inputs) == 1:
        older.moved(node, {"pads": None}, np.int64)
        older.moved(node, {"value": 0.0}, np.float64)


def _slice(older, node):
    if len(node.inputs) == 1:
        older.moved(node, {"starts": None, "ends": None, "axes": None}, np.int64)


def _top(older, node):
    if len(node.inputs) == 1:
        node.inputs.append(older.constant(node, "k", np.array([node.attributes.pop("k")])))


def _upsample(older, node):
    if len(node.inputs) == 1:
        older.moved(node, {"scales": None}, np.float64)


def _resize(older, node):
    if len(node.inputs) == 2:
        node.inputs.insert(1, "")
        node.attributes["coordinate_transformation_mode"] = "asymmetric"
        node.attributes["nearest_mode"] = "floor"


_REWRITTEN: dict[str, Callable[[_Older, Node], None]] = {
    "Clip": _clip,
    "Pad": _pad,
    "Slice": _slice,
    "TopK": _top,
    "Upsample": _upsample,
    "Resize": _resize,
}


def modernise(model: Model) -> None:
    """Brings the nodes of a model into the form of opset 11 if it is older."""
    if model.opset >= FORM:
        return
    older = _Older(model)
    for node in model.every_node():
        if node.domain == "" and node.operator in _REWRITTEN and node.name not in model.refused:
            _REWRITTEN[node.operator](older, node)
    model.opset = FORM
