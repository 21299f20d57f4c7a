# SPDX-License-Identifier: BSD-2-Clause
"""The golden model of IMAGine: a run from start to end, its faults, outputs and counters (sections 4, 6 and 7). Numpy."""
import numpy as np

from ....isa.outcome import FaultReport, Outcome
from ....isa.registers import COMMON_REGISTERS
from ..isa import ISA, PES
from ..params import geometry, register_file
from .machine import Machine

__all__ = ["Model"]

_LOW32 = 0xFFFF_FFFF
_WORD = 4
#: Decoded words kept between runs: a loader's are mostly different, a kernel's all the same.
_KEPT = 1 << 16


class _Fault(Exception):
    def __init__(self, name, detail):
        self.name, self.detail = name, detail


class Model:
    """IMAGine, word by word, each executed completely.

    Parameters
    ----------
    params : dict
        Every build parameter, as ``SPACE.resolve`` gives them.
    memory : numpy.ndarray
        uint8, main memory from address 0; written in place.
    ref_sign : bool
        As :class:`~.machine.Machine`: the published hardware's sign of partial products.

    Attributes
    ----------
    machine : Machine
        Registers, columns, selection. They survive from run to run; :meth:`reset` clears them.
    eov : int

    What a run counts: ``instructions``, words dispatched without fault; ``operations``, 16*R*C for each ``mv_updatepp`` of
    the highest bit; ``bytes_read``, 4 for each of the words; ``bytes_written``, 4 for each result word. Cycles are unknown:
    ``cycle_limit`` counts words, and a run that would dispatch more ends ``"aborted"``, code 8, pc the next word.

    The program is read as it lies at the start. A ``bus_read`` fault arises where memory ends, and is seen only where
    ``window_limit`` lies past it; ``bus_write`` likewise, of the first word that lies outside, with nothing executed behind
    the ``vv_parallelEn`` (a core may have gone on).

    Raises
    ------
    ValueError
        ``memory`` is no one-dimensional array of uint8.
    """
    def __init__(self, params, memory, *, ref_sign=False):
        if not isinstance(memory, np.ndarray) or memory.dtype != np.uint8 or memory.ndim != 1:
            raise ValueError("memory must be a one-dimensional numpy array of uint8")
        self.params = dict(params)
        self.memory = memory
        self.machine = Machine(params, ref_sign=ref_sign)
        self._macs = PES * params["rows"] * params["cols"]
        self._writable = [r.name for r in (*COMMON_REGISTERS, *ISA.registers) if r.given and r.name != "control"]
        self._decoded = {}
        self.eov = 0

    def reset(self):
        """Core reset: the RAM too."""
        self.machine.reset()
        self.eov = 0

    def clear(self, name, value):
        """A write of ``value`` to ``eov``: 1 clears it.

        Raises
        ------
        ValueError
            Another register.
        """
        if name != "eov":
            raise ValueError(f"register {name} is no flag; there is eov")
        self.eov &= ~value

    def run(self, registers, cycle_limit=None, trace=None):
        """One run; see docs/contracts.md, section 6.

        Raises
        ------
        ValueError
            A register that is not there, or a value that does not fit it.
        """
        self._take_registers(registers)
        self._count = self._vectors = 0
        counters = {"instructions": 0, "operations": 0, "bytes_read": 0, "bytes_written": 0}
        pc, fault = self._begin, None
        try:
            self._check_start()
            for index, word in enumerate(self._words):
                pc = self._begin + _WORD * index
                if cycle_limit is not None and index >= cycle_limit:
                    raise _Fault("aborted", 0)
                self._step(pc, int(word), counters, trace)
            pc = self._begin + _WORD * len(self._words)
            if self._length > _WORD * len(self._words):
                limited = cycle_limit is not None and len(self._words) >= cycle_limit
                raise _Fault("aborted", 0) if limited else _Fault("bus_read", pc)
        except _Fault as stop:
            fault = FaultReport(ISA.fault_codes[stop.name], stop.name, pc & _LOW32, stop.detail & _LOW32)
            if stop.name in ("aborted", "bus_write"):
                self.machine.stop()
        counters["bytes_read"] = _WORD * counters["instructions"]
        counters["bytes_written"] = _WORD * self._count
        if self._vectors:
            self.eov = 1
        status = "done" if fault is None else "aborted" if fault.name == "aborted" else "fault"
        values = {"output_count": self._count, "vectors": self._vectors, "eov": self.eov,
                  "geometry": geometry(self.params), "register_file": register_file(self.params)}
        return Outcome(status, fault, counters, values)

    def _take_registers(self, given):
        for name, value in given.items():
            if name not in self._writable:
                raise ValueError(f"no writable register {name!r}; there are {', '.join(self._writable)}")
            if not 0 <= value <= _LOW32:
                raise ValueError(f"register {name} must be 0 to 0xffffffff, not {value!r}")
        self._begin = given.get("program_address", 0) & -ISA.program_align
        self._length = given.get("program_length", 0)
        self._base = given.get("window_base", 0) & -64
        self._limit = given.get("window_limit", min(self.memory.size, _LOW32)) & -64
        self._output_at, self._output_limit = given.get("output_at", 0), given.get("output_limit", 0)
        here = self.memory[self._begin:self._begin + self._length]
        self._words = here[:here.size // _WORD * _WORD].copy().view("<u4")

    def _outside(self, begin, size):
        """First address of ``size`` bytes at ``begin`` that is not in the window, or ``None``."""
        if not size or self._base <= begin and begin + size <= self._limit:
            return None
        return begin if begin < self._base or begin >= self._limit else self._limit

    def _check_start(self):
        for value in (self._length, self._output_at):
            if value % _WORD:
                raise _Fault("program_align", value)
        outside = self._outside(self._begin, self._length)
        if outside is not None:
            raise _Fault("program_window", outside)

    def _decode(self, word):
        found = self._decoded.get(word)
        if found is None:
            decoded = ISA.decode(word, self.params)
            mnemonic = decoded.instruction.mnemonic if decoded.fault is None else None
            found = mnemonic, decoded.values, decoded.fault
            if len(self._decoded) >= _KEPT:
                self._decoded.clear()
            self._decoded[word] = found
        return found

    def _step(self, pc, word, counters, trace):
        mnemonic, values, fault = self._decode(word)
        if fault is not None:
            raise _Fault(fault, word)
        if mnemonic == "vv_parallelEn":
            self._check_output()
        words = self.machine.execute(mnemonic, values)
        counters["instructions"] += 1
        if mnemonic == "mv_updatepp" and values["bitNo"] == self.machine.width - 1:
            counters["operations"] += self._macs
        if words is not None:
            self._emit(pc, words, trace)

    @property
    def _next_output(self):
        return self._output_at + _WORD * self._count

    def _check_output(self):
        begin, size = self._next_output, _WORD * self.machine.rows
        if begin + size > self._output_limit:
            raise _Fault("output_full", max(begin, self._output_limit))
        outside = self._outside(begin, size)
        if outside is not None:
            raise _Fault("output_window", outside)

    def _emit(self, pc, words, trace):
        begin = self._next_output
        fitting = min(len(words), max(0, (self.memory.size - begin) // _WORD))
        data = words[:fitting].astype("<u4").view(np.uint8)
        self.memory[begin:begin + data.size] = data
        self._count += fitting
        if trace is not None and fitting:
            trace(pc, begin, data.size)
        if fitting < len(words):
            raise _Fault("bus_write", begin + data.size)
        self._vectors += 1
