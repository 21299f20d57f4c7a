# SPDX-License-Identifier: BSD-2-Clause
"""Packing of results that need a border: a 1x1 convolution writes them without one, and they are
copied, if the tiles saved are worth the copy."""

from .machine import Chain, Machine, Product, Ref, Value

__all__ = ["made_closely"]

#: Cycles of copying a tile.
_COPY = 3.5


def made_closely(machine: Machine, macs: int) -> Machine:
    """Splits such convolutions into one without a border and a copy; ``macs``: multipliers of the
    build."""
    operations = []
    for operation in machine.operations:
        operations.append(operation)
        if not _gains(operation, macs):
            continue
        out = operation.out
        operation.out = Ref.of(Value(out.shape))
        operations.append(
            Chain(
                node=operation.node,
                fused=operation.fused,
                out=out,
                parts=[("OUTPUT", operation.out)],
            )
        )
    machine.operations = operations
    return machine


def _gains(operation, macs):
    if (
        not isinstance(operation, Product)
        or operation.each
        or operation.weights.shape[:2] != (1, 1)
        or operation.stride != (1, 1)
    ):
        return False
    out, source = operation.out, operation.source
    if (
        not any(out.value.border)
        or any(source.value.border)
        or source.value.tight
        or out.shape != out.value.shape
        or source.shape != source.value.shape
    ):
        return False
    rows, columns, channels = out.shape
    apart = min(rows * -(-columns // 4), columns * -(-rows // 4))
    closely = -(-rows * columns // 4)
    blocks, steps = -(-channels // 4), -(-operation.weights.shape[2] // 4)
    return (apart - closely) * blocks * steps * 64 / macs > apart * blocks * _COPY
