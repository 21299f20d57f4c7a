# SPDX-License-Identifier: BSD-2-Clause
"""Base class of the golden models: the registers of a run, its memory window and its outcome. Pure
Python and numpy."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping

import numpy as np

from .outcome import FaultReport, Outcome, RunFault
from .parameters import Params
from .registers import COMMON_REGISTERS
from .table import Isa

__all__ = ["MemoryWindow", "Model"]

_LOW32 = 0xFFFF_FFFF


class MemoryWindow:
    """Main memory of a run, with the range that the run may access.

    Parameters
    ----------
    memory : numpy.ndarray of uint8, from address 0
    base, limit : int
        First byte of the window, and the first one behind it.
    trace : callable, optional
        Called as ``trace(pc, address, size)`` for every range written.
    """

    def __init__(
        self,
        memory: np.ndarray,
        base: int,
        limit: int,
        trace: Callable[[int, int, int], object] | None = None,
    ) -> None:
        self.memory, self.base, self.limit, self.trace = memory, base, limit, trace

    def outside(self, address: int, size: int) -> int | None:
        """First of ``size`` bytes at ``address`` that lies outside the window, or ``None``."""
        if not size or self.base <= address and address + size <= self.limit:
            return None
        return address if not self.base <= address < self.limit else self.limit

    def beyond(self, address: int, size: int) -> int | None:
        """First of ``size`` bytes at ``address`` that lies outside main memory, or ``None``."""
        return None if address + size <= self.memory.size else max(address, self.memory.size)

    def write(self, pc: int, address: int, data: np.ndarray) -> None:
        """Stores ``data``, an array of uint8, for the instruction at ``pc``."""
        self.memory[address : address + data.size] = data
        self.wrote(pc, address, data.size)

    def wrote(self, pc: int, address: int, size: int) -> None:
        """Reports ``size`` bytes stored at ``address`` to the trace."""
        if self.trace is not None:
            self.trace(pc, address, size)


class Model(ABC):
    """Golden model of an ISA (docs/how/contracts.md, section 6). A core package's model sets
    ``ISA`` and implements ``reset`` and ``run``.

    Parameters
    ----------
    params : dict
        Every build parameter, as ``SPACE.resolve`` gives them.
    memory : numpy.ndarray
        uint8, main memory from address 0; written in place.

    Attributes
    ----------
    reg : dict, registers of the run by name, as the core holds them
    window : MemoryWindow of the run

    Raises
    ------
    ValueError
        ``memory`` is no one-dimensional array of uint8.
    """

    #: The instruction set.
    ISA: Isa

    def __init__(self, params: Params, memory: np.ndarray | bytearray) -> None:
        if not isinstance(memory, np.ndarray) or memory.dtype != np.uint8 or memory.ndim != 1:
            raise ValueError("memory must be a one-dimensional numpy array of uint8")
        self.params, self.memory = dict(params), memory
        self._writable = {
            r.name if r.count == 1 else f"{r.name}[{k}]": (r, k)
            for r in (*COMMON_REGISTERS, *self.ISA.registers)
            if r.given and r.name != "control"
            for k in range(r.count)
        }
        self.reset()

    @abstractmethod
    def reset(self) -> None:
        """Core reset: sets all state to its reset value."""

    @abstractmethod
    def run(
        self,
        registers: Mapping[str, int],
        cycle_limit: int | None = None,
        trace: Callable[[int, int, int], object] | None = None,
    ) -> Outcome:
        """Executes one run from start to end.

        Parameters
        ----------
        registers : dict
            Values of writable registers by name; all others are at reset.
        cycle_limit : int, optional
            Instructions after which the run is aborted (cycles are unknown here).
        trace : callable, optional
            Called as ``trace(pc, address, size)`` for every range of main memory written.

        Returns
        -------
        Outcome

        Raises
        ------
        ValueError
            A register that is not there, or a value that does not fit it.
        """

    def take_registers(
        self,
        given: Mapping[str, int],
        trace: Callable[[int, int, int], object] | None = None,
        **resets: int,
    ) -> None:
        """Sets ``reg`` and ``window`` for a run with the register values ``given``; ``resets``:
        reset values that follow from the parameters."""
        values = {name: r.reset_of(k) for name, (r, k) in self._writable.items()}
        values |= {"window_limit": min(self.memory.size, _LOW32), **resets}
        for name, value in given.items():
            if name not in self._writable:
                raise ValueError(
                    f"no writable register {name!r}; there are {', '.join(self._writable)}"
                )
            if not 0 <= value <= _LOW32:
                raise ValueError(f"register {name} must be 0 to 0xffffffff, not {value!r}")
            only_if = self._writable[name][0].only_if
            if only_if is None or self.params[only_if]:
                values[name] = int(value)
        self.reg = {name: value & self._writable[name][0].mask for name, value in values.items()}
        self.reg["program_address"] &= -self.ISA.program_align
        self.window = MemoryWindow(
            self.memory, self.reg["window_base"], self.reg["window_limit"], trace
        )

    def outcome(
        self, fault: RunFault | None, pc: int, counters: dict[str, int], values: dict[str, int]
    ) -> Outcome:
        """Builds the :class:`Outcome` of a run that ended with ``fault``, a
        :class:`~.outcome.RunFault` at ``pc`` (``None``: without a fault)."""
        if fault is None:
            return Outcome("done", None, counters, values)
        report = FaultReport(
            self.ISA.fault_codes[fault.name], fault.name, pc & _LOW32, fault.detail
        )
        return Outcome("aborted" if fault.name == "aborted" else "fault", report, counters, values)
