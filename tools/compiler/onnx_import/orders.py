# SPDX-License-Identifier: BSD-2-Clause
"""In which order of axes an input is best kept: that of the first operator behind it that wants
rows, columns, channels."""

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
}


def wanted_order(model, name, count):
    """Order of the axes of the input ``name`` behind its first one, ``None`` where nothing asks for
    another than its own.

    Parameters
    ----------
    count : axes that the input has, the first of which counts inputs
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
