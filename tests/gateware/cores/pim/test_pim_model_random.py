# SPDX-License-Identifier: BSD-2-Clause
"""PIM's golden model against an independent slow one that runs the cores in random order: they must
agree on every byte."""

import random

import numpy as np
import pytest

from quintet.gateware.cores.pim.params import SPACE
from tests.gateware.cores.pim.bench import programs as pim_programs
from tests.gateware.cores.pim.bench.compare import run_model
from tests.gateware.cores.pim.bench.sizes import sizes
from tests.gateware.cores.pim.oracle.slow import SlowMachine

BUILDS = {
    "sim": SPACE.resolve("sim"),
    "four": SPACE.resolve("sim", {"cores": 4, "lmem_bytes": 2048}),
    "narrow": sizes("narrow", {"lmem_bytes": 2048, "arrays": 4}),
    "tiny": sizes("tiny"),
}


def check(case, seed):
    outcome, memory, model = run_model(case)
    name = case.notes.get("fault") if outcome.status == "fault" else None
    if name == "table":
        assert outcome.fault.name == "table"
        return
    other = case.memory.tolist()
    slow = SlowMachine(case.params, other, case.registers["program_address"], random.Random(seed))
    fault = slow.run()
    expected = outcome.fault and (
        outcome.fault.name,
        outcome.values["fault_core"],
        outcome.fault.pc,
        outcome.fault.detail,
    )
    assert fault == expected, case.name
    different = np.flatnonzero(np.array(other, np.uint8) != memory)
    assert not different.size, (case.name, hex(different[0]))
    for mine, theirs in zip(model.cores, slow.cores, strict=False):
        assert (mine.regs, mine.events, mine.ibiw, mine.obiw, mine.pc) == (
            theirs.R,
            theirs.E,
            theirs.ibiw,
            theirs.obiw,
            theirs.pc,
        ), case.name
        assert mine.lmem.tolist() == theirs.L, case.name
        assert mine.counters["instructions"] == theirs.retired


@pytest.mark.parametrize("part", range(4))
@pytest.mark.parametrize("build", BUILDS)
def test_legal_programs_in_any_order(build, part):
    for seed in range(part * 8, part * 8 + 8):
        case = pim_programs.random_case(seed, BUILDS[build], budget=1000)
        assert run_model(case)[0].status == "done"
        check(case, seed)


@pytest.mark.parametrize("fault", pim_programs.FAULTS)
def test_single_faults(fault):
    found = 0
    for seed in range(12):
        case = pim_programs.random_case(
            seed, list(BUILDS.values())[seed % 4], fault=fault, budget=600
        )
        wanted = case.notes.get("fault")
        assert (run_model(case)[0].fault is not None) == (wanted is not None)
        found += wanted == fault
        check(case, seed)
    assert found >= (3 if fault in ("unsupported", "size_mismatch") else 10)
