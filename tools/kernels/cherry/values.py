# SPDX-License-Identifier: BSD-2-Clause
"""Numbers, sizes and names that are given to a module, checked."""
import math
import operator
import re
from numbers import Real

from .errors import KernelError

__all__ = ["checked_name", "value_text", "whole_number"]

#: What becomes part of the names of files.
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
#: As the assembler reads a number that is no pattern.
_NUMBER = re.compile(r"-?\d+(\.\d*([eE][+-]?\d+)?|[eE][+-]?\d+)")


def value_text(value, what):
    """``value``, a number or its text, as the text of an assembler's number: one without a point would be a pattern."""
    text = value.strip() if isinstance(value, str) else repr(float(value)) if isinstance(value, Real) and not isinstance(value, bool) else ""
    try:
        number = float(text)
    except ValueError:
        raise KernelError(f"{what} must be a number or its text, such as 0.5 or '-inf', not {value!r}") from None
    if math.isnan(number):
        return "nan"
    if math.isinf(number):
        if "n" not in text.lower():
            raise KernelError(f"{what} is {value}, which is beyond the largest number")
        return "-inf" if number < 0 else "inf"
    return text if _NUMBER.fullmatch(text) else repr(number)


def whole_number(value, what, least=1):
    """``value`` as an int that is at least ``least``."""
    try:
        found = operator.index(value)
    except TypeError:
        found = None
    if found is None or isinstance(value, bool) or found < least:
        raise KernelError(f"{what} must be a whole number from {least}, not {value!r}")
    return found


def checked_name(name, what):
    """``name``, which can be part of a file's name."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise KernelError(f"{what} must be a name of letters, digits, '_', '.' and '-', not {name!r}")
    return name
