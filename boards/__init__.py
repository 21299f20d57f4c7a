# SPDX-License-Identifier: BSD-2-Clause
"""Registry of boards: every module here with ``BOARDS``, a tuple of :class:`~.board.Board`, and
every entry point of the group ``quintet.boards``."""

from __future__ import annotations

import importlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ..gateware import LOADED_AT
from ..gateware.plugins import plugins
from ..gateware.suggestions import suggestion

if TYPE_CHECKING:
    from .board import Board

__all__ = ["LOADED_AT", "BoardError", "board_names", "open_board"]


class BoardError(LookupError):
    """Error: there is no board of that name; the message lists the known ones."""


@cache
def _boards():
    found = {}
    for path in sorted(Path(__file__).resolve().parent.glob("*.py")):
        # Listing boards must start fast: the top imports Amaranth.
        if path.stem in ("__init__", "board", "clocking", "ddr3_top", "spi_top", "top", "usb_top"):
            continue
        for board in getattr(importlib.import_module(f"{__name__}.{path.stem}"), "BOARDS", ()):
            found[board.name] = board
    for _, boards in plugins("quintet.boards", lambda entry: entry.load().BOARDS):
        for board in boards:
            found.setdefault(board.name, board)
    return found


def board_names() -> list[str]:
    """Names of all boards."""
    return list(_boards())


def open_board(name: str) -> Board:
    """The :class:`~.board.Board` named ``name``.

    Raises
    ------
    BoardError
        There is none.
    """
    if name not in _boards():
        raise BoardError(f"no board named {name!r}{suggestion(name, _boards(), 'there are')}")
    return _boards()[name]
