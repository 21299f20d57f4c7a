# SPDX-License-Identifier: BSD-2-Clause
"""Argument checks that engines, units and memories share, with one message for each rule. Pure
Python."""

from typing import Any

__all__ = [
    "FAMILIES",
    "check_beat_bytes",
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


def check_integer(
    name: str, value: Any, low: int, high: int | None = None, *, power_of_two: bool = False
) -> None:
    """Raises ``ValueError``, with ``name`` in the message, unless ``value`` is an integer from
    ``low`` to ``high`` (``None``: no upper bound), and a power of two if that is required."""
    if (
        is_integer(value)
        and value >= low
        and (high is None or value <= high)
        and not (power_of_two and value & (value - 1))
    ):
        return
    kind = "a power of two" if power_of_two else "an integer"
    if high is not None:
        expected = f"{kind} from {low} to {high}"
    elif low < 2 and not power_of_two:
        expected = "a positive integer" if low else "a non-negative integer"
    else:
        expected = f"{kind} of at least {low}"
    raise ValueError(f"{name} must be {expected}, not {value!r}")


def check_family(family: object) -> None:
    """Raises ``ValueError`` for an FPGA family that the primitives do not support."""
    if family not in FAMILIES:
        raise ValueError(f"Family must be one of None, 'ecp5', 'ice40', not {family!r}")


def _or(values):
    *some, last = map(str, values)
    return f"{', '.join(some)} or {last}"


def check_kind(kind: object, kinds: tuple[str, ...] = ("dsp", "lut")) -> None:
    """Raises ``ValueError`` for a kind of multiplier outside ``kinds``: by default one DSP per
    product (SB_MAC16: for one product of 16 bits or two of 8), or logic."""
    if kind not in kinds:
        raise ValueError(f"Kind of multiplier must be {_or(kinds)}, not {kind!r}")


def check_beat_bytes(beat_bytes: Any, sizes: tuple[int, ...] | None = (1, 2, 4, 8)) -> None:
    """Raises ``ValueError`` for a beat size of the memory outside ``sizes`` (``None``: any)."""
    if sizes is None:
        if not is_integer(beat_bytes) or beat_bytes < 1:
            raise ValueError(f"Beat size must be a positive number of bytes, not {beat_bytes!r}")
    elif not is_integer(beat_bytes) or beat_bytes not in sizes:
        raise ValueError(f"Beat size must be {_or(sizes)} bytes, not {beat_bytes!r}")


def check_memory_size(memory_size: Any) -> None:
    """Raises ``ValueError`` for a main memory whose size is not a multiple of the window step (64
    bytes), or exceeds the address range."""
    if not is_integer(memory_size) or not 64 <= memory_size <= 1 << 32 or memory_size % 64:
        raise ValueError(
            f"Memory size must be a positive multiple of 64 up to 2^32, not {memory_size!r}"
        )
