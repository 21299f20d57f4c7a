# SPDX-License-Identifier: BSD-2-Clause
"""The activation lanes against the golden model's arithmetic, for every shift, rounding, mode and
function."""

import random

import numpy as np
import pytest

from quintet.gateware.cores.opentpu.engine.activation import Activation
from quintet.gateware.cores.opentpu.model.model import IntegerUnit
from tests.support.simulating import simulate

LANES = 4


def values_for(shift, rng):
    """Rows of values: the extremes, random ones of all sizes, and what lies about every limit of
    the results."""
    values = [-(1 << 31), (1 << 31) - 1, 0, -1, 1]
    for limit in (-257, -256, -129, -128, -9, -8, -1, 0, 7, 8, 127, 128, 255, 256):
        values += [
            (limit << shift) + near
            for near in (-(1 << shift >> 1) - 1, -(1 << shift >> 1), -1, 0, 1, 1 << shift >> 1)
        ]
    values += [rng.randrange(-(1 << bits), 1 << bits) for bits in range(1, 32)]
    values = [v for v in values if -(1 << 31) <= v < 1 << 31]
    values += [0] * (-len(values) % LANES)
    return np.array(values, dtype=np.int32).reshape(-1, LANES)


def run(lanes, jobs):
    """Results of ``(rows, func, norm, compat)`` jobs, one after another, each streamed at a row a
    cycle."""
    results = []

    async def drive(ctx):
        for rows, func, norm, compat in jobs:
            ctx.set(lanes.func, func)
            ctx.set(lanes.norm, norm)
            ctx.set(lanes.compat, compat)
            await ctx.tick()
            got = []
            for k in range(len(rows) + lanes.latency):
                ctx.set(lanes.valid, k < len(rows))
                if k < len(rows):
                    for j in range(LANES):
                        ctx.set(lanes.row[j], int(rows[k][j]))
                await ctx.tick()
                if ctx.get(lanes.result_valid):
                    got.append(list(ctx.get(lanes.result).to_bytes(LANES, "little")))
            results.append(np.array(got, dtype=np.uint8))

    simulate(lanes, drive)
    return results


def expected(rows, func, norm, compat):
    unit = IntegerUnit(n=LANES, ub_rows=len(rows), acc_rows=64, compat=bool(compat))
    unit.activate(rows, 0, func, norm)
    return unit.ub.view(np.uint8)


def check(lanes, jobs):
    for job, got in zip(jobs, run(lanes, jobs), strict=True):
        wanted = expected(*job)
        assert got.shape == wanted.shape, job[1:]
        wrong = np.argwhere(got != wanted)
        assert not wrong.size, (
            job[1:],
            int(job[0][tuple(wrong[0])]),
            int(got[tuple(wrong[0])]),
            int(wanted[tuple(wrong[0])]),
        )


@pytest.mark.parametrize("lean", (False, True))
def test_every_normalisation(lean):
    rng = random.Random(1)
    jobs = []
    for shift in range(32):
        for rounds in (0, 1):
            for mode in range(3):
                jobs.append(
                    (
                        values_for(shift, rng),
                        (shift + mode + 2 * rounds) % 4,
                        shift | rounds << 8 | mode << 16,
                        rng.randrange(2),
                    )
                )
    for func in range(4):
        for mode in range(3):
            jobs.append((values_for(3, rng), func, 0x103 | mode << 16, 0))
    check(Activation(n=LANES, norm=None, pool=False, lean=lean), jobs)


@pytest.mark.parametrize("norm", (0, 0x10103, 0x2011F))
@pytest.mark.parametrize("lean", (False, True))
def test_normalisation_wired_in(norm, lean):
    rng = random.Random(norm)
    lanes = Activation(n=LANES, norm=norm, pool=False, lean=lean)
    jobs = [(values_for(norm & 31, rng), func, 0, compat) for func in range(4) for compat in (0, 1)]
    for (rows, func, _, compat), got in zip(jobs, run(lanes, jobs), strict=True):
        assert (got == expected(rows, func, norm, compat)).all(), (func, compat)
