# SPDX-License-Identifier: BSD-2-Clause
"""Accelerator core for the buses of another SoC (docs/guides/own-soc.md)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from amaranth import Elaboratable, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from .arguments import check_memory_size, is_integer
from .bus.axilite import AXI4LiteFront
from .bus.masters.axi4 import AXI4Master
from .bus.masters.native import NativeMaster
from .bus.masters.wishbone import WishboneMaster
from .bus.signatures import BUS_BYTES, AXI4Lite
from .bus.soclib import wishbone
from .cores import open_core
from .memory.guard import WindowGuard
from .memory.packer import BeatPacker
from .memory.port import MemoryPort
from .memory.width import WidthAdapter
from .shell.core import CoreShell

__all__ = ["BUSES", "REGISTER_BUSES", "Core"]

#: Master of each bus; ``port``: none, the memory port itself.
BUSES: dict[str, Any] = {
    "wishbone": WishboneMaster,
    "axi4": AXI4Master,
    "native": NativeMaster,
    "port": None,
}
REGISTER_BUSES = ("wishbone", "axi4-lite")
#: Bits of a byte address in the register block.
REGISTER_BITS = 12
#: Requests that the wall around the memory lets through at a time.
OUTSTANDING = 16


class Core(wiring.Component):
    """An accelerator core whose registers and memory are connected to the buses of another SoC.

    The core's addresses 0 to ``memory_size`` are ``memory_base`` to ``memory_base`` +
    ``memory_size`` of the bus. It reaches nothing else there: a request outside is answered with an
    error inside the core.

    Parameters
    ----------
    isa : str
        Name of the core (`quintet cores` lists them).
    preset : str or None
        Named set of sizes; by default the core's own default.
    params : dict or None
        Parameters that differ from the preset's.
    bus : "wishbone", "axi4", "native" or "port"
        Bus of the core's memory: Wishbone B4, AXI4, LiteDRAM's native port, or quintet's memory
        port (docs/how/contracts.md, section 2).
    bus_width : int or None
        Data bits of that bus, 8 to 128; by default 32.
    registers : "wishbone" or "axi4-lite"
        Bus of the registers, with 32 data bits and 4 KiB of addresses.
    memory_size : int
        Bytes of memory that the core sees, a multiple of 64 up to 2^31.
    memory_base : int
        Address of that memory on the bus, a multiple of its size rounded up to a power of two.
    beat_bytes : int or None
        Bytes that the core moves at once; by default those of the bus, or the next number that the
        core can be built for.
    family : "ecp5", "ice40" or None
        Use the cells of this FPGA family; ``None``: portable logic.
    pipelined : bool
        Registers between core and bus, for clocks above some 60 MHz.
    shared_clock : bool
        A core with a second clock uses the main clock in its place.

    Members
    -------
    registers : In, Wishbone (10 bits of word addresses) or
        :class:`~quintet.gateware.bus.signatures.AXI4Lite`
    memory : Out, the bus of the memory
    interrupt : Out(1), a run has ended (if `irq_enable` is set), until the next start
    busy, fault : Out(1)

    Attributes
    ----------
    memory_map : amaranth_soc.memory.MemoryMap
        Registers with name, offset, width, access and meaning; on Wishbone also
        ``registers.memory_map``.
    second_clock : DomainRequest or None
        Clock domain (``name``) that the design around must drive beside `sync`, best at ``ratio``
        times its frequency.

    Raises
    ------
    CoreError
        No core of that name.
    ParameterError
        No such preset or parameter.
    ValueError
        Another argument is out of range.
    """

    def __init__(
        self,
        isa: str,
        *,
        preset: str | None = None,
        params: Mapping[str, Any] | None = None,
        bus: str = "wishbone",
        bus_width: int | None = None,
        registers: str = "wishbone",
        memory_size: int = 1 << 25,
        memory_base: int = 0,
        beat_bytes: int | None = None,
        family: str | None = None,
        pipelined: bool = False,
        shared_clock: bool = False,
    ) -> None:
        if bus not in BUSES:
            raise ValueError(f"bus = {bus!r}: expected {', '.join(BUSES)}")
        if registers not in REGISTER_BUSES:
            raise ValueError(f"registers = {registers!r}: expected {', '.join(REGISTER_BUSES)}")
        package = open_core(isa)
        values = package.params.SPACE.resolve(preset, params)
        #: Bytes of the memory bus's data.
        self.bus_bytes = _bus_bytes(bus_width, beat_bytes if bus == "port" else None)
        _check_memory(memory_size, memory_base if bus != "port" else 0)
        self.preset = preset or package.params.SPACE.default_preset
        self.package, self.params, self.memory_size = package, values, memory_size
        supported = package.params.SPACE.presets[self.preset].beats
        self._shell = _shell(
            _beats(self.bus_bytes, supported) if beat_bytes is None else [beat_bytes],
            package=package,
            params=values,
            memory_size=memory_size,
            family=family,
            pipelined=pipelined,
            shared_clock=shared_clock,
        )
        beat_bytes = self._shell.beat_bytes
        if bus == "port":
            self.bus_bytes = beat_bytes
        #: Bytes that the core moves at once.
        self.beat_bytes = beat_bytes
        self.second_clock = self._shell.domain
        self.memory_map = self._shell.bus.memory_map
        kind = BUSES[bus]
        self._master = None if kind is None else kind(beat_bytes=self.bus_bytes, base=memory_base)
        self._on_wishbone = registers == "wishbone"
        memory = MemoryPort(beat_bytes) if self._master is None else self._master.bus.signature
        super().__init__(
            {
                "registers": In(
                    wishbone.Signature(addr_width=REGISTER_BITS - 2, data_width=32, granularity=8)
                    if self._on_wishbone
                    else AXI4Lite(REGISTER_BITS)
                ),
                "memory": Out(memory),
                "interrupt": Out(1),
                "busy": Out(1),
                "fault": Out(1),
            }
        )
        if self._on_wishbone:
            self.registers.memory_map = self.memory_map

    def elaborate(self, platform: object) -> Module:
        m = Module()
        shell = m.submodules.core = self._shell
        m.d.comb += [
            self.interrupt.eq(shell.interrupt),
            self.busy.eq(shell.busy),
            self.fault.eq(shell.fault),
        ]
        if self._on_wishbone:
            connect(m, flipped(self.registers), shell.bus)
        else:
            front = m.submodules.front = AXI4LiteFront(addr_width=REGISTER_BITS)
            connect(m, flipped(self.registers), front.bus)
            # The register block never answers with an error, and has no wire for it.
            for name in ("adr", "dat_w", "sel", "cyc", "stb", "we"):
                m.d.comb += getattr(shell.bus, name).eq(getattr(front.registers, name))
            m.d.comb += [
                front.registers.dat_r.eq(shell.bus.dat_r),
                front.registers.ack.eq(shell.bus.ack),
            ]
        if self._master is None:
            connect(m, shell.memory, flipped(self.memory))
            return m
        # The host may open the core's own window as far as it likes; this wall is the memory's end.
        wall = m.submodules.wall = WindowGuard(beat_bytes=self.beat_bytes, outstanding=OUTSTANDING)
        m.d.comb += wall.limit.eq(self.memory_size)
        connect(m, shell.memory, wall.port)
        inner = wall.memory
        adapter = self._adapter()
        if adapter is not None:
            m.submodules.adapter = adapter
            connect(m, inner, adapter.port)
            inner = adapter.memory
        master = m.submodules.master = self._master
        connect(m, inner, master.port)
        connect(m, master.bus, flipped(self.memory))
        return m

    def _adapter(self):
        """Width adapter between the core's beats and the bus's words, if they differ."""
        if self.beat_bytes > self.bus_bytes:
            return WidthAdapter(beat_bytes=self.beat_bytes, memory_beat_bytes=self.bus_bytes)
        if self.beat_bytes < self.bus_bytes:
            return BeatPacker(beat_bytes=self.beat_bytes, memory_beat_bytes=self.bus_bytes)
        return None


def _bus_bytes(bus_width, beat_bytes):
    """Width of the bus in bytes."""
    if bus_width is None:
        return beat_bytes or 4
    if not is_integer(bus_width) or bus_width not in [8 * size for size in BUS_BYTES]:
        raise ValueError(f"bus_width = {bus_width!r}: expected 8, 16, 32, 64 or 128")
    if beat_bytes is not None and bus_width != 8 * beat_bytes:
        raise ValueError(
            f"bus_width = {bus_width}: the memory port is as wide as the core's beats of "
            f"{beat_bytes} bytes"
        )
    return bus_width // 8


def _beats(bus_bytes, supported):
    """Possible beat sizes of the core, closest to the bus's width first, wider ones before narrower
    ones."""
    wider = [size for size in BUS_BYTES if size >= bus_bytes]
    narrower = [size for size in reversed(BUS_BYTES) if size < bus_bytes]
    return [size for size in (*wider, *narrower) if supported is None or size in supported]


def _shell(sizes, **arguments):
    """Core shell with the first of these beat sizes for which it can be built; if none works,
    raises the error of the first."""
    refused = None
    for beat_bytes in sizes:
        try:
            return CoreShell(beat_bytes=beat_bytes, **arguments)
        except ValueError as error:
            _forget(error)
            refused = refused or error
    raise refused or ValueError(f"no beat of {sizes} bytes suits this core")


def _forget(error):
    """Marks a component whose arguments were refused as used, since Amaranth would warn that it was
    never elaborated."""
    trace = error.__traceback__
    while trace is not None:
        made = trace.tb_frame.f_locals.get("self")
        if isinstance(made, Elaboratable):
            made._MustUse__used = True
        trace = trace.tb_next


def _check_memory(memory_size, memory_base):
    check_memory_size(memory_size)
    if memory_size > 1 << 31:
        raise ValueError(f"memory_size = {memory_size}: expected at most 2^31")
    step = 1 << (memory_size - 1).bit_length()
    if not is_integer(memory_base) or memory_base % step or not 0 <= memory_base < 1 << 32:
        raise ValueError(
            f"memory_base = {memory_base!r}: expected a multiple of {step} bytes (memory_size, "
            f"rounded up to a power of two) below 2^32"
        )
