# SPDX-License-Identifier: BSD-2-Clause
"""Jobs: programs, the memory contents before them, and the memory to save after them
(docs/reference/jobs.md)."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ...gateware.cores import CoreError, open_core
from ...gateware.isa.parameters import ParameterError
from ..errors import JobError, suggestion
from .arrays import encode
from .reading import read_job
from .registers import RegisterMap
from .runs import LoadedProgram, ProgramSource, Run, Source, Step
from .tensors import FileLoad, Load, Save
from .writing import write_job

__all__ = ["FileLoad", "Image", "Job", "Load", "Part", "Run", "Save", "Source"]

ADDRESSES = 1 << 32


@dataclass(frozen=True)
class Part:
    """A range of main memory that is filled before the run."""

    at: int
    data: bytes
    what: str


@dataclass(frozen=True)
class Image:
    """A job resolved for one target: the programs in binary form, memory to fill, registers to
    write.

    Attributes
    ----------
    steps : list of Step, the programs in the order in which they run
    parts : list of Part, the programs first
    """

    steps: list[Step]
    parts: list[Part]

    @property
    def program(self) -> LoadedProgram:
        """The first program."""
        return self.steps[0].program

    @property
    def registers(self) -> dict[str, int]:
        """Registers to write before the first program."""
        return self.steps[0].registers

    @property
    def warnings(self) -> list[str]:
        """Warnings of all programs, without duplicates."""
        return list(
            dict.fromkeys(str(warning) for step in self.steps for warning in step.program.warnings)
        )

    def source(self, pc: int) -> tuple[str, int] | None:
        """Source position ``(file, line)`` of the instruction at byte address ``pc``, or ``None``;
        programs do not overlap."""
        return next(
            (found for found in (step.source(pc) for step in self.steps) if found is not None), None
        )


class Job:
    """A job: one program, or several that run one after another, with memory contents, registers
    and tensors to save.

    :meth:`load` reads a TOML file, :meth:`save` writes one; from Python the same things are given
    as arguments.

    Parameters
    ----------
    core : str, name of the ISA
    program : path of a program in any form of the ISA, :class:`~.runs.Source`,
        or bytes in its binary form
    program_at : int, byte address in main memory
    runs : iterable of Run, in place of ``program`` and ``program_at``: the programs, in order
    params : dict, build parameters that the job needs
    registers : dict, ISA registers (``"name"``, ``"name[3]"``),
        ``window_base`` and ``window_limit``
    loads : iterable of Load
    saves : iterable of Save
    cycle_limit : int or None, the run is aborted past this many cycles,
        those of all programs together
    origin : str, named in front of every message

    Raises
    ------
    JobError
        The message names the file, the key, the value and what was expected.
    """

    def __init__(
        self,
        *,
        core: str,
        program: ProgramSource | None = None,
        program_at: int | None = None,
        runs: Iterable[Run] | None = None,
        params: Mapping[str, Any] | None = None,
        registers: Mapping[str, int] | None = None,
        loads: Iterable[Load | FileLoad] = (),
        saves: Iterable[Save] = (),
        cycle_limit: int | None = None,
        origin: object = "job",
    ) -> None:
        self.origin = str(origin)
        self.core = core
        try:
            self.package = open_core(core)
        except CoreError as error:
            raise self._error("core", core, str(error)) from None
        self.isa = self.package.isa.ISA
        self.software = self.package.software.SOFTWARE
        self.runs = self._check_runs(program, program_at, runs)
        self.params = self._check_params(params or {})
        self.register_map = RegisterMap(self.isa)
        self.registers = {
            name: self._check_register(name, value) for name, value in (registers or {}).items()
        }
        self._check_run_registers()
        self.loads = list(loads)
        self.saves = list(saves)
        self.cycle_limit = cycle_limit
        if cycle_limit is not None and (type(cycle_limit) is not int or cycle_limit < 1):
            raise self._error("limits.cycles", cycle_limit, "expected an integer of at least 1")
        for i, load in enumerate(self.loads):
            self._address(f"load[{i}].at", load.at)
        for i, save in enumerate(self.saves):
            self._address(f"save[{i}].at", save.at)
        self._check_overlaps(self._load_ranges())

    @classmethod
    def load(cls, path: str | Path) -> Job:
        """Reads the job file ``path``; every path inside is relative to it."""
        return cls(**read_job(path))

    def save(
        self, path: str | Path, *, comment: str = "", extra: Mapping[str, np.ndarray] | None = None
    ) -> Path:
        """Writes the job file ``path``, from which :meth:`load` reads an equal job, and beside it
        all programs and arrays that are not files yet; writes all files or none.

        Parameters
        ----------
        comment : first lines of the file
        extra : further arrays for the archives of loads, ``"x.npz:key"`` -> array

        Returns
        -------
        Path

        Raises
        ------
        JobError
            What a file cannot say: an empty load, a name that is no file's or another one's.
        InputError
            The files cannot be written.
        """
        return write_job(self, Path(path), comment, extra or {})

    def _error(self, key, value, expected):
        shown = f'"{value}"' if isinstance(value, str) and not value.startswith("0x") else value
        return JobError(f"{self.origin}: {key} = {shown}: {expected}")

    def _address(self, key, value):
        if type(value) is not int or not 0 <= value < ADDRESSES:
            raise self._error(key, value, "expected an address, an integer from 0 to 0xffffffff")
        return value

    @property
    def program(self) -> ProgramSource:
        """The first program: a path, a :class:`~.runs.Source`, or bytes."""
        return self.runs[0].program

    @program.setter
    def program(self, value: ProgramSource) -> None:
        self.runs[0] = replace(self.runs[0], program=value)

    @property
    def program_at(self) -> int:
        """Byte address of the first program."""
        return self.runs[0].at

    def _check_runs(self, program, program_at, runs):
        """Checks that there are programs, at legal addresses."""
        self.several = runs is not None
        if self.several and (program is not None or program_at is not None):
            raise JobError(
                f"{self.origin}: program and program_at stand in [[run]] where a job has "
                f"several programs"
            )
        if not self.several and program is None:
            raise JobError(
                f"{self.origin}: program is missing; expected a path, or bytes in binary form"
            )
        runs = list(runs) if self.several else [Run(program, program_at)]
        if not runs:
            raise JobError(f"{self.origin}: run: no program; expected at least one [[run]]")
        align = self.isa.program_align
        for index, run in enumerate(runs):
            prefix = self._run_key(index)
            if isinstance(run.program, Path) and not (
                os.path.isfile(run.program) or os.path.isdir(run.program)
            ):
                raise self._error(
                    f"{prefix}program",
                    str(run.program),
                    "no regular file" if os.path.exists(run.program) else "no such file",
                )
            if self._address(f"{prefix}program_at", run.at) % align:
                raise self._error(
                    f"{prefix}program_at",
                    hex(run.at),
                    f"expected a multiple of {align} for {self.core}",
                )
        return runs

    def _run_key(self, index):
        return f"run[{index}]." if self.several else ""

    def _check_run_registers(self):
        """Checks the registers of each program against the window that is set when it runs."""
        in_force = dict(self.registers)
        for index, run in enumerate(self.runs):
            prefix = self._run_key(index)
            for name, value in run.registers.items():
                in_force[name] = self._check_register(name, value, prefix)
            base, limit = in_force.get("window_base", 0), in_force.get("window_limit", ADDRESSES)
            if base > limit:
                if not {"window_base", "window_limit"} & set(run.registers):
                    prefix = ""
                raise self._error(
                    f"{prefix}registers.window_limit",
                    hex(limit),
                    f"lies below window_base {base:#x}",
                )

    def _check_params(self, params):
        space = self.package.params.SPACE
        checked = {}
        for name, value in params.items():
            if name not in space.parameters:
                raise self._error(
                    f"params.{name}",
                    value,
                    f"{self.core} has no such parameter" + suggestion(name, space.parameters),
                )
            try:
                checked[name] = space.parameters[name].parse(value)
            except ParameterError as error:
                raise self._error(f"params.{name}", value, str(error)) from None
        return checked

    def _check_register(self, name, value, prefix=""):
        key = f"{prefix}registers.{name}" if "[" not in name else f'{prefix}registers."{name}"'
        try:
            return self.register_map.check_job_value(name, value)
        except ValueError as error:
            shown = hex(value) if type(value) is int and value > 9 else value
            raise self._error(key, shown, str(error)) from None

    def _load_ranges(self):
        return [
            (load.at, load.size, f"load[{i}] ({load.name})") for i, load in enumerate(self.loads)
        ]

    def _check_overlaps(self, ranges):
        before = None
        for at, size, what in sorted(ranges):
            if before is not None and before[0] + before[1] > at:
                raise JobError(
                    f"{self.origin}: {what} at {_range(at, size)} overlaps {before[2]} at "
                    f"{_range(before[0], before[1])}"
                )
            if before is None or at + size > before[0] + before[1]:
                before = (at, size, what)

    def check_params(self, params: Mapping[str, Any], target: str) -> None:
        """Raises :class:`JobError` if the target's build does not satisfy ``[params]``; the message
        names both values."""
        space = self.package.params.SPACE
        for name, wanted in self.params.items():
            rule, has = space.parameters[name].job, params[name]
            if rule == "at_least" and isinstance(wanted, str):
                rule = "equal"
            if (rule == "equal" and has != wanted) or (rule == "at_least" and has < wanted):
                words = "at least " if rule == "at_least" and not isinstance(wanted, bool) else ""
                raise JobError(
                    f"{self.origin}: params.{name} = {_text(wanted)}: {target} was built with "
                    f"{name} = "
                    f"{_text(has)}; the job needs {words}{_text(wanted)}"
                )

    def image(
        self, params: Mapping[str, Any], memory_size: int, target: str = "the target"
    ) -> Image:
        """Resolves the job for a build with ``params`` and ``memory_size`` bytes of main memory.

        Raises
        ------
        JobError
            Something lies past the end of main memory, or a program overlaps a load or another
            program.
        """
        programs = self._programs(params, memory_size)
        placed: dict[
            tuple[int, bytes], Step
        ] = {}  # a program that runs more than once lies there once
        for step in programs:
            placed.setdefault((step.at, step.program.data), step)
        ranges = [
            (step.at, len(step.program.data), step.what) for step in placed.values()
        ] + self._load_ranges()
        saves = [
            (save.at, save.size, f"save[{i}] ({save.name})") for i, save in enumerate(self.saves)
        ]
        for at, size, what in ranges + saves:
            if at + size > memory_size:
                raise JobError(
                    f"{self.origin}: {what} at {_range(at, size)} ends past the main memory of "
                    f"{target}, "
                    f"which has {memory_size:#x} bytes"
                )
        self._check_overlaps(ranges)
        self._check_steps(programs, params, memory_size, target)
        parts = [Part(step.at, bytes(step.program.data), step.what) for step in placed.values()]
        parts += [
            Part(load.at, bytes(load.data), f"load[{i}] ({load.name})")
            for i, load in enumerate(self.loads)
        ]
        return Image(programs, parts)

    def _programs(self, params, memory_size):
        """Resolves every program to a :class:`Step`; one that runs more than once is assembled
        once."""
        steps, made = [], {}
        for index, run in enumerate(self.runs):
            key = run.program if isinstance(run.program, (Path, Source)) else bytes(run.program)
            if key not in made:
                made[key] = self._program(
                    run, params, memory_size, f"{self._run_key(index)}program"
                )
            program = made[key]
            registers = {
                **(self.registers if index == 0 else {}),
                **run.registers,
                "program_address": run.at,
                "program_length": len(program.data),
            }
            what = f"run[{index}] ({run.name})" if self.several else "the program"
            steps.append(Step(run.name, what, program, run.at, registers))
        return steps

    def _check_steps(self, steps, params, memory_size, target):
        """Checks registers and programs against the build and by the ISA's own rules, with the
        register values that hold at each run."""
        in_force = {"window_base": 0, "window_limit": memory_size}
        for index, step in enumerate(steps):
            origin = f"{self.origin}: {self._run_key(index)[:-1]}" if self.several else self.origin
            for name, value in step.registers.items():
                if name not in ("program_address", "program_length"):
                    self.register_map.check_build(name, value, params, memory_size, origin, target)
            in_force.update(step.registers)
            if self.software.check_job is None:
                continue
            try:
                found = self.software.check_job(step.program, dict(in_force), params)
            except ValueError as error:
                raise JobError(f"{origin}: {error}") from None
            step.program.warnings.extend(f"{origin}: warning: {message}" for message in found or ())

    def _program(self, run, params, memory_size, key):
        if isinstance(run.program, (bytes, bytearray)):
            from types import SimpleNamespace

            program = SimpleNamespace(data=bytes(run.program), warnings=[], lines={})
        else:
            program = self._load_program(run.program, params, memory_size)
        if not program.data:
            raise self._error(key, run.name, "is empty")
        return program

    def _load_program(self, program, params, memory_size):
        from ...gateware.isa.asm import load_program

        if not isinstance(program, Source):
            return load_program(self.software, program, params, most=memory_size)
        with tempfile.TemporaryDirectory(prefix="quintet-") as folder:
            for name, contents in program.files.items():
                Path(folder, name).write_bytes(encode(contents))
            return load_program(self.software, Path(folder, program.name), params, most=memory_size)


def _range(at, size):
    return f"{at:#x}..{at + size - 1:#x}"


def _text(value):
    return str(value).lower() if isinstance(value, bool) else str(value)
