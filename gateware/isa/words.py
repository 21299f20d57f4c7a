# SPDX-License-Identifier: BSD-2-Clause
"""Test words from an ISA's table: random words, extremes of every field, and illegal words. Pure
Python."""

import random
from collections.abc import Collection, Iterator, Mapping
from typing import TypeAlias

from .parameters import Params
from .table import Decoded, Instruction, Isa, TableError, built

__all__ = ["extreme_words", "illegal_words", "random_values", "random_word"]

#: By field name, the values to choose from.
Limits: TypeAlias = Mapping[str, range | tuple[int, ...]]

_TRIES = 2000


def _candidates(isa, params, mnemonics):
    found = [
        i
        for i in isa.instructions
        if built(params, i.only_if) and (mnemonics is None or i.mnemonic in mnemonics)
    ]
    if not found:
        raise TableError(f"{isa.name} has none of the instructions {', '.join(mnemonics)}")
    return found


def random_values(
    instruction: Instruction, rng: random.Random, limits: Limits | None = None
) -> dict[str, int]:
    """Random values for the fields of ``instruction``: often extremes, and more often small than
    large numbers.

    Parameters
    ----------
    rng : random.Random
    limits : dict of str to range or tuple, optional
        By field name, what to choose from instead of all that the assembler accepts.
    """
    values = {}
    for f in instruction.fields:
        choice = (limits or {}).get(f.name, f.written)
        if rng.random() < 0.2:
            values[f.name] = rng.choice((choice[0], choice[-1]))
        else:
            # Uniform in the number of bits, so that several small addresses meet in one program.
            size = _size(choice)
            values[f.name] = choice[rng.randrange(min(size, 2 << rng.randrange(size.bit_length())))]
    return values


def _size(choice):
    # len() refuses ranges of 2**63 and more
    return (
        (choice.stop - choice.start + choice.step - 1) // choice.step
        if isinstance(choice, range)
        else len(choice)
    )


def random_word(
    isa: Isa,
    rng: random.Random,
    legal: bool = True,
    params: Params | None = None,
    mnemonics: Collection[str] | None = None,
    limits: Limits | None = None,
) -> int:
    """One random word: legal (without a fault by its bits and ``params``) or illegal.

    Parameters
    ----------
    isa : Isa
    rng : random.Random
    legal : bool
    params : dict, optional
        Build parameters that legality is judged with.
    mnemonics : collection of str, optional
        Instructions to choose from (the origin of an illegal word, too).
    limits : as in :func:`random_values`

    Raises
    ------
    TableError
        No such instruction, or no word found (``limits`` and ``params`` contradict each other).
    """
    candidates = _candidates(isa, params, mnemonics)
    for _ in range(_TRIES):
        instruction = rng.choice(candidates)
        word = isa.pack(instruction, random_values(instruction, rng, limits))
        if not legal:
            word = _damage(isa, word, rng)
        if (isa.decode(word, params).fault is None) == legal:
            return word
    raise TableError(
        f"{isa.name}: no {'legal' if legal else 'illegal'} word found in {_TRIES} tries"
    )


def _damage(isa, word, rng):
    kind = rng.randrange(3)
    if kind == 0:
        return rng.getrandbits(isa.bits)
    if kind == 1:
        part = isa.opcode_part
        return (
            word & ~(((1 << part.width) - 1) << part.lo) | rng.randrange(1 << part.width) << part.lo
        )
    return word ^ 1 << rng.randrange(isa.bits)


def extreme_words(
    isa: Isa, instruction: Instruction | str, params: Params | None = None
) -> Iterator[int]:
    """Legal words of ``instruction`` (an :class:`Instruction` or a mnemonic) with extreme values,
    without duplicates.

    All fields lowest, all highest, each field at each end while the others are lowest; where that
    is illegal (because of a rule on several fields, or of ``params``), while the others have values
    that make it legal, if any are found.
    """
    if not isinstance(instruction, Instruction):
        instruction = _candidates(isa, params, (instruction,))[0]
    ends = {f.name: (f.written[0], f.written[-1]) for f in instruction.fields}
    low = {name: pair[0] for name, pair in ends.items()}
    high = {name: pair[1] for name, pair in ends.items()}
    rng = random.Random(0)
    seen = set()
    for wanted in [low, high, *({name: end} for name, pair in ends.items() for end in pair)]:
        for attempt in range(200):
            others = low if attempt == 0 else random_values(instruction, rng)
            word = isa.pack(instruction, {**others, **wanted})
            if isa.decode(word, params).fault is None:
                if word not in seen:
                    seen.add(word)
                    yield word
                break
            if len(wanted) == len(ends):
                break


def illegal_words(isa: Isa, params: Params | None = None) -> Iterator[tuple[int, Decoded]]:
    """Illegal words for testing decoders: pairs (word, :class:`~.table.Decoded`).

    Every undefined opcode, every bit that must be zero set alone, the lowest and highest illegal
    bits of every field.
    """
    part = isa.opcode_part
    for opcode in range(1 << part.width):
        decoded = isa.decode(opcode << part.lo, params)
        if decoded.instruction is None:
            yield opcode << part.lo, decoded
    for instruction in _candidates(isa, params, None):
        base = next(extreme_words(isa, instruction, params), None)
        if base is None:
            continue
        words = [
            base | 1 << bit for bit in range(isa.bits) if isa.zero_mask(instruction) >> bit & 1
        ]
        for f in instruction.fields:
            # Wide fields are not searched through: their illegal values lie at the ends.
            bits = (
                range(1 << f.width)
                if f.width <= 12
                else (0, 1, (1 << f.width) - 2, (1 << f.width) - 1)
            )
            bad = [b for b in bits if f.extract(b << f.lo) is None]
            words += [base & ~f.mask | b << f.lo for b in ({bad[0], bad[-1]} if bad else ())]
        for word in words:
            decoded = isa.decode(word, params)
            if decoded.fault is not None:
                yield word, decoded
