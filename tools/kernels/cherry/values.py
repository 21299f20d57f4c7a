# SPDX-License-Identifier: BSD-2-Clause
"""Formatting of numbers for the assembler."""

import math
import re
from numbers import Real
from typing import Any

from ..inputs import KernelError

__all__ = ["value_text"]

#: As the assembler reads a number that is no pattern.
_NUMBER = re.compile(r"-?\d+(\.\d*([eE][+-]?\d+)?|[eE][+-]?\d+)")


def value_text(value: Any, what: str) -> str:
    """Formats ``value``, a number or its text, as a number of the assembler, always with a point:
    without one it would be a bit pattern."""
    text = (
        value.strip()
        if isinstance(value, str)
        else repr(float(value))
        if isinstance(value, Real) and not isinstance(value, bool)
        else ""
    )
    try:
        number = float(text)
    except ValueError:
        raise KernelError(
            f"{what} must be a number or its text, such as 0.5 or '-inf', not {value!r}"
        ) from None
    if math.isnan(number):
        return "nan"
    if math.isinf(number):
        if "n" not in text.lower():
            raise KernelError(f"{what} is {value}, which is beyond the largest number")
        return "-inf" if number < 0 else "inf"
    return text if _NUMBER.fullmatch(text) else repr(number)
