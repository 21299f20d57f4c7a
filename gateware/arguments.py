# SPDX-License-Identifier: BSD-2-Clause
"""Argument checks that engines, units and memories share, with one message for each rule. Pure
Python."""

from collections.abc import Sequence
from typing import Any

__all__ = [
    "FAMILIES",
    "check_beat_bytes",
    "check_choice",
    "check_family",
    "check_integer",
    "check_kind",
    "check_memory_size",
    "is_integer",
]

#: FPGA families whose primitives there are; ``None`` asks for the behavioural models.
FAMILIES = (None, "ecp5", "ice40")


def is_integer(value: object) -> bool:
    """Whether ``value`` is an int and not a bool."""
    return isinstance(value, int) and not isinstance(value, bool)


def _text(bound):
    """A bound for a message: powers of two from 2^24 on, and one less, by their exponent."""
    for number, more in ((bound, ""), (bound + 1, " - 1")):
        if number >= 1 << 24 and not number & (number - 1):
            return f"2^{number.bit_length() - 1}{more}"
    return str(bound)


def check_integer(
    name: str,
    value: Any,
    low: int,
    high: int | None = None,
    *,
    power_of_two: bool = False,
    multiple_of: int = 1,
    unit: str = "",
) -> None:
    """Raises ``ValueError``, with ``name`` in the message, unless ``value`` is an integer from
    ``low`` to ``high`` (``None``: no upper bound), and a power of two or a multiple of a number if
    that is required. ``unit``: what it counts, for the message."""
    if (
        is_integer(value)
        and value >= low
        and (high is None or value <= high)
        and not (power_of_two and value & (value - 1))
        and value % multiple_of == 0
    ):
        return
    kind = "a power of two" if power_of_two else "an integer"
    if multiple_of > 1:
        kind = f"a multiple of {multiple_of}"
    after = f" {unit}" if unit else ""
    if high is not None:
        expected = f"{kind} from {_text(low)} to {_text(high)}{after}"
    elif low < 2 and kind == "an integer":
        number = f"number of {unit}" if unit else "integer"
        expected = f"a positive {number}" if low else f"a non-negative {number}"
    else:
        expected = f"{kind} of at least {low}{after}"
    raise ValueError(f"{name} must be {expected}, not {value!r}")


def check_choice(name: str, value: Any, choices: Sequence[Any], unit: str = "") -> None:
    """Raises ``ValueError``, with ``name`` in the message, unless ``value`` is one of
    ``choices``."""
    if value not in choices or isinstance(value, bool):
        *some, last = map(str, choices)
        listed = f"{', '.join(some)} or {last}" if some else last
        raise ValueError(f"{name} must be {listed}{' ' + unit if unit else ''}, not {value!r}")


def check_family(family: object) -> None:
    """Raises ``ValueError`` for an FPGA family that the primitives do not support."""
    if family not in FAMILIES:
        raise ValueError(f"Family must be one of None, 'ecp5', 'ice40', not {family!r}")


def check_kind(kind: object, kinds: tuple[str, ...] = ("dsp", "lut")) -> None:
    """Raises ``ValueError`` for a kind of multiplier outside ``kinds``: by default one DSP per
    product (SB_MAC16: for one product of 16 bits or two of 8), or logic."""
    check_choice("Kind of multiplier", kind, kinds)


def check_beat_bytes(beat_bytes: Any, sizes: tuple[int, ...] | None = (1, 2, 4, 8)) -> None:
    """Raises ``ValueError`` for a beat size of the memory outside ``sizes`` (``None``: any)."""
    if sizes is None:
        check_integer("Beat size", beat_bytes, 1, unit="bytes")
    else:
        check_choice("Beat size", beat_bytes, sizes, "bytes")


def check_memory_size(memory_size: Any) -> None:
    """Raises ``ValueError`` for a main memory whose size is not a multiple of the window step (64
    bytes), or exceeds the address range."""
    if not is_integer(memory_size) or not 64 <= memory_size <= 1 << 32 or memory_size % 64:
        raise ValueError(
            f"Memory size must be a positive multiple of 64 up to 2^32, not {memory_size!r}"
        )
