# SPDX-License-Identifier: BSD-2-Clause
"""Choice of an input's axis order: that of its first consumer that needs rows, columns,
channels."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .reading import Model

__all__ = ["wanted_order"]

_MAPS = {
    "Conv",
    "MaxPool",
    "AveragePool",
    "GlobalAveragePool",
    "GlobalMaxPool",
    "BatchNormalization",
}
#: Operators that leave the axes of their first operand as they are.
_THROUGH = {
    "Identity",
    "Cast",
    "Relu",
    "LeakyRelu",
    "Clip",
    "Sigmoid",
    "Tanh",
    "Neg",
    "Abs",
    "Add",
    "Sub",
    "Mul",
    "Div",
    "Dropout",
    "Pad",
    "QuantizeLinear",
    "DequantizeLinear",
    "Quant",
    "IntQuant",
    "BipolarQuant",
    "Trunc",
}


def wanted_order(model: Model, name: str, count: int) -> tuple[int, ...] | None:
    """Order of the axes of input ``name`` after the batch axis; ``None`` if no consumer needs
    another order than the model's.

    Parameters
    ----------
    count : axes of the input; the first counts inputs
    """
    if count not in (3, 4):
        return None
    # Tensor -> its axes, as axes of the input.
    seen = {name: tuple(range(count))}
    for node in model.nodes:
        source = next((seen[read] for read in node.inputs if read in seen), None)
        # Of a node that is refused nothing can be relied on.
        if source is None or node.name in model.refused:
            continue
        if node.operator in _MAPS and node.inputs[0] in seen:
            if source[0] != 0:
                return None
            return tuple(axis - 1 for axis in (*source[2:], source[1]))
        if node.operator in _THROUGH and node.outputs:
            seen[node.outputs[0]] = source
        elif node.operator == "Transpose" and sorted(node.attributes.get("perm", ())) == list(
            range(count)
        ):
            seen[node.outputs[0]] = tuple(source[axis] for axis in node.attributes["perm"])
    return None
