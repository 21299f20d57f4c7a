# SPDX-License-Identifier: BSD-2-Clause
"""quintet check: everything that can be wrong with a folder, a netlist, or this machine."""

import json
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from quintet.tools.build.logs import BuildError
from quintet.tools.cli import main
from quintet.tools.errors import InputError, NoDeviceError
from quintet.tools.netlist.check import check_build
from quintet.tools.netlist.conversation import goes_directly
from quintet.tools.netlist.ecp5 import read_ecp5
from quintet.tools.netlist.ice40 import read_ice40
from quintet.tools.netlist.netlist import Netlist, NetlistError
from quintet.tools.netlist.packing import read_build
from quintet.tools.netlist.simulation import NetlistSimulation

REPORT = {
    "board": "icebreaker",
    "isa": None,
    "link": "uart",
    "preset": None,
    "params": {},
    "clock_asked_mhz": 24,
    "clock_real_mhz": 24,
    "bitstream": "top.bin",
}


@pytest.mark.parametrize(
    "text, message",
    [
        (None, "report.json: No such file or directory; expected the folder of a build"),
        ("{", "report.json: not JSON"),
        ("[]", "report.json: no board; expected the report of a build that ended with a bitstream"),
        (
            json.dumps({name: value for name, value in REPORT.items() if name != "bitstream"}),
            "report.json: no bitstream",
        ),
        (
            json.dumps({**REPORT, "link": "usb"}),
            "report.json: link usb; only builds with link uart can be checked",
        ),
        (json.dumps(REPORT), "no top.json; expected the folder of a build"),
    ],
)
def test_no_build(tmp_path, text, message):
    if text is not None:
        (tmp_path / "report.json").write_text(text)
    with pytest.raises(InputError, match=message):
        check_build(tmp_path)


def test_no_script_of_a_build(tmp_path):
    (tmp_path / "top.json").write_text("{}")
    with pytest.raises(
        InputError, match="build_top.sh: expected the script of a build for an ECP5"
    ):
        read_build(tmp_path, "ecp5")
    (tmp_path / "build_top.sh").write_text(
        '"$NEXTPNR_ECP5" --quiet --25k --package CABGA381 --json top.json\n'
    )
    with pytest.raises(BuildError, match="nextpnr-ecp5 failed"):
        read_build(tmp_path, "ecp5")


def _netlist(tmp_path, cells, ports=None):
    path = tmp_path / "netlist.json"
    path.write_text(json.dumps({"modules": {"top": {"ports": ports or {}, "cells": cells}}}))
    return path


def _cell(kind, parameters=None, **connections):
    return {
        "type": kind,
        "parameters": parameters or {},
        "connections": {
            pin: bits if isinstance(bits, list) else [bits] for pin, bits in connections.items()
        },
    }


@pytest.mark.parametrize(
    "text, message",
    [
        (None, "cannot read the netlist"),
        ("{", "is not a netlist"),
        ('{"modules": {}}', "is not a netlist"),
    ],
)
def test_no_netlist(tmp_path, text, message):
    path = tmp_path / "netlist.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(NetlistError, match=message):
        read_ice40(path)


PAD = {"pad": {"direction": "inout", "bits": [9]}}


@pytest.mark.parametrize(
    "read, cell, message",
    [
        (read_ice40, _cell("SB_HFOSC"), "x: the simulation knows no cell SB_HFOSC"),
        (
            read_ice40,
            _cell("SB_IO", {"PIN_TYPE": "101011"}, PACKAGE_PIN=9, D_IN_0=3),
            "x: the simulation knows no I/O cell whose input is latched",
        ),
        (
            read_ice40,
            _cell("SB_IO", {"NEG_TRIGGER": "1"}, PACKAGE_PIN=9),
            "x: the simulation knows no I/O cell of PIN_TYPE 000000, NEG_TRIGGER 1",
        ),
        (read_ice40, _cell("SB_RAM40_4K", {"READ_MODE": 4}), "x: READ_MODE and WRITE_MODE are"),
        (
            read_ice40,
            _cell("SB_RAM40_4K", {"READ_MODE": "many"}),
            "parameter READ_MODE is 'many'; expected a number",
        ),
        (
            read_ice40,
            _cell("SB_PLL40_CORE", {"FEEDBACK_PATH": "DELAY"}),
            "x: FEEDBACK_PATH is 'DELAY'",
        ),
        (
            read_ice40,
            _cell("SB_PLL40_CORE", {"FEEDBACK_PATH": "SIMPLE"}, BYPASS=4),
            "x: the simulation knows PLLs that are never reset nor bypassed",
        ),
        (
            read_ice40,
            _cell(
                "SB_PLL40_CORE",
                {"FEEDBACK_PATH": "SIMPLE", "PLLOUT_SELECT": "SHIFTREG_0deg"},
                PLLOUTCORE=4,
            ),
            "x: PLLOUT_SELECT is 'SHIFTREG_0deg'",
        ),
        (read_ecp5, _cell("ALU54B"), "x: the simulation knows no cell ALU54B"),
        (
            read_ecp5,
            _cell("TRELLIS_COMB", {"MODE": "RAMR"}),
            "x: MODE is 'RAMR'; the simulation knows LOGIC, CCU2",
        ),
        (
            read_ecp5,
            _cell("TRELLIS_COMB", {"MODE": "CCU2", "CCU2_INJECT1": "YES"}),
            "x: the simulation knows carries without injection",
        ),
        (
            read_ecp5,
            _cell("DCCA", CE=4, CLKI=5, CLKO=6),
            "x: the simulation knows clock buffers without an enable",
        ),
        (
            read_ecp5,
            _cell("IOLOGIC", {}, LSR=4),
            "x: the simulation knows registers of I/O cells without a reset",
        ),
        (read_ecp5, _cell("IOLOGIC", {"CLKIMUX": "INV"}), "x: CLKIMUX is 'INV'; the simulation"),
        (read_ecp5, _cell("IOLOGIC", {"MODE": "IDDRXN"}), "x: MODE is 'IDDRXN'; the simulation"),
        (read_ecp5, _cell("EHXPLLL", {}, RST=4), "x: the simulation knows PLLs whose RST is low"),
        (
            read_ecp5,
            _cell("EHXPLLL", {"FEEDBK_PATH": "CLKOS"}, CLKOP=4, CLKFB=4),
            "x: FEEDBK_PATH names CLKOS, but CLKFB is another net",
        ),
        (
            read_ecp5,
            _cell("DP16KD", {"DATA_WIDTH_A": 7}),
            "x: the simulation knows no port of width 7",
        ),
        (read_ecp5, _cell("DP16KD", {"RSTAMUX": "maybe"}), "x: RSTAMUX is 'maybe'"),
        (
            read_ecp5,
            _cell("DP16KD", {"RESETMODE": "ASYNC"}, RSTA=4),
            "x: the simulation knows block RAMs with RESETMODE SYNC",
        ),
        (
            read_ecp5,
            _cell("DP16KD", {"RSTAMUX": "0", "RSTBMUX": "0", "INITVAL_00": "zz"}),
            "x: INITVAL_00 is not a row of bits",
        ),
        (
            read_ecp5,
            _cell("MULT18X18D", {"REG_OUTPUT_CLK": "CLK9"}),
            "x: REG_OUTPUT_CLK is 'CLK9'; expected CLK0 to CLK3",
        ),
        (
            read_ecp5,
            _cell("MULT18X18D", {"REG_OUTPUT_CLK": "CLK0", "CLK0MUX": "odd"}),
            "x: CLK0MUX is 'odd'",
        ),
        (
            read_ecp5,
            _cell("MULT18X18D", {"SOURCEA_MODE": "C_SHIFT"}),
            "x: the simulation knows no SOURCEA_MODE",
        ),
    ],
)
def test_what_the_simulation_does_not_know(tmp_path, read, cell, message):
    with pytest.raises(NetlistError, match=message):
        read(_netlist(tmp_path, {"x": cell}, PAD))


def test_a_net_that_drives_itself(tmp_path):
    netlist = Netlist()
    a = netlist.net()
    netlist.lut("ring", (a,), 0b01, a)
    with (
        NetlistSimulation(netlist) as simulation,
        pytest.raises(NetlistError, match="ring: its output depends on itself without a register"),
    ):
        simulation.finish()


def test_a_clock_from_elsewhere(tmp_path):
    port = {"clk": {"direction": "input", "bits": [2]}}
    netlist = read_ice40(
        _netlist(
            tmp_path,
            {
                "pll": _cell(
                    "SB_PLL40_CORE", {"FEEDBACK_PATH": "SIMPLE"}, REFERENCECLK=3, PLLOUTCORE=4
                )
            },
            port,
        )
    )
    with pytest.raises(
        NetlistError, match="pll: its input does not come from the oscillator's pin clk"
    ):
        netlist.clocks("clk", 12_000_000)


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--faults", "-1"], "--faults -1: expected a number from 0"),
        (["--seed", "-2"], "--seed -2: expected a number from 0"),
    ],
)
def test_numbers(arguments, message, tmp_path, capsys):
    assert main(["check", str(tmp_path), *arguments]) == 2
    assert message in capsys.readouterr().err


def test_routed_and_faults(tmp_path, capsys):
    assert main(["check", str(tmp_path), "--routed", "--faults", "3"]) == 2
    assert "--routed and --faults: expected one of them" in capsys.readouterr().err


@pytest.mark.parametrize(
    "board, message",
    [
        ("icebreaker", "icebreaker has a up5k; only routed bitstreams of an hx8k are read back"),
        ("blackice-ii", "blackice-ii has SRAM at registers of its I/O cells"),
        ("hx8k-breakout", "no top.asc; expected the folder of a build that was routed"),
    ],
)
def test_what_is_not_read_back(tmp_path, board, message):
    (tmp_path / "report.json").write_text(json.dumps({**REPORT, "board": board}))
    with pytest.raises(InputError, match=message):
        check_build(tmp_path, routed=True)


def test_a_build_with_ddr3_is_not_checked(tmp_path):
    report = {**REPORT, "board": "orangecrab-85f", "memory": {"kind": "DDR3"}}
    (tmp_path / "report.json").write_text(json.dumps(report))
    with pytest.raises(InputError, match="main memory is DDR3, and the netlist of such a build"):
        check_build(tmp_path)


def test_icebox_is_missing_or_fails(tmp_path, monkeypatch):
    (tmp_path / "report.json").write_text(json.dumps({**REPORT, "board": "hx8k-breakout"}))
    for name in ("top.asc", "top.pcf"):
        (tmp_path / name).write_text("")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoDeviceError, match="icebox_vlog is missing: install Project IceStorm"):
        check_build(tmp_path, routed=True)
    fake = tmp_path / "icebox_vlog"
    fake.write_text(f"#!{sys.executable}\nimport sys; sys.exit('no such chip')\n")
    fake.chmod(0o755)
    with pytest.raises(BuildError, match="icebox_vlog failed: no such chip"):
        check_build(tmp_path, routed=True)


@pytest.mark.parametrize(
    "chip, on_chip, boot, directly",
    [
        (True, 0, None, True),
        (False, 0, None, False),
        (True, 1 << 16, None, False),
        (True, 0, "flash", False),
    ],
    ids=["a chip", "no chip", "on-chip memory beside it", "started from flash memory"],
)
def test_data_go_directly_into_a_chip_alone(chip, on_chip, boot, directly):
    soc = SimpleNamespace(on_chip=on_chip, boot=boot)
    board = SimpleNamespace(chip=np.zeros(8, np.uint8) if chip else None, soc=soc)
    assert goes_directly(board) == directly
