# SPDX-License-Identifier: BSD-2-Clause
"""Jobs: a program, the memory to fill before it, the memory to keep after it (docs/jobs.md)."""
import difflib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from ..gateware.cores import RoomError, open_room
from ..gateware.cores.parameters import ParameterError
from .arrays import MemoryFile, memory_bytes
from .errors import JobError
from .registers import RegisterMap

__all__ = ["FileLoad", "Image", "Job", "Load", "Part", "Save"]

ADDRESSES = 1 << 32


@dataclass(frozen=True)
class Load:
    """Bytes put into main memory before the run. ``data`` may be given as an array; it is kept as memory holds it."""
    at: int
    data: bytes
    name: str = "data"
    what: str = ""

    def __post_init__(self):
        if not isinstance(self.data, (bytes, bytearray)):
            data, what = memory_bytes(self.data, self.name)
            object.__setattr__(self, "data", data)
            object.__setattr__(self, "what", what)

    @property
    def size(self):
        return len(self.data)


class FileLoad:
    """As :class:`Load`, of a file: its contents are read when they are first asked for, once their size is known to fit.

    ``where`` is put in front of messages.
    """
    def __init__(self, at, folder, name, where=""):
        self.at, self.name, self._where = at, name, where
        self._file = self._checked(lambda: MemoryFile(folder, name))
        self.size, self.what = self._file.size, self._file.what

    @cached_property
    def data(self):
        return self._checked(self._file.read)

    def _checked(self, read):
        try:
            return read()
        except JobError as error:
            raise JobError(f"{self._where}{error}") from None


@dataclass(frozen=True)
class Save:
    """A tensor kept after the run: ``size`` raw bytes, or an array of ``dtype`` and ``shape``.

    ``recognition`` (:class:`~.recognition.Recognition`) says which images its numbers classify, if they do.
    """
    at: int
    name: str
    dtype: str | None = None
    shape: tuple | None = None
    size: int | None = None
    recognition: object = None

    def __post_init__(self):
        if self.dtype is not None:
            object.__setattr__(self, "shape", tuple(self.shape))
            object.__setattr__(self, "size", int(np.prod(self.shape, dtype=object)) * np.dtype(self.dtype).itemsize)

    def decode(self, data):
        """The tensor that ``data``, the bytes read from memory, stands for."""
        if self.dtype is None:
            return bytes(data)
        return np.frombuffer(data, dtype=np.dtype(self.dtype).newbyteorder("<")).reshape(self.shape).copy()

    def element(self, offset):
        """Text for byte ``offset`` of this tensor: ``y.npy[2, 1]``."""
        if self.dtype is None:
            return f"{self.name} byte {offset}"
        index = np.unravel_index(offset // np.dtype(self.dtype).itemsize, self.shape)
        return f"{self.name}[{', '.join(str(int(i)) for i in index)}]"


@dataclass(frozen=True)
class Part:
    """One range of memory that is filled before the run."""
    at: int
    data: bytes
    what: str


@dataclass(frozen=True)
class Image:
    """A job made ready for one target: the program in binary form, memory to fill, registers to write.

    Attributes
    ----------
    program : what ``load_program`` gives (``data``, ``warnings``, ``lines``)
    parts : list of Part, the program first
    registers : dict, name -> value, ``program_address`` and ``program_length`` included
    """
    program: object
    parts: list
    registers: dict


class Job:
    """One run of one program.

    :meth:`load` reads a TOML file; from Python the same things are given as arguments.

    Parameters
    ----------
    core : str, name of the ISA
    program : path of a program in any form of the ISA, or bytes in its binary form
    program_at : int, byte address in main memory
    params : dict, build parameters that the job needs
    registers : dict, ISA registers (``"name"``, ``"name[3]"``), ``window_base`` and ``window_limit``
    loads : iterable of Load
    saves : iterable of Save
    cycle_limit : int or None, the run is aborted past this many cycles
    origin : str, named in front of every message

    Raises
    ------
    JobError
        The message names the file, the key, the value and what was expected.
    """
    def __init__(self, *, core, program, program_at, params=None, registers=None, loads=(), saves=(), cycle_limit=None,
                 origin="job"):
        self.origin = str(origin)
        self.core = core
        try:
            self.room = open_room(core)
        except RoomError as error:
            raise self._error("core", core, str(error)) from None
        self.isa = self.room.isa.ISA
        self.software = self.room.software.SOFTWARE
        self.program = program if isinstance(program, (bytes, bytearray)) else Path(program)
        if not isinstance(self.program, (bytes, bytearray)) and not (self.program.is_file() or self.program.is_dir()):
            raise self._error("program", str(self.program), "no regular file" if self.program.exists() else "no such file")
        self.program_at = self._address("program_at", program_at)
        align = self.isa.program_align
        if self.program_at % align:
            raise self._error("program_at", hex(program_at), f"expected a multiple of {align} for {core}")
        self.params = self._check_params(params or {})
        self.register_map = RegisterMap(self.isa)
        self.registers = {name: self._check_register(name, value) for name, value in (registers or {}).items()}
        if self.registers.get("window_base", 0) > self.registers.get("window_limit", ADDRESSES):
            raise self._error("registers.window_limit", hex(self.registers["window_limit"]),
                              f"lies below window_base {self.registers['window_base']:#x}")
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
    def load(cls, path):
        """Read the job file ``path``; every path inside is relative to it."""
        from .jobfile import read_job
        return cls(**read_job(path))

    def _error(self, key, value, expected):
        shown = f'"{value}"' if isinstance(value, str) and not value.startswith("0x") else value
        return JobError(f"{self.origin}: {key} = {shown}: {expected}")

    def _address(self, key, value):
        if type(value) is not int or not 0 <= value < ADDRESSES:
            raise self._error(key, value, "expected an address, an integer from 0 to 0xffffffff")
        return value

    def _check_params(self, params):
        space = self.room.params.SPACE
        checked = {}
        for name, value in params.items():
            if name not in space.parameters:
                raise self._error(f"params.{name}", value, f"{self.core} has no such parameter"
                                  + _suggest(name, space.parameters))
            try:
                checked[name] = space.parameters[name].parse(value)
            except ParameterError as error:
                raise self._error(f"params.{name}", value, str(error)) from None
        return checked

    def _check_register(self, name, value):
        key = f"registers.{name}" if "[" not in name else f'registers."{name}"'
        try:
            return self.register_map.check_job_value(name, value)
        except ValueError as error:
            shown = hex(value) if type(value) is int and value > 9 else value
            raise self._error(key, shown, str(error)) from None

    def _load_ranges(self):
        return [(load.at, load.size, f"load[{i}] ({load.name})") for i, load in enumerate(self.loads)]

    def _check_overlaps(self, ranges):
        before = None
        for at, size, what in sorted(ranges):
            if before is not None and before[0] + before[1] > at:
                raise JobError(f"{self.origin}: {what} at {_range(at, size)} overlaps {before[2]} at "
                               f"{_range(before[0], before[1])}")
            if before is None or at + size > before[0] + before[1]:
                before = (at, size, what)

    def check_params(self, params, target):
        """Refuse a target whose build has not what ``[params]`` asks for; the message names both values."""
        space = self.room.params.SPACE
        for name, wanted in self.params.items():
            rule, has = space.parameters[name].job, params[name]
            if rule == "at_least" and isinstance(wanted, str):
                rule = "equal"
            if (rule == "equal" and has != wanted) or (rule == "at_least" and has < wanted):
                words = "at least " if rule == "at_least" and not isinstance(wanted, bool) else ""
                raise JobError(f"{self.origin}: params.{name} = {_text(wanted)}: {target} was built with {name} = "
                               f"{_text(has)}; the job needs {words}{_text(wanted)}")

    def image(self, params, memory_size, target="the target"):
        """Make the job ready for a build with ``params`` and ``memory_size`` bytes of main memory.

        Raises
        ------
        JobError
            Something lies past the end of main memory, or the program overlaps a load.
        """
        program = self._program(params, memory_size)
        ranges = [(self.program_at, len(program.data), "the program")] + self._load_ranges()
        saves = [(save.at, save.size, f"save[{i}] ({save.name})") for i, save in enumerate(self.saves)]
        for at, size, what in ranges + saves:
            if at + size > memory_size:
                raise JobError(f"{self.origin}: {what} at {_range(at, size)} ends past the main memory of {target}, "
                               f"which has {memory_size:#x} bytes")
        self._check_overlaps(ranges)
        for name, value in self.registers.items():
            self.register_map.check_build(name, value, params, memory_size, self.origin, target)
        registers = {**self.registers, "program_address": self.program_at, "program_length": len(program.data)}
        if self.software.check_job is not None:
            try:
                window = {"window_base": 0, "window_limit": memory_size}
                found = self.software.check_job(program, {**window, **registers}, params)
            except ValueError as error:
                raise JobError(f"{self.origin}: {error}") from None
            program.warnings.extend(f"{self.origin}: warning: {message}" for message in found or ())
        parts = [Part(self.program_at, bytes(program.data), "the program")]
        parts += [Part(load.at, bytes(load.data), f"load[{i}] ({load.name})") for i, load in enumerate(self.loads)]
        return Image(program, parts, registers)

    def _program(self, params, memory_size):
        if isinstance(self.program, (bytes, bytearray)):
            from types import SimpleNamespace
            program = SimpleNamespace(data=bytes(self.program), warnings=[], lines={})
        else:
            from .asm import load_program
            program = load_program(self.software, self.program, params, most=memory_size)
        if not program.data:
            raise self._error("program", str(self.program), "is empty")
        return program


def _range(at, size):
    return f"{at:#x}..{at + size - 1:#x}"


def _text(value):
    return str(value).lower() if isinstance(value, bool) else str(value)


def _suggest(name, names):
    close = difflib.get_close_matches(name, list(names), 1)
    return f"; did you mean {close[0]}?" if close else f"; it has {', '.join(names) or 'none'}"
