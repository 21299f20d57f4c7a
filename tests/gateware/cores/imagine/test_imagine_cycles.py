# SPDX-License-Identifier: BSD-2-Clause
"""Cycles of instructions and kernels: never more than the published formulas where an instruction
follows its like."""

import pytest

from quintet.firmware.imagine.measure.dispatch import run
from quintet.firmware.imagine.measure.words import accumulate, add, fold, kernel, move, step
from quintet.gateware.cores.imagine.engine.mapping import Mapping
from quintet.gateware.cores.imagine.isa import ISA
from quintet.gateware.cores.imagine.model import cycles


@pytest.mark.parametrize(
    ("ram", "width", "depth", "most"),
    [("tdp", 16, 256, 1), ("tdp", 4, 64, 1.05), ("sdp1", 8, 128, 1)],
)
def test_cycles(ram, width, depth, most):
    mapping = Mapping(2, 4, width, depth, ram)
    # Runs of one kind, dependent ones among them, then the kernel behind a barrier.
    runs = [
        ("mv_add", [add(3, 1, 2), add(4, 3, 3), add(5, 4, 4)]),
        ("mv_mov", [move(0, 3, 1), move(0, 1, 3), move(0, 3, 1)]),
        ("mv_blockFold", [fold(1, 3, 3), fold(2, 3, 3)]),
        ("mv_updatepp", [step(3, 1, 2, bit) for bit in range(3)]),
        *((("mv_accumRow", level), [accumulate(level, 1)] * 2) for level in range(4)),
    ]
    words = []
    places = []
    for name, part in runs:
        places.append((name, len(words), len(part)))
        words += [*part, 0]
    begin = len(words)
    words += kernel(width, 2)
    starts, results = run(mapping, words)
    for name, first, count in places:
        name, level = name if isinstance(name, tuple) else (name, 0)
        limit = cycles.instruction(name, width, level)
        for k in range(first, first + count):
            assert starts[k + 1] - starts[k] <= limit, f"{name}, word {k - first} of its run"
    first, _ = cycles.gemv(width, 2, 4)
    assert results[0][0] - starts[begin] <= first * most
    # One row a cycle.
    assert results[1][0] == results[0][0] + 1


@pytest.mark.parametrize(
    ("ram", "first", "words"),
    [
        # What follows overwrites the last bit of the first (without two ports a write is as late as
        # all others), or reads it first.
        ("tdp", "width", [move(1, 5, 9), move(0, 2, 6), ISA.encode("mv_write", addr=23, data=5)]),
        *(
            (ram, *case)
            for ram in ("tdp", "sdp2", "sdp1")
            for case in (
                ("width", [move(0, 5, 9), move(0, 2, 6), move(3, 4, 5)]),
                ("slots_updatepp", [step(5, 1, 2, 3), move(0, 3, 9), move(0, 4, 6)]),
                ("slots_updatepp", [step(5, 1, 2, 3), move(0, 3, 9), fold(1, 4, 6)]),
            )
        ),
    ],
)
def test_what_the_last_instruction_but_one_wrote_is_there(ram, first, words):
    """Of four bits, an instruction of one operand is over before the one before it has landed."""
    mapping = Mapping(2, 1, 4, 64, ram)
    starts, _ = run(mapping, words)
    assert starts[2] - starts[0] >= getattr(mapping, first) + mapping.drain
