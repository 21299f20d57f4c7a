# SPDX-License-Identifier: BSD-2-Clause
"""Record of register contents in a simulation, cycle by cycle from power-up: checksums (stored, or
compared with stored ones), and copies of all bits."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ....boards.virtual.native import Native
from .match import Matched

__all__ = [
    "Sums",
    "copied",
    "copy",
    "differ",
    "expect",
    "keep",
    "levels",
    "sums",
    "watch_netlist",
    "watch_virtual",
]

_NEVER = (1 << 64) - 1


@dataclass(frozen=True)
class Sums:
    """Checksums of the registers by cycle (uint64); those before ``begin`` are not valid."""

    begin: int
    values: np.ndarray


def watch_virtual(simulation: Native, matched: Matched, count: int) -> None:
    """Records the registers of a virtual board's simulation, which has ``count`` of them, before
    power-up."""
    simulation.c.registers_watch(
        simulation.handle,
        count,
        len(matched),
        *(each.ctypes.data for each in (matched.numbers, matched.bits, matched.weights)),
    )


def watch_netlist(simulation: Native, matched: Matched) -> None:
    """Records the registers of a netlist's simulation that is not finished yet."""
    simulation.c.netlist_watch(
        simulation.handle, len(matched), matched.nets.ctypes.data, matched.weights.ctypes.data
    )


def keep(simulation: Native) -> None:
    """Starts recording the checksum of every cycle."""
    simulation.c.registers_keep(simulation.handle)


def sums(simulation: Native, begin: int) -> Sums:
    """Recorded :class:`Sums`, from cycle ``begin`` on."""
    values = np.zeros(simulation.c.registers_sums(simulation.handle, None), np.uint64)
    simulation.c.registers_sums(simulation.handle, values.ctypes.data)
    return Sums(begin, values)


def expect(simulation: Native, expected: Sums) -> None:
    """Compares a netlist's simulation with :class:`Sums`: in the first cycle that differs, it fails
    and copies all bits."""
    simulation.c.registers_expect(
        simulation.handle, expected.begin, len(expected.values), expected.values.ctypes.data
    )


def differ(simulation: Native) -> int | None:
    """The first cycle in which registers differ from the expected ones, or ``None``."""
    cycle = simulation.c.registers_differ(simulation.handle)
    return None if cycle == _NEVER else cycle


def copy(simulation: Native, cycles: Iterable[int]) -> None:
    """Requests copies of all bits in each of ``cycles``, ascending."""
    cycles = np.array(cycles, np.uint64)
    simulation.c.registers_copy(simulation.handle, len(cycles), cycles.ctypes.data)


def copied(simulation: Native, matched: Matched) -> np.ndarray:
    """Recorded copies of all bits, bool [copies, matched]."""
    bits = np.zeros(simulation.c.registers_copies(simulation.handle, None), np.uint8)
    simulation.c.registers_copies(simulation.handle, bits.ctypes.data)
    return bits.reshape(-1, len(matched)).astype(bool)


def levels(simulation: Native, matched: Matched) -> np.ndarray:
    """Current levels of all bits, bool [matched]."""
    bits = np.zeros(len(matched), np.uint8)
    simulation.c.registers_levels(simulation.handle, bits.ctypes.data)
    return bits.astype(bool)
