# SPDX-License-Identifier: BSD-2-Clause
"""Clock phase of an SDR SDRAM: set-up and hold margins on both sides, and the phase that maximises
them (docs/how/memory.md, "Clock and phase")."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import TypeAlias

from .parts import SDRAMPart, find_part

__all__ = [
    "DOUBLE_RATE_PADS",
    "FLIGHT_NS",
    "PADS",
    "ClockPath",
    "Margins",
    "PadTiming",
    "PhaseError",
    "SDRAMClock",
    "choose_phase",
    "clock_path",
    "margins",
]


class PhaseError(ValueError):
    """Error: no clock phase meets all set-up and hold times."""


@dataclass(frozen=True)
class PadTiming:
    """I/O cell timing of an FPGA, in nanoseconds; delays as (least, greatest).

    Attributes
    ----------
    clock : from the edge of its domain to the clock's pad, through a double-rate cell
    early, late : by how much the clock's pad may be ahead of the other lines, or behind,
        both driven by one edge
    setup, hold : of an input register, seen at its pad
    jitter : of the PLL, and the skew of its outputs' networks
    half : by how much the falling edge of the PLL's clock may be away from the middle of its
        period, seen at pads; 0 where nothing happens at falling edges
    """

    clock: tuple[float, float]
    early: float
    late: float
    setup: float
    hold: float
    jitter: float
    half: float = 0.0


#: By family of primitives.
PADS = {
    # ECP5 of speed 6, LVCMOS33, from the vendor's delays as Project Trellis collected them
    # (timing/speed_6/cells.json): ODDRX1F 0.983, OREG 1.200 and TSREG 1.031 to the output buffer;
    # that 1.988 to 2.674, its enable 2.203 to 3.023; input buffer 0.990 to 1.140; IREG 0.439 and
    # 0.311. A chip at its fastest is taken to have half of the delays.
    "ecp5": PadTiming(
        clock=(1.48, 3.66), early=1.08, late=0.47, setup=1.58, hold=-0.18, jitter=0.3
    ),
    # iCE40 HX, from its data sheet (DS1040, external switching characteristics): tCOPLL 2.51 and
    # 0.17 for LVCMOS33, tSUPLL 4.16, tHPLL -0.53, tSKEW_IO 0.29 and tSKEW_GBUF 0.30, period jitter
    # 0.45.
    "ice40": PadTiming(clock=(0, 2.68), early=0.59, late=0.59, setup=4.16, hold=-0.53, jitter=0.45),
}

#: Of an ECP5's double-rate cells, by the same tables: IDDRX1F 0.401 and 0.235. The falling edge of
#: the main clock follows a rising edge of the PLL's oscillator, since the divider is even. ``half``
#: is an allowance for what the clock networks add, an estimate.
DOUBLE_RATE_PADS = replace(PADS["ecp5"], setup=1.54, hold=-0.26, half=0.37)

#: Least and most of a time in nanoseconds.
Interval: TypeAlias = tuple[float, float]

#: One way across a board, its load included.
FLIGHT_NS: Interval = (0.1, 0.5)


@dataclass(frozen=True)
class ClockPath:
    """Delays of clock and read data between FPGA and chip, as (least, greatest) in nanoseconds.

    Attributes
    ----------
    rises : after the lines of commands and data change at the chip
    returns : after the edge of ``sync`` that changed the lines:
        a chip without access time would be in time for an input register at a later edge of
        ``sync`` that comes no sooner than the second of them, and not any more for one after the
        first
    """

    rises: Interval
    returns: Interval

    @classmethod
    def centred(cls, part: SDRAMPart | str, clock_hz: float, capture: int) -> ClockPath:
        """Board without tolerances: the clock is inverted, and read data are sampled in the middle
        of their window after ``capture`` cycles."""
        part, period = find_part(part), 1e9 / clock_hz
        back = (capture + 0.5) * period + (
            0.5 * period - part.t_ac(part.timing(clock_hz).cas) - part.t_oh
        ) / 2
        return cls((period / 2, period / 2), (back, back))


@dataclass(frozen=True)
class Margins:
    """Set-up and hold margins in nanoseconds: for commands and write data at the chip, and for read
    data at the FPGA's input registers."""

    write_setup: float
    write_hold: float
    read_setup: float
    read_hold: float

    @property
    def least(self) -> float:
        """The smallest of the four margins."""
        return min(self.write_setup, self.write_hold, self.read_setup, self.read_hold)


def clock_path(pads: PadTiming, shift: Interval, flight: Interval = FLIGHT_NS) -> ClockPath:
    """The :class:`ClockPath` of a clock that follows ``sync`` by ``shift``, (least, greatest) in
    nanoseconds, inside the FPGA."""
    # Edges of a clock twice as fast follow both edges of `sync`.
    shift = shift[0] - pads.half, shift[1] + pads.half
    return ClockPath(
        rises=(shift[0] - pads.early - pads.jitter, shift[1] + pads.late + pads.jitter),
        returns=(
            shift[0] + pads.clock[0] + 2 * flight[0] - pads.hold - pads.jitter,
            shift[1] + pads.clock[1] + 2 * flight[1] + pads.setup + pads.jitter,
        ),
    )


def margins(part: SDRAMPart | str, clock_hz: float, path: ClockPath, capture: int) -> Margins:
    """Computes the :class:`Margins` of a part with the delays ``path`` and a controller with
    ``capture``; raises ``ValueError`` if the part does not support this clock."""
    part = find_part(part)
    return _margins(part, 1e9 / clock_hz, part.t_ac(part.timing(clock_hz).cas), path, capture)


def _margins(part, period, t_ac, path, capture):
    return Margins(
        write_setup=path.rises[0] - part.t_is,
        write_hold=period - path.rises[1] - part.t_ih,
        read_setup=(capture + 1) * period - t_ac - path.returns[1],
        read_hold=path.returns[0] + part.t_oh - capture * period,
    )


@dataclass(frozen=True)
class SDRAMClock:
    """Chosen clock of a board's SDRAM: phase, delays and margins.

    Attributes
    ----------
    degrees : float, by which it follows the main clock, of its own period
    capture : int, of the controller
    path : ClockPath
    margins : Margins
    """

    degrees: float
    capture: int
    path: ClockPath
    margins: Margins

    @property
    def report(self) -> dict[str, float]:
        """Entries of a build's report, times in nanoseconds."""
        return {
            "phase_degrees": round(self.degrees, 1),
            "capture": self.capture,
            **{f"{name}_ns": round(value, 2) for name, value in asdict(self.margins).items()},
        }


def choose_phase(
    part: SDRAMPart | str,
    clock_hz: float,
    pads: PadTiming,
    shifts: Iterable[tuple[float, Interval]],
) -> SDRAMClock:
    """Chooses the :class:`SDRAMClock` whose smallest margin is largest.

    Parameters
    ----------
    part : SDRAMPart or str
    clock_hz : float, of the chip
    pads : PadTiming
    shifts : iterable of (degrees, (least, most)), the phases that the FPGA can make,
        each with its nanoseconds

    Raises
    ------
    PhaseError
        With none of them all margins are 0 at least.
    ValueError
        The part cannot run at this clock.
    """
    part = find_part(part)
    period, t_ac = 1e9 / clock_hz, part.t_ac(part.timing(clock_hz).cas)
    found = [
        SDRAMClock(degrees, capture, path, _margins(part, period, t_ac, path, capture))
        for degrees, shift in shifts
        for path in [clock_path(pads, shift)]
        for capture in range(4)
    ]
    best = max(found, key=lambda clock: clock.margins.least)
    if best.margins.least < 0:
        raise PhaseError(
            f"no phase of its clock leaves SDRAM part {part.name!r} and the FPGA their set-up "
            f"and hold times"
        )
    return best
