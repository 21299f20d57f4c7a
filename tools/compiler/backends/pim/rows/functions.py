# SPDX-License-Identifier: BSD-2-Clause
"""Functions of whole rows and of single elements that PIM computes with its vector unit: softmax,
layer normalisation, exp, square root and division.

A power of two is a polynomial of the fraction, shifted by the integer part. Reciprocals and inverse
square roots take Newton's steps from a straight line; shifts by element bring their operand to a
range of one octave, or two.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import frexp, log2, prod, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph import Activation, Binary, Graph, LayerNorm, Node, Softmax
from ....quantised import Scale
from ...base import DECOMPOSED, HOST, Support
from ..maps import clip_bounds, share
from .vectors import Recipe, RowProgram, Value

if TYPE_CHECKING:
    from ....quantised import Quantised
    from ..program import ProgramWriter

__all__ = ["emit_function", "is_function", "run_function", "support_of_function"]

#: Functions of an element that are recipes.
_ELEMENTWISE = ("exp", "sqrt")
#: Fraction bits of an exponent, and of the polynomial.
_FRACTION, _MANTISSA = 14, 16
#: Coefficients of 2^f for f from 0 to 1, times 2^16, that of the highest power first; the relative
#: error is 4e-6 before rounding.
_POWER = (897, 3389, 15835, 45414, 65536)
#: Straight lines 1/w from 1 to 2 and 1/sqrt(w) from 1 to 4, as multiples of 2^-15; relative errors
#: 0.06 and 0.09.
_RECIPROCAL = (round(24 / 17 * 32768), round(16 / 17 * 32768))
_ROOT = (round(1.06 * 32768), round(0.15 * 32768))
#: Steps of Newton's that bring these to 15 places.
_RECIPROCAL_STEPS, _ROOT_STEPS = 2, 3
_TOP = 1 << 31
#: Elements of a row, of which a sum of powers up to 2^16, and of 16-bit numbers less their mean
#: times as many, needs no more than 32 bits.
_MOST_ROW = (1 << 15) - 1


def _factor(value: float) -> tuple[int, int]:
    """``value`` as (M, e) with M from 2^14 to 2^15 and value = M * 2^e, M of the value's sign."""
    fraction, exponent = frexp(value)
    found = round(fraction * 32768)
    return found, exponent - 15


# Parts of recipes


def _exponent(scale: Scale) -> tuple[int, int]:
    """Multiplier and right shift that make exponents of two with :data:`_FRACTION` places of
    numbers of this scale."""
    wanted = scale.step / np.log(2) * (1 << _FRACTION)
    places = int(np.clip(np.floor(log2(32767 / wanted)), 0, 30))
    return min(round(wanted * 2.0**places), _TOP - 1), places


def _power_of_two(r: Recipe, exponent: Value) -> tuple[Value, Value]:
    """2^exponent as (number from 2^16 to 2^17, power of two that it is to be multiplied with,
    beside 2^-16)."""
    whole = r.right(exponent, _FRACTION)
    fraction = r.sub(exponent, r.left(whole, _FRACTION))
    total = r.add(r.right(r.mul(fraction, _POWER[0]), _FRACTION), _POWER[1])
    for coefficient in _POWER[2:]:
        total = r.add(r.right(r.mul(fraction, total), _FRACTION), coefficient)
    return total, whole


def _normalised(r: Recipe, value: Value, steps: Sequence[int]) -> tuple[Value, Value]:
    """A positive value, shifted left by the places that ``steps`` add up to as long as it stays
    below 2^31: (value, places)."""
    places: Value | None = None
    for step in steps:
        fits = r.at_most(r.at_least(r.sub(_TOP >> step, value), 0), 1)
        by = r.left(fits, step.bit_length() - 1)
        value = r.left(value, by)
        places = by if places is None else r.add(places, by)
    assert places is not None
    return value, places


def _reciprocal(r: Recipe, w: Value) -> Value:
    """1/w as multiples of 2^-15, for w from 1 to 2 as multiples of 2^-14."""
    found = r.sub(_RECIPROCAL[0], r.right(r.mul(w, _RECIPROCAL[1]), 15))
    for _ in range(_RECIPROCAL_STEPS):
        rest = r.sub(1 << 16, r.right(r.mul(w, found), 14))
        found = r.right(r.mul(found, rest), 15)
    return found


def _inverse_root(r: Recipe, w: Value) -> Value:
    """1/sqrt(w) as multiples of 2^-15, for w from 1 to 4 as multiples of 2^-13."""
    found = r.sub(_ROOT[0], r.right(r.mul(w, _ROOT[1]), 13))
    for _ in range(_ROOT_STEPS):
        square = r.right(r.mul(found, found), 15)
        rest = r.sub(3 << 14, r.right(r.mul(w, square), 14))
        found = r.right(r.mul(found, rest), 15)
    return found


# Recipes


def _softmax(source: Scale, result: Scale) -> Recipe:
    r = Recipe()
    (x,) = r.sources
    multiplier, places = _exponent(source)
    below = r.sub(r.spread(r.largest(x)), x)
    exponent = r.right(r.mul(below, -multiplier), places)
    mantissa, whole = _power_of_two(r, exponent)
    power = r.right(mantissa, r.sub(0, whole))
    total, by = _normalised(r, r.total(power), (8, 4, 2, 1))
    factor, extra = _factor(1 / result.step)
    inverse = r.right(r.mul(_reciprocal(r, r.right(total, 16)), factor), 15)
    product = r.mul(power, r.spread(inverse))
    less_one = r.at_least(r.sub(29 - extra, by), 0)
    r.result = r.rounded(product, r.spread(less_one))
    return r


def _layer_norm(node: LayerNorm, length: int, source: Scale, result: Scale) -> Recipe:
    r = Recipe()
    (x,) = r.sources
    grown = (length - 1).bit_length()
    centred = r.sub(r.mul(x, length), r.spread(r.total(x)))
    size = r.at_least(r.largest(r.largest_of(centred, r.sub(0, centred))), 1)
    # The epsilon in squares of the centred numbers, which gain 2 bits for each place of the shift:
    # no row is shifted so far left that it exceeds 30 bits.
    epsilon = length**2 * max(node.epsilon, 1e-30) / source.step**2 * length / 2.0**grown
    most = int(np.clip(np.floor(16 + (30 - log2(epsilon)) / 2), 0, 31))
    epsilon = min(round(epsilon * 2.0 ** (2 * most - 32)), _TOP // 2)
    by = r.at_most(_normalised(r, size, (16, 8, 4, 2, 1))[1], most)
    up, down = r.at_least(r.sub(by, 16), 0), r.at_least(r.sub(16, by), 0)
    centred = r.right(r.left(centred, r.spread(up)), r.spread(down))
    power = r.total(r.right(r.mul(centred, centred), grown))
    power = r.at_least(r.add(power, r.right(epsilon, r.left(r.sub(most, by), 1))), 1)
    power, twice = _normalised(r, power, (16, 8, 4, 2))
    inverse = _inverse_root(r, r.right(power, 16))
    # Normalised numbers are at most the root of their number.
    places = 16 - (grown + 1) // 2
    less_one = r.at_least(r.sub(28 - places, r.right(twice, 1)), 0)
    product = r.mul(centred, r.spread(inverse))
    normal = r.rounded(product, r.spread(less_one))
    factor = np.asarray(node.scale, np.float64) * sqrt(length / 2.0**grown / 2)
    factor = np.broadcast_to(factor / 2.0**places / result.step, (length,))
    shift = np.broadcast_to(np.asarray(node.shift, np.float64) / result.step, (length,))
    most = min(4095 / max(np.abs(factor).max(), 1e-30), _TOP / 4 / max(np.abs(shift).max(), 1e-30))
    behind = int(np.clip(np.floor(log2(most)), 1, 29))
    factors, shifts = (
        r.by_position(np.clip(np.rint(numbers * 2.0**behind), -_TOP // 4, _TOP // 4))
        for numbers in (factor, shift + 0.5)
    )
    r.result = r.right(r.add(r.mul(normal, factors), shifts), behind)
    return r


def _exp(source: Scale, result: Scale) -> Recipe:
    r = Recipe()
    multiplier, places = _exponent(source)
    # The exponent of the result in multiples of its scale, of which no more is needed than
    # saturates, and no less than rounds to zero.
    scale = round(np.clip(-log2(result.step), -1000, 1000) * (1 << _FRACTION))
    exponent = r.add(r.right(r.mul(r.sources[0], multiplier), places), scale)
    exponent = r.at_most(r.at_least(exponent, -2 << _FRACTION), (16 << _FRACTION) - 1)
    mantissa, whole = _power_of_two(r, exponent)
    r.result = r.rounded(mantissa, r.sub(_MANTISSA - 1, whole))
    return r


def _sqrt(source: Scale, result: Scale) -> Recipe:
    r = Recipe()
    (x,) = r.sources
    value, twice = _normalised(r, r.at_least(x, 1), (16, 8, 4, 2))
    w = r.right(value, 16)
    root = r.right(r.mul(w, _inverse_root(r, w)), 14)
    # Of zero, and of negative numbers, zero.
    root = r.mul(root, r.at_least(r.at_most(x, 1), 0))
    factor, places = _factor(sqrt(2 * source.step) / result.step)
    less_one = r.at_least(r.sub(r.right(twice, 1), places + 1), 0)
    r.result = r.rounded(r.mul(root, factor), less_one)
    return r


def _division(sources: Sequence[Scale | float], result: Scale) -> Recipe:
    """Quotient of two tensors, or of a number and a tensor. Zero as a divisor counts as the least
    positive number."""
    r = Recipe(sum(isinstance(one, Scale) for one in sources))
    divisor, (above, below) = r.sources[-1], sources
    assert isinstance(below, Scale)
    size = r.at_least(r.largest_of(divisor, r.sub(0, divisor)), 1)
    sign = r.at_most(r.at_least(divisor, -1), 0)
    sign = r.add(r.add(sign, sign), 1)
    value, by = _normalised(r, size, (16, 8, 4, 2, 1))
    inverse = _reciprocal(r, r.right(value, 16))
    if isinstance(above, Scale):
        factor, places = _factor(above.step / below.step / result.step)
        dividend = r.mul(r.sources[0], sign)
    else:
        # A dividend of some bits, so that the quotient is as precise as of a tensor.
        factor, places = _factor(above / below.step / result.step / 2**14)
        dividend = r.left(sign, 14)
    quotient = r.mul(dividend, r.right(r.mul(inverse, factor), 15))
    less_one = r.sub(29 - places, by)
    # What would be shifted left is so large that few places saturate it.
    up = r.left(1, r.at_most(r.at_least(r.sub(0, less_one), 0), 16))
    r.result = r.rounded(r.mul(quotient, up), r.at_least(less_one, 0))
    return r


# Nodes


def is_function(node: Node) -> bool:
    """Whether a node may be one that a recipe computes."""
    return (
        isinstance(node, Softmax | LayerNorm)
        or isinstance(node, Activation)
        and node.function in _ELEMENTWISE
        or isinstance(node, Binary)
        and node.function == "div"
    )


def _length(graph, node):
    """Elements that a recipe takes together."""
    return graph.shape(node.output)[-1] if isinstance(node, Softmax | LayerNorm) else 1


def _flowing(graph, node):
    return [name for name in node.inputs if graph.tensors[name].data is None]


def _recipe(graph: Graph, node: Node, scales: Mapping[str, Scale]) -> Recipe:
    """The recipe of a node; ``scales``: of its tensors."""
    result = scales[node.output]
    if isinstance(node, Binary):
        recipe = _division(
            [
                scales[name] if graph.tensors[name].data is None else _number(graph, name)
                for name in node.inputs
            ],
            result,
        )
    else:
        source = scales[node.inputs[0]]
        if isinstance(node, LayerNorm):
            recipe = _layer_norm(node, _length(graph, node), source, result)
        elif isinstance(node, Softmax):
            recipe = _softmax(source, result)
        else:
            assert isinstance(node, Activation)
            recipe = (_exp if node.function == "exp" else _sqrt)(source, result)
    activation = getattr(node, "activation", None)
    if activation is not None:
        low, high = (0, None) if activation.function == "relu" else clip_bounds(activation, result)
        assert recipe.result is not None
        if low is not None:
            recipe.result = recipe.at_least(recipe.result, low)
        if high is not None:
            recipe.result = recipe.at_most(recipe.result, high)
    return recipe


def _number(graph, name):
    return float(np.ravel(graph.tensors[name].data)[0])


def support_of_function(graph: Graph, node: Node, params: Mapping[str, Any]) -> Support:
    """Support check of a node that a recipe computes."""
    reason = None
    if params["max_biw"] < 32:
        reason = f"max_biw = 32, this build has {params['max_biw']}"
    elif isinstance(node, Softmax):
        axes = len(graph.shape(node.output))
        if node.log:
            reason = "softmax without a logarithm, found log_softmax"
        elif node.axis % axes != axes - 1:
            reason = f"the last axis, found {node.axis % axes} of {axes}"
    elif isinstance(node, Binary):
        reason = _against_division(graph, node)
    if reason is None and _length(graph, node) > _MOST_ROW:
        reason = f"rows of at most {_MOST_ROW:,} elements, found {_length(graph, node):,}"
    if reason is not None:
        return Support(HOST, f"{node.kind}: expected {reason}")
    return Support(DECOMPOSED, "vector instructions")


def _against_division(graph, node):
    flowing = _flowing(graph, node)
    if node.inputs[1] not in flowing:
        return "a divisor that flows, found a constant"
    shapes = [list(graph.shape(name)) for name in flowing]
    if any(shape != list(graph.shape(node.output)) for shape in shapes):
        return f"operands of one shape, found {' and '.join(map(str, shapes))}"
    if len(flowing) == 1 and graph.tensors[node.inputs[0]].size != 1:
        return "one number as a constant dividend, found several"
    return None if len(flowing) == 2 or _number(graph, node.inputs[0]) else "a dividend, found 0"


def run_function(quantised: Quantised, node: Node, sources: Sequence[np.ndarray]) -> np.ndarray:
    """Integer reference, int64 [inputs, ...]."""
    recipe = _recipe(quantised.graph, node, quantised.scales)
    bits = quantised.scales[node.output].bits
    if _length(quantised.graph, node) > 1:
        return recipe.run(sources, bits)
    return recipe.run([x[..., None] for x in sources], bits)[..., 0]


def emit_function(writer: ProgramWriter, node: Node) -> None:
    """Emits the node, with its rows distributed over the cores."""
    graph, length = writer.graph, _length(writer.graph, node)
    recipe = _recipe(graph, node, writer.q.scales)
    names = _flowing(graph, node)
    size, out_size = writer.size(names[0]), writer.size(node.output)
    rows = prod(graph.shape(node.output)) // length
    for core, pointer, (first, end) in zip(
        writer.cores, writer.pointers, share(rows, len(writer.cores)), strict=True
    ):
        if first == end:
            continue
        program = RowProgram(
            core,
            recipe,
            length=length,
            rows=end - first,
            size=size,
            out_size=out_size,
            what=node.name,
        )
        for begin in range(first, end, program.most):
            some = begin, min(begin + program.most, end)

            def load(number, to, at, count, core=core, pointer=pointer, some=some):
                for place, element, n in _runs(some, length, at, count):
                    source = writer.places[names[number]] + element * size
                    core.load(to + place * size, pointer, n * size, source)

            def store(result, at, count, core=core, pointer=pointer, some=some):
                for place, element, n in _runs(some, length, at, count):
                    target = writer.places[node.output] + element * out_size
                    core.store(pointer, result + place * out_size, n * out_size, target)

            program.emit(some[1] - begin, load, store)


def _runs(rows, length, first, count):
    """Runs of elements ``first`` to ``first + count - 1`` of each of the rows (first, end), in the
    order of local memory: (element there, element of the tensor, number of elements)."""
    begin, end = rows
    if count == length:
        yield 0, begin * length, (end - begin) * length
        return
    for k, row in enumerate(range(begin, end)):
        yield k * count, row * length + first, count
