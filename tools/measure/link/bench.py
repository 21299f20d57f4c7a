# SPDX-License-Identifier: BSD-2-Clause
"""Test bench of the link: the compiled link with a main memory, and 256 KiB of words at 0x8000_0000
on its bus."""

from __future__ import annotations

import ctypes
import random
from functools import cache
from pathlib import Path
from typing import Any

from amaranth import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ....boards.virtual.compile import build_library
from ....boards.virtual.native import Functions
from ....boards.virtual.simulation import Simulation
from ....gateware.bus.soclib import wishbone
from ....gateware.link.bridge import LinkBridge
from ....gateware.link.protocol import INFO_ADDRESS
from ....gateware.link.uart import UARTReceiver, UARTTransmitter
from ....gateware.memory.blockram import BlockRAMMemory
from ....gateware.memory.front import WishboneFront
from ...link.pipe import BytesLike, Pipe

__all__ = ["MEMORY", "Bench", "BenchPipe", "LinkTop"]

HERE = Path(__file__).resolve().parent
MEMORY = 1 << 16
WORDS_BASE = 0x8000_0000


class LinkTop(wiring.Component):
    """Top level of the bench: bridge, memory front end and block RAM; ``wire`` is ``(clock_hz,
    baud)``, or ``None`` for byte streams."""

    def __init__(self, *, wire: tuple[int, int] | None = None, **arguments: Any) -> None:
        self._wire, self._arguments = wire, arguments
        faces = (
            {"line_in": In(1), "line_out": Out(1)}
            if wire
            else {"rx": In(stream.Signature(8)), "tx": Out(stream.Signature(8))}
        )
        super().__init__(
            {
                **faces,
                "registers": Out(
                    wishbone.Signature(
                        addr_width=30, data_width=32, granularity=8, features={"err"}
                    )
                ),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.bridge = bridge = LinkBridge(**self._arguments)
        m.submodules.front = front = WishboneFront(beat_bytes=4, size=1 << 31)
        m.submodules.memory = memory = BlockRAMMemory(size=MEMORY, beat_bytes=4)
        wiring.connect(m, front.memory, memory.port)
        if self._wire:
            clock_hz, baud = self._wire
            m.submodules.receiver = receiver = UARTReceiver(clock_hz=clock_hz, baud=baud)
            m.submodules.transmitter = transmitter = UARTTransmitter(clock_hz=clock_hz, baud=baud)
            wiring.connect(m, receiver.o, bridge.rx)
            wiring.connect(m, bridge.tx, transmitter.i)
            m.d.comb += [receiver.line.eq(self.line_in), self.line_out.eq(transmitter.line)]
        else:
            wiring.connect(m, wiring.flipped(self.rx), bridge.rx)
            wiring.connect(m, bridge.tx, wiring.flipped(self.tx))
        high = Signal()
        m.d.comb += high.eq(bridge.bus.adr[-1])
        for bus, chosen in ((front.bus, ~high), (self.registers, high)):
            m.d.comb += [
                bus.cyc.eq(bridge.bus.cyc & chosen),
                bus.stb.eq(bridge.bus.stb),
                bus.adr.eq(bridge.bus.adr),
                bus.we.eq(bridge.bus.we),
                bus.sel.eq(bridge.bus.sel),
                bus.dat_w.eq(bridge.bus.dat_w),
            ]
            with m.If(chosen):
                m.d.comb += [
                    bridge.bus.dat_r.eq(bus.dat_r),
                    bridge.bus.ack.eq(bus.ack),
                    bridge.bus.err.eq(bus.err),
                ]
        return m


@cache
def _library(wire, **arguments):
    """The compiled bench, elaborated once per process."""
    return build_library(
        LinkTop(wire=wire, **arguments),
        harness=HERE / "harness.cpp",
        defines={"LINK_WIRE": 1} if wire else None,
    )


class Bench(Simulation):
    """An instance of the bench. ``header`` is the content of the info ROM (64 random bytes by
    default)."""

    FUNCTIONS: Functions = {
        "link_setup": (None, [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_double]),
        "link_push": (None, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint64]),
        "link_pop": (ctypes.c_uint64, [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64]),
        "link_space": (None, [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint32]),
        "link_log": (ctypes.c_uint64, [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64]),
        "link_run": (None, [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_int]),
        "link_waiting": (ctypes.c_uint64, [ctypes.c_void_p]),
    }

    def __init__(
        self,
        *,
        wire: tuple[int, int] | None = None,
        header: bytes | None = None,
        seed: int = 1,
        stall_percent: int = 0,
        line_baud: float | None = None,
        **arguments: Any,
    ) -> None:
        super().__init__(_library(wire, **arguments))
        self.clock_hz = wire[0] if wire else 24_000_000
        self.c.link_setup(
            self.handle, seed, stall_percent, wire[0] / (line_baud or wire[1]) if wire else 1.0
        )
        self.header = header or random.Random(seed).randbytes(64)
        for number in range(16):
            self.c.link_space(
                self.handle,
                (INFO_ADDRESS - WORDS_BASE) // 4 + number,
                int.from_bytes(self.header[4 * number : 4 * number + 4], "little"),
            )

    def push(self, data: BytesLike) -> None:
        """Sends bytes to the link."""
        self.c.link_push(self.handle, bytes(data), len(data))

    def pop(self, limit: int = 1 << 20) -> bytes:
        """Takes the bytes that the link has sent."""
        buffer = ctypes.create_string_buffer(limit)
        count = self.c.link_pop(self.handle, buffer, limit)
        return buffer.raw[:count]

    def run_cycles(self, count: int, *, to_frame: bool = False) -> None:
        """Simulates ``count`` cycles, or until a complete frame was received."""
        self.c.link_run(self.handle, count, to_frame)
        self._settled = False
        self.check()

    def run(self, sent: BytesLike, quiet: int = 10_000) -> bytes:
        """Sends bytes and simulates; returns the answer once the link has been quiet for ``quiet``
        cycles."""
        self.push(sent)
        answer = b""
        for _ in range(1000):
            self.run_cycles(quiet)
            new = self.pop()
            answer += new
            if not new and not self.c.link_waiting(self.handle):
                return answer
        raise AssertionError(f"the link never becomes quiet; {len(answer)} bytes were answered")

    def log(self) -> list[tuple[int, ...]]:
        """Bus writes above main memory since the last call: (address, word, byte enables)."""
        buffer = (ctypes.c_uint32 * (3 << 16))()
        count = self.c.link_log(self.handle, buffer, len(buffer))
        return [tuple(buffer[at : at + 3]) for at in range(0, count, 3)]


class BenchPipe(Pipe):
    """Byte pipe to a bench, in simulated time."""

    def __init__(self, bench: Bench, *, rate: float | None = None) -> None:
        self.bench, self.name, self.bytes_per_second = bench, "bench", rate

    def now(self) -> float:
        return self.bench.cycle / self.bench.clock_hz

    def sleep(self, seconds: float) -> None:
        self.bench.run_cycles(int(seconds * self.bench.clock_hz) + 1)

    def write(self, data: BytesLike) -> None:
        self.bench.push(data)

    def read(self, limit: int, timeout: float) -> bytes:
        self.bench.run_cycles(max(1, int(timeout * self.bench.clock_hz)), to_frame=True)
        return self.bench.pop()
