# SPDX-License-Identifier: BSD-2-Clause
"""Random programs on a board with on-chip memory, whose data lie on both sides of the border."""

import numpy as np
import pytest

from quintet.boards.virtual.board import open_virtual
from quintet.gateware.cores.opentpu.model import Model
from quintet.tools.link.client import LinkClient
from quintet.tools.targets.sim import SimTarget
from tests.gateware.cores.opentpu.bench.programs import random_case
from tests.support.comparing import first_difference, registers_of

#: Inside the host memory or the weights of nearly every random case.
BORDER = 2048
SIZE = 1 << 16


@pytest.fixture(scope="module")
def target():
    virtual = open_virtual(
        "ulx3s-25f", "opentpu", preset="sim-ext", params={"n": 8}, on_chip=BORDER
    )
    virtual.pipe.sleep(virtual.soc.backing.powerup_ns * 1e-9 + 20e-6)
    client = LinkClient(virtual.pipe, seed=1)
    with SimTarget(client=client, name="test", board=virtual, direct=True) as opened:
        yield opened


def check(target, seed):
    """Run one case on board and model; returns whether its image reaches over the border."""
    case = random_case(seed, target.info.params)
    expected = np.zeros(SIZE, np.uint8)
    expected[: case.memory.size] = case.memory
    registers = registers_of(case) | {"window_base": 0, "window_limit": SIZE}
    # The model begins as after a core reset; settings would outlast a run.
    target.reset_core()
    target.write(0, expected.tobytes())
    outcome = Model(case.params, expected).run(registers)
    found = target.run(registers)
    assert (found.status, found.fault) == (outcome.status, outcome.fault), (seed, case.name)
    memory = np.frombuffer(target.read(0, SIZE), np.uint8)
    assert not first_difference(memory, expected), (seed, first_difference(memory, expected))
    return case.memory.size > BORDER


def test_random_programs_over_the_border(target):
    assert target.info.memory["on_chip"] == {"size": BORDER, "beat_bytes": 8}
    over = [check(target, seed) for seed in range(500)]
    assert sum(over) > 400


@pytest.mark.long
@pytest.mark.parametrize("part", range(8))
def test_many_random_programs_over_the_border(target, part):
    for seed in range(1000 + 500 * part, 1500 + 500 * part):
        check(target, seed)
