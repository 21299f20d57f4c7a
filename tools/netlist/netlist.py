# SPDX-License-Identifier: BSD-2-Clause
"""Netlist for simulation: look-up tables, flip-flops, hard cells, clocks and pads; each pin names a
net."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from ..errors import QuintetError

__all__ = [
    "ASYNCHRONOUS",
    "ENABLE_FIRST",
    "FALLING",
    "FLASH_CLOCK",
    "HIGH",
    "LOW",
    "RESET_TO_1",
    "STARTS_AT_1",
    "HardCell",
    "Netlist",
    "NetlistError",
    "Pad",
    "PLLCell",
]

#: Nets of the constants.
LOW, HIGH = 0, 1
#: Flags of flip-flops, as in ``engine.hpp``: the falling edge counts; its reset needs no clock;
#: resets to 1; starts at 1; the enable has the say over the reset.
FALLING, ASYNCHRONOUS, RESET_TO_1, STARTS_AT_1, ENABLE_FIRST = 1, 2, 4, 8, 16
#: Name among the pads of an ECP5's own pin for the clock of flash memory.
FLASH_CLOCK = "USRMCLK"


class NetlistError(QuintetError):
    """Error: a netlist contains a cell or mode that the simulation does not support; the message
    names the cell."""


@dataclass(frozen=True)
class HardCell:
    """A memory or multiplier: ``pins`` and ``parameters`` in the order of its kind in
    ``memories.hpp`` or ``multipliers.hpp``; ``contents``: words as binary digits, an ``x`` is drawn
    at random."""

    kind: str
    name: str
    pins: tuple[int, ...]
    parameters: tuple[int, ...] = ()
    contents: tuple[str, ...] = ()


@dataclass(frozen=True)
class PLLCell:
    """A PLL. ``input``, ``lock``: nets; ``outputs``: (net, frequency as a multiple of the input's,
    phase in periods of its own clock)."""

    name: str
    input: int
    lock: int
    outputs: tuple[tuple[int, Fraction, Fraction], ...]


@dataclass(frozen=True)
class Pad:
    """One pin of the FPGA: nets of its output, of the output's enable (:data:`HIGH`: always,
    :data:`LOW`: never) and of its input."""

    drives: int = LOW
    enable: int = LOW
    sees: int = LOW


@dataclass
class Netlist:
    """A netlist, filled by the reader of an FPGA family.

    Attributes
    ----------
    nets : int, how many there are
    luts : list of (name, (a, b, c, d, out), table), the table's bit number is 8 d + 4 c + 2 b + a
    flops : list of (name, (clock, d, enable, reset, q, flags))
    writers : list of (clock, enable, data, address 0 to 3, place in ``luts``):
        tables that are written
    cells : list of HardCell
    plls : list of PLLCell
    pads : dict, name of a port -> list of Pad, the lowest bit first;
        ``None``: a bit whose I/O cell has not been read
    second_halves : dict, net that a double-rate cell drives to a pad -> net of its register for the
        second half of a cycle
    undefined : list of nets that nothing drives
    names : dict, (name of a signal, bit) -> net
    widths : dict, name of a signal -> bits that it has, where that is known
    """

    nets: int = 2
    luts: list[tuple[str, tuple[int, ...], int]] = field(default_factory=list)
    flops: list[tuple[str, tuple[int, ...]]] = field(default_factory=list)
    writers: list[tuple[int, ...]] = field(default_factory=list)
    cells: list[HardCell] = field(default_factory=list)
    plls: list[PLLCell] = field(default_factory=list)
    pads: dict[str, list[Pad | None]] = field(default_factory=dict)
    second_halves: dict[int, int] = field(default_factory=dict)
    undefined: list[int] = field(default_factory=list)
    names: dict[tuple[str, int], int] = field(default_factory=dict)
    widths: dict[str, int] = field(default_factory=dict)
    _inverted: dict[int, int] = field(default_factory=dict)

    def net(self) -> int:
        """Adds a net and returns it."""
        self.nets += 1
        return self.nets - 1

    def floating(self) -> int:
        """Adds an undriven net and returns it: an unconnected pin whose level must not matter."""
        self.undefined.append(self.net())
        return self.undefined[-1]

    def lut(self, name: str, inputs: Sequence[int], table: int, out: int | None = None) -> int:
        """Adds a table of at most four inputs; returns its output's net."""
        out = self.net() if out is None else out
        repeated = table
        for k in range(len(inputs), 4):
            repeated |= repeated << (1 << k)
        self.luts.append((name, (*inputs, *[LOW] * (4 - len(inputs)), out), repeated))
        return out

    def inverted(self, net: int) -> int:
        """The net of the inverse of ``net``."""
        if net in (LOW, HIGH):
            return LOW + HIGH - net
        if net not in self._inverted:
            self._inverted[net] = self.lut("inverter", (net,), 0b01)
        return self._inverted[net]

    def copy(self) -> Netlist:
        """A netlist whose lists can be changed without changing this one."""
        return replace(
            self,
            luts=list(self.luts),
            flops=list(self.flops),
            writers=list(self.writers),
            cells=list(self.cells),
            _inverted=dict(self._inverted),
        )

    def count(self) -> dict[str, int]:
        """Number of cells by kind."""
        found = {
            "tables": len(self.luts),
            "flip-flops": len(self.flops),
            "table memories": len(self.writers),
            "PLLs": len(self.plls),
        }
        for cell in self.cells:
            found[cell.kind] = found.get(cell.kind, 0) + 1
        return found

    def sources(self, net: int) -> list[int]:
        """Nets from which ``net`` is derived through one-input tables only, itself first."""
        driver = {row[4]: row[:4] for _, row, _ in self.luts}
        found = [net]
        while (
            net in driver and len(inputs := {n for n in driver[net] if n not in (LOW, HIGH)}) == 1
        ):
            net = inputs.pop()
            found.append(net)
        return found

    def clocks(
        self, oscillator: str, hz: int
    ) -> tuple[list[tuple[int, Fraction, Fraction, bool]], list[int]]:
        """Clocks of the PLLs driven by the port ``oscillator`` of ``hz``, and that port's own clock
        if other cells use it.

        Returns
        -------
        list of (net, frequency in Hz as a Fraction, phase in periods, of a PLL)
        list of the PLLs' lock nets
        """
        (pad,) = self.pads[oscillator]
        if pad is None:
            raise NetlistError(f"the oscillator's pin {oscillator} has no I/O cell")
        found, locks = [], []
        for pll in self.plls:
            if pad.sees not in self.sources(pll.input):
                raise NetlistError(
                    f"{pll.name}: its input does not come from the oscillator's pin {oscillator}"
                )
            found += [(net, Fraction(hz) * ratio, phase, True) for net, ratio, phase in pll.outputs]
            locks.append(pll.lock)
        used = (
            {net for _, row, _ in self.luts for net in row[:4]}
            | {row[0] for _, row in self.flops}
            | {net for cell in self.cells for net in cell.pins}
        )
        if pad.sees in used:
            found.append((pad.sees, Fraction(hz), Fraction(0), False))
        return found, [net for net in locks if net not in (LOW, HIGH)]
