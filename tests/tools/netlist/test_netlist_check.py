# SPDX-License-Identifier: BSD-2-Clause
"""quintet check: a build whose netlist is what was simulated, netlists that are not, faults, and
everything that can be wrong with a folder."""

import json
import shutil
from fractions import Fraction
from types import SimpleNamespace

import pytest

from quintet.tools.build.bitstream import build
from quintet.tools.cli import main
from quintet.tools.netlist.check import Subject, check_build
from quintet.tools.netlist.conversation import Heard, Outcome, compare, converse
from quintet.tools.netlist.netlist import NetlistError, Pad
from quintet.tools.netlist.pins import led_port
from quintet.tools.selftest.finding import Finding
from tests.support.netlist_builds import synthesised


def test_ecp5(ecp5, monkeypatch, capsys):
    """The command, by hand: SDRAM, PLL with a second phase, registers of I/O cells, carries, table
    memories."""
    monkeypatch.chdir(ecp5)
    assert main(["check", ".", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["ok"] and not found["wrong"] and found["cycles"] > 100_000
    assert found["registers"]["compared"] > 900 and found["registers"]["without a name"] < 250
    assert (
        found["cells"]["DP16KD"] == 2
        and found["cells"]["table memories"] > 0
        and found["cells"]["tables"] > 2000
    )
    # The clock's phase is that of the report.
    assert found["sdram_rises_ns"] == pytest.approx(
        json.loads((ecp5 / "report.json").read_text())["sdram"]["phase_degrees"] / 360 * 12.5,
        abs=0.02,
    )
    assert {
        "header",
        "damaged frames",
        "numbers and sessions",
        "requests that are none",
        "runs",
        "addresses",
        "sums",
        "bus errors",
        "long frames",
        "identify",
        "write, read, checksum",
        "frames",
        "cycle counter",
        "lights",
    } == {finding["name"] for finding in found["findings"]}


def test_up5k(up5k):
    """Single-port RAM; the whole SoC is reset, too."""
    check = check_build(up5k)
    assert check.ok, check.wrong
    assert (
        check.cells["SB_SPRAM256KA"] == 4
        and check.netlist.heard == check.virtual.heard
        and len(check.netlist.heard) > 20
    )
    assert "reset" in {finding.name for finding in check.netlist.findings}


@pytest.mark.parametrize(
    ("board", "preset"),
    [
        ("icebreaker", "up5k-4x4"),
        # Its flash memory has one data line each way, and its clock no port.
        pytest.param("ulx3s-25f", "25f-4x4", marks=pytest.mark.long),
    ],
)
def test_start_from_flash_memory_and_lists(tmp_path, monkeypatch, board, preset):
    monkeypatch.chdir(tmp_path)
    folder = synthesised(tmp_path / "build", board, "opentpu", preset, boot=True, run_list=True)
    check = check_build(folder)
    assert check.ok, check.wrong
    findings = {finding.name: finding.found for finding in check.netlist.findings}
    assert findings["start"] == "180 bytes of a plan image are in their places"
    assert findings["walk"].endswith("equal")
    # The light of the board that has started.
    assert all(heard.lights[0] for heard in check.netlist.heard)
    subject = Subject(folder)
    flash = f"{subject.board.flash.resource}_0"
    if f"{flash}__dq" in subject.netlist.pads:
        subject.netlist.pads[f"{flash}__dq"].reverse()
    else:
        pads = subject.netlist.pads
        pads[f"{flash}__copi"], pads[f"{flash}__wp"] = pads[f"{flash}__wp"], pads[f"{flash}__copi"]
    with subject.placed(seed=None) as placed:
        outcome = converse(placed, "swapped", until=placed.reset_cycles + 100_000)
    assert "flash memory: " in outcome.failed or not outcome.findings[0].ok


def test_a_pll_of_another_phase_is_seen(ecp5, monkeypatch):
    monkeypatch.setattr(Subject, "own_clock_late_ns", lambda subject: 2.5)
    report = json.loads((ecp5 / "report.json").read_text())
    try:
        (ecp5 / "report.json").write_text(
            json.dumps({**report, "sdram": {**report["sdram"], "phase_degrees": 90}})
        )
        check = check_build(ecp5)
    finally:
        (ecp5 / "report.json").write_text(json.dumps(report))
    assert (
        len(check.wrong) == 2
        and "the SDRAM's clock rises 9.60 ns after its lines change; 3.12 expected"
        in check.wrong[1]
    )
    assert check.wrong[0] == (
        "the core's own clock rises 2.50 ns after the main clock; 0 expected, as on the "
        "virtual board"
    )


@pytest.mark.parametrize(
    "phase, late",
    [(Fraction(2), 0), (Fraction(1, 3), 1e9 / 160e6 / 3), (Fraction(-1, 4), 0.75e9 / 160e6)],
)
@pytest.mark.parametrize("sdram_hz", [80_000_000, 160_000_000])
def test_the_phase_of_a_cores_own_clock(sdram_hz, phase, late):
    subject = Subject.__new__(Subject)
    subject.board = SimpleNamespace(oscillator="clk25", oscillator_hz=25e6)
    subject.netlist = SimpleNamespace(
        clocks=lambda pin, hz: (
            [
                (5, Fraction(80_000_000), Fraction(0), True),
                (6, Fraction(sdram_hz), Fraction(1, 4), True),
                (7, Fraction(160_000_000), phase, True),
            ],
            [],
        )
    )
    subject.soc = lambda family: SimpleNamespace(domain=SimpleNamespace(ratio=Fraction(2)))
    assert subject.own_clock_late_ns() == pytest.approx(late)
    subject.soc = lambda family: SimpleNamespace(domain=None)
    assert subject.own_clock_late_ns() == 0


def test_a_main_clock_of_another_frequency_is_refused(ecp5):
    report = json.loads((ecp5 / "report.json").read_text())
    try:
        (ecp5 / "report.json").write_text(json.dumps({**report, "clock_asked_mhz": 60}))
        with pytest.raises(
            NetlistError, match="the netlist's PLL makes 80 MHz, and the SoC was made for 60"
        ):
            check_build(ecp5)
    finally:
        (ecp5 / "report.json").write_text(json.dumps(report))


def test_what_the_chip_leaves_open_does_not_matter(up5k):
    subject = Subject(up5k)
    outcomes = []
    for seed in (1, 2):
        with subject.placed(seed=seed) as board:
            outcomes.append(converse(board, "netlist"))
    assert outcomes[0] == outcomes[1] and outcomes[0].ok


def test_a_netlist_that_never_answers(ecp5):
    subject = Subject(ecp5)
    with subject.placed(limit=1000) as board:
        assert converse(board, "netlist").failed == "no end after 1,000 cycles"
    quiet = subject.netlist.copy()
    quiet.pads = {**quiet.pads, "uart_0__tx": [Pad(1, 1)]}
    with subject.placed(quiet) as board:
        assert "no answer to identify" in converse(board, "netlist").failed


def test_lights(up5k):
    """By their pins; one that is stuck is found, though no answer says so."""
    subject = Subject(up5k)
    stuck = subject.netlist.copy()
    stuck.pads = {**stuck.pads, led_port(subject.board.busy_led): [Pad(0, 1)]}
    with subject.placed(stuck) as board:
        found = {finding.name: finding for finding in converse(board, "netlist").findings}
        assert (
            not found["lights"].ok
            and found["lights"].found == "NOT lit and dark as their register says"
        )
        assert board.lit is False


def test_outcomes_are_compared():
    good = Outcome((Finding("core", "unit", True, "9 cycles", counters={"cycles": 9}),), 100)
    assert list(compare(good, good)) == []
    other = Outcome((Finding("core", "unit", True, "9 cycles", counters={"cycles": 8}),), 100)
    assert list(compare(other, good)) == [
        "unit: counters differ, cycles 8 of 9 (netlist, virtual board)"
    ]
    assert list(compare(Outcome(good.findings, 101), good)) == [
        "the conversation took 101 cycles on the netlist, 100 on the virtual board"
    ]
    assert "the netlist: dead" in list(compare(Outcome((), 0, "dead"), good))
    said = [
        Outcome(good.findings, 100, "", (Heard(7, b"\1\2", (lit, None)),)) for lit in (False, True)
    ]
    assert list(compare(*said)) == [
        "the line differs: 01 02 by cycle 7, lights: none (netlist), 01 02 by cycle 7, lights: "
        "busy (virtual board)"
    ]
    assert list(compare(said[1], good)) == [
        "the line differs: 01 02 by cycle 7, lights: busy (netlist), nothing more (virtual board)"
    ]
    wrong = Outcome((Finding("core", "unit", False, "3 differ"),), 100)
    assert list(compare(wrong, good))[0] == "the netlist, unit: 3 differ"


@pytest.mark.long
@pytest.mark.pnr
@pytest.mark.skipif(shutil.which("icebox_vlog") is None, reason="Project IceStorm is not installed")
@pytest.mark.parametrize("isa, preset", [(None, None), ("pim", None)])
def test_routed_bitstream(tmp_path, monkeypatch, isa, preset):
    """The routed bitstream behaves as the virtual board, to the cycle."""
    monkeypatch.chdir(tmp_path)
    build("hx8k-breakout", isa, preset, dir="build")
    for routed in (False, True):
        check = check_build("build", routed=routed)
        assert check.ok, check.wrong


#: Every core on each FPGA: what fits by the measured matrix (docs/performance/matrix.md), with the
#: default preset where none is named.
EVERY = [
    (board, isa, None)
    for board in ("icebreaker", "blackice-ii", "ulx3s-25f", "ulx3s-85f")
    for isa in ("opentpu", "opu", "imagine", "cherry", "pim")
]
EVERY += [
    ("ulx3s-45f", "cherry", None),
    ("hx8k-breakout", "pim", None),
    ("blackice-mx", "opu", None),
    ("blackice-mx", "cherry", None),
]


@pytest.mark.long
@pytest.mark.parametrize("board, isa, preset", EVERY, ids=lambda part: part or "default")
def test_every_core(tmp_path, monkeypatch, board, isa, preset):
    monkeypatch.chdir(tmp_path)
    check = check_build(synthesised(tmp_path / "build", board, isa, preset))
    assert check.ok, check.wrong
    assert any(finding.counters for finding in check.netlist.findings)
