# SPDX-License-Identifier: BSD-2-Clause
"""Saturation to any width, and how results become bytes (specification, section 2: element format)."""
from amaranth import Cat, Const, Mux, Signal

__all__ = ["above", "byte_sources", "choose_bytes", "pick", "saturate", "thermometer"]


def thermometer(m, value, bits, name):
    """Bit ``b`` says whether ``value`` (unsigned, 4 to 6 bits) is above ``b``. Made of shared parts: a comparison each would take carry chains."""
    low, high = value[:3], value[3:]
    lows, over, equal = Signal(8, name=f"{name}_low"), Signal(8, name=f"{name}_over"), Signal(8, name=f"{name}_equal")
    most = 1 << len(high)
    m.d.comb += [
        lows.eq(Cat(Cat(low == j for j in range(k + 1, 8)).any() if k < 7 else Const(0, 1) for k in range(8))),
        equal.eq(Cat(high == k for k in range(most))),
        over.eq(Cat(Cat(high == j for j in range(k + 1, most)).any() if k + 1 < most else Const(0, 1) for k in range(most))),
    ]
    return Cat((over[b >> 3] | equal[b >> 3] & lows[b & 7]) if b >> 3 < most else Const(0, 1) for b in range(bits))


def above(m, biw, bits, name):
    """Bits that the value of a saturated number of ``biw`` bits leaves to its sign: ``biw - 1`` and above, of ``bits``."""
    return ~(thermometer(m, biw, bits + 1, name)[1:])


def saturate(m, value, mask, bits, name, *, floor=None, wrap=None, top=None):
    """``value`` (signed) clamped to the width that ``mask`` (see :func:`above`, of the value's width) stands for, in ``bits`` bits.

    Where ``floor`` is true, negative values become 0. Where ``wrap`` is, the value is not clamped but taken modulo 2**width, its sign
    extended; ``top`` has the one bit at ``width - 1``.
    """
    sign, beyond = Signal(name=f"{name}_sign"), Signal(name=f"{name}_beyond")
    clamp = ((mask & value).any() & (mask & ~value).any())
    if wrap is None:
        m.d.comb += [sign.eq(value[-1]), beyond.eq(clamp)]
    else:
        m.d.comb += [sign.eq(Mux(wrap, (top & value).any(), value[-1])), beyond.eq(clamp & ~wrap)]
    result = Cat(Mux(mask[b], sign, Mux(beyond, ~sign, value[b])) for b in range(bits))
    if floor is not None:
        result = Mux(floor & sign, 0, result)
    return result


def byte_sources(word_bytes, lanes, byw):
    """For elements of ``byw`` bytes packed into a word: a list of ``(lane, byte)`` for each byte of the word, ``None`` where none is."""
    return [(k // byw, k % byw) if k // byw < lanes else None for k in range(word_bytes)]


def pick(choices, select):
    """One of ``choices`` (a dict number -> value, absent ones do not matter) by ``select``, as a sum of products."""
    result = 0
    for number, value in choices.items():
        result = result | Mux(select == number, value, 0)
    return result


def choose_bytes(choices, values, select):
    """Bytes of a word packed in one of several ways.

    Parameters
    ----------
    choices : dict, number of a way -> list of sources as :func:`byte_sources` gives them; what lies where it has none does not matter
    values : list of each lane's value
    select : the number
    """
    chosen = []
    for byte in range(len(next(iter(choices.values())))):
        ways = {}
        for number, sources in choices.items():
            if sources[byte] is not None:
                ways.setdefault(sources[byte], []).append(number)
        if not ways:
            chosen.append(Const(0, 8))
            continue
        # The source of most ways is what is taken if none of the others is.
        first, *others = sorted(ways, key=lambda source: -len(ways[source]))
        result = values[first[0]].word_select(first[1], 8)
        for source in others:
            result = Mux(Cat(select == number for number in ways[source]).any(), values[source[0]].word_select(source[1], 8), result)
        chosen.append(result)
    return Cat(*chosen)
