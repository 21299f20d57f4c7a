# SPDX-License-Identifier: BSD-2-Clause
"""Golden model of IMAGine: the state of array and column registers, the semantics of every
instruction, and runs with their faults, outputs and counters (sections 4, 6 and 7). Numpy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from ....isa.model import Model as GoldenModel
from ....isa.outcome import Outcome, RunFault
from ....isa.parameters import Params
from ..isa import ISA, MULTI_CYCLE, PES
from ..params import geometry, register_file

if TYPE_CHECKING:
    from ....isa.table import Decoded

__all__ = ["ArrayState", "Model", "OFF", "PARALLEL", "SERIAL"]


#: Shift modes.
OFF, SERIAL, PARALLEL = "off", "serial", "parallel"

_IS_DATA, _IS_LAST = 1 << 24, 1 << 25


class ArrayState:
    """State of the array (section 2), with one method per instruction, called with the
    instruction's fields by name.

    Parameters
    ----------
    params : dict
        Every build parameter.
    ref_sign : bool
        The sign of a partial product as published: wrong where the multiplicand is -2^(N-1).

    Attributes
    ----------
    registers : numpy.ndarray
        uint16 [D/N, R, C, 16]: the N bits of each register of each PE, registers that only
        ``mv_write`` reaches included.
    prevm : numpy.ndarray
        uint8 [R, C, 16]: previous multiplier bits.
    columns : numpy.ndarray
        uint16 [R]: column registers.
    mode : str
        ``OFF``, ``SERIAL`` or ``PARALLEL``.
    selected : tuple of slice
        Block rows and block columns that ``mv_write`` reaches.
    """

    def __init__(self, params: Params, *, ref_sign: bool = False) -> None:
        self.width = params["reg_width"]
        self.rows, self.cols = params["rows"], params["cols"]
        self.ref_sign = ref_sign
        self._mask = (1 << self.width) - 1
        self._lanes = np.arange(PES, dtype=np.uint16)
        self._shape = params["depth"] // self.width, self.rows, self.cols, PES
        self.reset()

    def reset(self) -> None:
        """Core reset: sets all state to its reset value, the RAM included."""
        self.registers = np.zeros(self._shape, np.uint16)
        self.prevm = np.zeros(self._shape[1:], np.uint8)
        self.selected = slice(None), slice(None)
        self.stop()

    def stop(self) -> None:
        """Effect of an abort on the column registers: mode off, all zero."""
        self.columns = np.zeros(self.rows, np.uint16)
        self.mode = OFF

    def execute(self, mnemonic: str, values: dict[str, int]) -> np.ndarray | None:
        """Executes one instruction; returns ``None``, or for ``vv_parallelEn`` the output FIFO's
        words (uint32 [R])."""
        result = getattr(self, mnemonic)(**values)
        if mnemonic not in MULTI_CYCLE:
            return result
        if self.mode == SERIAL:
            # The bits written, lowest first, of PE 0 of block column 0; the last N of them stay.
            bits = result & self._mask if mnemonic != "mv_updatepp" else result >> 1 & self._mask
            self.columns = bits[:, 0, 0].astype(np.uint16)
        return None

    def values(self, number: int) -> np.ndarray:
        """Values of register ``number`` as signed integers, int32 [R, 16*C]: element k of a row is
        PE k mod 16 of block column k div 16."""
        return self._signed(self.registers[number]).reshape(self.rows, self.cols * PES)

    def ram(self) -> np.ndarray:
        """Contents of the blocks' RAMs, uint16 [D, R, C]: bit p of a row belongs to PE p."""
        bits = (
            self.registers[:, None] >> np.arange(self.width, dtype=np.uint16)[:, None, None, None]
            & 1
        )
        rows = (bits << self._lanes).sum(axis=-1, dtype=np.uint16)
        return rows.reshape(-1, self.rows, self.cols)

    def _signed(self, bits):
        wide = bits.astype(np.int32)
        return wide - (wide >> self.width - 1 << self.width)

    def _store(self, number, value):
        self.registers[number] = value & self._mask
        return self.registers[number]

    # The array

    def mv_nop(self) -> None:
        """No operation."""
        pass

    def mv_write(self, addr: int, data: int) -> None:
        """Writes row ``addr`` of every selected block: one bit of each of its 16 PEs."""
        number, bit = divmod(addr, self.width)
        part = self.registers[number][self.selected]
        part &= np.uint16(0xFFFF ^ 1 << bit)
        part |= (np.uint16(data) >> self._lanes & np.uint16(1)) << np.uint16(bit)

    def mv_selectAll(self) -> None:
        """Selects all blocks."""
        self.selected = slice(None), slice(None)

    def mv_selectRow(self, rowID: int) -> None:
        """Selects the blocks of a block row."""
        self.selected = slice(rowID, rowID + 1), slice(None)

    def mv_selectCol(self, colID: int) -> None:
        """Selects the blocks of a block column."""
        self.selected = slice(None), slice(colID, colID + 1)

    def mv_selectBlk(self, rowID: int, colID: int) -> None:
        """Selects one block."""
        self.selected = slice(rowID, rowID + 1), slice(colID, colID + 1)

    def mv_mov(self, rd: int, rs: int) -> None:
        """Copies register ``rs`` to ``rd``."""
        return self._store(rd, self.registers[rs].copy())

    def mv_movOffset(self, offset: int, rd: int, rs: int) -> None:
        """Moves the low bits of {rs+1, rs} >> ``offset`` to ``rd``."""
        pair = self.registers[rs].astype(np.uint32)
        if offset:
            pair |= self.registers[rs + 1].astype(np.uint32) << np.uint32(self.width)
        return self._store(
            rd, (pair >> np.uint32(offset) & np.uint32(self._mask)).astype(np.uint16)
        )

    def mv_add(self, rd: int, rs1: int, rs2: int) -> None:
        """Adds: rd := rs1 + rs2."""
        return self._store(rd, self.registers[rs1] + self.registers[rs2])

    def mv_sub(self, rd: int, rs1: int, rs2: int) -> None:
        """Subtracts: rd := rs1 - rs2."""
        return self._store(rd, self.registers[rs1] - self.registers[rs2])

    def mv_blockFold(self, fold: int, rd: int, rs: int) -> None:
        """Folds within each block: PE i < H = 16 >> ``fold``: rd := rs[i] + rs[i+H]; the others
        rd := rs[i]."""
        half = PES >> fold
        value = self.registers[rs].copy()
        value[..., :half] += value[..., half : 2 * half]
        return self._store(rd, value)

    def mv_accumRow(self, level: int, reg: int) -> None:
        """Accumulates along block rows: PE 0 of ``reg`` of block columns c with c mod
        2^(level+1) = 0 += that of block column c+2^level."""
        step = 1 << level
        first = self.registers[reg][:, :, 0]
        sources = first[:, step :: 2 * step]
        receivers = first[:, :: 2 * step][:, : sources.shape[1]]
        receivers[...] = receivers + sources & self._mask
        return self.registers[reg]

    def mv_clrmbit(self) -> None:
        """Clears the previous multiplier bits."""
        self.prevm[...] = 0

    def mv_updatepp(self, ppreg: int, multiplicand: int, multiplier: int, bitNo: int) -> None:
        """One Booth step: updates the partial product with bit ``bitNo`` of the multiplier."""
        width, ones = self.width, (1 << self.width + 1) - 1
        bit = (self.registers[multiplier] >> np.uint16(bitNo) & np.uint16(1)).astype(np.uint8)
        pair = (
            self.registers[ppreg].astype(np.int64)
            | self.registers[ppreg + 1].astype(np.int64) << width
        )
        window = self._signed((pair >> bitNo & self._mask).astype(np.uint16)) if bitNo else 0
        result = window + (self.prevm.astype(np.int32) - bit) * self._signed(
            self.registers[multiplicand]
        )
        if self.ref_sign:
            result = result & self._mask
            result |= (result >> width - 1) << width
        result &= ones
        pair = pair & ~(ones << bitNo) | result.astype(np.int64) << bitNo
        self._store(ppreg, pair.astype(np.uint64).astype(np.uint16))
        self._store(ppreg + 1, (pair >> width).astype(np.uint16))
        self.prevm = bit
        return result

    # The column registers

    def vv_nop(self) -> None:
        """No operation of the column registers."""
        pass

    def vv_serialEn(self) -> None:
        """Enables serial capture by the column registers."""
        self.mode = SERIAL

    def vv_shiftOff(self) -> None:
        """Stops the shifting of the column registers, which keep their values."""
        self.mode = OFF

    def vv_parallelEn(self) -> np.ndarray:
        """Shifts the column registers out and returns the output FIFO's words; the registers become
        0."""
        self.mode = PARALLEL
        words = self._signed(self.columns).astype(np.uint32) & np.uint32(0xFFFF) | np.uint32(
            _IS_DATA
        )
        words[-1] |= np.uint32(_IS_LAST)
        self.columns = np.zeros(self.rows, np.uint16)
        return words


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
        As :class:`ArrayState`: the published hardware's sign of partial products.

    Attributes
    ----------
    array : ArrayState
        Registers, columns, selection. They survive from run to run; :meth:`reset` clears them.
    eov : int

    Counters of a run: ``instructions``, words dispatched without fault; ``operations``, 16*R*C for
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
