# SPDX-License-Identifier: BSD-2-Clause
"""Python interface of a compiled design: ports by name, cycles, traces."""

from __future__ import annotations

import ctypes
import os
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .compile import Library, build_library, mangle
from .fst import check_fst, write_fst
from .native import Functions, Native, SimulationError
from .views import view_files, write_views

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Simulation", "SimulationError", "TraceError"]

_C: Functions = {
    "quintet_new": (ctypes.c_void_p, []),
    "quintet_delete": (None, [ctypes.c_void_p]),
    "quintet_cycle": (ctypes.c_uint64, [ctypes.c_void_p]),
    "quintet_error": (ctypes.c_char_p, [ctypes.c_void_p]),
    "quintet_clear_error": (None, [ctypes.c_void_p]),
    "quintet_end_trace": (ctypes.c_int, [ctypes.c_void_p]),
    "quintet_trace_error": (ctypes.c_int, [ctypes.c_void_p]),
    "quintet_trace": (ctypes.c_int, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint64]),
    "quintet_clocks": (None, [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64]),
    "quintet_settle": (None, [ctypes.c_void_p]),
    "quintet_port": (ctypes.c_int, [ctypes.c_char_p]),
    "quintet_set": (None, [ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p]),
    "quintet_memory": (ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_char_p]),
    "quintet_get": (None, [ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p]),
}


class TraceError(SimulationError):
    """Error: a trace cannot be written."""


class Simulation(Native):
    """One instance of a compiled design.

    Parameters
    ----------
    library : :class:`~.compile.Library`
    functions : dict, name -> (result type,
        argument types) of the harness's exports beyond the common functions

    Several instances of one library may live at the same time. ``close`` frees an instance; it is a
    context manager.
    """

    FUNCTIONS: Functions = {"quintet_step": (None, [ctypes.c_void_p, ctypes.c_uint64])}

    def __init__(self, library: Library) -> None:
        self.library = library
        self.ports = library.ports
        self._traced: tuple[Path, Path] | None = None
        self._lost: TraceError | None = None
        super().__init__(library.path, {**_C, **self.FUNCTIONS})
        self._handle = self.c.quintet_new()
        self._index = {name: self.c.quintet_port(name.encode()) for name in self.ports}
        self._settled = False

    @classmethod
    def build(cls, top: Any, **options: Any) -> Self:
        """Compiles ``top`` (:func:`~.compile.build_library`) and opens it."""
        return cls(build_library(top, **options))

    def clear_error(self) -> None:
        """Clears the record of a violated rule."""
        self.c.quintet_clear_error(self.handle)

    def _port(self, name, direction=None):
        if name not in self.ports:
            raise KeyError(f"no port {name!r}; there are {', '.join(self.ports)}")
        kind, width = self.ports[name]
        if direction is not None and kind != direction:
            raise ValueError(f"port {name} is an {kind}")
        return self._index[name], width

    def port_number(self, name: str) -> int:
        """Number by which a harness's functions identify a port."""
        return self._port(name)[0]

    def set(self, name: str, value: int) -> None:
        """Drives an input with an integer (its low bits)."""
        index, width = self._port(name, "input")
        words = (width + 31) // 32
        data = (value & ((1 << width) - 1)).to_bytes(words * 4, "little")
        self.c.quintet_set(self.handle, index, data)
        self._settled = False

    def get(self, name: str) -> int:
        """Value of a port as an integer, with combinational outputs settled."""
        if not self._settled:
            self.c.quintet_settle(self.handle)
            self._settled = True
        index, width = self._port(name)
        data = ctypes.create_string_buffer((width + 31) // 32 * 4)
        self.c.quintet_get(self.handle, index, data)
        return int.from_bytes(data.raw, "little") & ((1 << width) - 1)

    def memory_at(self, path: str) -> np.ndarray:
        """Contents of the memory at ``path`` (submodule names and its own, joined by dots),
        writable between two steps.

        uint32 [depth, 32-bit words of an entry], a view of the simulation's own; it lives as long
        as that.
        """
        name = mangle(path)
        if name not in self.library.memories:
            raise KeyError(
                f"no memory {path!r}; there are {', '.join(self.library.memories) or 'none'}"
            )
        width, depth = self.library.memories[name]
        address = self.c.quintet_memory(self.handle, name.encode())
        shape = depth, (width + 31) // 32
        return np.ctypeslib.as_array(ctypes.cast(address, ctypes.POINTER(ctypes.c_uint32)), shape)

    def second_clock(self, ratio: Fraction) -> None:
        """Sets the second clock's frequency, if the design has one, as a multiple of the main
        clock's (1 by default)."""
        self.c.quintet_clocks(self.handle, ratio.numerator, ratio.denominator)

    def step(self, count: int = 1) -> None:
        """Simulates ``count`` rising edges of the main clock."""
        self.c.quintet_step(self.handle, count)
        self._settled = False
        self.check()

    def trace(self, path: str | Path, from_cycle: int = 0) -> None:
        """Writes a trace from cycle ``from_cycle`` on; only for libraries built with
        ``trace=True``.

        A VCD; if the name ends in ``.fst``, an FST, which is made of a VCD beside it when the
        simulation is closed. Save files for viewers (:mod:`.views`) are written beside it then.

        Raises
        ------
        TraceError
            Built without traces, already tracing, or not writable.
        ToolMissing
            Nothing here can write an FST.
        """
        path = Path(path)
        compressed = path.suffix == ".fst"
        if compressed:
            check_fst()
        vcd = path.with_suffix(".fst.vcd") if compressed else path
        if not self.c.quintet_trace(self.handle, str(vcd).encode(), from_cycle):
            raise TraceError(
                f"cannot trace to {path}: built without traces, already tracing, or not writable"
            )
        self._traced = vcd, path

    def check(self) -> None:
        """Raises the error of the first violated rule, if any; :class:`TraceError` if the trace
        could not be written (a full disk), whose files are then removed."""
        if number := self.c.quintet_trace_error(self.handle):
            raise self._trace_lost(os.strerror(number))
        super().check()

    def close(self) -> None:
        """Frees the instance and completes its trace."""
        if self._handle is None:
            return
        number = self.c.quintet_end_trace(self.handle)
        super().close()
        if self._traced is None:
            return
        if number:
            raise self._trace_lost(os.strerror(number))
        vcd, path = self._traced
        try:
            write_views(vcd, path)
            if vcd != path:
                write_fst(vcd, path)
                vcd.unlink()
        except (OSError, RuntimeError) as error:
            raise self._trace_lost(getattr(error, "strerror", None) or str(error)) from None

    def _trace_lost(self, reason):
        """Error of a trace that cannot be written, whose files are removed."""
        if self._traced is not None:
            vcd, path = self._traced
            for part in (vcd, path, *view_files(path)):
                # Never a device or a link that stands in its place.
                if part.is_file() and not part.is_symlink():
                    part.unlink()
            self._traced, self._lost = None, f"cannot write the trace {path}: {reason}"
        return TraceError(self._lost)
