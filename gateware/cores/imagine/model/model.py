# SPDX-License-Identifier: BSD-2-Clause
"""Golden model of IMAGine: executes a run with its faults, outputs and counters (sections 4, 6 and
7). Numpy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from ....isa.model import Model as GoldenModel
from ....isa.outcome import Outcome, RunFault
from ....isa.parameters import Params
from ..isa import ISA, PES
from ..params import geometry, register_file
from .array import ArrayState

if TYPE_CHECKING:
    from ....isa.table import Decoded


__all__ = ["Model"]

_WORD = 4
#: Decoded words kept between runs: a loader's are mostly different, a kernel's all the same.
_KEPT = 1 << 16


class Model(GoldenModel):
    """Golden model of IMAGine, which executes each word completely before the next.

    Parameters
    ----------
    params, memory
        As of the base.
    ref_sign : bool
        As :class:`~.array.ArrayState`: the published hardware's sign of partial products.

    Attributes
    ----------
    array : ArrayState
        Registers, columns, selection. They survive from run to run; :meth:`reset` clears them.
    eov : int

    What a run counts: ``instructions``, words dispatched without fault; ``operations``, 16*R*C for
    each ``mv_updatepp`` of the highest bit; ``bytes_read``, 4 for each of the words;
    ``bytes_written``, 4 for each result word. Cycles are unknown: ``cycle_limit`` counts words, and
    a run that would dispatch more ends ``"aborted"``, code 8, pc the next word.

    The program is read as it lies at the start. A ``bus_read`` fault arises where memory ends, and
    is seen only where ``window_limit`` lies past it; ``bus_write`` likewise, of the first word that
    lies outside, with nothing executed behind the ``vv_parallelEn`` (a core may have gone on).
    """

    ISA = ISA

    def __init__(self, params: Params, memory: np.ndarray, *, ref_sign: bool = False) -> None:
        self.array = ArrayState(params, ref_sign=ref_sign)
        self._macs = PES * params["rows"] * params["cols"]
        self._decoded: dict[int, Decoded] = {}
        super().__init__(params, memory)

    def reset(self) -> None:
        """Core reset, which also clears the RAM."""
        self.array.reset()
        self.eov = 0

    def clear(self, name: str, value: int) -> None:
        """Handles a write of ``value`` to ``eov``: 1 clears it.

        Raises
        ------
        ValueError
            Another register.
        """
        if name != "eov":
            raise ValueError(f"register {name} is no flag; there is eov")
        self.eov &= ~value

    def run(
        self,
        registers: Mapping[str, int],
        cycle_limit: int | None = None,
        trace: Callable[[int, int, int], object] | None = None,
    ) -> Outcome:
        """Executes one run; see docs/how/contracts.md, section 6."""
        self.take_registers(registers, trace)
        begin, length = self.reg["program_address"], self.reg["program_length"]
        here = self.memory[begin : begin + length]
        words = here[: here.size // _WORD * _WORD].copy().view("<u4")
        self._count = self._vectors = 0
        counters = {"instructions": 0, "operations": 0, "bytes_read": 0, "bytes_written": 0}
        pc, fault = begin, None
        try:
            self._check_start()
            for index, word in enumerate(words):
                pc = begin + _WORD * index
                if cycle_limit is not None and index >= cycle_limit:
                    raise RunFault("aborted", 0)
                self._step(pc, int(word), counters)
            pc = begin + _WORD * len(words)
            if length > _WORD * len(words):
                limited = cycle_limit is not None and len(words) >= cycle_limit
                raise RunFault("aborted", 0) if limited else RunFault("bus_read", pc)
        except RunFault as stop:
            fault = stop
            if stop.name in ("aborted", "bus_write"):
                self.array.stop()
        counters["bytes_read"] = _WORD * counters["instructions"]
        counters["bytes_written"] = _WORD * self._count
        if self._vectors:
            self.eov = 1
        values = {
            "output_count": self._count,
            "vectors": self._vectors,
            "eov": self.eov,
            "geometry": geometry(self.params),
            "register_file": register_file(self.params),
        }
        return self.outcome(fault, pc, counters, values)

    def _check_start(self):
        for value in (self.reg["program_length"], self.reg["output_at"]):
            if value % _WORD:
                raise RunFault("program_align", value)
        outside = self.window.outside(self.reg["program_address"], self.reg["program_length"])
        if outside is not None:
            raise RunFault("program_window", outside)

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

    def _step(self, pc, word, counters):
        mnemonic, values, fault = self._decode(word)
        if fault is not None:
            raise RunFault(fault, word)
        if mnemonic == "vv_parallelEn":
            self._check_output()
        words = self.array.execute(mnemonic, values)
        counters["instructions"] += 1
        if mnemonic == "mv_updatepp" and values["bitNo"] == self.array.width - 1:
            counters["operations"] += self._macs
        if words is not None:
            self._emit(pc, words)

    @property
    def _next_output(self):
        return self.reg["output_at"] + _WORD * self._count

    def _check_output(self):
        begin, size = self._next_output, _WORD * self.array.rows
        limit = self.reg["output_limit"]
        if begin + size > limit:
            raise RunFault("output_full", max(begin, limit))
        outside = self.window.outside(begin, size)
        if outside is not None:
            raise RunFault("output_window", outside)

    def _emit(self, pc, words):
        begin = self._next_output
        fitting = min(len(words), max(0, (self.memory.size - begin) // _WORD))
        data = words[:fitting].astype("<u4").view(np.uint8)
        self._count += fitting
        if fitting:
            self.window.write(pc, begin, data)
        if fitting < len(words):
            raise RunFault("bus_write", begin + data.size)
        self._vectors += 1
