# SPDX-License-Identifier: BSD-2-Clause
"""Runs one after another on PIM: on the model what they leave, on the gateware that it does as the
model."""

import numpy as np
import pytest

from quintet.boards.virtual.bench import IDEAL
from quintet.gateware.cores.pim.model.model import Model
from quintet.gateware.cores.pim.params import SPACE
from tests.gateware.cores.pim.bench import compare
from tests.gateware.cores.pim.bench import runs as pim_runs
from tests.support.comparing import bench_fixture, first_difference, registers_of

bench = bench_fixture(compare.open_build, compare.QUICK)


def model_runs(params, name):
    """(case, outcome, memory) of a sequence on one model."""
    model = Model(params, np.zeros(1, np.uint8))
    for case in pim_runs.sequence(params, name):
        model.memory = case.memory.copy()
        yield case, model.run(registers_of(case)), model.memory


def out(memory, at, size=40):
    return memory[pim_runs._BASE + at : pim_runs._BASE + at + size]


@pytest.mark.parametrize("preset", ["sim", "hx8k"])
def test_weights_are_kept(preset):
    first, kept, new = (
        list(out(memory, 64, 5))
        for _, _, memory in model_runs(SPACE.resolve(preset), "keep_weights")
    )
    params = SPACE.resolve(preset)
    for got, weights, seed in ((first, 1, 1), (kept, 1, 2), (new, 2, 2)):
        x = (
            np.random.default_rng(seed)
            .integers(0, 256, pim_runs.MEMORY, dtype=np.uint8)[pim_runs._BASE :][:6]
            .view(np.int8)
        )
        sums = x.astype(int) @ pim_runs._group(weights).weights.astype(int) + (
            50 if params["bias_words"] else 0
        )
        assert (
            np.array(got, np.uint8).view(np.int8).tolist()
            == np.clip(sums + 1 >> 1, -128, 127).tolist()
        )


def test_local_memory_is_kept():
    shown = [
        out(memory, 128).tolist() for _, _, memory in model_runs(SPACE.resolve("sim"), "keep_lmem")
    ]
    assert (
        not any(shown[0])
        and any(shown[1])
        and any(shown[2])
        and not any(shown[3])
        and shown[1] != shown[2]
    )


def test_registers_of_a_run():
    (_, one, _), (_, two, _) = model_runs(SPACE.resolve("sim"), "image_elsewhere")
    assert one.status == two.status == "done"
    status = [
        (o.status, o.fault and o.fault.name)
        for _, o, _ in model_runs(SPACE.resolve("sim"), "other_gmem")
    ]
    assert status == [("done", None), ("done", None), ("done", None), ("fault", "gmem_range")]


def test_a_cycle_limit_counts_instructions():
    case = pim_runs.sequence(SPACE.resolve("sim"), "keep_lmem")[0]
    for limit in range(6):
        outcome = Model(case.params, case.memory.copy()).run(case.registers, cycle_limit=limit)
        if limit < 5:
            assert outcome.status == "aborted" and outcome.counters["instructions"] == limit
            assert outcome.fault.code == 8 and outcome.fault.pc == 0x400 + 128 + 8 * limit
        else:
            assert outcome.status == "done"


def test_a_deadlock_is_reported():
    from tests.gateware.cores.pim.bench import directed as pim_directed

    case = next(
        c
        for c in pim_directed.directed_cases(SPACE.resolve("sim"), "exchanges")
        if c.name == "late pair"
    )
    _, _, model = compare.run_model(case)
    assert model.report == ["core 0, instruction 1: wait waits for event 1 to be 2 (it is 0)"]
    case = next(
        c
        for c in pim_directed.directed_cases(SPACE.resolve("sim"), "exchanges")
        if c.name == "both receive"
    )
    assert compare.run_model(case)[2].report[1] == (
        "core 1, instruction 0: recv waits for core 0 (from it, 4 bytes), which is blocked in recv"
    )


@pytest.mark.parametrize("name", pim_runs.SEQUENCES)
def test_gateware_does_the_same(bench, name):
    bench.reset()
    bench.behave(IDEAL)
    for case, expected, memory in model_runs(bench.params, name):
        bench.load(case.memory)
        got = bench.run(registers_of(case), compare.CYCLES)
        assert (got.status, got.fault) == (expected.status, expected.fault), case.name
        assert first_difference(bench.memory[: memory.size], memory) is None, case.name
