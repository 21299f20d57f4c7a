# SPDX-License-Identifier: BSD-2-Clause
"""Tables of measured figures: rows, and the functions that measure them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..errors import Exit, QuintetError

if TYPE_CHECKING:
    from .choice import Choice

__all__ = ["Differs", "Measure", "Row"]


class Differs(QuintetError):
    """Error: the gateware's result differs from the golden model's, so that there is no valid
    figure."""

    code = Exit.NO


@dataclass(frozen=True)
class Row:
    """A measured figure with its unit.

    Attributes
    ----------
    what : what was measured
    value, unit : the figure
    bound : required maximum, or minimum with ``least``; ``None``: no requirement
    more : further columns, name -> value
    """

    what: str
    value: float
    unit: str
    bound: float | None = None
    least: bool = False
    more: dict[str, Any] = field(default_factory=dict)

    @property
    def missed(self) -> bool:
        """Whether the figure violates its bound."""
        return self.bound is not None and (
            self.value < self.bound if self.least else self.value > self.bound
        )


@dataclass(frozen=True)
class Measure:
    """A table of measured figures: its title, its columns and the function that measures it.

    Attributes
    ----------
    help : one line
    rows : function that takes a :class:`~.choice.Choice` and yields :class:`Row` as they are
        measured
    presets : what ``--preset`` may name; ``default``:
        those measured where none is named (all of them)
    memories : what ``--memory`` may name, the default first
    names : what ``--only`` may name; ``default_names``: those measured where none is named (all of
        them)
    settings : name -> default of what ``--set`` may change
    sizes : whether build parameters (``-P``) may be given
    """

    help: str
    rows: Callable[[Choice], Iterator[Row]]
    presets: tuple[str, ...] = ()
    default: tuple[str, ...] = ()
    memories: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)
    sizes: bool = False
    default_names: tuple[str, ...] = ()
