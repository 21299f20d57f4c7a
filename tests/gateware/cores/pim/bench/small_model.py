# SPDX-License-Identifier: BSD-2-Clause
"""The small engine without gateware: its microprogram on the machine's golden model, its units and
memories in Python."""

from quintet.gateware.cores.pim.isa import ISA
from quintet.gateware.cores.pim.small.instructions import (
    ARRAYS_AT,
    MAC,
    MACHINE,
    SHIFT,
    STORE,
    TABLE_AT,
    TWO,
    Flag,
    Sink,
    Source,
)
from quintet.gateware.cores.pim.small.program import microprogram
from quintet.gateware.cores.pim.tables import TANH
from quintet.gateware.microcode.model import MachineModel

__all__ = ["SmallModel"]

_BITS = 40


def _signed(value, bits):
    return (value & (1 << bits) - 1 ^ 1 << bits - 1) - (1 << bits - 1)


class _Memory:
    """Main memory, bytes, as the machine's words."""

    def __init__(self, memory):
        self._memory = memory

    def read(self, address):
        address &= ~3
        return int.from_bytes(bytes(self._memory[address : address + 4]), "little"), int(
            address + 4 > len(self._memory)
        )

    def write(self, address, word):
        address &= ~3
        self._memory[address : address + 4] = list(word.to_bytes(4, "little"))
        return 0


class SmallModel:
    """The small engine of a build; ``memory``: main memory, an array of uint8.

    Attributes
    ----------
    machine : :class:`~quintet.gateware.microcode.model.MachineModel`
    fault : (code, pc, detail) of the last run; flags : its
        :class:`~quintet.gateware.cores.pim.small.instructions.Flag`
    counted : dict, of the last run: ``operations``, ``read``, ``written``
    """

    def __init__(self, params, memory):
        self.params, self.memory = params, memory
        self.store = bytearray(TABLE_AT + 1024)
        for k, value in enumerate(TANH[:-1]):
            self.store[TABLE_AT + 2 * k : TABLE_AT + 2 * k + 2] = (value & 0xFFFF).to_bytes(
                2, "little"
            )
        self.reg, self._value, self._acc, self._weights, self._mask = {}, 0, [0, 0], 0, 0
        self._kept, self.flags = {}, Flag(0)
        sources = {
            Source[name.upper()]: self._register(name)
            for name in (
                "window_base",
                "window_limit",
                "program_address",
                "program_length",
                "core_table",
                "run_flags",
                "gmem_base",
                "gmem_size",
            )
        }
        self.machine = MachineModel(
            MACHINE,
            microprogram(params, len(memory)),
            unit=self._unit,
            memory=_Memory(memory),
            sources=sources
            | {
                Source.VALUE: lambda: self._value,
                Source.ACC_LOW: lambda: self._acc[1],
                Source.ACC_HIGH: lambda: self._acc[1] >> 32,
            },
            sinks={
                Sink.VALUE: self._take_value,
                Sink.W: self._take_weights,
                Sink.MASK: self._take_mask,
                Sink.ACC: self._take_acc,
                Sink.FLAGS: self._take_flags,
                **{sink: self._keeper(sink) for sink in (Sink.CODE, Sink.PC, Sink.FINISH)},
                **{
                    sink: self._counter(sink) for sink in (Sink.OPERATIONS, Sink.READ, Sink.WRITTEN)
                },
            },
        )
        self.machine.run()

    def run(self, registers, limit=None):
        """One run; ``registers`` by name, of the control block. Returns its cycles."""
        self.reg = dict(registers)
        self.counted = dict.fromkeys(("operations", "read", "written"), 0)
        self.machine.counts = dict.fromkeys(self.machine.counts, 0)
        before = self.machine.cycles
        self.machine.run(limit=limit)
        return self.machine.cycles - before

    @property
    def fault(self):
        """Name, pc and detail of the run's fault, or ``None``."""
        names = {code: name for name, code in ISA.fault_codes.items()}
        code = self._kept[Sink.CODE]
        return (names[code], self._kept[Sink.PC], self._kept[Sink.FINISH]) if code else None

    def _register(self, name):
        return lambda: self.reg.get(name, 0)

    def _keeper(self, sink):
        def keep(a):
            self._kept[sink] = a

        return keep

    def _counter(self, sink):
        def add(a):
            self.counted[sink.name.lower()] += a

        return add

    def _take_value(self, a):
        self._value = a

    def _take_weights(self, a):
        self._weights = a

    def _take_mask(self, a):
        self._mask = a & 0xFFFF

    def _take_acc(self, a):
        self._acc = [_signed(a, 32), self._acc[0]]

    def _take_flags(self, a):
        self.flags = Flag(a)

    # The units

    def _unit(self, a):
        if a & MAC:
            return self._multiply(a & 0x1FF, 2 if a & TWO else 1)
        if a & SHIFT:
            return self._shift(a & 63, a & TWO)
        size, p = a & 7, self.machine.p
        if a & STORE:
            self.store[p : p + size] = (self._value & 0xFFFF_FFFF).to_bytes(4, "little")[:size]
            self._value = 0xA5A5_A5A5  # anything
        else:
            self._value = int.from_bytes(self.store[p : p + size], "little", signed=True)
        return 4

    def _multiply(self, rows, size):
        store, p, w, bits = (
            self.store,
            self.machine.p,
            ARRAYS_AT + self._weights,
            self._mask.bit_length(),
        )
        for _ in range(rows):
            x = _signed(int.from_bytes(store[p : p + size], "little"), bits)
            for k in range(2):
                self._acc = [
                    self._acc[1],
                    _signed(self._acc[0] + x * _signed(store[w + k], 8), _BITS),
                ]
            p, w = p + size, w + self.params["xb_cols"]
        return 2 * rows + 4

    def _shift(self, count, rounds):
        one, other = self._acc
        self._acc = [other, (one >> count) + (one >> count - 1 & 1 if rounds and count else 0)]
        return (count >> 3) + (count & 7) + 1

    def lmem(self):
        """Local memory."""
        return self.store[: self.params["lmem_bytes"]]
