# SPDX-License-Identifier: BSD-2-Clause
"""Top-level components of DDR3 memory on a physical board: its clocks, and LiteDRAM's controller
and PHY on the chip's pads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from amaranth import (
    ClockDomain,
    ClockSignal,
    Elaboratable,
    Instance,
    Module,
    ResetSignal,
    Signal,
    Value,
)
from amaranth.lib import io, wiring
from amaranth.lib.cdc import ResetSynchronizer

from ..gateware.memory.ddr3.memory import DDR3Pins
from ..gateware.memory.ddr3.sequencer import DDR3Sequencer

if TYPE_CHECKING:
    from ..gateware.memory.ddr3.generated import Generated
    from .board import DDR3

__all__ = ["DDR3Chip", "DDR3Clocks", "START_HZ", "generated_core"]

#: Highest frequency of the clock of the PHY's start sequence, in Hz; it is divided from the
#: oscillator. LiteX's boards have 24 or 25 MHz.
START_HZ = 25_000_000
#: Clock up to which the command lines have the delay of the board's table.
_DELAYED_HZ = 64_000_000


def generated_core(memory: DDR3, clock_hz: float, address_lines: int, *, lines: Any) -> Generated:
    """LiteDRAM's module for a board's memory and clock; ``lines``: the platform's ports."""
    from ..gateware.memory.ddr3.generated import generate
    from ..gateware.memory.ddr3.parts import find_ddr3

    return generate(
        part=find_ddr3(memory.part),
        clock_hz=clock_hz,
        address_lines=address_lines,
        chip_select=hasattr(lines, "cs"),
        reset=hasattr(lines, "rst"),
        swapped_masks=memory.swapped_masks,
        command_delay=memory.command_delay if clock_hz <= _DELAYED_HZ else 0,
        termination=memory.termination,
    )


class DDR3Clocks(Elaboratable):
    """Clocks of the PHY: ``fast`` on the edge clock network, from ``input``, which has twice the
    main clock's frequency, and ``main``, divided from it.

    Attributes
    ----------
    fast, main : Signal, clocks
    stop, reset : Signal
        Requests of the PHY's start sequence: it stops and restarts both clocks, so that their
        edges are aligned in all I/O cells.
    """

    def __init__(self, *, input: Value, main_hz: float) -> None:
        self._input, self._hz = input, main_hz
        # Kept, since the constraint below finds the net by its name.
        self.main = Signal(name="ddr3_main", attrs={"keep": 1})
        self.fast = Signal(name="ddr3_fast", attrs={"keep": 1})
        self.stop, self.reset = Signal(), Signal()

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        bridged = Signal()
        m.submodules.bridge = Instance(
            "ECLKBRIDGECS", i_CLK0=self._input, i_SEL=0, o_ECSOUT=bridged
        )
        m.submodules.stopper = Instance(
            "ECLKSYNCB", i_ECLKI=bridged, i_STOP=self.stop, o_ECLKO=self.fast
        )
        m.submodules.divider = Instance(
            "CLKDIVF",
            p_DIV="2.0",
            i_ALIGNWD=0,
            i_CLKI=self.fast,
            i_RST=self.reset,
            o_CDIVX=self.main,
        )
        if platform is not None:
            platform.add_clock_constraint(self.main, self._hz)
        return m


class DDR3Chip(Elaboratable):
    """LiteDRAM's controller and PHY on the pads of a board's DDR3 chip, and their start.

    Parameters
    ----------
    memory : DDR3
    clock_hz : float
        Main clock.
    oscillator : Value
        The board's oscillator; ``oscillator_hz`` its frequency.
    locked : Value
        The PLL is locked.
    restart : Value
        From a register: the memory begins anew, as after configuration.
    clocks : DDR3Clocks

    Attributes
    ----------
    pins : DDR3Pins, facing the SoC's
    settled : Signal, the PHY's clocks run for good; asynchronous
    """

    def __init__(
        self,
        *,
        memory: DDR3,
        clock_hz: float,
        oscillator: Value,
        oscillator_hz: float,
        locked: Value,
        restart: Value,
        clocks: DDR3Clocks,
    ) -> None:
        self._memory, self._hz, self._clocks = memory, clock_hz, clocks
        self._oscillator, self._oscillator_hz = oscillator, oscillator_hz
        self._locked, self._restart = locked, restart
        self.pins = DDR3Pins(16).flip().create()
        self.settled = Signal()

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        memory, clocks = self._memory, self._clocks
        lines = platform.request(memory.resource, dir="-")
        core = generated_core(memory, self._hz, len(lines.a), lines=lines)
        platform.add_file(f"{core.name}.v", core.verilog)
        self._start_clock(m, platform)
        # The controller is out of reset as soon as its clocks run, the SoC only when they do for
        # good.
        m.domains.ddr3 = domain = ClockDomain("ddr3", local=True)
        m.d.comb += domain.clk.eq(ClockSignal("sync"))
        m.submodules.reset = ResetSynchronizer(
            ~self._locked | clocks.reset | self._restart, domain="ddr3"
        )
        sequencer = m.submodules.sequencer = DDR3Sequencer(
            part=memory.part,
            clock_hz=self._hz,
            mode_registers=core.mode_registers,
            delays=core.delays,
            slips=core.slips,
        )
        wiring.connect(m, wiring.flipped(self.pins.native), sequencer.user)
        m.d.comb += [
            self.pins.ready.eq(sequencer.ready),
            self.pins.failed.eq(sequencer.failed),
        ]
        m.submodules.core = Instance(
            core.name,
            i_sys_clk=ClockSignal("sync"),
            i_sys_rst=ResetSignal("ddr3"),
            i_sys2x_clk=clocks.fast,
            i_init_clk=ClockSignal("ddr3_start"),
            i_init_rst=ResetSignal("ddr3_start"),
            o_clock_stop=clocks.stop,
            o_clock_reset=clocks.reset,
            o_clock_settled=self.settled,
            **self._signals(sequencer, core.verilog),
            **self._pads(lines),
        )
        if memory.power is not None:
            # Pins that carry the chip's supply beside its own.
            power = platform.request(memory.power, dir="-")
            for name in ("vcc_virtual", "gnd_virtual"):
                m.submodules[name] = buffer = io.Buffer("o", getattr(power, name))
                m.d.comb += buffer.o.eq(0)
        return m

    def _start_clock(self, m, platform):
        """Clock domain of the PHY's start sequence, divided from the oscillator."""
        m.domains.ddr3_start = start = ClockDomain("ddr3_start", local=True)
        m.submodules.start_reset = ResetSynchronizer(~self._locked, domain="ddr3_start")
        ratio = 1
        while self._oscillator_hz / ratio > START_HZ:
            ratio *= 2
        if ratio == 1:
            m.d.comb += start.clk.eq(self._oscillator)
            return
        m.domains.ddr3_oscillator = source = ClockDomain(
            "ddr3_oscillator", reset_less=True, local=True
        )
        count = Signal(range(ratio))
        clock = Signal(name="ddr3_start_clock", attrs={"keep": 1})
        m.d.comb += [source.clk.eq(self._oscillator), start.clk.eq(clock)]
        m.d.ddr3_oscillator += [count.eq(count + 1), clock.eq(count[-1])]
        platform.add_clock_constraint(clock, self._oscillator_hz / ratio)

    @staticmethod
    def _signals(sequencer, verilog):
        """Connections of the sequencer's members to the module's ports of their names."""
        found = {}
        for prefix, signature in (
            ("", sequencer.port),
            ("init_", sequencer.init),
            ("level_", sequencer.level),
        ):
            for path, member, value in signature.signature.flatten(signature):
                name = prefix + "_".join(path)
                if name == "cmd_last":
                    continue  # only ports that convert widths look at it
                found[("i_" if member.flow is wiring.Out else "o_") + name] = value
        return found

    @staticmethod
    def _pads(lines):
        plain = {"a": "a", "ba": "ba", "ras": "ras_n", "cas": "cas_n", "we": "we_n",
                 "clk_en": "cke", "odt": "odt", "dm": "dm"}  # fmt: skip
        plain |= {name: wire for name, wire in {"cs": "cs_n", "rst": "reset_n"}.items()
                  if hasattr(lines, name)}  # fmt: skip
        found = {f"io_ddr3_{wire}": getattr(lines, name).io for name, wire in plain.items()}
        # The P pad of a pair stands for both.
        found["io_ddr3_clk_p"] = lines.clk.p
        found["io_ddr3_dqs_p"] = lines.dqs.p
        return found | {"io_ddr3_dq": lines.dq.io}
