# SPDX-License-Identifier: BSD-2-Clause
"""Bit-exact numpy reference of Cherry: the operations of a :class:`~.kernel_graph.KernelGraph`."""

from collections.abc import Mapping
from functools import singledispatch

import numpy as np

from .arithmetic import (
    DIGITS,
    accumulate,
    add,
    divide,
    exp,
    gtz,
    log2,
    maximum,
    multiply,
    nearest,
    power,
    relu,
    subtract,
    to_element,
)
from .kernel_graph import (
    Chain,
    KernelGraph,
    Operation,
    PairProduct,
    Product,
    Regroup,
    Value,
    Window,
)

__all__ = ["run_kernel_graph"]


#: Elements of a result that are worked on at a time.
_AT_ONCE = 1 << 15
_TWO = {
    "add": add,
    "sub": subtract,
    "mul": multiply,
    "div": divide,
}
_ONE = {
    "relu": relu,
    "gtz": gtz,
    "exp": exp,
    "log": log2,
}


def run_kernel_graph(
    kernel_graph: KernelGraph, inputs: Mapping[str, np.ndarray], digits: int = DIGITS
) -> dict[Value, np.ndarray]:
    """Computes every value: Value -> float64 array (its first axis the inputs).

    ``inputs``: tensor name -> real numbers; ``digits``: significant bits of ACC.
    """
    held = {
        value: to_element(inputs[name]).reshape(-1, *value.shape)
        for name, value in kernel_graph.inputs.items()
    }
    count = len(next(iter(held.values()))) if held else 1
    for operation in kernel_graph.operations:
        value = operation.out.value
        if value not in held:
            held[value] = np.zeros((count, *value.shape))
        operation.out.write(held[value], _result(operation, _Reader(held, count), digits))
    return held


class _Reader:
    """Resolves references to arrays: reads tensors and constants for ``count`` inputs."""

    def __init__(self, held, count):
        self.held, self.count = held, count

    def whole(self, value):
        return self.held[value] if value.data is None else value.data[None]

    def __call__(self, ref):
        return ref.read(self.whole(ref.value))

    def shaped(self, ref, shape):
        return np.broadcast_to(self(ref), (self.count, *shape))


def _chain(parts, registers, shape, read, digits):
    """Result of a chain of instructions: the tile in OUTPUT, or in ACC if none is in OUTPUT."""
    for part in parts:
        if not isinstance(part, str):
            registers[part[0]] = read(part[1])
            continue
        name, *operands = part.replace(",", " ").split()
        if name == "copy":
            target, source = operands
            registers[target] = nearest(registers[source]) if source == "ACC" else registers[source]
        elif name == "zero":
            registers[operands[0]] = np.zeros((1, 1, 1, 1))
        elif name == "mulacc":
            registers["ACC"] = accumulate(
                np.broadcast_to(registers["ACC"], (read.count, *shape)),
                np.broadcast_to(registers["INPUT"], (read.count, *shape))[..., None],
                np.broadcast_to(registers["WEIGHTS"], (read.count, *shape))[..., None],
                digits,
            )
        elif name in _TWO:
            registers["OUTPUT"] = _TWO[name](registers["INPUT"], registers["WEIGHTS"])
        elif name == "pow":
            registers["OUTPUT"] = power(registers["INPUT"], registers["WEIGHTS"].item())
        else:
            registers["OUTPUT"] = _ONE[name](registers["INPUT"])
    return np.broadcast_to(
        registers["OUTPUT"] if parts else nearest(registers["ACC"]), (read.count, *shape)
    )


@singledispatch
def _result(operation: Operation, read, digits):
    raise TypeError(type(operation).__name__)


@_result.register
def _(operation: Chain, read, digits):
    return _chain(operation.parts, {}, operation.out.shape, read, digits)


@_result.register
def _(operation: Regroup, read, digits):
    return read(operation.source).reshape(-1, *operation.out.shape)


@_result.register
def _(operation: PairProduct, read, digits):
    left, right = read(operation.left), read(operation.right)
    acc = read.shaped(operation.start, operation.out.shape)
    depth = left.shape[-1]
    for first in range(0, depth, 4):
        terms = left[..., :, None, first : first + 4]
        others = right[..., first : first + 4, :].swapaxes(-1, -2)[..., None, :, :]
        acc = accumulate(acc, _four(terms), _four(others), digits)
    return _chain(operation.parts, {"ACC": acc}, operation.out.shape, read, digits)


def _four(terms):
    """Pads fewer than four terms with zeros, as a narrow load does."""
    short = 4 - terms.shape[-1]
    return terms if not short else np.concatenate([terms, np.zeros((*terms.shape[:-1], short))], -1)


@_result.register
def _(operation: Product, read, digits):
    source, shape = read(operation.source), operation.out.shape
    # A constant, as the first state of a recurrent layer, is one for all inputs; what its product
    # is added to is not.
    source = np.broadcast_to(source, (read.count, *source.shape[1:]))
    weights = operation.weights
    (top, left), (down, across), (stride_y, stride_x) = (
        operation.padding,
        operation.dilation,
        operation.stride,
    )
    reach = [
        (length - 1) * stride + (size - 1) * dilation + 1
        for length, stride, size, dilation in zip(
            shape[:2], operation.stride, weights.shape, operation.dilation, strict=False
        )
    ]
    padded = np.zeros(
        (
            len(source),
            max(reach[0], top + source.shape[1]),
            max(reach[1], left + source.shape[2]),
            source.shape[3],
        )
    )
    padded[:, top : top + source.shape[1], left : left + source.shape[2]] = source
    start = read.shaped(operation.start, shape)
    acc = np.empty((len(source), *shape))
    rows = max(1, _AT_ONCE // (shape[1] * shape[2]))
    for image in range(len(source)):
        for first in range(0, shape[0], rows):
            some = min(rows, shape[0] - first)

            def tap(y, x, image=image, first=first, some=some):
                """Elements of the source under tap (y, x): [rows, columns, channels]."""
                from_y, from_x = first * stride_y + y * down, x * across
                return padded[
                    image,
                    from_y : from_y + (some - 1) * stride_y + 1 : stride_y,
                    from_x : from_x + (shape[1] - 1) * stride_x + 1 : stride_x,
                ]

            acc[image, first : first + some] = _sums(
                operation, tap, start[image, first : first + some], digits
            )
    return _chain(operation.parts, {"ACC": acc}, shape, read, digits)


def _sums(operation, tap, acc, digits):
    weights = operation.weights
    for y in range(weights.shape[0]):
        if operation.runs:
            run = np.concatenate([tap(y, x) for x in range(weights.shape[1])], -1)
            acc = _run(run, weights[y].reshape(-1, weights.shape[3]), acc, digits)
            continue
        for x in range(weights.shape[1]):
            if operation.each:
                acc = accumulate(acc, tap(y, x)[..., None], weights[y, x, 0][:, None], digits)
            else:
                acc = _run(tap(y, x), weights[y, x], acc, digits)
    return acc


def _run(source, weights, acc, digits):
    """Sums a contiguous run, four elements at a time."""
    for first in range(0, weights.shape[0], 4):
        acc = accumulate(
            acc,
            _four(source[..., None, first : first + 4]),
            _four(weights[first : first + 4].T),
            digits,
        )
    return acc


@_result.register
def _(operation: Window, read, digits):
    source, shape = read.whole(operation.source), operation.out.shape
    low = operation.padding
    high = [0, 0, 0]
    for axis, length, step in zip(operation.axes, shape, operation.step, strict=True):
        reach = (
            (length - 1) * step
            + 1
            + sum(
                (size - 1) * distance
                for at, size, distance in (operation.outer, operation.inner)
                if at == axis
            )
        )
        high[axis] = max(0, reach - low[axis] - operation.source.shape[axis])
    padded = np.pad(
        source, [(0, 0), *zip(low, high, strict=True)], constant_values=operation.source.around
    )
    acc = np.broadcast_to(read(operation.start), (read.count, *shape))
    for one in range(operation.outer[1]):
        for first in range(0, operation.inner[1], 4):
            terms = [
                _shifted(operation, padded, one, other)
                for other in range(first, min(first + 4, operation.inner[1]))
            ]
            terms = np.stack(np.broadcast_arrays(*terms), -1)
            if operation.function == "max":
                acc = maximum(
                    np.concatenate(
                        [terms, np.broadcast_to(nearest(acc), terms.shape[:-1])[..., None]], -1
                    ),
                    -1,
                )
            else:
                acc = accumulate(acc, terms, np.ones(terms.shape[-1]), digits)
    return _chain(operation.parts, {"ACC": acc}, shape, read, digits)


def _shifted(operation, padded, one, other):
    """Elements of every window at window position (``one``, ``other``)."""
    begin = [0, 0, 0]
    for (axis, _, distance), place in ((operation.outer, one), (operation.inner, other)):
        begin[axis] += place * distance
    index = [slice(None)] * 4
    for axis, length, step in zip(operation.axes, operation.out.shape, operation.step, strict=True):
        index[axis + 1] = slice(begin[axis], begin[axis] + (length - 1) * step + 1, step)
    return padded[tuple(index)].transpose(0, *(axis + 1 for axis in operation.axes))
