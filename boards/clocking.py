# SPDX-License-Identifier: BSD-2-Clause
"""Clock selection of a board: the frequencies that its PLL can generate, and the phase of an
SDRAM's clock (docs/how/memory.md)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING

from ..gateware.memory.sdram.parts import find_part
from ..gateware.memory.sdram.phase import DOUBLE_RATE_PADS, PADS, SDRAMClock, choose_phase
from ..gateware.primitives.pll import PLLError, PLLSettings, ecp5_settings, ice40_settings

if TYPE_CHECKING:
    from .board import Board

__all__ = ["DDR3_MHZ", "USB_HZ", "Clocking", "clocking", "fastest_mhz", "sdram_clock"]

#: Frequency of the USB device's fast domain.
USB_HZ = 48_000_000
#: Main clocks in MHz with DDR3 memory: those of LiteX's boards with this PHY. The chip's clock is
#: twice as fast, which is below what its delay-locked loop is specified for (JESD79-3F: 300 MHz).
DDR3_MHZ = 48, 100


@dataclass(frozen=True)
class Clocking:
    """Clocks of one SoC on a board.

    Attributes
    ----------
    asked_hz : int, requested main clock
    further_hz : int or None, frequency requested of the PLL beside it
    settings : PLLSettings
    sdram : SDRAMClock or None
    halved : bool, the PLL generates twice the main clock, for DDR3 memory
    """

    asked_hz: int
    further_hz: int | None
    settings: PLLSettings
    sdram: SDRAMClock | None = None
    halved: bool = False

    @property
    def pll_hz(self) -> int:
        """Frequency requested of the PLL's first output."""
        return self.asked_hz * (2 if self.halved else 1)

    @property
    def main_hz(self) -> float:
        """Main clock in Hz, as it is generated."""
        return self.settings.output_hz / (2 if self.halved else 1)

    @property
    def hz(self) -> int:
        """Main clock in whole Hz, as it is generated."""
        return round(self.main_hz)

    @property
    def domain_hz(self) -> int | None:
        """Second clock in Hz, as the PLL generates it; ``None`` without one."""
        further = self.settings.further_hz
        return None if further is None else round(further)


def _settings(board, asked_hz, further_hz):
    if board.family == "ecp5":
        return ecp5_settings(
            board.oscillator_hz, asked_hz, further_hz=further_hz, multiple=board.sdram_rate
        )
    return ice40_settings(board.oscillator_hz, asked_hz, further_hz=further_hz)


def _beside(board, asked_hz, ratio, link):
    """Frequency of the second clock that the PLL should generate."""
    if link == "usb" and board.family == "ice40" and board.oscillator_hz != USB_HZ:
        # The one PLL gives both: its second output is twice the main clock.
        if 2 * asked_hz != USB_HZ:
            raise PLLError(
                f"with link usb the main clock of {board.name} is {USB_HZ / 2e6:g} MHz, since "
                f"its one PLL gives "
                f"{USB_HZ / 1e6:g} MHz too; not {asked_hz / 1e6:g}"
            )
        return USB_HZ
    return None if ratio is None else round(asked_hz * ratio)


def _sdram(board, settings):
    rate = board.sdram_rate
    if rate > 1:
        # Names the main clock if the chip is too slow.
        find_part(board.memory.part).timing(settings.output_hz, rate)
    pads = PADS[board.family] if rate == 1 else DOUBLE_RATE_PADS
    if board.family == "ecp5":
        shifts = [(degrees, (late, late)) for degrees, late in settings.phases(rate)]
    else:
        # No output of another phase: the clock is inverted. Its high time is 40 to 50 per cent of
        # the period (iCE40 LP/HX data sheet, tDT).
        period = 1e9 / settings.output_hz
        shifts = [(180, (0.4 * period, 0.5 * period))]
    return choose_phase(board.memory.part, rate * settings.output_hz, pads, shifts)


def sdram_clock(
    board: Board, asked_hz: int, ratio: Fraction | int | None = None, link: str | None = None
) -> SDRAMClock:
    """Chooses the :class:`SDRAMClock` of ``board`` for a main clock.

    Raises
    ------
    ValueError
        There is none; the message names the nearest main clocks, in whole MHz, for which there is
        one.
    PLLError
        The PLL cannot make this main clock.
    """

    def attempt(hz):
        return _sdram(board, _settings(board, hz, _beside(board, hz, ratio, link)))

    def is_feasible(mhz):
        try:
            attempt(mhz * 1_000_000)
        except ValueError:
            return False
        return True

    try:
        return attempt(asked_hz)
    except PLLError:
        raise
    except ValueError as error:
        assert board.memory.kind == "SDRAM"
        mhz = asked_hz // 1_000_000
        top = int(find_part(board.memory.part).cl3_mhz / board.sdram_rate)
        below = next((n for n in range(min(mhz, top), 0, -1) if is_feasible(n)), None)
        above = next((n for n in range(mhz + 1, top + 1) if is_feasible(n)), None)
        near = " and ".join(f"{n} MHz" for n in (below, above) if n is not None)
        raise ValueError(f"{error}; the nearest that work: {near or 'none'}") from None


@cache
def _has_sdram_clock(board, mhz):
    """Whether the board's SDRAM can have its rate at a main clock."""
    try:
        _sdram(board, _settings(board, mhz * 1_000_000, None))
    except ValueError:
        return False
    return True


def fastest_mhz(board: Board, most: float) -> float:
    """The greatest main clock in MHz, at most ``most``, that the board's SDRAM can have at its
    rate: ``most`` itself or a whole number; ``most`` if there is none."""
    assert board.memory.kind == "SDRAM"
    top = min(most, find_part(board.memory.part).cl3_mhz / board.sdram_rate)
    for mhz in dict.fromkeys((most, *range(int(top), 0, -1))):
        if _has_sdram_clock(board, mhz):
            return mhz
    return most


def clocking(
    board: Board, asked_hz: int, ratio: Fraction | int | None = None, link: str | None = None
) -> Clocking:
    """Chooses the :class:`Clocking` of ``board``.

    Parameters
    ----------
    board : Board
    asked_hz : int, main clock
    ratio : Fraction or None, frequency over the main clock's of a clock that the core asks for
    link : str

    Raises
    ------
    PLLError
        The PLL cannot make these clocks within 1 %.
    ValueError
        The board's SDRAM or DDR3 memory cannot have this clock.
    """
    further_hz = _beside(board, asked_hz, ratio, link)
    if board.memory.kind == "DDR3":
        low, high = DDR3_MHZ
        if not low * 1e6 <= asked_hz <= high * 1e6:
            raise ValueError(
                f"its DDR3 memory: expected {low} to {high} MHz, found {asked_hz / 1e6:g}"
            )
        return Clocking(
            asked_hz, further_hz, _settings(board, 2 * asked_hz, further_hz), halved=True
        )
    settings = _settings(board, asked_hz, further_hz)
    sdram = sdram_clock(board, asked_hz, ratio, link) if board.memory.kind == "SDRAM" else None
    return Clocking(asked_hz, further_hz, settings, sdram)
