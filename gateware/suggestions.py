# SPDX-License-Identifier: BSD-2-Clause
"""Suggestions in messages about unknown names: which of the known ones was meant."""

from collections.abc import Iterable

__all__ = ["close_names", "suggestion"]


def close_names(name: str, names: Iterable[str], most: int) -> list[str]:
    """At most ``most`` of ``names`` that ``name`` may stand for: those that begin with it, or else
    those that are spelled like it."""
    import difflib  # only messages need it, and commands are to start fast

    names = list(names)
    begun = [other for other in names if name and other.startswith(name)]
    return begun[:most] or difflib.get_close_matches(name, names, most)


def suggestion(name: str, names: Iterable[str], listed: str = "it has") -> str:
    """The end of the message about the unknown ``name``: the one of ``names`` that was meant, or
    all of them."""
    names = list(names)
    close = close_names(name, names, 1)
    return f"; did you mean {close[0]}?" if close else f"; {listed} {', '.join(names) or 'none'}"
