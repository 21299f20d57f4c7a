# SPDX-License-Identifier: BSD-2-Clause
"""Timeline of a virtual board's core: slices of each unit's instructions, with begin and end
(``timeline.hpp``)."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .activity import rows_of

if TYPE_CHECKING:
    from .activity import Shown
    from .native import SimulatedBoard

__all__ = ["Timeline", "TimelineError", "TimelineRecorder"]

#: Slices that are kept at most: some 400 megabytes of text.
MOST_SLICES = 4_000_000
_KINDS = {"run": 0, "class": 0, "unit": 0, "pulses": 2}
_QUEUE = 1
_SLICE = np.dtype(
    [("begin", "<u8"), ("end", "<u8"), ("row", "<u4"), ("number", "<u4"), ("count", "<u8")]
)


class TimelineError(ValueError):
    """Error: a board has no timeline."""


class _Row(ctypes.Structure):
    _fields_ = [
        ("flags", ctypes.c_int32),
        ("number", ctypes.c_int32),
        ("kind", ctypes.c_uint32),
        ("second", ctypes.c_uint32),
        ("gap", ctypes.c_uint64),
    ]


@dataclass(frozen=True)
class Timeline:
    """A recorded timeline: its rows, and slices with begin, end and instruction.

    Attributes
    ----------
    rows : tuple of :class:`~.activity.Shown`
    slices : structured array of ``begin``,
        ``end`` (ticks from the first cycle of the first run), ``row`` (its place in ``rows``),
        ``number`` (address of an instruction in main memory; of classes the class) and ``count``
        (of pulses), in the order of their ends
    ticks : int, ticks of a cycle as the core counts them
    full_at : float or None, cycle at which the recorder was full
    """

    rows: tuple[Shown, ...]
    slices: np.ndarray
    ticks: int
    full_at: float | None


class TimelineRecorder:
    """Recorder of a board's timeline, active from its creation on.

    Parameters
    ----------
    board : VirtualBoard
    begin, end : int
        Cycles of the core, counted from the first one of its first run, between which is recorded;
        ``end`` may be ``None``.
    most : int
        Slices that are kept.

    Raises
    ------
    TimelineError
        The board has no core.
    ValueError
        ``begin`` and ``end`` are no window.
    """

    def __init__(
        self, board: SimulatedBoard, begin: int = 0, end: int | None = None, most: int = MOST_SLICES
    ) -> None:
        if begin < 0 or (end is not None and end <= begin):
            raise ValueError(
                f"window {begin} to {end}: expected a begin of 0 or more and an end after it"
            )
        if board.soc.core is None:
            raise TimelineError("a board without a core has no timeline")
        self.rows = rows_of(board.soc.core)
        self._board, ratio = board, board.soc.domain.ratio if board.soc.domain is not None else None
        second = [ratio is not None and shown.row.domain != "sync" for shown in self.rows]
        main_ticks, second_ticks = (1, 1) if ratio is None else ratio.as_integer_ratio()
        # The core counts cycles of the clock that its classes are in.
        counts = any(
            far and shown.kind == "class" for far, shown in zip(second, self.rows, strict=True)
        )
        self.ticks = second_ticks if counts else main_ticks
        simulation = board.simulation
        rows = (_Row * len(self.rows))()
        for k, (row, shown) in enumerate(zip(rows, self.rows, strict=True)):
            row.flags = simulation.port_number(f"activity__flags__{k}")
            row.number = (
                simulation.port_number(f"activity__number__{k}") if shown.row.numbered else -1
            )
            row.kind = _QUEUE if shown.row.queue else _KINDS[shown.kind]
            # Bytes of the link are one slice as far as a host would take them for one answer.
            row.second, row.gap = second[k], board.pipe.silence * main_ticks
        last = (1 << 64) - 1 if end is None else end * self.ticks
        simulation.c.board_timeline(
            simulation.handle, rows, len(rows), begin * self.ticks, last, most
        )

    def timeline(self) -> Timeline:
        """Returns the :class:`Timeline` recorded so far."""
        simulation, count, full = self._board.simulation, ctypes.c_uint64(), ctypes.c_uint64()
        address = simulation.c.board_slices(simulation.handle, count, full)
        raw = ctypes.string_at(address, count.value * _SLICE.itemsize) if count.value else b""
        full_at = None if full.value == (1 << 64) - 1 else full.value / self.ticks
        return Timeline(self.rows, np.frombuffer(raw, _SLICE), self.ticks, full_at)
