# SPDX-License-Identifier: BSD-2-Clause
"""Saturation to any width, and packing of results into bytes (specification, section 2: element
format)."""

from collections.abc import Iterable

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.hdl import ValueLike

__all__ = [
    "above",
    "byte_sources",
    "choose_bytes",
    "clamped",
    "gathered",
    "pick",
    "saturate",
    "thermometer",
]


def thermometer(m: Module, value: Value, bits: int, name: str) -> Value:
    """Thermometer decoder: bit ``b`` says whether ``value`` (unsigned, 4 to 6 bits) is greater than
    ``b``. Its logic is shared, since a comparison per bit would take a carry chain each."""
    low, high = value[:3], value[3:]
    lows, over, equal = (
        Signal(8, name=f"{name}_low"),
        Signal(8, name=f"{name}_over"),
        Signal(8, name=f"{name}_equal"),
    )
    most = 1 << len(high)
    m.d.comb += [
        lows.eq(
            Cat(
                Cat(low == j for j in range(k + 1, 8)).any() if k < 7 else Const(0, 1)
                for k in range(8)
            )
        ),
        equal.eq(Cat(high == k for k in range(most))),
        over.eq(
            Cat(
                Cat(high == j for j in range(k + 1, most)).any() if k + 1 < most else Const(0, 1)
                for k in range(most)
            )
        ),
    ]
    return Cat(
        (over[b >> 3] | equal[b >> 3] & lows[b & 7]) if b >> 3 < most else Const(0, 1)
        for b in range(bits)
    )


def above(m: Module, biw: Value, bits: int, name: str) -> Value:
    """Mask of the sign bits of a number saturated to ``biw`` bits: bits ``biw - 1`` and above, of
    ``bits``."""
    return ~(thermometer(m, biw, bits + 1, name)[1:])


def clamped(value: Value, mask: Value, first: Value, second: Value) -> Value:
    """Result of a clamp that two bits decide, a LUT of four inputs for each of its bits.

    ``first`` and not ``second``: the greatest number, the inverse of ``mask`` (see :func:`above`);
    both: the least one, ``mask``; neither: ``value``; ``second`` alone: 0.
    """
    return Cat(Mux(first, ~(mask[b] ^ second), value[b] & ~second) for b in range(len(value)))


def saturate(
    m: Module,
    value: Value,
    mask: Value,
    bits: int,
    name: str,
    *,
    wrap: Value | None = None,
    top: Value | None = None,
) -> Value:
    """Clamps ``value`` (signed) to the width that ``mask`` stands for (see :func:`above`, of the
    value's width); result in ``bits`` bits.

    Where ``wrap`` is true, the value is not clamped but taken modulo 2**width, its sign extended;
    ``top`` has the one bit at ``width - 1``.
    """
    clamp = (mask & value).any() & (mask & ~value).any()
    if wrap is None:
        first, second = Signal(name=f"{name}_first"), Signal(name=f"{name}_second")
        m.d.comb += [first.eq(clamp), second.eq(clamp & value[-1])]
        return clamped(value[:bits], mask, first, second)
    sign, beyond = Signal(name=f"{name}_sign"), Signal(name=f"{name}_beyond")
    m.d.comb += [sign.eq(Mux(wrap, (top & value).any(), value[-1])), beyond.eq(clamp & ~wrap)]
    return Cat(Mux(mask[b], sign, Mux(beyond, ~sign, value[b])) for b in range(bits))


def byte_sources(word_bytes: int, lanes: int, byw: int) -> list[tuple[int, int] | None]:
    """Packing of elements of ``byw`` bytes into a word: ``(lane, byte)`` for each byte of the word,
    ``None`` for an unused one."""
    return [(k // byw, k % byw) if k // byw < lanes else None for k in range(word_bytes)]


def pick(choices: dict[int, ValueLike], select: Value) -> Value:
    """Multiplexer of ``choices`` (a dict number -> value; other numbers are don't-cares) by
    ``select``, as a sum of products."""
    result = 0
    for number, value in choices.items():
        result = result | Mux(select == number, value, 0)
    return result


def gathered(values: Iterable[Value], chosen: Value | list[Value]) -> Value:
    """One-hot multiplexer: the member of ``values`` whose bit of ``chosen`` is set, or 0; as wide
    as the widest, sign-extended.

    Wide selections cost half of what they do by a number where ``chosen`` comes out of registers.
    """
    bits = max(len(value) for value in values)
    result = Const(0, bits)
    for value, one in zip(values, chosen, strict=True):
        wide = Cat(value, *[value[-1]] * (bits - len(value))) if value.shape().signed else value
        result = result | Mux(one, wide, 0)
    return result[:bits]


def choose_bytes(
    choices: dict[int, list[tuple[int, int] | None]], values: list[Value], select: Value
) -> Value:
    """Byte multiplexer for a word with several packings.

    Parameters
    ----------
    choices : dict, number of a way -> list of sources as :func:`byte_sources` gives them;
        bytes where it has none are don't-cares
    values : list of each lane's value
    select : the number
    """
    chosen = []
    for byte in range(len(next(iter(choices.values())))):
        ways: dict[tuple[int, int], list[int]] = {}
        for number, sources in choices.items():
            source = sources[byte]
            if source is not None:
                ways.setdefault(source, []).append(number)
        if not ways:
            chosen.append(Const(0, 8))
            continue
        # The source of most packings is the default.
        first, *others = sorted(ways, key=lambda source: -len(ways[source]))
        result = values[first[0]].word_select(first[1], 8)
        for source in others:
            result = Mux(
                Cat(select == number for number in ways[source]).any(),
                values[source[0]].word_select(source[1], 8),
                result,
            )
        chosen.append(result)
    return Cat(*chosen)
