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
    that clock, each ``None`` if unknown; ``on_chip_bytes`` a cycle, of main memory on chip, only
    with such a memory. ``byte_counters`` names the counters whose sum are those
    bytes; ``uncounted`` describes the traffic that they omit.

    Parameters
    ----------
    isa : name of the core, or ``None``
    params : dict, every build parameter
    memory : dict with ``kind`` and ``beat_bytes`` of main memory, and ``on_chip``, a dict with
        ``beat_bytes``, if part of it lies there; empty where there is none (golden models)
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
    on_chip = memory.get("on_chip")
    return {
        "macs": round(peaks.macs, 4),
        "bytes": round(peaks.bytes_a_cycle(memory.get("kind"), memory["beat_bytes"]), 4)
        if memory.get("beat_bytes")
        else None,
        **(
            {"on_chip_bytes": round(peaks.bytes_a_cycle("block RAM", on_chip["beat_bytes"]), 4)}
            if on_chip
            else {}
        ),
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
    preset: str | None = None,
    on_chip: int | None = None,
    sdram_rate: int | None = None,
) -> dict[str, Any]:
    """Description of a board's main memory for a build that uses ``size`` bytes: ``size``,
    ``beat_bytes``, ``kind``, ``rate`` if its clock is faster than the main clock, and ``on_chip``
    (``size`` and ``beat_bytes``) if part of it lies in block RAM; empty if ``name`` is ``None``.

    Parameters
    ----------
    isa, params : the core and all its parameters, which may decide the beats
    preset : of the core; without it nothing lies on chip
    on_chip : bytes on chip, else the preset's
    sdram_rate : as of :meth:`~quintet.boards.board.Board.with_sdram_rate`
    """
    if name is None:
        return {}
    from ...boards import open_board

    board = open_board(name).with_sdram_rate(sdram_rate)
    memory = board.memory
    if isa is not None and params is not None:
        memory = memory.suited(cores.open_core(isa), params, size)
    found: dict[str, Any] = {
        "size": size,
        "beat_bytes": memory.beat(size),
        "kind": memory.kind,
    }
    if board.sdram_rate > 1:
        found["rate"] = board.sdram_rate
    if isa is not None and preset is not None:
        on_chip, beat = board.on_chip_memory(cores.open_core(isa), preset, params, on_chip)
        if on_chip:
            found["on_chip"] = {"size": on_chip, "beat_bytes": beat}
    return found


def moved(counters: Mapping[str, float], ceilings: Mapping[str, Any] | None) -> float:
    """Bytes of main memory traffic, by the counters; 0 if no counter counts them."""
    return sum(
        counters.get(name, 0)
        for name in (ceilings or {}).get("byte_counters") or ("bytes_read", "bytes_written")
    )
