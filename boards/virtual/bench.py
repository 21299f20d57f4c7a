# SPDX-License-Identifier: BSD-2-Clause
"""Test bench of a single core, compiled, with a main-memory model of any timing that the memory
port's contract allows."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...gateware.cores import open_core
from ...gateware.isa.outcome import FaultReport, Outcome
from ...gateware.isa.registers import COMMON_COUNTERS, COMMON_REGISTERS
from .compile import build_library
from .core_top import BareCore, ShellCore
from .native import Functions
from .simulation import Simulation, SimulationError
from .sources import made_from

if TYPE_CHECKING:
    from ...gateware.cores import CorePackage
    from .cache import BuildCache

__all__ = ["Behaviour", "CoreBench", "IDEAL", "bench_opener"]

_START, _ABORT, _RESET = 1, 2, 4


@dataclass(frozen=True)
class Behaviour:
    """Timing of a memory port's answers; one beat per cycle by default.

    Attributes
    ----------
    latency : cycles from a request to its first beat or its acknowledgement, at least 1
    latency_spread : up to so many more, drawn for each request
    gap, gap_percent : up to ``gap`` idle cycles before a beat, for so many beats of a hundred
    stall_percent : cycles of a hundred in which no request and no write beat is accepted
    depth : requests that may wait
    answers : read beats on their way at most
    """

    latency: int = 1
    latency_spread: int = 0
    gap: int = 0
    gap_percent: int = 0
    stall_percent: int = 0
    depth: int = 8
    answers: int = 4096

    @classmethod
    def random(cls, rng: random.Random, most: int = 40) -> Behaviour:
        """A random timing, from nearly ideal to ``most`` cycles before every beat."""
        kind = rng.randrange(4)
        if kind == 0:
            return cls(latency=rng.randint(1, 8))
        return cls(
            latency=rng.randint(1, most),
            latency_spread=rng.choice((0, 3, most)),
            gap=rng.choice((1, 4, most)),
            gap_percent=rng.choice((2, 10, 50, 100) if kind > 1 else (2, 10)),
            stall_percent=rng.choice((0, 10, 50, 75)),
            depth=rng.choice((1, 2, 8)),
            answers=rng.choice((1, 4, 64)),
        )


#: One beat a cycle on every port, eight cycles of latency.
IDEAL = Behaviour(latency=8, depth=64)


class _Behaviour(ctypes.Structure):
    _fields_ = [(f.name, ctypes.c_uint32) for f in fields(Behaviour)]


class _Injection(ctypes.Structure):
    _fields_ = [
        ("port", ctypes.c_int),
        ("write", ctypes.c_int),
        ("low", ctypes.c_uint64),
        ("high", ctypes.c_uint64),
        ("skip", ctypes.c_uint64),
        ("count", ctypes.c_uint64),
    ]


_H = ctypes.c_void_p


class CoreBench(Simulation):
    """Test bench of any core, compiled.

    Parameters
    ----------
    isa : name of the core, or its CorePackage
    preset, overrides : as for ``SPACE.resolve``
    beat_bytes : bytes of a beat
    memory_size : bytes of main memory, a multiple of 64; an image for :meth:`load` may be smaller
    ports : ``"bare"``: every port of the engine has a memory of its own; ``"shell"``:
        the core as it stands in a SoC
    trace, cache, progress : as :func:`~.compile.build_library`

    Attributes
    ----------
    memory : numpy uint8 array, all of main memory; may be read and written between runs
    """

    FUNCTIONS: Functions = {
        "quintet_step": (None, [_H, ctypes.c_uint64]),
        "bench_ports": (ctypes.c_int, [_H]),
        "bench_memory": (None, [_H, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint32]),
        "bench_window": (None, [_H, ctypes.c_uint64, ctypes.c_uint64]),
        "bench_behave": (None, [_H, ctypes.c_int, ctypes.c_uint64, ctypes.POINTER(_Behaviour)]),
        "bench_inject": (None, [_H, ctypes.POINTER(_Injection)]),
        "bench_clear_injections": (None, [_H]),
        "bench_access": (ctypes.c_uint64, [_H, ctypes.c_uint32, ctypes.c_int, ctypes.c_uint32]),
        "bench_run": (ctypes.c_int, [_H, ctypes.c_uint64]),
        "bench_idle": (ctypes.c_int, [_H]),
        "bench_traffic": (None, [_H, ctypes.c_int, ctypes.c_void_p]),
    }

    def __init__(
        self,
        isa: str | CorePackage,
        *,
        preset: str | None = None,
        overrides: Mapping[str, Any] | None = None,
        beat_bytes: int,
        memory_size: int = 1 << 20,
        ports: str = "bare",
        trace: bool = False,
        cache: BuildCache | str | Path | None = None,
        progress: Callable[[str], object] | None = None,
    ) -> None:
        package = open_core(isa) if isinstance(isa, str) else isa
        if ports not in ("bare", "shell"):
            raise ValueError(f"ports = {ports!r}: expected bare or shell")
        self.isa = package.isa.ISA
        self.params = package.params.SPACE.resolve(preset, overrides)
        self.beat_bytes = beat_bytes
        top = (BareCore if ports == "bare" else ShellCore)(
            package=package, params=self.params, beat_bytes=beat_bytes, memory_size=memory_size
        )
        super().__init__(
            build_library(
                top,
                harness="bench.cpp",
                trace=trace,
                cache=cache,
                progress=progress,
                made_from=lambda: made_from(
                    None,
                    package,
                    top=type(top).__name__,
                    params=self.params,
                    beat_bytes=beat_bytes,
                    memory_size=memory_size,
                ),
            )
        )
        if top.domain is not None:
            self.second_clock(top.domain.ratio)
        self.port_count = self.c.bench_ports(self.handle)
        self.memory = np.zeros(memory_size, np.uint8)
        self._attach(memory_size)
        self.registers = {r.name: r for r in (*COMMON_REGISTERS, *self.isa.registers)}
        self.counters = {c.name: c.offset for c in (*COMMON_COUNTERS, *self.isa.counters)}
        self._faults = {f.code: f.name for f in self.isa.faults}
        self._resets = {"window_limit": memory_size}
        if "cfg_norm" in self.registers:
            self._resets["cfg_norm"] = self.params.get("norm_reset", 0)
        self._written: dict[str, int] = {}
        self.behave(IDEAL)
        self.step(2)
        self.reset()

    def _attach(self, size):
        self.c.bench_memory(self.handle, self.memory.ctypes.data, size, self.beat_bytes)

    def behave(self, behaviour: Behaviour, *, seed: int = 0, port: int = -1) -> None:
        """Sets the answer timing of a port (-1: of all) from now on. Only between runs; each run
        begins with the seed."""
        values = _Behaviour(**{f.name: getattr(behaviour, f.name) for f in fields(Behaviour)})
        if behaviour.latency < 1 or behaviour.depth < 1 or behaviour.answers < 1:
            raise ValueError(f"{behaviour}: expected latency, depth and answers of at least 1")
        if port < 0:
            self._behaviours = {}
        self._behaviours[port] = (seed, values)
        self.c.bench_behave(self.handle, port, seed, values)

    def inject(
        self,
        *,
        low: int = 0,
        high: int = 1 << 32,
        port: int = -1,
        write: bool | None = None,
        skip: int = 0,
        count: int = 1,
    ) -> None:
        """Injects bus errors: into ``count`` beats after ``skip`` others, among those that touch
        bytes ``low`` to ``high`` (exclusive), of one port or all, in one direction or both."""
        direction = -1 if write is None else int(write)
        self.c.bench_inject(self.handle, _Injection(port, direction, low, high, skip, count))

    def clear_injections(self) -> None:
        """Removes all injected errors."""
        self.c.bench_clear_injections(self.handle)

    def load(self, image: np.ndarray) -> None:
        """Fills main memory with ``image`` from address 0; the memory then has exactly its size,
        for the design's requests too."""
        self.memory[: len(image)] = image
        self._attach(len(image))

    # The register block

    def read_register(self, offset: int) -> int:
        """Reads a register of the control block."""
        value = self.c.bench_access(self.handle, offset, 0, 0)
        self.check()
        if value >> 32:
            raise SimulationError(f"the control block does not answer a read of {offset:#x}")
        return value

    def write_register(self, offset: int, value: int) -> None:
        """Writes a register of the control block."""
        answer = self.c.bench_access(self.handle, offset, 1, value)
        self.check()
        if answer >> 32:
            raise SimulationError(f"the control block does not answer a write of {offset:#x}")

    def control(self, bits: int) -> None:
        """Writes the register ``control``: 1 start, 2 abort, 4 core reset."""
        self.write_register(self.registers["control"].offset, bits)

    def status(self) -> int:
        """Reads the register ``status``."""
        return self.read_register(self.registers["status"].offset)

    @property
    def busy(self) -> bool:
        """Whether the core is busy."""
        return bool(self.status() & 1)

    def reset(self, limit: int = 1 << 20) -> None:
        """Resets the core and waits until it is ready."""
        self._written = {}
        self.control(_RESET)
        if self.wait(limit):
            raise SimulationError(f"core reset is not over after {limit} cycles")

    def recover(self) -> None:
        """Clears an error of the simulation and returns the core to its reset state."""
        self.c.bench_window(self.handle, 0, 1 << 32)
        self.clear_error()
        self.reset()
        self.clear_error()

    def wait(self, limit: int) -> bool:
        """Waits until the core is idle, at most ``limit`` cycles; returns true if it is still
        busy."""
        result = self.c.bench_run(self.handle, limit)
        self.check()
        return result == 1

    def configure(self, registers: Mapping[str, int]) -> None:
        """Sets every writable register: named ones to their values, all others to reset."""
        for name in registers:
            base = name.split("[")[0]
            if base not in self.registers or not self.registers[base].given or base == "control":
                raise ValueError(f"no writable register {name!r}")
        for register in self.registers.values():
            if not register.given or register.name == "control":
                continue
            for index in range(register.count):
                name = register.name if register.count == 1 else f"{register.name}[{index}]"
                reset = self._resets.get(register.name, register.reset_of(index))
                value = registers.get(name, reset)
                # A register that holds its value already is not written again: most are at reset.
                if self._written.get(name, reset) == value:
                    continue
                for part in range(register.width // 32):
                    self.write_register(
                        register.offset + 4 * index + 4 * part, value >> 32 * part & 0xFFFF_FFFF
                    )
                self._written[name] = value
        base = self._written.get("window_base", 0) & ~63
        limit = self._written.get("window_limit", self._resets["window_limit"]) & ~63
        # Whole beats: those of a test memory may be no divisor of the window's 64 bytes.
        beat = self.beat_bytes
        self.c.bench_window(self.handle, base // beat * beat, -(-limit // beat) * beat)

    def start(self, registers: Mapping[str, int]) -> None:
        """Writes the registers and starts a run."""
        self.configure(registers)
        for port, (seed, values) in self._behaviours.items():
            self.c.bench_behave(self.handle, port, seed, values)
        self.control(_START)

    def run(
        self,
        registers: Mapping[str, int],
        cycle_limit: int = 10_000_000,
        *,
        patience: int = 2_000_000,
    ) -> Outcome:
        """Executes one run: writes the registers, starts and waits. After ``cycle_limit`` cycles
        the run is aborted.

        Raises
        ------
        SimulationError
            The core does not end within ``patience`` cycles after the abort, or leaves answers
            outstanding on a port.
        """
        self.start(registers)
        if self.wait(cycle_limit):
            self.abort(patience)
        return self.outcome()

    def abort(self, patience: int = 2_000_000) -> None:
        """Aborts the run and waits for its end."""
        self.control(_ABORT)
        if self.wait(patience):
            raise SimulationError(f"the core is still busy {patience} cycles after an abort")

    def counter(self, name: str) -> int:
        """Reads a 64-bit counter of the control block."""
        offset = self.counters[name]
        return self.read_register(offset) | self.read_register(offset + 4) << 32

    def outcome(self) -> Outcome:
        """The :class:`Outcome` of the run that ended."""
        if not self.c.bench_idle(self.handle):
            raise SimulationError("the run ended with something outstanding on a memory port")
        read = {
            name: self.read_register(self.registers[name].offset)
            for name in ("status", "fault_code", "fault_pc", "fault_detail")
        }
        status = "aborted" if read["status"] & 8 else "fault" if read["status"] & 4 else "done"
        fault = None
        if read["fault_code"]:
            fault = FaultReport(
                read["fault_code"],
                self._faults.get(read["fault_code"], "?"),
                read["fault_pc"],
                read["fault_detail"],
            )
        values = {
            r.name: self.read_register(r.offset)
            for r in self.isa.registers
            if not r.given and r.count == 1 and r.width == 32
        }
        return Outcome(status, fault, {name: self.counter(name) for name in self.counters}, values)

    def traffic(self, port: int) -> tuple[int, ...]:
        """Memory traffic of a port since the last call: (read requests, write requests, read beats,
        write beats)."""
        totals = (ctypes.c_uint64 * 4)()
        self.c.bench_traffic(self.handle, port, totals)
        return tuple(totals)


def bench_opener(
    isa: str | CorePackage,
    builds: Mapping[str, tuple[str | None, Mapping[str, Any] | None, int, str]],
    memory_size: int,
) -> Callable[[str], CoreBench]:
    """Returns ``open_build(name)``, which opens the bench of a build, compiled once per machine;
    ``builds``: name -> (preset, overrides, beat bytes, ports)."""

    def open_build(name):
        preset, overrides, beat_bytes, ports = builds[name]
        return CoreBench(
            isa,
            preset=preset,
            overrides=overrides,
            beat_bytes=beat_bytes,
            memory_size=memory_size,
            ports=ports,
        )

    return open_build
