# SPDX-License-Identifier: BSD-2-Clause
"""A board around a simulated netlist, with models of the memory chip, of flash memory and of the
host's serial line."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import ceil, lcm
from pathlib import Path
from typing import TYPE_CHECKING, cast

from ...boards.board import UARTLink
from ...boards.clocking import Clocking
from ...boards.top import reset_cycles
from ...boards.virtual.board import BoardConfig, VirtualPipe, describe_chip
from ...boards.virtual.cache import BuildCache
from ...boards.virtual.native import SimulatedBoard, SimulationError
from .netlist import Netlist, NetlistError
from .pins import connect_pins, dark_levels
from .simulation import NetlistSimulation

if TYPE_CHECKING:
    from ...boards.board import Board
    from ...gateware.soc import SoC

__all__ = ["NetlistBoard", "power_up"]

#: Periods of the oscillator until a PLL is locked, and by how much its clock is too slow until
#: then.
_LOCK_PERIODS, _SLOW = 300, 1.37
#: Largest difference between a frequency of the netlist and the one that the SoC was made for.
_NEAR = 1e-6


def _early(clocks, hz, phase, locked):
    """Clock periods before the PLL is ``locked``, in picoseconds: chosen so that counters without a
    reset agree with a virtual board, whose clocks have their phase from the first cycle."""
    main_hz = clocks[0][1]
    whole = lcm(*((other / main_hz).denominator for _, other, _, of_pll in clocks if of_pll))
    main, ratio = int(locked * float(main_hz) / 1e12 / _SLOW) // whole * whole, hz / main_hz
    return int((main - 1) * ratio) + ceil(phase) if phase % 1 else int(main * ratio) + int(phase)


def power_up(
    board: Board, soc: SoC, netlist: Netlist
) -> tuple[list[tuple[int, Fraction, Fraction, bool]], list[int], list[int], float]:
    """Clocks of the PLL, before and after lock.

    Parameters
    ----------
    board : Board
    soc : SoC that the netlist was made of
    netlist : Netlist

    Returns
    -------
    clocks : as of :meth:`~.netlist.Netlist.clocks`
    locks : list of nets
    early : list of int, periods of each clock until the PLL is locked
    locked : float, picoseconds until then

    Raises
    ------
    NetlistError
        There is no PLL, or it makes another main clock than the SoC's.
    """
    clocks, locks = netlist.clocks(f"{board.oscillator}_0", board.oscillator_hz)
    if not clocks:
        raise NetlistError("the netlist has no PLL")
    main_hz = float(clocks[0][1])
    wanted = cast(Clocking, soc.clocking).settings.output_hz
    if abs(main_hz / wanted - 1) > _NEAR:
        raise NetlistError(
            f"the netlist's PLL makes {main_hz / 1e6:g} MHz, and the SoC was made for "
            f"{wanted / 1e6:g}"
        )
    locked = _LOCK_PERIODS * 1e12 / board.oscillator_hz
    return (
        clocks,
        locks,
        [_early(clocks, hz, phase, locked) if of_pll else 0 for _, hz, phase, of_pll in clocks],
        locked,
    )


class NetlistBoard(SimulatedBoard):
    """A running board whose FPGA is a simulated :class:`~.netlist.Netlist`. Members as for
    :class:`~quintet.boards.virtual.board.VirtualBoard`.

    Parameters
    ----------
    board : Board
    soc : SoC that the netlist was made of
    netlist : Netlist
    seed : int, of what the chip does not define
    cache : as of :class:`~.simulation.NetlistSimulation`
    limit : int, cycles after which it counts as stuck; ``None``: never
    before : callable(NetlistSimulation), called before all is computed once
    image : bytes, the plan image in flash memory of a SoC that starts from it

    Attributes
    ----------
    pipe : VirtualPipe
    main_hz : float, frequency of the main clock by the netlist's PLL

    Raises
    ------
    NetlistError
        It is no netlist of that SoC: a pin is missing, or its PLL makes another main clock.
    """

    def __init__(
        self,
        board: Board,
        soc: SoC,
        netlist: Netlist,
        seed: int | None = 1,
        cache: BuildCache | str | Path | None = None,
        limit: int | None = None,
        before: Callable[[NetlistSimulation], object] | None = None,
        image: bytes = b"",
    ) -> None:
        line = board.port_of("uart")
        assert isinstance(line, UARTLink)
        self.soc, self.clock_hz, self._limit = soc, soc.clock_hz, limit
        clocks, locks, early, locked = power_up(board, soc, netlist)
        self.main_hz = float(clocks[0][1])
        self.simulation = NetlistSimulation(netlist, seed, cache)
        c, handle = self.simulation.c, self.simulation.handle
        connect_pins(self.simulation, board, soc)
        self.reset_cycles = reset_cycles(early[0])
        for (net, hz, phase, of_pll), periods in zip(clocks, early, strict=True):
            period = 1e12 / float(hz)
            c.netlist_clock(
                handle,
                net,
                (1 + float(phase)) * period,
                period,
                locked if of_pll else 0,
                _SLOW,
                periods,
            )
        for net in locks:
            c.netlist_lock(handle, net, locked)
        # The SoC's whole hertz, as the virtual board has them: a tie between an edge of the line
        # and one of the clock falls alike on both.
        c.netlist_line(handle, soc.clock_hz / line.baud)
        if soc.backing.kind == "SDRAM":
            config = BoardConfig()
            sdram = cast(Clocking, soc.clocking).sdram
            assert sdram is not None
            describe_chip(config, soc, soc.backing.part, sdram.path)
            c.netlist_sdram(handle, config)
        elif soc.backing.kind == "SRAM":
            c.netlist_sram(
                handle, soc.backing.part.address_bits, soc.clock_hz > soc.backing.part.max_hz
            )
        if soc.boot is not None and board.flash is not None:
            contents = b"\xff" * soc.boot.image_at + image
            period_ps = -int(-1e12 // soc.clock_hz)
            c.netlist_flash(handle, contents, len(contents), board.flash.size, period_ps)
        if before is not None:
            before(self.simulation)
        self.simulation.finish()
        # A board that has started from flash memory has its light of a busy core on for good.
        self._leds = board.busy_led is not None and soc.boot is None, board.fault_led is not None
        self._dark = None if soc.boot is None else dark_levels(board)
        self.pipe = VirtualPipe(self, f"netlist:{board.name}", line.baud / 10)

    def advance(self, cycles: int, wanted: int = 1 << 62, silence: int = 1 << 62) -> None:
        """Advances the simulation like every simulated board; also raises
        :class:`~quintet.boards.virtual.native.SimulationError` after too many cycles."""
        if self._limit is not None and self.cycle > self._limit:
            raise SimulationError(f"no end after {self._limit:,} cycles")
        super().advance(cycles, wanted, silence)

    def _lights(self):
        """Whether the LEDs (busy, fault) are lit: they differ from their idle level, which was read
        first, or, with a start from flash memory, is that of the board's registry."""
        levels = tuple(
            bool(level(self.simulation.handle))
            for level in (self.simulation.c.board_busy, self.simulation.c.board_fault)
        )
        if self._dark is None:
            self._dark = levels
        return tuple(level != dark for level, dark in zip(levels, self._dark, strict=True))

    @property
    def busy(self) -> bool:
        """Whether the LED of a busy core is lit."""
        return self._lights()[0]

    @property
    def fault(self) -> bool:
        """Whether the last run ended in a fault, by its LED."""
        return self._lights()[1]

    @property
    def lit(self) -> bool | str | None:
        """Whether all LEDs that the board has are lit, ``"some"`` if only some are, ``None`` if it
        has none."""
        on = {lit for lit, there in zip(self._lights(), self._leds, strict=True) if there}
        return on.pop() if len(on) == 1 else "some" if on else None

    @property
    def refreshes(self) -> int:
        """Refreshes of the SDRAM since its initialisation."""
        return self.simulation.c.board_refreshes(self.simulation.handle)

    @property
    def rises(self) -> float:
        """Least time in nanoseconds from a change of the SDRAM's lines to the rising edge of its
        clock, by the netlist's clocks."""
        return self.simulation.c.netlist_rises(self.simulation.handle) / 1000
