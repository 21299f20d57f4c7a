# SPDX-License-Identifier: BSD-2-Clause
"""A netlist as it is simulated: look-up tables, flip-flops, hard cells, clocks and pads, each pin a
net."""

from dataclasses import dataclass, field, replace
from fractions import Fraction

from ..errors import QuintetError

__all__ = [
    "ASYNCHRONOUS",
    "ENABLE_FIRST",
    "FALLING",
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


class NetlistError(QuintetError):
    """A netlist holds what the simulation does not know; the message names the cell."""


@dataclass(frozen=True)
class HardCell:
    """A memory or multiplier: ``pins`` and ``parameters`` in the order of its kind in
    ``memories.hpp`` or ``multipliers.hpp``; ``contents``: words as binary digits, an ``x`` is drawn
    at random."""

    kind: str
    name: str
    pins: tuple
    parameters: tuple = ()
    contents: tuple = ()


@dataclass(frozen=True)
class PLLCell:
    """``input``, ``lock``: nets; ``outputs``: (net, frequency as a multiple of the input's, phase
    in periods of its own clock)."""

    name: str
    input: int
    lock: int
    outputs: tuple


@dataclass(frozen=True)
class Pad:
    """One pin: nets of what the FPGA drives, whether it does (:data:`HIGH`: always, :data:`LOW`:
    never), and what it sees."""

    drives: int = LOW
    enable: int = LOW
    sees: int = LOW


@dataclass
class Netlist:
    """Filled by a family's reader.

    Attributes
    ----------
    nets : int, how many there are
    luts : list of (name, (a, b, c, d, out), table), the table's bit number is 8 d + 4 c + 2 b + a
    flops : list of (name, (clock, d, enable, reset, q, flags))
    writers : list of (clock, enable, data, address 0 to 3, place in ``luts``):
        tables that are written
    cells : list of HardCell
    plls : list of PLLCell
    pads : dict, name of a port -> list of Pad, the lowest bit first
    undefined : list of nets that nothing drives
    names : dict, (name of a signal, bit) -> net
    widths : dict, name of a signal -> bits that it has, where that is known
    """

    nets: int = 2
    luts: list = field(default_factory=list)
    flops: list = field(default_factory=list)
    writers: list = field(default_factory=list)
    cells: list = field(default_factory=list)
    plls: list = field(default_factory=list)
    pads: dict = field(default_factory=dict)
    undefined: list = field(default_factory=list)
    names: dict = field(default_factory=dict)
    widths: dict = field(default_factory=dict)
    _inverted: dict = field(default_factory=dict)

    def net(self):
        """A new net."""
        self.nets += 1
        return self.nets - 1

    def floating(self):
        """A new net that nothing drives: an unconnected pin whose level must not matter."""
        self.undefined.append(self.net())
        return self.undefined[-1]

    def lut(self, name, inputs, table, out=None):
        """Add a table of at most four inputs; returns its output's net."""
        out = self.net() if out is None else out
        repeated = table
        for k in range(len(inputs), 4):
            repeated |= repeated << (1 << k)
        self.luts.append((name, (*inputs, *[LOW] * (4 - len(inputs)), out), repeated))
        return out

    def inverted(self, net):
        """The net of the other level."""
        if net in (LOW, HIGH):
            return LOW + HIGH - net
        if net not in self._inverted:
            self._inverted[net] = self.lut("inverter", (net,), 0b01)
        return self._inverted[net]

    def copy(self):
        """A netlist whose lists can be changed without changing this one."""
        return replace(
            self,
            luts=list(self.luts),
            flops=list(self.flops),
            writers=list(self.writers),
            cells=list(self.cells),
            _inverted=dict(self._inverted),
        )

    def count(self):
        """How many of each kind there are, by kind."""
        found = {
            "tables": len(self.luts),
            "flip-flops": len(self.flops),
            "table memories": len(self.writers),
            "PLLs": len(self.plls),
        }
        for cell in self.cells:
            found[cell.kind] = found.get(cell.kind, 0) + 1
        return found

    def sources(self, net):
        """Nets from which ``net`` comes through tables of one input alone, itself first."""
        driver = {row[4]: row[:4] for _, row, _ in self.luts}
        found = [net]
        while (
            net in driver and len(inputs := {n for n in driver[net] if n not in (LOW, HIGH)}) == 1
        ):
            net = inputs.pop()
            found.append(net)
        return found

    def clocks(self, oscillator, hz):
        """Clocks of the PLLs behind the port ``oscillator`` of ``hz``, and that port's own where
        something else runs by it.

        Returns
        -------
        list of (net, frequency in Hz as a Fraction, phase in periods, of a PLL)
        list of the PLLs' lock nets
        """
        (pad,) = self.pads[oscillator]
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
            found.append((pad.sees, Fraction(hz), 0, False))
        return found, [net for net in locks if net not in (LOW, HIGH)]
