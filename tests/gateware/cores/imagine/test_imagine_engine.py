# SPDX-License-Identifier: BSD-2-Clause
"""The whole engine against the golden model: random programs with words of the columns, faults,
slow memories."""

import random

import numpy as np
import pytest

from quintet.boards.virtual.bench import IDEAL, Behaviour, CoreBench
from quintet.gateware.cores.imagine.engine.core import ArrayEngine
from quintet.gateware.cores.imagine.engine.mapping import Mapping
from quintet.gateware.cores.imagine.model.model import Model
from quintet.gateware.cores.imagine.params import SPACE
from tests.gateware.cores.imagine.bench.array_words import random_words
from tests.support.shares import shares, some

_BASE, _OUT, _SIZE = 0x1000, 0x8000, 1 << 16


@pytest.mark.parametrize(
    ("overrides", "beat_bytes"),
    [
        ({"rows": 4, "cols": 2, "depth": 256}, 4),
        (
            {
                "rows": 3,
                "cols": 3,
                "reg_width": 8,
                "depth": 128,
                "ram": "sdp2",
                "own_clock": True,
                "clock_ratio": 10,
            },
            2,
        ),
        (
            {
                "rows": 1,
                "cols": 5,
                "reg_width": 4,
                "depth": 64,
                "ram": "sdp1",
                "own_clock": True,
                "fifo_in": 16,
                "fifo_out": 16,
            },
            8,
        ),
        # More than eight blocks: waiting operations in two memories.
        ({"rows": 2, "cols": 5, "depth": 128, "ram": "sdp1"}, 4),
    ],
)
@shares
def test_random_programs(overrides, beat_bytes, share):
    bench = CoreBench(
        "imagine", preset="sim", overrides=overrides, beat_bytes=beat_bytes, memory_size=_SIZE
    )
    mapping = Mapping.of(bench.params)
    for seed in range(some(25, share)):
        rng = random.Random(seed)
        words = []
        for word in random_words(rng, mapping, 120):
            words.append(word)
            if rng.random() < 0.3:
                words.append(
                    rng.choice((0x40000000, 0x44000000, 0x44000000, 0x48000000, 0x4C000000))
                )
        if rng.random() < 0.3:
            words.insert(rng.randrange(len(words)), rng.getrandbits(32))
        image = np.zeros(_SIZE, np.uint8)
        program = np.array(words, "<u4").view(np.uint8)
        base = _BASE + 4 * rng.randrange(4)
        image[base : base + len(program)] = program
        registers = {
            "program_address": base,
            "program_length": len(program),
            "output_at": _OUT + 4 * rng.randrange(4),
            "output_limit": _OUT + rng.choice((0x4000, 160)),
        }
        bench.load(image)
        bench.behave(IDEAL if seed % 3 == 0 else Behaviour.random(rng), seed=seed)
        if seed % 2 == 0:
            bench.reset()
            model = Model(bench.params, image.copy())
        model.memory = expected = image.copy()
        found = bench.run(registers, cycle_limit=200_000, patience=20_000)
        wanted = model.run({**registers, "window_base": 0, "window_limit": _SIZE})
        assert (found.status, found.fault) == (wanted.status, wanted.fault), f"seed {seed}"
        assert np.array_equal(bench.memory[:_SIZE], expected), f"seed {seed}"
        assert {name: found.counters[name] for name in wanted.counters} == wanted.counters, (
            f"seed {seed}"
        )
        assert all(
            found.values[name] == value for name, value in wanted.values.items() if name != "eov"
        ), f"seed {seed}"
        classes = ("work", "stall_fetch", "stall_operand", "stall_write", "stall_other")
        assert sum(found.counters[name] for name in classes) == found.counters["cycles"]


@pytest.mark.parametrize(
    ("overrides", "family", "beat_bytes", "message"),
    [
        ({}, "ice40", 4, "parameter ram = tdp needs block RAMs with two ports: not family ice40"),
    ],
)
def test_refused(overrides, family, beat_bytes, message):
    with pytest.raises(ValueError, match="^" + message.replace("(", r"\(")):
        ArrayEngine(
            params=SPACE.resolve("sim", overrides),
            beat_bytes=beat_bytes,
            memory_size=1 << 20,
            family=family,
        )
