# SPDX-License-Identifier: BSD-2-Clause
"""The memory map for other tools; and LiteX's own client on a served virtual board."""

import ast
import csv
import json
import re
import subprocess
import sys
import threading
import xml.etree.ElementTree as ElementTree

import pytest

from quintet.boards import open_board
from quintet.gateware.info import CONTROL_BASE, RUN_LIST_BASE, SOC_BASE
from quintet.tools.export.csrmap import FORMATS, memory_map
from tests.support.tiny_core import PACKAGE


@pytest.fixture(scope="module")
def tiny():
    return memory_map(open_board("icebreaker").make_soc(package=PACKAGE, preset="sim", family=None))


def test_registers(tiny):
    by_name = {r.name: r for r in tiny.registers}
    assert by_name["core_ident"].address == CONTROL_BASE and by_name["core_ident"].access == "ro"
    assert (
        by_name["core_control"].access == "wo"
        and by_name["core_program_address"].address == CONTROL_BASE + 0x20
    )
    assert (
        by_name["core_cnt_cycles_high"].address
        == by_name["core_cnt_cycles"].address + 4
        == CONTROL_BASE + 0x84
    )
    assert by_name["soc_led"].address == SOC_BASE + 0xC
    assert len({r.address for r in tiny.registers}) == len(tiny.registers) == len(by_name)


def test_registers_of_lists_of_runs():
    soc = open_board("icebreaker").make_soc(
        package=PACKAGE, preset="sim", family=None, run_list=True
    )
    found = {r.name: (r.address, r.access) for r in memory_map(soc).registers}
    assert found["list_start"] == (RUN_LIST_BASE, "wo")
    assert found["list_status"] == (RUN_LIST_BASE + 4, "rw")


def test_every_form_says_the_same(tiny):
    want = {r.name: r.address for r in tiny.registers}
    found = json.loads(tiny.json())
    assert {n: r["addr"] for n, r in found["csr_registers"].items()} == want
    assert (
        found["memories"]["main_ram"]["size"] == 131072
        and found["constants"]["config_clock_frequency"] == 24_000_000
    )
    rows = [row for row in csv.reader(tiny.csv().splitlines()) if row[0] == "csr_register"]
    assert {row[1]: int(row[2], 0) for row in rows} == want and {row[4] for row in rows} <= {
        "ro",
        "wo",
        "rw",
    }
    svd = ElementTree.fromstring(tiny.svd())
    addresses = {}
    for peripheral in svd.iter("peripheral"):
        base = int(peripheral.findtext("baseAddress"), 0)
        for register in peripheral.iter("register"):
            addresses[register.findtext("name").lower()] = base + int(
                register.findtext("addressOffset"), 0
            )
    assert addresses == want
    macros = dict(re.findall(r"#define (\w+)_ADDR 0x([0-9A-F]+)u", tiny.c_header()))
    assert {name.lower(): int(value, 16) for name, value in macros.items()} == want
    values = {}
    exec(compile(ast.parse(tiny.python()), "map.py", "exec"), values)
    assert {name: values[name.upper()] for name in want} == want


def test_the_c_header_compiles(tiny, tmp_path):
    from quintet.boards.virtual.toolchain import find_compiler

    (tmp_path / "csr.h").write_text(tiny.c_header())
    (tmp_path / "t.cc").write_text(
        '#include "csr.h"\nstatic_assert(CORE_IDENT_ADDR == 0x80000000u, "");\n'
    )
    subprocess.run(
        [*find_compiler().command, "-std=c++17", "-fsyntax-only", str(tmp_path / "t.cc")],
        check=True,
    )


@pytest.mark.parametrize("suffix", FORMATS)
def test_the_command(quintet, tmp_path, suffix):
    out = tmp_path / f"map{suffix}"
    ran = quintet("csr", "icebreaker", "opentpu", "-o", out, "--json")
    assert ran.code == 0 and ran.json["registers"] > 40
    assert "cnt_cycles" in out.read_text().lower()


def test_bad_input(quintet, tmp_path):
    ran = quintet("csr", "icebreaker", "opentpu", "-o", tmp_path / "map.txt")
    assert ran.code == 2 and "expected a name that ends in .csv, .json, .svd, .h, .py" in ran.err
    ran = quintet("run", "job.toml", "--on", "sim:icebreaker/opentpu?link=uartbone")
    assert ran.code == 2


def test_programs_are_not_loaded_over_uartbone():
    from quintet.tools import open_target
    from quintet.tools.errors import TargetError

    with pytest.raises(
        TargetError, match="programs are not loaded over UARTBone; it can be served"
    ):
        open_target("sim:icebreaker/opentpu?link=uartbone")


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")
def test_litex_reads_and_writes_memory_and_registers(tiny, tmp_path):
    """LiteX's client, as published, on the pseudo-terminal of a virtual board; names from our
    csv."""
    comm_uart = pytest.importorskip("litex.tools.remote.comm_uart")
    from quintet.boards.virtual.board import open_virtual
    from quintet.tools.serve import PtyEndpoint, serve

    (tmp_path / "csr.csv").write_text(tiny.csv())
    endpoint = PtyEndpoint()
    board = open_virtual("icebreaker", PACKAGE, preset="sim", link="uartbone")
    stop = threading.Event()
    server = threading.Thread(
        target=serve, args=(board, endpoint), kwargs={"stopped": stop.is_set, "framed": False}
    )
    server.start()
    try:
        comm = comm_uart.CommUART(endpoint.name, csr_csv=str(tmp_path / "csr.csv"))
        try:
            comm.write(0x100, [0x11223344, 5, 6, 7, 8, 9, 10, 11, 12, 13])
            assert comm.read(0x100, 10) == [0x11223344, 5, 6, 7, 8, 9, 10, 11, 12, 13]
            assert comm.regs.soc_ident.read() == int.from_bytes(b"QSOC", "little")
            assert comm.regs.core_status.read() == 0
            comm.regs.core_program_address.write(0x40)
            assert comm.regs.core_program_address.read() == 0x40
            assert comm.bases.core == CONTROL_BASE and comm.mems.main_ram.size == 131072
            assert comm.read(0x4000_0000) == 0xFFFF_FFFF
        finally:
            comm.close()
    finally:
        stop.set()
        server.join()
        endpoint.close()
        board.close()
