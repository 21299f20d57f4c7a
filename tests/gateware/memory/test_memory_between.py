# SPDX-License-Identifier: BSD-2-Clause
"""What stands between a memory port and another one: a buffer, and halves of beats."""

import random

import pytest
from amaranth.sim import Simulator

from quintet.gateware.memory.halves import HalfBeats
from quintet.gateware.memory.portbuffer import PortBuffer
from tests.support.memory_model import MemoryModel, PortDriver


@pytest.mark.parametrize("stands_between", [PortBuffer, HalfBeats])
@pytest.mark.parametrize("beat_bytes, stall", [(2, 0.0), (4, 0.4)])
def test_all_passes(stands_between, beat_bytes, stall):
    rnd = random.Random(beat_bytes)
    dut = stands_between(beat_bytes=beat_bytes)
    model = MemoryModel(dut.memory, size=2048, seed=1, stall=stall, latency=(1, 3))
    driver = PortDriver(dut.port, seed=2, stall=stall)  # it asserts the order of all answers
    image, checks = bytearray(2048), []
    for _ in range(80):
        beats, outside = rnd.choice((1, 2, 9)), rnd.random() < 0.1
        at = rnd.randrange(0, 2048 - 9 * beat_bytes, beat_bytes) + 4096 * outside
        if rnd.random() < 0.5:
            data = rnd.randbytes(beats * beat_bytes)
            checks.append((driver.write(at, data), outside, b""))
            if not outside:
                image[at : at + len(data)] = data
        else:
            checks.append(
                (driver.read(at, beats), outside, bytes(image[at : at + beats * beat_bytes]))
            )

    async def bench(ctx):
        await driver.drain(ctx)

    sim = Simulator(dut)
    sim.add_clock(1e-6)
    sim.add_testbench(bench)
    sim.add_testbench(model.process, background=True)
    sim.add_testbench(driver.process, background=True)
    sim.run()
    assert bytes(model.memory) == image
    for answer, outside, data in checks:
        assert answer.error == outside
        assert outside or answer.bytes(beat_bytes) == data


def test_odd_beats_have_no_halves():
    with pytest.raises(
        ValueError, match="A beat of two halves must be an even number of bytes, not 3"
    ):
        HalfBeats(beat_bytes=3)
