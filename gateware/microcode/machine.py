# SPDX-License-Identifier: BSD-2-Clause
"""Declaration of a microcoded machine for the assembler. Pure Python."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .layout import Layout
from .registers import RegisterFile
from .statement import Statement

__all__ = ["Hazard", "MachineFormat", "Operation"]


class Operation(NamedTuple):
    """Operation of a micro-instruction: the fields that it sets, and its operand types.

    ``operands``: sign that begins the operand (``""``: none) -> what its words set, each a kind of
    :mod:`.operands`; a dict among them stands for fields that such an operand always sets.
    ``count``: number of words; ``None``: any, each operand at most once.
    """

    fields: dict[str, Any]
    operands: dict[str, tuple[Any, ...]]
    count: int | None = None  # type: ignore[assignment]  # hides tuple.count, which is unused


class Hazard(NamedTuple):
    """Hazard between consecutive micro-instructions, which the assembler refuses if ``found(first,
    second)`` is true; fields are accessed as ``first["name"]``.

    ``message`` names one of them as ``{first}`` or ``{second}``.
    """

    found: Callable[[Statement, Statement], Any]
    message: str


@dataclass(frozen=True)
class MachineFormat:
    """Programming model of a microcoded machine.

    ``operations`` : mnemonic -> :class:`Operation`. ``size`` :
        micro-instructions that its memory holds. ``defaults`` : field -> register it
    names where no operand does. ``filler`` : statement in the gaps of ``.align``.
    """

    layout: Layout
    operations: dict[str, Operation]
    registers: RegisterFile
    size: int
    defaults: dict[str, str] = field(default_factory=dict)
    hazards: tuple[Hazard, ...] = ()
    filler: str = ""

    def cycles(self, word: int) -> str:
        """Cycles of a micro-instruction, as text; empty if each takes one."""
        return ""
