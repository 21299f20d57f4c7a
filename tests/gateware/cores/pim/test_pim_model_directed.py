# SPDX-License-Identifier: BSD-2-Clause
"""Directed programs on PIM's golden model: against the slow one, and where the document gives
values, against those."""

import random

import numpy as np
import pytest

from quintet.gateware.cores.pim.model.core import ELEMENTWISE, Widths, average, saturate
from quintet.gateware.cores.pim.params import SPACE
from quintet.gateware.cores.pim.tables import TANH
from tests.gateware.cores.pim.bench import directed as pim_directed
from tests.gateware.cores.pim.bench.compare import run_model
from tests.gateware.cores.pim.bench.sizes import sizes
from tests.gateware.cores.pim.oracle.slow import SlowMachine

BUILDS = {
    "sim": SPACE.resolve("sim"),
    "four": SPACE.resolve("85f", {"lmem_bytes": 4096}),
    "tiny": sizes("tiny"),
}


#: All groups on one build, those that depend on it on others.
RUNS = (
    [("sim", group) for group in pim_directed.GROUPS]
    + [("four", g) for g in ("exchanges", "matrix", "edges")]
    + [("tiny", g) for g in ("vector", "widths", "matrix")]
)


@pytest.mark.parametrize("build, group", RUNS)
def test_directed(build, group):
    faults = 0
    for case in pim_directed.directed_cases(BUILDS[build], group):
        outcome, memory, model = run_model(case)
        other = case.memory.tolist()
        slow = SlowMachine(
            case.params, other, case.registers["program_address"], random.Random(case.name)
        )
        if case.registers.get("gmem_size"):
            slow.base, slow.size = case.registers["gmem_base"], case.registers["gmem_size"]
        slow.window = 0, case.registers.get("window_limit", len(other))
        fault = slow.run()
        expected = outcome.fault and (
            outcome.fault.name,
            outcome.values["fault_core"],
            outcome.fault.pc,
            outcome.fault.detail,
        )
        assert fault == expected, case.name
        assert np.array_equal(np.array(other, np.uint8), memory), case.name
        for mine, theirs in zip(model.cores, slow.cores, strict=False):
            assert (
                mine.regs == theirs.R and mine.events == theirs.E and mine.lmem.tolist() == theirs.L
            ), case.name
        faults += fault is not None
    assert faults > 0 or group not in ("edges", "overlaps", "transfers", "exchanges", "events")


def activation(op, b, values, o=None):
    widths = Widths(b, o or b, 255, 255)
    return saturate(ELEMENTWISE[op][1](np.array(values, np.int64), None, widths), o or b).tolist()


def test_activations_of_the_document():
    wide, narrow = [-32768, -8192, -1, 1, 1000, 4096, 32767], [-128, -16, -5, 5, 127]
    assert activation(19, 16, wide) == [-32768, -31590, -8, 8, 7845, 24956, 32767]
    assert activation(20, 16, wide) == [11, 3906, 16382, 16386, 18374, 23955, 32757]
    assert activation(19, 8, narrow) == [-128, -97, -39, 39, 127] and activation(20, 8, narrow) == [
        0,
        34,
        54,
        74,
        127,
    ]


def test_activations_are_near_the_functions():
    x = np.arange(-32768, 32768)
    for op, exact in ((19, np.tanh(x / 4096)), (20, 1 / (1 + np.exp(-x / 4096)))):
        got = np.array(activation(op, 16, x))
        assert np.abs(got - np.clip(np.rint(exact * 32768), -32768, 32767)).max() <= 1
    x = np.arange(-128, 128)
    for op, exact in ((19, np.tanh(x / 16)), (20, 1 / (1 + np.exp(-x / 16)))):
        assert activation(op, 8, x) == np.clip(np.floor(exact * 128 + 0.5), -128, 127).tolist()


def test_the_table_of_tanh():
    import struct
    import zlib

    assert [TANH[k] for k in (0, 1, 2, 64, 128, 256, 384, 512)] == [
        0,
        1024,
        2047,
        49912,
        63179,
        65492,
        65535,
        65536,
    ]
    assert sum(TANH) == 30_679_862 and zlib.crc32(struct.pack("<513I", *TANH)) == 0xD64B6038


def test_means_round_away_from_zero():
    assert average(np.array([1, 2]), 8).tolist() == [2] and average(
        np.array([-1, -2]), 8
    ).tolist() == [-2]
