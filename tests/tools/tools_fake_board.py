# SPDX-License-Identifier: BSD-2-Clause
"""A board in Python behind the interface of ``LinkClient``: memory, control block, info ROM, and
the golden model as its core."""

import json
import struct
import time
import zlib
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np

from quintet.gateware.cores import open_core
from quintet.gateware.isa.parameters import params_hash
from quintet.tools.link.errors import LinkError

CONTROL, SOC, INFO = 0x8000_0000, 0x8001_0000, 0x8002_0000
CLOCK = 50_000_000


class FakeBoard:
    """``cycles``: how long a run takes (``None``: for ever). Its time is its own, every call takes
    ``call_seconds``; with ``None`` it is the host's."""

    def __init__(
        self,
        isa="opentpu",
        preset="sim",
        *,
        size=1 << 20,
        cycles=5000,
        call_seconds=1e-5,
        values=None,
        header=None,
    ):
        self.package = open_core(isa) if isa else None
        self.params = self.package.params.SPACE.resolve(preset) if isa else {}
        self.memory = np.zeros(size, dtype=np.uint8)
        self.cycles, self.call_seconds = cycles, call_seconds
        self.time, self.closed, self.resets, self.writes, self.traffic = 0.0, False, 0, [], [0, 0]
        values = (
            values
            if values is not None
            else {
                "board": "fake",
                "isa": isa,
                "preset": preset,
                "params": self.params,
                "clock_hz": CLOCK,
                "memory": {"size": size, "beat_bytes": 4, "kind": "array"},
                "link": "none",
                "version": "0",
            }
        )
        self.text = zlib.compress(json.dumps(values).encode())
        tag = self.package.isa.ISA.tag.encode() if isa else bytes(4)
        self.header = header or struct.pack(
            "<4s2H4s9I16s",
            b"QNTT",
            1,
            16,
            tag,
            params_hash(self.params),
            0,
            size,
            CONTROL,
            4096,
            SOC,
            INFO + 64,
            len(self.text),
            CLOCK,
            b"fake",
        )
        self.model = self.package.model.Model(self.params, self.memory) if isa else None
        self._clear()

    def _clear(self):
        self.block = bytearray(4096)
        self._put(0x2C, self.memory.size)
        self.ends = None
        self.aborted = False

    def _put(self, offset, value, size=4):
        self.block[offset : offset + size] = int(value).to_bytes(size, "little")

    # The interface of LinkClient, and of its pipe's clock

    @property
    def pipe(self):
        def read(limit, timeout):
            self.time += timeout
            return b""

        return SimpleNamespace(now=lambda: self.time, read=read)

    def _call(self):
        if self.closed:
            raise LinkError("closed")
        self.time = time.monotonic() if self.call_seconds is None else self.time + self.call_seconds

    def uncounted(self):
        return nullcontext()

    def identify(self):
        self._call()
        return self.header

    def read(self, address, size, progress=None):
        self._call()
        if progress:
            progress(size)
        if address >= INFO:
            return self.text[address - INFO - 64 :][:size]
        if address >= SOC:
            return (
                (int(self.time * CLOCK) & 0xFFFF_FFFF).to_bytes(4, "little")
                if address == SOC + 8
                else bytes(size)
            )
        if address >= CONTROL:
            self._update()
            return bytes(self.block[address - CONTROL : address - CONTROL + size])
        return self.memory[address : address + size].tobytes()

    def write(self, address, data, progress=None):
        self._call()
        if progress:
            progress(len(data))
        self.writes.append((address, bytes(data)))
        if address == CONTROL + 0x10:
            self._control(data[0])
        elif address >= CONTROL:
            self.block[address - CONTROL : address - CONTROL + len(data)] = data
        else:
            self.memory[address : address + len(data)] = np.frombuffer(bytes(data), dtype=np.uint8)

    def read_word(self, address):
        return int.from_bytes(self.read(address, 4), "little")

    def write_word(self, address, value):
        self.write(address, value.to_bytes(4, "little"))

    def transfer(self, accesses, progress=None):
        return [self._run_by_run(access, progress) for access in accesses]

    def _run_by_run(self, access, progress):
        run, stride, count = access.runs
        places = [access.address + number * stride for number in range(count)]
        if access.data is None:
            return b"".join(self.read(place, run, progress) for place in places)
        for number, place in enumerate(places):
            self.write(place, access.data[number * run : (number + 1) * run], progress)
        return b""

    def fill(self, address, size, value=0, progress=None):
        self.write(address, bytes([value]) * size, progress)

    def checksum(self, address, size):
        return zlib.crc32(self.read(address, size))

    def reset_core(self):
        self._call()
        self.resets += 1
        self._clear()

    def close(self):
        self.closed = True

    # The core

    def _control(self, value):
        if value == 1:
            self._put(0x14, 1)
            self.ends = self.time + self.cycles / CLOCK if self.cycles is not None else float("inf")
        elif value == 2 and self.ends is not None:
            self.aborted, self.ends = True, self.time
        elif value == 4:
            self._clear()

    def _update(self):
        if self.ends is None or self.time < self.ends:
            return
        self.ends = None
        if self.aborted:
            self._put(0x14, 2 | 8)
            self._put(0x40, 8)
            self._put(0x44, 0x1234)
            self._put(0x80, 777, 8)
            return
        registers = {
            r.name: int.from_bytes(self.block[r.offset : r.offset + 4], "little")
            for r in self.package.isa.ISA.registers
            if "w" in r.access
        }
        for name, offset in (
            ("program_address", 0x20),
            ("program_length", 0x24),
            ("window_base", 0x28),
            ("window_limit", 0x2C),
        ):
            registers[name] = int.from_bytes(self.block[offset : offset + 4], "little")
        outcome = self.model.run(registers)
        fault = outcome.fault
        self._put(0x14, 2 | (4 if fault else 0))
        if fault:
            self._put(0x40, fault.code)
            self._put(0x44, fault.pc)
            self._put(0x48, fault.detail)
        counters = {
            "cycles": self.cycles,
            "work": self.cycles - 7,
            "stall_other": 7,
            **outcome.counters,
        }
        from quintet.gateware.isa.registers import COMMON_COUNTERS

        for counter in COMMON_COUNTERS:
            self._put(counter.offset, counters.get(counter.name, 0), 8)
