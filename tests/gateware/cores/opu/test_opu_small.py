# SPDX-License-Identifier: BSD-2-Clause
"""The small engine against the golden model, with DSPs and SPRAM and without, its cycles, and what
its own parts refuse."""

import numpy as np
import pytest

from quintet.boards.virtual.bench import Behaviour
from quintet.gateware.cores.opu.core import variant
from quintet.gateware.cores.opu.isa import ISA
from quintet.gateware.cores.opu.params import SPACE
from quintet.gateware.cores.opu.small.core import SmallEngine
from quintet.gateware.cores.opu.small.instructions import MACHINE
from quintet.gateware.cores.opu.small.program import microprogram
from quintet.gateware.microcode.program import Microprogram
from quintet.tools import Job
from quintet.tools.build.bitstream import build, synthesise
from tests.gateware.cores.opu.bench import checks as opu_checks
from tests.gateware.cores.opu.bench import directed as opu_directed
from tests.gateware.cores.opu.bench import programs as opu_programs
from tests.gateware.cores.opu.bench.compare import check_case
from tests.support.digits_jobs import JOBS
from tests.support.shares import parts, shares, some

#: Logic cells and block RAMs of the engine alone (docs/performance/index.md), with some air.
ENGINE_CELLS = {"up5k": (2450, 22), "hx8k": (3750, 25)}
#: A memory in the same chip: one beat a cycle.
NEAR = Behaviour(latency=2)

bench = opu_checks.bench_fixture(["small", "logic", "logic2"])


@parts(4)
def test_random_programs(bench, part):
    opu_checks.random_programs(bench, range(125 * part, 125 * part + 125))


@pytest.mark.parametrize("fault", opu_programs.FAULTS)
def test_every_fault(bench, fault):
    opu_checks.every_fault(bench, fault)


@pytest.mark.parametrize("group", opu_directed.group_names())
def test_directed_programs(bench, group):
    opu_checks.directed(bench, group, 40, NEAR)


@pytest.mark.long
@pytest.mark.parametrize("part", range(20))
def test_many_random_programs(bench, part):
    """10,000 in all."""
    opu_checks.random_programs(bench, range(10_000 + 250 * part, 10_000 + 250 * part + 250))


@shares
def test_aborts_and_restarts(bench, share):
    opu_checks.aborts(bench, some(25, share), 9000, NEAR, every=1)


def test_stores_cut_short_by_an_abort(bench):
    opu_checks.stores_cut_short(bench, 29)


@shares
def test_bus_errors(bench, share):
    opu_checks.bus_errors(bench, some(50, share, 12), some(3, share, 0), NEAR)


@shares
def test_core_resets_at_random_cycles(bench, share):
    opu_checks.core_resets(bench, some(20, share))


# Cycles (specification, section 10)


def run(bench, text, registers=None):
    case = opu_directed.case_of("cycles", bench.params, text, registers=registers)
    problems, outcome = check_case(bench, case, NEAR)
    assert not problems, problems
    return outcome.counters


SETUP = (
    "@shape.ifm [{h},{w},{ifm_c}]\n@shape.ofm [{h},{w},{ofm_c}]\n@shape.ker 1\n@mem.ifm 1, "
    "{w}\n@mem.ker 2\n@mem.bias 2\n"
    "@mem.ofm 3, [{h},{w}]\n@shift -3, 1\nld.ifm 0\nld.ker 0\nld.bias 0x40\n"
)


@pytest.mark.parametrize(
    ("h", "w", "ifm_c", "ofm_c"),
    [
        (8, 8, 16, 16),
        (4, 4, 16, 16),
        (5, 7, 16, 2),
        (4, 4, 16, 4),
        (3, 5, 16, 64),
        (1, 4, 16, 64),
        (8, 8, 32, 8),
        (8, 4, 32, 8),
        (5, 3, 32, 32),
        (2, 4, 32, 32),
        (4, 4, 64, 2),
        (3, 3, 64, 16),
        (3, 3, 64, 64),
        (2, 2, 64, 64),
        (1, 1, 64, 64),
    ],
)
@pytest.mark.parametrize("kind", ["conv", "conv.bias", "conv.acc"])
def test_convolutions_take_what_the_formula_says(bench, h, w, ifm_c, ofm_c, kind):
    """Behind one another, when geometry and bias are known."""
    if h * w * ofm_c > bench.params["ofm_lines"] or h * w * ifm_c // 16 > bench.params["ifm_lines"]:
        pytest.skip("a larger tile than this build holds")
    setup = SETUP.format(h=h, w=w, ifm_c=ifm_c, ofm_c=ofm_c) + "conv.bias ifm:[0,0], ker:0\n"
    tap = f"{kind} ifm:[0,0], ker:0\n"
    cycles = (run(bench, setup + 9 * tap)["cycles"] - run(bench, setup + 4 * tap)["cycles"]) / 5
    if bench.params["multiplier"] == "dsp":
        # Weights are copied first; ofm has one port.
        beside, slow = ifm_c * ofm_c // 2 + 16, 2 if kind == "conv.acc" and ifm_c == 16 else 1
    else:
        # Sums and addends of the biases lie in one table; the next one begins when the last has
        # ended.
        beside, slow = 20, 2 if kind == "conv.bias" else 1
    position = max(slow * ifm_c * ofm_c // 16, ifm_c // 2, ofm_c)
    # A convolution that is shorter than the decoding of the next takes as long as that.
    assert cycles <= max(beside + h * w * position, DECODING)


#: Cycles in which a convolution is fetched, decoded and checked.
DECODING = 80


def test_a_layer(bench):
    """W9: 3x3 16->16, 16x16, bias, ReLU."""
    if bench.params["ifm_lines"] < 18 * 18:
        pytest.skip("a larger tile than this build holds")
    taps = "".join(
        f"conv.{'bias' if n == 0 else 'acc'} ifm:[{n // 3},{n % 3}], ker:{n}\n" for n in range(9)
    )
    text = (
        "@shape.ifm [18,18,16]\n@shape.ofm [16,16,16]\n@shape.ker 9\n@mem.ifm 1, 18\n@mem.ker "
        "2\n@mem.bias 2\n"
        "@mem.ofm 3, [16,16]\n@shift -1, 2\n@post act.relu, pool\nld.ifm 0\nld.ker 0\nld.bias "
        "0x40\n" + taps + "store 0\n"
    )
    counters = run(
        bench,
        text,
        {
            "region_base[1]": 0xA000,
            "region_limit[1]": 0x5400,
            "region_base[3]": 0x1000,
            "region_limit[3]": 0x4000,
        },
    )
    assert counters["operations"] == 9 * 16 * 16 * 256
    assert counters["work"] == 9 * 16 * 16 * 16
    assert counters["cycles"] <= 84_000


def test_digits(bench):
    """The digits' network, the first images, in 64 KiB."""
    known = JOBS[f"opu/digits/digits_{'up5k' if bench.params['multiplier'] == 'dsp' else 'hx8k'}"]
    job = Job.load(known.path)
    image = job.image(bench.params, 1 << 16)
    memory = np.zeros(1 << 16, np.uint8)
    for part in image.parts:
        memory[part.at : part.at + len(part.data)] = np.frombuffer(part.data, np.uint8)
    case = opu_programs.Case(
        "digits", bench.params, ISA.load(image.program.data), image.registers, memory
    )
    problems, outcome = check_case(bench, case, NEAR)
    assert not problems, problems
    saved = job.saves[0]
    assert known.holds(saved.decode(bench.memory[saved.at : saved.at + saved.size].tobytes()))
    assert outcome.counters["cycles"] <= 265_000


# What it refuses


def test_the_engine_of_the_preset_is_the_small_one():
    params, logic = SPACE.resolve("up5k"), SPACE.resolve("hx8k")
    assert variant(params, 4) is variant(logic, 4) is SmallEngine
    assert (
        SmallEngine.spram_blocks(params) == 2
        and SmallEngine.spram_blocks(logic) == 0
        and variant(SPACE.resolve("sim"), 4).spram_blocks(params) == 0
    )


@pytest.mark.parametrize(
    ("preset", "changes", "message"),
    [
        ("sim", {}, "The small engine needs the parameter engine = small, not pipelined"),
        ("up5k", {"beat_bytes": 8}, "Beat size must be 2 or 4 bytes, not 8"),
        (
            "up5k",
            {"family": "ecp5"},
            r"The small engine needs the SPRAM of family 'ice40' \(or None\), not 'ecp5'",
        ),
    ],
)
def test_bad_arguments_are_refused(preset, changes, message):
    with pytest.raises(ValueError, match=message):
        SmallEngine(
            **{"params": SPACE.resolve(preset), "beat_bytes": 4, "memory_size": 65536} | changes
        )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: hold\na: hold", "Label a stands twice"),
        ("a: jump", "No operation 'jump' in 'jump'"),
        ("a: hold ?ALWAYS b", "No label 'b' for 'hold \\?ALWAYS b'"),
        ("a: load #1 *3", "No operand '\\*3' in 'load #1 \\*3'"),
        ("a: shl *31", "Repetition in 'shl \\*31' is not from 1 to 30"),
        (
            "a: shl *3 ?ALWAYS a",
            "Operand '\\?ALWAYS' in 'shl \\*3 \\?ALWAYS a' sets what, which is set already",
        ),
        ("a: load #1 >T\nload T", "Micro-instruction 'load T' reads what the one before it writes"),
        (
            "a: hold T !X\nload BASE+X",
            "Micro-instruction 'load BASE\\+X' is read with the index before this one",
        ),
        ("a: hold\n" + "hold\n" * 1024, "The microprogram has 1025 instructions, more than 1024"),
        ("a: hold\n" + "".join(f"load V{n}\n" for n in range(200)), "No register is left for V106"),
    ],
)
def test_the_micro_assembler_refuses(text, message):
    with pytest.raises(ValueError, match=message):
        Microprogram(MACHINE, {"text": text})


def test_a_field_too_large_is_refused():
    with pytest.raises(
        ValueError, match="Field alu of a micro-instruction has 3 bits, not enough for 9"
    ):
        MACHINE.layout.encode({"rs": 0, "alu": 9, "act": 0, "x": 0, "what": 0, "rs_x": 0, "x_x": 0})


def test_the_microprogram_depends_on_sizes_alone():
    params = SPACE.resolve("up5k")
    assert microprogram(params, 4).words == microprogram({**params, "types": "none"}, 4).words
    smaller = microprogram(SPACE.resolve("up5k", {"ifm_lines": 64}), 4)
    assert 65 in smaller.registers and 1025 in microprogram(params, 4).registers


@pytest.mark.long
@pytest.mark.parametrize("preset", ["up5k", "hx8k"])
def test_the_engine_is_small(tmp_path, monkeypatch, preset):
    monkeypatch.chdir(tmp_path)
    engine = SmallEngine(
        params=SPACE.resolve(preset), beat_bytes=4, memory_size=65536, family="ice40"
    )
    cells, (logic, blocks) = synthesise(engine, "ice40", "area"), ENGINE_CELLS[preset]
    assert cells["ICESTORM_LC"] <= logic and cells["SB_RAM40_4K"] <= blocks
    assert (cells.get("SB_MAC16", 0), cells.get("SB_SPRAM256KA", 0)) == (
        (8, 2) if preset == "up5k" else (0, 0)
    )


@pytest.mark.long
@pytest.mark.pnr
@pytest.mark.parametrize("seed", [1, 2])
def test_a_blackice_holds_it(tmp_path, monkeypatch, seed):
    monkeypatch.chdir(tmp_path)
    report = build("blackice-ii", "opu", seed=seed, dir="build")
    assert (
        report["preset"] == "hx8k" and report["luts"] <= 7500 and report["clock_reached_mhz"] >= 30
    )
