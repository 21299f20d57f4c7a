# SPDX-License-Identifier: BSD-2-Clause
"""The generator: link, bus, memory and core from one configuration (docs/contracts.md, section 4)."""
from importlib import metadata

from amaranth import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from .bus.registers import SoCRegisters
from .bus.rom import ROM
from .bus.soclib import MemoryMap, wishbone
from .bus.watchdog import BusWatchdog
from .cores.core import CoreShell
from .cores.parameters import params_hash
from .info import CONTROL_BASE, CONTROL_SIZE, INFO_BASE, MEMORY_BASE, SOC_BASE, info_rom
from .link.bridge import LinkBridge
from .memory.arbiter import MemoryArbiter
from .memory.front import WishboneFront

__all__ = ["SoC"]


def _version():
    try:
        return metadata.version("quintet")
    except metadata.PackageNotFoundError:
        return "unknown"


class SoC(wiring.Component):
    """A SoC without the pins of any board.

    Parameters
    ----------
    board_name : str
        At most 16 ASCII characters.
    clock_hz : int
        Main clock, as the PLL makes it.
    memory : wiring.Component
        A backing (section 2): ``port``, ``beat_bytes``, ``size``, and ``pins`` where it has any.
    room : Room or None
        The ISA; ``None``: no core.
    preset : str or None
        Name of the preset; ``None``: the default one.
    params : dict or None
        Overrides of its parameters, or all of them.
    family : "ecp5", "ice40" or None
        ``None``: behavioural twins of all primitives.
    link : dict or None
        What the info text says of the link.
    watchdog : int
        Cycles after which an unanswered bus cycle ends with ``err``.

    Members
    -------
    rx : In, tx : Out, byte streams of the link
    busy, fault : Out, state of the core, for an LED
    led : Out, the host wants to find this board
    interrupt : Out
    reset_request : Out, one cycle: the host asks for a reset of the whole SoC
    memory_pins : the backing's, where it has any

    Attributes
    ----------
    params : dict, every parameter of the core
    preset : str
    info : bytes, contents of the info ROM
    """
    def __init__(self, *, board_name, clock_hz, memory, room=None, preset=None, params=None, family=None, link=None,
                 watchdog=2048):
        if not isinstance(clock_hz, int) or isinstance(clock_hz, bool) or not 0 < clock_hz < 1 << 32:
            raise ValueError(f"Main clock must be an integer of Hz, not {clock_hz!r}")
        if room is None and (preset is not None or params):
            raise ValueError("A preset or parameters need a core")
        self.board_name, self.clock_hz, self.backing, self.room = board_name, clock_hz, memory, room
        self.family = family
        tag, self.params, self.preset, self.core = None, {}, None, None
        if room is not None:
            space = room.params.SPACE
            self.preset = preset or space.default_preset
            self.params = space.resolve(self.preset, params)
            tag = room.isa.ISA.tag
            self.core = CoreShell(room=room, params=self.params, beat_bytes=memory.beat_bytes, memory_size=memory.size,
                                  family=family)
        text = {"board": board_name, "isa": room.name if room else None, "preset": self.preset, "params": self.params,
                "clock_hz": clock_hz, "link": link or {}, "version": _version(),
                "memory": {"size": memory.size, "beat_bytes": memory.beat_bytes,
                           "kind": getattr(memory, "kind", type(memory).__name__)}}
        self.info = info_rom(text=text, tag=tag, params_hash=params_hash(self.params) if room else 0,
                             memory_size=memory.size, clock_hz=clock_hz, board=board_name)
        self._watchdog = BusWatchdog(limit=watchdog)
        members = {
            "rx": In(stream.Signature(8)), "tx": Out(stream.Signature(8)),
            "busy": Out(1), "fault": Out(1), "led": Out(1), "interrupt": Out(1), "reset_request": Out(1),
        }
        if hasattr(memory, "pins"):
            members["memory_pins"] = memory.signature.members["pins"]
        super().__init__(members)

    def elaborate(self, platform):
        m = Module()
        bridge = m.submodules.link = LinkBridge(info_address=INFO_BASE, rom="logic" if self.family == "ecp5" else "block")
        watchdog = m.submodules.watchdog = self._watchdog
        memory = m.submodules.memory = self.backing
        registers = m.submodules.registers = SoCRegisters()
        info = m.submodules.info = ROM(data=self.info, size=1 << max(10, (len(self.info) - 1).bit_length()))
        front = m.submodules.front = WishboneFront(
            beat_bytes=memory.beat_bytes, size=max(64, 1 << (memory.size - 1).bit_length()))
        decoder = m.submodules.decoder = wishbone.Decoder(addr_width=30, data_width=32, granularity=8, features={"err"})
        decoder.add(front.bus, addr=MEMORY_BASE, name="memory")
        decoder.add(registers.bus, addr=SOC_BASE, name="soc")
        decoder.add(info.bus, addr=INFO_BASE, name="info")

        wiring.connect(m, wiring.flipped(self.rx), bridge.rx)
        wiring.connect(m, bridge.tx, wiring.flipped(self.tx))
        wiring.connect(m, bridge.bus, watchdog.master)
        wiring.connect(m, watchdog.slave, decoder.bus)
        m.d.comb += [self.led.eq(registers.led), self.reset_request.eq(registers.reset)]
        if hasattr(memory, "pins"):
            wiring.connect(m, memory.pins, wiring.flipped(self.memory_pins))

        if self.core is None:
            wiring.connect(m, front.memory, memory.port)
            return m
        core = m.submodules.core = self.core
        core_map = MemoryMap(addr_width=12, data_width=8)
        core_map.add_resource(core, name=("control",), size=CONTROL_SIZE)
        core.bus.memory_map = core_map
        decoder.add(core.bus, addr=CONTROL_BASE, name="core")
        arbiter = m.submodules.arbiter = MemoryArbiter(beat_bytes=memory.beat_bytes, ports=2)
        wiring.connect(m, front.memory, arbiter.port[0])
        wiring.connect(m, core.memory, arbiter.port[1])
        wiring.connect(m, arbiter.memory, memory.port)
        m.d.comb += [self.busy.eq(core.busy), self.fault.eq(core.fault), self.interrupt.eq(core.interrupt),
                     registers.interrupt.eq(core.interrupt)]
        return m
