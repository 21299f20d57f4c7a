# SPDX-License-Identifier: BSD-2-Clause
"""Components between a memory port and memory: register stage, width adapter, packer, split, each
under random bursts."""

import random
from dataclasses import dataclass

import numpy as np
import pytest
from amaranth.sim import Simulator

from quintet.gateware.memory.packer import BeatPacker
from quintet.gateware.memory.portbuffer import PortBuffer
from quintet.gateware.memory.split import MemorySplit
from quintet.gateware.memory.width import WidthAdapter
from tests.support.memory_model import MemoryModel, PortDriver
from tests.support.shares import fewer

SIZE = 16384
#: The split's border: every case below has bursts that cross it.
BORDER = 8192 - 64


@dataclass(frozen=True)
class Between:
    """A component, which of its memories serve which addresses: (member, first, end), and the
    bytes that an error spoils together, if more than a beat."""

    dut: object
    memories: tuple
    beat_bytes: int
    error_bytes: int = 1


def buffer(beat_bytes):
    return Between(PortBuffer(beat_bytes=beat_bytes), (("memory", 0, SIZE),), beat_bytes)


def adapter(beat_bytes, memory_beat_bytes, **arguments):
    dut = WidthAdapter(
        beat_bytes=beat_bytes, memory_beat_bytes=memory_beat_bytes, size=SIZE, **arguments
    )
    return Between(dut, (("memory", 0, SIZE),), beat_bytes)


def packer(beat_bytes, memory_beat_bytes, **arguments):
    dut = BeatPacker(beat_bytes=beat_bytes, memory_beat_bytes=memory_beat_bytes, **arguments)
    return Between(dut, (("memory", 0, SIZE),), beat_bytes, memory_beat_bytes)


def split(beat_bytes):
    dut = MemorySplit(beat_bytes=beat_bytes, border=BORDER, size=SIZE)
    return Between(dut, (("low", 0, BORDER), ("high", BORDER, SIZE)), beat_bytes)


CASES = {
    "buffer-2": lambda: buffer(2),
    "buffer-4": lambda: buffer(4),
    "adapter-4-2": lambda: adapter(4, 2),
    "adapter-8-2": lambda: adapter(8, 2),
    "adapter-16-2": lambda: adapter(16, 2),
    "adapter-16-4": lambda: adapter(16, 4),
    "adapter-16-1-few": lambda: adapter(16, 1, outstanding=1),
    "adapter-4-2-short": lambda: adapter(4, 2, longest=128),
    "packer-4-8": lambda: packer(4, 8),
    "packer-1-16-few": lambda: packer(1, 16, outstanding=1),
    "split-2": lambda: split(2),
    "split-16": lambda: split(16),
}


class Bursts:
    """Random requests, the image that they make of memory, and what each must be answered with."""

    def __init__(self, between, *, seed, count, longest=256, stall=0.0, fast=False):
        self.between, rnd = between, random.Random(seed)
        self.size = size = between.beat_bytes
        self.unit = unit = max(size, between.error_bytes)
        refused = {at for at in range(0, SIZE, unit) if rnd.random() < 0.02}

        def fail(address, write):
            return address - address % unit in refused

        self.models = [
            MemoryModel(
                getattr(between.dut, name),
                size=SIZE,
                seed=seed + number,
                stall=stall,
                latency=(1, 1 if fast else 9),
                fail=fail,
            )
            for number, (name, *_) in enumerate(between.memories)
        ]
        self.driver = PortDriver(
            between.dut.port, seed=seed, stall=stall, early_data=rnd.random() < 0.5
        )
        image = np.frombuffer(rnd.randbytes(SIZE), np.uint8).copy()
        for model in self.models:
            model.memory[:] = image
        self.image, self.checks = image, []
        for _ in range(count):
            self._ask(rnd, refused, min(longest, SIZE // size))

    def _ask(self, rnd, refused, longest):
        size, beats = self.size, rnd.choice((1, 2, 3, 17, longest, rnd.randint(1, longest)))
        # A few requests leave the memory, by some of their beats or by all.
        last = SIZE - beats * size if rnd.random() < 0.9 else SIZE + 4096
        at = rnd.randrange(0, last + 1, size)
        if rnd.random() < 0.3:
            at = max(0, BORDER - rnd.randint(1, beats) * size)
        outside = at + beats * size > SIZE
        errors = [
            outside or place - place % self.unit in refused
            for place in range(at, at + beats * size, size)
        ]
        if rnd.random() < 0.5:
            data, masks = rnd.randbytes(beats * size), [rnd.getrandbits(size) for _ in range(beats)]
            self.checks.append((at, self.driver.write(at, data, masks), [any(errors)], None))
            for beat, (error, mask) in enumerate(zip(errors, masks, strict=True)):
                for byte in range(size) if not error else ():
                    if mask >> byte & 1:
                        self.image[at + beat * size + byte] = data[beat * size + byte]
        else:
            answer = self.driver.read(at, beats)
            self.checks.append(
                (
                    at,
                    answer,
                    errors,
                    bytes(self.image[at : at + beats * size]).ljust(beats * size, b"\0"),
                )
            )

    def run(self):
        driver = self.driver

        async def bench(ctx):
            await driver.drain(ctx, limit=1_000_000)

        sim = Simulator(self.between.dut)
        sim.add_clock(1e-6)
        sim.add_testbench(bench)
        for process in (*(model.process for model in self.models), driver.process):
            sim.add_testbench(process, background=True)
        sim.run()

    def check(self):
        size = self.size
        for at, answer, errors, data in self.checks:
            assert [bool(error) for error in answer.errors] == errors, (
                f"errors of the request at {at:#x}"
            )
            for beat, error in enumerate(errors if data is not None else ()):
                found = answer.data[beat].to_bytes(size, "little")
                assert error or found == data[beat * size : (beat + 1) * size], (
                    f"beat {beat} of the read at {at:#x}"
                )
        for model, (name, first, end) in zip(self.models, self.between.memories, strict=True):
            differ = np.flatnonzero(model.memory[first:end] != self.image[first:end])
            assert not differ.size, f"{name} differs at {first + differ[0]:#x}"
            for address, beats, _ in model.log:
                inside = first <= address and address + beats * model.beat_bytes <= end
                assert inside or address >= SIZE or address + beats * model.beat_bytes > SIZE


def longest_of(case):
    return 128 if case.endswith("short") else 256


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("stall", [0.0, 0.4])
def test_bursts_pass_in_order_with_masks_and_errors(case, stall):
    bursts = Bursts(
        CASES[case](),
        seed=1,
        count=fewer(6 if stall else 12, 3),
        longest=longest_of(case),
        stall=stall,
    )
    bursts.run()
    bursts.check()


@pytest.mark.long
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("seed", range(50))
def test_many_bursts_pass_in_order(case, seed):
    bursts = Bursts(
        CASES[case](),
        seed=seed,
        count=200,
        longest=longest_of(case),
        stall=(0.0, 0.2, 0.5)[seed % 3],
    )
    bursts.run()
    bursts.check()


@pytest.mark.parametrize(
    "case, cycles",
    [
        # Four bursts of 256 beats of 16 bytes are 8,192 beats of the memory behind, and some cycles
        # to begin and end.
        ("adapter-16-2", 4 * 256 * 8),
        ("adapter-16-4", 4 * 256 * 4),
        ("packer-4-8", 4 * 256),
        ("split-16", 4 * 256),
    ],
)
@pytest.mark.parametrize("write", [False, True])
def test_no_idle_cycle_in_or_between_bursts(case, cycles, write):
    between = CASES[case]()
    bursts = Bursts(between, seed=1, count=0, fast=True)
    size = between.beat_bytes
    for model in bursts.models:
        model.fail = lambda address, write: False
    for number in range(4):
        at = 0 if number % 2 else 4096 - 64
        if write:
            bursts.driver.write(at, bytes(256 * size))
        else:
            bursts.driver.read(at, 256)
    bursts.run()
    assert bursts.driver.cycles <= cycles + 32


def test_a_split_write_that_leaves_memory_writes_nothing():
    bursts = Bursts(adapter(16, 2), seed=1, count=0)
    before = bytes(bursts.models[0].memory)
    answer = bursts.driver.write(SIZE - 128 * 16, bytes(256 * 16))
    bursts.run()
    assert answer.error and bytes(bursts.models[0].memory) == before


@pytest.mark.parametrize(
    "arguments, words",
    [
        (
            {"beat_bytes": 3, "memory_beat_bytes": 2},
            "A wide beat must be 2, 4, 8 or 16 beats of the memory's 2 bytes, not 3 bytes",
        ),
        (
            {"beat_bytes": 2, "memory_beat_bytes": 2},
            "A wide beat must be 2, 4, 8 or 16 beats of the memory's 2 bytes, not 2 bytes",
        ),
        (
            {"beat_bytes": 4, "memory_beat_bytes": 2, "size": 6},
            "Size must be a multiple of 4 from 4 to 2.31 bytes, not 6",
        ),
    ],
)
def test_adapter_refuses_wrong_widths(arguments, words):
    with pytest.raises(ValueError, match=words):
        WidthAdapter(**arguments)


@pytest.mark.parametrize("sizes", [(4, 4), (4, 6), (1, 32)])
def test_packer_refuses_wrong_widths(sizes):
    with pytest.raises(ValueError, match=f"2, 4, 8 or 16 narrow beats .* not {sizes[1]} bytes"):
        BeatPacker(beat_bytes=sizes[0], memory_beat_bytes=sizes[1])
