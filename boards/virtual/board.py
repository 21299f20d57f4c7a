# SPDX-License-Identifier: BSD-2-Clause
"""Virtual board: the compiled SoC of a bitstream, connected to models of the memory chip and of the
host's wires."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ...gateware.cores import open_core
from ...gateware.link.spi import SPILink
from ...gateware.link.spi_format import SPI_HZ
from ...gateware.memory.ddr3.sequencer import start_cycles
from .. import open_board
from ..board import UARTLink
from ..clocking import Clocking
from .compile import build_library
from .native import Functions, SimulatedBoard
from .simulation import Simulation
from .sources import made_from
from .top import VirtualTop

if TYPE_CHECKING:
    from typing_extensions import Self

    from ...gateware.cores import CorePackage
    from ...gateware.memory.ddr3.parts import DDR3Part
    from ...gateware.memory.sdram.parts import SDRAMPart
    from ...gateware.memory.sdram.phase import ClockPath
    from ...gateware.soc import SoC
    from ..board import Board
    from .cache import BuildCache
    from .compile import Library

__all__ = [
    "DDR3_WAITS",
    "REGISTER_FUNCTIONS",
    "BoardConfig",
    "BoardSimulation",
    "FlashContents",
    "VirtualBoard",
    "VirtualPipe",
    "VirtualSPI",
    "describe_chip",
    "describe_ddr3",
    "open_virtual",
]

#: A read returns the received bytes once the board has been silent for so many cycles (of the byte
#: pipe;
#: wires: two bytes' time).
SILENCE = 64
#: Model of the host's side of SPI wires. Among the other headers it would be part of every library.
_SPI = Path(__file__).resolve().parent / "spi"
_CHIPS = Path(__file__).resolve().parents[2] / "gateware" / "memory" / "chips"
_U32, _U64, _I64, _H = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_int64, ctypes.c_void_p
_PARTS = ("data_bits", "bank_bits", "row_bits", "column_bits", "t_mrd")
_TIMES = ("t_rcd", "t_rp", "t_ras", "t_rc", "t_rfc", "t_wr", "t_rrd", "t_ras_max")
#: Waits of LiteDRAM's controller in cycles, as ``ddr3_config`` of ``chip_config.hpp`` takes them.
DDR3_WAITS = (
    "t_rp",
    "t_rcd",
    "t_wr",
    "t_refi",
    "t_rfc",
    "t_wtr",
    "t_ccd",
    "t_rc",
    "t_ras",
    "read",
    "write",
)
_PHASES = ("t_is", "t_ih", "t_ac2", "t_ac3", "t_oh")


class BoardConfig(ctypes.Structure):
    """Configuration of a harness: the memory chip and the serial line (``chip_config.hpp``)."""

    _fields_ = [
        ("cycles_per_bit", ctypes.c_double),
        *((name, _U32) for name in _PARTS),
        *((name, _U64) for name in ("period_ps", "cl2_period_ps", "cl3_period_ps")),
        *((f"{name}_ps", _U64) for name in _TIMES),
        ("powerup_ps", _U64),
        ("refresh_ps", _U64),
        *((f"{name}_ps", _I64) for name in _PHASES),
        ("rises_ps", _I64 * 2),
        ("returns_ps", _I64 * 2),
        ("address_bits", _U32),
        ("too_fast", _U32),
        ("reset_cycles", _U32),
        ("ddr3_cycles", _U32 * len(DDR3_WAITS)),
        ("ddr3_ready", _U32),
        ("ddr3_fails", _U32),
    ]


def describe_chip(config: BoardConfig, soc: SoC, part: SDRAMPart, path: ClockPath) -> None:
    """Sets the geometry and timing of an SDRAM ``part`` of ``soc`` in ``config``, for the delays
    ``path`` (ClockPath)."""
    for name in _PARTS:
        setattr(config, name, getattr(part, name))
    for name in (*_TIMES, *_PHASES):
        setattr(config, f"{name}_ps", round(getattr(part, name) * 1000))
    for name in ("rises", "returns"):
        setattr(config, f"{name}_ps", (_I64 * 2)(*(round(1000 * ns) for ns in getattr(path, name))))
    # Rounded up: a period a fraction of a picosecond short must not break a rule.
    config.period_ps = -int(-1e12 // (soc.sdram_rate * soc.clock_hz))
    config.cl2_period_ps, config.cl3_period_ps = int(1e6 / part.cl2_mhz), int(1e6 / part.cl3_mhz)
    config.powerup_ps = int(soc.backing.powerup_ns * 1000)
    config.refresh_ps = int(part.t_refi * 1000)


def describe_ddr3(config: BoardConfig, soc: SoC, part: DDR3Part, fails: bool = False) -> None:
    """Sets the geometry and the controller's waits of a DDR3 ``part`` of ``soc`` in ``config``;
    ``fails``: its read delays cannot be set."""
    timing = part.timing(soc.clock_hz)
    config.row_bits, config.bank_bits = part.row_bits, part.bank_bits
    config.column_bits = part.column_bits
    config.ddr3_cycles = (_U32 * len(DDR3_WAITS))(*(getattr(timing, name) for name in DDR3_WAITS))
    config.ddr3_ready, config.ddr3_fails = start_cycles(soc.clock_hz), fails


#: Exports of a library that records registers (``register_exports.hpp``).
REGISTER_FUNCTIONS: Functions = {
    "registers_keep": (None, [_H]),
    "registers_sums": (_U64, [_H, _H]),
    "registers_expect": (None, [_H, _U64, _U64, _H]),
    "registers_differ": (_U64, [_H]),
    "registers_copy": (None, [_H, _U64, _H]),
    "registers_copies": (_U64, [_H, _H]),
    "registers_levels": (None, [_H, _H]),
}


#: Exports of a library with flash memory.
FLASH_FUNCTIONS: Functions = {
    "board_flash": (None, [_H, ctypes.c_char_p, _U64, _U64, _U64, _U64, ctypes.c_int]),
    "board_flash_read": (_U64, [_H]),
    "board_ready": (ctypes.c_int, [_H]),
    "board_blink": (ctypes.c_int, [_H]),
}


#: Exports of a library with SPI wires.
SPI_FUNCTIONS: Functions = {
    "board_spi": (None, [_H, ctypes.c_double, ctypes.c_double, _U64]),
    "board_spi_transfer": (None, [_H, ctypes.c_char_p, ctypes.c_char_p, _U64]),
    "board_spi_wait": (None, [_H, _U64]),
}


@dataclass(frozen=True)
class FlashContents:
    """Contents of a virtual board's flash memory: a plan ``image`` at its address, all else erased.
    ``dies_after``: bytes that are read until it loses its power; ``quad``: the chip's four data
    lines are enabled by status register 2."""

    image: bytes = b""
    dies_after: int | None = None
    quad: bool = True


class BoardSimulation(Simulation):
    """The compiled design of one virtual board (``board.cpp``)."""

    FUNCTIONS: Functions = {
        "board_configure": (None, [_H, ctypes.POINTER(BoardConfig)]),
        "board_run": (_U64, [_H, _U64, _U64, _U64]),
        "board_write": (None, [_H, ctypes.c_char_p, _U64]),
        "board_read": (_U64, [_H, ctypes.c_char_p, _U64]),
        "board_waiting": (_U64, [_H]),
        "board_available": (_U64, [_H]),
        "board_forget": (None, [_H]),
        "board_wires": (None, [_H, _U64, _U64, ctypes.c_uint, ctypes.c_uint]),
        "board_stick": (None, [_H, ctypes.c_void_p, _U32, _U32]),
        "board_timeline": (None, [_H, ctypes.c_void_p, _U64, _U64, _U64, _U64]),
        "board_slices": (ctypes.c_void_p, [_H, ctypes.POINTER(_U64), ctypes.POINTER(_U64)]),
        "board_busy": (ctypes.c_int, [_H]),
        "board_fault": (ctypes.c_int, [_H]),
        "board_framing_errors": (_U64, [_H]),
        "board_chip": (ctypes.c_void_p, [_H, ctypes.POINTER(_U64)]),
        "board_chip_counts": (None, [_H, ctypes.POINTER(_U64 * 5)]),
    }

    def __init__(self, library: Library, flash: bool = False, spi: bool = False) -> None:
        if flash:
            self.FUNCTIONS = {**self.FUNCTIONS, **FLASH_FUNCTIONS}
        if spi:
            self.FUNCTIONS = {**self.FUNCTIONS, **SPI_FUNCTIONS}
        if library.registers is not None:
            self.FUNCTIONS = {
                **self.FUNCTIONS,
                **REGISTER_FUNCTIONS,
                "registers_watch": (None, [_H, _U64, _U64, _H, _H, _H]),
            }
        super().__init__(library)


class VirtualPipe:
    """Link of a virtual board, in the form that ``LinkClient`` uses (docs/how/contracts.md, section
    5).

    Time is the board's: :meth:`now` counts simulated seconds, and they pass only inside
    :meth:`read` and :meth:`sleep`, so that a run is the same every time, on every machine.

    Attributes
    ----------
    name : str
    bytes_per_second : float, or ``None`` for the byte pipe
    served : False; no server reports the time
    silence : int, cycles without a byte after which a read returns
    epoch : int, cycle from which :meth:`now` counts
    """

    served: bool = False

    def __init__(self, board: SimulatedBoard, name: str, bytes_per_second: float | None) -> None:
        self._board = board
        self.name = name
        self.epoch = 0
        self.bytes_per_second = bytes_per_second
        bit = board.clock_hz / bytes_per_second / 10 if bytes_per_second else 0
        self.silence = max(SILENCE, int(20 * bit))

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Sends bytes to the board. No time passes; they are queued until it accepts them."""
        data = bytes(data)
        simulation = self._board.simulation
        simulation.c.board_write(simulation.handle, data, len(data))

    def read(self, limit: int, timeout: float) -> bytes:
        """Reads at most ``limit`` bytes; simulates until the first arrives, at most ``timeout``
        simulated seconds."""
        simulation = self._board.simulation
        if not simulation.c.board_available(simulation.handle):
            self._board.advance(
                max(1, round(timeout * self._board.clock_hz)), wanted=limit, silence=self.silence
            )
        return self.take(limit)

    def take(self, limit: int = 1 << 16) -> bytes:
        """Reads at most ``limit`` of the bytes that the board has already sent; no time passes."""
        simulation = self._board.simulation
        buffer = ctypes.create_string_buffer(limit)
        count = simulation.c.board_read(simulation.handle, buffer, limit)
        return buffer.raw[:count]

    def forget(self) -> None:
        """Discards queued bytes in both directions, as if the cable were unplugged. The board still
        answers bytes that it has accepted."""
        simulation = self._board.simulation
        simulation.c.board_forget(simulation.handle)

    def sleep(self, seconds: float) -> None:
        """Simulates ``seconds``."""
        self._board.advance(max(1, round(seconds * self._board.clock_hz)))

    def now(self) -> float:
        """Simulated seconds since power-up, or since :attr:`epoch`."""
        return (self._board.simulation.cycle - self.epoch) / self._board.clock_hz

    def close(self) -> None:
        """Switches the board off."""
        self._board.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


class VirtualSPI:
    """Host side of a virtual board's SPI wires; time is the board's, as for :class:`VirtualPipe`.

    Attributes
    ----------
    name : str
    hz : int, of the clock
    """

    def __init__(self, board: VirtualBoard, name: str) -> None:
        self._board, self.name = board, name
        self.clock(SPI_HZ)

    def clock(self, hz: int, jitter: float = 0.1, seed: int = 1) -> None:
        """Sets the clock's frequency, and the greatest delay of its edges as a fraction of half a
        period."""
        self.hz = hz
        simulation = self._board.simulation
        simulation.c.board_spi(simulation.handle, self._board.clock_hz / (2 * hz), jitter, seed)

    def transfer(self, data: bytes) -> bytes:
        """Selects the board and exchanges bytes with it."""
        simulation = self._board.simulation
        buffer = ctypes.create_string_buffer(len(data))
        simulation.c.board_spi_transfer(simulation.handle, data, buffer, len(data))
        simulation.check()
        return buffer.raw

    def wait(self, seconds: float) -> None:
        """Waits until the board signals that it has bytes for the host, at most ``seconds``."""
        simulation = self._board.simulation
        cycles = max(1, round(seconds * self._board.clock_hz))
        simulation.c.board_spi_wait(simulation.handle, cycles)
        simulation.check()

    def sleep(self, seconds: float) -> None:
        """Simulates ``seconds``."""
        self._board.pipe.sleep(seconds)

    def now(self) -> float:
        """Simulated seconds."""
        return self._board.pipe.now()

    def close(self) -> None:
        """Switches the board off."""
        self._board.close()


class VirtualBoard(SimulatedBoard):
    """A running virtual board, created by :func:`open_virtual`.

    Attributes
    ----------
    pipe : :class:`VirtualPipe`; with link ``spi`` it only counts and advances the time
    spi : :class:`VirtualSPI`, or ``None`` without such a link
    soc : SoC
    clock_hz : int
    simulation : :class:`BoardSimulation`
    library : :class:`~.compile.Library`

    ``made_from`` is as of :func:`~.compile.build_library`: only who made ``soc`` knows.
    ``reset_cycles``: int, that the reset at power-up lasts. ``before``: callable(BoardSimulation)
    called before it; then the library has its registers. ``flash`` : of a SoC that starts from it;
    erased unless given.
    """

    def __init__(
        self,
        *,
        board: Board,
        soc: SoC,
        link: str = "bytes",
        trace: str | Path | tuple[str | Path, int] | None = None,
        cache: BuildCache | str | Path | None = None,
        progress: Callable[[str], object] | None = None,
        part_changes: Mapping[str, Any] | None = None,
        path: ClockPath | None = None,
        made_from: Callable[[], str | None] | None = None,
        reset_cycles: int = 4,
        before: Callable[[BoardSimulation], object] | None = None,
        flash: FlashContents | None = None,
    ) -> None:
        if link not in ("bytes", "wire", "uartbone", "spi"):
            raise ValueError(f"link = {link!r}: expected bytes, wire, uartbone or spi")
        port = board.port_of("uart") if link == "wire" else None
        baud = port.baud if isinstance(port, UARTLink) else None
        self.soc, self.clock_hz = soc, soc.clock_hz
        with_spi = link == "spi"
        spi = SPILink(small=board.family == "ice40") if with_spi else None
        top = VirtualTop(soc=soc, baud=baud, spi=spi)
        self.library = build_library(
            top,
            harness="board.cpp",
            include=[*([_CHIPS] if top.part or soc.boot else []), *([_SPI] if with_spi else [])],
            trace=trace is not None,
            cache=cache,
            progress=progress,
            made_from=made_from,
            registers=before is not None,
            title=(
                f"{soc.package.name if soc.package else 'a SoC'} {soc.preset or 'without a core'} "
                f"for {board.name}"
            ),
            defines={
                # Edges of the chip's clock in a cycle of the main clock.
                "BOARD_SDRAM": soc.sdram_rate if soc.backing.kind == "SDRAM" else 0,
                "BOARD_WIRE": int(baud is not None),
                "BOARD_SRAM": int(soc.backing.kind == "SRAM"),
                "BOARD_DDR3": int(soc.backing.kind == "DDR3"),
                **({"BOARD_FLASH": 1} if soc.boot is not None else {}),
                **({"BOARD_SPI": 1} if with_spi else {}),
            },
        )
        self.simulation = BoardSimulation(self.library, flash=soc.boot is not None, spi=with_spi)
        if soc.boot is not None:
            self._insert_flash(board, flash or FlashContents())
        if soc.domain is not None:
            self.simulation.second_clock(soc.domain.ratio)
        if trace is not None:
            file, start = (trace, 0) if isinstance(trace, (str, Path)) else trace
            self.simulation.trace(file, start)
        config = BoardConfig(cycles_per_bit=soc.clock_hz / baud if baud else 1)
        if soc.backing.kind == "SRAM" and top.part is not None:
            config.address_bits = top.part.address_bits
            config.too_fast = soc.clock_hz > replace(top.part, **(part_changes or {})).max_hz
        elif soc.backing.kind == "DDR3" and top.part is not None:
            changes = dict(part_changes or {})
            fails = changes.pop("fails", False)
            describe_ddr3(config, soc, replace(top.part, **changes), fails)
        elif top.part is not None:
            known = cast(Clocking, soc.clocking).sdram
            assert known is not None
            # Changes, or another path of the clock, make a chip that differs from the controller's
            # settings (tests).
            describe_chip(
                config,
                soc,
                replace(top.part, **(part_changes or {})),
                path or known.path,
            )
        config.reset_cycles = self.reset_cycles = reset_cycles
        if before is not None:
            before(self.simulation)
        self.simulation.c.board_configure(self.simulation.handle, config)
        name = f"sim:{board.name}/{soc.package.name if soc.package else 'none'}"
        self.pipe = VirtualPipe(self, name, baud / 10 if baud else None)
        self.spi = VirtualSPI(self, name) if with_spi else None

    def _insert_flash(self, board, flash):
        boot = self.soc.boot
        contents = b"\xff" * boot.image_at + flash.image
        if len(contents) > board.flash.size:
            raise ValueError(
                f"flash memory of {board.name}: an image of {len(flash.image)} bytes at "
                f"{boot.image_at:#x}: expected at most {board.flash.size - boot.image_at}"
            )
        self.simulation.c.board_flash(
            self.simulation.handle,
            contents,
            len(contents),
            board.flash.size,
            -int(-1e12 // self.clock_hz),
            (1 << 64) - 1 if flash.dies_after is None else flash.dies_after,
            flash.quad,
        )

    @property
    def ready(self) -> bool:
        """Whether a plan image was read from flash memory, as its LED shows."""
        return self.soc.boot is not None and bool(
            self.simulation.c.board_ready(self.simulation.handle)
        )

    @property
    def blink(self) -> bool:
        """State of the LED that shows why a plan image was refused."""
        return self.soc.boot is not None and bool(
            self.simulation.c.board_blink(self.simulation.handle)
        )

    @property
    def busy(self) -> bool:
        """Whether the core is busy, as its LED shows."""
        return bool(self.simulation.c.board_busy(self.simulation.handle))

    @property
    def fault(self) -> bool:
        """Whether the last run ended in a fault, as its LED shows."""
        return bool(self.simulation.c.board_fault(self.simulation.handle))

    @property
    def chip_counts(self) -> dict[str, int]:
        """Number of commands that the memory chip has received, by name."""
        counts = (_U64 * 5)()
        self.simulation.c.board_chip_counts(self.simulation.handle, counts)
        return dict(
            zip(("activates", "precharges", "reads", "writes", "refreshes"), counts, strict=True)
        )

    @property
    def refreshes(self) -> int:
        """Number of refreshes that an SDRAM has received."""
        return self.chip_counts["refreshes"]

    # Faults, for tests of fault detection

    def spoil_wires(
        self, *, stuck_at_0: int = 0, stuck_at_1: int = 0, exchanged: tuple[int, int] = (0, 0)
    ) -> None:
        """Injects faults into the wires to the memory chip: masks of data lines that are stuck at 0
        or 1, and two swapped address lines."""
        self.simulation.c.board_wires(
            self.simulation.handle, ~stuck_at_0 & (1 << 64) - 1, stuck_at_1, *exchanged
        )

    def stick(self, path: str, word: int, bit: int, value: int) -> None:
        """Forces a bit of a memory of the design (named as for
        :meth:`~.simulation.Simulation.memory_at`) to ``value``."""
        cells = self.simulation.memory_at(path)
        mask = 1 << bit % 32
        self.simulation.c.board_stick(
            self.simulation.handle, cells[word, bit // 32 :].ctypes.data, mask, mask * value
        )


def open_virtual(
    board: str | Board,
    isa: str | CorePackage | None,
    preset: str | None = None,
    params: Mapping[str, Any] | None = None,
    link: str = "bytes",
    trace: str | Path | tuple[str | Path, int] | None = None,
    *,
    clock_hz: int | None = None,
    cache: BuildCache | str | Path | None = None,
    progress: Callable[[str], object] | None = None,
    on_chip: int | None = None,
    run_list: bool = False,
    flash: FlashContents | None = None,
) -> VirtualBoard:
    """Compiles and starts a virtual board.

    Parameters
    ----------
    board : name of a board, or a Board
    isa : name of an ISA, a CorePackage, or ``None`` for a SoC without a core
    preset, params : of the core; without ``preset`` the board's default
    link : ``"bytes"``: the host's bytes go straight to the link; ``"wire"``: through the UART,
        bit by bit, at the board's rate; ``"uartbone"``: straight to a link that speaks LiteX's
        UARTBone; ``"spi"``: through the SPI link, edge by edge
    trace : path of a VCD (or, ending in ``.fst``, of an FST), or (path, first cycle)
    clock_hz : main clock, for the memory chip's timing; by default the board's
    cache, progress : as of :func:`~.compile.build_library`
    on_chip : bytes of main memory in block RAM; by default the preset's
    run_list : the SoC walks lists of runs
    flash : the SoC starts from flash memory with these contents

    Returns
    -------
    VirtualBoard

    Raises
    ------
    BoardError, CoreError, ParameterError
        No such board, ISA, preset or size.
    ToolMissing, CompileError
        It cannot be compiled.
    """
    board = open_board(board) if isinstance(board, str) else board
    package = open_core(isa) if isinstance(isa, str) else isa
    soc = board.make_soc(
        package=package,
        preset=preset,
        params=params,
        clock_hz=clock_hz,
        family=None,
        link=link if link in ("uartbone", "spi") else None,
        on_chip=on_chip,
        run_list=run_list,
        boot=flash is not None,
    )
    return VirtualBoard(
        board=board,
        soc=soc,
        link=link,
        trace=trace,
        cache=cache,
        progress=progress,
        flash=flash,
        made_from=lambda: made_from(
            board,
            package,
            preset=soc.preset,
            params=soc.params,
            clock_hz=soc.clock_hz,
            link=link,
            on_chip=soc.on_chip,
            run_list=soc.run_list,
            boot=soc.boot,
        ),
    )
