# SPDX-License-Identifier: BSD-2-Clause
"""Suggestions in messages about unknown names: which of the known ones was meant."""

from collections.abc import Iterable

__all__ = ["MOST", "close_names", "suggestion"]

#: Names that a message suggests, at most: all sizes of a board.
MOST = 4


def close_names(name: str, names: Iterable[str], most: int) -> list[str]:
    """At most ``most`` of ``names`` that ``name`` may stand for: those that begin with it, or else
    those that are spelled like it."""
    import difflib  # only messages need it, and commands are to start fast

    names = list(names)
    begun = [other for other in names if name and other.startswith(name)]
    return begun[:most] or difflib.get_close_matches(name, names, most)


def suggestion(name: str, names: Iterable[str], listed: str = "it has") -> str:
    """The end of the message about the unknown ``name``: the ``names`` that begin with it, else
    the one that is spelled most like it, else all of them."""
    names = list(names)
    close = close_names(name, names, MOST)
    if not close:
        return f"; {listed} {', '.join(names) or 'none'}"
    return f"; did you mean {' or '.join(close if close[0].startswith(name) else close[:1])}?"
