# SPDX-License-Identifier: BSD-2-Clause
"""The core bench, with a core that copies memory."""

import random

import numpy as np
import pytest

from quintet.boards.virtual.bench import IDEAL, Behaviour, CoreBench
from quintet.boards.virtual.simulation import SimulationError
from tests.support.tiny_core import PACKAGE

SIZE = 4096


@pytest.fixture(scope="module")
def bare():
    with CoreBench(PACKAGE, beat_bytes=4, memory_size=SIZE) as bench:
        yield bench


@pytest.fixture(scope="module")
def shell():
    with CoreBench(PACKAGE, beat_bytes=4, memory_size=SIZE, ports="shell") as bench:
        yield bench


@pytest.fixture(params=["bare", "shell"])
def bench(request):
    bench = request.getfixturevalue(request.param)
    bench.behave(IDEAL)
    bench.clear_injections()
    yield bench
    bench.reset()


def image(seed=1):
    data = np.random.default_rng(seed).integers(1, 256, SIZE, dtype=np.uint8)
    return data


def job(length=64, **more):
    return {"program_address": 256, "program_length": length, "target": 1024, **more}


def test_a_run_copies_and_counts(bench):
    bench.load(image())
    before = bench.memory.copy()
    outcome = bench.run(job(key=0x12))
    assert outcome.status == "done" and outcome.fault is None
    before[1024:1088] = before[256:320] ^ 0x12
    assert (bench.memory == before).all()
    counters = outcome.counters
    assert (counters["instructions"], counters["bytes_read"], counters["bytes_written"]) == (
        16,
        64,
        64,
    )
    assert counters["cycles"] == sum(
        counters[k] for k in counters if k == "work" or k.startswith("stall_")
    )
    assert outcome.values["last"] == int.from_bytes(before[316:320].tobytes(), "little")


def test_unnamed_registers_are_at_reset(bench):
    bench.load(image())
    bench.run(job(key=0x12))
    bench.run(job())
    assert (bench.memory[1024:1088] == bench.memory[256:320] ^ 0x55).all()


def test_any_timing_gives_the_same_bytes(bench):
    rng = random.Random(5)
    for seed in range(20):
        bench.load(image(seed))
        bench.behave(Behaviour.random(rng), seed=seed)
        assert bench.run(job(256)).status == "done"
        assert (bench.memory[1024:1280] == bench.memory[256:512] ^ 0x55).all()


def test_timing_is_seeded(bench):
    def cycles(seed):
        bench.behave(Behaviour(latency=3, gap=30, gap_percent=50, stall_percent=20), seed=seed)
        return bench.run(job()).counters["cycles"]

    bench.load(image())
    assert cycles(1) == cycles(1) != cycles(2)
    bench.behave(IDEAL)
    assert bench.run(job()).counters["cycles"] < cycles(1)


def test_faults_and_injected_errors(bench):
    bench.load(image())
    bench.memory[256 + 8 : 256 + 12] = 0
    fault = bench.run(job()).fault
    assert (fault.code, fault.name, fault.pc, fault.detail) == (1, "illegal_opcode", 264, 0x55)
    bench.load(image())
    bench.inject(write=False, low=272, high=276)
    outcome = bench.run(job())
    assert (outcome.fault.code, outcome.fault.detail, outcome.counters["errors"]) == (6, 272, 1)
    bench.inject(write=True, skip=3)
    untouched = bench.memory[1036:1040].copy()
    assert bench.run(job(key=0x77)).fault.detail == 1024 + 12
    assert (bench.memory[1036:1040] == untouched).all()
    assert bench.run(job()).status == "done"  # the injection is spent


def test_memory_ends_with_the_image(bench):
    bench.load(image()[:1056])
    assert bench.run(job()).fault.detail == 1056


def test_cycle_limit_aborts(bench):
    bench.load(image())
    outcome = bench.run(job(1024), cycle_limit=200)
    assert outcome.status == "aborted" and outcome.fault.code == 8
    assert 0 < outcome.counters["instructions"] < 256


def test_core_reset_in_mid_run(bench):
    bench.load(image())
    for cycles in range(1, 60):
        bench.behave(Behaviour(latency=5, gap=7, gap_percent=40, stall_percent=30), seed=cycles)
        bench.start(job())
        bench.step(cycles)
        bench.reset()
        assert not bench.busy
    assert bench.run(job()).status == "done"


def test_a_request_outside_the_window(bare, shell):
    registers = job(window_base=0, window_limit=1024)
    shell.load(image())
    assert shell.run(registers).fault.detail == 1024  # the guard's answer
    bare.load(image())
    with pytest.raises(
        SimulationError, match="memory port 1: request leaves the window .address 0x400"
    ):
        bare.run(registers)
    bare.recover()
    bare.load(image())
    assert bare.run(job()).status == "done"


def test_arguments_are_checked(bench):
    with pytest.raises(ValueError, match="no writable register 'nothing'"):
        bench.run(job(nothing=1))
    with pytest.raises(ValueError, match="latency, depth and answers"):
        bench.behave(Behaviour(latency=0))
    with pytest.raises(ValueError, match="expected bare or shell"):
        CoreBench(PACKAGE, beat_bytes=4, ports="none")
