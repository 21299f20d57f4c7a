# SPDX-License-Identifier: BSD-2-Clause
"""Decoder, controller and array against the golden machine: every bit of every RAM, and the slots
instructions take."""

import random

import pytest

from quintet.gateware.cores.imagine.engine.mapping import Mapping
from tests.gateware.cores.imagine.bench.array import simulate
from tests.gateware.cores.imagine.bench.array_words import golden, random_words
from tests.support.shares import shares, some

_SMALL = [
    ("tdp", 16, 1, 1),
    ("tdp", 8, 2, 3),
    ("tdp", 4, 1, 2),
    ("sdp1", 16, 2, 2),
    ("sdp1", 4, 1, 3),
    ("sdp2", 8, 3, 2),
    ("sdp2", 16, 1, 1),
    ("sdp1", 8, 1, 5),
]


@shares
@pytest.mark.parametrize(("ram", "width", "rows", "cols"), _SMALL)
def test_random_words(ram, width, rows, cols, share):
    mapping = Mapping(rows, cols, width, 256 if width == 16 else 64, ram)
    rng = random.Random(f"{ram} {width} {rows} {cols}")
    words = random_words(rng, mapping, some(150, share))
    rams, _ = simulate(mapping, words)
    expected = golden(mapping, words).ram()
    for (row, col), held in rams.items():
        for number, value in enumerate(held):
            assert value == expected[number, row, col], f"block {row}, {col}, row {number}"
