# SPDX-License-Identifier: BSD-2-Clause
"""Translator of Einsum, as sums, products of matrices and products by element of two operands at a
time."""

from __future__ import annotations

import string
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import prod

from ..errors import Refused
from ..step import OPERATORS, Constant, Step, View, operator
from .chain import Chain


@dataclass(frozen=True)
class _Term:
    """An operand with the letters of its axes."""

    value: View | Constant
    letters: tuple[str, ...]

    def length(self, letters: Sequence[str]) -> int:
        """Elements along the axes of some letters."""
        lengths = self.value.lengths
        return prod(lengths[self.letters.index(letter)] for letter in letters)


@operator("Einsum")
def _einsum(step):
    terms, wanted = _terms(step)
    total = terms[0]
    for number, term in enumerate(terms[1:], 1):
        later = {letter for other in terms[number + 1 :] for letter in other.letters}
        last = number == len(terms) - 1
        total = _multiplied(step, total, term, {*wanted, *later}, "" if last else f"part_{number}")
    total = _summed(step, total, wanted, "" if len(terms) == 1 else "sum")
    return _ordered(step, total, wanted)


def _terms(step):
    """The operands of the node, and the letters of its result."""
    equation = step.attribute("equation", "").replace(" ", "")
    given, arrow, wanted = equation.partition("->")
    given = given.split(",")
    if len(given) != len(step.operands):
        raise Refused(f"equation = {equation!r} of {len(step.operands)} operands")
    # An ellipsis stands for axes that have no letters: they get some that the equation lacks.
    spare = [letter for letter in string.ascii_letters if letter not in equation]
    counts = [
        len(operand.lengths) - len(text.replace("...", ""))
        for operand, text in zip(step.operands, given, strict=True)
    ]
    hidden = spare[: max((n for n, t in zip(counts, given, strict=True) if "..." in t), default=0)]
    if not arrow:
        letters = "".join(given).replace(".", "")
        once = sorted(letter for letter in letters if letters.count(letter) == 1)
        wanted = "..." * bool(hidden) + "".join(once)
    terms = [
        _Term(_value(step, at), _spelt(text, hidden[len(hidden) - count :], equation))
        for at, (text, count) in enumerate(zip(given, counts, strict=True))
    ]
    lengths: dict[str, int] = {}
    for term in terms:
        if len(term.letters) != len(term.value.lengths):
            raise Refused(
                f"equation = {equation!r}: {len(term.letters)} letters for an operand of shape "
                f"{tuple(term.value.lengths)}"
            )
        for letter, length in zip(term.letters, term.value.lengths, strict=True):
            if lengths.setdefault(letter, length) != length:
                raise Refused(
                    f"equation = {equation!r}: an axis of {length} and one of {lengths[letter]} "
                    f"have the same letter: expected equal lengths"
                )
    result = _spelt(wanted, hidden, equation)
    if unknown := [letter for letter in result if letter not in lengths]:
        raise Refused(f"equation = {equation!r}: no operand has the letter {unknown[0]!r}")
    return terms, result


def _value(step, at):
    if isinstance(step.operand(at), Constant):
        return Constant(step.finite("its constant", step.fixed(at, "its constant").data))
    return step.flowing(at)


def _spelt(text, hidden, equation):
    """The letters of a term, ``hidden`` in place of an ellipsis."""
    front, ellipsis, back = text.partition("...")
    letters = (*front, *(hidden if ellipsis else ()), *back)
    if not all(letter.isalpha() for letter in letters):
        raise Refused(f"equation = {equation!r}: expected letters, commas, '...' and '->'")
    if len(set(letters)) < len(letters):
        raise Refused(f"equation = {equation!r}: expected each letter once in {text!r}")
    return letters


def _summed(step: Step, term: _Term, kept: Collection[str], part: str) -> _Term:
    """Sums an operand over the axes whose letters are not ``kept``."""
    axes = [at for at, letter in enumerate(term.letters) if letter not in kept]
    if not axes:
        return term
    letters = tuple(letter for letter in term.letters if letter in kept)
    if isinstance(term.value, Constant):
        return _Term(Constant(term.value.data.sum(axis=tuple(axes))), letters)
    view = Chain(step).reduce(part, term.value, "sum", axes)
    return _Term(step.draft.seen(view, [term.length([letter]) for letter in letters]), letters)


def _ordered(step: Step, term: _Term, letters: Sequence[str]) -> View | Constant:
    """The value of an operand with axes in the order of ``letters``; one long where it has none."""
    own = [letter for letter in letters if letter in term.letters]
    order = [term.letters.index(letter) for letter in own]
    lengths = [term.length([letter]) if letter in own else 1 for letter in letters]
    return _shaped(step, _permuted(term.value, order), lengths)


def _permuted(value, order):
    if isinstance(value, Constant):
        return Constant(value.data.transpose(order))
    return value.permuted(order)


def _shaped(step, value, lengths):
    if isinstance(value, Constant):
        return Constant(value.data.reshape(lengths))
    return step.draft.seen(value, lengths)


def _multiplied(step: Step, first: _Term, second: _Term, kept: Collection[str], part: str) -> _Term:
    """The product of two operands, summed over the letters that both have and that are not
    ``kept``."""
    first = _summed(step, first, {*kept, *second.letters}, f"{part or 'first'}_sum")
    second = _summed(step, second, {*kept, *first.letters}, f"{part or 'second'}_sum")
    if isinstance(first.value, Constant):
        first, second = second, first
    common = [letter for letter in first.letters if letter in second.letters]
    batch = [letter for letter in common if letter in kept]
    inner = [letter for letter in common if letter not in kept]
    rows = [letter for letter in first.letters if letter not in common]
    columns = [letter for letter in second.letters if letter not in common]
    letters = (*batch, *rows, *columns)
    if not inner or isinstance(first.value, Constant):
        left, right = (_ordered(step, one, (*letters, *inner)) for one in (first, second))
        product: View | Constant
        if isinstance(left, Constant) and isinstance(right, Constant):
            product = Constant(left.data * right.data)
        else:
            product = Chain(step).of_two(part, "mul", left, right)
        return _summed(step, _Term(product, (*letters, *inner)), letters, f"{part or 'all'}_sum")
    many = [first.length(batch)] if first.length(batch) > 1 else []
    factors = []
    for term, order in ((first, (rows, inner)), (second, (inner, columns))):
        value = _ordered(step, term, [*batch, *order[0], *order[1]])
        factors.append(_shaped(step, value, [*many, *map(term.length, order)]))
    matrices = OPERATORS["MatMul"](step.rewritten("MatMul", factors))
    assert isinstance(matrices, View)
    lengths = [
        (first if letter in first.letters else second).length([letter]) for letter in letters
    ]
    return _Term(step.draft.seen(matrices, lengths), letters)
