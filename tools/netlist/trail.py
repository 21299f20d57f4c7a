# SPDX-License-Identifier: BSD-2-Clause
"""Comparison of two simulations of nearly the same netlist, register by register: where and when
they begin to differ."""

import ctypes
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from .netlist import Netlist
from .simulation import NetlistSimulation

__all__ = [
    "Differences",
    "Trail",
    "copied",
    "copy_after",
    "differences",
    "follow",
    "keep",
    "register_name",
]

_NEVER = (1 << 64) - 1


@dataclass(frozen=True)
class Trail:
    """State of a simulation over time: ``start``, a sum of all registers before the first cycle;
    ``steps``: uint64 [cycles, 2], that sum and one of the pins."""

    start: int
    steps: np.ndarray


@dataclass(frozen=True)
class Differences:
    """Cycles of differences, ``None`` if never. ``first``, ``last``: cycles in which registers
    differ, except those that differed from the beginning; ``pins``: the first cycle in which pins
    differ."""

    first: int | None
    last: int | None
    pins: int | None

    @property
    def none(self) -> bool:
        """Whether neither registers nor pins differ."""
        return self.first is None and self.pins is None


def keep(simulation: NetlistSimulation) -> Callable[[], Trail]:
    """Starts recording a simulation that has not run yet. Returns a function that returns the
    :class:`Trail` up to its call."""
    start = simulation.c.netlist_state(simulation.handle)
    simulation.c.netlist_keep_trail(simulation.handle)

    def trail():
        steps = np.zeros((simulation.c.netlist_trail(simulation.handle, None), 2), np.uint64)
        simulation.c.netlist_trail(simulation.handle, steps.ctypes.data)
        return Trail(start, steps)

    return trail


def follow(simulation: NetlistSimulation, trail: Trail) -> None:
    """Compares a simulation that has not run yet with a trail."""
    simulation.c.netlist_follow(
        simulation.handle, trail.start, len(trail.steps), trail.steps.ctypes.data
    )


def differences(simulation: NetlistSimulation) -> Differences:
    """The :class:`Differences` of a simulation that follows a trail."""
    cycles = (ctypes.c_uint64 * 3)()
    simulation.c.netlist_differences(simulation.handle, cycles)
    return Differences(*(None if cycle == _NEVER else cycle for cycle in cycles))


def copy_after(simulation: NetlistSimulation, cycles: Iterable[int]) -> None:
    """Requests copies of all registers after each of ``cycles``, ascending. A simulation that
    follows a trail copies them by itself where they first differ."""
    cycles = np.array(cycles, np.uint64)
    simulation.c.netlist_copy_after(simulation.handle, len(cycles), cycles.ctypes.data)


def copied(simulation: NetlistSimulation, which: int = 0) -> np.ndarray | None:
    """Copy number ``which`` of all registers, uint64, or ``None`` if it was not made."""
    netlist = simulation.netlist
    registers = np.zeros(len(netlist.flops) + len(netlist.cells) + len(netlist.writers), np.uint64)
    return (
        registers
        if simulation.c.netlist_copy(simulation.handle, which, registers.ctypes.data)
        else None
    )


def register_name(netlist: Netlist, place: int) -> str:
    """Name of the register at an index of a copy."""
    flops, cells = len(netlist.flops), len(netlist.cells)
    if place < flops:
        return netlist.flops[place][0]
    if place < flops + cells:
        return netlist.cells[place - flops].name
    return netlist.luts[netlist.writers[place - flops - cells][-1]][0]
