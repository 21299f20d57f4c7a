# SPDX-License-Identifier: BSD-2-Clause
"""Description of a board (docs/boards.md). Pure Python until a SoC or a platform is requested."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from .memories import DDR3, SDRAM, SPRAM, SRAM, BlockRAM, MainMemory, takes_beats

if TYPE_CHECKING:
    from fractions import Fraction

    from amaranth.build import Platform

    from ..gateware.cores import CorePackage
    from ..gateware.soc import SoC

__all__ = [
    "DDR3",
    "FPGA_FAMILY",
    "LINKS",
    "SDRAM",
    "SPRAM",
    "SRAM",
    "BlockRAM",
    "Board",
    "Bridge",
    "Flash",
    "SPIPort",
    "UARTLink",
    "USBPort",
]

#: FPGA code of presets -> family of primitives.
FPGA_FAMILY = {"85f": "ecp5", "45f": "ecp5", "25f": "ecp5", "up5k": "ice40", "hx8k": "ice40"}


#: Pins of a board: (resource, number), or with the name of a part of the resource.
PinName: TypeAlias = tuple[str, int] | tuple[str, int, str]
#: Kinds of links: our protocol and LiteX's on a serial line, ours over USB and over SPI.
LINKS = ("uart", "uartbone", "usb", "spi")


@dataclass(frozen=True)
class UARTLink:
    """Serial line of the host link: ``resource`` of the platform, ``baud`` in bits per second."""

    baud: int = 3_000_000
    resource: str = "uart"
    number: int = 0
    kind: Literal["uart"] = "uart"

    @property
    def info(self) -> dict[str, Any]:
        """Description of the link for the info text."""
        return {"kind": self.kind, "baud": self.baud}


@dataclass(frozen=True)
class Bridge:
    """A USB serial bridge on a board: vendor and product ID and, if it has several interfaces, that
    of the link."""

    vendor: int
    product: int
    name: str
    interface: int | None = None


@dataclass(frozen=True)
class USBPort:
    """USB connector wired to the FPGA: ``d_p``, ``d_n`` and ``pullup`` of the platform's
    ``resource``, ``number``. The first pin of ``pullup`` is that of D+."""

    resource: str = "usb"
    number: int = 0
    kind: Literal["usb"] = "usb"

    @property
    def info(self) -> dict[str, Any]:
        """Description of the link for the info text."""
        from ..gateware.link.usb.identity import PRODUCT_ID, VENDOR_ID

        return {"kind": self.kind, "vendor": VENDOR_ID, "product": PRODUCT_ID}


@dataclass(frozen=True)
class SPIPort:
    """Pins of the link over SPI, of the platform's ``connector``. The defaults are the places of a
    Pmod of type 2A (Digilent Pmod Interface Specification): chip select, data from the host, data
    to it, clock, interrupt."""

    connector: tuple[str, int]
    cs: str = "1"
    copi: str = "2"
    cipo: str = "3"
    sck: str = "4"
    ready: str = "7"
    kind: Literal["spi"] = "spi"

    @property
    def info(self) -> dict[str, Any]:
        """Description of the link for the info text."""
        from ..gateware.link.spi_format import SPI_HZ

        return {"kind": self.kind, "hz": SPI_HZ}


@dataclass(frozen=True)
class Flash:
    """SPI flash memory that holds the bitstream: ``size`` in bytes; ``image_at``, the address of a
    plan image after any bitstream of the board; the platform's ``resource``; and whether it has
    four data lines that status register 2 enables (as Winbond's do). ``mixed``: some chips of this
    board have no such lines, and are read on one line."""

    size: int
    image_at: int
    quad: bool = False
    mixed: bool = False
    resource: str = "spi_flash_4x"
    number: int = 0


@dataclass(frozen=True, kw_only=True)
class Board:
    """A board: its FPGA, clock, memory, link, LEDs and programmers.

    Attributes
    ----------
    name : str, at most 16 characters
    title : str
    fpga : str, code of presets that fit (``85f``, ``45f``, ``25f``, ``up5k``, ``hx8k``)
    part : str, the FPGA as its maker calls it, with package and speed grade
    platform : str, ``module:class`` of amaranth-boards, or of a file in ``boards/platforms``
    oscillator : str, clock resource of the platform; ``oscillator_hz`` its frequency
    clock_mhz : float, main clock where the preset names none
    memory : SDRAM, SRAM, DDR3, SPRAM or BlockRAM
    link : UARTLink or USBPort, the default link
    usb : USBPort or None, where USB wires come to the FPGA
    spi : SPIPort or None, pins for a link over SPI
    bridges : tuple of Bridge, the board's own USB serial bridge (of several revisions),
        by which a host finds it
    programmers : tuple of str, programs that can load it, the first one preferred
    busy_led, fault_led : (resource, number), or with the name of a part of it,
        as of a three-coloured LED; ``None``: the board has no LED for it
    flash : Flash or None, flash memory from which a SoC can start
    clock_pad : bool, iCE40: the oscillator's pin is that of the PLL
    held_high : tuple of (resource, number), or with the name of a part of it:
        pins that must stand high
    notes : tuple of str, notes for the user
    too_large : dict, (core, preset) -> demand of such a SoC against the FPGA's resources, as ``"37
        of 32 block RAMs"``
    network_presets : dict, core -> preset that runs networks faster than its default one, for
        comparisons of networks; routed
    """

    name: str
    title: str
    fpga: str
    part: str
    platform: str
    oscillator: str
    oscillator_hz: int
    clock_mhz: float
    memory: MainMemory
    link: UARTLink | USBPort
    programmers: tuple[str, ...]
    busy_led: PinName | None
    fault_led: PinName | None
    usb: USBPort | None = None
    spi: SPIPort | None = None
    flash: Flash | None = None
    bridges: tuple[Bridge, ...] = field(default=())
    clock_pad: bool = False
    held_high: tuple[PinName, ...] = field(default=())
    notes: tuple[str, ...] = field(default=())
    too_large: dict[tuple[str, str], str] = field(default_factory=dict, hash=False)
    network_presets: dict[str, str] = field(default_factory=dict, hash=False)

    def __post_init__(self):
        if self.fpga not in FPGA_FAMILY:
            raise ValueError(
                f"board {self.name}: fpga = {self.fpga!r}: expected one of {', '.join(FPGA_FAMILY)}"
            )

    @property
    def family(self) -> str:
        """Family of primitives: ``ecp5`` or ``ice40``."""
        return FPGA_FAMILY[self.fpga]

    @property
    def sdram_rate(self) -> int:
        """Cycles of its SDRAM for each of the main clock; 1 without one."""
        return self.memory.rate if isinstance(self.memory, SDRAM) else 1

    def with_sdram_rate(self, rate: int | None) -> Board:
        """This board with an SDRAM clock of ``rate`` times the main clock, 1 or 2; ``None``: as it
        is.

        Raises
        ------
        BoardError
            Another number, or the board's memory or FPGA cannot have it.
        """
        from ..gateware.memory.sdram.parts import find_part
        from . import BoardError

        if rate is None or (rate == 1 and self.sdram_rate == 1):
            return self
        memory, where = self.memory, f"SDRAM rate of {self.name} = {rate}"
        if rate not in (1, 2):
            raise BoardError(f"{where}: expected 1 or 2")
        if not isinstance(memory, SDRAM):
            raise BoardError(f"{where}: expected 1, its main memory is {memory.kind}")
        if rate > 1 and self.family != "ecp5":
            raise BoardError(f"{where}: expected 1, which is all that an {self.fpga} can make")
        try:
            find_part(memory.part).at_rate(rate)
        except ValueError as error:
            raise BoardError(f"{where}: {error}") from None
        return replace(self, memory=replace(memory, rate=rate))

    @property
    def links(self) -> tuple[str, ...]:
        """Kinds of link that the board can be built with, the default first."""
        serial = ("uart", "uartbone") if self.link.kind == "uart" else ()
        others = (name for name in ("usb", "spi") if getattr(self, name) is not None)
        return (*serial, *others)

    def port_of(self, link: str) -> UARTLink | USBPort | SPIPort:
        """The :class:`UARTLink`, :class:`USBPort` or :class:`SPIPort` of a kind of link.

        Raises
        ------
        ValueError
            There is no link of that name.
        BoardError
            This board has not got it.
        """
        if link not in LINKS:
            raise ValueError(f"link = {link!r}: expected one of {', '.join(LINKS)}")
        if link not in self.links:
            from . import BoardError

            why = {
                "usb": "no USB wires come to its FPGA",
                "spi": "its table names no pins for it",
            }.get(link, "it has no serial line")
            raise BoardError(
                f"{self.name} cannot be built with link {link}: {why}; there is "
                f"{', '.join(self.links)}"
            )
        ports = {"usb": self.usb, "spi": self.spi}
        return ports.get(link) or self.link

    def presets(self, package: CorePackage) -> list[str]:
        """Names of a core's presets for this board, the default first; those known to be too large
        (``too_large``) come last."""
        space = package.params.SPACE
        names = [
            name
            for name in space.presets_for(self.fpga, self.memory.beats)
            if self.memory.is_chip or not space.presets[name].on_chip
        ]
        return sorted(names, key=lambda preset: (package.name, preset) in self.too_large)

    def preset_for(self, package: CorePackage) -> str:
        """Name of the default preset: the first that is not known to be too large, if there is one.

        Raises
        ------
        ParameterError
            No preset fits.
        """
        from ..gateware.isa.parameters import ParameterError

        preset = next(iter(self.presets(package)), None)
        if preset is None:
            raise ParameterError(
                f"{package.name} has no preset that fits {self.name} ({self.fpga})"
            )
        return preset

    def platform_class(self) -> type[Platform]:
        """The Amaranth platform class."""
        module, name = self.platform.split(":")
        return getattr(importlib.import_module(module), name)

    def clock_for(self, package: CorePackage | None = None, preset: str | None = None) -> float:
        """Default main clock in MHz: the preset's, else the board's, or the greatest whole number
        below at which its SDRAM can have its rate."""
        asked = None
        if package is not None and preset is not None:
            asked = package.params.SPACE.presets[preset].clock_mhz
        asked = asked or self.clock_mhz
        if self.sdram_rate == 1:
            return asked
        from .clocking import fastest_mhz

        return fastest_mhz(self, asked)

    def makes_beside_main(self, ratio: Fraction | int) -> bool:
        """Whether the PLL can generate a second clock of ``ratio`` times the main clock: an ECP5
        any ratio, an iCE40 only twice."""
        return self.family == "ecp5" or ratio == 2

    def on_chip_memory(
        self,
        package: CorePackage | None = None,
        preset: str | None = None,
        params: Mapping[str, Any] | None = None,
        on_chip: int | None = None,
    ) -> tuple[int, int]:
        """Size of main memory in block RAM, and its beat size, in bytes; (0, 0) without any.

        The beat is the widest of 16, 8 and 4 bytes that the core's engine can be built for, and no
        wider than its preset wants, but no narrower than those of the board's memory.

        Parameters
        ----------
        package, preset, params
            As of :meth:`make_soc`; ``params`` are overrides of the preset's.
        on_chip : int, optional
            Bytes; else the preset's.

        Raises
        ------
        BoardError
            The number is wrong, or main memory is all on chip anyway.
        ParameterError
            The engine can be built for no such beat.
        """
        from ..gateware.arguments import is_integer
        from ..gateware.isa.parameters import ParameterError
        from . import BoardError

        memory = self.memory
        if on_chip is None:
            on_chip = (
                0
                if package is None
                else package.params.SPACE.presets[preset or self.preset_for(package)].on_chip
            )
        if not is_integer(on_chip) or not 0 <= on_chip < memory.size or on_chip % 64:
            raise BoardError(
                f"on-chip memory of {self.name} = {on_chip}: expected a multiple of 64 bytes, "
                f"from 0 and "
                f"less than its {memory.size:,}"
            )
        if not on_chip:
            return 0, 0
        if not memory.is_chip:
            raise BoardError(
                f"on-chip memory of {self.name} = {on_chip}: expected 0, its main memory is "
                f"{memory.kind} already"
            )
        if package is None:
            return on_chip, 16
        preset = preset or self.preset_for(package)
        values = package.params.SPACE.resolve(preset, params)
        least = memory.suited(package, values, memory.size).beat(memory.size)
        beats = [beat for beat in (16, 8, 4) if beat >= least]
        most = max(package.params.SPACE.presets[preset].on_chip_beat or max(beats), least)
        for beat in beats:
            if beat <= most and takes_beats(package, values, beat, memory.size):
                return on_chip, beat
        raise ParameterError(
            f"{package.name} {preset} cannot have on-chip memory on {self.name}: its engine "
            f"supports no beats of {' or '.join(map(str, beats))} bytes"
        )

    def _check_baud(self, port, clock_hz):
        if port.kind == "uart" and clock_hz < 4 * port.baud:
            from . import BoardError

            raise BoardError(
                f"{self.name} cannot be built with a main clock of {clock_hz / 1e6:g} MHz: its "
                f"serial line of {port.baud:,} baud needs "
                f"{port.baud / 250_000:g} MHz at least"
            )

    def make_soc(
        self,
        *,
        package: CorePackage | None = None,
        preset: str | None = None,
        params: Mapping[str, Any] | None = None,
        clock_hz: int | None = None,
        family: str | None = "own",
        size: int | None = None,
        link: str | None = None,
        on_chip: int | None = None,
        run_list: bool = False,
        boot: bool = False,
    ) -> SoC:
        """Builds the SoC of this board, without its pins.

        Parameters
        ----------
        package, preset, params
            As of :class:`~quintet.gateware.soc.SoC`; without ``preset`` the first one that fits the
            board's FPGA.
        clock_hz : int, optional
            Requested main clock; else the default one. The SoC uses the frequency
            that the PLL really makes.
        family : str or None
            ``"own"``: the board's primitives; ``None``: behavioural models of them, for simulation.
        size : int, optional
            Bytes of main memory, where a simulation wants less than there is.
        link : str, optional
            ``"uart"``: our protocol; ``"uartbone"``: LiteX's, on the same wires; ``"usb"``: ours
            over USB; ``"spi"``: ours over SPI. The board's default one unless given.
        on_chip : int, optional
            Bytes of main memory in block RAM, from address 0; else the preset's.
        run_list : bool
            The SoC walks lists of runs; only with a core.
        boot : bool
            The SoC starts from flash memory; only with a core.

        Raises
        ------
        BoardError
            The board has not got that link, or no flash memory to start from, or its memory or its
            serial line cannot have that clock.
        ParameterError
            No preset fits, a parameter is wrong, or the core cannot have these sizes beside this
            board's memory, or its primitives in its FPGA.
        PLLError
            The PLL cannot make that clock within 1 %.
        """
        link = link or self.link.kind
        port = self.port_of(link)
        from ..gateware.isa.parameters import CAPACITIES, LACKS, ParameterError
        from ..gateware.primitives.pll import PLLError
        from ..gateware.shell.domains import requested_domain
        from ..gateware.soc import FlashBoot, SoC
        from .clocking import clocking

        resolved, domain = {}, None
        if package is not None:
            space = package.params.SPACE
            preset = preset or self.preset_for(package)
            resolved = space.resolve(preset, params)
            lacks = sorted(LACKS.get(self.fpga, set()) & set(space.presets[preset].needs))
            if lacks and family == "own" and not params:
                raise ParameterError(
                    f"{package.name} {preset} cannot be built for {self.name}: it needs "
                    f"{' and '.join(lacks)}, "
                    f"which its {self.fpga} does not have"
                )
        if boot and self.flash is None:
            from . import BoardError

            raise BoardError(
                f"{self.name} cannot start from flash memory: expected a board whose table names "
                f"it ({', '.join(boards_with_flash())})"
            )
        asked_hz = clock_hz or round(self.clock_for(package, preset) * 1e6)
        capacity = CAPACITIES[self.fpga] if family == "own" else None
        family = self.family if family == "own" else family
        size = size or self.memory.usable(package, resolved)
        backing = self.memory.suited(package, resolved, size)
        if package is not None:
            engine = package.core.variant(resolved, backing.beat(size))
            try:
                engine.check_capacity(resolved, capacity)
            except ValueError as error:
                raise ParameterError(
                    f"{package.name} {preset} cannot be built for {self.name}: {error}"
                ) from None
        beside = None
        on_chip, beat = self.on_chip_memory(package, preset, params, on_chip)
        if package is not None:
            domain = requested_domain(
                package.core.variant(resolved, beat or backing.beat(size)), resolved
            )
            beside = (
                domain.ratio
                if domain is not None and self.makes_beside_main(domain.ratio)
                else None
            )
        self._check_baud(port, asked_hz)
        try:
            clocks = clocking(self, asked_hz, beside, link)
            memory = backing.backing(clocking=clocks, family=family, size=size)
            if on_chip:
                from ..gateware.memory.onchip import OnChipMemory

                more = {}
                if package is not None:
                    more["outstanding"] = package.core.variant(resolved, beat).ON_CHIP_REQUESTS
                memory = OnChipMemory(
                    rest=memory, on_chip=on_chip, beat_bytes=beat, family=family, **more
                )
        except PLLError:
            raise
        except ValueError as error:
            from . import BoardError

            raise BoardError(
                f"{self.name} cannot be built with a main clock of {asked_hz / 1e6:g} MHz: {error}"
            ) from None
        self._check_baud(port, clocks.hz)
        try:
            return SoC(
                board_name=self.name,
                clock_hz=clocks.hz,
                memory=memory,
                package=package,
                preset=preset,
                params=None if params is None else dict(params),
                family=family,
                link=port.info | {"kind": link},
                uartbone=link == "uartbone",
                pipelined=self.family == "ecp5",
                shared_clock=domain is not None and beside is None,
                domain_hz=clocks.domain_hz if beside is not None else None,
                clocking=clocks,
                run_list=run_list,
                boot=FlashBoot(self.flash.image_at, self.flash.quad, self.flash.mixed)
                if boot and self.flash is not None
                else None,
            )
        except ParameterError:
            raise
        except ValueError as error:
            # Sizes that the core has, and not with this board's memory.
            if package is None:
                raise
            raise ParameterError(
                f"{package.name} {preset} cannot be built for {self.name}: {error}"
            ) from None


def boards_with_flash() -> list[str]:
    """Names of the boards that can start from flash memory."""
    from . import board_names, open_board

    return [name for name in board_names() if open_board(name).flash is not None]
