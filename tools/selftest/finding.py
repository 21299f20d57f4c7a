# SPDX-License-Identifier: BSD-2-Clause
"""Result of one test in the board self-test."""

from dataclasses import asdict, dataclass, field
from typing import Any

__all__ = ["Finding"]


@dataclass(frozen=True)
class Finding:
    """Result of one test: its name, whether it passed, and the measured values in words.

    Attributes
    ----------
    part : what was tested: ``link``, ``clock``, ``memory``, ``core``, ``LED``
    name : of the test
    ok : bool, or ``None`` where it could not be made
    found : what was seen, with units
    advice : for a faulty part, what to try next
    counters : of a run of the core that went well, name -> count
    """

    part: str
    name: str
    ok: bool | None
    found: str
    advice: str = ""
    counters: dict[str, int] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)
