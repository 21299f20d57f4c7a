# SPDX-License-Identifier: BSD-2-Clause
"""Cherry's gateware against its golden model: random programs and lists, faults of every kind,
aborts, resets.

Rows of tiles, four contexts, eight multipliers behind the shell's arbiter; and preset 25f, whose
loads and stores go by pairs. `make test` runs 1,000 random programs and more;
``test_cherry_campaigns.py`` goes on, with whole tiles, other numbers of contexts and the presets of
the boards.
"""

import random
from pathlib import Path

import numpy as np
import pytest

import quintet.firmware.cherry.small
from quintet.boards.virtual.bench import IDEAL
from quintet.gateware.cores.cherry.software import SOFTWARE
from quintet.gateware.isa.asm import assemble
from tests.gateware.cores.cherry.bench import compare
from tests.gateware.cores.cherry.bench.checks import CHECKS
from tests.support.comparing import bench_fixture
from tests.support.shares import parts

#: Random programs of a build, and into how many tests they are cut.
COUNT, PARTS = 500, 20

bench = bench_fixture(compare.open_build, compare.QUICK)
both = bench_fixture(compare.open_build, (*compare.QUICK, "25f"))


@parts(PARTS)
def test_random_programs(both, part):
    for seed in range(part * COUNT // PARTS, (part + 1) * COUNT // PARTS):
        case = compare.program_case(
            seed, both.params, words=random.Random(seed).choice((12, 24, 40))
        )
        problems, got = compare.check_case(both, case, compare.behaviour_of(seed), seed)
        assert not problems and got.status == "done", (case.name, problems, got)


def test_programs_with_faults(both):
    seen = set()
    for seed in range(150):
        problems, got = compare.check_case(
            both, compare.spoilt_case(seed, both.params), IDEAL, seed
        )
        assert not problems, (seed, problems)
        if got is not None and got.fault:
            seen.add(got.fault.name)
    assert seen >= {"opcode", "field", "state", "mem_range", "undeclared"}


def test_lists(both):
    for seed in range(60):
        problems, _ = compare.check_case(
            both, compare.list_case(seed, both.params), compare.behaviour_of(seed), seed
        )
        assert not problems, (seed, problems)


def test_aborts(both):
    CHECKS.aborts(both, 20, 6000)


def test_core_resets_at_random_cycles(both):
    CHECKS.core_resets(both, 12, latest=5000)


@pytest.mark.parametrize(
    "fmt, addresses",
    [
        ("fp32", (0x10000, 0x136C0, 0x1A940)),
        ("bf16", (0x10000, 0x11B80, 0x15580)),
        ("packed", (0x10000, 0x11FC0, 0x16200)),
    ],
)
def test_matrices_in_main_memory(bench, fmt, addresses):
    """A product and an addition of matrices larger than the scratchpad, block by block: DMA beside
    programs, results that leave later."""
    shapes = ((70, 50), (61, 50), (1, 61))
    assert 70 * 50 + 61 * 50 + 70 * 61 > 1 << bench.params["log_mem"]
    case = compare.matrices_case("blocks", zip(addresses, shapes, strict=True), fmt)
    for seed, behaviour in enumerate((IDEAL, compare.SLOW)):
        problems, got = compare.check_case(bench, case, behaviour, seed)
        assert not problems and got.status == "done"


def test_the_worked_job(bench):
    """Specification, section 7.5: result and counters; faults of the changed job are known too."""
    folder = Path(quintet.firmware.cherry.small.__file__).parent
    data = np.frombuffer(assemble(SOFTWARE, folder / "relu_matmul.s").data, np.uint8)
    memory = np.zeros(0x4000, np.uint8)
    memory[0x1000 : 0x1000 + data.size] = data
    for name, at in (("a", 0x2000), ("b", 0x2100)):
        array = np.load(folder / f"{name}.npy").view(np.uint8).ravel()
        memory[at : at + array.size] = array
    case = compare.RunCase(
        "worked job", memory, {"program_address": 0x1000, "program_length": data.size}
    )
    problems, got = compare.check_case(bench, case, IDEAL, 0)
    assert not problems
    assert {
        name: got.counters[name]
        for name in ("instructions", "operations", "bytes_read", "bytes_written")
    } == {"instructions": 35, "operations": 288, "bytes_read": 796, "bytes_written": 128}
    case.memory[0x1160:0x1164] = np.frombuffer((0x28000).to_bytes(4, "little"), np.uint8)
    problems, got = compare.check_case(bench, case, IDEAL, 1)
    assert not problems and (got.fault.name, got.fault.pc, got.fault.detail) == (
        "opcode",
        0x1160,
        0x28000,
    )
