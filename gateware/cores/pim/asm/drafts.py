# SPDX-License-Identifier: BSD-2-Clause
"""Declarations in a source: cores, their groups and their code (specification, sections 3.5 and
3.7). Pure Python."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from ....isa.asm.assembler import Assembler, Section
from ....isa.asm.errors import Place
from ..image.fields import AUTO

if TYPE_CHECKING:
    import numpy as np


__all__ = [
    "CORES",
    "LIMITS",
    "Block",
    "CoreDraft",
    "GroupDraft",
    "SourceError",
    "add_group",
    "core_of",
    "draft_of",
    "drafts",
]

#: Cores that programs can name.
CORES = 1024

#: name -> legal values.
LIMITS = {
    "rows": range(1, 1025),
    "cols": range(1, 1025),
    "mbiw": range(1, 9),
    "shift": range(48),
    "round": range(2),
}


class SourceError(ValueError):
    """Error in a source, one line without its location; ``place``: the location, if known."""

    def __init__(self, message: str, place: Place | None = None) -> None:
        super().__init__(message)
        self.place = place


@dataclass
class GroupDraft:
    """Declared group; ``weights``, ``bias``: arrays, or lists of inline values in order."""

    rows: int
    cols: int
    arrays: tuple[int, ...] | None = None
    mbiw: int = 8
    shift: int = 0
    round: int = 1
    weights: Any = None
    bias: Any = None
    place: Place | None = None


@dataclass
class CoreDraft:
    """Declarations of a core, other than its code."""

    mode: int = 0
    wait_mode: int = 0
    ibiw: int = 8
    obiw: int = 8
    fi: int = AUTO
    fo: int = AUTO
    groups: dict[int, GroupDraft] = field(default_factory=dict)


@dataclass
class Block:
    """Block of many instructions in a section: uint64 ``words``. ``lines``: source line of the
    first, if each has its own; ``raw``: they are not checked against groups and cores."""

    words: np.ndarray
    place: Place
    lines: bool = False
    raw: bool = False


def drafts(assembler: Assembler) -> dict[int, CoreDraft]:
    """Declared cores by number, as :class:`CoreDraft`."""
    return assembler.state.setdefault("cores", {})


def core_of(section: Section) -> int:
    """Number of the core that a section belongs to; code before the first ``.core`` is core 0's."""
    return 0 if section.name is None else cast(int, section.name)


def draft_of(assembler: Assembler, number: int) -> CoreDraft:
    """Declarations of core ``number``, created on first use."""
    return drafts(assembler).setdefault(number, CoreDraft())


def add_group(
    assembler: Assembler, core: int, number: int, group: GroupDraft, place: Place
) -> None:
    """Declares group ``number`` of core ``core``."""
    groups = draft_of(assembler, core).groups
    if number in groups:
        assembler.fail(place, f"group {number} of core {core} is already declared")
    groups[number] = group
    assembler.state["last group"] = core, number
