# SPDX-License-Identifier: BSD-2-Clause
"""Test bench of the USB link: a host on D+ and D- of the compiled link, with a SoC without a core
behind it; one cycle is 48 MHz."""

from __future__ import annotations

import ctypes
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

from amaranth import ClockDomain, DomainRenamer, EnableInserter, Module, ResetSignal, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ....boards import virtual
from ....boards.virtual.compile import build_library
from ....boards.virtual.native import Functions
from ....boards.virtual.simulation import Simulation
from ....gateware.link.usb.crossing import USBLink
from ....gateware.link.usb.identity import identity_of
from ....gateware.link.usb.transceiver import USBPins
from ....gateware.memory.blockram import BlockRAMMemory
from ....gateware.soc import SoC
from ...link.pipe import BytesLike, Pipe

__all__ = ["MEMORY", "TransferError", "USBBench", "USBPipe"]

HERE = Path(__file__).resolve().parent
#: Beside the other headers they would be part of every library, and each change of them make all be
#: compiled again.
HOST = Path(virtual.__file__).resolve().parent / "usb"
MEMORY = 1 << 16
STEPS_HZ = 48_000_000


class _Inner(wiring.Component):
    """Design under test: the link and, behind it, a SoC or, with ``loop``, a loopback from its
    receiving to its sending side."""

    def __init__(self, *, clock_hz, loop):
        self._loop, self._clock_hz = loop, clock_hz
        super().__init__({"pins": Out(USBPins())})

    def elaborate(self, platform):
        m = Module()
        link = m.submodules.link = USBLink(identity=identity_of("bench"))
        wiring.connect(m, link.pins, wiring.flipped(self.pins))
        if self._loop:
            wiring.connect(m, link.rx, link.tx)
        else:
            soc = m.submodules.soc = SoC(
                board_name="bench",
                clock_hz=self._clock_hz,
                pipelined=self._clock_hz > 60e6,
                memory=BlockRAMMemory(size=MEMORY, beat_bytes=4),
            )
            wiring.connect(m, link.rx, soc.rx)
            wiring.connect(m, soc.tx, link.tx)
        return m


class USBTop(wiring.Component):
    """Top level of the bench. ``clk`` is the 48 MHz clock; the 12 MHz clock is an enable of it;
    ``second_clk`` is the SoC's."""

    def __init__(self, **arguments: Any) -> None:
        self._inner = _Inner(**arguments)
        super().__init__({"pins": Out(USBPins()), "second_clk": In(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        quarter = Signal(2)
        m.d.sync += quarter.eq(quarter + 1)
        m.domains.soc = soc = ClockDomain("soc")
        m.d.comb += [soc.clk.eq(self.second_clk), soc.rst.eq(ResetSignal("sync"))]
        inner = EnableInserter({"usb": quarter == 3})(self._inner)
        m.submodules.inner = DomainRenamer({"sync": "soc", "usb": "sync", "usb_io": "sync"})(inner)
        wiring.connect(m, self._inner.pins, wiring.flipped(self.pins))
        return m


@cache
def _library(clock_hz, loop):
    """The compiled bench, elaborated once per process."""
    return build_library(
        USBTop(clock_hz=clock_hz, loop=loop), harness=HERE / "usb_harness.cpp", include=[HOST]
    )


class TransferError(Exception):
    """Error: a control transfer was stalled or not answered."""


class USBBench(Simulation):
    """A bench instance, powered and connected, not yet enumerated."""

    FUNCTIONS: Functions = {
        "usb_setup": (None, [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint, ctypes.c_uint]),
        "usb_lose": (None, [ctypes.c_void_p, ctypes.c_uint]),
        "usb_unplug": (None, [ctypes.c_void_p, ctypes.c_int]),
        "usb_reset": (None, [ctypes.c_void_p, ctypes.c_uint64]),
        "usb_address": (None, [ctypes.c_void_p, ctypes.c_uint]),
        "usb_configured": (None, [ctypes.c_void_p]),
        "usb_polls": (None, [ctypes.c_void_p, ctypes.c_int]),
        "usb_control": (None, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_uint]),
        "usb_result": (ctypes.c_int, [ctypes.c_void_p]),
        "usb_answer": (ctypes.c_uint64, [ctypes.c_void_p, ctypes.c_void_p]),
        "usb_push": (None, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint64]),
        "usb_waiting": (ctypes.c_uint64, [ctypes.c_void_p]),
        "usb_pop": (ctypes.c_uint64, [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64]),
        "usb_counts": (None, [ctypes.c_void_p, ctypes.c_void_p]),
        "usb_run": (None, [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_int]),
    }
    COUNTS = (
        "frames",
        "naks",
        "retries",
        "spoilt",
        "empty",
        "packets_out",
        "packets_in",
        "turnaround_min",
        "turnaround_max",
    )

    def __init__(self, *, clock_hz: int = 24_000_000, loop: bool = False) -> None:
        super().__init__(_library(clock_hz, loop))
        self.second_clock(Fraction(clock_hz, STEPS_HZ))
        self.set("rst", 1)
        self.run_steps(8)
        self.set("rst", 0)
        self.run_steps(4000)

    def host(self, *, seed: int = 1, spoil: int = 0, nak_rest: int = 0) -> None:
        """Configures the simulated host. ``spoil``: one packet in so many is damaged, in either
        direction (0: none). ``nak_rest``: bit times before an IN endpoint without data is polled
        again while there is data to send."""
        self.c.usb_setup(self.handle, seed, spoil, nak_rest)

    def run_steps(self, count: int, until: int = 0) -> None:
        """Simulates ``count`` cycles of 48 MHz."""
        self.c.usb_run(self.handle, count, until)
        self._settled = False
        self.check()

    def control(
        self,
        kind: int,
        request: int,
        value: int = 0,
        index: int = 0,
        length: int = 0,
        data: bytes = b"",
        limit: float = 0.05,
    ) -> bytes:
        """Performs a control transfer; returns the data read, or ``b""``.

        Raises
        ------
        TransferError
        """
        setup = bytes([kind, request]) + b"".join(
            n.to_bytes(2, "little") for n in (value, index, length or len(data))
        )
        self.c.usb_control(self.handle, setup, bytes(data), len(data))
        self.run_steps(int(limit * STEPS_HZ), until=1)
        result = self.c.usb_result(self.handle)
        if result:
            raise TransferError(
                {1: "is not answered", 2: "is stalled", 3: "fails again and again"}[result]
            )
        if not kind & 0x80:
            return b""
        buffer = ctypes.create_string_buffer(1 << 16)
        count = self.c.usb_answer(self.handle, buffer)
        return buffer.raw[:count]

    def reset_bus(self, milliseconds: float = 1.0) -> None:
        """Resets the bus: SE0 (at least 10 ms on a real bus), and the recovery time after it."""
        self.c.usb_reset(self.handle, int(milliseconds * 12_000))
        self.run_steps(int((milliseconds + 0.2) * 48_000))

    def descriptor(self, kind: int, index: int = 0, length: int = 255, language: int = 0) -> bytes:
        """Reads a descriptor."""
        return self.control(0x80, 6, kind << 8 | index, language, length)

    def address(self, address: int) -> None:
        """Sets the device's address."""
        self.control(0x00, 5, address)
        self.c.usb_address(self.handle, address)
        self.run_steps(2 * 48_000)

    def configure(self, address: int = 5, lose: int = 0) -> tuple[bytes, bytes]:
        """Enumerates the device as a host does before a serial port appears; returns the
        descriptors of device and configuration. ``lose``: see :meth:`lose`, applied before the
        configuration is set."""
        self.reset_bus()
        device = self.descriptor(1, length=64)
        self.address(address)
        configuration = self.descriptor(2)
        self.lose(lose)
        self.control(0x00, 9, configuration[5])
        self.c.usb_configured(self.handle)
        return device, configuration

    def push(self, data: BytesLike) -> None:
        """Sends bytes to the device."""
        self.c.usb_push(self.handle, bytes(data), len(data))

    def pop(self, limit: int = 1 << 20) -> bytes:
        """Takes the bytes that the device has sent."""
        buffer = ctypes.create_string_buffer(limit)
        count = self.c.usb_pop(self.handle, buffer, limit)
        return buffer.raw[:count]

    def polling(self, polls: bool) -> None:
        """Sets whether the host polls the device for data."""
        self.c.usb_polls(self.handle, polls)

    def lose(self, acknowledgements: int) -> None:
        """Drops the host's next ``acknowledgements`` acknowledgements."""
        self.c.usb_lose(self.handle, acknowledgements)

    def unplug(self, unplugged: bool) -> None:
        """Disconnects or connects the device."""
        self.c.usb_unplug(self.handle, unplugged)

    @property
    def waiting(self) -> int:
        """Number of bytes queued for the device."""
        return self.c.usb_waiting(self.handle)

    @property
    def counts(self) -> dict[str, int]:
        """Counters of the simulated host, by name."""
        counts = (ctypes.c_uint64 * len(self.COUNTS))()
        self.c.usb_counts(self.handle, counts)
        return dict(zip(self.COUNTS, counts, strict=True))


class USBPipe(Pipe):
    """Byte pipe to a configured bench, in simulated time."""

    def __init__(self, bench: USBBench) -> None:
        self.bench, self.name, self.bytes_per_second = bench, "usb bench", None

    def now(self) -> float:
        return self.bench.cycle / STEPS_HZ

    def sleep(self, seconds: float) -> None:
        self.bench.run_steps(int(seconds * STEPS_HZ) + 1)

    def write(self, data: BytesLike) -> None:
        self.bench.push(data)

    def read(self, limit: int, timeout: float) -> bytes:
        self.bench.run_steps(max(1, int(timeout * STEPS_HZ)), until=2)
        return self.bench.pop()
