# SPDX-License-Identifier: BSD-2-Clause
"""Bit-exact numpy reference of Cherry: its arithmetic on float64 arrays that hold its numbers
(specification, section 4), implemented independently of the golden model, and the operations of a
:class:`~.kernel_graph.KernelGraph`.

A float64 holds every element, its zeros' signs, infinities and NaN; products of two are exact, and
a sum of five rounds as the core's window does unless it lies near a tie: those few are worked out
in whole numbers.
"""

from collections.abc import Mapping
from functools import singledispatch

import numpy as np

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

__all__ = [
    "DIGITS",
    "accumulate",
    "add",
    "bits",
    "divide",
    "exp",
    "from_bf16",
    "gtz",
    "log2",
    "maximum",
    "multiply",
    "nearest",
    "power",
    "relu",
    "run_kernel_graph",
    "subtract",
    "to_element",
]


#: Significant bits of an element.
DIGITS = 10
_MANTISSA, _ALL = 52, 53
_LARGEST, _SMALLEST = 2.0**128, 2.0**-126
#: Bits below the largest term's exponent that a sum keeps.
_WINDOW = 22


def nearest(x: np.ndarray, digits: int = DIGITS) -> np.ndarray:
    """Rounds float64 to ``digits`` significant bits, ties to even; overflow to infinity, underflow
    to zero."""
    x = np.ascontiguousarray(x, np.float64)
    cut = _ALL - digits
    pattern = x.view(np.int64)
    pattern = pattern + ((1 << cut - 1) - 1) + (pattern >> cut & 1) & -(1 << cut)
    return _ranged(np.where(np.isfinite(x), pattern.view(np.float64), x))


def _ranged(x):
    size = np.abs(x)
    x = np.where(size >= _LARGEST, np.copysign(np.inf, x), x)
    return np.where(size < _SMALLEST, np.copysign(0.0, x), x)


def to_element(x: float | np.ndarray) -> np.ndarray:
    """Rounds real numbers to float32 and then to elements, as DMA does; float32 subnormals become
    zero."""
    with np.errstate(over="ignore"):
        single = np.asarray(x, np.float32).astype(np.float64)
    return nearest(np.where(np.abs(single) < _SMALLEST, np.copysign(0.0, single), single))


def from_bf16(x: np.ndarray) -> np.ndarray:
    """Rounds real numbers to bfloat16, as float64."""
    return nearest(to_element(x), 8)


def bits(x: np.ndarray) -> np.ndarray:
    """18-bit patterns of elements; every NaN is the canonical one."""
    single = np.asarray(x, np.float64).astype(np.float32).view(np.uint32).astype(np.int64)
    return np.where(np.isnan(x), 0x1FF00, single >> 14)


# Sums of products


def _exponents(x):
    """Exponents of float64 numbers; a zero gets one far smaller than all others."""
    return (x.view(np.int64) >> _MANTISSA & 0x7FF) - 1023


def accumulate(
    acc: np.ndarray | None, a: np.ndarray, b: np.ndarray, digits: int = DIGITS
) -> np.ndarray:
    """``acc`` and the sum over the last axis of ``a * b``, rounded once (section 4.1).

    Parameters
    ----------
    acc : float64 array of the result's shape, or ``None``: no addend
    a, b : arrays that broadcast against each other, last axis 1 to 4
    digits : of ``acc`` and the result
    """
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        total = a[..., 0] * b[..., 0]
        for k in range(1, max(a.shape[-1], b.shape[-1])):
            total = total + a[..., k] * b[..., k]
        if acc is not None:
            total = total + acc
    total = np.ascontiguousarray(total)
    ea, eb = (
        _exponents(np.ascontiguousarray(a)).max(-1),
        _exponents(np.ascontiguousarray(b)).max(-1),
    )
    top = ea + eb
    if acc is not None:
        acc = np.broadcast_to(np.asarray(acc, np.float64), total.shape)
        top = np.maximum(top, _exponents(np.ascontiguousarray(acc)))
    cut = _ALL - digits
    pattern = total.view(np.int64)
    # How far it may be off in units of its last place, and how far it is from a tie.
    slack = np.left_shift(
        np.int64(5), np.clip(top - _exponents(total) + (_MANTISSA - _WINDOW), 0, _ALL)
    )
    near = np.abs((pattern & (1 << cut) - 1) - (1 << cut - 1)) <= slack
    rounded = (pattern + ((1 << cut - 1) - 1) + (pattern >> cut & 1) & -(1 << cut)).view(np.float64)
    finite = np.isfinite(total)
    result = np.where(finite, rounded, total)
    near &= finite
    if near.any():
        at = np.nonzero(near)
        shape = (*total.shape, max(a.shape[-1], b.shape[-1]))
        result[at] = _window(
            None if acc is None else acc[at],
            np.broadcast_to(a, shape)[at],
            np.broadcast_to(b, shape)[at],
            total[at],
            digits,
        )
    return _ranged(result)


def _window(acc, a, b, total, digits):
    """Sums finite terms one by one in the core's 24-bit accumulator window."""
    products, exponents = a * b, _exponents(a.copy()) + _exponents(b.copy())
    if acc is not None:
        products = np.concatenate([products, acc[..., None]], -1)
        exponents = np.concatenate([exponents, _exponents(acc.copy())[..., None]], -1)
    there = products != 0
    top = np.where(there, exponents, -5000).max(-1)
    top = np.where(there.any(-1), top, 0)
    scaled = np.ldexp(np.abs(products), _WINDOW - top[..., None])
    whole = np.floor(scaled)
    whole = whole.astype(np.int64) | (whole != scaled)
    found = np.where(products < 0, -whole, whole).sum(-1)
    exact = nearest_unlimited(np.ldexp(found.astype(np.float64), top - _WINDOW), digits)
    # A sum of zeros has the sign that IEEE gives it; one that cancels is +0.
    return np.where(there.any(-1), exact, total)


def nearest_unlimited(x: np.ndarray, digits: int) -> np.ndarray:
    """Rounds like :func:`nearest`, but with an unlimited exponent."""
    cut = _ALL - digits
    pattern = np.ascontiguousarray(x).view(np.int64)
    return (pattern + ((1 << cut - 1) - 1) + (pattern >> cut & 1) & -(1 << cut)).view(np.float64)


# Element by element


def add(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Sum of two elements, rounded to an element."""
    with np.errstate(invalid="ignore"):
        return nearest(np.add(x, y))


def subtract(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Difference of two elements, rounded to an element."""
    with np.errstate(invalid="ignore"):
        return nearest(np.subtract(x, y))


def multiply(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Product of two elements, rounded to an element."""
    with np.errstate(invalid="ignore"):
        return nearest(np.multiply(x, y))


def divide(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Correctly rounded quotient: quotients of ten-bit significands are never so near a tie that
    float64 rounds wrongly."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return nearest(np.divide(x, y))


def relu(x: np.ndarray) -> np.ndarray:
    """Rectified linear unit: the number if it is positive, else +0; NaN stays."""
    return np.where(np.isnan(x) | (np.asarray(x) > 0), x, 0.0)


def gtz(x: np.ndarray) -> np.ndarray:
    """Greater-than-zero indicator: 1 if the number is positive, else +0."""
    return np.where(np.asarray(x) > 0, 1.0, 0.0)


def exp(x: np.ndarray) -> np.ndarray:
    """Correctly rounded exponential: no element's exponential is so near a tie that float64 rounds
    wrongly."""
    with np.errstate(over="ignore", invalid="ignore"):
        return nearest(np.exp(x))


def log2(x: np.ndarray) -> np.ndarray:
    """Correctly rounded base-2 logarithm; minus infinity for zero, NaN for negative numbers."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return nearest(np.log2(x))


def maximum(x: np.ndarray, axis: int) -> np.ndarray:
    """IEEE maximum along an axis: NaN wins, +0 is greater than -0."""
    x = np.asarray(x)
    largest = x.max(axis)
    return np.where(
        largest == 0, np.where(((x == 0) & ~np.signbit(x)).any(axis), 0.0, -0.0), largest
    )


def power(x: np.ndarray, y: float) -> np.ndarray:
    """Power |x|^y by the specification's integer algorithm (section 4.4), for finite x > 0 and
    finite y; special values of x behave as in C.

    ``y`` is one number: 0.5 and -0.5 are what the decompositions need.
    """
    x = np.asarray(x, np.float64)
    result = np.full(x.shape, np.nan)
    usual = np.isfinite(x) & (x > 0) & (x != 1)
    result[usual] = _finite_power(x[usual], float(y))
    result[x == 1] = 1
    result[x == 0] = np.inf if y < 0 else 0
    result[x == np.inf] = 0 if y < 0 else np.inf
    result[x == -np.inf] = 0 if y < 0 else np.inf
    return result


def _finite_power(x, y):
    fraction, exponent = np.frexp(x)
    table = np.array(
        [round(float(v)) for v in np.log2(1 + np.arange(512, dtype=np.longdouble) / 512) * 2**32],
        np.int64,
    )
    v = (exponent.astype(np.int64) - 1 << 32) + table[(fraction * 1024).astype(np.int64) - 512]
    # |log2 x| to 20 bits, nearest even: q * 2^d.
    q, d = np.frexp(nearest_unlimited(np.abs(v).astype(np.float64), 20))
    q, d = (q * 2**20).astype(np.int64), d.astype(np.int64) - 20
    fy, ey = np.frexp(abs(y))
    product, shift = q * int(fy * 1024), 32 - d - (int(ey) - 1) + 9 - 24
    right = np.clip(shift, 1, 62)
    t = np.where(
        shift > 0,
        (product >> right) + (product >> right - 1 & 1),
        product << np.clip(-shift, 0, 12),
    )
    over = (shift < -12) | (t >= 1 << 32)
    negative = (v < 0) ^ (y < 0)
    return np.where(over, np.where(negative, 0.0, np.inf), _two_to(np.where(negative, -t, t)))


def _two_to(t):
    """Power of two 2^(t * 2^-24), by the specification's table and series."""
    low, index = t & 0x7FFF, t >> 15 & 0x1FF
    table = np.array(
        [round(float(v)) for v in np.exp2(np.arange(512, dtype=np.longdouble) / 512) * 2**26],
        np.int64,
    )[index]
    c = low * 0xB172 >> 16
    c = c + (c * c >> 25)
    return nearest(np.ldexp(((table << 24) + table * c).astype(np.float64), (t >> 24) - 50))


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
