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
#: Registers of a run that hold addresses.
ADDRESSES = (
    "program_address",
    "hostmem_base",
    "hostmem_limit",
    "weights_base",
    "weights_limit",
)


#: The presets with on-chip memory, as they are built, and a small core with little of it.
BUILDS = {
    "16x16": {"board": "ulx3s-85f", "preset": "85f-16x16-fast"},
    "8x8": {"board": "ulx3s-85f", "preset": "85f-8x8-fast"},
    "small": {"board": "ulx3s-25f", "preset": "sim-ext", "params": {"n": 8}, "on_chip": BORDER},
}


@pytest.fixture(scope="module", params=BUILDS)
def target(request):
    build = dict(BUILDS[request.param])
    virtual = open_virtual(build.pop("board"), "opentpu", **build)
    virtual.pipe.sleep(virtual.soc.backing.powerup_ns * 1e-9 + 20e-6)
    client = LinkClient(virtual.pipe, seed=1)
    with SimTarget(client=client, name="test", board=virtual, direct=True) as opened:
        yield opened


def check(target, seed):
    """Run one case, so far below the border that its data reach over it, on board and model;
    returns whether they do."""
    case = random_case(seed, target.info.params)
    base = target.info.memory["on_chip"]["size"] - BORDER
    expected = np.zeros(base + SIZE, np.uint8)
    expected[base : base + case.memory.size] = case.memory
    registers = registers_of(case)
    for name in ADDRESSES:
        registers[name] += base
    registers |= {"window_base": base, "window_limit": base + SIZE}
    # The model begins as after a core reset; settings would outlast a run.
    target.reset_core()
    target.write(base, expected[base:].tobytes())
    outcome = Model(case.params, expected).run(registers)
    found = target.run(registers)
    assert (found.status, found.fault) == (outcome.status, outcome.fault), (seed, case.name)
    memory = np.frombuffer(target.read(base, SIZE), np.uint8)
    difference = first_difference(memory, expected[base:])
    assert not difference, (seed, difference)
    return case.memory.size > BORDER


def test_random_programs_over_the_border(target):
    over = [check(target, seed) for seed in range(500)]
    assert sum(over) > 400


@pytest.mark.long
@pytest.mark.parametrize("part", range(10))
def test_many_random_programs_over_the_border(target, part):
    for seed in range(1000 * (part + 1), 1000 * (part + 2)):
        check(target, seed)
