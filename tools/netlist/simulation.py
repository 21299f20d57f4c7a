# SPDX-License-Identifier: BSD-2-Clause
"""Python interface of the netlist simulator, which is compiled once and filled with a netlist."""

import ctypes
import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ...boards.virtual.board import REGISTER_FUNCTIONS, BoardConfig
from ...boards.virtual.cache import BuildCache
from ...boards.virtual.compile import CompileError
from ...boards.virtual.native import Functions, Native
from ...boards.virtual.toolchain import digest, find_compiler
from ...gateware.processes import run_child
from .netlist import HIGH, LOW, Netlist, NetlistError, Pad

__all__ = ["NetlistSimulation"]

_HERE = Path(__file__).resolve().parent / "cpp"
_ROOT = _HERE.parents[2]
_INCLUDE = (_ROOT / "gateware" / "memory" / "chips", _ROOT / "boards" / "virtual")
_HEADERS = (
    "async_sram.hpp",
    "chip_config.hpp",
    "register_exports.hpp",
    "register_record.hpp",
    "sdr_sdram.hpp",
    "spi_flash.hpp",
    "uart_line.hpp",
)
_FLAGS = ("-std=c++17", "-O2", "-shared", "-fPIC", "-w")
#: Kinds of hard cells, in the order of ``simulator.cpp``.
_KINDS = ("DP16KD", "SB_RAM40_4K", "SB_SPRAM256KA", "MULT18X18D", "SB_MAC16")
_U32, _U64, _DOUBLE, _H, _INT = (
    ctypes.c_uint32,
    ctypes.c_uint64,
    ctypes.c_double,
    ctypes.c_void_p,
    ctypes.c_int,
)
_FUNCTIONS: Functions = {
    "netlist_new": (_H, [_U32, _U64, _INT]),
    "netlist_delete": (None, [_H]),
    "netlist_error": (ctypes.c_char_p, [_H]),
    "netlist_cycle": (_U64, [_H]),
    "netlist_luts": (None, [_H, _U32, _H, _H]),
    "netlist_flops": (None, [_H, _U32, _H]),
    "netlist_writers": (None, [_H, _U32, _H]),
    "netlist_cell": (None, [_H, _INT, _U32, _H, _H, _H]),
    "netlist_level": (None, [_H, _U32, _INT]),
    "netlist_clock": (None, [_H, _U32, _DOUBLE, _DOUBLE, _DOUBLE, _DOUBLE, _U64]),
    "netlist_lock": (None, [_H, _U32, _DOUBLE]),
    "netlist_pads": (None, [_H, _INT, _U32, _H, _H, _H]),
    "netlist_line": (None, [_H, _DOUBLE]),
    "netlist_sram": (None, [_H, _U32, _INT]),
    "netlist_sdram": (None, [_H, ctypes.POINTER(BoardConfig)]),
    "netlist_flash": (None, [_H, ctypes.c_char_p, _U64, _U64, _U64]),
    "netlist_finish": (_INT, [_H]),
    "netlist_seen": (None, [_H, _H]),
    "netlist_rows": (_U32, [_H, _U32, _H]),
    "netlist_get": (_INT, [_H, _U32]),
    "netlist_set": (None, [_H, _U32, _INT]),
    "netlist_rises": (_DOUBLE, [_H]),
    "netlist_state": (_U64, [_H]),
    "netlist_keep_trail": (None, [_H]),
    "netlist_trail": (_U64, [_H, _H]),
    "netlist_follow": (None, [_H, _U64, _U64, _H]),
    "netlist_differences": (None, [_H, ctypes.POINTER(_U64 * 3)]),
    "netlist_copy_after": (None, [_H, _U64, _H]),
    "netlist_copy": (_INT, [_H, _U64, _H]),
    **REGISTER_FUNCTIONS,
    "netlist_watch": (None, [_H, _U64, _H, _H]),
    "board_run": (_U64, [_H, _U64, _U64, _U64]),
    "board_write": (None, [_H, ctypes.c_char_p, _U64]),
    "board_read": (_U64, [_H, ctypes.c_char_p, _U64]),
    "board_available": (_U64, [_H]),
    "board_forget": (None, [_H]),
    "board_busy": (_INT, [_H]),
    "board_fault": (_INT, [_H]),
    "board_framing_errors": (_U64, [_H]),
    "board_refreshes": (_U64, [_H]),
    "board_waiting": (_U64, [_H]),
    "board_chip": (_H, [_H, ctypes.POINTER(_U64)]),
}


def _library(cache):
    """The compiled simulator library, cached by its sources, the compiler and the flags."""
    compiler = find_compiler()
    sources = {
        path.name: path.read_bytes()
        for path in sorted([*_HERE.glob("*.hpp"), _HERE / "simulator.cpp"])
    }
    sources |= {
        name: next(folder / name for folder in _INCLUDE if (folder / name).is_file()).read_bytes()
        for name in _HEADERS
    }

    def build(folder):
        for name, data in sources.items():
            (folder / name).write_bytes(data)
        done = run_child(
            [*compiler.command, *_FLAGS, "-I.", "simulator.cpp", "-o", "library.so"],
            cwd=folder,
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise CompileError(
                "\n".join(
                    [f"{compiler.command[0]} failed:", *done.stderr.strip().splitlines()[-15:]]
                )
            )

    cache = cache if isinstance(cache, BuildCache) else BuildCache(cache)
    folder, _ = cache.entry(
        "netlist-"
        + digest(compiler.identity, *_FLAGS, *(x for pair in sources.items() for x in pair)),
        build,
    )
    return folder / "library.so"


def _array(rows, kind=np.uint32):
    return np.ascontiguousarray(rows, dtype=kind)


class NetlistSimulation(Native):
    """A simulation of one netlist, a context manager; ``close`` frees it.

    Parameters
    ----------
    netlist : Netlist
    seed : int, of everything that a chip does not define: contents of memories,
        floating nets, reads that meet a write; ``None``: all this is as a virtual board has it,
        zeros and data that are turned over
    cache : BuildCache or folder

    Raises
    ------
    NetlistError
        A net is driven by itself.
    ToolMissing, CompileError
        There is no C++ compiler, or it refuses the simulator.
    """

    PREFIX = "netlist"

    def __init__(
        self, netlist: Netlist, seed: int | None = 1, cache: BuildCache | str | Path | None = None
    ) -> None:
        super().__init__(_library(cache), _FUNCTIONS)
        self.netlist = netlist
        self._handle = self.c.netlist_new(netlist.nets, seed or 0, seed is None)
        self._random = random.Random(seed) if seed is not None else None
        self._fill(netlist)

    def _fill(self, netlist):
        if netlist.luts:
            rows, tables = (
                _array([row for _, row, _ in netlist.luts]),
                _array([table for _, _, table in netlist.luts], np.uint16),
            )
            self.c.netlist_luts(self._handle, len(rows), rows.ctypes.data, tables.ctypes.data)
        if netlist.flops:
            rows = _array([row for _, row in netlist.flops])
            self.c.netlist_flops(self._handle, len(rows), rows.ctypes.data)
        if netlist.writers:
            rows = _array(netlist.writers)
            self.c.netlist_writers(self._handle, len(rows), rows.ctypes.data)
        for cell in netlist.cells:
            pins, parameters = _array(cell.pins), _array(cell.parameters or (0,), np.int64)
            contents = _array([self._word(word) for word in cell.contents] or (0,))
            self.c.netlist_cell(
                self._handle,
                _KINDS.index(cell.kind),
                len(pins),
                pins.ctypes.data,
                parameters.ctypes.data,
                contents.ctypes.data,
            )
        for net in netlist.undefined:
            self.c.netlist_level(
                self._handle, net, self._random.getrandbits(1) if self._random else 0
            )

    def _word(self, bits):
        return int(
            "".join(
                (self._random.choice("01") if self._random else "0") if bit == "x" else bit
                for bit in bits
            ),
            2,
        )

    def finish(self) -> None:
        """Ends the construction: evaluates all cells once."""
        if self.c.netlist_finish(self.handle):
            net = int(self.c.netlist_error(self.handle))
            name = next((name for name, row, _ in self.netlist.luts if row[4] == net), None)
            name = name or next(
                (cell.name for cell in self.netlist.cells if net in cell.pins), "a cell"
            )
            raise NetlistError(f"{name}: its output depends on itself without a register between")

    def pads(self, role: int, pads: Sequence[Pad]) -> None:
        """Connects a role (:data:`~.pins.ROLES`) to pads."""
        nets = [
            _array([getattr(pad, name) for pad in pads]) for name in ("drives", "enable", "sees")
        ]
        self.c.netlist_pads(self.handle, role, len(pads), *(each.ctypes.data for each in nets))

    def seen(self) -> np.ndarray:
        """uint16 [tables]: input combinations that each look-up table has had, bit 8 d + 4 c + 2 b
        + a."""
        masks = np.zeros(len(self.netlist.luts), np.uint16)
        self.c.netlist_seen(self.handle, masks.ctypes.data)
        return masks

    def rows_read(self, cell: int) -> np.ndarray:
        """Rows of hard cell number ``cell`` whose initial contents have been read, bool [rows];
        empty if it is not a block RAM."""
        rows = np.zeros(512, np.uint8)
        return rows[: self.c.netlist_rows(self.handle, cell, rows.ctypes.data)].astype(bool)

    def get(self, net: int) -> bool:
        """Level of a net."""
        return net == HIGH if net in (LOW, HIGH) else bool(self.c.netlist_get(self.handle, net))

    def set(self, net: int, level: bool) -> None:
        """Sets an undriven net, for tests of cells, and evaluates its users."""
        self.c.netlist_set(self.handle, net, int(level))
