# SPDX-License-Identifier: BSD-2-Clause
"""The small engine against the golden model, with beats of 1, 2, 4 and 8 bytes; its microprogram's
assembler and what that refuses."""

import random

import numpy as np
import pytest

from quintet.boards.virtual.bench import IDEAL
from quintet.gateware.cores.cherry.image import (
    IN,
    OUT,
    Descriptor,
    ProgramImage,
    Step,
    image_bytes,
    list_bytes,
)
from quintet.gateware.cores.cherry.params import SPACE, microcoded
from quintet.gateware.cores.cherry.small.core import SmallEngine
from quintet.gateware.cores.cherry.small.instructions import MACHINE
from quintet.gateware.cores.cherry.small.program import microprogram
from quintet.gateware.cores.cherry.software import SOFTWARE
from quintet.gateware.isa.asm import assemble_text
from quintet.gateware.isa.parameters import ParameterError
from quintet.gateware.microcode.program import Microprogram
from quintet.tools.build.bitstream import build, synthesise
from tests.gateware.cores.cherry.bench import compare
from tests.gateware.cores.cherry.bench.checks import CHECKS
from tests.gateware.cores.cherry.bench.programs import random_element
from tests.support.comparing import bench_fixture, failing_run
from tests.support.shares import shares, some

#: Cases of each of three builds in `make test-long`; with those of ``wide`` more than 500.
PROGRAMS, FAULTS, LISTS = 90, 45, 30

bench = bench_fixture(compare.open_build, ("one", "one-4", "one-dsp"))
wide = bench_fixture(compare.open_build, ("one-8",))


def check(bench, cases):
    for seed, case in cases:
        problems, _ = compare.check_case(bench, case, compare.behaviour_of(seed), seed)
        assert not problems, (case.name, problems)


@shares
def test_random_programs(bench, share):
    check(
        bench,
        (
            (
                seed,
                compare.program_case(
                    seed, bench.params, words=random.Random(seed).choice((12, 24, 40))
                ),
            )
            for seed in range(some(PROGRAMS, share))
        ),
    )


@shares
def test_programs_with_faults(bench, share):
    seeds = range(some(FAULTS, share))
    check(bench, ((seed, compare.spoilt_case(seed, bench.params)) for seed in seeds))


@shares
def test_lists(bench, share):
    seeds = range(some(LISTS, share))
    check(bench, ((seed, compare.list_case(seed, bench.params, seed % 2)) for seed in seeds))


def test_halves_of_beats(wide):
    check(wide, ((seed, compare.program_case(seed, wide.params, words=24)) for seed in range(20)))
    check(wide, ((seed, compare.list_case(seed, wide.params, seed % 2)) for seed in range(10)))


@pytest.mark.parametrize("word", [0x0A000, 0x0C000, 0x14000, 0x16000, 0x0E400, 0x0E800, 0x10800])
def test_what_a_build_may_lack(wide, word):
    """Special functions, and reduces along axes 1 and 2; met in the code, and in the image's
    flags."""
    for flags, pc in (
        ({}, 0x1024),
        ({"special": True} if word & 0xC00 == 0 else {"axes": True}, 0x1008),
    ):
        data = image_bytes(ProgramImage(words=[0x1A000, word], **flags))
        memory = np.zeros(0x4000, np.uint8)
        memory[0x1000 : 0x1000 + len(data)] = np.frombuffer(data, np.uint8)
        problems, got = compare.check_case(
            wide,
            compare.RunCase(
                "lacking", memory, {"program_address": 0x1000, "program_length": len(data)}
            ),
            IDEAL,
            0,
        )
        assert not problems and (got.fault.name, got.fault.pc) == ("feature", pc)


_FUNCTIONS = """
.in raw 0x4000 0 6 32
.out raw 0x8000 0x200 6 128
.program main
.loop m 6
.loop n 6
.apu x 0 1 4 m:32 n:32
.apu y 16 1 4 m:32 n:32
.apu div 0x200 1 4 m:128
.apu pow 0x210 1 4 m:128
.apu exp 0x220 1 4 m:128
.apu log 0x230 1 4 m:128
.apu divs 0x240 1 4 n:128
.apu pows 0x250 1 4 n:128
.apu exps 0x260 1 4 n:128
.apu logs 0x270 1 4 n:128
start_loop m
 load x, INPUT
 load y, WEIGHTS
 div; store div, OUTPUT
 pow; store pow, OUTPUT
 exp; store exp, OUTPUT
 log; store log, OUTPUT
end_loop m
start_independent_loop n
 load y, INPUT
 div; store divs, OUTPUT
 pow; store pows, OUTPUT
 exp; store exps, OUTPUT
 log; store logs, OUTPUT
end_loop n
""".replace("; ", "\n")


def test_special_functions_of_random_tiles(bench):
    """In ordered code, and in an independent loop of INPUT's private tile and WEIGHTS' uniform
    one."""
    data = np.frombuffer(assemble_text(SOFTWARE, _FUNCTIONS).data, np.uint8)
    memory, rnd = np.zeros(0xC000, np.uint8), random.Random(12)
    memory[0x1000 : 0x1000 + data.size] = data
    memory[0x4000 : 0x4000 + 4 * 6 * 32].view("<u4")[:] = [
        random_element(rnd) for _ in range(6 * 32)
    ]
    case = compare.RunCase(
        "functions", memory, {"program_address": 0x1000, "program_length": data.size}
    )
    problems, got = compare.check_case(bench, case, IDEAL, 0)
    assert not problems and got.status == "done"


@shares
def test_aborts(bench, share):
    CHECKS.aborts(bench, some(6, share), 30000)


@shares
def test_core_resets_at_random_cycles(bench, share):
    CHECKS.core_resets(bench, some(4, share), latest=30000)


@pytest.mark.parametrize(
    "fmt, addresses",
    [
        ("fp32", (0x10000, 0x10400, 0x109C0)),
        ("bf16", (0x10000, 0x10200, 0x10540)),
        ("packed", (0x10000, 0x10240, 0x10600)),
    ],
)
def test_addition_and_product(bench, fmt, addresses):
    """What a board of these is to run: a vector addition and a product of matrices, here with both
    in one program list."""
    shapes = ((18, 14), (14, 11), (18, 11))
    case = compare.matrices_case("small", zip(addresses, shapes, strict=True), fmt)
    problems, got = compare.check_case(bench, case, compare.SLOW if fmt == "bf16" else IDEAL, 0)
    assert not problems and got.status == "done"


def test_raw_words_pass_both_ways(bench):
    memory = np.zeros(0x4000, np.uint8)
    source = (
        ".in raw 0x2000 8 5 7 mem_pitch=9\n.out raw 0x3000 8 5 7 mem_pitch=9\n.program main\n nop\n"
    )
    data = np.frombuffer(assemble_text(SOFTWARE, source).data, np.uint8)
    memory[0x1000 : 0x1000 + data.size] = data
    memory[0x2000 : 0x2000 + 140] = np.random.default_rng(1).integers(0, 256, 140)
    case = compare.RunCase("raw", memory, {"program_address": 0x1000, "program_length": data.size})
    problems, _ = compare.check_case(bench, case, IDEAL, 0)
    assert not problems
    bench.load(memory)
    assert bench.run(compare.registers_of(case), compare.CYCLES).status == "done"
    assert (
        bench.memory[0x3000:0x308C].view("<u4") == memory[0x2000:0x208C].view("<u4") & 0x3FFFF
    ).all()


def list_of(descriptor, before):
    """Main memory with a list of one step, of no instructions, at 0x1000: entry at 0x1020,
    descriptor at 0x1040, image behind its end."""
    step = Step(0), [descriptor] if before else [], [] if before else [descriptor]
    data = np.frombuffer(list_bytes([(image_bytes(ProgramImage()), *step)]), np.uint8)
    memory = np.zeros(compare.MEMORY, np.uint8)
    memory[0x1000 : 0x1000 + data.size] = data
    return memory, {"program_address": 0x1000, "program_length": data.size}


@pytest.mark.parametrize("op, main", [(IN, -64), (OUT, -64), (IN, 64), (OUT, -32)])
def test_rows_beyond_main_memory(bench, op, main):
    memory, registers = list_of(
        Descriptor(op, "fp32", compare.MEMORY + main, 0, 4, 8, 32, 8), op == IN
    )
    case = compare.RunCase("beyond", memory, registers | {"window_limit": 2 * compare.MEMORY})
    problems, got = compare.check_case(bench, case, IDEAL, 0)
    assert not problems and (got.fault.name, got.fault.pc) == ("bus", 0x1040)


@pytest.mark.parametrize(
    "name, at",
    [
        ("program_address", compare.MEMORY),
        ("dma_in_list", compare.MEMORY),
        ("dma_in_list", compare.MEMORY - 4),
    ],
)
def test_lists_beyond_main_memory(bench, name, at):
    case = compare.RunCase(
        "beyond",
        np.zeros(compare.MEMORY, np.uint8),
        {"program_address": 0x1000, "window_limit": 2 * compare.MEMORY, name: at},
    )
    problems, got = compare.check_case(bench, case, IDEAL, 0)
    assert not problems and (got.fault.name, got.fault.pc, got.fault.detail) == (
        "bus",
        at,
        compare.MEMORY,
    )


@pytest.mark.parametrize(
    "op, address, pc",
    [
        (IN, 0x1004, 0x1000),
        (IN, 0x103C, 0x1020),
        (IN, 0x1044, 0x1040),
        (IN, 0x1084, 0x1020),
        (IN, 0x2000, 0x1040),
        (IN, 0x205C, 0x1040),
        (OUT, 0x2000, 0x1040),
        (OUT, 0x205C, 0x1040),
    ],
)
def test_bus_errors(bench, op, address, pc):
    """A bus error at each kind of word: header, entry, descriptor, image and rows."""
    memory, registers = list_of(Descriptor(op, "raw", 0x2000, 0, 3, 8, 32, 8), op == IN)
    case = compare.RunCase("errors", memory, registers)
    got = failing_run(bench, case, address, op == OUT, IDEAL, 0, compare.CYCLES)
    assert (got.fault.name, got.fault.pc, got.fault.detail) == ("bus", pc, address)
    problems, got = compare.check_case(bench, case, IDEAL, 0)
    assert not problems and got.status == "done"


def test_which_builds_are_small():
    for preset in ("hx8k", "up5k"):
        assert microcoded(SPACE.resolve(preset))
    small = SPACE.resolve("hx8k")
    for change in (
        {"macs": 4},
        {"banks": 2},
        {"contexts": 2},
        {"sfu_lanes": 2},
        {"alu_lanes": 4},
        {"acc_frac": 17},
        {"slots": 2},
    ):
        assert not microcoded(small | change), change
    assert microcoded(
        SPACE.resolve("hx8k", {"sfu_lanes": 0, "reduce_axes": 0, "log_mem": 17, "imem": 2048})
    )
    assert not microcoded(SPACE.resolve("hx8k", {"macs": 4, "banks": 2, "contexts": 2}))


@pytest.mark.parametrize(
    "preset, change, message",
    [
        (
            "sim",
            {"macs": 1},
            "parameter macs is 1 in the small engine alone (presets up5k, hx8k), which asks "
            "for banks 1, not 4, contexts 1, not 4, "
            "alu_lanes 1, not 4, slots 1, not 2",
        ),
        (
            "hx8k",
            {"macs": 4, "contexts": 2},
            "parameter banks is 1 in the small engine alone (presets up5k, hx8k), which asks "
            "for macs 1, not 4, contexts 1, "
            "not 2",
        ),
        (
            "hx8k",
            {"macs": 4, "banks": 2},
            "parameters contexts and slots are both 1 in the small engine alone (presets up5k, "
            "hx8k), which asks for macs 1, "
            "not 4, banks 1, not 2",
        ),
        (
            "hx8k",
            {"sfu_lanes": 2},
            "parameter macs is 1 in the small engine alone (presets up5k, hx8k), which asks "
            "for sfu_lanes 0 or 1, not 2",
        ),
        (
            "hx8k",
            {"acc_frac": 17},
            "parameter macs is 1 in the small engine alone (presets up5k, hx8k), which asks "
            "for acc_frac 9, not 17",
        ),
    ],
)
def test_what_only_the_small_engine_has(preset, change, message):
    with pytest.raises(ParameterError) as error:
        SPACE.resolve(preset, change)
    assert str(error.value) == message


def test_microprogram_of_the_largest_build():
    program = microprogram(SPACE.resolve("hx8k") | {"log_mem": 17, "imem": 2048}, 1 << 32)
    assert max(program.words) < 1 << 16 and len(program.registers) == 256


@pytest.mark.parametrize(
    "text, message",
    [
        ("a: wait; a: wait", "Label a stands twice"),
        ("turn 3", "No operation 'turn' in 'turn 3'"),
        ("ret 3", "Operation 'ret 3' has 1 operands, not 0"),
        ("ld", "Operation 'ld' has 0 operands, not 1"),
        ("jmp nowhere", "No label 'nowhere' for 'jmp nowhere'"),
        ("shl 0", "Shift in 'shl 0' is not from 1 to 31"),
        ("shr 32", "Shift in 'shr 32' is not from 1 to 31"),
        ("out SKY", "Nothing is called 'SKY' for 'out SKY'"),
        ("cls SLEEP", "Nothing is called 'SLEEP' for 'cls SLEEP'"),
        ("cnt SHEEP", "Nothing is called 'SHEEP' for 'cnt SHEEP'"),
        ("st #3", "Nothing can be stored in 'st #3'"),
        ("ld $SKY", "Nothing is called 'SKY' for 'ld \\$SKY'"),
        ("ld SKY+X", "No array 'SKY' with entry 0 for 'ld SKY\\+X'"),
        ("ld DESC.8", "No array 'DESC' with entry 8 for 'ld DESC.8'"),
        ("\n".join(f"ld v{k}" for k in range(160)), "No register is left for v113"),
        (".also b a; .also b c", "Variable b has a place, not that of c"),
        ("wait;" * 2049, "The microprogram has 2049 instructions, more than 2048"),
    ],
)
def test_bad_microprograms(text, message):
    with pytest.raises(ValueError, match=message):
        Microprogram(MACHINE, {"text": text})


def test_an_array_takes_no_more_than_it_has():
    with pytest.raises(ValueError, match="Array ITER has 8 entries, not 9"):
        Microprogram(MACHINE, {"text": "wait"}, values={"ITER": [0] * 9})


def test_engine_is_small(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    engine = SmallEngine(
        params=SPACE.resolve("hx8k"), beat_bytes=4, memory_size=1 << 19, family="ice40"
    )
    cells = synthesise(engine, "ice40", "area")
    assert cells["ICESTORM_LC"] <= 3300 and cells["SB_RAM40_4K"] == 23


@pytest.mark.long
@pytest.mark.pnr
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize(
    "board, preset, clock", [("blackice-ii", "hx8k", 30), ("icebreaker", "up5k", 18)]
)
def test_boards_reach_their_clock(tmp_path, monkeypatch, board, preset, clock, seed):
    monkeypatch.chdir(tmp_path)
    report = build(board, "cherry", seed=seed, dir="build")
    assert report["preset"] == preset and report["clock_reached_mhz"] >= clock
