# SPDX-License-Identifier: BSD-2-Clause
"""What the assembler is told of a micro machine. Pure Python."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from .layout import Layout
from .registers import RegisterFile

__all__ = ["Hazard", "MachineFormat", "Operation"]


class Operation(NamedTuple):
    """An operation: the fields that it sets, and its operands.

    ``operands``: sign that begins the operand (``""``: none) -> what its words set, each a kind of
    :mod:`.operands`; a dict among them stands for fields that such an operand always sets.
    ``count``: number of words; ``None``: any, each operand at most once.
    """

    fields: dict
    operands: dict
    count: int | None = None


class Hazard(NamedTuple):
    """Two micro-instructions that may not follow each other: ``found(first, second)`` is true;
    their fields are ``first["name"]``.

    ``message`` names one of them as ``{first}`` or ``{second}``.
    """

    found: Callable
    message: str


@dataclass(frozen=True)
class MachineFormat:
    """A micro machine, as its programs see it.

    ``operations`` : mnemonic -> :class:`Operation`. ``size`` :
        micro-instructions that its memory holds. ``defaults`` : field -> register it
    names where no operand does. ``filler`` : statement in the gaps of ``.align``.
    """

    layout: Layout
    operations: dict
    registers: RegisterFile
    size: int
    defaults: dict = field(default_factory=dict)
    hazards: tuple = ()
    filler: str = ""

    def cycles(self, word):
        """Text: the cycles that a micro-instruction takes; empty where each takes one."""
        return ""
