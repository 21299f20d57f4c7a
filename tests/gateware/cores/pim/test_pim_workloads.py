# SPDX-License-Identifier: BSD-2-Clause
"""The workloads of section 10: that they are what they say, and what they take on the gateware."""

import pytest

from quintet.firmware.pim.measure.run import DENSE, dense_case
from quintet.firmware.pim.measure.workloads import BOUNDS, MEMORY, PARAMS, WORKLOADS, case_of
from tests.gateware.cores.pim.bench.compare import run_model
from tests.support.comparing import registers_of

_MACS = {
    "mvmul 1": 4096,
    "mvmul 64x256": 64 * 256,
    "vvdmul 2047": 2047,
    "A": 62 * 24 * 16,
    "B": 3 * 32 * 256,
    "D": 256 * 64 + 640,
    "E": 784 * 128 + 1280,
}


@pytest.mark.parametrize(
    "name",
    (
        "A",
        "B",
        "C",
        "D",
        "E",
        "mvmul 1",
        "mvmul 64x256",
        "vvdmul 2047",
        "exchange, send late",
        "ping-pong",
    ),
)
def test_programs_are_legal(name):
    outcome, memory, _ = run_model(case_of(WORKLOADS[name], mode=2))
    assert outcome.status == "done"
    assert outcome.counters["operations"] == _MACS.get(name, 0)


def test_their_sizes_are_the_documents():
    assert [sum(len(p.words) for p in WORKLOADS[name]) for name in "ABC"] == [509, 710, 532]


@pytest.mark.parametrize("name, instructions", [*zip(DENSE, (190, 358, 262), strict=True)])
def test_dense_streams_have_the_same_effect(name, instructions):
    case = case_of(WORKLOADS[name])
    dense = dense_case(case, name)
    outcome, memory, _ = run_model(dense)
    assert outcome.status == "done" and len(dense.words) == instructions
    gmem = MEMORY // 2
    assert (memory[gmem:] == run_model(case)[1][gmem:]).all()


def measure(bench, name, *, mode=0):
    """Cycles of RUN of a workload, whose results are checked."""
    case = case_of(WORKLOADS[name], mode=mode)
    expected, memory, _ = run_model(case)
    bench.load(case.memory)
    outcome = bench.run(registers_of(case), 500_000)
    assert outcome.status == "done" == expected.status, name
    assert (bench.memory[:MEMORY] == memory).all(), name
    return outcome.counters["cycles"] - bench.read_register(bench.registers["load_cycles"].offset)


@pytest.mark.long
def test_bounds_at_a_memory_of_eight_bytes_a_cycle():
    from quintet.boards.virtual.bench import CoreBench

    bench = CoreBench("pim", preset="85f", beat_bytes=8, memory_size=MEMORY, ports="shell")
    assert PARAMS["cores"] == 4
    cycles = {name: measure(bench, name) for name in WORKLOADS}
    taken = {
        name: cycles[name] - (cycles[minus] if minus else 0) for name, (_, minus) in BOUNDS.items()
    }
    for name, (bound, _) in BOUNDS.items():
        print(f"{name}: {taken[name]} cycles, bound {bound}")
    assert [name for name, (bound, _) in BOUNDS.items() if taken[name] > bound] == []
