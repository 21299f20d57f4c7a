# SPDX-License-Identifier: BSD-2-Clause
"""What registers hold in a simulation, cycle by cycle from power-up: sums, kept or held against
others, and copies of all bits."""

from dataclasses import dataclass

import numpy as np

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
    """uint64 sums by cycle; those before ``begin`` say nothing."""

    begin: int
    values: np.ndarray


def watch_virtual(simulation, matched, count):
    """Record the registers of a virtual board's simulation, which has ``count`` of them, before
    power-up."""
    simulation.c.registers_watch(
        simulation.handle,
        count,
        len(matched),
        *(each.ctypes.data for each in (matched.numbers, matched.bits, matched.weights)),
    )


def watch_netlist(simulation, matched):
    """Record the registers of a netlist's simulation that is not finished yet."""
    simulation.c.netlist_watch(
        simulation.handle, len(matched), matched.nets.ctypes.data, matched.weights.ctypes.data
    )


def keep(simulation):
    """Keep sums from now on."""
    simulation.c.registers_keep(simulation.handle)


def sums(simulation, begin):
    """The :class:`Sums` that were kept, from cycle ``begin`` on."""
    values = np.zeros(simulation.c.registers_sums(simulation.handle, None), np.uint64)
    simulation.c.registers_sums(simulation.handle, values.ctypes.data)
    return Sums(begin, values)


def expect(simulation, expected):
    """Hold a netlist's simulation against :class:`Sums`: it fails, and copies all bits, in the
    first cycle in which it differs."""
    simulation.c.registers_expect(
        simulation.handle, expected.begin, len(expected.values), expected.values.ctypes.data
    )


def differ(simulation):
    """The first cycle in which registers were other than expected, ``None``: never."""
    cycle = simulation.c.registers_differ(simulation.handle)
    return None if cycle == _NEVER else cycle


def copy(simulation, cycles):
    """Copy all bits in each of ``cycles``, ascending."""
    cycles = np.array(cycles, np.uint64)
    simulation.c.registers_copy(simulation.handle, len(cycles), cycles.ctypes.data)


def copied(simulation, matched):
    """bool [copies, matched], what was copied."""
    bits = np.zeros(simulation.c.registers_copies(simulation.handle, None), np.uint8)
    simulation.c.registers_copies(simulation.handle, bits.ctypes.data)
    return bits.reshape(-1, len(matched)).astype(bool)


def levels(simulation, matched):
    """bool [matched], what all bits are now."""
    bits = np.zeros(len(matched), np.uint8)
    simulation.c.registers_levels(simulation.handle, bits.ctypes.data)
    return bits.astype(bool)
