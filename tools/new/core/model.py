# SPDX-License-Identifier: BSD-2-Clause
"""Golden model of the template core. Pure Python and numpy."""

from collections.abc import Callable, Mapping

import numpy as np

from quintet.gateware.isa.model import Model as GoldenModel
from quintet.gateware.isa.outcome import Outcome, RunFault

from .isa import ISA

__all__ = ["Model"]


class Model(GoldenModel):
    """Golden model: runs a program on the accumulator and main memory."""

    ISA = ISA

    def reset(self) -> None:
        self.acc = 0

    def run(
        self,
        registers: Mapping[str, int],
        cycle_limit: int | None = None,
        trace: Callable[[int, int, int], object] | None = None,
    ) -> Outcome:
        self.take_registers(dict(registers), trace)
        self.reset()
        counts = dict.fromkeys(("instructions", "operations", "bytes_read", "bytes_written"), 0)
        pc, end, fault, done = (
            self.reg["program_address"],
            self.reg["program_address"] + self.reg["program_length"],
            None,
            False,
        )
        try:
            while not done:
                if cycle_limit is not None and counts["instructions"] >= cycle_limit:
                    raise RunFault("aborted", 0)
                if pc + 2 > end:
                    raise RunFault("program_end", 0)
                decoded = ISA.decode(self._word(pc))
                if decoded.fault:
                    raise RunFault(decoded.fault, decoded.detail)
                assert decoded.instruction is not None  # without one there is a fault
                done = self._execute(pc, decoded.instruction.mnemonic, decoded.values, counts)
                counts["instructions"] += 1
                counts["bytes_read"] += 2
                pc += 2
        except RunFault as found:
            fault = found
        return self.outcome(fault, pc, counts, {"acc": self.acc})

    def _at(self, address):
        if self.window.outside(address, 2) is not None:
            raise RunFault("window", address)
        if self.window.beyond(address, 2) is not None:
            raise RunFault("bus_error", address)
        return address

    def _word(self, address):
        address = self._at(address)
        return int(self.memory[address]) | int(self.memory[address + 1]) << 8

    def _execute(self, pc, mnemonic, values, counts):
        """Executes an instruction; returns whether it was the last."""
        if mnemonic == "ldi":
            self.acc = values["imm"] & 0xFFFF
        elif mnemonic != "end":
            address = self.reg["data"] + 2 * values["n"] & 0xFFFF_FFFF
            if mnemonic == "st":
                self.window.write(
                    pc, self._at(address), np.array([self.acc & 0xFF, self.acc >> 8], np.uint8)
                )
                counts["bytes_written"] += 2
            else:
                word = self._word(address)
                self.acc = {"ld": word, "add": self.acc + word, "mul": self.acc * word}[
                    mnemonic
                ] & 0xFFFF
                counts["bytes_read"] += 2
                counts["operations"] += mnemonic != "ld"
        return mnemonic == "end"
