# SPDX-License-Identifier: BSD-2-Clause
"""The complete small job of the specification (section 7.4), and the faults to try on it."""

import numpy as np
import pytest

from quintet.gateware.cores.opentpu.engine.core import PipelinedEngine
from quintet.gateware.cores.opentpu.params import SPACE
from tests.gateware.cores.opentpu.bench.engine import EngineBench

WORDS = """
0600030000000000000000000000 0200000000000000000000000000 0200000000000000000001000000
0305030000000000000000000000 0408030000000000000000000004 0305030000000000000008000004
0300030000000000000008000000 0410030000000000000008000008 0100030000000000000004000008
040003000000000000000800000c 010003000000000000000700000c 0700000000000000000000000000
""".split()
RESULT = bytes.fromhex("ffff1efb ff0000ff ff0000ff 0b0bfe04 0ff7fa08 96749c0a")
COMPAT = bytes.fromhex("fffffffb ffffffff ffffffff 0b0bfe04 0ff7fa08 96749c0a")


def small(drop=(), **registers):
    program = bytes.fromhex("".join(word for k, word in enumerate(WORDS) if k not in drop))
    memory = np.zeros(0x4000, np.uint8)
    memory[0x1000 : 0x1000 + len(program)] = np.frombuffer(program, np.uint8)
    x = np.array([[1, 2, 3, 4], [-1, 0, 5, -2], [10, -20, 30, -40]], np.int8)
    w = np.array(
        [
            [[1, 0, 2, -1], [0, 1, -1, 3], [2, 1, 0, 1], [-1, 2, 1, 0]],
            [[1, -1, 0, 0], [0, 1, 0, -1], [1, 0, -2, 1], [0, 0, 1, 1]],
        ],
        np.int8,
    )
    memory[0x2000 : 0x2000 + x.size] = x.view(np.uint8).ravel()
    memory[0x3000 : 0x3000 + w.size] = w.view(np.uint8).ravel()
    values = {
        "program_address": 0x1000,
        "program_length": len(program),
        "hostmem_base": 0x2000,
        "hostmem_limit": 0x2040,
        "weights_base": 0x3000,
        "weights_limit": 0x3020,
    }
    return values | registers, memory


@pytest.mark.parametrize(
    ("preset", "beat"), [("sim", 4), ("sim", 2), ("sim-plain", 4), ("sim-ext", 1)]
)
def test_small_job_twice(preset, beat):
    jobs = [small(), small(sigmoid_compat=1), small()]
    outcomes = EngineBench(SPACE.resolve(preset), beat_bytes=beat).run(jobs, limit=1000)
    for (_, memory), outcome, result in zip(jobs, outcomes, (RESULT, COMPAT, RESULT), strict=True):
        assert memory[0x2010:0x2028].tobytes() == result
        assert outcome.status == "done"
        counters = outcome.counters
        assert counters["instructions"] == 12 and counters["operations"] == 144
        assert counters["bytes_read"] == 12 * 14 + 12 + 32 and counters["bytes_written"] == 24
        assert (
            counters["work"] + sum(v for k, v in counters.items() if k.startswith("stall"))
            == counters["cycles"]
        )
    if beat == 4:
        assert outcomes[0].counters["cycles"] <= (400 if preset == "sim-plain" else 200)


def test_faults_of_the_small_job():
    jobs = [small(hostmem_limit=0x2027), small(drop=(2,)), small(drop=(11,)), small()]
    bench = EngineBench(SPACE.resolve("sim"), beat_bytes=4)
    outcomes = bench.run(jobs, limit=1000)
    found = [(o.fault.name, o.fault.pc, o.fault.detail) for o in outcomes[:3]]
    assert found == [
        ("host_range", 0x108C, 9),
        ("weight_underflow", 0x1038, 4 * 0),
        ("program_end", 0x109A, 154),
    ]
    assert outcomes[3].status == "done" and jobs[3][1][0x2010:0x2028].tobytes() == RESULT
    assert jobs[0][1][0x2010:0x201C].tobytes() == RESULT[:12], "the older WHM is complete"


def test_the_detail_is_that_of_the_first_fault():
    """Words with several things wrong, among them an accumulator row of more than 32 bits."""

    def first_word(word, **registers):
        values, memory = small(**registers)
        memory[0x1000:0x100E] = np.frombuffer(bytes.fromhex(word), np.uint8)
        return values, memory

    stray, far, both = (
        "03c103ffffffffffffffff000000",
        "030103ffffffffffffffff000000",
        "030103ffffffffffffffffffffff",
    )
    jobs = [first_word(stray), first_word(far), first_word(both), first_word(stray)]
    bench = EngineBench(SPACE.resolve("sim"), beat_bytes=4)
    outcomes = bench.run(jobs[:3], limit=1000)
    found = [(o.fault.name, o.fault.detail) for o in outcomes]
    assert found == [("bad_field", 1), ("acc_range", 0xFFFF_FFFF), ("ub_range", 0xFFFFFF + 2)]
    bench.bad.add(0x1004)
    (outcome,) = bench.run(jobs[3:], limit=1000)
    assert (outcome.fault.name, outcome.fault.detail) == ("bus_error", 0x1000)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"beat_bytes": 8},
            "Parameter n must be a multiple of the memory port's beat of 8 bytes, not 4",
        ),
    ],
)
def test_bad_arguments_are_refused(changes, message):
    arguments = {
        "params": SPACE.resolve("sim"),
        "beat_bytes": 4,
        "memory_size": 1 << 20,
        "family": None,
    } | changes
    with pytest.raises(ValueError, match=message):
        PipelinedEngine(**arguments)
