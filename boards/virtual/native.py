# SPDX-License-Identifier: BSD-2-Clause
"""An object of a compiled library under Python's hand, and a board that is one: what simulated
boards of all kinds have in common."""

import ctypes

import numpy as np

__all__ = ["Native", "SimulatedBoard", "SimulationError"]


class SimulationError(RuntimeError):
    """A rule was broken in simulation: an assertion of the gateware, a chip's timing, the memory
    port's contract."""


class Native:
    """One object of a library. ``close`` frees it; it is a context manager.

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
    _handle = None

    def __init__(self, path, functions):
        self.c = ctypes.CDLL(str(path))
        for name, (result, arguments) in functions.items():
            function = getattr(self.c, name)
            function.restype, function.argtypes = result, arguments

    def _call(self, name, handle):
        return getattr(self.c, f"{self.PREFIX}_{name}")(handle)

    @property
    def handle(self):
        if self._handle is None:
            raise ValueError("the simulation is closed")
        return self._handle

    @property
    def cycle(self):
        """Rising edges of the main clock so far."""
        return self._call("cycle", self.handle)

    def check(self):
        """Raise the first broken rule, if any."""
        message = self._call("error", self.handle)
        if message:
            raise SimulationError(message.decode())

    def close(self):
        if self._handle is not None:
            self._call("delete", self._handle)
            self._handle = None

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def __del__(self):
        self.close()


class SimulatedBoard:
    """A board that is switched on, whatever simulates it.

    Attributes
    ----------
    simulation : Native, whose library exports ``board_run`` and what else a board's harness does
    soc : SoC
    clock_hz : int
    reset_cycles : int, that its reset at power-up lasts
    """

    #: Whether its lights are lit, where they can be seen.
    lit = None

    def advance(self, cycles, wanted=1 << 62, silence=1 << 62):
        """Simulate up to ``cycles`` of the main clock; stops early with ``wanted`` bytes from the
        board, or some and then silence.

        Raises
        ------
        SimulationError
            A timing rule of the memory chip, or an assertion of the gateware.
        """
        simulation = self.simulation
        simulation.c.board_run(simulation.handle, cycles, wanted, silence)
        simulation.check()

    @property
    def cycle(self):
        return self.simulation.cycle

    @property
    def waiting(self):
        """Bytes that the host wrote and the board has not taken."""
        return self.simulation.c.board_waiting(self.simulation.handle)

    @property
    def chip(self):
        """Contents of the memory chip as a numpy array, which may be written; ``None`` for boards
        without one."""
        size = ctypes.c_uint64()
        address = self.simulation.c.board_chip(self.simulation.handle, size)
        if not address:
            return None
        return np.ctypeslib.as_array(
            ctypes.cast(address, ctypes.POINTER(ctypes.c_uint8)), (size.value,)
        )

    def close(self):
        self.simulation.close()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()
