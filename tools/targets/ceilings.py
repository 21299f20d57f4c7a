# SPDX-License-Identifier: BSD-2-Clause
"""Performance ceilings of a build in results: MACs and bytes per cycle, and the clock of its
counters."""

from collections.abc import Mapping
from typing import Any

from ...gateware import cores
from .base import TargetInfo

__all__ = ["board_memory", "ceilings", "info_ceilings", "moved"]


def ceilings(
    isa: str | None, params: Mapping[str, Any], memory: Mapping[str, Any], clock_hz: float | None
) -> dict[str, Any]:
    """Greatest ``macs`` and ``bytes`` of a build per cycle of its counters, and ``clock_hz`` of
    that clock, each ``None`` if unknown. ``byte_counters`` names the counters whose sum are those
    bytes; ``uncounted`` describes the traffic that they omit.

    Parameters
    ----------
    isa : name of the core, or ``None``
    params : dict, every build parameter
    memory : dict with ``kind`` and ``beat_bytes`` of main memory;
        empty where there is none (golden models)
    clock_hz : main clock in Hz, or ``None``
    """
    peaks = cores.open_core(isa).params.SPACE.peaks(params) if isa else None
    if peaks is None:
        return {
            "macs": None,
            "bytes": None,
            "clock_hz": clock_hz,
            "byte_counters": [],
            "uncounted": "",
        }
    return {
        "macs": round(peaks.macs, 4),
        "bytes": round(peaks.bytes_a_cycle(memory.get("kind"), memory["beat_bytes"]), 4)
        if memory.get("beat_bytes")
        else None,
        "clock_hz": None if clock_hz is None else round(clock_hz * peaks.clock_ratio),
        "byte_counters": list(peaks.byte_counters),
        "uncounted": peaks.uncounted,
    }


def info_ceilings(info: TargetInfo) -> dict[str, Any]:
    """Performance :func:`ceilings` from a target's ``TargetInfo``."""
    return ceilings(info.isa, info.params, info.memory, info.clock_hz)


def board_memory(
    name: str | None,
    size: int,
    isa: str | None = None,
    params: Mapping[str, Any] | None = None,
    sdram_rate: int | None = None,
) -> dict[str, Any]:
    """Description of a board's main memory for a build that uses ``size`` bytes: ``size``,
    ``beat_bytes`` and ``kind``, and ``rate`` if its clock is faster than the main clock; empty if
    ``name`` is ``None``. ``isa`` and all ``params``: the core, which may decide the beats.
    ``sdram_rate`` as of :meth:`~quintet.boards.board.Board.with_sdram_rate`."""
    if name is None:
        return {}
    from ...boards import open_board

    board = open_board(name).with_sdram_rate(sdram_rate)
    memory, rate = board.memory, board.sdram_rate
    if isa is not None and params is not None:
        memory = memory.suited(cores.open_core(isa), params, size)
    found = {"size": size, "beat_bytes": memory.beat(size), "kind": memory.kind}
    return found if rate == 1 else found | {"rate": rate}


def moved(counters: Mapping[str, float], ceilings: Mapping[str, Any] | None) -> float:
    """Bytes of main memory traffic, by the counters; 0 if no counter counts them."""
    return sum(
        counters.get(name, 0)
        for name in (ceilings or {}).get("byte_counters") or ("bytes_read", "bytes_written")
    )
