# SPDX-License-Identifier: BSD-2-Clause
"""Row of a table of measured figures, and what makes one."""

from collections.abc import Callable
from dataclasses import dataclass, field

from ..errors import Exit, QuintetError

__all__ = ["Differs", "Measure", "Row"]


class Differs(QuintetError):
    """The gateware does not give what the golden model gives: there is no figure."""

    code = Exit.NO


@dataclass(frozen=True)
class Row:
    """Figure with its unit.

    Attributes
    ----------
    what : what was measured
    value, unit : the figure
    bound : what is required of it, or ``None``: the most that it may be, with ``least`` the least
    more : further columns, name -> value
    """

    what: str
    value: float
    unit: str
    bound: float | None = None
    least: bool = False
    more: dict = field(default_factory=dict)

    @property
    def missed(self):
        return self.bound is not None and (
            self.value < self.bound if self.least else self.value > self.bound
        )


@dataclass(frozen=True)
class Measure:
    """Table of figures.

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
    rows: Callable
    presets: tuple = ()
    default: tuple = ()
    memories: tuple = ()
    names: tuple = ()
    settings: dict = field(default_factory=dict)
    sizes: bool = False
    default_names: tuple = ()
