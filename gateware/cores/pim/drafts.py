# SPDX-License-Identifier: BSD-2-Clause
"""Groups and cores as sources declare them (specification, sections 3.5 and 3.7). Pure Python."""
from dataclasses import dataclass, field
from typing import Any

from .image_fields import AUTO

__all__ = ["LIMITS", "CoreDraft", "GroupDraft", "SourceError"]

#: name -> legal values.
LIMITS = {"rows": range(1, 1025), "cols": range(1, 1025), "mbiw": range(1, 9), "shift": range(48), "round": range(2)}


class SourceError(ValueError):
    """Something is wrong with a source; one line, without the place. ``place``: where, if the one who raises it knows."""
    def __init__(self, message, place=None):
        super().__init__(message)
        self.place = place


@dataclass
class GroupDraft:
    """A group as declared; ``weights``, ``bias``: arrays, or lists of inline values in order."""
    rows: int
    cols: int
    arrays: tuple | None = None
    mbiw: int = 8
    shift: int = 0
    round: int = 1
    weights: Any = None
    bias: Any = None
    place: Any = None


@dataclass
class CoreDraft:
    """What is declared of a core, beside its code."""
    mode: int = 0
    wait_mode: int = 0
    ibiw: int = 8
    obiw: int = 8
    fi: int = AUTO
    fo: int = AUTO
    groups: dict = field(default_factory=dict)
