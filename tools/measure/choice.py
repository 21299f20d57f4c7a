# SPDX-License-Identifier: BSD-2-Clause
"""Selection of presets, memories, rows and settings for a measurement."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from itertools import product
from typing import TYPE_CHECKING, Any

from ..errors import InputError

if TYPE_CHECKING:
    from .row import Measure

__all__ = ["Choice", "no_such"]


def no_such(what: str, name: str, known: Iterable[str]) -> InputError:
    """Error for an unknown name: suggests similar names if there are any, otherwise lists all known
    names."""
    near = get_close_matches(name, known, 3)
    return InputError(
        f"{what} {name!r}: "
        + (f"did you mean {' or '.join(near)}?" if near else f"expected {', '.join(known)}")
    )


def _named(table, option, given, known, default):
    if given and not known:
        raise InputError(f"{option} {given[0]}: {table} has no such choice")
    for name in given:
        if name not in known:
            raise no_such(f"{option} of {table}", name, known)
    return tuple(given or default)


def _setting(table, text, settings):
    name, sign, value = text.partition("=")
    if not sign or not name:
        raise InputError(f"--set {text}: expected name=value")
    if not settings:
        raise InputError(f"--set {text}: {table} has no settings")
    if name not in settings:
        raise no_such(f"--set of {table}", name, settings)
    kind = type(settings[name])
    try:
        return name, kind(value)
    except ValueError:
        raise InputError(
            f"--set {text}: expected {'a whole number' if kind is int else 'a number'}"
        ) from None


@dataclass(frozen=True)
class Choice:
    """Selected parameters of a measurement.

    Attributes
    ----------
    presets, memories : names
    only : names of rows; empty: all
    settings : name -> value, defaults included
    sizes : build parameters as text
    """

    presets: tuple[str, ...] = ()
    memories: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)
    sizes: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        table: str,
        measure: Measure,
        presets: Sequence[str] = (),
        memories: Sequence[str] = (),
        only: Sequence[str] = (),
        settings: Iterable[str] = (),
        sizes: Mapping[str, str] | None = None,
    ) -> Choice:
        """Builds the selection for ``measure``, named ``table``, from command-line options.

        Raises
        ------
        InputError
            A name or value that the table does not have.
        """
        if sizes and not measure.sizes:
            raise InputError(f"-P {next(iter(sizes))}: {table} is measured on presets as they are")
        return cls(
            _named(table, "--preset", presets, measure.presets, measure.default or measure.presets),
            _named(table, "--memory", memories, measure.memories, measure.memories[:1]),
            _named(table, "--only", only, measure.names, measure.default_names),
            {
                **measure.settings,
                **dict(_setting(table, text, measure.settings) for text in settings),
            },
            dict(sizes or {}),
        )

    def split(self, names: Sequence[str]) -> dict[str, Choice]:
        """Splits the selection into single measurements, each with one preset, memory and row name,
        keyed by what distinguishes them. ``names``: the table's rows."""
        every = (self.presets, self.memories, self.only or tuple(names))
        parts = {}
        for chosen in product(*(values or (None,) for values in every)):
            own = [() if value is None else (value,) for value in chosen]
            label = " ".join(value for value in chosen if value is not None)
            parts[label] = replace(self, presets=own[0], memories=own[1], only=own[2])
        return parts

    def takes(self, name: str) -> bool:
        """Whether the selection includes the row ``name``."""
        return not self.only or name in self.only
