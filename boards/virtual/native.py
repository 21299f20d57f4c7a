# SPDX-License-Identifier: BSD-2-Clause
"""Python interface of an object in a compiled library, and the base class of simulated boards."""

from __future__ import annotations

import ctypes
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from typing_extensions import Self

    from ...gateware.soc import SoC
    from .board import VirtualPipe

    pass

__all__ = ["Functions", "Native", "SimulatedBoard", "SimulationError"]


#: Functions of a library: name -> (result type, argument types).
Functions: TypeAlias = Mapping[str, tuple[Any, Sequence[Any]]]


class SimulationError(RuntimeError):
    """Error: a rule was violated in simulation (an assertion of the gateware, a chip's timing, or
    the memory port's contract)."""


class Native:
    """An object in a compiled library, a context manager; ``close`` frees it.

    Parameters
    ----------
    path : of the library
    functions : dict, name -> (result type, argument types);
        among them ``PREFIX_delete``, ``PREFIX_cycle``, ``PREFIX_error``

    Attributes
    ----------
    c : its functions
    """

    PREFIX = "quintet"
    _handle: int | None = None

    def __init__(self, path: str | Path, functions: Functions) -> None:
        self.c = ctypes.CDLL(str(path))
        for name, (result, arguments) in functions.items():
            function = getattr(self.c, name)
            function.restype, function.argtypes = result, arguments

    def _call(self, name, handle):
        return getattr(self.c, f"{self.PREFIX}_{name}")(handle)

    @property
    def handle(self) -> int:
        """Address of the object; raises ``ValueError`` once it is closed."""
        if self._handle is None:
            raise ValueError("the simulation is closed")
        return self._handle

    @property
    def cycle(self) -> int:
        """Number of rising edges of the main clock so far."""
        return self._call("cycle", self.handle)

    def check(self) -> None:
        """Raises :class:`SimulationError` for the first violated rule, if any."""
        message = self._call("error", self.handle)
        if message:
            raise SimulationError(message.decode())

    def close(self) -> None:
        """Frees the object. Closing twice is harmless."""
        if self._handle is not None:
            self._call("delete", self._handle)
            self._handle = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __del__(self):
        self.close()


class SimulatedBoard(ABC):
    """Base class of running boards, for all kinds of simulation.

    Attributes
    ----------
    simulation : Native, whose library exports ``board_run`` and the other functions of a board's
        harness
    soc : SoC
    clock_hz : int
    reset_cycles : int, that its reset at power-up lasts
    """

    simulation: Any
    pipe: VirtualPipe
    soc: SoC
    clock_hz: int
    reset_cycles: int

    @property
    def lit(self) -> bool | str | None:
        """State of the board's LEDs; ``None`` if it has none that can be seen."""
        return None

    def advance(self, cycles: int, wanted: int = 1 << 62, silence: int = 1 << 62) -> None:
        """Simulates up to ``cycles`` of the main clock; stops early after ``wanted`` bytes from the
        board, or after some bytes followed by silence.

        Raises
        ------
        SimulationError
            A timing rule of the memory chip, or an assertion of the gateware.
        """
        simulation = self.simulation
        simulation.c.board_run(simulation.handle, cycles, wanted, silence)
        simulation.check()

    @property
    @abstractmethod
    def busy(self) -> bool:
        """Whether the core is busy."""

    @property
    def cycle(self) -> int:
        """Number of rising edges of the main clock so far."""
        return self.simulation.cycle

    @property
    def waiting(self) -> int:
        """Number of bytes that the host wrote and the board has not accepted."""
        return self.simulation.c.board_waiting(self.simulation.handle)

    @property
    def chip(self) -> np.ndarray | None:
        """Contents of the memory chip, uint8 [bytes], writable; ``None`` for boards without one."""
        size = ctypes.c_uint64()
        address = self.simulation.c.board_chip(self.simulation.handle, size)
        if not address:
            return None
        return np.ctypeslib.as_array(
            ctypes.cast(address, ctypes.POINTER(ctypes.c_uint8)), (size.value,)
        )

    def close(self) -> None:
        """Frees the simulation."""
        self.simulation.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
