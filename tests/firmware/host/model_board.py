# SPDX-License-Identifier: BSD-2-Clause
"""The model of a board's link with a golden model as its core: every register, memory, runs that
end at once."""

import struct

from quintet.gateware.info import CONTROL_BASE, INFO_BASE, RUN_LIST_BASE, SOC_BASE, info_rom
from quintet.gateware.isa.parameters import params_hash
from quintet.gateware.standalone.runlist import walk
from quintet.tools.link.device_model import DeviceModel, WordMemory
from quintet.tools.targets.model import ModelTarget

__all__ = ["ModelBoard"]

CONTROL, STATUS = 0x10, 0x14
START, CORE_RESET = 1, 4
DONE, FAULT = 2, 4
LIST_START, LIST_STATUS = 0x00, 0x04


class ModelBoard(DeviceModel):
    """A board whose core is the golden model of ``isa`` with ``preset``; with ``run_list`` it walks
    lists of runs, at once.

    Attributes
    ----------
    starts : int
        Runs so far.
    log : list
        Writes of the host, (address, bytes).
    soc : WordMemory
        Registers of the SoC.
    """

    def __init__(self, isa, preset, size=1 << 20, run_list=False):
        self.target = ModelTarget(isa=isa, preset=preset, memory_size=size)
        info = self.target.info
        self.memory = WordMemory(0)
        self.memory.data = self.target.memory
        self.control = WordMemory(4096, CONTROL_BASE)
        self.rom = WordMemory(64, INFO_BASE)
        self.starts, self.log = 0, []
        self._given = set()  # names of registers that were written
        self.rom.data[:] = info_rom(
            text={},
            tag=self.target.package.isa.ISA.tag,
            params_hash=params_hash(info.params),
            memory_size=size,
            clock_hz=50_000_000,
            board="model",
        )[:64]
        self.soc = WordMemory(256, SOC_BASE)
        self.lists = WordMemory(16, RUN_LIST_BASE)
        memories = [self.memory, self.control, self.rom, self.soc]
        super().__init__([*memories, self.lists] if run_list else memories)

    def _write(self, address, data):
        failed = super()._write(address, data)
        self.log.append((address, bytes(data)))
        self._note(address, len(data))
        if failed is None and address == CONTROL_BASE + CONTROL:
            command = data[0]
            if command == CORE_RESET:
                self.control.data[:] = bytes(4096)
                self._given.clear()
                self.target.reset_core()
            elif command == START:
                self.starts += 1
                self._start()
        if failed is None and address == RUN_LIST_BASE + LIST_START:
            self._walk(int.from_bytes(data, "little") & ~3)
        return failed

    def _walk(self, address):
        def read(at, size):
            place, inside = self._place(at, size)
            return bytes(place[inside : inside + size])

        def write(at, data):
            place, inside = self._place(at, len(data))
            memoryview(place)[inside : inside + len(data)] = data
            self._note(at, len(data))

        def start():
            self.starts += 1
            self._start()
            return not self.control.data[STATUS] & FAULT

        status, runs, taken = walk(
            bytes(self.memory.data[address:]), read=read, write=write, start=start
        )
        words = struct.pack("<3I", status, runs, address + taken)
        self.lists.data[LIST_STATUS:] = words

    def _note(self, address, size):
        """Notes which registers are written from ``address`` on."""
        found = self.target.registers
        for register in found.registers.values():
            if not register.given:
                continue
            for number in range(register.count):
                name = register.name if register.count == 1 else f"{register.name}[{number}]"
                if address <= CONTROL_BASE + found.find(name)[1] < address + size:
                    self._given.add(name)

    def _place(self, address, size):
        for memory, base in ((self.memory, 0), (self.control, CONTROL_BASE)):
            if base <= address and address + size <= base + len(memory.data):
                return memory.data, address - base
        raise ValueError(f"no memory at {address:#x}")

    def _start(self):
        registers = {}
        found = self.target.registers
        for register in found.registers.values():
            if register.given and register.name not in ("control", "irq_enable"):
                names = (
                    [register.name]
                    if register.count == 1
                    else [f"{register.name}[{i}]" for i in range(register.count)]
                )
                registers.update({name: self._register(name) for name in names})
        # The model takes the reset values of the others.
        given = {name: value for name, value in registers.items() if name in self._given}
        outcome = self.target.run(given)
        status = DONE | (FAULT if outcome.fault else 0)
        self.control.data[STATUS : STATUS + 4] = struct.pack("<I", status)
        cycles = outcome.counters.get("instructions", 0)
        self.control.data[0x88:0x90] = struct.pack("<Q", cycles)

    def _register(self, name):
        register, offset = self.target.registers.find(name)
        return int.from_bytes(self.control.data[offset : offset + register.width // 8], "little")
