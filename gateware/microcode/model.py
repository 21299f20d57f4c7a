# SPDX-License-Identifier: BSD-2-Clause
"""Golden model of the accumulator machine: runs a microprogram without gateware, cycle by cycle.
Pure Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from ..isa.registers import StallClass
from .accumulator import OPERAND_BITS, AccumulatorFormat, Mode, Op
from .program import Microprogram

__all__ = ["MachineModel", "MicrocodeLimit", "WordMemory"]

_ONES = 0xFFFF_FFFF
_X = (1 << OPERAND_BITS) - 1
# Members of an enumeration are slow to compare.
(
    _LD,
    _ADD,
    _SUB,
    _AND,
    _ST,
    _SHL,
    _SHR,
    _OUT,
    _READ,
    _REQUEST,
    _SEND,
    _RUN,
    _CNT,
    _CLS,
    _JMP,
    _JZ,
    _JNZ,
    _JC,
    _JNC,
    _JABORT,
    _CALL,
    _RET,
    _JTAB,
    _WAIT,
    _MUL,
    _IDX,
    _JNEG,
    _JPOS,
    _ADC,
) = map(int, Op)
_PLACE, _INDEXED, _SOURCE, _NUMBER = map(int, Mode)
_READS = frozenset((_LD, _ADD, _SUB, _AND, _MUL, _IDX, _ADC))


class MicrocodeLimit(RuntimeError):
    """Error: a microprogram exceeded its cycle limit."""


class WordMemory(Protocol):
    """Main memory of a machine, accessed by words."""

    def read(self, address: int) -> tuple[int, int]:
        """Reads a word: ``(word, error)``."""

    def write(self, address: int, word: int) -> int:
        """Writes a word; returns the error."""


class MachineModel:
    """Golden model of an accumulator machine and its attached units and memory.

    Parameters
    ----------
    machine : :class:`~.accumulator.AccumulatorFormat`
    program : :class:`~.program.Microprogram`
    sources : dict, source -> function of nothing that gives 32 bits; ``LOW`` is here already
    sinks : dict, sink -> function of A
    unit : function of A that does what ``run`` asks for and gives the cycles that it waits,
        0 where it is complete at once
    memory : :class:`WordMemory`
    latency : cycles that a word of main memory takes beyond those of another micro-instruction

    Attributes
    ----------
    a, carry, index, p, registers : as the machine's
    abort : bool, the condition of ``jabort``
    cycles : of all runs; classes : the same, by class; spent : by address
    counts : dict, count -> how often
    """

    def __init__(
        self,
        machine: AccumulatorFormat,
        program: Microprogram,
        *,
        sources: Mapping[Any, Callable[[], int]] | None = None,
        sinks: Mapping[Any, Callable[[int], object]] | None = None,
        unit: Callable[[int], int] | None = None,
        memory: WordMemory | None = None,
        latency: int = 1,
    ) -> None:
        self.machine, self.program, self.registers = machine, program, list(program.registers)
        self._words = [(word >> OPERAND_BITS, word & _X) for word in program.words]
        self._sources = {int(number): read for number, read in (sources or {}).items()}
        if "LOW" in machine.sources.__members__:
            self._sources[int(machine.sources.LOW)] = lambda: self._low
        self._sinks = {int(number): take for number, take in (sinks or {}).items()}
        self._unit, self._memory, self._latency = unit, memory, latency
        self._word_address = 0
        self.a = self.carry = self.index = self.p = self._low = self._depth = self.at = (
            self.cycles
        ) = 0
        self.abort, self._waits, self._stall = False, False, StallClass.OTHER
        self.spent = [0] * len(self._words)
        self.classes: dict[int, int] = {}
        self.counts = dict.fromkeys(machine.counts, 0)

    def variable(self, name: str) -> int:
        """Value of a variable."""
        return self.registers[self.program.names[name]]

    def set(self, name: str, value: int) -> None:
        """Sets a variable to a value."""
        self.registers[self.program.names[name]] = value

    def entry(self, array: str, number: int) -> int:
        """Value of an array entry."""
        return self.registers[self.machine.arrays[array][0] + number]

    def run(
        self, start: str | None = None, end: str | None = None, limit: int | None = None
    ) -> MachineModel:
        """Runs, or resumes, until the next ``wait`` or label ``end``; begins at label ``start``.
        The first run is that of a reset, up to the first ``wait``.

        Raises
        ------
        MicrocodeLimit
            More than ``limit`` cycles.
        """
        labels = self.program.labels
        if start is not None:
            self.at, self._depth = labels[start], 0
        elif self._waits:
            self.at += 1
        self._waits = False
        last = None if limit is None else self.cycles + limit
        end = -1 if end is None else labels[end]
        while self.at != end:
            if self._words[self.at][0] == _WAIT:
                self._waits, self._depth = True, 0
                break
            self._step()
            if last is not None and self.cycles > last:
                raise MicrocodeLimit(
                    f"The microprogram still runs after {limit} cycles, at "
                    f"{self.program.place(self.at)}"
                )
        return self

    def listing(self) -> str:
        """Listing of the program, with the cycles spent at each micro-instruction."""
        return self.program.listing(self.spent)

    def _operand(self, x):
        mode = x >> 9
        if mode == _PLACE:
            return self.registers[x]
        if mode == _NUMBER:
            return x & 511
        if mode == _INDEXED:
            return self.registers[x & 255 | self.index]
        return self._sources[x & 511]() & _ONES

    def _step(self):
        at = self.at
        op, x = self._words[at]
        self.at, cycles, a = at + 1, 2, self.a
        if op in _READS:
            r = self._operand(x)
            if op == _LD:
                self.a = r
            elif op == _ADD:
                total = a + r
                self.a, self.carry = total & _ONES, total >> 32
            elif op == _SUB:
                total = a + (r ^ _ONES) + 1
                self.a, self.carry = total & _ONES, total >> 32
            elif op == _AND:
                self.a = a & r
            elif op == _ADC:
                total = a + r + self.carry
                self.a, self.carry = total & _ONES, total >> 32
            elif op == _IDX:
                self.index = r & 255
            else:
                cycles += 31 + a.bit_count()
                product = a * r
                self.a, self._low, self.carry = product >> 32, product & _ONES, product >> 31 & 1
        elif op == _ST:
            self.registers[x & 255 | self.index if x >> 9 == _INDEXED else x] = a
        elif op in (_SHL, _SHR):
            count = (self.index if x >> OPERAND_BITS - 1 else x) & 31
            cycles += max(0, count - 1)
            if count and op == _SHL:
                self.a, self.carry = a << count & _ONES, a >> 32 - count & 1
            elif count:
                self.a, self.carry = a >> count, a >> count - 1 & 1
        elif op in (_JZ, _JNZ):
            if (a == 0) == (op == _JZ):
                self.at = x
        elif op in (_JC, _JNC):
            if self.carry == (op == _JC):
                self.at = x
        elif op in (_JNEG, _JPOS):
            if a >> 31 == (op == _JNEG):
                self.at = x
        elif op == _JMP:
            self.at = x
        elif op == _CALL:
            self.registers[self.machine.returns | self._depth] = self.at
            self._depth = self._depth + 1 & 7
            self.at = x
        elif op == _RET:
            self._depth = self._depth - 1 & 7
            self.at = self.registers[self.machine.returns | self._depth]
        else:
            cycles += self._other(op, x)
        self.cycles += cycles
        self.spent[at] += cycles
        self.classes[self._stall] = self.classes.get(self._stall, 0) + cycles

    def _other(self, op, x):
        """Executes an operation that is rare in inner loops; returns its extra cycles."""
        a = self.a
        if op == _OUT:
            if x == 0:
                self.index = a & 255
            elif x == 1:
                self.p = a
            else:
                self._sinks[x](a)
        elif op == _RUN:
            return self._unit(a)
        elif op == _READ:
            self.a, self.carry = self._memory.read(a)
            return self._latency
        elif op == _REQUEST:
            self._word_address, self.carry = a, 0
        elif op == _SEND:
            self.carry = self._memory.write(self._word_address, a)
            return self._latency
        elif op == _CNT:
            for count in self.machine.counts:
                self.counts[count] += bool(x & count)
        elif op == _CLS:
            self._stall = x
        elif op == _JTAB:
            self.at = x | a & 31
        elif op == _JABORT:
            self.at = x if self.abort else self.at
        return 0
