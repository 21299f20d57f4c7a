# SPDX-License-Identifier: BSD-2-Clause
"""Every rule of the chip models fires when it is broken, in Python and in C++ alike."""

import json
import shutil
import subprocess
import sys
from importlib import resources

import pytest

from quintet.gateware.memory.sdram.chip import SDRAMChip, SDRAMViolation
from quintet.gateware.memory.sdram.parts import SDRAMPart
from quintet.gateware.memory.sdram.phase import ClockPath

# At 100 MHz: tRCD = tRP = tWR 2 cycles, tRAS 5, tRC 7, tRFC 7, tRRD 2, tMRD 2, refresh every 781
# cycles.
PART = SDRAMPart(
    "test",
    data_bits=16,
    bank_bits=2,
    row_bits=12,
    column_bits=8,
    t_rcd=20,
    t_rp=20,
    t_wr=20,
    t_ras=45,
    t_rc=70,
    t_rfc=70,
    t_rrd=20,
    t_ras_max=20000,
)
POWERUP = 500


def nop(n=1):
    return [{}] * n


def command(ras, cas, we, **lines):
    return [dict(cs_n=0, ras_n=1 - ras, cas_n=1 - cas, we_n=1 - we, **lines)]


def act(ba, row):
    return command(1, 0, 0, ba=ba, a=row)


def read(ba, column):
    return command(0, 1, 0, ba=ba, a=column)


def write(ba, column, value=0, dqm=0, oe=1):
    return command(0, 1, 1, ba=ba, a=column, dq=value, dqm=dqm, dq_oe=oe)


def word(value, dqm=0, oe=1):
    """The second word of a burst."""
    return [dict(dq=value, dqm=dqm, dq_oe=oe)]


def pre(ba=0, everything=False):
    return command(1, 0, 1, ba=ba, a=everything << 10)


def refresh():
    return command(1, 1, 0)


def mode(value=0x20, ba=0):
    return command(1, 1, 1, a=value, ba=ba)


def init(refreshes=8, wait=50, cl=2, burst=1):
    return (
        nop(wait)
        + pre(everything=True)
        + nop(1)
        + (refresh() + nop(6)) * refreshes
        + mode(cl << 4 | burst - 1)
        + nop(1)
    )


LEGAL = {
    "write and read": init()
    + act(1, 5)
    + nop()
    + write(1, 7, 0xBEEF)
    + read(1, 7)
    + nop(4)
    + pre(1)
    + nop()
    + act(1, 6),
    "masked write": init()
    + act(0, 1)
    + nop()
    + write(0, 3, 0x1234)
    + write(0, 3, 0xABCD, dqm=2)
    + read(0, 3)
    + nop(4),
    "latency of 3": init(cl=3) + act(2, 9) + nop() + write(2, 1, 0x55AA) + read(2, 1) + nop(5),
    "write two cycles after the data": init()
    + act(0, 1)
    + nop()
    + read(0, 0)
    + nop(3)
    + write(0, 0),
    "four banks": init()
    + act(0, 1)
    + nop()
    + act(1, 1)
    + nop()
    + act(2, 1)
    + nop()
    + act(3, 1)
    + nop(5)
    + pre(everything=True)
    + nop()
    + refresh()
    + nop(6)
    + act(0, 2),
    "bursts of two words": init(burst=2)
    + act(1, 5)
    + nop()
    + write(1, 6, 0xBEEF)
    + word(0xCAFE)
    + write(1, 9, 0x1111)
    + word(0x2222, dqm=1)
    + read(1, 6)
    + nop()
    + read(1, 9)
    + nop()
    + read(1, 8)
    + nop(5),
}

BROKEN = {
    "command before the power-up time": init(wait=30),
    "command before initialisation": nop(50) + act(0, 0),
    "REFRESH before PRECHARGE ALL": nop(50) + refresh(),
    "MODE REGISTER SET before PRECHARGE ALL": nop(50) + mode(),
    "MODE REGISTER SET before the initial refreshes": init(refreshes=7),
    "only bursts of one or two words are modelled": init()[:-2] + mode(0x23),
    "CAS latency": init(cl=4),
    "tMRD": init()[:-1] + act(0, 0),
    "tRFC": init() + refresh() + nop(5) + act(0, 0),
    "tRCD": init() + act(0, 0) + read(0, 0),
    "tRP": init() + act(0, 0) + nop(6) + pre(0) + act(0, 0),
    "tRAS": init() + act(0, 0) + nop(3) + pre(0),
    "tRAS(max)": init() + act(0, 0) + nop(2100) + pre(0),
    "tRC": init() + act(0, 0) + nop(4) + pre(0) + nop(0) + act(0, 0),
    "tWR": init() + act(0, 0) + nop(6) + write(0, 0) + pre(0),
    "tRRD": init() + act(0, 0) + act(1, 0),
    "ACTIVATE of an open bank": init() + act(0, 0) + nop(9) + act(0, 1),
    "READ of a closed bank": init() + read(0, 0),
    "WRITE to a closed bank": init() + write(0, 0),
    "REFRESH with an open bank": init() + act(0, 0) + nop(9) + refresh(),
    "MODE REGISTER SET with an open bank": init() + act(0, 0) + nop(9) + mode(),
    "auto-precharge is not modelled": init() + act(0, 0) + nop() + read(0, 1 << 10),
    "column out of range": init() + act(0, 0) + nop() + read(0, 1 << 8),
    "row out of range": init() + act(0, 1 << 12),
    "WRITE without data": init() + act(0, 0) + nop() + write(0, 0, oe=0),
    "both sides drive DQ": init() + act(0, 0) + nop() + read(0, 0) + nop(1) + write(0, 0),
    "DQ driven without a turn-around cycle after a read": init()
    + act(0, 0)
    + nop()
    + read(0, 0)
    + nop(2)
    + write(0, 0),
    "refresh overdue": init() + nop(9 * 782),
    "CKE low": init() + [dict(cke=0)],
    "command is not modelled": init() + command(0, 0, 1),
    "a command within a burst is not modelled": init(burst=2)
    + act(0, 0)
    + nop()
    + read(0, 0)
    + read(0, 2),
}
#: A rule that another way breaks, too.
ALSO_BROKEN = {
    "WRITE without data": init(burst=2) + act(0, 0) + nop() + write(0, 0) + nop(),
    "tWR": init(burst=2) + act(0, 0) + nop(6) + write(0, 0) + word(0) + pre(0),
    "a command within a burst is not modelled": init(burst=2)
    + act(0, 0)
    + nop(6)
    + write(0, 0)
    + pre(1),
    "both sides drive DQ": init(burst=2) + act(0, 0) + nop() + read(0, 0) + nop(2) + write(0, 0),
}
# tRC takes a part whose tRAS and tRP together are shorter than it; tRP of one cycle does that.
PARTS = {"tRC": dict(t_rp=10)}


def part_of(rule):
    from dataclasses import replace

    return replace(PART, **PARTS.get(rule, {}))


#: Data in time for the next edge of the main clock.
PATH = ClockPath.centred(PART, 100e6, 0)


def run_python(script, part=PART, path=PATH):
    chip = SDRAMChip(part=part, clock_hz=100e6, powerup_ns=POWERUP, path=path)
    seen = []
    try:
        for lines in script:
            seen.append(chip.edge(**lines))
    except SDRAMViolation as violation:
        return str(violation), seen
    return None, seen


@pytest.fixture(scope="module")
def cpp(tmp_path_factory):
    """The C++ twin as a program: lines in, data and violation out."""
    folder = tmp_path_factory.mktemp("chip")
    header = resources.files("quintet.gateware.memory.chips") / "sdr_sdram.hpp"
    (folder / "main.cpp").write_text(
        f'#include "{header}"\n'
        + r"""
#include <cstdlib>
#include <iostream>
int main(int argc, char **argv) {
    SdrSdram::Config c;
    c.data_bits = 16; c.row_bits = 12; c.column_bits = 8; c.period_ps = 10000;
    c.t_rcd_ps = 20000; c.t_rp_ps = std::atoi(argv[1]); c.t_wr_ps = 20000;
    c.t_ras_ps = 45000; c.t_rc_ps = 70000;
    c.t_rfc_ps = 70000; c.t_rrd_ps = 20000; c.t_ras_max_ps = 20000000; c.powerup_ps = 500000;
    if (argc != 6) return 1;
    for (int i = 0; i < 2; i++) {
        c.rises_ps[i] = std::atoi(argv[2 + i]);
        c.returns_ps[i] = std::atoi(argv[4 + i]);
    }
    SdrSdram chip(c);
    unsigned cke, cs, ras, cas, we, ba, a, dqm, dq, oe;
    while (std::cin >> cke >> cs >> ras >> cas >> we >> ba >> a >> dqm >> dq >> oe) {
        chip.edge(cke, cs, ras, cas, we, ba, a, dqm, dq, oe);
        if (chip.violation()) { std::cout << chip.violation() << "\n"; return 0; }
        std::cout << chip.dq() << "\n";
    }
}
"""
    )
    compiler = next(
        ([tool] for tool in ("c++", "g++", "clang++") if shutil.which(tool)),
        [sys.executable, "-m", "ziglang", "c++"],
    )
    subprocess.run(
        [*compiler, "-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", "main.cpp", "-o", "chip"],
        cwd=folder,
        check=True,
    )

    def run(script, part=PART, path=PATH):
        names = ("cke", "cs_n", "ras_n", "cas_n", "we_n", "ba", "a", "dqm", "dq", "dq_oe")
        default = dict(cke=1, cs_n=1, ras_n=1, cas_n=1, we_n=1, ba=0, a=0, dqm=0, dq=0, dq_oe=0)
        text = "\n".join(
            " ".join(str(int((default | lines)[n])) for n in names) for lines in script
        )
        done = subprocess.run(
            [
                folder / "chip",
                *(str(round(ns * 1000)) for ns in (part.t_rp, *path.rises, *path.returns)),
            ],
            input=text,
            capture_output=True,
            text=True,
            check=True,
        )
        seen = done.stdout.split("\n")[:-1]
        violation = seen.pop() if seen and seen[-1].startswith("SDRAM") else None
        return violation, [int(value) for value in seen]

    return run


@pytest.mark.parametrize("name", LEGAL)
def test_legal(name, cpp):
    violation, seen = run_python(LEGAL[name])
    assert violation is None
    violation, twin = cpp(LEGAL[name])
    assert violation is None
    assert [0xA5A5 if value is None else value for value in seen] == twin


@pytest.mark.parametrize("rule", BROKEN)
def test_broken(rule, cpp):
    part = part_of(rule)
    violation, _ = run_python(BROKEN[rule], part)
    assert violation is not None and violation.startswith(f"SDRAM: {rule} (edge ")
    assert cpp(BROKEN[rule], part)[0] == violation, json.dumps(rule)


@pytest.mark.parametrize("rule", ALSO_BROKEN)
def test_broken_by_bursts(rule, cpp):
    violation, _ = run_python(ALSO_BROKEN[rule])
    assert violation is not None and violation.startswith(f"SDRAM: {rule} (edge ")
    assert cpp(ALSO_BROKEN[rule])[0] == violation


def test_clock_too_fast_for_the_latency():
    chip = SDRAMChip(part=PART, clock_hz=133e6, powerup_ns=0)
    with pytest.raises(SDRAMViolation, match="clock too fast for the CAS latency"):
        for lines in nop() + pre(everything=True) + nop(3) + (refresh() + nop(9)) * 8 + mode(0x20):
            chip.edge(**lines)


def test_data_of_legal_sequences():
    assert run_python(LEGAL["write and read"])[1].count(0xBEEF) == 1
    assert run_python(LEGAL["masked write"])[1].count(0x12CD) == 1
    words = [word for word in run_python(LEGAL["bursts of two words"])[1] if word is not None]
    # A burst that begins at the odd column of a pair goes on with the even one.
    assert words == [0xBEEF, 0xCAFE, 0x1111, 0x2200, 0x2200, 0x1111]
    script = LEGAL["latency of 3"]
    seen = run_python(script)[1]
    # Driven from the edge before that of the CAS latency on.
    assert seen.index(0x55AA) == len(script) - 6 + 2


# At 10 ns: set-up 1.5, hold 1.0, access time 6.0, data stay 2.5.
@pytest.mark.parametrize(
    "rises, rule",
    [
        ((1.4, 5), "set-up time of the lines"),
        ((1.5, 9), None),
        ((5, 9.1), "hold time of the lines"),
        ((-3, -1), "set-up time of the lines"),
    ],
)
def test_lines_that_change_when_the_chip_looks(rises, rule, cpp):
    path = ClockPath(rises, PATH.returns)
    violation, _ = run_python(LEGAL["write and read"], path=path)
    assert (
        violation
        == (rule and f"SDRAM: {rule} (edge 51)")
        == cpp(LEGAL["write and read"], path=path)[0]
    )


@pytest.mark.parametrize(
    "returns, after",
    [
        ((-2.5, 4), 0),
        ((-2.6, 4), None),
        ((-2.5, 4.1), None),
        ((7.4, 8), None),
        ((7.5, 14), 1),
        ((17.5, 24), 2),
        ((27.5, 34), 3),
        ((40, 44), None),
    ],
)
def test_data_are_seen_where_they_are_in_time_and_nowhere_else(returns, after, cpp):
    path, script = ClockPath(PATH.rises, returns), LEGAL["write and read"]
    violation, seen = run_python(script, path=path)
    twin = cpp(script, path=path)
    assert (
        violation is twin[0] is None
        and [0xA5A5 if value is None else value for value in seen] == twin[1]
    )
    first = run_python(script)[1].index(0xBEEF)
    assert [i for i, value in enumerate(seen) if value == 0xBEEF] == (
        [] if after is None else [first + after]
    )
