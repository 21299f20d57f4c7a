# SPDX-License-Identifier: BSD-2-Clause
"""Saturation to any width, and how results become bytes (specification, section 2: element format)."""
from amaranth import Cat, Mux, Signal

__all__ = ["above", "byte_sources", "pick", "saturate"]


def above(biw, bits):
    """Bits that the value of a saturated number of ``biw`` bits leaves to its sign: ``biw - 1`` and above, of ``bits``."""
    return Cat(biw <= b + 1 for b in range(bits))


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
