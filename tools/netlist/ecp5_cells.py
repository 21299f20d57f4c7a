# SPDX-License-Identifier: BSD-2-Clause
"""Hard cells of the ECP5: translates nextpnr's pins and parameters to those of the simulation."""

from collections.abc import Collection
from typing import Any

from .netlist import HIGH, LOW, HardCell, NetlistError
from .yosys_json import Reader, has_behavioural_model, number, parameter

__all__ = ["block_ram", "choice", "multiplier", "muxed"]

_WRITE_MODES = ("NORMAL", "WRITETHROUGH", "READBEFOREWRITE")
_WIDTHS = (1, 2, 4, 9, 18, 36)


def choice(
    name: str, cell: dict[str, Any], parameter_name: str, expected: Collection[str], default: str
) -> str:
    """A cell parameter restricted to the values that the simulation supports."""
    value = parameter(cell, parameter_name, default)
    if value not in expected:
        raise NetlistError(
            f"{name}: {parameter_name} is {value!r}; the simulation knows {', '.join(expected)}"
        )
    return value


def muxed(reader: Reader, name: str, cell: dict[str, Any], pin: str, default: int | None) -> int:
    """Net of a pin with an input multiplexer, which may invert it or tie it to a level; ``default``
    as for :meth:`~.yosys_json.Reader.pin`."""
    mux = choice(name, cell, f"{pin}MUX", (pin, "INV", "0", "1"), pin)
    if mux in ("0", "1"):
        return HIGH if mux == "1" else LOW
    net = reader.pin(cell, pin, default)
    return reader.netlist.inverted(net) if mux == "INV" else net


def _ram_pin(reader, name, cell, pin):
    """Net of a pin of a block RAM, whose multiplexer inverts it, or ties it to a constant if it is
    not connected."""
    # An unconnected pin is high where its multiplexer or its kind says so, and else floats.
    high = f"{pin}MUX" in cell["parameters"] or pin.startswith(("CE", "OCE"))
    return muxed(reader, name, cell, pin, HIGH if high else None)


def _ram_contents(name, cell):
    """Initial contents of a block RAM, 1024 words of 18 bits; an ``x`` is a bit that the bitstream
    does not set, to be drawn later."""
    words = []
    for line in range(64):
        text = parameter(cell, f"INITVAL_{line:02X}", "0" * 320)
        if text.startswith("0x"):
            text = f"{int(text, 16):0320b}"
        text = text.rjust(320, "0")
        if set(text) - set("01x"):
            raise NetlistError(f"{name}: INITVAL_{line:02X} is not a row of bits")
        # Sixteen words of 20 bits, of which 18 are used; the last character is the lowest bit.
        words += [text[len(text) - 20 * k - 18 : len(text) - 20 * k] for k in range(16)]
    return tuple(words)


def block_ram(reader: Reader, name: str, cell: dict[str, Any]) -> None:
    """Adds a DP16KD block RAM to the netlist."""
    pins, parameters, resets = [], [], []
    for port in "AB":
        names = [
            f"CLK{port}",
            f"CE{port}",
            f"OCE{port}",
            f"WE{port}",
            f"RST{port}",
            *(f"CS{port}{k}" for k in range(3)),
            *(f"AD{port}{k}" for k in range(14)),
            *(f"DI{port}{k}" for k in range(18)),
        ]
        own = [_ram_pin(reader, name, cell, pin) for pin in names]
        pins += own
        resets.append(own[names.index(f"RST{port}")])
        outputs = [reader.output(cell, f"DO{port}{k}") for k in range(18)]
        pins += [LOW if net is None else net for net in outputs]
        width, mode = (
            number(cell, f"DATA_WIDTH_{port}", 18),
            parameter(cell, f"WRITEMODE_{port}", "NORMAL"),
        )
        register, select = (
            parameter(cell, f"REGMODE_{port}", "NOREG"),
            parameter(cell, f"CSDECODE_{port}", "0b000").removeprefix("0b"),
        )
        if (
            width not in _WIDTHS
            or mode not in _WRITE_MODES
            or register not in ("NOREG", "OUTREG")
            or set(select) - set("01")
        ):
            raise NetlistError(
                f"{name}: the simulation knows no port of width {width}, {mode}, {register}, "
                f"CSDECODE {select}"
            )
        parameters += [width, int(register == "OUTREG"), _WRITE_MODES.index(mode), int(select, 2)]
    if parameter(cell, "RESETMODE", "SYNC") != "SYNC" and resets != [LOW, LOW]:
        raise NetlistError(
            f"{name}: the simulation knows block RAMs with RESETMODE SYNC, or without a reset, only"
        )
    reader.netlist.cells.append(
        HardCell(
            "DP16KD",
            name,
            tuple(pins),
            (*parameters, has_behavioural_model(cell)),
            _ram_contents(name, cell),
        )
    )


def multiplier(reader: Reader, name: str, cell: dict[str, Any]) -> None:
    """Adds a MULT18X18D to the netlist."""
    for pin in ("SOURCEA", "SOURCEB"):
        if parameter(cell, f"{pin}_MODE", "") not in ("", "B_SHIFT", "A_SHIFT", "SIGNAL"):
            raise NetlistError(
                f"{name}: the simulation knows no {pin}_MODE {parameter(cell, f'{pin}_MODE')!r}"
            )
    pins = [reader.pin(cell, f"{operand}{k}", LOW) for operand in "AB" for k in range(18)]
    pins += [_ram_pin(reader, name, cell, f"SIGNED{operand}") for operand in "AB"]
    used = []
    for register in ("INPUTA", "INPUTB", "PIPELINE", "OUTPUT"):
        clock = parameter(cell, f"REG_{register}_CLK", "NONE")
        used.append(int(clock != "NONE"))
        kinds = {
            "CLK": clock,
            "CE": parameter(cell, f"REG_{register}_CE", "CE0"),
            "RST": parameter(cell, f"REG_{register}_RST", "RST0"),
        }
        for kind, pin in kinds.items():
            if clock == "NONE":
                pins.append(LOW)
            elif pin in (f"{kind}{k}" for k in range(4)):
                pins.append(muxed(reader, name, cell, pin, HIGH if kind == "CE" else LOW))
            else:
                raise NetlistError(
                    f"{name}: REG_{register}_{kind} is {pin!r}; expected {kind}0 to {kind}3"
                )
    outputs = [reader.output(cell, f"P{k}") for k in range(36)]
    pins += [LOW if net is None else net for net in outputs]
    reader.netlist.cells.append(HardCell("MULT18X18D", name, tuple(pins), (*used, 0)))
