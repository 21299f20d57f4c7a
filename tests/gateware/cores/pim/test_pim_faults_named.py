# SPDX-License-Identifier: BSD-2-Clause
"""Every fault stops the machine soon, and core, program counter, cause and detail are told
(specification, section 6).

Core 1 faults at its instruction 3 while core 0 has thousands still to do, or waits for ever.
"""

import numpy as np
import pytest

from quintet.boards.virtual.bench import IDEAL
from quintet.gateware.cores.pim.image.image import Group
from quintet.gateware.cores.pim.params import SPACE
from tests.gateware.cores.pim.bench import compare
from tests.gateware.cores.pim.bench.directed import _BASE, _Maker
from tests.support.comparing import bench_fixture, registers_of

#: Cycles of RUN until the machine stands still: start of the cores, three instructions, the way to
#: the stop and the memory's answers.
SOON = 150
_NOPS = "nop\n" * 4000
_GROUP = Group(4, 5, (0,), weights=np.ones((4, 5), np.int8))

#: name -> (fault, text of core 1 behind two instructions; its third is the bad one, detail, core 0,
#: registers)
CASES = {
    "opcode 21": ("illegal_opcode", "nop\n.word 21", 21, _NOPS, {}),
    "opcode 33": ("illegal_opcode", "nop\n.word 33", 33, _NOPS, {}),
    "opcode 63": ("illegal_opcode", "nop\n.word 0x7ff", 0x7FF, _NOPS, {}),
    "a field that must be zero": ("illegal_field", "nop\n.word 0x40", 0x40, _NOPS, {}),
    "widths": ("width", "nop\nmvmul $5, $0, 7, 0, 0", 7, _NOPS, {}),
    "group out of range": ("group", "nop\nmvmul $5, $0, 8, 0, 1", 1, _NOPS, {}),
    "core out of range": ("core_range", "nop\nsync 3, 2", 2, _NOPS, {}),
    "its own number": ("core_range", "nop\nrecv $0, 1, 4", 1, _NOPS, {}),
    "odd pair of ld": ("odd_pair", f"nop\n.word 0x{25 | 3 << 11 | 4 << 21:x}", 3, _NOPS, {}),
    "odd pair of st": ("odd_pair", f"nop\n.word 0x{26 | 5 << 6 | 4 << 21:x}", 5, _NOPS, {}),
    "odd pair of sld": ("odd_pair", f"nop\n.word 0x{2 | 7 << 11:x}", 7, _NOPS, {}),
    "local memory": ("lmem_range", "sldi $4, 4090\nlldi $4, 1, 7", 4090, _NOPS, {}),
    "overlap": ("overlap", "sldi $4, 1\nlmv $4, $0, 8", 1, _NOPS, {}),
    "high address word": ("gmem_range", "sldi $6, 1\nld $0, $6, 4", 0, _NOPS, {}),
    "size of GMem": (
        "gmem_range",
        "sldi $7, 62\nst $6, $0, 4",
        62,
        _NOPS,
        {"gmem_base": _BASE, "gmem_size": 64},
    ),
    "window": (
        "gmem_range",
        "sldi $7, 0x7fe\nst $6, $0, 4",
        0x7FE,
        _NOPS,
        {"window_limit": _BASE + 0x800},
    ),
    "sizes unmatched": ("size_mismatch", "nop\nsend $0, 0, 9", 9 << 16 | 8, "recv $0, 1, 8", {}),
    "deadlock": ("deadlock", "nop\nwait 1, 1", 2, "nop", {}),
}

bench = bench_fixture(compare.open_build, compare.QUICK)


def case_of(params, name):
    _, text, _, other, registers = CASES[name]
    maker = _Maker(params)
    maker.case(
        name,
        other,
        "nop\nnop\n" + text + "\nsldi $9, 9\nlldi $0, 9, 9",
        groups=[[_GROUP], [_GROUP]],
        dump=False,
        registers=registers,
        mode=0,
    )
    return maker.cases[0]


@pytest.mark.parametrize("name", CASES)
def test_model_names_the_fault(name):
    fault, _, detail, _, _ = CASES[name]
    case = case_of(SPACE.resolve("sim"), name)
    outcome, _, model = compare.run_model(case)
    assert (
        outcome.fault.name,
        outcome.fault.detail,
        outcome.values["fault_core"],
        model.cores[1].pc,
    ) == (fault, detail, 1, 3)


def test_gateware_names_every_fault_soon(bench):
    bench.behave(IDEAL)
    for name in CASES:
        case = case_of(bench.params, name)
        expected, memory, _ = compare.run_model(case)
        bench.load(case.memory)
        outcome = bench.run(registers_of(case), compare.CYCLES)
        assert (outcome.status, outcome.fault) == ("fault", expected.fault), name
        assert (bench.memory[: memory.size] == memory).all(), name
        assert (outcome.values["fault_core"], compare.core_pc(bench, 1)) == (1, 3), name
        cycles = outcome.counters["cycles"] - bench.read_register(
            bench.registers["load_cycles"].offset
        )
        assert cycles < SOON, (name, cycles)
