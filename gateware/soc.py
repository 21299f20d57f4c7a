# SPDX-License-Identifier: BSD-2-Clause
"""SoC generator: builds link, bus, memory and core from one configuration (docs/how/contracts.md,
section 4)."""

from dataclasses import dataclass
from importlib import metadata
from typing import Any

from amaranth import Cat, Const, Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from .arguments import check_integer
from .bus.decoder import BusDecoder
from .bus.registers import SoCRegisters
from .bus.rom import ROM
from .bus.share import BusShare
from .bus.watchdog import BusWatchdog
from .cores import CorePackage
from .info import (
    CONTROL_BASE,
    INFO_BASE,
    MEMORY_BASE,
    RUN_LIST_BASE,
    SOC_BASE,
    info_rom,
)
from .isa.parameters import Params, params_hash
from .isa.registers import COMMON_REGISTERS
from .link.bridge import LinkBridge
from .link.uartbone import UARTBone
from .memory.arbiter import MemoryArbiter
from .memory.front import WishboneFront
from .memory.partial import PartialWrites
from .shell.core import CoreShell
from .standalone.boot import BootEngine
from .standalone.flash import FlashPins, FlashReader
from .standalone.image import build_hash
from .standalone.walker import RunListWalker

__all__ = ["FlashBoot", "SoC"]

#: Most Hz of the clock of flash memory: half of what READ (0x03) of a usual chip allows.
_FLASH_HZ = 25_000_000
#: Seconds from the release of flash memory from power-down to its next command, and beyond the
#: power-up of a memory chip until a controller has set it up.
_WAKE_S, _SET_UP_S = 4e-6, 20e-6


@dataclass(frozen=True)
class FlashBoot:
    """Start from flash memory: address of the plan image, whether it is read with four data
    lines, and whether one line is tried if four give no image."""

    image_at: int
    quad: bool
    fallback: bool = False


def _version():
    try:
        return metadata.version("quintet")
    except metadata.PackageNotFoundError:
        return "unknown"


class SoC(wiring.Component):
    """SoC without the pins of any board.

    Parameters
    ----------
    board_name : str
        At most 16 ASCII characters.
    clock_hz : int
        Main clock, as the PLL makes it.
    memory : wiring.Component
        A backing (section 2): ``port``, ``beat_bytes``, ``size``, and ``pins`` where it has any.
        Where its attribute ``masks`` is false (a chip without byte masks), ``PartialWrites`` stands
        in front of it.
    package : CorePackage or None
        The ISA; ``None``: no core.
    preset : str or None
        Name of the preset; ``None``: the default one.
    params : dict or None
        Overrides of its parameters, or all of them.
    family : "ecp5", "ice40" or None
        ``None``: behavioural models of all primitives.
    link : dict or None
        Description of the link in the info text.
    uartbone : bool
        The link speaks LiteX's UARTBone instead of our protocol.
    pipelined : bool
        Registers for clocks above some 60 MHz: in the link, behind the info ROM, and between the
        core and the memory (requests, data and answers each take a cycle more).
    shared_clock : bool
        The board has one clock: a clock domain that the core asks for is the main clock's.
    domain_hz : int
        Frequency that the core's own clock domain really has, where that is known.
    clocking : object
        The clocks of the surrounding design; it is kept and not looked at.
    run_list : bool
        The SoC walks lists of runs (:mod:`~.standalone.runlist`); only with a core.
    boot : FlashBoot or None
        The SoC starts from a plan image in flash memory (:mod:`~.standalone.image`); only with a
        core.
    watchdog : int
        Cycles after which an unanswered bus cycle ends with ``err``; more where the core may take
        longer.

    Members
    -------
    rx : In, tx : Out, byte streams of the link
    busy, fault : Out, state of the core, for an LED
    led : Out, the host wants to find this board
    flash_pins : Out(FlashPins()), with ``boot``
    ready, blink : Out, with ``boot``, for LEDs: a plan image was read; the reason for which it was
        refused, in blinks
    interrupt : Out, of the core, or the end of a list of runs
    reset_request : Out, one cycle: the host asks for a reset of the whole SoC
    memory_pins : the backing's, where it has any

    Attributes
    ----------
    params : dict, every parameter of the core
    preset : str
    info : bytes, contents of the info ROM
    link : dict, description of the link in the info text
    on_chip : int, bytes of main memory in block RAM below another memory, from address 0
    memory_info : dict, its description of main memory: ``size``, ``beat_bytes``, ``kind``;
        with ``on_chip`` these are the other memory's, and ``on_chip`` has the ``size`` and
        ``beat_bytes`` of what is on chip; with an SDRAM whose clock is faster, also its ``rate``
    sdram_rate : int, cycles of an SDRAM for each of the main clock
    run_list : bool
    boot : FlashBoot or None
    domain : DomainRequest or None, the core's own clock domain, which the design around must drive
    """

    def __init__(
        self,
        *,
        board_name: str,
        clock_hz: int,
        memory: wiring.Component,
        package: CorePackage | None = None,
        preset: str | None = None,
        params: Params | None = None,
        family: str | None = None,
        link: dict[str, Any] | None = None,
        uartbone: bool = False,
        pipelined: bool = False,
        shared_clock: bool = False,
        domain_hz: int | None = None,
        clocking: Any = None,
        run_list: bool = False,
        boot: FlashBoot | None = None,
        watchdog: int = 2048,
    ) -> None:
        check_integer("Main clock", clock_hz, 1, (1 << 32) - 1, unit="Hz")
        if package is None and (preset is not None or params):
            raise ValueError("A preset or parameters need a core")
        if package is None and run_list:
            raise ValueError("A list of runs needs a core")
        if package is None and boot is not None:
            raise ValueError("A start from flash memory needs a core")
        self.run_list, self.boot = bool(run_list), boot
        self.board_name, self.clock_hz, self.backing, self.package = (
            board_name,
            clock_hz,
            memory,
            package,
        )
        self.family, self.pipelined, self.uartbone = family, bool(pipelined), bool(uartbone)
        self.link, self.clocking, self._domain_hz = dict(link or {}), clocking, domain_hz
        tag, self.params, self.preset, self.core = None, {}, None, None
        self._outstanding = getattr(memory, "OUTSTANDING", 4)
        if package is not None:
            space = package.params.SPACE
            self.preset = preset or space.default_preset
            self.params = space.resolve(self.preset, params)
            tag = package.isa.ISA.tag
            self.core = CoreShell(
                package=package,
                params=self.params,
                beat_bytes=memory.beat_bytes,
                memory_size=memory.size,
                family=family,
                pipelined=self.pipelined,
                shared_clock=shared_clock,
                with_run_ok=self.run_list,
                outstanding=self._outstanding,
            )
        self.domain = self.core.domain if self.core is not None else None
        self.on_chip = getattr(memory, "on_chip", 0)
        self.sdram_rate = getattr(memory, "rate", 1)
        self.memory_info = {
            "size": memory.size,
            "beat_bytes": memory.beat_bytes,
            "kind": getattr(memory, "kind", type(memory).__name__),
        }
        if self.on_chip:
            self.memory_info |= {
                "beat_bytes": memory.rest_beat_bytes,
                "on_chip": {"size": self.on_chip, "beat_bytes": memory.beat_bytes},
            }
        if self.sdram_rate > 1:
            self.memory_info["rate"] = self.sdram_rate
        text = {
            "board": board_name,
            "isa": package.name if package else None,
            "preset": self.preset,
            "params": self.params,
            "clock_hz": clock_hz,
            "link": {**self.link, "strided": not self.uartbone},
            "version": _version(),
            "memory": self.memory_info,
        }
        if self.domain is not None:
            text["domains"] = {self.domain.name: self.domain_hz}
        if self.run_list:
            text["run_list"] = True
        if self.boot is not None:
            text["boot"] = {"image_at": self.boot.image_at, "quad": self.boot.quad}
        self.info = info_rom(
            text=text,
            tag=tag,
            params_hash=params_hash(self.params) if package else 0,
            memory_size=memory.size,
            clock_hz=clock_hz,
            board=board_name,
        )
        # A core with many counters answers late right after a run: two rounds of them at most.
        self._watchdog = BusWatchdog(
            limit=watchdog, patience=2 * self.core.control.gap + 64 if self.core is not None else 1
        )
        members = {
            "rx": In(stream.Signature(8)),
            "tx": Out(stream.Signature(8)),
            "busy": Out(1),
            "fault": Out(1),
            "led": Out(1),
            "interrupt": Out(1),
            "reset_request": Out(1),
        }
        if hasattr(memory, "pins"):
            members["memory_pins"] = memory.signature.members["pins"]
        if boot is not None:
            members |= {"flash_pins": Out(FlashPins()), "ready": Out(1), "blink": Out(1)}
        super().__init__(members)

    @property
    def domain_hz(self) -> int | None:
        """Frequency of the core's own clock domain (the requested one if no other is known),
        ``None`` without one."""
        return (
            None
            if self.domain is None
            else self._domain_hz or round(self.clock_hz * self.domain.ratio)
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        if self.uartbone:
            bridge = m.submodules.link = UARTBone(clock_hz=self.clock_hz)
        else:
            bridge = m.submodules.link = LinkBridge(
                info_address=INFO_BASE, pipelined=self.pipelined, family=self.family
            )
        watchdog = m.submodules.watchdog = self._watchdog
        memory = m.submodules.memory = self.backing
        # Memory with a state to tell, whether it is main memory or behind on-chip memory.
        calibrates = getattr(getattr(memory, "rest", memory), "kind", None) == "DDR3"
        registers = m.submodules.registers = SoCRegisters(
            interrupts=1 + self.run_list, boots=self.boot is not None, calibrates=calibrates
        )
        if calibrates:
            m.d.comb += registers.memory.eq(Cat(memory.pins.ready, memory.pins.failed))
        info = m.submodules.info = ROM(
            data=self.info,
            size=1 << max(10, (len(self.info) - 1).bit_length()),
            registered=self.pipelined,
        )
        front = m.submodules.front = WishboneFront(
            beat_bytes=memory.beat_bytes, size=max(64, 1 << (memory.size - 1).bit_length())
        )
        slaves = {
            "memory": (MEMORY_BASE, front.bus),
            "registers": (SOC_BASE, registers.bus),
            "info": (INFO_BASE, info.bus),
        }
        if self.core is not None:
            slaves["core"] = CONTROL_BASE, self.core.bus
        master, walker = bridge.bus, None
        if self.boot is not None:
            master = self._start_from_flash(m, master, registers)
        if self.run_list:
            walker, master = self._walk_lists(m, master)
            slaves["list"] = RUN_LIST_BASE, walker.registers
        decoder = m.submodules.decoder = BusDecoder(
            windows={name: (base, bus.signature.flip()) for name, (base, bus) in slaves.items()}
        )
        for name, (_, bus) in slaves.items():
            wiring.connect(m, getattr(decoder, name), bus)

        wiring.connect(m, wiring.flipped(self.rx), bridge.rx)
        wiring.connect(m, bridge.tx, wiring.flipped(self.tx))
        wiring.connect(m, master, watchdog.master)
        wiring.connect(m, watchdog.slave, decoder.bus)
        m.d.comb += [self.led.eq(registers.led), self.reset_request.eq(registers.reset)]
        if hasattr(memory, "pins"):
            wiring.connect(m, memory.pins, wiring.flipped(self.memory_pins))

        port = memory.port
        if not getattr(memory, "masks", True):
            partial = m.submodules.partial = PartialWrites(beat_bytes=memory.beat_bytes)
            wiring.connect(m, partial.memory, memory.port)
            port = partial.port
        if self.core is None:
            wiring.connect(m, front.memory, port)
            return m
        core = m.submodules.core = self.core
        arbiter = m.submodules.arbiter = MemoryArbiter(
            beat_bytes=memory.beat_bytes, ports=2, outstanding=self._outstanding
        )
        wiring.connect(m, front.memory, arbiter.port[0])
        wiring.connect(m, core.memory, arbiter.port[1])
        wiring.connect(m, arbiter.memory, port)
        m.d.comb += [
            self.busy.eq(core.busy),
            self.fault.eq(core.fault),
            self.interrupt.eq(core.interrupt),
            registers.interrupt.eq(core.interrupt),
        ]
        if walker is not None:
            m.d.comb += [
                walker.core_busy.eq(core.busy),
                walker.core_ok.eq(core.run_ok),
                self.interrupt.eq(core.interrupt | walker.interrupt),
                registers.interrupt.eq(Cat(core.interrupt, walker.interrupt)),
            ]
        return m

    @property
    def _address_bits(self):
        """Width of the addresses that masters other than the host keep in registers. On an iCE40,
        whose logic cells are few, it covers only memory and registers."""
        return max(17, (self.backing.size - 1).bit_length()) if self.family == "ice40" else 31

    def _start_from_flash(self, m, host, registers):
        """Boot engine and flash reader, which share the bus with the master ``host``; returns the
        shared bus."""
        # A memory chip must have been set up before the first word.
        powerup_ns = getattr(self.backing, "powerup_ns", None)
        delay = 0 if powerup_ns is None else powerup_ns * 1e-9 + _SET_UP_S
        tag = self.package.isa.ISA.tag
        engine = m.submodules.boot = BootEngine(
            build=build_hash(tag, params_hash(self.params)),
            address_bits=self._address_bits,
            retry=self.boot.fallback,
        )
        reader = m.submodules.flash = FlashReader(
            address=self.boot.image_at,
            quad=self.boot.quad,
            fallback=self.boot.fallback,
            half=-(-self.clock_hz // (2 * _FLASH_HZ)),
            wake=round(_WAKE_S * self.clock_hz) + 1,
            delay=round(delay * self.clock_hz),
        )
        wiring.connect(m, reader.o, engine.i)
        wiring.connect(m, reader.pins, wiring.flipped(self.flash_pins))
        wiring.connect(m, host, engine.host)
        if self.boot.fallback:
            m.d.comb += reader.single.eq(engine.again)
        # Blinks of about a sixth of a second, as many as the reason's number, in a row of eight.
        low = max(1, (self.clock_hz // 6).bit_length() - 1)
        m.d.comb += [
            reader.enable.eq(engine.enable),
            registers.boot.eq(
                Cat(engine.enable, engine.ready, engine.refused, Const(0, 1), engine.reason)
            ),
            self.ready.eq(engine.ready),
            self.blink.eq(
                engine.refused
                & registers.cycles[low]
                & (registers.cycles[low + 1 : low + 4] < engine.reason)
            ),
        ]
        return engine.bus

    def _walk_lists(self, m, host):
        """Run list walker, which shares the bus with the master ``host``: (walker, bus)."""
        control = {register.name: register.offset for register in COMMON_REGISTERS}["control"]
        walker = m.submodules.walker = RunListWalker(
            control=CONTROL_BASE + control, address_bits=self._address_bits
        )
        share = m.submodules.share = BusShare()
        wiring.connect(m, host, share.first)
        wiring.connect(m, walker.bus, share.second)
        return walker, share.bus
