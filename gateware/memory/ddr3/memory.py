# SPDX-License-Identifier: BSD-2-Clause
"""Main memory in DDR3: a memory port on the native port of LiteDRAM's controller."""

from amaranth import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...arguments import check_beat_bytes
from ...bus.masters.native import NativeMaster
from ...bus.signatures import NativePort
from ..packer import BeatPacker
from ..port import MemoryPort
from .gate import RequestGate
from .parts import DDR3Part, find_ddr3

__all__ = ["DDR3Memory", "DDR3Pins"]


class DDR3Pins(wiring.Signature):
    """LiteDRAM's controller, as the SoC sees it.

    Members
    -------
    native : Out(NativePort(beat_bytes))
    ready : In(1)
        The chip is initialised and its read delays are set.
    failed : In(1)
        No read delay returns what was written. Never high together with ``ready``.
    """

    def __init__(self, beat_bytes: int) -> None:
        super().__init__({"native": Out(NativePort(beat_bytes)), "ready": In(1), "failed": In(1)})


class DDR3Memory(wiring.Component):
    """Main memory in a DDR3 chip behind LiteDRAM's controller.

    Requests wait until the chip is ready. If its read delays cannot be set, every request is
    answered with an error, as one that leaves the memory is.

    Latency of a read: 7 cycles here, and the controller's. Throughput: that of the controller, at
    most a burst of the chip (16 bytes) in two cycles, and one beat per cycle.

    Parameters
    ----------
    part : DDR3Part or str
    beat_bytes : int
        Bytes of a beat of ``port``: 2, 4, 8 or 16. Smaller ones than the chip's burst share it.

    Members
    -------
    port : In(MemoryPort(beat_bytes))
    pins : Out(DDR3Pins)

    Attributes
    ----------
    part : DDR3Part
    beat_bytes, size : int
    powerup_ns : float, from the end of reset to the end of initialisation and calibration, at most
    """

    kind = "DDR3"
    masks = True
    #: Requests under way, here and in the arbiters in front: the controller answers after some 25
    #: cycles.
    OUTSTANDING = 8
    #: Beats of read data under way or waiting: as many as the controller reads in its latency.
    _BUFFER = 32
    #: 700 microseconds of JESD79-3F, section 3.3.1, and the calibration.
    powerup_ns = 2_000_000

    def __init__(self, *, part: DDR3Part | str, beat_bytes: int = 8) -> None:
        self.part = find_ddr3(part)
        burst = self.part.burst_bytes
        check_beat_bytes(beat_bytes, (2, 4, 8, burst))
        self.beat_bytes, self.size = beat_bytes, self.part.size
        super().__init__({"port": In(MemoryPort(beat_bytes)), "pins": Out(DDR3Pins(burst))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        burst = self.part.burst_bytes
        gate = m.submodules.gate = RequestGate(
            beat_bytes=burst, size=self.size, outstanding=2 * self.OUTSTANDING
        )
        master = m.submodules.master = NativeMaster(
            beat_bytes=burst, outstanding=self.OUTSTANDING, buffer=self._BUFFER
        )
        wiring.connect(m, gate.memory, master.port)
        wiring.connect(m, master.bus, wiring.flipped(self.pins.native))
        m.d.comb += [gate.ready.eq(self.pins.ready), gate.failed.eq(self.pins.failed)]
        if self.beat_bytes == burst:
            wiring.connect(m, wiring.flipped(self.port), gate.port)
            return m
        packer = m.submodules.packer = BeatPacker(
            beat_bytes=self.beat_bytes, memory_beat_bytes=burst, outstanding=self.OUTSTANDING
        )
        wiring.connect(m, wiring.flipped(self.port), packer.port)
        wiring.connect(m, packer.memory, gate.port)
        return m
