# SPDX-License-Identifier: BSD-2-Clause
"""Diagonal tiles in gateware: the rows that the weight load unit makes of one row of memory, their
rate, a stop among them, and a bus error behind another diagonal in flight."""

import random
from collections import deque

import numpy as np
import pytest

from quintet.gateware.cores.opentpu.engine.load_store import WeightUnit
from quintet.gateware.cores.opentpu.params import SPACE
from quintet.tools.compiler.backends.opentpu.codegen.program import Program
from tests.gateware.cores.opentpu.bench.engine import EngineBench
from tests.gateware.cores.opentpu.bench.programs import case_of
from tests.support.simulating import design, simulate

N = 8


def weight_unit(beat_bytes, n=N):
    params = SPACE.resolve("sim", {"n": n, "ext_diag": True})
    return design(WeightUnit, params=params, beat_bytes=beat_bytes)


def expected_rows(memory, address, diagonal, n=N):
    """Rows of the tile at ``address``, int8 [n, n]."""
    if diagonal:
        return np.diag(memory[address : address + n].view(np.int8))
    return memory[address : address + n * n].view(np.int8).reshape(n, n)


def memory_server(port, memory, beat_bytes, latency, bad=()):
    """Answers requests in order, the first beat ``latency`` cycles after its request, one beat a
    cycle; the beats at the addresses ``bad`` have an error."""

    async def serve(ctx):
        beats = deque()  # (cycle, data, error, last)
        now = 0
        ctx.set(port.req.ready, 1)
        handshakes = port.req.valid, port.req.payload, port.r.valid, port.r.ready
        while True:
            *_, asked, request, offered, taken = await ctx.tick().sample(*handshakes)
            now += 1
            if offered and taken:
                beats.popleft()
            if asked:
                for k in range(request.beats + 1):
                    at = request.address + k * beat_bytes
                    data = int.from_bytes(memory[at : at + beat_bytes].tobytes(), "little")
                    beats.append((now + latency - 1, data, at in bad, k == request.beats))
            ready = bool(beats) and beats[0][0] <= now
            ctx.set(port.r.valid, ready)
            if ready:
                _, data, error, last = beats[0]
                ctx.set(port.r.payload, {"data": data, "error": error, "last": last})

    return serve


def issuer(unit, tiles):
    """Issues each tile (address, diagonal) as soon as the unit takes it."""

    async def issue(ctx):
        for address, diagonal in tiles:
            while ctx.get(unit.asking):
                await ctx.tick()
            ctx.set(unit.candidate, {"begin": address, "diagonal": diagonal})
            ctx.set(unit.issue, 1)
            await ctx.tick()
            ctx.set(unit.issue, 0)

    return issue


def collector(unit, tiles, rows, done):
    """Collects the pushed rows, and the cycles in which tiles are complete."""

    async def collect(ctx):
        now = 0
        while len(done) < len(tiles):
            if ctx.get(unit.push):
                data = ctx.get(unit.row).to_bytes(len(unit.row) // 8, "little")
                rows.append(np.frombuffer(data, np.int8))
            if ctx.get(unit.done):
                done.append(now)
            now += 1
            assert now < 400 * len(tiles), "the unit does not finish"
            await ctx.tick()

    return collect


def run_unit(unit, memory, tiles, beat_bytes, latency):
    """Rows that the unit makes of ``tiles``, int8 [rows, n], and the cycle of each tile's end."""
    rows, done = [], []
    simulate(
        unit,
        issuer(unit, tiles),
        collector(unit, tiles, rows, done),
        surroundings=[memory_server(unit.memory, memory, beat_bytes, latency)],
    )
    return np.stack(rows), done


@pytest.mark.parametrize("beat_bytes", (8, 4, 1))
@pytest.mark.parametrize("latency", (1, 6))
def test_whole_and_diagonal_tiles_in_any_order(beat_bytes, latency):
    rng = random.Random(beat_bytes)
    memory = np.frombuffer(rng.randbytes(1 << 10), np.uint8)
    tiles = [(N * rng.randrange(100), rng.random() < 0.6) for _ in range(24)]
    rows, _ = run_unit(weight_unit(beat_bytes), memory, tiles, beat_bytes, latency)
    expected = np.concatenate([expected_rows(memory, *tile) for tile in tiles])
    assert np.array_equal(rows, expected)


@pytest.mark.parametrize("n", (2, 8, 12))
def test_diagonals_from_memory_of_a_row_a_beat_come_every_n_cycles(n):
    """Two requests in flight hide the memory's latency. (At n = 2 a request takes longer.)"""
    memory = np.frombuffer(random.Random(n).randbytes(1 << 10), np.uint8)
    tiles = [(n * k, True) for k in range(12)]
    rows, done = run_unit(weight_unit(n, n), memory, tiles, n, latency=4)
    assert np.array_equal(rows, np.concatenate([expected_rows(memory, *t, n) for t in tiles]))
    if n > 2:
        assert np.diff(done).tolist() == [n] * 11


def test_a_unit_with_a_tile_to_come_is_active():
    """Behind a slow answer one diagonal becomes rows, two are requested, and no fourth issues."""
    n = 16
    unit = weight_unit(n, n)
    memory = np.frombuffer(random.Random(3).randbytes(1 << 10), np.uint8)
    most = 0

    async def watch(ctx):
        nonlocal most
        issued = done = 0
        while done < 12:
            issued += ctx.get(unit.issue)
            most = max(most, issued - done)
            await ctx.tick()
            done += ctx.get(unit.done)
            assert ctx.get(unit.active) or issued == done

    tiles = [(n * k, True) for k in range(12)]
    simulate(
        unit,
        issuer(unit, tiles),
        watch,
        surroundings=[memory_server(unit.memory, memory, n, latency=50)],
    )
    assert most == 3


@pytest.mark.parametrize("row", (1, 2, 7, 15, 16, 17))
def test_a_stop_among_the_rows_of_a_diagonal(row):
    """From the stop on no row is pushed, the unit ends, and the next tile begins anew."""
    n = 16
    unit = weight_unit(n, n)
    memory = np.frombuffer(random.Random(1).randbytes(1 << 10), np.uint8)
    rows, done = [], []

    async def stop(ctx):
        await issuer(unit, [(n, True), (3 * n, True)])(ctx)
        pushed = 0
        while pushed < row:
            pushed += ctx.get(unit.push)
            await ctx.tick()
        ctx.set(unit.stop, 1)
        cycles = 0
        while ctx.get(unit.active):
            assert not ctx.get(unit.push) and not ctx.get(unit.done)
            cycles += 1
            assert cycles < 12
            await ctx.tick()
        ctx.set(unit.stop, 0)
        again = [(5 * n, False), (6 * n, True)]
        await issuer(unit, again)(ctx)
        await collector(unit, again, rows, done)(ctx)

    simulate(unit, stop, surroundings=[memory_server(unit.memory, memory, n, 1)])
    expected = expected_rows(memory, 5 * n, False, n), expected_rows(memory, 6 * n, True, n)
    assert np.array_equal(np.stack(rows), np.concatenate(expected))


@pytest.mark.parametrize("beat_bytes", (4, 2))
@pytest.mark.parametrize("bad", range(3))
def test_a_bus_error_names_the_diagonal_that_failed(beat_bytes, bad):
    """Of three diagonals, two of them in flight, one fails: its address, its pc; the older WHM is
    complete, the younger one writes nothing, and the next run is good."""
    params = SPACE.resolve("sim-ext")
    n = params["n"]
    program = Program()
    program.rhm(0, 0, 4)
    program.whm(0, 8, 4)
    for k in range(3):
        program.rw(5 + 2 * k, diagonal=True)
    program.whm(0, 16, 4)
    for k in range(3):
        program.mmc(0, 4 * k, 4, switch=True, overwrite=True)
    program.hlt()
    rng = np.random.default_rng(bad)
    host = rng.integers(1, 128, (32, n)).astype(np.int8)
    tiles = rng.integers(-128, 128, (4, n, n)).astype(np.int8)
    case = case_of("bus error", params, program.words, host, tiles)
    memory = case.memory.copy()
    bench = EngineBench(params, beat_bytes=beat_bytes)
    request = case.registers["weights_base"] + n * (5 + 2 * bad)
    bench.bad.add(request + n - beat_bytes)
    (outcome,) = bench.run([(case.registers, memory)], limit=2000)
    pc = case.registers["program_address"] + 14 * (2 + bad)
    assert (outcome.fault.name, outcome.fault.pc, outcome.fault.detail) == (
        "bus_error",
        pc,
        request,
    )
    after = memory[case.registers["hostmem_base"] :].view(np.int8)[: host.size].reshape(host.shape)
    expected = host.copy()
    expected[8:12] = host[:4]
    assert np.array_equal(after, expected)
    bench.bad.clear()
    (outcome,) = bench.run([(case.registers, memory)], limit=2000)
    assert outcome.status == "done"
    assert outcome.counters["bytes_read"] == 14 * len(program.words) + n * (4 + 3)


def test_an_error_waits_for_the_diagonal_before_it():
    """A WHM between two tiles waits for the first one and must not hear of the second one's
    error."""
    unit = weight_unit(N)
    memory = np.frombuffer(random.Random(2).randbytes(1 << 10), np.uint8)
    pushed, errors = [], []

    async def watch(ctx):
        await issuer(unit, [(0, True), (N, True)])(ctx)
        while len(pushed) < 2 * N:
            if ctx.get(unit.error):
                errors.append(len(pushed))
                ctx.set(unit.error_ready, len(errors) > 3)
            pushed.extend([1] * ctx.get(unit.push))
            await ctx.tick()

    simulate(unit, watch, surroundings=[memory_server(unit.memory, memory, N, latency=20, bad={N})])
    assert errors == [N] * 4
