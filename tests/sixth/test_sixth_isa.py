# SPDX-License-Identifier: BSD-2-Clause
"""A sixth instruction set: one folder and an entry point, and the whole house serves it."""
import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from quintet.boards.virtual.bench import Behaviour, CoreBench
from quintet.gateware.cores import Room
from quintet.gateware.isa.words import random_word

HERE = Path(__file__).resolve().parent
SIZE = 4096


@pytest.fixture
def room(monkeypatch):
    monkeypatch.syspath_prepend(HERE)
    return Room("accumulator", "accumulator")


@pytest.fixture
def installed(tmp_path):
    """Environment in which a package brings the ISA by its entry point."""
    info = tmp_path / "site" / "accumulator-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: accumulator\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[quintet.cores]\naccumulator = accumulator\n")
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), str(info.parent)])}


def quintet(environment, *arguments):
    done = subprocess.run([sys.executable, "-m", "quintet.tools.cli", *map(str, arguments)], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_job_on_the_model_and_the_virtual_board(installed, tmp_path):
    for file in (HERE / "accumulator").glob("polynomial.*"):
        (tmp_path / file.name).write_text(file.read_text())
    np.save(tmp_path / "words.npy", np.array([12, 3, 5, -7], np.int16))
    assert "Accumulator" in quintet(installed, "cores") and "accumulator" in quintet(installed, "boards")
    quintet(installed, "run", tmp_path / "polynomial.toml", "--on", "model")
    assert np.load(tmp_path / "y.npy").tolist() == [3 * 12 ** 2 + 5 * 12 - 7]
    assert "equal" in quintet(installed, "verify", tmp_path / "polynomial.toml", "--on", "sim:ulx3s-25f/accumulator", "--against", "model")
    quintet(installed, "asm", "accumulator", tmp_path / "polynomial.s", "-o", tmp_path / "p.bin")
    assert quintet(installed, "disasm", "accumulator", tmp_path / "p.bin").split()[:4] == ["ld", "1", "mul", "0"]


def programs(room, count, seed=6):
    """Random programs: mostly legal words, data at the edge of the window now and then, ends that are missing."""
    rng = random.Random(seed)
    for _ in range(count):
        words = [random_word(room.isa.ISA, rng, legal=rng.random() < 0.97) for _ in range(rng.randrange(1, 30))]
        words = [w & 0xF000 | w & 0x3F if 2 <= w >> 12 <= 5 else w for w in words if w >> 12 or rng.random() < 0.1] + [rng.choice((0, 0, 0, 7))] * (rng.random() < 0.8)
        memory, code = np.frombuffer(rng.randbytes(SIZE), np.uint8).copy(), np.frombuffer(room.isa.ISA.store(words), np.uint8)
        memory[256:256 + code.size] = code
        yield memory, {"program_address": 256, "program_length": code.size, "data": rng.choice([512, 2048 - 64]), "window_base": 256, "window_limit": 2048}


def test_gateware_equals_the_model(room):
    ended = set()
    with CoreBench(room, preset="sim", beat_bytes=2, memory_size=SIZE) as bench:
        for k, (memory, registers) in enumerate(programs(room, 200)):
            bench.behave(Behaviour.random(random.Random(k)), seed=k)
            bench.load(memory)
            found = bench.run(registers)
            want = room.model.Model(room.params.SPACE.resolve("sim"), memory).run(registers)
            assert (found.status, found.fault, found.values) == (want.status, want.fault, want.values), k
            assert {name: found.counters[name] for name in want.counters} == want.counters, k
            assert (bench.memory[:SIZE] == memory).all(), k
            ended.add(want.fault.name if want.fault else "done")
    assert ended >= {"done", "illegal_opcode", "bad_field", "window", "program_end"}
