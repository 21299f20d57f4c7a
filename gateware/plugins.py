# SPDX-License-Identifier: BSD-2-Clause
"""Plug-ins: modules that installed packages offer under an entry-point group. A broken one is named
with file and line, and skipped, so that the rest works."""

import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint, entry_points
from typing import TypeVar

__all__ = ["PluginWarning", "fault_text", "plugins"]

Found = TypeVar("Found")


class PluginWarning(UserWarning):
    """A plug-in was skipped: which one, where it is at fault, and why."""


def plugins(group: str, load: Callable[[EntryPoint], Found]) -> Iterator[tuple[EntryPoint, Found]]:
    """Every entry point of ``group`` with what ``load`` makes of it.

    One for which ``load`` raises is skipped with a :class:`PluginWarning`.
    """
    for entry in entry_points(group=group):
        try:
            found = load(entry)
        # The code is not ours, so any exception is possible; SystemExit is one of a script's.
        except (Exception, SystemExit) as error:
            kind = group.rpartition(".")[2].removesuffix("s")
            warnings.warn(
                f"{kind} plug-in {entry.name} is skipped: {fault_text(error)}",
                PluginWarning,
                stacklevel=2,
            )
        else:
            yield entry, found


def fault_text(error: BaseException) -> str:
    """An exception that the code of a plug-in raised, with its file and line."""
    return f"{_place(error)}{type(error).__name__}: {_said(error)}"


def _said(error):
    return error.msg if isinstance(error, SyntaxError) else " ".join(str(error).split())


def _place(error):
    """File and line at fault: those of a syntax error, or the innermost of the plug-in's frames.

    Frames of quintet, of Python's import system and of its standard library lead to the fault of
    a plug-in that called them wrongly, and are passed over.
    """
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}: "
    own = f"{__name__.partition('.')[0]}."
    for frame, line in reversed(list(traceback.walk_tb(error.__traceback__))):
        name = frame.f_globals.get("__name__", "")
        file = frame.f_code.co_filename
        if file.startswith("<") or f"{name}.".startswith(own):
            continue
        if name.partition(".")[0] not in sys.stdlib_module_names:
            return f"{file}:{line}: "
    return ""
