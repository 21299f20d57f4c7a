# SPDX-License-Identifier: BSD-2-Clause
"""Controller with LiteDRAM's native port and a checker of its assumptions."""

from collections import deque

from tests.support.buses.stepping import expect

__all__ = ["NativeController"]


class NativeController:
    """Memory that accepts write data and delivers read data at its own times, without
    back-pressure, as LiteDRAM's controller does.

    Parameters
    ----------
    size, beat_bytes, rnd, stall : as of :class:`~.asking.Traffic`
    latency : (least, most) cycles from a command to its data
    base : address of the memory
    depth : commands that wait
    """

    def __init__(self, size, beat_bytes, rnd, *, stall=0.25, latency=(2, 20), base=0, depth=24):
        self.bytes, self.rnd, self.stall = beat_bytes, rnd, stall
        self.latency, self.base, self.depth = latency, base // beat_bytes, depth
        self.memory = bytearray(size)
        self.commands = deque()  # (cycle, write, address)
        self.cycle = 0
        self.drives = {
            "bus__cmd_ready": 0,
            "bus__wdata_ready": 0,
            "bus__rdata_valid": 0,
            "bus__rdata_data": 0,
        }
        self.writing = None
        self.waiting = None
        self.last = True

    def step(self, seen):
        """Checks a cycle, and returns the inputs of the next one."""
        self.cycle += 1
        rnd, drives = self.rnd, dict(self.drives)
        expect(seen["bus__rdata_ready"], "read data have to wait")
        valid = seen["bus__cmd_valid"]
        command = tuple(seen[f"bus__cmd_{name}"] for name in ("we", "addr", "last"))
        if self.waiting is not None:
            expect(valid and command == self.waiting, "a command changed before it was taken")
        self.waiting = command if valid and not drives["bus__cmd_ready"] else None
        if valid and drives["bus__cmd_ready"]:
            address = command[1] - self.base
            expect(0 <= address < len(self.memory) // self.bytes, "outside the memory")
            self.commands.append((self.cycle + rnd.randint(*self.latency), command[0], address))
        if drives["bus__wdata_ready"]:
            expect(seen["bus__wdata_valid"], "write data are missing when they are taken")
            for lane in range(self.bytes):
                if seen["bus__wdata_we"] >> lane & 1:
                    self.memory[self.writing * self.bytes + lane] = (
                        seen["bus__wdata_data"] >> 8 * lane & 0xFF
                    )
        drives["bus__wdata_ready"] = drives["bus__rdata_valid"] = 0
        if self.commands and self.commands[0][0] <= self.cycle and rnd.random() >= self.stall:
            _, write, address = self.commands.popleft()
            if write:
                drives["bus__wdata_ready"], self.writing = 1, address
            else:
                at = address * self.bytes
                drives["bus__rdata_valid"] = 1
                drives["bus__rdata_data"] = int.from_bytes(
                    self.memory[at : at + self.bytes], "little"
                )
        drives["bus__cmd_ready"] = int(
            rnd.random() >= self.stall and len(self.commands) < self.depth
        )
        changes = {name: value for name, value in drives.items() if value != self.drives[name]}
        self.drives = drives
        return changes
