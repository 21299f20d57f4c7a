# SPDX-License-Identifier: BSD-2-Clause
"""Reader of ECP5 netlists: converts nextpnr's netlist after packing (``--pack-only --write``) to a
:class:`~.netlist.Netlist`."""

from fractions import Fraction
from pathlib import Path

from .ecp5_cells import block_ram, choice, multiplier, muxed
from .netlist import (
    ASYNCHRONOUS,
    ENABLE_FIRST,
    FALLING,
    FLASH_CLOCK,
    HIGH,
    LOW,
    RESET_TO_1,
    STARTS_AT_1,
    Netlist,
    NetlistError,
    Pad,
    PLLCell,
)
from .yosys_json import Reader, number, parameter

__all__ = ["read_ecp5"]

_XOR, _MUX = 0b0110, 0b11001010  # of two inputs; of (low, high, select)
_CARRY = _MUX  # of (generated, carry in, propagates)
#: Outputs of an EHXPLLL.
_OUTPUTS = ("CLKOP", "CLKOS", "CLKOS2", "CLKOS3")


def read_ecp5(path: str | Path, source: str | Path | None = None) -> Netlist:
    """Reads nextpnr's JSON at ``path``, packed from yosys' JSON at ``source``, which provides the
    net names (``None``: nets have no names).

    Raises
    ------
    NetlistError
        A cell, or a mode of a cell, is not known.
    """
    reader = Reader(path)
    handlers = {
        "TRELLIS_COMB": _comb,
        "TRELLIS_FF": _flop,
        "TRELLIS_RAMW": _table_writer,
        "TRELLIS_IO": _pad,
        "IOLOGIC": _iologic,
        "SIOLOGIC": _iologic,
        "DCCA": _buffer,
        "EHXPLLL": _pll,
        "DP16KD": block_ram,
        "MULT18X18D": multiplier,
        "USRMCLK": _flash_clock,
    }
    places = reader.port_bits()
    for name, cell in reader.cells():
        if cell["type"] not in handlers:
            raise NetlistError(f"{name}: the simulation knows no cell {cell['type']}")
        if cell["type"] == "TRELLIS_IO":
            port, index = places[cell["connections"]["B"][0]]
            reader.netlist.pads[port][index] = _pad(reader, name, cell)
        else:
            handlers[cell["type"]](reader, name, cell)
    if source is not None:
        reader.name_nets(source)
    return reader.netlist


def _comb(reader, name, cell):
    netlist, mode = (
        reader.netlist,
        choice(name, cell, "MODE", ("LOGIC", "CCU2", "DPRAM", "RAMW_BLOCK"), "LOGIC"),
    )
    if mode == "RAMW_BLOCK":
        return
    table = int(parameter(cell, "INITVAL", "0" * 16), 2)
    inputs = [reader.pin(cell, pin, HIGH) for pin in "ABCD"]
    if mode == "DPRAM":
        # The address stands in another order at the pins of the table.
        a, b, c, d = inputs
        netlist.writers.append(
            (
                muxed(reader, name, cell, "WCK", LOW),
                muxed(reader, name, cell, "WRE", LOW),
                reader.pin(cell, "WD", LOW),
                *(reader.pin(cell, f"WAD{k}", LOW) for k in range(4)),
                len(netlist.luts),
            )
        )
        netlist.lut(name, (d, b, c, a), table, reader.output(cell, "F") or netlist.net())
        return
    if mode == "CCU2":
        if parameter(cell, "CCU2_INJECT1", "NO") != "NO":
            raise NetlistError(f"{name}: the simulation knows carries without injection only")
        propagates = netlist.lut(name, inputs, table)
        carry = reader.pin(cell, "FCI")
        if (total := reader.output(cell, "F")) is not None:
            netlist.lut(f"{name}.sum", (propagates, carry), _XOR, total)
        if (onwards := reader.output(cell, "FCO")) is not None:
            generated = netlist.lut(f"{name}.generate", inputs[:2], table & 15)
            netlist.lut(f"{name}.carry", (generated, carry, propagates), _CARRY, onwards)
        return
    f, wide = reader.output(cell, "F"), reader.output(cell, "OFX")
    own = netlist.lut(name, inputs, table, f)
    if wide is not None:
        if cell["connections"].get("F1"):
            sources = own, reader.pin(cell, "F1")
        else:
            sources = reader.pin(cell, "FXA"), reader.pin(cell, "FXB")
        netlist.lut(f"{name}.wide", (*sources, reader.pin(cell, "M")), _MUX, wide)


def _flop(reader, name, cell):
    q = reader.output(cell, "Q")
    if q is None:
        return
    clock = muxed(reader, name, cell, "CLK", LOW)
    enable, reset = muxed(reader, name, cell, "CE", HIGH), muxed(reader, name, cell, "LSR", LOW)
    mode = choice(name, cell, "SRMODE", ("LSR_OVER_CE", "CE_OVER_LSR", "ASYNC"), "LSR_OVER_CE")
    flags = {"LSR_OVER_CE": 0, "CE_OVER_LSR": ENABLE_FIRST, "ASYNC": ASYNCHRONOUS}[mode]
    if choice(name, cell, "REGSET", ("SET", "RESET"), "RESET") == "SET":
        flags |= RESET_TO_1 | STARTS_AT_1
    d = reader.pin(cell, "DI" if parameter(cell, "SD", "0") == "1" else "M")
    reader.netlist.flops.append((name, (clock, d, enable, reset, q, flags)))


def _table_writer(reader, name, cell):
    """Netlist of the writer of a LUT memory, which only passes on address and data."""
    for out, into in (
        ("WADO0", "D0"),
        ("WADO1", "B0"),
        ("WADO2", "C0"),
        ("WADO3", "A0"),
        ("WDO0", "C1"),
        ("WDO1", "A1"),
        ("WDO2", "D1"),
        ("WDO3", "B1"),
    ):
        if (net := reader.output(cell, out)) is not None:
            reader.netlist.lut(f"{name}.{out}", (reader.pin(cell, into, LOW),), 0b10, net)


def _buffer(reader, name, cell):
    if cell["connections"].get("CE"):
        raise NetlistError(f"{name}: the simulation knows clock buffers without an enable only")
    reader.netlist.lut(name, (reader.pin(cell, "CLKI"),), 0b10, reader.output(cell, "CLKO"))


def _pad(reader, name, cell):
    direction = choice(name, cell, "DIR", ("INPUT", "OUTPUT", "BIDIR"), "INPUT")
    drives = enable = LOW
    if direction != "INPUT":
        registered = "IOLDO" in (parameter(cell, "DATAMUX_OREG"), parameter(cell, "DATAMUX_ODDR"))
        drives = reader.pin(cell, "IOLDO" if registered else "I", LOW)
        released = reader.pin(
            cell, "IOLTO" if parameter(cell, "TRIMUX_TSREG") == "IOLTO" else "T", LOW
        )
        enable = reader.netlist.inverted(released)
    sees = reader.output(cell, "O") if direction != "OUTPUT" else None
    return Pad(drives, enable, LOW if sees is None else sees)


def _flash_clock(reader, name, cell):
    """The clock pad of flash memory, which is not a port of the design."""
    released = reader.pin(cell, "PADDT", LOW)
    reader.netlist.pads[FLASH_CLOCK] = [
        Pad(reader.pin(cell, "PADDO", LOW), reader.netlist.inverted(released))
    ]


def _iologic(reader, name, cell):
    netlist = reader.netlist
    mode = choice(name, cell, "MODE", ("IREG_OREG", "IDDRX1_ODDRX1"), "IREG_OREG")
    for mux in ("CLKIMUX", "CLKOMUX"):
        choice(name, cell, mux, ("CLK",), "CLK")
    clock = reader.pin(cell, "CLK", LOW)
    if reader.pin(cell, "LSR", LOW) != LOW and not _is_low(reader, cell["connections"]["LSR"][0]):
        raise NetlistError(
            f"{name}: the simulation knows registers of I/O cells without a reset only"
        )

    def register(kind, d, q=None, flags=0):
        q = netlist.net() if q is None else q
        netlist.flops.append((f"{name}.{kind}", (clock, d, HIGH, LOW, q, flags)))
        return q

    def single(pin_in, kind, q):
        starts_at_1 = parameter(cell, f"{kind}.REGSET", "RESET") == "SET"
        flags = RESET_TO_1 | STARTS_AT_1 if starts_at_1 else 0
        register(kind, reader.pin(cell, pin_in, LOW), q, flags)

    if (q := reader.output(cell, "IOLTO")) is not None:
        single("TSDATA0", "TSREG", q)
    if (q := reader.output(cell, "INFF")) is not None:
        single("PADDI", "FF", q)
    q = reader.output(cell, "IOLDO")
    if mode == "IDDRX1_ODDRX1":
        _double_input(reader, cell, register)
        if q is not None:
            second = _double_output(reader, cell, register)
            netlist.lut(f"{name}.double", (*second, clock), _MUX, q)
            netlist.second_halves[q] = second[0]
    elif q is not None:
        single("TXDATA0", "OUTREG", q)


def _double_output(reader, cell, register):
    """Registers of an ODDRX1F as in the vendor's simulation model, where three of them stand before
    the pad; returns the nets of the second half of a cycle and of the first."""
    first, second = (
        register(f"half {k} second stage", register(f"half {k} first stage", data))
        for k, data in enumerate(reader.pin(cell, f"TXDATA{k}", LOW) for k in range(2))
    )
    # The first half's last register changes in the middle of the cycle before, the second half's
    # at its beginning, so that neither changes while it is at the pad.
    return register("half 1", second), register("half 0", first, flags=FALLING)


def _double_input(reader, cell, register):
    """Registers of an IDDRX1F as in the vendor's simulation model: levels at a rising edge and at
    the falling edge behind it, both given at the next rising edge."""
    for k, (edge, flags) in enumerate((("rising", 0), ("falling", FALLING))):
        if (q := reader.output(cell, f"RXDATA{k}")) is not None:
            seen = register(f"{edge} edge", reader.pin(cell, "PADDI", LOW), flags=flags)
            register(f"input {k}", seen, q)


def _is_low(reader, bit):
    """Whether a bit is the packer's constant 0."""
    return any(
        cell["type"] == "TRELLIS_COMB"
        and cell["connections"].get("F") == [bit]
        and not int(parameter(cell, "INITVAL", "1"), 2)
        for name, cell in reader.cells()
        if name.startswith("$PACKER_GND")
    )


def _pll(reader, name, cell):
    for pin in (
        "RST",
        "STDBY",
        "PHASESEL0",
        "PHASESEL1",
        "ENCLKOP",
        "ENCLKOS",
        "ENCLKOS2",
        "ENCLKOS3",
    ):
        bits = cell["connections"].get(pin)
        if bits and not _is_low(reader, bits[0]):
            raise NetlistError(f"{name}: the simulation knows PLLs whose {pin} is low only")
    feedback = choice(name, cell, "FEEDBK_PATH", _OUTPUTS, "CLKOP")
    if reader.output(cell, feedback) != reader.pin(cell, "CLKFB"):
        raise NetlistError(f"{name}: FEEDBK_PATH names {feedback}, but CLKFB is another net")
    oscillator = Fraction(
        number(cell, "CLKFB_DIV", 1) * number(cell, f"{feedback}_DIV", 8),
        number(cell, "CLKI_DIV", 1),
    )
    outputs = []
    for output in _OUTPUTS:
        net = reader.output(cell, output)
        if net is None or parameter(cell, f"{output}_ENABLE", "DISABLED") != "ENABLED":
            continue
        divider = number(cell, f"{output}_DIV", 8)
        delay = number(cell, f"{output}_CPHASE") + Fraction(number(cell, f"{output}_FPHASE"), 8)
        outputs.append((net, oscillator / divider, delay / divider))
    lock = reader.output(cell, "LOCK")
    # Phases count from the first output's.
    periods = outputs[0][2] / outputs[0][1]
    outputs = [(net, ratio, phase - periods * ratio) for net, ratio, phase in outputs]
    reader.netlist.plls.append(
        PLLCell(name, reader.pin(cell, "CLKI"), LOW if lock is None else lock, tuple(outputs))
    )
