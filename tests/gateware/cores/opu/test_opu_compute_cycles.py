# SPDX-License-Identifier: BSD-2-Clause
"""The OPU's compute part, cycle by cycle: a step each cycle, no gap between commands, stores at
full rate, clear, refusals."""

import random

import numpy as np
import pytest

from quintet.gateware.cores.opu.types import type_set
from tests.gateware.cores.opu.bench.compute import (
    Conv,
    Load,
    Phase,
    Store,
    conv_fields,
    convolve,
    log2,
    make,
    random_array,
    run,
    store_fields,
    stored,
)
from tests.support.simulating import simulate

ROOM = {"pi": 16, "po": 2, "ifm_lines": 256, "ofm_lines": 512, "ker_rows": 128}
#: From a command's acceptance to its first step, and from its last step to `conv_done`.
BEFORE, FILL = 3, 19


def tile(dut, rng, size, ifm_c, ofm_c, kinds, taps=1, shifts=(-3, 1)):
    """Loads, convolutions of ``kinds`` at ``size`` x ``size`` and the result."""
    types, po, pi = type_set(dut.params), dut.params["po"], dut.params["pi"]
    ifm = random_array(rng, (size, size, ifm_c), types.ifm)
    ker = random_array(rng, (taps, ofm_c, ifm_c), types.ker)
    bias = random_array(rng, (ofm_c,), types.bias)
    loads = [
        Load("ifm", {"bank": 0}, ifm, types.ifm),
        Load("bias", {"copy": 0, "ofm_c": log2(ofm_c)}, bias, types.bias),
        Load("ker", {"row": 0, "ifm_c": log2(ifm_c) - 4, "ofm_c": log2(ofm_c)}, ker, types.ker),
    ]
    ofm, convs, shape = None, [], ((size, size), (size, size))
    for n, kind in enumerate(kinds):
        convs.append(
            Conv(
                conv_fields(
                    kind,
                    ker[n % taps],
                    shape,
                    n % taps * (ifm_c // pi) * max(1, ofm_c // po),
                    shifts=shifts,
                )
            )
        )
        ofm = convolve(
            kind, ofm, ifm, ker[n % taps], bias, (size, size), (0, 0), (1, 1), shifts, types
        )
    steps = size * size * (ifm_c // pi) * max(1, ofm_c // po)
    return ifm, loads, convs, ofm, steps


def store_of(dut, ofm, ifm, window=(1, 1, 1, 1), act=0, order=0, add=0):
    return Store(
        store_fields(ofm, ifm.shape, act, order, add, window),
        stored(ofm, ifm, act, order, add, window, type_set(dut.params)),
    )


@pytest.mark.parametrize(("kind", "more"), [(0, 0), (1, 21)])
def test_one_tap_makes_a_step_each_cycle(kind, more):
    rng, dut = random.Random(1), make(**ROOM)
    ifm, loads, convs, ofm, steps = tile(dut, rng, 5, 64, 8, [kind])
    figures = run(
        dut, [Phase(loads), Phase(convs=convs), Phase(stores=[store_of(dut, ofm, ifm)])], rng=rng
    )
    assert figures.steps[1] == figures.span[1] == steps == 5 * 5 * 4 * 4
    assert figures.cycles[1] <= steps + BEFORE + FILL + more


def test_commands_follow_without_a_gap():
    rng, dut = random.Random(2), make(**ROOM)
    kinds = [0, 2, 2, 1, 2, 1, 2, 0, 2]
    ifm, loads, convs, ofm, steps = tile(dut, rng, 2, 64, 8, kinds, taps=3)
    figures = run(
        dut, [Phase(loads), Phase(convs=convs), Phase(stores=[store_of(dut, ofm, ifm)])], rng=rng
    )
    # Groups of 16 steps: conv.bias waits for the terms of each, about 30 cycles a group; all others
    # never wait.
    assert figures.steps[1] == 9 * steps
    assert figures.span[1] <= 9 * steps + 2 * 4 * 18
    plain = [Conv({**conv.fields, "kind": 2 if n else 0}) for n, conv in enumerate(convs)]
    figures = run(make(**ROOM), [Phase(loads), Phase(convs=plain)], rng=rng)
    assert figures.span[1] == figures.steps[1] == 9 * steps


def test_wide_groups_hide_the_terms_of_the_bias():
    rng, dut = random.Random(3), make(**ROOM)
    ifm, loads, convs, ofm, steps = tile(dut, rng, 3, 64, 8, [0, 1, 2])
    figures = run(
        dut, [Phase(loads), Phase(convs=convs), Phase(stores=[store_of(dut, ofm, ifm)])], rng=rng
    )
    assert figures.span[1] == figures.steps[1] == 3 * steps


@pytest.mark.parametrize(
    ("size", "ifm_c", "ofm_c", "gap"),
    [
        (1, 16, 2, 5),
        (1, 64, 2, 2),
        (2, 16, 2, 2),
        (1, 16, 8, 2),
        (1, 64, 4, 0),
        (1, 16, 16, 0),
        (3, 16, 2, 0),
    ],
)
def test_short_accumulations_wait_for_their_lines_only(size, ifm_c, ofm_c, gap):
    rng, dut = random.Random(4), make(**ROOM)
    kinds = [0] + [2] * 20
    ifm, loads, convs, ofm, steps = tile(dut, rng, size, ifm_c, ofm_c, kinds, taps=2)
    figures = run(
        dut, [Phase(loads), Phase(convs=convs), Phase(stores=[store_of(dut, ofm, ifm)])], rng=rng
    )
    assert figures.steps[1] == 21 * steps and figures.span[1] <= 21 * steps + 20 * gap


@pytest.mark.parametrize("shifts", [(0, -2), (-4, 1)])
@pytest.mark.parametrize("size", [1, 2, 3])
def test_short_groups_of_all_kinds_keep_their_own_terms(size, shifts):
    # Groups of one, four and nine steps: several are on their way when the terms of the next are
    # taken over.
    for kinds in ([0, 1], [0, 0, 1], [1, 1], [0, 1, 2, 1], [1, 2, 0, 1]):
        rng, dut = random.Random(7), make(**ROOM)
        ifm, loads, convs, ofm, _ = tile(dut, rng, size, 16, 16, kinds, shifts=shifts)
        run(
            dut,
            [Phase(loads), Phase(convs=convs), Phase(stores=[store_of(dut, ofm, ifm)])],
            rng=rng,
        )


def test_stores_run_at_full_rate():
    rng, dut = random.Random(5), make(**ROOM)
    ifm, loads, convs, ofm, _ = tile(dut, rng, 6, 16, 8, [1, 2])
    windows = [(1, 1, 1, 1), (2, 2, 2, 2), (3, 6, 1, 7)]
    stores = [store_of(dut, ofm, ifm, window, 2, 1, 1) for window in windows]
    figures = run(dut, [Phase(loads), Phase(convs=convs), Phase(stores=stores)], rng=rng)
    for (h, w, _, _), store, cycles in zip(windows, stores, figures.stores, strict=True):
        rows, columns, channels = store.expected.shape
        assert cycles <= rows * columns * (channels // 2) * h * w + 20


def test_clear_drops_everything():
    rng, dut = random.Random(6), make("sim")
    ifm, loads, convs, ofm, _ = tile(dut, rng, 4, 16, 16, [1, 2, 2])
    store = store_of(dut, ofm, ifm, (2, 2, 1, 1), 1)
    generator = np.random.default_rng(6)

    async def drive(ctx):
        ctx.set(dut.conv.payload, convs[0].fields)
        ctx.set(dut.post.payload, store.fields)
        for _ in range(12):
            ctx.set(dut.conv.valid, 1)
            ctx.set(dut.post.valid, 1)
            for _ in range(int(generator.integers(1, 60))):
                await ctx.tick()
            assert not ctx.get(dut.idle)
            ctx.set(dut.clear, 1)
            for _ in range(40):
                await ctx.tick()
            ctx.set(dut.conv.valid, 0)
            ctx.set(dut.post.valid, 0)
            await ctx.tick().repeat(3)
            assert ctx.get(dut.idle)
            ctx.set(dut.clear, 0)
            for _ in range(30):
                *_, done, post_done, valid = await ctx.tick().sample(
                    dut.conv_done, dut.post_done, dut.out.valid
                )
                assert not done and not post_done and not valid

    simulate(dut, drive)
    run(dut, [Phase(loads), Phase(convs=convs), Phase(stores=[store])], rng=rng)


@pytest.mark.parametrize(
    ("beat_bytes", "overrides"), [(3, {}), (32, {}), (16, {}), (8, {}), (0, {})]
)
def test_beats_that_do_not_fit_are_refused(beat_bytes, overrides):
    with pytest.raises(
        ValueError,
        match=r"beat_bytes must be 1, 2, 4, 8 or 16, and at most pi elements of ITYPE "
        r"\(4 bytes\), not",
    ):
        make(beat_bytes=beat_bytes, **overrides)
