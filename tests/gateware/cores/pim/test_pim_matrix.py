# SPDX-License-Identifier: BSD-2-Clause
"""The matrix unit against the specification's section 4.2: shapes, grids, widths, shifts, biases,
saturation, and its cycles."""

import random

import pytest

from tests.gateware.cores.pim.bench.units import Group, UnitBench, mvmul


def random_group(
    rng, number, rows, cols, arrays, *, shift=0, round=1, bias=False, bias_base=0, extreme=False
):
    values = (-128, 127) if extreme else range(-128, 128)
    weights = [[rng.choice(values) for _ in range(cols)] for _ in range(rows)]
    biases = (
        [rng.choice((-(2**31), 2**31 - 1, rng.randrange(-50_000, 50_000))) for _ in range(cols)]
        if bias
        else None
    )
    return Group(number, weights, arrays, shift, round, biases, bias_base)


def memory_of(rng, bench):
    """Part of local memory that the commands access."""
    return bytearray(rng.randbytes(min(2048, bench.params["lmem_bytes"])))


@pytest.mark.parametrize(
    ("rows", "cols"),
    [(1, 1), (64, 64), (9, 8), (27, 5), (64, 33), (1, 64), (64, 1), (2, 7), (63, 4)],
)
def test_shapes_of_one_array(rows, cols):
    rng = random.Random(rows * 100 + cols)
    bench = UnitBench(parts=("matrix",))
    group = random_group(rng, 3, rows, cols, [1], shift=6)
    bench.check(
        [group],
        memory_of(rng, bench),
        [mvmul(group, 5, 0x203, 16, 16, 0), mvmul(group, 0x81, 0x401, 7, 32, 1)],
    )


@pytest.mark.parametrize(
    ("rows", "cols", "arrays"),
    [(40, 70, [3, 0, 5, 1, 2, 6, 7, 4, 9, 8, 11, 10, 13, 15, 12]), (33, 20, [2, 5, 0, 7, 1, 3])],
)
def test_grids_of_arrays_in_scattered_order(rows, cols, arrays):
    rng = random.Random(rows)
    bench = UnitBench(parts=("matrix",), arrays=16, xb_rows=16, xb_cols=16)
    group = (
        random_group(rng, 0, rows, cols, arrays, shift=9, bias=True, bias_base=0, extreme=True)
        if cols <= 64
        else random_group(rng, 0, rows, cols, arrays, shift=9)
    )
    bench.check([group], memory_of(rng, bench), [mvmul(group, 1, 0x300, 16, 20, 0)])


@pytest.mark.parametrize("seed", range(6))
def test_random_commands_back_to_back(seed):
    rng = random.Random(seed)
    bench = UnitBench(
        *[("sim", "sim", "85f", "narrow", "tiny", "sim")[seed]],
        parts=("matrix",),
        **({"arrays": 4, "lmem_bytes": 4096} if seed == 2 else {}),
    )
    p = bench.params
    groups, used = [], 0
    for number in range(min(4, p["groups"])):
        cols = rng.randrange(1, min(64, p["xb_cols"]) + 1)
        bias = bool(p["bias_words"]) and used + cols <= p["bias_words"] and rng.random() < 0.6
        groups.append(
            random_group(
                rng,
                number,
                rng.randrange(1, p["xb_rows"] + 1),
                cols,
                [rng.randrange(p["arrays"])],
                shift=rng.choice((0, 1, 5, 12, 34, 35, 47)),
                round=rng.randrange(2),
                bias=bias,
                bias_base=used,
            )
        )
        used += cols if bias else 0
    # Groups that share an array have the weights of the last.
    for k, group in enumerate(groups):
        for later in groups[k + 1 :]:
            if later.arrays == group.arrays:
                for r in range(min(group.rows, later.rows)):
                    row = later.weights[r] + [0] * p["xb_cols"]
                    group.weights[r] = row[: group.cols]
    commands = []
    for k in range(8):
        group = rng.choice(groups)
        src, dst = (0, 1024) if k % 2 == 0 else (512, 1536)
        commands.append(
            mvmul(
                group,
                src + rng.randrange(64),
                dst + rng.randrange(64),
                rng.randrange(1, p["x_bits"] + 1),
                rng.randrange(1, p["max_biw"] + 1),
                rng.randrange(2),
            )
        )
        if k > 1:
            commands[-1].after = (k - 2,)
    bench.check(groups, memory_of(rng, bench), commands, rng=rng, traffic=30 * (seed % 2))


def test_halves_relu_and_saturation():
    bench = UnitBench(parts=("matrix",))
    memory = bytearray(1024)
    memory[0:4] = bytes((1, 0xFF, 127, 0x80))
    weights = [[3, -3, 1, -1], [0, 0, 5, -5], [127, -128, 0, 0], [-128, 127, 0, 0]]
    commands, groups = [], []
    for number, (shift, rounding) in enumerate([(1, 1), (1, 0), (0, 1), (2, 1), (47, 1), (47, 0)]):
        groups.append(Group(number, weights, [0], shift, rounding))
        for relu in (0, 1):
            commands.append(mvmul(groups[-1], 0, 0x100 + 0x20 * len(commands), 8, 8, relu))
    bench.check(groups, memory, commands)


def test_cycles_of_64_by_64():
    """Section 10 with 32 lanes: 150 cycles alone, 132 each back to back."""
    rng = random.Random(0)
    bench = UnitBench("85f", parts=("matrix",), arrays=2, lmem_bytes=2048)
    group = random_group(rng, 0, 64, 64, [0], shift=8)
    commands = [mvmul(group, 0, 1024, 16, 16, 0) for _ in range(4)]
    bench.check([group], memory_of(rng, bench), commands)
    assert commands[0].done - commands[0].taken <= 148
    assert all(
        later.done - sooner.done <= 132
        for sooner, later in zip(commands, commands[1:], strict=False)
    )


@pytest.mark.parametrize(
    ("preset", "cols"), [("sim", 8), ("sim", 40), ("85f", 64), ("85f", 32), ("narrow", 16)]
)
def test_a_source_may_be_overwritten_once_it_is_read(preset, cols):
    """Long before the results are there."""
    rng = random.Random(f"{preset} {cols}")
    bench = UnitBench(
        preset, parts=("matrix",), **({"arrays": 4, "lmem_bytes": 4096} if preset == "85f" else {})
    )
    group = random_group(rng, 0, 16, cols, [0], shift=6)
    commands = [mvmul(group, 64 * k + k, 1024 + 128 * k, 16, 16, 0) for k in range(4)]
    bench.check(
        [group],
        memory_of(rng, bench),
        commands,
        spoilt=[(command, rng.randbytes(32)) for command in commands],
    )
