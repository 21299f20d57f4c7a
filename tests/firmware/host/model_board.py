# SPDX-License-Identifier: BSD-2-Clause
"""The model of a board's link with a golden model as its core: every register, memory, runs that
end at once."""

import struct

from quintet.gateware.info import CONTROL_BASE, INFO_BASE, info_rom
from quintet.gateware.isa.parameters import params_hash
from quintet.tools.link.device_model import DeviceModel, WordMemory
from quintet.tools.targets.model import ModelTarget

__all__ = ["ModelBoard"]

CONTROL, STATUS = 0x10, 0x14
START, CORE_RESET = 1, 4
DONE, FAULT = 2, 4


class ModelBoard(DeviceModel):
    """A board whose core is the golden model of ``isa`` with ``preset``.

    Attributes
    ----------
    starts : int
        Runs so far.
    """

    def __init__(self, isa, preset, size=1 << 20):
        self.target = ModelTarget(isa=isa, preset=preset, memory_size=size)
        info = self.target.info
        self.memory = WordMemory(0)
        self.memory.data = self.target.memory
        self.control = WordMemory(4096, CONTROL_BASE)
        self.rom = WordMemory(64, INFO_BASE)
        self.starts = 0
        self.rom.data[:] = info_rom(
            text={},
            tag=self.target.package.isa.ISA.tag,
            params_hash=params_hash(info.params),
            memory_size=size,
            clock_hz=50_000_000,
            board="model",
        )[:64]
        super().__init__([self.memory, self.control, self.rom])

    def _write(self, address, data):
        failed = super()._write(address, data)
        if failed is None and address == CONTROL_BASE + CONTROL:
            command = data[0]
            if command == CORE_RESET:
                self.control.data[:] = bytes(4096)
                self.target.reset_core()
            elif command == START:
                self.starts += 1
                self._start()
        return failed

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
        # A register of 0 at this place was not written: the model takes its reset value.
        outcome = self.target.run({name: value for name, value in registers.items() if value})
        status = DONE | (FAULT if outcome.fault else 0)
        self.control.data[STATUS : STATUS + 4] = struct.pack("<I", status)
        cycles = outcome.counters.get("instructions", 0)
        self.control.data[0x88:0x90] = struct.pack("<Q", cycles)

    def _register(self, name):
        register, offset = self.target.registers.find(name)
        return int.from_bytes(self.control.data[offset : offset + register.width // 8], "little")
