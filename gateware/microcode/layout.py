# SPDX-License-Identifier: BSD-2-Clause
"""Bit layout of micro-instructions. Pure Python."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from enum import IntEnum


__all__ = ["Layout"]


class Layout(dict):
    """Bit layout of a micro-instruction, lowest field first: name -> width in bits.

    A field is given as its width, or as ``(width, enumeration)``: the listing shows the names of
    such a field's values.

    Raises
    ------
    ValueError
        A value of an enumeration does not fit into its field.
    """

    def __init__(self, **fields: int | tuple[int, type[IntEnum]]) -> None:
        self.names = {}
        for field, given in fields.items():
            self[field], values = given if isinstance(given, tuple) else (given, ())
            self.names[field] = {int(value): value.name for value in values}
            self.encode({field: max(self.names[field], default=0)})

    def encode(self, values: Mapping[str, int]) -> int:
        """Encodes a micro-instruction; fields without a value are 0."""
        word = shift = 0
        for field, bits in self.items():
            value = values.get(field, 0)
            if not 0 <= value < 1 << bits:
                raise ValueError(
                    f"Field {field} of a micro-instruction has {bits} bits, not enough for {value}"
                )
            word |= int(value) << shift
            shift += bits
        return word

    def describe(self, word: int) -> str:
        """Formats nonzero fields as ``field=value``."""
        shown = []
        for field, bits in self.items():
            value, word = word & (1 << bits) - 1, word >> bits
            if value:
                shown.append(f"{field}={self.names[field].get(value, value)}")
        return " ".join(shown)
