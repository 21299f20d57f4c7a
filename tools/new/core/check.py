# SPDX-License-Identifier: BSD-2-Clause
"""Tests of the template core: the gateware against its golden model, on random programs and a
memory that stalls at random."""

import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from quintet.boards.virtual.bench import Behaviour, CoreBench
from quintet.gateware.cores import CorePackage
from quintet.gateware.isa.asm import assemble
from quintet.gateware.isa.words import random_word

PACKAGE = CorePackage("template", "template")
PROGRAMS = Path(__file__).resolve().parents[1] / "programs"
SIZE = 4096


def test_polynomial_on_the_model() -> None:
    """Computes y = 3 x^2 + 5 x - 7 for x = 12 on the golden model."""
    memory = np.zeros(SIZE, np.uint8)
    code = np.frombuffer(
        assemble(PACKAGE.software.SOFTWARE, PROGRAMS / "polynomial.s").data, np.uint8
    )
    memory[256 : 256 + code.size] = code
    memory[512:520] = np.load(PROGRAMS / "words.npy").view(np.uint8)
    outcome = PACKAGE.model.Model(PACKAGE.params.SPACE.resolve("sim"), memory).run(
        {
            "program_address": 256,
            "program_length": code.size,
            "data": 512,
            "window_base": 0,
            "window_limit": SIZE,
        }
    )
    assert outcome.fault is None and memory[520:522].view("<i2")[0] == 3 * 12**2 + 5 * 12 - 7


def programs(count: int, seed: int = 6) -> Iterator[tuple[np.ndarray, dict[str, int]]]:
    """Random programs: mostly legal words, sometimes data at the edge of the window or a missing
    end."""
    rng = random.Random(seed)
    for _ in range(count):
        words = [
            random_word(PACKAGE.isa.ISA, rng, legal=rng.random() < 0.97)
            for _ in range(rng.randrange(1, 30))
        ]
        words = [
            w & 0xF000 | w & 0x3F if 2 <= w >> 12 <= 5 else w
            for w in words
            if w >> 12 or rng.random() < 0.1
        ] + [rng.choice((0, 0, 0, 7))] * (rng.random() < 0.8)
        memory, code = (
            np.frombuffer(rng.randbytes(SIZE), np.uint8).copy(),
            np.frombuffer(PACKAGE.isa.ISA.store(words), np.uint8),
        )
        memory[256 : 256 + code.size] = code
        yield (
            memory,
            {
                "program_address": 256,
                "program_length": code.size,
                "data": rng.choice([512, 2048 - 64]),
                "window_base": 256,
                "window_limit": 2048,
            },
        )


def test_gateware_equals_the_model() -> None:
    ended = set()
    with CoreBench(PACKAGE, preset="sim", beat_bytes=2, memory_size=SIZE) as bench:
        for k, (memory, registers) in enumerate(programs(200)):
            bench.behave(Behaviour.random(random.Random(k)), seed=k)
            bench.load(memory)
            found = bench.run(registers)
            want = PACKAGE.model.Model(PACKAGE.params.SPACE.resolve("sim"), memory).run(registers)
            assert (found.status, found.fault, found.values) == (
                want.status,
                want.fault,
                want.values,
            ), k
            assert {name: found.counters[name] for name in want.counters} == want.counters, k
            assert (bench.memory[:SIZE] == memory).all(), k
            ended.add(want.fault.name if want.fault else "done")
    assert ended >= {"done", "illegal_opcode", "bad_field", "window", "program_end"}
