# SPDX-License-Identifier: BSD-2-Clause
"""Reader of iCE40 netlists: converts yosys' netlist after synthesis to a
:class:`~.netlist.Netlist`."""

import re
from fractions import Fraction
from pathlib import Path

from .netlist import (
    ASYNCHRONOUS,
    ENABLE_FIRST,
    FALLING,
    HIGH,
    LOW,
    RESET_TO_1,
    HardCell,
    Netlist,
    NetlistError,
    Pad,
    PLLCell,
)
from .yosys_json import Reader, has_behavioural_model, number, parameter

__all__ = ["read_ice40"]

_MAJORITY, _MUX = 0b11101000, 0b11001010  # of three inputs; of (low, high, select)
_FLOP = re.compile(r"SB_DFF(N?)(E?)(SR|SS|R|S)?")
_RAM = re.compile(r"SB_RAM40_4K(NR)?(NW)?(NRNW)?")
_PLL = re.compile(r"SB_PLL40_(2F_)?(PAD|CORE)")
_MAC16 = (
    "C_REG",
    "A_REG",
    "B_REG",
    "D_REG",
    "TOP_8x8_MULT_REG",
    "BOT_8x8_MULT_REG",
    "PIPELINE_16x16_MULT_REG1",
    "PIPELINE_16x16_MULT_REG2",
    "TOPOUTPUT_SELECT",
    "TOPADDSUB_LOWERINPUT",
    "TOPADDSUB_UPPERINPUT",
    "TOPADDSUB_CARRYSELECT",
    "BOTOUTPUT_SELECT",
    "BOTADDSUB_LOWERINPUT",
    "BOTADDSUB_UPPERINPUT",
    "BOTADDSUB_CARRYSELECT",
    "MODE_8x8",
    "A_SIGNED",
    "B_SIGNED",
)
_MAC16_PINS = (
    ("CE", 1),
    ("C", 16),
    ("A", 16),
    ("B", 16),
    ("D", 16),
    *(
        (pin, 1)
        for pin in (
            "AHOLD",
            "BHOLD",
            "CHOLD",
            "DHOLD",
            "IRSTTOP",
            "IRSTBOT",
            "ORSTTOP",
            "ORSTBOT",
            "OLOADTOP",
            "OLOADBOT",
            "ADDSUBTOP",
            "ADDSUBBOT",
            "OHOLDTOP",
            "OHOLDBOT",
            "CI",
            "ACCUMCI",
            "SIGNEXTIN",
        )
    ),
)


def read_ice40(path: str | Path) -> Netlist:
    """Reads yosys' JSON at ``path``.

    Raises
    ------
    NetlistError
        A cell, or a mode of a cell, is not known.
    """
    reader = Reader(path)
    places = reader.port_bits()
    for name, cell in reader.cells():
        kind = cell["type"]
        if kind == "SB_LUT4":
            reader.netlist.lut(
                name,
                [reader.pin(cell, f"I{k}", LOW) for k in range(4)],
                int(parameter(cell, "LUT_INIT", "0" * 16), 2),
                reader.output(cell, "O"),
            )
        elif kind == "SB_CARRY":
            reader.netlist.lut(
                f"{name}.carry",
                [reader.pin(cell, pin, LOW) for pin in ("I0", "I1", "CI")],
                _MAJORITY,
                reader.output(cell, "CO"),
            )
        elif match := _FLOP.fullmatch(kind):
            _flop(reader, name, cell, *match.groups())
        elif match := _RAM.fullmatch(kind):
            _block_ram(reader, name, cell, kind)
        elif kind == "SB_SPRAM256KA":
            _spram(reader, name, cell)
        elif kind == "SB_MAC16":
            _mac16(reader, name, cell)
        elif kind == "SB_GB":
            reader.netlist.lut(
                name,
                [reader.pin(cell, "USER_SIGNAL_TO_GLOBAL_BUFFER", LOW)],
                0b10,
                reader.output(cell, "GLOBAL_BUFFER_OUTPUT"),
            )
        elif kind in ("SB_IO", "SB_GB_IO"):
            port, index = places[cell["connections"]["PACKAGE_PIN"][0]]
            reader.netlist.pads[port][index] = _pad(reader, name, cell)
        elif match := _PLL.fullmatch(kind):
            _pll(reader, name, cell, match[2] == "PAD", places)
        else:
            raise NetlistError(f"{name}: the simulation knows no cell {kind}")
    reader.plain_pads()
    reader.name_nets()
    return reader.netlist


def _flop(reader, name, cell, falling, enable, reset):
    q = reader.output(cell, "Q")
    if q is None:
        return
    flags = (FALLING if falling else 0) | (RESET_TO_1 if reset in ("SS", "S") else 0)
    flags |= {
        None: 0,
        "SR": ENABLE_FIRST,
        "SS": ENABLE_FIRST,
        "R": ASYNCHRONOUS,
        "S": ASYNCHRONOUS,
    }[reset]
    row = (
        reader.pin(cell, "C", LOW),
        reader.pin(cell, "D", LOW),
        reader.pin(cell, "E", HIGH) if enable else HIGH,
        reader.pin(cell, reset[-1], LOW) if reset else LOW,
        q,
        flags,
    )
    reader.netlist.flops.append((name, row))


def _bus(reader, cell, pin, width, default=LOW):
    return [reader.pin(cell, pin, default, index) for index in range(width)]


def _outputs(reader, cell, pin, width):
    nets = (reader.output(cell, pin, index) for index in range(width))
    return [LOW if net is None else net for net in nets]


def _block_ram(reader, name, cell, kind):
    clocks = {}
    for pin, letter in (("RCLK", "R"), ("WCLK", "W")):
        inverted = f"N{letter}" in kind
        net = reader.pin(cell, pin + ("N" if inverted else ""), LOW)
        clocks[pin] = reader.netlist.inverted(net) if inverted else net
    pins = [
        clocks["RCLK"],
        reader.pin(cell, "RCLKE", HIGH),
        reader.pin(cell, "RE", LOW),
        clocks["WCLK"],
        reader.pin(cell, "WCLKE", HIGH),
        reader.pin(cell, "WE", LOW),
        *_bus(reader, cell, "RADDR", 11),
        *_bus(reader, cell, "WADDR", 11),
        *_bus(reader, cell, "MASK", 16),
        *_bus(reader, cell, "WDATA", 16),
        *_outputs(reader, cell, "RDATA", 16),
    ]
    # Sixteen lines of sixteen words of 16 bits, the last character is the lowest bit; a bitstream
    # sets what no parameter says to 0.
    lines = [parameter(cell, f"INIT_{line:X}", "0" * 256).rjust(256, "0") for line in range(16)]
    words = tuple(line[256 - 16 * k - 16 : 256 - 16 * k] for line in lines for k in range(16))
    modes = number(cell, "READ_MODE"), number(cell, "WRITE_MODE")
    if not all(0 <= mode <= 3 for mode in modes):
        raise NetlistError(f"{name}: READ_MODE and WRITE_MODE are {modes}; expected 0 to 3")
    reader.netlist.cells.append(
        HardCell("SB_RAM40_4K", name, tuple(pins), (*modes, has_behavioural_model(cell)), words)
    )


def _spram(reader, name, cell):
    pins = [
        reader.pin(cell, pin, LOW) for pin in ("CLOCK", "CHIPSELECT", "WREN", "STANDBY", "SLEEP")
    ]
    pins += [
        reader.pin(cell, "POWEROFF", HIGH),
        *_bus(reader, cell, "MASKWREN", 4),
        *_bus(reader, cell, "ADDRESS", 14),
        *_bus(reader, cell, "DATAIN", 16),
    ]
    reader.netlist.cells.append(
        HardCell("SB_SPRAM256KA", name, (*pins, *_outputs(reader, cell, "DATAOUT", 16)))
    )


def _mac16(reader, name, cell):
    clock = reader.pin(cell, "CLK", LOW)
    pins = [reader.netlist.inverted(clock) if number(cell, "NEG_TRIGGER") else clock]
    for pin, width in _MAC16_PINS:
        pins += _bus(reader, cell, pin, width, HIGH if pin == "CE" else LOW)
    pins += _outputs(reader, cell, "O", 32) + [
        _outputs(reader, cell, pin, 1)[0] for pin in ("CO", "ACCUMCO", "SIGNEXTOUT")
    ]
    reader.netlist.cells.append(
        HardCell("SB_MAC16", name, tuple(pins), tuple(number(cell, p) for p in _MAC16))
    )


def _pad(reader, name, cell):
    """Adds an I/O cell by its PIN_TYPE: two bits for the input, two for the output, two for the
    output enable."""
    kind = parameter(cell, "PIN_TYPE", "000000").rjust(6, "0")
    if set(kind) - set("01") or number(cell, "NEG_TRIGGER"):
        raise NetlistError(
            f"{name}: the simulation knows no I/O cell of PIN_TYPE {kind}, NEG_TRIGGER "
            f"{parameter(cell, 'NEG_TRIGGER', '0')}"
        )
    enabling, output, into = kind[:2], kind[2:4], kind[4:]
    enable_clock = reader.pin(cell, "CLOCK_ENABLE", HIGH)

    def register(suffix, clock, d, flags=0, q=None):
        q = reader.netlist.net() if q is None else q
        reader.netlist.flops.append((f"{name}.{suffix}", (clock, d, enable_clock, LOW, q, flags)))
        return q

    drives = enable = LOW
    if enabling != "00":
        clock, data = (
            reader.pin(cell, "OUTPUT_CLK", LOW),
            [reader.pin(cell, f"D_OUT_{k}", LOW) for k in range(2)],
        )
        if output == "10":
            drives = data[0]
        else:
            drives = register("out 0", clock, data[0])
            if output == "00":
                drives = reader.netlist.lut(
                    f"{name}.double",
                    (register("out 1", clock, data[1], FALLING), drives, clock),
                    _MUX,
                )
            elif output == "11":
                drives = reader.netlist.inverted(drives)
        asked = reader.pin(cell, "OUTPUT_ENABLE", LOW)
        enable = {"01": HIGH, "10": asked, "11": None}[enabling]
        if enable is None:
            enable = register("enable", clock, asked)
    sees = reader.netlist.net()
    first, second = reader.output(cell, "D_IN_0"), reader.output(cell, "D_IN_1")
    clock = reader.pin(cell, "INPUT_CLK", LOW)
    if first is not None:
        if into == "01":
            sees = first
        elif into == "00":
            register("in 0", clock, sees, q=first)
        else:
            raise NetlistError(
                f"{name}: the simulation knows no I/O cell whose input is latched (PIN_TYPE {kind})"
            )
    if second is not None:
        register("in 1", clock, sees, FALLING, second)
    if (buffered := reader.output(cell, "GLOBAL_BUFFER_OUTPUT")) is not None:
        reader.netlist.lut(f"{name}.buffer", (sees,), 0b10, buffered)
    return Pad(drives, enable, sees)


def _pll(reader, name, cell, at_pad, places):
    if parameter(cell, "FEEDBACK_PATH") != "SIMPLE":
        raise NetlistError(
            f"{name}: FEEDBACK_PATH is {parameter(cell, 'FEEDBACK_PATH')!r}; the simulation "
            f"knows SIMPLE only"
        )
    if reader.pin(cell, "RESETB", HIGH) != HIGH or reader.pin(cell, "BYPASS", LOW) != LOW:
        raise NetlistError(
            f"{name}: the simulation knows PLLs that are never reset nor bypassed only"
        )
    if at_pad:
        port, index = places[cell["connections"]["PACKAGEPIN"][0]]
        source = reader.netlist.net()
        reader.netlist.pads[port][index] = Pad(sees=source)
    else:
        source = reader.pin(cell, "REFERENCECLK", LOW)
    ratio = Fraction(number(cell, "DIVF") + 1, (number(cell, "DIVR") + 1) << number(cell, "DIVQ"))
    outputs = []
    for letter in ("", "A", "B"):
        for kind in ("GLOBAL", "CORE"):
            net = reader.output(cell, f"PLLOUT{kind}{letter}")
            if net is None:
                continue
            select = parameter(
                cell, "PLLOUT_SELECT" + (f"_PORT{letter}" if letter else ""), "GENCLK"
            )
            if select not in ("GENCLK", "GENCLK_HALF"):
                raise NetlistError(
                    f"{name}: PLLOUT_SELECT is {select!r}; the simulation knows GENCLK and "
                    f"GENCLK_HALF"
                )
            outputs.append((net, ratio / 2 if select == "GENCLK_HALF" else ratio, Fraction(0)))
    lock = reader.output(cell, "LOCK")
    reader.netlist.plls.append(PLLCell(name, source, LOW if lock is None else lock, tuple(outputs)))
