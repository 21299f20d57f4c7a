# SPDX-License-Identifier: BSD-2-Clause
"""Interface of a target: memory, registers and runs of a core (docs/how/contracts.md, section
6)."""

from __future__ import annotations

import time
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ...gateware.isa.outcome import Outcome
from ...gateware.standalone.runlist import ListStatus
from ..errors import TargetError
from ..jobs.registers import RegisterMap
from ..link.access import Access
from ..link.pipe import BytesLike

if TYPE_CHECKING:
    from typing_extensions import Self

    from ...gateware.cores import CorePackage
    from ..jobs.job import Job

__all__ = ["ListOutcome", "Target", "TargetInfo", "runs_view"]


#: ``progress(done, total)``, in bytes.
Progress: TypeAlias = Callable[[int, int], object]
#: ``trace(pc, address, size)`` of a write to main memory.
MemoryTrace: TypeAlias = Callable[[int, int, int], object]


def runs_view(memory: np.ndarray, access: Access) -> np.ndarray:
    """View of the bytes of ``access`` in a byte array that begins at its address: rows [count, run]
    of an access in runs. Writes go to the array."""
    if access.run is None:
        return memory
    run, stride, count = access.runs
    return as_strided(memory, (count, run), (stride, 1))


@dataclass(frozen=True)
class TargetInfo:
    """Description of a target: board, core, preset, parameters, memory and link.

    Attributes
    ----------
    kind : ``"model"``, ``"sim"`` or ``"board"``
    board : name of the board, or ``None``
    isa, preset : names; ``preset`` is ``None`` for sizes of one's own
    params : every build parameter, name -> value
    clock_hz : main clock, or ``None`` where there is none (model)
    memory_size : bytes of main memory, from address 0
    memory : ``size``, ``beat_bytes``, ``kind`` as the board reports them
    link, version : of the board, if known
    run_list : whether it walks lists of runs
    boot : whether it starts from flash memory
    """

    kind: str
    isa: str | None
    params: dict[str, Any]
    memory_size: int
    preset: str | None = None
    board: str | None = None
    clock_hz: int | None = None
    memory: dict[str, Any] = field(default_factory=dict)
    link: dict[str, Any] | None = None
    version: str | None = None
    run_list: bool = False
    boot: bool = False

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class ListOutcome:
    """Outcome of a list of runs.

    Attributes
    ----------
    status : of the walk
    runs : number of runs that were started; after a fault the last of them is the one that met it
    last : the last run, or ``None`` if there was none
    position : byte address after the last word of the list that was taken
    """

    status: ListStatus
    runs: int
    last: Outcome | None
    position: int


class Target(ABC):
    """Base class of targets. ``name`` is the name by which it was opened; ``info`` a
    :class:`TargetInfo`; ``package`` the core's package, or ``None``.

    Addresses are bytes of the SoC's map (main memory from 0). All calls raise
    :class:`~quintet.tools.errors.TargetError` for what cannot be asked, and the link's
    ``LinkError`` if the board
    does not answer. A target is a context manager; leaving it closes it.
    """

    name: str
    info: TargetInfo
    package: CorePackage | None = None
    _begun: dict[str, int] | None = None

    def configure(self, job: Job | None = None, like: TargetInfo | None = None) -> None:
        """Chooses sizes before a job runs, if the target leaves them open (the golden model does);
        raises an error for a job that the target cannot run.

        Parameters
        ----------
        job : Job, optional
        like : TargetInfo, optional; sizes to copy (``quintet verify``)
        """
        if job is None:
            return
        if self.info.isa is None:
            raise TargetError(f"{self.name} holds no core; {job.origin} needs {job.core}")
        if self.info.isa != job.core:
            raise TargetError(
                f"{self.name} holds core {self.info.isa}; {job.origin} needs {job.core}"
            )
        job.check_params(self.info.params, self.name)

    @property
    def registers(self) -> RegisterMap:
        """The core's :class:`~quintet.tools.jobs.registers.RegisterMap`."""
        if self.package is None:
            raise TargetError(f"{self.name} holds no core")
        if not hasattr(self, "_registers"):
            self._registers = RegisterMap(self.package.isa.ISA)
        return self._registers

    @abstractmethod
    def transfer(self, accesses: Sequence[Access], progress: Progress | None = None) -> list[bytes]:
        """Executes accesses (:class:`~quintet.tools.link.access.Access`), all of them reads or all
        of them writes, in order; a link sends them all at once. Returns the bytes of each (of a
        write none). ``progress(done, total)`` is called from time to time."""

    def write(self, address: int, data: BytesLike, progress: Progress | None = None) -> None:
        """Writes ``data`` (bytes); ``progress`` as for :meth:`transfer`."""
        self.transfer([Access(address, data=data)], progress)

    def read(self, address: int, size: int, progress: Progress | None = None) -> bytes:
        """Reads ``size`` bytes from ``address``."""
        return self.transfer([Access(address, size)], progress)[0]

    def fill(
        self, address: int, size: int, value: int = 0, progress: Progress | None = None
    ) -> None:
        """Writes ``value`` (0 to 255) into each of ``size`` bytes."""
        self._check_fill(size, value)
        self.write(address, bytes([value]) * size, progress)

    def _span(self, access):
        """Bytes from the start of an access's first run to the end of its last."""
        try:
            return access.span
        except ValueError as error:
            raise TargetError(f"{self.name}: {error}") from None

    def _check_fill(self, size, value):
        if size < 0 or not 0 <= value <= 255:
            raise TargetError(
                f"{self.name}: fill of size = {size}, value = {value}: expected a size of "
                f"0 or more and a value from 0 to 255"
            )

    def checksum(self, address: int, size: int) -> int:
        """CRC-32 (that of ``zlib.crc32``) of ``size`` bytes, computed by the target."""
        return zlib.crc32(self.read(address, size))

    @abstractmethod
    def read_register(self, name: str) -> int:
        """Reads a register (``"name"``, ``"name[3]"``) or counter (``"cnt_cycles"``) of the
        core."""

    @abstractmethod
    def write_register(self, name: str, value: int) -> None:
        """Writes a register of the core; registers of a run keep their values until a core reset. A
        value that violates the register table (``align``) is refused."""

    def _check_write(self, name, value):
        try:
            self.registers.check_write(name, value)
        except ValueError as error:
            raise TargetError(
                f"{self.name}: register {name} = {value if value < 10 else hex(value)}: {error}"
            ) from None

    @abstractmethod
    def reset_core(self) -> None:
        """Resets the core from any state. Main memory keeps its contents."""

    @abstractmethod
    def run(
        self,
        registers: Mapping[str, int],
        cycle_limit: int | None = None,
        trace: MemoryTrace | None = None,
        tick: Callable[[float], object] | None = None,
    ) -> Outcome:
        """Writes ``registers`` (name -> value), runs the core to its end and returns the
        ``Outcome``.

        Can be repeated without a reset: registers keep their values. Each core's document says what
        else the core keeps.

        Can be repeated without a reset: registers keep their values, and what the core keeps is its
        document's affair.

        Parameters
        ----------
        cycle_limit : int, optional; past it the run is aborted
        trace : callable(pc, address, size), optional; every write of main memory,
            where the target knows them
        tick : callable(seconds), optional; called now and then while the core runs
        """

    def start(self, registers: Mapping[str, int]) -> None:
        """Starts a run; :meth:`wait` returns its outcome. Meanwhile main memory may be written and
        read, except where the run itself reads or writes.

        A golden model runs when it is waited for.
        """
        self._begun = dict(registers)

    def wait(
        self,
        cycle_limit: int | None = None,
        tick: Callable[[float], object] | None = None,
        counters: bool = True,
    ) -> Outcome:
        """Waits for the run that :meth:`start` began and returns its ``Outcome``; arguments as for
        :meth:`run`. Without ``counters``, counters and the core's own registers may be missing,
        since a link need not transfer them."""
        registers, self._begun = self._begun, None
        if registers is None:
            raise TargetError(f"{self.name}: wait without a run that start began")
        return self.run(registers, cycle_limit, tick=tick)

    def stop(self) -> None:
        """Stops a run that was started and not waited for, and discards its outcome. Does nothing
        if there is none."""
        self._begun = None

    def start_list(self, address: int, size: int) -> None:
        """Starts a list of runs (docs/how/standalone.md), ``size`` bytes in main memory at
        ``address``; :meth:`wait_list` returns its outcome. Memory accesses meanwhile as for
        :meth:`start`. Requires ``info.run_list``.

        A golden model walks it when it is waited for.
        """
        raise TargetError(f"{self.name}: this build does not walk lists of runs")

    def wait_list(self, tick: Callable[[float], object] | None = None) -> ListOutcome:
        """Waits for the list that :meth:`start_list` began and returns its :class:`ListOutcome`."""
        raise TargetError(f"{self.name}: wait without a list of runs that start_list began")

    def wait_ready(self) -> None:
        """Waits until the board has started from flash memory; raises ``TargetError`` if it cannot
        start that way, or has refused the plan image."""
        raise TargetError(f"{self.name}: this build does not start from flash memory")

    def traffic(self) -> tuple[int, int]:
        """Bytes that the link has carried so far (to the target, from it), or would have carried in
        place of a virtual board's backdoor; without retransmissions and polls of a busy core."""
        return 0, 0

    def now(self) -> float:
        """Current time of the target in seconds; a virtual board counts simulated time."""
        return time.monotonic()

    def close(self) -> None:  # noqa: B027  (a target without a device has nothing to give back)
        """Releases the device. Closing twice is harmless."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
