# SPDX-License-Identifier: BSD-2-Clause
"""Choice of what a table is measured with: presets, memories, rows, settings."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from itertools import product

from ..errors import InputError

__all__ = ["Choice", "no_such"]


def no_such(what, name, known):
    """Error for a name that is none of ``known``: near matches where there are some, all of them
    otherwise."""
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
    """What a table is measured with.

    Attributes
    ----------
    presets, memories : names
    only : names of rows; empty: all
    settings : name -> value, defaults included
    sizes : build parameters as text
    """

    presets: tuple = ()
    memories: tuple = ()
    only: tuple = ()
    settings: dict = field(default_factory=dict)
    sizes: dict = field(default_factory=dict)

    @classmethod
    def of(cls, table, measure, presets=(), memories=(), only=(), settings=(), sizes=None):
        """The choice that options of the command line make for ``measure``, called ``table``.

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

    def split(self, names: Sequence[str]) -> dict[str, "Choice"]:
        """The same choice in parts that are measured one by one: a preset, a memory and a name
        each, by what tells them apart. ``names`` are those of the table's rows."""
        every = (self.presets, self.memories, self.only or tuple(names))
        parts = {}
        for chosen in product(*(values or (None,) for values in every)):
            own = [() if value is None else (value,) for value in chosen]
            label = " ".join(value for value in chosen if value is not None)
            parts[label] = replace(self, presets=own[0], memories=own[1], only=own[2])
        return parts

    def takes(self, name):
        """Whether the row ``name`` is to be measured."""
        return not self.only or name in self.only
