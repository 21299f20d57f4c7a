# SPDX-License-Identifier: BSD-2-Clause
"""The small engine against the golden model, and what its own parts refuse."""

import pytest

from quintet.boards.virtual.bench import IDEAL
from quintet.gateware.cores.opentpu.core import variant
from quintet.gateware.cores.opentpu.params import SPACE
from quintet.gateware.cores.opentpu.small import program as small_program
from quintet.gateware.cores.opentpu.small.core import SmallEngine, small_fits
from quintet.gateware.cores.opentpu.small.instructions import LAYOUT
from quintet.tools.build.bitstream import build, synthesise
from tests.gateware.cores.opentpu.bench import checks, programs
from tests.gateware.cores.opentpu.bench.compare import check_case, sanitised
from tests.support.shares import shares, some

bench = checks.bench_fixture(("lean4", "lean2", "leanplain4"))


@shares
def test_random_programs(bench, share):
    checks.random_programs(bench, range(some(150, share)))


@shares
def test_runs_of_nops(bench, share):
    checks.nop_runs(bench, range(some(150, share)))


def test_a_nop_takes_six_cycles():
    """Eight words a request, fields of a word in five cycles: 6.25 (17 where each word is asked for
    by itself)."""
    bench = checks.shared_bench("lean4")
    cycles = {}
    for count in (100, 1100):
        case = programs.random_case(0, bench.params)
        words = [programs.Word(programs.OP["NOP"])] * count + [programs.Word(programs.OP["HLT"])]
        problems, outcome = check_case(bench, sanitised(case, words), IDEAL)
        assert not problems
        cycles[count] = outcome.counters["cycles"]
    assert cycles[1100] - cycles[100] <= 6.5 * 1000


def test_bus_errors_among_nops(bench):
    checks.bus_errors_among_nops(bench)


@pytest.mark.parametrize("fault", programs.FAULTS)
def test_every_fault(bench, fault):
    checks.every_fault(bench, fault)


@shares
def test_aborts_and_restarts(bench, share):
    checks.aborts(bench, some(25, share), every=1)


@shares
def test_core_resets_at_random_cycles(bench, share):
    checks.core_resets(bench, some(25, share))


@shares
def test_bus_errors(bench, share):
    checks.bus_errors(bench, some(60, share, 15), least=some(8, share, 2))


@shares
def test_hazards(bench, share):
    checks.hazards(bench, share)


def test_which_builds_are_small():
    small = SPACE.resolve("up5k-4x4")
    assert small_fits(small, 4) and variant(small, 4) is SmallEngine
    for changes in (
        {"banks": 2},
        {"chain": True},
        {"ext_norm": True},
        {"ext_conv": True},
        {"ext_pool": True},
        {"ext_diag": True},
        {"ext_bias": True},
        {"norm_reset": 3},
        {"n": 8},
        {"ub_rows": 256},
        {"dsp_limit": 3},
    ):
        assert not small_fits(small | changes, 4), changes
    assert small_fits(small, 2) and not small_fits(small, 1) and not small_fits(small, 8)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"beat_bytes": 1},
            "The small engine has one bank, no chaining, no extension but SYNC, n = 4 and "
            "beats of 2 or 4 bytes",
        ),
        (
            {"params": SPACE.resolve("up5k-4x4", {"ext_diag": True})},
            "The small engine has one bank, no chaining, no extension but SYNC",
        ),
    ],
)
def test_bad_arguments_are_refused(changes, message):
    arguments = {
        "params": SPACE.resolve("up5k-4x4"),
        "beat_bytes": 4,
        "memory_size": 1 << 17,
        "family": None,
    } | changes
    with pytest.raises(ValueError, match=message):
        SmallEngine(**arguments)


@pytest.mark.parametrize(
    "old, new, message",
    [
        (
            "load TRANSFER;",
            "load REMAIN;",
            "Micro-instruction 'load REMAIN' reads what the one before it writes",
        ),
        (
            "stop:       hold ?BUSY stop\n            hold ?TROUBLE",
            "stop: load #1 >T ?BUSY stop\n load #1 >CODE ?TROUBLE",
            "Micro-instruction 'load #1 >T \\?BUSY stop' waits and leaves the fields of the "
            "next word no cycle",
        ),
        ("copy TRANSFER", "idle: copy TRANSFER", "Label idle stands twice"),
        ("copy TRANSFER", "copy TRANSFER\n" + 100 * "load #1\n", "more than 256"),
        (
            "load TRANSFER",
            "load TRANSFERRED",
            "No register 'TRANSFERRED' for 'load TRANSFERRED', expected one of PROGRAM, LENGTH",
        ),
        ("illegal:", "unlawful:", "has no entry illegal"),
    ],
)
def test_microprogram_fits_and_is_checked(monkeypatch, old, new, message):
    program = small_program.microprogram(SPACE.resolve("up5k-4x4"))
    assert len(program.words) <= 256 and program.labels["idle"] == 0
    assert len(program.registers) == 128 and 1024 in program.registers and 256 in program.registers
    rest = small_program.PARTS["rest"]
    assert old in rest
    monkeypatch.setitem(small_program.PARTS, "rest", rest.replace(old, new))
    with pytest.raises(ValueError, match=message):
        small_program.microprogram(SPACE.resolve("up5k-4x4"))


def test_a_field_of_the_small_engine_too_large_is_refused():
    with pytest.raises(ValueError, match="Field rs of a micro-instruction has 7 bits"):
        LAYOUT.encode({"rs": 128})


@pytest.mark.long
@pytest.mark.pnr
def test_icebreaker_fits(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    report = build("icebreaker", "opentpu", dir="build")
    assert report["preset"] == "up5k-4x4" and report["luts"] <= 5000
    assert report["dsps"] == 8 and report["sprams"] == 4 and report["brams"] <= 30
    assert report["clock_met"] == (report["clock_reached_mhz"] >= report["clock_asked_mhz"])


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 2])
def test_icebreaker_reaches_its_clock(tmp_path, monkeypatch, seed):
    monkeypatch.chdir(tmp_path)
    report = build("icebreaker", "opentpu", seed=seed, dir="build")
    assert report["clock_reached_mhz"] >= 24


def test_engine_is_small(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    engine = SmallEngine(
        params=SPACE.resolve("up5k-4x4"), beat_bytes=4, memory_size=1 << 17, family="ice40"
    )
    cells = synthesise(engine, "ice40", "area")
    assert cells["ICESTORM_LC"] <= 2200
    assert cells["SB_MAC16"] == 8 and cells["SB_RAM40_4K"] == 22
