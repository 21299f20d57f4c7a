# SPDX-License-Identifier: BSD-2-Clause
"""LiteDRAM's controller and ECP5 PHY as one Verilog module, generated when a bitstream is built.

The module has no bus and no registers: the signals that LiteDRAM's software drives through
registers are its ports, for :class:`~.sequencer.DDR3Sequencer`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...requirements import extra_command
from .parts import RATE, DDR3Part

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["VERSION", "Generated", "LiteDRAMMissing", "generate"]

#: Release of LiteDRAM whose signals are named here.
VERSION = "2024.12"
#: Signals in place of the PHY's registers for its read delays.
_LEVEL = ("select", "delay_reset", "delay_step", "slip_reset", "slip_step", "burst_clear")


#: Beginning of a section's heading in LiteX's Verilog.
_HEADING = "^// "


class LiteDRAMMissing(ValueError):
    """Error: LiteDRAM is not installed."""


@dataclass(frozen=True)
class Generated:
    """The generated module.

    Attributes
    ----------
    name : str, of the Verilog module
    verilog : str
    mode_registers : tuple of (number, value), in the order in which they are loaded
    phases : int, commands of the chip in a cycle of the controller's clock
    delays, slips : int, settings of a byte lane's read delay and of its bit slip
    timing : dict, LiteDRAM's waits in cycles of the controller's clock
    """

    name: str
    verilog: str
    mode_registers: tuple[tuple[int, int], ...]
    phases: int
    delays: int
    slips: int
    timing: Mapping[str, int]


def _import() -> tuple[ModuleType, ...]:
    try:
        import litedram.core.controller
        import litedram.core.crossbar
        import litedram.init
        import litedram.modules
        import litedram.phy.dfi
        import litedram.phy.ecp5ddrphy
        import litedram.phy.model
        import migen
    except ImportError as error:
        raise LiteDRAMMissing(
            f"DDR3 memory needs LiteDRAM, which generates its controller: {error}; "
            f"{extra_command('litex')}"
        ) from None
    return litedram, migen


def _module(litedram: ModuleType, part: DDR3Part) -> type:
    """LiteDRAM's description of a chip."""
    modules = litedram.modules
    speed = modules._SpeedgradeTimings(
        tRP=part.t_rp,
        tRCD=part.t_rcd,
        tWR=part.t_wr,
        tRFC=(None, part.t_rfc),
        tFAW=(None, part.t_faw),
        tRAS=part.t_ras,
    )
    technology = modules._TechnologyTimings(
        tREFI=part.t_refi,
        tWTR=(4, part.t_wtr),
        tCCD=(4, None),
        tRRD=(4, part.t_rrd),
        tZQCS=(64, 80),
    )
    return type(
        part.name,
        (modules.DDR3Module,),
        {
            "nbanks": 1 << part.bank_bits,
            "nrows": 1 << part.row_bits,
            "ncols": 1 << part.column_bits,
            "technology_timings": technology,
            "speedgrade_timings": {"default": speed},
        },
    )


def _pads(
    migen: ModuleType, part: DDR3Part, *, address_lines: int, chip_select: bool, reset: bool
) -> Any:
    widths = {
        "a": address_lines,
        "ba": part.bank_bits,
        "ras_n": 1,
        "cas_n": 1,
        "we_n": 1,
        "dm": part.lanes,
        "dq": 8 * part.lanes,
        "dqs_p": part.lanes,
        "clk_p": 1,
        "cke": 1,
        "odt": 1,
    }
    widths |= {"cs_n": 1} if chip_select else {}
    widths |= {"reset_n": 1} if reset else {}
    return migen.Record(list(widths.items()), name="ddr3")


def _mode_registers(sequence: list[tuple[Any, ...]]) -> tuple[tuple[int, int], ...]:
    """Numbers and values of the mode registers in LiteDRAM's sequence of initialisation."""
    return tuple(
        (bank, value) for comment, value, bank, _, _ in sequence if "Mode Register" in comment
    )


def generate(
    *,
    part: DDR3Part,
    clock_hz: float,
    address_lines: int | None = None,
    chip_select: bool = True,
    reset: bool = True,
    swapped_masks: bool = False,
    command_delay: int = 0,
    termination: bool = True,
    model: bool = False,
    name: str = "quintet_ddr3",
) -> Generated:
    """Generates LiteDRAM's controller and PHY for a chip.

    Parameters
    ----------
    part : DDR3Part
    clock_hz : float
        The controller's clock; the chip has twice that.
    address_lines : int, optional
        Address lines of the board, where it has more than the chip's rows need; the others are low.
    chip_select, reset : bool
        The chip's pins of that name are connected to the FPGA.
    swapped_masks : bool
        The wires of the two byte masks cross on the board.
    command_delay : int
        Steps of the delay of clock and command lines behind the data lines.
    termination : bool
        The chip terminates its data lines while it does not send.
    model : bool
        LiteDRAM's behavioural chip (at the PHY's inner interface) in place of the PHY, for
        simulation; there are no pads then.
    name : str
        Of the module.

    Raises
    ------
    LiteDRAMMissing
    """
    litedram, migen = _import()
    chip = _module(litedram, part)(clock_hz, f"1:{RATE}")

    class Core(migen.Module):  # type: ignore[name-defined]
        """PHY, controller and one native port, with a switch in front of the PHY."""

    top = Core()
    clocks = [migen.ClockDomain("sys"), migen.ClockDomain("init")]
    clocks.append(migen.ClockDomain("sys2x", reset_less=True))
    pads = _pads(
        migen,
        part,
        address_lines=address_lines or part.row_bits,
        chip_select=chip_select,
        reset=reset,
    )
    make = litedram.phy.ecp5ddrphy.ECP5DDRPHY
    phy = make(
        pads=pads,
        sys_clk_freq=clock_hz,
        cmd_delay=command_delay,
        dm_remapping={0: 1, 1: 0} if swapped_masks else None,
    )
    settings = phy.settings
    if not termination:
        settings.rtt_nom = "disabled"
    ios = []
    if model:
        phy = litedram.phy.model.SDRAMPHYModel(chip, settings=settings, clk_freq=clock_hz)
        top.clock_domains += clocks[:1]
        ios += [clocks[0].clk, clocks[0].rst]
    else:
        top.clock_domains += clocks
        ios += [clock.clk for clock in clocks] + [clock.rst for clock in clocks[:2]]
        ios += pads.flatten()
        ios += _levelling(migen, top, phy, part)
    top.submodules.phy = phy

    controller = litedram.core.controller.LiteDRAMController(
        phy_settings=settings,
        geom_settings=chip.geom_settings,
        timing_settings=chip.timing_settings,
        clk_freq=clock_hz,
        controller_settings=litedram.core.controller.ControllerSettings(),
    )
    crossbar = litedram.core.crossbar.LiteDRAMCrossbar(controller.interface)
    top.submodules.controller, top.submodules.crossbar = controller, crossbar
    ios += _command_switch(litedram, migen, top, controller, phy, model)
    ios += _user_port(migen, top, crossbar.get_port())

    sequence, _ = litedram.init.get_sdram_phy_init_sequence(settings, chip.timing_settings)
    return Generated(
        name=name,
        verilog=_convert(top, ios, name),
        mode_registers=_mode_registers(sequence),
        phases=settings.nphases,
        delays=settings.delays,
        slips=settings.bitslips,
        timing={
            key: value
            for key, value in vars(chip.timing_settings).items()
            if isinstance(value, int)
        }
        | {
            key: getattr(settings, key)
            for key in ("read_latency", "write_latency", "cl", "cwl", "rdphase", "wrphase")
        },
    )


def _levelling(migen: ModuleType, top: Any, phy: Any, part: DDR3Part) -> list[Any]:
    """Ports in place of the PHY's registers, and the requests of its start to the clocks."""
    select = migen.Signal(part.lanes, name="level_select")
    strobes = {name: migen.Signal(name=f"level_{name}") for name in _LEVEL[1:]}
    burst = migen.Signal(part.lanes, name="level_burst")
    stop, reset = migen.Signal(name="clock_stop"), migen.Signal(name="clock_reset")
    settled = migen.Signal(name="clock_settled")
    paused = migen.Signal()
    top.comb += [
        phy._dly_sel.storage.eq(select),
        phy._rdly_dq_rst.re.eq(strobes["delay_reset"]),
        phy._rdly_dq_inc.re.eq(strobes["delay_step"]),
        phy._rdly_dq_bitslip_rst.re.eq(strobes["slip_reset"]),
        phy._rdly_dq_bitslip.re.eq(strobes["slip_step"]),
        phy._burstdet_clr.re.eq(strobes["burst_clear"]),
        burst.eq(phy._burstdet_seen.status),
        stop.eq(phy.init.stop),
        reset.eq(phy.init.reset),
    ]
    # The pause of the strobe logic is the last step of the PHY's start.
    top.sync.init += [
        paused.eq(phy.init.pause),
        migen.If(paused & ~phy.init.pause, settled.eq(1)),
    ]
    return [select, *strobes.values(), burst, stop, reset, settled]


def _command_switch(
    litedram: ModuleType, migen: ModuleType, top: Any, controller: Any, phy: Any, model: bool
) -> list[Any]:
    """Gives the PHY to the controller, or to commands from ports, for the initialisation."""
    if model:
        # The behavioural chip needs no initialisation.
        top.comb += controller.dfi.connect(phy.dfi)
        return []
    given = litedram.phy.dfi.Interface(
        len(controller.dfi.phases[0].address),
        len(controller.dfi.phases[0].bank),
        1,
        len(controller.dfi.phases[0].wrdata),
        len(controller.dfi.phases),
    )
    ports = {
        "enable": 1,
        "cke": 1,
        "odt": 1,
        "reset_n": 1,
        "cs_n": 1,
        "ras_n": 1,
        "cas_n": 1,
        "we_n": 1,
        "address": len(given.phases[0].address),
        "bank": len(given.phases[0].bank),
    }
    signals = {key: migen.Signal(bits, name=f"init_{key}") for key, bits in ports.items()}
    for number, phase in enumerate(given.phases):
        for key in ("cke", "odt", "reset_n", "address", "bank"):
            top.comb += getattr(phase, key).eq(signals[key])
        for key in ("cs_n", "ras_n", "cas_n", "we_n"):
            # A command for one cycle of the chip's clock.
            top.comb += getattr(phase, key).eq(1 if number else signals[key])
    top.comb += migen.If(signals["enable"], given.connect(phy.dfi)).Else(
        controller.dfi.connect(phy.dfi)
    )
    return list(signals.values())


def _user_port(migen: ModuleType, top: Any, port: Any) -> list[Any]:
    """The native port, with the names of :class:`~quintet.gateware.bus.signatures.NativePort`."""
    found = []

    def add(name: str, signal: Any, *, driven: bool) -> None:
        wire = migen.Signal(len(signal), name=name)
        top.comb += signal.eq(wire) if driven else wire.eq(signal)
        found.append(wire)

    add("cmd_valid", port.cmd.valid, driven=True)
    add("cmd_ready", port.cmd.ready, driven=False)
    add("cmd_we", port.cmd.we, driven=True)
    add("cmd_addr", port.cmd.addr, driven=True)
    add("wdata_valid", port.wdata.valid, driven=True)
    add("wdata_ready", port.wdata.ready, driven=False)
    add("wdata_data", port.wdata.data, driven=True)
    add("wdata_we", port.wdata.we, driven=True)
    add("rdata_valid", port.rdata.valid, driven=False)
    add("rdata_ready", port.rdata.ready, driven=True)
    add("rdata_data", port.rdata.data, driven=False)
    return found


def _convert(top: Any, ios: list[Any], name: str) -> str:
    from litex.build.lattice.common import lattice_ecp5_special_overrides
    from litex.gen.fhdl.verilog import convert

    output = convert(
        top,
        ios=set(ios),
        name=name,
        special_overrides=dict(lattice_ecp5_special_overrides),
        regular_comb=False,
    )
    source = output.main_source
    # Heading and end have the date.
    source = source[source.index(f"module {name}") : source.rindex("endmodule")]
    # Assignments and combinational blocks come in the order of a Python set. LiteX also repeats an
    # assignment for each signal of a concatenation on its left.
    before, logic, after = re.split(rf"(?m){_HEADING}(?:Combinatorial|Synchronous) Logic$", source)
    rule = "//" + "-" * 78
    parts = re.split(r"(?m)^(?=assign |always @)", logic.replace(rule, ""))
    blocks = sorted({part.strip() for part in parts} - {""})
    return "\n".join(
        [
            f"// Generated by LiteDRAM {VERSION} for quintet.",
            before.rstrip(),
            *blocks,
            after.strip("\n"),
            "endmodule",
            "",
        ]
    )
