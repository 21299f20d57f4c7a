# SPDX-License-Identifier: BSD-2-Clause
"""Golden model of the OPU: executes all instructions with all faults, in integers, for all type
sets (specification, 2 to 7)."""

import warnings
from collections.abc import Callable, Mapping

import numpy as np

from ....isa.model import Model as GoldenModel
from ....isa.outcome import Outcome, RunFault
from ....isa.parameters import Params
from ..isa import BIAS, IFM, ISA, KER, OFM
from ..params import cap_lanes
from ..types import SLOT, type_set
from . import arithmetic
from .sequence import Regions, Sequence

__all__ = ["Model", "SelfModifyingProgram"]

_WORD_BYTES = 4


class SelfModifyingProgram(UserWarning):
    """Error: a program wrote to its own words. The model would run the original words, but a core
    need not (section 2.4)."""


class Model(GoldenModel):
    """Golden model of the OPU, which executes instructions one by one.

    What a run counts (sections 7.2 and 10.1), over the instructions completed, ``end`` included; an
    instruction that faults counts nothing (a core may have counted bytes moved before a bus error):

    * ``instructions``: 1 each.
    * ``operations``: ``ofm_h*ofm_w*ofm_c*ifm_c`` for each ``conv*``.
    * ``bytes_read``: 4 for each instruction, and the elements of each load.
    * ``bytes_written``: the elements of each ``store``, the zeroed bytes of each ``pad``.

    Cycles are unknown here: ``cycle_limit`` counts instructions instead, and a run that would issue
    more ends with status ``"aborted"``, fault code 8, pc the next word. (A core takes at least one
    cycle for an instruction.)

    A ``bus`` fault arises where memory ends, and is seen only where ``window_limit`` lies past it:
    its detail is the first address past the end inside the array (or the word); the address of a
    core's request depends on how it cuts its bursts. A store that raises it writes nothing here.
    """

    ISA = ISA

    def __init__(self, params: Params, memory: np.ndarray) -> None:
        super().__init__(params, memory)
        self.types = type_set(params)
        self._dtypes = {bits: np.dtype(f"<i{bits // 8}") for bits in (8, 16, 32)}
        self._run = {
            "ld.ifm": self._ld_ifm,
            "ld.ker": self._ld_ker,
            "ld.bias": self._ld_bias,
            "conv": self._conv,
            "conv.bias": self._conv,
            "conv.acc": self._conv,
            "store": self._store,
            "pad": self._pad,
        }

    def reset(self) -> None:
        """Core reset. No state is kept between runs."""
        self._sequence: Sequence | None = None
        self._ifm = self._ker = self._bias = self._ofm = None

    # For tools; no core shows its buffers.

    ifm = property(
        lambda self: self._shown(IFM, self._ifm), doc="ifm after the last run, or None if invalid."
    )
    ker = property(
        lambda self: self._shown(KER, self._ker), doc="ker after the last run, or None if invalid."
    )
    bias = property(
        lambda self: self._shown(BIAS, self._bias),
        doc="bias after the last run, or None if invalid.",
    )
    ofm = property(
        lambda self: self._shown(OFM, self._ofm), doc="ofm after the last run, or None if invalid."
    )

    def _shown(self, bit, buffer):
        return buffer if self._sequence is not None and self._sequence.valid & bit else None

    def run(
        self,
        registers: Mapping[str, int],
        cycle_limit: int | None = None,
        trace: Callable[[int, int, int], object] | None = None,
    ) -> Outcome:
        """Executes one run; see docs/how/contracts.md, section 6; ``trace`` is called in order,
        while memory holds the data just written."""
        self.take_registers(registers, trace)
        self._regions = Regions(self.reg)
        self._begin = self.reg["program_address"]
        self._end = self._begin + self.reg["program_length"]
        self._program = self.memory[self._begin : self._end].copy()
        self._sequence = sequence = Sequence(self.params, self.params, self._regions)
        self._ifm = self._ker = self._bias = self._ofm = None
        self._wrote_program = False
        counters = {"instructions": 0, "operations": 0, "bytes_read": 0, "bytes_written": 0}
        self._pc, fault, word = self._begin, None, 0
        try:
            while True:
                word = 0
                if cycle_limit is not None and counters["instructions"] >= cycle_limit:
                    raise RunFault("aborted", 0)
                word = self._fetch(self._pc)
                step = sequence.step(word)
                if step.mnemonic in self._run:
                    beyond = step.array and self.window.beyond(*step.array)
                    if beyond is not None:
                        raise RunFault("bus", beyond)
                    self._run[step.mnemonic](step)
                counters["instructions"] += 1
                counters["operations"] += step.macs
                counters["bytes_read"] += step.bytes_read + _WORD_BYTES
                counters["bytes_written"] += step.bytes_written
                if step.mnemonic == "end":
                    break
                self._pc += _WORD_BYTES
        except RunFault as stop:
            fault = stop
        faulty = fault is not None and fault.name != "aborted"
        values = {
            "fault_insn": word if faulty else 0,
            "cap_types": self.types.cap_types,
            "cap_lanes": cap_lanes(self.params),
            "cap_ifm_lines": self.params["ifm_lines"],
            "cap_ofm_lines": self.params["ofm_lines"],
            "cap_ker_rows": self.params["ker_rows"],
        }
        return self.outcome(fault, self._pc, counters, values)

    def _fetch(self, pc):
        if not self._regions.holds(pc, _WORD_BYTES):
            raise RunFault("window", pc)
        if pc + _WORD_BYTES > self._end:
            raise RunFault("fetch", pc)
        if pc + _WORD_BYTES > self.memory.size:
            raise RunFault("bus", pc)
        offset = pc - self._begin
        return int.from_bytes(self._program[offset : offset + _WORD_BYTES].tobytes(), "little")

    # Memory

    def _channels(self, address, shape, row_slots, bits):
        """Writable view [rows, columns, channels] of a map in memory."""
        size = bits // 8
        return np.ndarray(
            shape,
            dtype=self._dtypes[bits],
            buffer=self.memory.data,
            offset=address,
            strides=(row_slots * SLOT * size, SLOT * size, size),
        )

    def _flat(self, array, bits):
        return np.frombuffer(
            self.memory.data,
            dtype=self._dtypes[bits],
            count=array.span * 8 // bits,
            offset=array.address,
        ).astype(np.int64)

    def _note_write(self, address, size):
        self.window.wrote(self._pc, address, size)
        if address < self._end and self._begin < address + size and not self._wrote_program:
            self._wrote_program = True
            warnings.warn(
                f"the instruction at {self._pc:#x} writes "
                f"{address:#x}..{address + size - 1:#x}, part of the "
                "program; the model goes on with the program as it was",
                SelfModifyingProgram,
                stacklevel=4,
            )

    # Loads (4.3)

    def _ld_ifm(self, step):
        s = self._sequence
        self._ifm = self._channels(step.array.address, s.ifm, s.ifm_mem_w, self.types.ifm).astype(
            np.int64
        )

    def _ld_ker(self, step):
        s = self._sequence
        self._ker = self._flat(step.array, self.types.ker).reshape(s.ker_n, s.ofm[2], s.ifm[2])

    def _ld_bias(self, step):
        self._bias = self._flat(step.array, self.types.bias)

    # Convolutions (4.4)

    def _conv(self, step):
        s = self._sequence
        top, left, tap = step.values["h"], step.values["w"], step.values["n"]
        down, right = s.stride
        window = self._ifm[
            top : top + (s.ofm[0] - 1) * down + 1 : down,
            left : left + (s.ofm[1] - 1) * right + 1 : right,
        ]
        sums = arithmetic.dot(window, self._ker[tap])
        f, b = s.shift
        if step.mnemonic == "conv.bias":
            self._ofm = arithmetic.conv_bias(self._bias, sums, f, b, self.types)
        else:
            before = self._ofm if step.mnemonic == "conv.acc" else 0
            self._ofm = arithmetic.conv_acc(before, sums, f, self.types)

    # Results (4.5, 4.6)

    def _store(self, step):
        s, types = self._sequence, self.types
        x = arithmetic.requantise(self._ofm, types)
        if s.order == 1:
            x = arithmetic.activate(self._residual(x), s.act)
        else:
            x = arithmetic.activate(x, s.act)
            if s.order == 0 and s.res:
                x = self._residual(x)
        x = arithmetic.pool(x, s.pool)
        if s.order == 2:
            x = self._residual(x)
        row_slots, (rows, columns, channels) = s.ofm_mem[1], x.shape
        size = types.ifm_bytes
        overlap = columns > row_slots  # the later row stays; each is there when its writes are told
        if not overlap:
            self._channels(step.array.address, x.shape, row_slots, types.ifm)[:] = x
        for i in range(rows):
            row = step.array.address + i * row_slots * SLOT * size
            if overlap:
                self._channels(row, (1, columns, channels), row_slots, types.ifm)[:] = x[i]
            if channels == SLOT:
                self._note_write(row, columns * SLOT * size)
            else:
                for j in range(columns):
                    self._note_write(row + j * SLOT * size, channels * size)

    def _residual(self, x):
        rows, columns, channels = x.shape
        return np.clip(x + self._ifm[:rows, :columns, :channels], *self.types.ifm_range)

    def _pad(self, step):
        width = step.values["p"]
        if not width:
            return
        height, slots = self._sequence.ofm_mem
        slot = SLOT * self.types.ifm_bytes
        for i in range(height):
            row = step.array.address + i * slots * slot
            if i < width or i >= height - width or 2 * width >= slots:
                pieces = ((0, slots),)
            else:
                pieces = ((0, width), (slots - width, slots))
            for first, last in pieces:
                self.memory[row + first * slot : row + last * slot] = 0
                self._note_write(row + first * slot, (last - first) * slot)
